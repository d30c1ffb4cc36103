"""`record` where it may not do all, and of processes in containers."""
import os
import subprocess

import analyzer
import cores
import interpreters
import living
from confined import (NOBODY, SYS_MEMFD_CREATE, SYS_PTRACE, SYS_READV, contained, drop_right_to_trace, forbid, needs_mounts,
                      needs_root)
from recordings import functions_of, python, read_ndjson

BUSY = os.path.join(cores.PROGRAMS, "shares.py")


def record_as(pid, *options, prepare=None, **someone):
    environment = {"PATH": "/usr/bin:/bin", "ASAN_OPTIONS": "exitcode=%d:detect_leaks=0" % analyzer.SANITIZER_EXIT}
    command = [analyzer.PROGRAM, "record", "--duration", "0.5", "--output", "ndjson=-", *options, "--pid", str(pid)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=600, env=environment,
                          preexec_fn=prepare, **someone)
    result = analyzer.Result(command, done.returncode, done.stdout, done.stderr)
    assert "Sanitizer" not in result.stderr, result.describe()
    return result


def seen_in(result):
    profile = read_ndjson(result.stdout)
    stacks = functions_of(profile)
    return {name for sample in profile["sample"] for name in stacks[sample["stack"]]}


@needs_root
def test_process_of_another_user():
    """One sentence that names the next step, and nothing is written."""
    with living.running([python(), BUSY, "600", "1"]) as process:
        advice = "sudo pystack-core record --pid %d" % process.pid
        for result, words in ((record_as(process.pid, **NOBODY), ("belongs to user 0", advice)),
                              (record_as(process.pid, prepare=drop_right_to_trace), ("--cap-add=SYS_PTRACE",))):
            assert result.returncode == analyzer.EXIT_NOTHING and not result.stdout, result.describe()
            assert result.stderr.count("\n") == 1 and result.stderr.count("process %d" % process.pid) == 1, result.stderr
            assert all(word in result.stderr for word in words), result.stderr
        living.assert_runs_free(process.pid)


@needs_root
def test_root_of_a_container_records_its_own():
    with living.running([python(), BUSY, "600", "1"], preexec_fn=drop_right_to_trace) as process:
        result = record_as(process.pid, prepare=drop_right_to_trace)
    assert result.returncode in (0, 1) and "in_python" in seen_in(result), result.describe()


def test_we_may_not_call_ptrace():
    """Without a stop it can be recorded all the same."""
    with living.running([python(), BUSY, "600", "1"]) as process:
        result = record_as(process.pid, prepare=forbid(SYS_PTRACE))
        assert result.returncode == analyzer.EXIT_NOTHING, result.describe()
        assert "seccomp filter forbids ptrace" in result.stderr and "--no-pause" in result.stderr, result.stderr
        unpaused = record_as(process.pid, "--no-pause", prepare=forbid(SYS_PTRACE))
        assert unpaused.returncode in (0, 1) and "in_python" in seen_in(unpaused), unpaused.describe()
        slowly = record_as(process.pid, prepare=forbid(SYS_READV))
        assert slowly.returncode in (0, 1) and "in_python" in seen_in(slowly), slowly.describe()


def test_without_files_in_memory():
    """A kernel or a filter that has none (memfd_create(2)): what the kernel tells of the process goes through a pipe."""
    with living.running([python(), BUSY, "600", "1"]) as process:
        result = record_as(process.pid, prepare=forbid(SYS_MEMFD_CREATE))
        assert result.returncode in (0, 1) and "in_python" in seen_in(result), result.describe()
        result = record_as(process.pid, "--children", prepare=forbid(SYS_MEMFD_CREATE))
        assert result.returncode in (0, 1) and "in_python" in seen_in(result), result.describe()


@needs_mounts
def test_process_in_a_container(tmp_path):
    """Its files are below its root, its threads have other ids inside."""
    interpreter = interpreters.find_version(3, 12) or interpreters.find_system()
    with contained(interpreter, tmp_path / "root", BUSY) as pid:
        result = record_as(pid, "--idle")
        assert result.returncode in (0, 1), result.describe()
        seen = seen_in(result)
        assert {"main", "in_python"} <= seen and any("crc32" in name for name in seen), seen
        unpaused = record_as(pid, "--no-pause", "--idle")
        assert unpaused.returncode in (0, 1) and "in_python" in seen_in(unpaused), unpaused.describe()
