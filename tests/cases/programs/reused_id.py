"""
Gives the id of a process that is looked at to another one, in a namespace of process ids of its own, where the kernel says
and takes which one was given last (proc(5), ns_last_pid). The program is stopped by gdb where its parser asks for more.
Arguments: the program, a script for gdb from there on with PID for the id, and the folder of resting.py.
"""
import os
import subprocess
import sys

sys.path.insert(0, sys.argv[3])
import resting  # noqa: E402

TRIES = 200
BEGIN = """set confirm off
set pagination off
set breakpoint pending on
set detach-on-fork on
set follow-fork-mode child
handle SIGSYS nostop noprint pass
break reports_write
run
shell touch stopped
shell cat reused
source calls.py
kill
"""


def start():
    process = subprocess.Popen([sys.executable, "-S", "-c", "import signal; print('ready', flush=True); signal.pause()"],
                               stdout=subprocess.PIPE)
    process.stdout.readline()
    return process


first = start()
os.mkfifo("reused")
with open("commands", "w") as file:
    file.write(BEGIN)
with open("calls.py", "w") as file:
    file.write(sys.argv[2].replace("PID", str(first.pid)))
with open("told", "w") as told:
    gdb = subprocess.Popen(["gdb", "-nx", "-batch", "-x", "commands", "--args", sys.argv[1], "--pid", str(first.pid)],
                           stdout=told, stderr=subprocess.STDOUT, env=dict(os.environ, DEBUGINFOD_URLS=""))
resting.wait_until(lambda: os.path.exists("stopped") or gdb.poll() is not None, "stop of the parser", 120)
first.kill()
first.wait()
for _ in range(TRIES):
    with open("/proc/sys/kernel/ns_last_pid", "w") as file:
        file.write(str(first.pid - 1))
    second = start()
    if second.pid == first.pid:
        break
    second.kill()
    second.wait()
print("reused" if second.pid == first.pid else "another", flush=True)
with open("reused", "w"):
    pass
gdb.wait()
second.kill()
