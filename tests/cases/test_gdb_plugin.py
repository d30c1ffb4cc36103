"""The commands inside a real gdb: on cores, attached, from run, and through gdbserver."""
import json
import os
import re
import socket
import subprocess
import tempfile

import pytest

import analyzer
import cores
import debuggers
import interpreters

# The frame that gdb has selected, as this project's JSON says places.
SELECTED = 'python-value (lambda f: [hex(f.pc()), hex(int(f.read_register("rsp")) & (2**64 - 1))])(gdb.selected_frame())'


def open_core(core):
    return ["file " + core.interpreter.path, "core-file " + core.path]


def show(*arguments):
    result = analyzer.run("--color", "never", *arguments)
    assert result.returncode in (0, 1), result.describe()
    return result.stdout


def system_core(case):
    one = interpreters.find_system() or interpreters.find_wanted()[-1]
    return cores.make_core(case, one)


# ---- cores ----

@pytest.mark.cases(["threads", "language", "alive", "callbacks"])
def test_same_core_same_answer(core):
    answers = debuggers.gdb(open_core(core) + [
        "py-bt-merged all", "py-bt-merged", "py-bt-merged all --all", "py-bt-merged all --json",
        "python-value gdb.selected_thread().ptid[1]"])
    everything, one, hidden, document, tid = answers[2:]
    program = [core.path, core.interpreter.path]
    assert debuggers.without_warnings(everything) == show(*program)
    assert debuggers.without_warnings(one) == show("--thread", tid, *program)
    assert debuggers.without_warnings(hidden) == show("--all", *program)
    assert json.loads(debuggers.without_warnings(document)) == \
        json.loads(show("--format", "json", *program))


@pytest.mark.cases(["threads"])
def test_moving_along(core):
    """Every native frame of the merged stack is gdb's frame with that pc and stack pointer."""
    document = analyzer.json_of(core.path).json
    thread = document["threads"][0]
    shown = [frame for frame in thread["frames"] if not frame["hidden"] and frame["kind"] != "gap"]
    commands = []
    for number in range(len(shown)):
        commands += ["py-frame-merged %d" % number, SELECTED]
    answers = debuggers.gdb(open_core(core) + commands)[2:]
    text = show("--thread", thread["tid"], "--no-group", core.path)
    place = None
    for number, frame in enumerate(shown):
        printed, selected = answers[2 * number:2 * number + 2]
        assert printed in text and printed.split()[0] == "#%d" % number, printed
        if frame["pc"]:
            place = [frame["pc"], frame["sp"]]
        if place:
            assert selected == place, (number, frame)


@pytest.mark.cases(["threads"])
def test_up_and_down(core):
    answers = debuggers.gdb(open_core(core) + [
        "py-down-merged", "py-up-merged", "py-up-merged 2", "py-down-merged", "py-frame-merged",
        "py-up-merged 1000", "py-up-merged", "py-frame-merged 1000", "py-frame-merged x y",
        "frame 0", "py-up-merged", "py-frame-merged nonsense"])[2:]
    assert answers[0] == "error: Bottom (innermost) merged frame selected; you cannot go down."
    assert [answer.split()[0] for answer in answers[1:5]] == ["#1", "#3", "#2", "#2"]
    assert re.search(r"\b_start\b", answers[5]), answers[5]
    assert answers[6] == "error: Initial merged frame selected; you cannot go up."
    assert answers[7].startswith("error: No merged frame at level 1000; there are ")
    assert answers[8].startswith("error: ")
    assert answers[10].split()[0] == "#1"  # gdb's frame 0 was selected: on from there
    assert answers[11].startswith("error: ")


