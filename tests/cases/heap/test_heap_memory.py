"""What reading a heap costs in memory: so many bytes an object, and not the whole core besides."""
import os
import subprocess

import pytest

import analyzer
import cores
import interpreters

COUNT = 300000
BYTES_FOR_EACH = 125  # a million of them in 150 MB, ten in a gigabyte, with what every report needs
OF_A_REPORT = 16000000


def subjects():
    found = interpreters.find_with_heap()
    return found if analyzer.THOROUGH else found[-1:]


@pytest.mark.skipif(analyzer.SANITIZED, reason="sanitizers have memory of their own")
@pytest.mark.parametrize("of", subjects(), ids=str)
def test_memory(of, tmp_path):
    # Without what a machine's site-packages import at every start: with some of them that is 25,000 objects more.
    cores.run_to_core([of.path, "-I", "-S", cores.PROGRAMS + "/heap_many.py", str(COUNT)], str(tmp_path))
    path = str(tmp_path / "core")
    assert os.stat(path).st_size > 60 * COUNT
    asked: list[list[str]] = [[], ["--largest"], ["--verify"], ["--type", "Session"], ["--who-holds", "__main__.Session"]]
    for options in asked:
        command = [analyzer.PROGRAM, "heap", "--format", "json", *options, path]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as program:
            _, status, usage = os.wait4(program.pid, 0)
            program.returncode = os.waitstatus_to_exitcode(status)
        assert program.returncode == 0, command
        assert usage.ru_maxrss * 1024 < COUNT * BYTES_FOR_EACH + OF_A_REPORT, (options, usage.ru_maxrss)


SHARED = """import os
class Entry(object):
    pass
names = {"k%d" % number: number for number in range(1000000)}
entries = [Entry() for number in range(400)]
for entry in entries:
    entry.__dict__ = names
os.abort()
"""


@pytest.mark.skipif(not analyzer.THOROUGH or analyzer.SANITIZED, reason="it takes a minute")
def test_where_ends(tmp_path):
    """Many objects, to ask each of which takes long."""
    cores.run_to_core([subjects()[-1].path, "-c", SHARED], str(tmp_path))
    result = analyzer.run("heap", "--type", "Entry", "--where", "absent == 1", tmp_path / "core", timeout=600)
    assert result.returncode == 1, result.describe()
    assert "the expression was asked of the first " in result.stderr, result.stderr
