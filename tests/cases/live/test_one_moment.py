"""Threads that sleep are not stopped with the others, and the report is of one moment all the same."""
import contextlib
import os
import re
import subprocess

import pytest

import analyzer
import cores
import interpreters
import living

PROGRAM = os.path.join(cores.PROGRAMS, "one_holder.py")
LOOKS = 5 if analyzer.SANITIZED else 12
EXPLAINED = re.compile(r"pause: (\d+) of (\d+) threads slept all the while.*; snapshot (\d+)")

FRAME = re.compile(r"^  #\d+ +(\S+) +(\S+)", re.M)


@contextlib.contextmanager
def taking_turns(count, seconds):
    interpreter = [item for item in interpreters.find_wanted() if item.minor >= (3, 8)][-1]
    with subprocess.Popen([interpreter.path, PROGRAM, str(count), str(seconds)], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout.readline() == b"ready\n"
            yield process
        finally:
            process.kill()


def look(process, *options):
    """(the stacks' kinds and functions, threads that slept, threads, snapshots)"""
    result = living.report(process.pid, "--explain", "--no-group", "--no-source", *options)
    assert result.returncode == analyzer.EXIT_COMPLETE, result.describe()
    threads = re.split("^Thread ", result.stdout, flags=re.M)[1:]
    return ([FRAME.findall(thread) for thread in threads],
            *map(int, EXPLAINED.search(result.stdout).groups()))


def count_inside(stacks, name):
    return sum(("Python", name) in stack for stack in stacks)


def test_one_moment():
    """Who wakes up and goes on while others are read would be seen with the lock, too."""
    slept = again = looks = 0
    with taking_turns(8, 0.003) as process:
        # Whether somebody wakes up during a look is chance.
        while looks < LOOKS or (looks < 10 * LOOKS and not (slept and again)):
            looks += 1
            stacks, asleep, threads, snapshots = look(process)
            assert threads == len(stacks) == 17
            assert count_inside(stacks, "hold") <= 1, stacks
            assert count_inside(stacks, "take_turns") == 8
            slept += asleep
            again += snapshots > 1
        living.assert_runs_free(process.pid)
    assert slept and again, (slept, again, looks)


@pytest.mark.parametrize("options", [(), ("--locals",)])
def test_who_sleeps_is_left_alone(options, tmp_path):
    """All but the first one; not where each register and page is wanted of the very moment."""
    with taking_turns(8, 1000) as process:
        stacks, asleep, threads, snapshots = look(process, *options)
        living.assert_runs_free(process.pid)
        assert (asleep, threads, snapshots) == (0 if options else 16, 17, 1)
        if not options:
            assert stacks == look(process, "--save-core", str(tmp_path / "core"))[0]
    assert all(stack[0][0] == "C" and stack[-1][1] in living.OUTERMOST for stack in stacks)