@pytest.mark.cases(["threads"])
def test_every_native_frame_is_gdbs(core):
    """eu-stack-like: the native frames of all threads, hidden ones too, are those gdb has."""
    walk = ("python-value {t.ptid[1]: (t.switch(), [hex(f.pc()) for f in __import__('itertools').takewhile(bool, "
            "_walk()) if f.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME)])[1] "
            "for t in gdb.selected_inferior().threads()}")
    define = ("python exec('def _walk():\\n f = gdb.newest_frame()\\n while f:\\n  yield f\\n  f = f.older()')")
    settings = ["set backtrace past-main on", "set backtrace past-entry on"]
    answers = debuggers.gdb(open_core(core) + settings + [define, walk, "py-bt-merged all --all --json"])
    theirs, document = answers[-2], json.loads(debuggers.without_warnings(answers[-1]))
    for thread in document["threads"]:
        ours = [hex(pc) for pc in analyzer.physical_pcs(thread)]
        assert ours == theirs[str(thread["tid"])], thread["tid"]


def test_list_threads_and_why():
    core = system_core("threads")
    source = os.path.join(cores.PROGRAMS, "threads.py")
    answers = debuggers.gdb(open_core(core) + [
        "py-why", "py-threads-merged", "py-bt-merged", "print $py_current_line()"])[2:]
    why, listed, stack, line = answers
    header = show(core.path).partition("\n\n")[0]
    assert why.startswith(header)
    assert "1 thread crashed" in why and "waiting for the GIL" in why
    document = analyzer.json_of(core.path).json
    assert len(listed.splitlines()) == len(document["threads"])
    assert listed.startswith('* 1    Thread %d "MainThread" \u00b7 crashed' % document["threads"][0]["tid"])
    number = re.search(r"#(\d+)\s+Python\s+<module>\s+%s:(\d+)$" % re.escape(source), stack, re.M)
    assert line == '$1 = "%s:%s"\n' % (source, number.group(2))
    answers = debuggers.gdb(open_core(core) + ["py-frame-merged " + number.group(1), "py-list-merged",
                                               "py-list-merged 5", "py-list-merged", "py-list-merged 999"])[3:]
    current = int(number.group(2))
    with open(source) as file:
        lines = file.read().splitlines()
    assert "->%d\t%s\n" % (current, lines[current - 1]) in answers[0]
    assert answers[1] == "".join("  %d\t%s\n" % (at + 1, lines[at]) for at in range(10))
    assert answers[2] == "".join("  %d\t%s\n" % (at + 1, lines[at]) for at in range(10, 20))
    assert answers[3].startswith("error: Line number 994 is behind the end of ")


def test_words_that_make_no_sense():
    core = system_core("threads")
    answers = debuggers.gdb(["py-bt-merged", "py-why", "py-up-merged", "py-threads-merged",
                             "print $py_current_line()"])
    assert [answer for answer in answers if "There is no process and no core file." not in answer] == []
    answers = debuggers.gdb(open_core(core) + ["py-bt-merged foo", "py-bt-merged 99999", "py-bt-merged 7.1",
                                               "py-bt-merged --nonsense", "py-why all"])[2:]
    assert answers == ["error: Invalid thread ID: foo", "error: Unknown thread 99999.",
                       "error: Thread 7.1 is not one of the selected inferior.",
                       "error: Unknown option --nonsense; the options are --all and --json.",
                       "error: py-why takes no arguments."]


def test_threads_are_chosen_as_gdb_does():
    core = system_core("threads")
    answers = debuggers.gdb(open_core(core) + [
        "py-bt-merged 2 --json", "py-bt-merged 1.3 --json", "py-bt-merged 2-3 --json", "py-bt-merged 1.* --json",
        "python-value {t.num: t.ptid[1] for t in gdb.selected_inferior().threads()}"])[2:]
    tids = answers.pop()
    by_system = debuggers.gdb(open_core(core) + ["py-bt-merged %d --json" % tids["2"]])[2]
    chosen = [sorted(thread["tid"] for thread in json.loads(answer)["threads"])
              for answer in answers + [by_system]]
    assert chosen == [[tids["2"]], [tids["3"]], sorted([tids["2"], tids["3"]]), sorted(tids.values()), [tids["2"]]]


