"""The heap's commands in a real lldb: of a core and of the process at hand; they say what the program says."""
import subprocess

import pytest

import analyzer
import cores
import interpreters
import test_lldb_plugin


def test_commands_of_lldb(tmp_path):
    core = cores.core_of(interpreters.find_with_heap()[-1], str(tmp_path), "heap_holders", "50")
    item = core.truth["item"]
    _, largest, of_type, held, by_expression, of_object, verified, wrong = test_lldb_plugin.lldb(
        [test_lldb_plugin.open_core(core), "py-heap --largest --limit 4", "py-heap --type Session --limit 3",
         "py-who-holds " + item, "py-who-holds %s+0" % item, "py-heap " + item, "py-heap-verify", "py-heap --nothing"])
    for said, options in ((held, ["--who-holds", item]), (by_expression, ["--who-holds", item]), (verified, ["--verify"]),
                          (of_object, ["--object", item]), (largest, ["--largest", "--limit", "4"])):
        assert said["good"] and said["text"].rstrip("\n") == analyzer.show("heap", *options, core.path).rstrip("\n"), said
    assert core.truth["list"] and "__main__.Session" in of_type["text"]
    assert "Unknown option --nothing" in wrong["error"]


@pytest.mark.skipif(not analyzer.THOROUGH, reason="as the rest of a debugger at a process, which others try")
def test_lldb_at_a_process():
    process = subprocess.Popen([interpreters.find_with_heap()[-1].path, cores.PROGRAMS + "/heap_leak.py"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)
    try:
        assert process.stdout.readline() == b"ready\n"
        _, held, verified, *_ = test_lldb_plugin.lldb(["process attach --pid %d" % process.pid, "py-who-holds Entry",
                                                       "py-heap-verify", "process detach"])
        assert "500 objects" in held["text"] and "held by module __main__: cache" in held["text"], held
        assert "nothing is damaged" in verified["text"], verified
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()
