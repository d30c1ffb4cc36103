"""The commands inside a real lldb: on cores and attached."""
import glob
import json
import os
import re
import subprocess
import tempfile

import pytest

import analyzer
import cores
import debuggers
import interpreters
import resting

SLOW = True  # A third of the interpreters, unless thoroughly.
SCRIPT = os.path.join(debuggers.PLUGIN, "pystack_core_lldb.py")

# Runs in lldb's Python: what each command says, and the selected frame after it.
SESSION = """
import json, lldb, os
def __lldb_init_module(debugger, _):
    debugger.SetAsync(False)
    answers = []
    for command in json.loads(os.environ["PSC_COMMANDS"]):
        said = lldb.SBCommandReturnObject()
        where = lldb.SBExecutionContext(debugger.GetSelectedTarget().GetProcess())
        debugger.GetCommandInterpreter().HandleCommand(command, where, said)
        process = debugger.GetSelectedTarget().GetProcess()
        thread = process.GetSelectedThread() if process.IsValid() else None
        frame = thread.GetSelectedFrame() if thread else None
        answers.append({"text": said.GetOutput() or "", "error": said.GetError() or "", "good": said.Succeeded(),
                        "tid": thread.GetThreadID() if thread else None,
                        "frame": [hex(frame.GetPC()), hex(frame.GetSP())] if frame and frame.IsValid() else None})
    with open(os.environ["PSC_ANSWERS"], "w") as file:
        json.dump(answers, file)
"""


def python_path():
    """Where the lldb module is: Debian's lldb-14 looks in a folder that is not there."""
    found = subprocess.run([debuggers.LLDB, "-P"], capture_output=True).stdout.decode().strip()
    folders = [found] + sorted(glob.glob("/usr/lib/llvm-*/lib/python3*/dist-packages"))
    version = subprocess.run([debuggers.LLDB, "--version"], capture_output=True).stdout.decode()
    number = re.search(r"version (\d+)", version).group(1)
    good = [folder for folder in folders if os.path.isdir(os.path.join(folder, "lldb"))]
    return next((folder for folder in good if "llvm-%s/" % number in folder), good[0] if good else "")


def lldb(commands, timeout=600, script=SCRIPT, **env):
    debuggers.need(debuggers.LLDB)
    with tempfile.TemporaryDirectory() as folder:
        session, said = os.path.join(folder, "psc_session.py"), os.path.join(folder, "said")
        with open(session, "w") as file:
            file.write(SESSION)
        told = {"PSC_COMMANDS": json.dumps(commands), "PSC_ANSWERS": said, "PYTHONPATH": python_path()}
        command = [debuggers.LLDB, "--no-lldbinit", "--batch", "-o", "settings set use-color false",
                   "-o", "settings set symbols.enable-external-lookup false",
                   "-o", "command script import " + script, "-o", "command script import " + session]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env=debuggers.environment(**{**told, **env}), timeout=timeout)
        console = done.stdout.decode("utf-8", "replace")
        assert done.returncode == 0 and os.path.exists(said), console[-3000:]
        with open(said) as file:
            return json.load(file)


def open_core(core):
    return "target create %s --core %s" % (core.interpreter.path, core.path)


@pytest.mark.cases(["threads"], slow=True)
def test_same_core_same_answer(core):
    answers = lldb([open_core(core), "py-bt-merged all", "py-bt-merged", "py-bt-merged all --json --all",
                    "py-bt-merged 2 --json"])
    everything, one, document, second = answers[1:]

    def show(*options):
        return analyzer.run("--color", "never", *options, core.path, core.interpreter.path).stdout

    assert everything["text"] == show()
    assert one["text"] == show("--thread", one["tid"])
    assert json.loads(document["text"]) == json.loads(show("--all", "--format", "json"))
    thread, = json.loads(second["text"])["threads"]
    assert thread["tid"] != one["tid"]