def test_help_and_completion():
    names = ["py-bt-merged", "py-up-merged", "py-down-merged", "py-frame-merged", "py-list-merged", "py-why",
             "py-threads-merged"]
    answers = debuggers.gdb(["help " + name for name in names] + ["apropos merged", "complete py-bt-merged --"])
    for name, text in zip(names, answers):
        first, usage = text.splitlines()[:2]
        assert first.endswith(".") and usage.startswith("Usage: " + name), text
        assert "Example" in text
    assert all("%s -- " % name in answers[-2] for name in names if name != "py-why")
    assert answers[-1].split("\n")[:2] == ["py-bt-merged --all", "py-bt-merged --json"]


def test_version_is_the_projects():
    """The scripts are written for the library of this tree."""
    with open(os.path.join(cores.SOURCE, "CMakeLists.txt")) as file:
        version = re.search(r"project\(\S+ VERSION (\S+)", file.read()).group(1)
    with open(os.path.join(debuggers.PLUGIN, "pystack_core_interface.py")) as file:
        assert 'VERSION = "%s"' % version in file.read()


def test_structures_fit_the_header():
    """The ctypes structures have the header's members, in its order."""
    with open(os.path.join(cores.SOURCE, "analyzer", "include", "pystack_core.h")) as file:
        header = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    with open(os.path.join(debuggers.PLUGIN, "pystack_core_interface.py")) as file:
        script = file.read()
    for ours, theirs in (("OpenOptions", "open_options"), ("CaptureOptions", "capture_options"),
                         ("PrintOptions", "print_options"), ("HostMapping", "host_mapping"),
                         ("HostThread", "host_thread"), ("Host", "host"), ("Error", "error")):
        body = re.search(r"struct psc_%s \{(.*?)\n\};" % theirs, header, re.S).group(1)
        members = re.findall(r"\(\*(\w+)\)\(|(\w+)(?:\[\w+\])?;", re.sub(r"\)\([^;]*\);", ")();", body))
        members = [pointer or plain for pointer, plain in members]
        fields = re.search(r"class %s\(.*?_fields_ = \[(.*?)\]\n\n" % ours, script, re.S).group(1)
        assert re.findall(r'\("(\w+)"', fields) == members, theirs


@pytest.mark.cases(["callbacks", "generators"])
def test_backtrace_of_gdb(core):
    """Python frames stand in bt in the order of the merged stack; nothing else of bt goes."""
    settings = ["set style enabled off", "set backtrace past-main on", "set backtrace past-entry on"]
    answers = debuggers.gdb(open_core(core) + settings + [
        "bt", "bt -hide", "bt -no-filters", "disable frame-filter global pystack-core", "bt",
        "py-bt-merged --json"])[5:]
    merged, hidden, plain, _, disabled, document = answers
    document = json.loads(debuggers.without_warnings(document))
    python = [frame for frame in document["threads"][0]["frames"] if frame["kind"] == "python"]
    places = ["%s () at %s:%d" % (frame["function"], frame["file"], frame["line"]) for frame in python]

    def python_lines(text):
        return [place for line in text.splitlines() for place in re.findall(r"^(?:#\d+ +)?(\S+ \(\) at \S+\.py:\d+)$", line)]

    def levels(text):
        return re.findall(r"^ *#(\d+)", text, re.M)

    assert python_lines(merged) == places and python_lines(hidden) == places
    assert "_PyEval_EvalFrameDefault" in plain and python_lines(plain) == []
    assert levels(merged) == levels(plain)
    assert "_PyEval_EvalFrameDefault" not in hidden
    assert python_lines(disabled) == [] and levels(disabled) == levels(plain)


@pytest.mark.cases(["threads"])
def test_beside_pythons_own_commands(core):
    """CPython's python-gdb.py and these scripts do not know of each other; in either order."""
    theirs = core.interpreter.path + "-gdb.py"
    if not os.path.exists(theirs):
        pytest.skip("%s has no gdb script beside it" % core.interpreter.path)
    alone = debuggers.gdb(["source " + theirs] + open_core(core) + ["py-bt", "py-list"], script=None)
    assert "threads.py" in alone[3]
    ours = debuggers.gdb(open_core(core) + ["py-bt-merged", "py-why", "py-up-merged"])[2:]
    for order in ([theirs, debuggers.GDB_SCRIPT], [debuggers.GDB_SCRIPT, theirs]):
        both = debuggers.gdb(["source " + script for script in order] + open_core(core) +
                             ["py-bt", "py-list", "py-bt-merged", "py-why", "py-up-merged"], script=None)
        assert both[4:6] == alone[3:5]
        assert both[6:] == ours


