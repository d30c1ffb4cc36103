"""The commands inside a real gdb: attached, from run, and through gdbserver."""
import json
import os
import re
import subprocess
import tempfile

import analyzer
import cores
import debuggers
import interpreters

SLOW = True  # A third of the interpreters, unless thoroughly.


def frames_of(document, tid):
    return [(frame["kind"], frame["function"], frame["file"], frame["line"])
            for frame in analyzer.thread_by_tid(document, tid)["frames"]]


def test_attached(interpreter):
    """A process that gdb holds, and the core that gdb makes of it, have the same stacks."""
    with debuggers.living(interpreter) as (pid, folder):
        core = os.path.join(folder, "core")
        answers = debuggers.gdb(["attach %d" % pid, "py-bt-merged all --json", "py-why", "py-list-merged",
                                 "generate-core-file " + core] + debuggers.WALK +
                                ["py-bt-merged all --all --json", "detach"])
        debuggers.check_native_frames(answers[-3], json.loads(debuggers.without_warnings(answers[-2])))
        document = json.loads(debuggers.without_warnings(answers[1]))
        dead = analyzer.json_of(core).json
    analyzer.assert_fits_schema(document)
    assert document["target"]["kind"] == "process" and document["target"]["pid"] == pid
    assert document["target"]["arguments"] == dead["target"]["arguments"]
    assert document["warnings"] == [] and document["crash"] is None
    assert "a living process, held by a debugger" in answers[2]
    tids = [thread["tid"] for thread in dead["threads"]]
    assert sorted(tids) == sorted(thread["tid"] for thread in document["threads"])
    for tid in tids:
        assert frames_of(document, tid) == frames_of(dead, tid)


def test_run_and_stop_at_a_signal(interpreter):
    source = os.path.join(cores.PROGRAMS, "ways_to_die.py")
    helpers = cores.native_helpers()
    with tempfile.TemporaryDirectory() as folder:
        answers = debuggers.gdb(["run", "py-bt-merged --json", "py-why", "kill", "py-why"], "--args", interpreter.path,
                                "-s", source, folder, os.path.join(helpers, "libways.so"), "write_null", cwd=folder)
    document = json.loads(debuggers.without_warnings(answers[1]))
    assert document["crash"]["signal"] == "SIGSEGV" and document["crash"]["fault_address"] == "0x0"
    thread, = document["threads"]
    assert "crashed" in thread["state"]
    assert analyzer.python_frames(thread)[-1]["function"] == "<module>"
    assert "stopped by SIGSEGV in thread" in answers[2]
    assert answers[4] == "error: There is no process and no core file."


SENT = """
import os, time
parent = os.getpid()
ours, its = os.pipe()
if not os.fork():
    os.close(its)
    with open("/proc/self/comm", "w") as file:
        file.write("a \\x1bsender")
    os.kill(parent, 6)
    os.read(ours, 1)  # Until the parent has gone.
    os._exit(0)
time.sleep(1000)
"""


def test_sender_of_a_signal(tmp_path):
    """By its name, while it lives."""
    (tmp_path / "sent.py").write_text(SENT)
    answers = debuggers.gdb(["run", "py-why", "kill"], "--args", interpreters.find_wanted()[-1].path, "-s",
                            tmp_path / "sent.py")
    assert re.search(r"stopped by SIGABRT.*: sent by pid [0-9]+ a \\x1bsender$", answers[1], re.M), answers[1]


def test_through_gdbserver():
    debuggers.need(debuggers.GDB, debuggers.GDBSERVER)
    interpreter = interpreters.find_wanted()[-1]
    with debuggers.living(interpreter, "deep_sleep.py", "100") as (pid, _):
        here = debuggers.gdb(["attach %d" % pid, "py-bt-merged all --json", "detach"])
        server = subprocess.Popen([debuggers.GDBSERVER, "--once", "--attach", "127.0.0.1:0", str(pid)],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            said = b""
            while b"Listening" not in said:
                said = server.stdout.readline()
                assert said, server.wait()
            port = int(said.split()[-1])
            there = debuggers.gdb(["target remote 127.0.0.1:%d" % port, "py-bt-merged all --json", "py-bt-merged --json",
                                   "set debug remote on", "py-bt-merged --json", "set debug remote off",
                                   "py-up-merged 5", debuggers.SELECTED, "bt 3", "detach"])
        finally:
            server.kill()
            server.communicate()
    ours, theirs = (json.loads(debuggers.without_warnings(one[1])) for one in (here, there))
    for thread in ours["threads"]:
        assert frames_of(ours, thread["tid"]) == frames_of(theirs, thread["tid"])
    assert len(json.loads(debuggers.without_warnings(there[2]))["threads"][0]["frames"]) > 100
    # Memory comes by the page: a request for each word would be ten thousands.
    assert 0 < len(re.findall(r"Sending packet: \$[mx]", there[4])) < 1000


def test_process_that_goes_away():
    interpreter = interpreters.find_wanted()[-1]
    with debuggers.living(interpreter) as (pid, _):
        dead = "kill -KILL {0}; until grep -q 'State:.Z' /proc/{0}/status; do sleep 0.05; done".format(pid)
        answers = debuggers.gdb(["attach %d" % pid, "py-bt-merged", "shell " + dead,
                                 "py-bt-merged", "py-up-merged", "py-why", "print 6*7"])
    assert "Python" in answers[1]
    assert answers[3].startswith("error: ") and answers[5].startswith("error: ")
    assert "defect" not in "".join(answers) and answers[-1] == "$1 = 42\n"


def test_process_that_runs():
    interpreter = interpreters.find_wanted()[-1]
    with debuggers.living(interpreter) as (pid, _):
        answers = debuggers.gdb(["set non-stop on", "attach %d" % pid, "continue -a &", "py-bt-merged", "py-why",
                                 "bt 1", "interrupt -a",
                                 "shell until grep -q 'State:.t' /proc/%d/status; do sleep 0.05; done" % pid])
    assert answers[3] == answers[4] == "error: The process is running; interrupt it first."


def test_stack_is_looked_at_anew():
    """After the process went on, the commands start at the innermost frame of the new stack."""
    interpreter = interpreters.find_wanted()[-1]
    program = "import os\ndef one():\n os.getppid()\ndef two():\n os.getppid()\none()\ntwo()\n"
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "program.py"), "w") as file:
            file.write(program)
        answers = debuggers.gdb(["set breakpoint pending on", "break getppid", "run", "print $py_current_line()",
                                 "py-up-merged 3", "continue", "print $py_current_line()", "py-frame-merged", "kill"],
                                "--args", interpreter.path, "-s", "program.py", cwd=folder)
    assert re.search(r'"\S*program.py:3"', answers[3]) and re.search(r'"\S*program.py:5"', answers[6])
    assert answers[4].split()[0] == "#3" and answers[7].split()[0] == "#0"