def test_moving_along():
    core = cores.make_core("threads", interpreters.find_wanted()[-1])
    thread = analyzer.json_of(core.path).json["threads"][0]
    shown = [frame for frame in thread["frames"] if not frame["hidden"] and frame["kind"] != "gap"]
    answers = lldb([open_core(core)] + ["py-frame-merged %d" % number for number in range(len(shown))] +
                   ["py-frame-merged 0", "py-up-merged 2", "py-down-merged", "py-frame-merged 99", "py-frame-merged x"])
    for number, (answer, frame) in enumerate(zip(answers[1:], shown)):
        assert answer["text"].split()[0] == "#%d" % number
        # lldb's own unwinder may have lost the frame; then it is said.
        if frame["pc"] and not answer["error"]:
            assert answer["frame"] == [frame["pc"], frame["sp"]]
    assert not answers[1]["error"]
    rest = answers[1 + len(shown):]
    assert [answer["text"].split()[0] for answer in rest[:3]] == ["#0", "#2", "#1"]
    assert "No merged frame at level 99" in rest[3]["error"] and "Not a number: x" in rest[4]["error"]


def test_list_threads_and_why():
    """As gdb's commands say it, but for the marks of the selected thread."""
    core = cores.make_core("threads", interpreters.find_wanted()[-1])
    source = os.path.join(cores.PROGRAMS, "threads.py")
    thread = analyzer.json_of(core.path).json["threads"][0]
    shown = [frame for frame in thread["frames"] if not frame["hidden"] and frame["kind"] != "gap"]
    number = next(at for at, frame in enumerate(shown) if frame["file"] == source)
    commands = ["py-frame-merged %d" % number, "py-list-merged", "py-list-merged", "py-list-merged 5",
                "py-list-merged 999", "py-why", "py-threads-merged"]
    ours = [(answer["error"] or answer["text"]).rstrip("\n") for answer in lldb([open_core(core)] + commands)[1:]]
    theirs = [answer.rstrip("\n") for answer in debuggers.gdb(debuggers.open_core(core) + commands)[2:]]
    assert "->%d\t" % shown[number]["line"] in ours[1]
    assert ours[:6] == theirs[:6]
    strip = [[re.sub(r"^[* ] \d+ +", "", line) for line in sorted(text.splitlines())] for text in (ours[6], theirs[6])]
    assert sorted(strip[0]) == sorted(strip[1]) and ours[6].startswith("* 1 ")


@pytest.mark.cases(["frame_values"], slow=True)
def test_values(core):
    """py-bt-merged --locals, py-locals-merged and py-print-merged."""
    document = analyzer.json_of(core.path, "--locals").json
    shown = [one for one in document["threads"][0]["frames"] if not one["hidden"] and one["kind"] != "gap"]
    number, frame = next((at, one) for at, one in enumerate(shown) if one["name"] == "deepest")
    promised = core.truth["promises"]["values"]["deepest"]
    answers = lldb([open_core(core), "py-bt-merged all --locals", "py-frame-merged %d" % number, "py-locals-merged"] +
                   ["py-print-merged " + what for what in promised] +
                   ["py-print-merged nothing", "py-frame-merged 0", "py-locals-merged", "py-print-merged x"])[1:]
    assert answers[0]["text"] == analyzer.run("--color", "never", "--locals", core.path).stdout
    assert answers[2]["text"].splitlines() == ["%s = %s" % one for one in frame["locals"].items()]
    for (what, (scope, text)), answer in zip(promised.items(), answers[3:]):
        assert answer["text"] == "%s %s = %s\n" % (scope, what.strip(), text), answer
    wrong = answers[3 + len(promised):]
    assert wrong[0]["error"] == "error: there is no 'nothing' among the locals, globals and builtins of this frame\n"
    assert wrong[2]["text"] or wrong[2]["error"]
    assert "is not one of Python" in wrong[3]["error"]


# A minute at most until lldb has let go of the process.
GONE = "script import time; [time.sleep(0.01) for _ in range(6000) if " \
    "lldb.debugger.GetSelectedTarget().process.state == lldb.eStateStopped]"


def test_attached(interpreter):
    with debuggers.living(interpreter) as (pid, folder):
        core = os.path.join(folder, "core")
        answers = lldb(["process attach --pid %d" % pid, "py-bt-merged all --json", "py-bt-merged", "py-up-merged 1",
                        "process detach", GONE, "py-bt-merged"])
        subprocess.run(["gcore", "-o", core, str(pid)], check=True, capture_output=True)
        dead = analyzer.json_of("%s.%d" % (core, pid)).json
    document = json.loads(answers[1]["text"])
    assert document["target"]["kind"] == "process" and document["warnings"] == []
    for thread in dead["threads"]:
        same = analyzer.thread_by_tid(document, thread["tid"])
        assert [frame["function"] for frame in analyzer.python_frames(same)] == \
            [frame["function"] for frame in analyzer.python_frames(thread)]
        assert same["python_thread_id"] == thread["python_thread_id"]
    assert "a living process, held by a debugger" in answers[2]["text"]
    assert "There is no process" in answers[-1]["error"]