# ---- processes ----

def frames_of(document, tid):
    return [(frame["kind"], frame["function"], frame["file"], frame["line"])
            for frame in analyzer.thread_by_tid(document, tid)["frames"]]


def test_attached(interpreter):
    """A process that gdb holds, and the core that gdb makes of it, have the same stacks."""
    with debuggers.living(interpreter) as (pid, folder):
        core = os.path.join(folder, "core")
        answers = debuggers.gdb(["attach %d" % pid, "py-bt-merged all --json", "py-why", "py-list-merged",
                                 "generate-core-file " + core, "detach"])
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


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


TIMED = ("python-value (lambda t: [gdb.execute('py-bt-merged --json', to_string=True), "
         "__import__('time').monotonic() - t])(__import__('time').monotonic())")


def test_through_gdbserver():
    debuggers.need("gdb", "gdbserver")
    interpreter = interpreters.find_wanted()[-1]
    with debuggers.living(interpreter, "deep_sleep.py", "100") as (pid, _):
        here = debuggers.gdb(["attach %d" % pid, "py-bt-merged all --json", "detach"])
        port = free_port()
        server = subprocess.Popen(["gdbserver", "--once", "--attach", "127.0.0.1:%d" % port, str(pid)],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            while b"Listening" not in server.stdout.readline():
                assert server.poll() is None
            there = debuggers.gdb(["target remote 127.0.0.1:%d" % port, "py-bt-merged all --json", TIMED,
                                   "py-up-merged 5", SELECTED, "bt 3", "detach"])
        finally:
            server.kill()
            server.communicate()
    ours, theirs = (json.loads(debuggers.without_warnings(one[1])) for one in (here, there))
    for thread in ours["threads"]:
        assert frames_of(ours, thread["tid"]) == frames_of(theirs, thread["tid"])
    text, seconds = there[2]
    shown = [frame for frame in json.loads(text)["threads"][0]["frames"]]
    assert len(shown) > 100 and seconds < 1


# ---- what goes wrong ----

def test_library_is_missing():
    """The program does it, and that is said; what it cannot do is one sentence."""
    core = system_core("threads")
    missing = {"PYSTACK_CORE_LIBRARY": "/nonexistent/libpystack_core.so"}
    answers = debuggers.gdb(open_core(core) + ["py-bt-merged all", "py-bt-merged --all", "py-why", "bt 1"], env=missing)
    said = "warning: /nonexistent/libpystack_core.so cannot be loaded"
    assert answers[2].startswith(said) and "the program %s does it instead" % analyzer.PROGRAM in answers[2]
    # What the shell's program prints does not pass through gdb.
    assert show(core.path, core.interpreter.path) in answers.console
    assert answers[4].startswith("error: /nonexistent/libpystack_core.so cannot be loaded")
    assert "\n" not in answers[4] and answers[5].startswith("#0")
    answers = debuggers.gdb(open_core(core) + ["py-bt-merged"],
                            env={**missing, "PYSTACK_CORE_PROGRAM": ""}, script=copied_script())
    assert answers[2].startswith("error: ") and "is not found either" in answers[2]


def test_library_is_missing_for_a_process():
    """The program can read the Python side of what gdb holds."""
    with debuggers.living(interpreters.find_wanted()[-1]) as (pid, _):
        answers = debuggers.gdb(["attach %d" % pid, "py-bt-merged", "py-why", "detach"],
                                env={"PYSTACK_CORE_LIBRARY": "/nonexistent/libpystack_core.so"})
    assert "the program %s does it instead" % analyzer.PROGRAM in answers[1]
    assert 'Thread %d "MainThread"' % pid in answers.console and "only its Python frames" in answers.console
    assert answers[2].startswith("error: /nonexistent/")


def copied_script():
    """The scripts in a folder that has neither the library nor the program near it."""
    sources = [os.path.join(debuggers.PLUGIN, name) for name in os.listdir(debuggers.PLUGIN) if name.endswith(".py")]

    def make(folder):
        for source in sources:
            with open(source) as file, open(os.path.join(folder, os.path.basename(source)), "w") as copy:
                copy.write(file.read())

    return os.path.join(cores.made_once("gdb-scripts", cores.digest(*sorted(sources)), make), "pystack_core_gdb.py")


def test_library_beside_the_script(tmp_path):
    core = system_core("threads")
    script = tmp_path / "pystack_core_gdb.py"
    for name in os.listdir(debuggers.PLUGIN):
        if name.endswith(".py"):
            (tmp_path / name).symlink_to(os.path.join(debuggers.PLUGIN, name))
    folder = os.path.dirname(copied_script())
    nowhere = {"PYSTACK_CORE_LIBRARY": ""}
    answers = debuggers.gdb(open_core(core) + ["py-why"], env=nowhere, script=copied_script())
    assert answers[2].startswith("error: libpystack_core.so.0 cannot be loaded")
    link = os.path.join(folder, "libpystack_core.so.0")
    os.symlink(debuggers.LIBRARY, link)
    try:
        answers = debuggers.gdb(open_core(core) + ["py-why"], env=nowhere, script=copied_script())
    finally:
        os.unlink(link)
    assert "died of" in answers[2] and script.exists()


def test_library_of_another_version(tmp_path):
    source, library = tmp_path / "other.c", tmp_path / "libpystack_core.so.0"
    source.write_text('const char *psc_version(void); const char *psc_version(void) { return "97.1.0"; }\n')
    cores.compile_c([str(source)], str(library), "-shared", "-fPIC")
    core = system_core("threads")
    answers = debuggers.gdb(open_core(core) + ["py-bt-merged", "py-threads-merged"],
                            env={"PYSTACK_CORE_LIBRARY": str(library)})
    assert "is version 97.1.0, these commands are for" in answers[2]
    assert answers[3].startswith("error: ") and "is version 97.1.0" in answers[3]
    assert "died of" in answers.console
    source.write_text("int nothing;\n")
    cores.compile_c([str(source)], str(library), "-shared", "-fPIC")
    answers = debuggers.gdb(open_core(core) + ["py-why"], env={"PYSTACK_CORE_LIBRARY": str(library)})
    assert answers[2].startswith("error: ") and "psc_version" in answers[2]


def test_python_of_gdb_without_ctypes(tmp_path):
    """As with a PYTHONPATH for another Python."""
    (tmp_path / "ctypes.py").write_text("raise ImportError('SIZEOF_TIME_T')\n")
    core = system_core("threads")
    answers = debuggers.gdb(open_core(core) + ["py-bt-merged", "py-up-merged", "bt 2"], env={"PYTHONPATH": str(tmp_path)})
    assert "no working ctypes (ImportError: SIZEOF_TIME_T)" in answers[2]
    assert "died of" in answers.console
    assert answers[3].startswith("error: this debugger's Python has no working ctypes")
    assert answers[4].startswith("#0")


def test_broken_cores(tmp_path):
    """gdb lives, and every command says something."""
    core = system_core("threads")
    with open(core.path, "rb") as file:
        whole = file.read(8 << 20)
    for number, (size, damage) in enumerate([(len(whole) // 2, 0), (len(whole), 7), (1 << 20, 0), (20000, 0)]):
        damaged = bytearray(whole[:size])
        for at in range(5000, len(damaged), 997) if damage else ():
            damaged[at] ^= damage
        path = tmp_path / ("core%d" % number)
        path.write_bytes(damaged)
        answers = debuggers.gdb(["file " + core.interpreter.path, "core-file %s" % path, "py-bt-merged all",
                                 "py-bt-merged", "py-why", "py-up-merged", "py-threads-merged", "bt 3", "print 6*7"])
        assert all(answer for answer in answers[2:]), answers
        assert answers[-1] == "$1 = 42\n"
        assert "defect" not in "".join(answers)


def test_process_that_goes_away():
    interpreter = interpreters.find_wanted()[-1]
    with debuggers.living(interpreter) as (pid, _):
        answers = debuggers.gdb(["attach %d" % pid, "py-bt-merged", "shell kill -KILL %d; sleep 0.3" % pid,
                                 "py-bt-merged", "py-up-merged", "py-why", "print 6*7"])
    assert "Python" in answers[1]
    assert answers[3].startswith("error: ") and answers[5].startswith("error: ")
    assert "defect" not in "".join(answers) and answers[-1] == "$1 = 42\n"


def test_process_that_runs():
    interpreter = interpreters.find_wanted()[-1]
    with debuggers.living(interpreter) as (pid, _):
        answers = debuggers.gdb(["set non-stop on", "attach %d" % pid, "continue -a &", "py-bt-merged", "py-why",
                                 "bt 1", "interrupt -a", "python __import__('time').sleep(0.5)"])
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


MEMORY = ("python-value int([line for line in open('/proc/self/status') if line.startswith('VmRSS')][0].split()[1])")


def test_a_hundred_calls():
    core = system_core("threads")
    calls = ["py-bt-merged all", "py-why", "core-file " + core.path, "py-up-merged", "py-down-merged"]
    with debuggers.living(interpreters.find_wanted()[-1]) as (pid, _):
        on_core = debuggers.gdb(open_core(core) + calls * 10 + [MEMORY] + calls * 100 + [MEMORY])
        attached = debuggers.gdb(["attach %d" % pid] + ["py-bt-merged all"] * 10 + [MEMORY] +
                                 ["py-bt-merged all"] * 100 + [MEMORY])
    for answers in (on_core, attached):
        before, after = [answer for answer in answers if isinstance(answer, int)]
        assert after - before < 6000, "%d KB more after a hundred calls" % (after - before)


# ---- under a terminal ----

def terminal(core, **env):
    debuggers.need("gdb")
    command = ["gdb", *debuggers.QUIET, "-q", "-iex", "source " + debuggers.GDB_SCRIPT, core.interpreter.path,
               core.path]
    return debuggers.Terminal(command, debuggers.environment(**{"TERM": "xterm", **env}))


def test_completion_and_paging():
    with terminal(system_core("threads")) as gdb:
        gdb.expect(r"\(gdb\) ")
        gdb.send("py-bt-m\t")
        gdb.expect("py-bt-merged ")
        gdb.send("al\t --j\t\x15")
        gdb.expect("all +--json")
        gdb.send("\n")
        gdb.expect(r"\(gdb\) ")
        gdb.send("py-bt-merged all\n")
        gdb.expect("--Type <RET> for more")
        gdb.send("q\n")
        gdb.expect(r"Quit\s+\S*\(gdb\) ")
        gdb.send("print 6*7\n")
        gdb.expect("= 42")


def test_colors_are_gdbs():
    with terminal(system_core("threads")) as gdb:
        gdb.expect(r"\(gdb\) ")
        gdb.send("set pagination off\n")
        gdb.expect(r"\(gdb\) ")
        gdb.send("py-why\n")
        assert "\x1b[1;31m" in gdb.expect(r"crashed[^$]*\(gdb\) ")
        gdb.send("with style enabled off -- py-why\n")
        assert "\x1b[1;31m" not in gdb.expect(r"crashed[^$]*\(gdb\) ")


def test_interrupt():
    """Ctrl-C in the middle of a report of twenty thousand frames."""
    one = interpreters.find_wanted()[-1]
    with terminal(cores.make_core("recursion_20000", one)) as gdb:
        gdb.expect(r"\(gdb\) ")
        gdb.send("set pagination off\n")
        gdb.expect(r"\(gdb\) ")
        for _ in range(3):
            gdb.send("py-bt-merged\n")
            gdb.expect(r"#100 ")
            os.write(gdb.fd, b"\x03")
            gdb.expect(r"Quit\s[^#]*\(gdb\) ")
        gdb.send("print 6*7\n")
        gdb.expect("= 42")
