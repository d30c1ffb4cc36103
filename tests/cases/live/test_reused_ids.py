"""A process id that another process has by now: who named the first one gets nothing of the second."""
import os
import re
import subprocess
import sys

import pytest

import analyzer
import cores
import debuggers
import living
import made_calls

AT_FDCWD, OPENAT = -100, 257  # asm/unistd_64.h
# All of these may be read of the process that is looked at.
NAMES = ["task/PID/syscall", "task/PID/wchan", "fdinfo/1", "net/tcp"]


def test_an_id_that_is_given_again(tmp_path):
    debuggers.need("gdb")
    if os.uname().machine != "x86_64" or analyzer.SANITIZED or os.geteuid() or not living.can_unshare():
        pytest.skip("system calls of x86-64 are made, where ids can be chosen, in a program without sanitizers")
    done = subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", sys.executable,
                           os.path.join(cores.PROGRAMS, "reused_id.py"), analyzer.PROGRAM,
                           made_calls.driver([OPENAT, AT_FDCWD, "/proc/PID/" + name, 0] for name in NAMES), cores.SUPPORT],
                          cwd=tmp_path, env=dict(os.environ, **made_calls.ENVIRONMENT),
                          capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=600)
    if "ns_last_pid" in done.stderr or "another" in done.stdout:
        pytest.skip("ids cannot be chosen here")
    assert "reused" in done.stdout, done.stdout + done.stderr
    told = (tmp_path / "told").read_text()
    results = re.findall(r"^result (-?\d+)$", told, re.M)
    assert len(results) == len(NAMES), told[-3000:]
    assert all(int(result) < 0 for result in results), results
