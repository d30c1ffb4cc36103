"""The heap in gdb, of a living process, and of the copy that --save-core=full keeps."""
import subprocess

import pytest

import analyzer
import cores
import debuggers
import interpreters


def test_commands_of_gdb(tmp_path):
    """They say what the program says; an address may be any expression, and $_ goes on from what was shown."""
    core = cores.core_of(interpreters.find_with_heap()[-1], str(tmp_path), "heap_holders", "50")
    item = core.truth["item"]
    *_, of_type, first, held, again, by_variable, verified = debuggers.gdb(
        [*debuggers.open_core(core), "set $mine = %s" % item, "py-heap --type Session --limit 3", "print/x $_",
         "py-who-holds " + item, "py-who-holds $_", "py-who-holds $mine+0", "py-heap-verify"])
    listed = analyzer.run("heap", "--format", "json", "--type", "Session", core.path).json["listed"]
    assert listed[0]["address"] in of_type and first.split(" = ")[1].strip() == listed[0]["address"]
    assert held == analyzer.show("heap", "--who-holds", item, core.path)
    assert "held by module __main__: live['sessions'][7]\n" in held
    assert by_variable == held and again.startswith("__main__.Session at 0x")
    assert verified == analyzer.show("heap", "--verify", core.path)
    assert "nothing is damaged" in verified


@pytest.mark.parametrize("way", ["process", "copy"])
def test_living(way, tmp_path):
    """It is read while it lives, and lives on."""
    process = subprocess.Popen([interpreters.find_with_heap()[-1].path, cores.PROGRAMS + "/heap_leak.py"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)
    try:
        assert process.stdout.readline() == b"ready\n"
        target = ["--pid", str(process.pid)]
        if way == "copy":
            saved = analyzer.run(*target, "--mode", "python", "--save-core=full", tmp_path / "copy")
            assert saved.returncode in (0, 1), saved.describe()
            target = [tmp_path / "copy"]
        result = analyzer.run("heap", "--format", "json", "--type", "__main__.Entry", *target)
        assert result.returncode == 0, result.describe()
        process.stdin.write(b"\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"ready\n" and process.poll() is None
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()
    assert result.json["listed_count"] > 0
    assert {one["type"] for one in result.json["listed"]} == {"__main__.Entry"}