def test_words_that_make_no_sense():
    core = cores.make_core("threads", interpreters.find_wanted()[-1])
    answers = lldb(["py-bt-merged", "py-up-merged", open_core(core), "py-bt-merged foo", "py-bt-merged 99999",
                    "py-bt-merged --x", "help py-bt-merged"])
    assert "There is no process and no core file" in answers[0]["error"] and not answers[0]["good"]
    assert "There is no process and no core file" in answers[1]["error"]
    assert "Invalid thread ID: foo" in answers[3]["error"] and "Unknown thread 99999." in answers[4]["error"]
    assert "Unknown option --x" in answers[5]["error"]
    assert "Usage: py-bt-merged [all|THREAD...] [OPTION...]" in answers[6]["text"]


def test_library_is_missing():
    """The program does it, and that is said."""
    core = cores.make_core("threads", interpreters.find_wanted()[-1])
    missing = {"PYSTACK_CORE_LIBRARY": "/nonexistent/libpystack_core.so"}
    commands = ["py-bt-merged all", "py-bt-merged 2", "py-why", "py-threads-merged", "py-up-merged 2",
                "py-locals-merged"]
    ours = lldb([open_core(core)] + commands)[1:]
    answers = lldb([open_core(core)] + commands + ["py-print-merged x"], **missing)[1:]
    for one, other in zip(ours, answers):
        assert one["text"] == other["text"] and other["good"]
        assert "/nonexistent/libpystack_core.so cannot be loaded" in other["error"] + other["text"] or \
            other["error"] == one["error"]
    assert "does it instead" in answers[0]["error"] and not answers[-1]["good"]
    answers = lldb([open_core(core), "py-why"], **missing, PYSTACK_CORE_PROGRAM="/nonexistent/program")
    assert "/nonexistent" in answers[1]["error"] and not answers[1]["good"]


# Runs in lldb's Python: says when a command of ours has begun.
BEGUN = """
import os
import pystack_core_library as psc
ask_for_interrupts = psc.ask_for_interrupts
def begin(question):
    os.write(1, b"has begun")
    ask_for_interrupts(question)
psc.ask_for_interrupts = begin
"""


def test_without_its_own_module():
    """Debian's lldb-14 as it is: what to do about it is said."""
    debuggers.need(debuggers.LLDB)
    found = subprocess.run([debuggers.LLDB, "-P"], capture_output=True).stdout.decode().strip()
    if os.path.isdir(os.path.join(found, "lldb")):
        pytest.skip("this lldb finds its module")
    done = subprocess.run([debuggers.LLDB, "--no-lldbinit", "--batch", "-o", "command script import " + SCRIPT],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=debuggers.environment())
    assert "start it with PYTHONPATH=" + python_path() in done.stdout.decode()


def test_interrupt(tmp_path):
    """
    Ctrl-C at any moment of a command: the prompt comes back, and the commands go on to work. Before it
    lldb's own handler may wait for a lock that its thread holds while it takes in what was typed.
    """
    core = cores.make_core("recursion_20000", interpreters.find_wanted()[-1])
    debuggers.need(debuggers.LLDB)
    (tmp_path / "psc_begun.py").write_text(BEGUN)
    command = [debuggers.LLDB, "--no-lldbinit", "-o", "settings set symbols.enable-external-lookup false",
               "-o", "settings set use-color false", "-o", "command script import " + SCRIPT,
               "-o", "command script import %s" % (tmp_path / "psc_begun.py"), "-o", open_core(core)]
    env = debuggers.environment(PYTHONPATH=python_path(), TERM="xterm")
    with debuggers.Terminal(command, env) as terminal:
        terminal.expect(r"Core file .* was loaded")
        for number, delay in enumerate((0.0, 0.01, 0.02, 0.05, 0.1), 1000):
            terminal.ask("py-bt-merged\n", "has begun")
            resting.let_pass(delay)
            os.write(terminal.fd, b"\x03")
            terminal.ask("script print(6 * %d)\n" % number, r"(?m)^%d\s" % (6 * number))
        terminal.send("py-why\n")
        terminal.expect("died of SIGSEGV")
