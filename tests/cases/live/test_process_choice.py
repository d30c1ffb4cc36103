"""Which processes are looked at: several ids, command lines, levels of descendants."""
import contextlib
import json
import os
import signal
import subprocess
import uuid

import pytest

import analyzer
import interpreters
import living
import resting

# Starts one of its kind below itself, so many levels deep: LEVELS MARK.
LEVELS = """
import subprocess, sys, time
levels, program = int(sys.argv[1]), sys.argv[-1]
if levels:
    child = subprocess.Popen([sys.executable, "-s", "-c", program, str(levels - 1), *sys.argv[2:]], stdout=subprocess.PIPE)
    child.stdout.readline()
def at_level(): time.sleep(600)
print("ready", flush=True)
at_level()
"""


@contextlib.contextmanager
def started(levels, mark):
    system = interpreters.find_system() or pytest.skip("no /usr/bin/python3 here")
    command = [system.path, "-s", "-c", LEVELS, str(levels), mark, LEVELS]
    with living.running(command, start_new_session=True) as process:
        try:
            pids = [process.pid]
            while len(pids) <= levels:
                with open("/proc/%d/task/%d/children" % (pids[-1], pids[-1])) as file:
                    pids.append(int(file.read()))
            resting.wait_until_at_rest(*pids)
            yield pids
        finally:
            os.killpg(process.pid, signal.SIGKILL)


@pytest.fixture
def mark():
    """A word that no other command line holds."""
    return "mark-" + uuid.uuid4().hex


def shown(*options):
    """The ids of the processes in the report, and its result."""
    result = analyzer.run("--format", "json", *options)
    documents = [json.loads(line) for line in result.stdout.splitlines()]
    for document in documents:
        analyzer.assert_fits_schema(document)
    return [document["target"]["pid"] for document in documents], result


def test_levels_of_descendants(mark):
    with started(3, mark) as pids:
        for depth in (1, 2, 3, 9):
            found, result = shown("--pid", pids[0], "--children", "--depth", depth)
            assert found == pids[:depth + 1] and result.returncode == 0, result.describe()
        assert shown("--pid", pids[0], "--children")[0] == pids
        assert shown("--pid", "%d,%d" % (pids[0], pids[2]), "--children", "--depth", 1)[0] == pids


def test_several_processes(mark):
    with started(2, mark) as pids:
        first, second, third = map(str, pids)
        found, result = shown("--pid", third + "," + first, "--pid", second, "--pid", third)
        assert found == [pids[2], pids[0], pids[1]] and result.returncode == 0, result.describe()
        result = analyzer.run("--pid", first, "--pid", third)
        assert result.returncode == 0, result.describe()
        # As with --children: a line for each process, and equal stacks once.
        assert result.stdout.count("process %s:" % first) == result.stdout.count("process %s:" % third) == 1
        assert "process %s:" % second not in result.stdout
        # One that is not there is said, and the others are shown.
        found, result = shown("--pid", "%s,%d" % (first, 2 ** 22 + 1))
        assert found == pids[:1] and result.returncode == analyzer.EXIT_PARTIAL, result.describe()
        assert "there is no process %d" % (2 ** 22 + 1) in result.stderr


def test_command_lines(mark):
    with started(2, mark) as pids:
        found, result = shown("--match", mark)
        assert sorted(found) == sorted(pids) and result.returncode == 0, result.describe()
        assert sorted(shown("--match", r" (1|2) %s" % mark)[0]) == sorted(pids[:2])
        assert shown("--match", r"^[^ ]*python[^ ]* -s -c .* 0 %s" % mark)[0] == [pids[2]]
        assert shown("--match", " 2 " + mark, "--children", "--depth", 1)[0] == pids[:2]
        # Nor the shells that start the program, whose command lines hold the expression, too.
        line = "%s --format json --match '%s'; true" % (analyzer.PROGRAM, mark)
        done = subprocess.run(["sh", "-c", "sh -c \"%s\"; true" % line], capture_output=True, timeout=600)
        found = [json.loads(line)["target"]["pid"] for line in done.stdout.decode().splitlines()]
        assert sorted(found) == sorted(pids), done.stderr


def test_ancestor_that_matches(mark, tmp_path):
    """A program that asks for itself is no shell that was told the same words."""
    system = interpreters.find_system() or pytest.skip("no /usr/bin/python3 here")
    (tmp_path / "asks.py").write_text(
        "import subprocess, sys\n"
        "print(subprocess.run([sys.argv[1], '--format', 'json', '--match', sys.argv[2]], stdout=-1).stdout.decode())\n")
    done = subprocess.run([system.path, "-s", tmp_path / "asks.py", analyzer.PROGRAM, mark], capture_output=True, timeout=600)
    document, = [json.loads(line) for line in done.stdout.decode().splitlines() if line]
    assert document["target"]["arguments"][-1] == mark


def test_nothing_matches(mark):
    # Both alternatives hold the mark: other tests' programs have command lines, too.
    result = analyzer.run("--match", "%s|other-%s" % (mark, mark))
    assert result.returncode == analyzer.EXIT_NOTHING and not result.stdout, result.describe()
    assert result.stderr == "pystack-core: --match '%s|other-%s': no process has such a command line\n" % (mark, mark)


@pytest.mark.parametrize("arguments", [
    ["--pid", "1,"], ["--pid", ",1"], ["--pid", "1,x"], ["--pid", "1,99999999999999999999"], ["--match", "("],
    ["--match", "x", "core"], ["--depth", "1", "--pid", "1"], ["--depth", "0", "--children", "--pid", "1"],
    ["--depth", "x", "--children", "--pid", "1"]], ids=" ".join)
def test_wrong_usage(arguments):
    result = analyzer.run(*arguments)
    assert result.returncode == analyzer.EXIT_USAGE and not result.stdout, result.describe()


def test_core_of_each(mark, tmp_path):
    with started(1, mark) as pids:
        result = analyzer.run("--match", mark, "--save-core", tmp_path / "saved")
    assert result.returncode == 0, result.describe()
    assert sorted(os.listdir(tmp_path)) == sorted("saved.%d" % pid for pid in pids)
