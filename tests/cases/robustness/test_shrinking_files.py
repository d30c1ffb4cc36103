"""Files that become shorter while they are mapped: one sentence, or a report with gaps, and never a signal."""
import os
import shutil
import subprocess

import pytest

import analyzer
import cores
import interpreters
import living


def shorten_while_mapped(path, *arguments):
    """Runs the program; cuts the file off as soon as it has mapped it. (exit code, standard error)"""
    process = subprocess.Popen([analyzer.PROGRAM, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"})
    path = os.path.realpath(path)
    mapped = False
    while not mapped and process.poll() is None:
        try:
            with open("/proc/%d/maps" % process.pid) as maps:
                mapped = path in maps.read()
        except OSError:
            break
    if mapped:
        os.truncate(path, 0)
    _, errors = process.communicate()
    return process.returncode, errors.decode()


def assert_said(ended, path):
    code, errors = ended
    assert code in (analyzer.EXIT_COMPLETE, analyzer.EXIT_PARTIAL, analyzer.EXIT_NOTHING), (code, errors)
    if "became shorter" in errors:
        assert code == analyzer.EXIT_NOTHING
        assert errors == "pystack-core: %s: the file became shorter while it was read\n" % os.path.realpath(path)
        return True
    return False


@pytest.mark.skipif(analyzer.SANITIZED, reason="the sanitizer handles the signal")
def test_core_that_becomes_shorter(tmp_path):
    interpreter = interpreters.find_system() or interpreters.find_wanted()[-1]
    whole = cores.make_core("threads", interpreter).path
    said = 0
    for i in range(10):
        core = tmp_path / ("core.%d" % i)
        subprocess.run(["cp", "--sparse=always", whole, core], check=True)
        said += assert_said(shorten_while_mapped(core, core), core)
    assert said


@pytest.mark.skipif(analyzer.SANITIZED, reason="the sanitizer handles the signal")
def test_module_that_becomes_shorter(tmp_path):
    """Of a core: a living process would die of it itself."""
    core = cores.make_plain_core()
    said = 0
    for i in range(10):
        folder = tmp_path / str(i)
        folder.mkdir()
        program = shutil.copy(os.path.join(cores.native_helpers(), "plain"), folder)
        said += assert_said(shorten_while_mapped(program, core, program), program)
    assert said


def test_source_that_becomes_shorter(tmp_path):
    """It is copied, not mapped: what is there is shown."""
    source = tmp_path / "program.py"
    text = "import signal\nprint('ready', flush=True)\nsignal.pause()  # here\n" + 100000 * "# more\n"
    source.write_text(text)
    interpreter = interpreters.find_system() or interpreters.find_wanted()[-1]
    with living.running([interpreter.path, source]) as process:
        assert "# here" in living.report(process.pid).stdout
        for _ in range(3):
            source.write_text(text)
            code, errors = shorten_while_mapped(source, "--pid", process.pid)
            assert code == analyzer.EXIT_COMPLETE and "shorter" not in errors
