"""Living processes with another root, other ids, and files that are not there any more."""
import json
import os
import re
import shutil
import subprocess

import pytest

import analyzer
import living
from confined import contained, needs_mounts

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")

RESTING = """
import threading, time
for number in range(3):
    thread = threading.Thread(target=time.sleep, args=(600,))
    thread.daemon = True
    thread.start()
print("ready", flush=True)
time.sleep(600)
"""


@needs_mounts
def test_container_from_outside(interpreter, tmp_path):
    with contained(interpreter, tmp_path / "root", living.BUSY) as pid:
        result = living.report(pid, "--format", "json", "--all")
        text = living.report(pid).stdout
    assert result.returncode == analyzer.EXIT_COMPLETE, result.describe()
    assert result.json["threads"][0]["tid"] == pid
    assert all(module["file"] == "found" for module in result.json["target"]["modules"])
    for thread in result.json["threads"]:
        living.assert_whole(thread)
    # Its source is in a file system that only the container has.
    assert re.search(r" /tmp/inside\.py:\d+\n +[a-z]", text), text


@needs_mounts
def test_ids_of_threads_without_a_pause(interpreter, tmp_path):
    """The process knows its threads by other ids than those that they have here."""
    program = tmp_path / "resting.py"
    program.write_text(RESTING)
    with contained(interpreter, tmp_path / "root", str(program)) as pid:
        result = living.report(pid, "--format", "json", "--no-pause")
        assert result.returncode == analyzer.EXIT_COMPLETE, result.describe()
        assert {thread["tid"] for thread in result.json["threads"]} == set(living.thread_states(pid))


@needs_mounts
def test_container_from_inside(interpreter, tmp_path):
    with contained(interpreter, tmp_path / "root", living.BUSY) as pid:
        shutil.copy(analyzer.PROGRAM, "/proc/%d/root/tmp/program" % pid)
        inside = subprocess.run(["nsenter", "-t", str(pid), "-p", "-m", "-r", "-w", "/tmp/program",
                                 "--pid", "1", "--format", "json"], capture_output=True, timeout=600)
    assert inside.returncode == analyzer.EXIT_COMPLETE, inside.stderr
    document = json.loads(inside.stdout)
    assert document["target"]["pid"] == document["threads"][0]["tid"] == 1


@needs_mounts
def test_tracer_outside_of_the_container(interpreter, tmp_path):
    """The kernel does not say inside who it is: the reason is told all the same."""
    with contained(interpreter, tmp_path / "root", living.BUSY) as pid:
        shutil.copy(analyzer.PROGRAM, "/proc/%d/root/tmp/program" % pid)
        with living.traced(pid):
            inside = subprocess.run(["nsenter", "-t", str(pid), "-p", "-m", "-r", "-w", "/tmp/program",
                                     "--pid", "1"], capture_output=True, text=True, timeout=600)
    assert inside.returncode == analyzer.EXIT_PARTIAL, inside.stderr
    assert "traced already, by a process that is not visible here" in inside.stderr
    assert "/inside.py:" in inside.stdout and "security module" not in inside.stderr


@needs_root
def test_chroot(tmp_path):
    """Another root alone: its paths are written in full, and mean what they say only inside."""
    program = living.compiled("static", living.COUNTER, "-static")
    shutil.copy(program, tmp_path / "inside")
    with living.running(["chroot", str(tmp_path), "/inside"]) as process:
        result = living.report(process.pid, "--format", "json", "--mode", "native")
    assert result.returncode == analyzer.EXIT_COMPLETE, result.describe()
    assert result.json["target"]["executable"] == "/inside"
    assert any(frame["symbol"] == "main" for frame in result.json["threads"][0]["frames"])


@needs_root
@pytest.mark.parametrize("fate", ["deleted", "replaced", "damaged"])
def test_files_that_are_not_there_any_more(fate, tmp_path):
    """The very file that is mapped is found, whatever has become of its name."""
    program = tmp_path / "program"
    shutil.copy(living.compiled("counter", living.COUNTER), program)
    with living.running([str(program)]) as process:
        if fate == "deleted":
            program.unlink()
        elif fate == "replaced":
            shutil.copy("/bin/true", tmp_path / "other")
            os.rename(tmp_path / "other", program)
        else:
            program.unlink()
            program.write_bytes(b"not a program")
        result = living.report(process.pid, "--format", "json", "--mode", "native")
    assert result.returncode == analyzer.EXIT_COMPLETE, result.describe()
    assert any(frame["symbol"] == "main" for frame in result.json["threads"][0]["frames"])
