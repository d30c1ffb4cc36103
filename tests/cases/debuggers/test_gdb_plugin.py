"""The commands inside a real gdb, on cores."""
import json
import os
import re

import pytest

import analyzer
import cores
import debuggers


@pytest.mark.cases(["threads", "language", "alive", "callbacks"], slow=True)
def test_same_core_same_answer(core):
    answers = debuggers.gdb(debuggers.open_core(core) + [
        "py-bt-merged all", "py-bt-merged", "py-bt-merged all --all", "py-bt-merged all --json",
        "python-value gdb.selected_thread().ptid[1]"])
    everything, one, hidden, document, tid = answers[2:]
    program = [core.path, core.interpreter.path]
    assert debuggers.without_warnings(everything) == debuggers.show(*program)
    assert debuggers.without_warnings(one) == debuggers.show("--thread", tid, *program)
    assert debuggers.without_warnings(hidden) == debuggers.show("--all", *program)
    assert json.loads(debuggers.without_warnings(document)) == \
        json.loads(debuggers.show("--format", "json", *program))


@pytest.mark.cases(["threads"], slow=True)
def test_moving_along(core):
    """Every native frame of the merged stack is gdb's frame with that pc and stack pointer."""
    document = analyzer.json_of(core.path).json
    thread = document["threads"][0]
    shown = [frame for frame in thread["frames"] if not frame["hidden"] and frame["kind"] != "gap"]
    commands = []
    for number in range(len(shown)):
        commands += ["py-frame-merged %d" % number, debuggers.SELECTED]
    answers = debuggers.gdb(debuggers.open_core(core) + commands)[2:]
    text = debuggers.show("--thread", thread["tid"], "--no-group", core.path)
    place = None
    for number, frame in enumerate(shown):
        printed, selected = answers[2 * number:2 * number + 2]
        assert printed in text and printed.split()[0] == "#%d" % number, printed
        if frame["pc"]:
            place = [frame["pc"], frame["sp"]]
        if place:
            assert selected == place, (number, frame)


@pytest.mark.cases(["threads"], slow=True)
def test_up_and_down(core):
    answers = debuggers.gdb(debuggers.open_core(core) + [
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


@pytest.mark.cases(["threads"], slow=True)
def test_every_native_frame_is_gdbs(core):
    """eu-stack-like: the native frames of all threads, hidden ones too, are those gdb has."""
    answers = debuggers.gdb(debuggers.open_core(core) + debuggers.WALK + ["py-bt-merged all --all --json"])
    debuggers.check_native_frames(answers[-2], json.loads(debuggers.without_warnings(answers[-1])))


def test_list_threads_and_why():
    core = debuggers.some_core("threads")
    source = os.path.join(cores.PROGRAMS, "threads.py")
    answers = debuggers.gdb(debuggers.open_core(core) + [
        "py-why", "py-threads-merged", "py-bt-merged", "print $py_current_line()"])[2:]
    why, listed, stack, line = answers
    header = debuggers.show(core.path).partition("\n\n")[0]
    assert why.startswith(header)
    assert "1 thread crashed" in why and "waiting for the GIL" in why
    document = analyzer.json_of(core.path).json
    assert len(listed.splitlines()) == len(document["threads"])
    assert listed.startswith('* 1    Thread %d "MainThread" \u00b7 crashed' % document["threads"][0]["tid"])
    number = re.search(r"#(\d+)\s+Python\s+<module>\s+%s:(\d+)$" % re.escape(source), stack, re.M)
    assert line == '$1 = "%s:%s"\n' % (source, number.group(2))
    answers = debuggers.gdb(debuggers.open_core(core) + ["py-frame-merged " + number.group(1), "py-list-merged",
                                               "py-list-merged 5", "py-list-merged", "py-list-merged 999",
                                               "py-list-merged 1,3", "py-list-merged", "py-list-merged 20,",
                                               "py-list-merged ,12", "py-list-merged 3,1"])[3:]
    current = int(number.group(2))
    with open(source) as file:
        lines = file.read().splitlines()
    assert "->%d\t%s\n" % (current, lines[current - 1]) in answers[0]
    assert answers[1] == "".join("  %d\t%s\n" % (at + 1, lines[at]) for at in range(10))
    assert answers[2] == "".join("  %d\t%s\n" % (at + 1, lines[at]) for at in range(10, 20))
    assert answers[3].startswith("error: Line number 994 is behind the end of ")
    for answer, first, last in ((answers[4], 1, 3), (answers[5], 4, 13), (answers[6], 20, 29), (answers[7], 3, 12)):
        numbers = [int(number) for number in re.findall(r"^(?:->|  )(\d+)\t", answer, re.M)]
        assert numbers == list(range(first, last + 1)), answer
    assert answers[8] == "error: There are no lines from 3 to 1."


def test_list_shows_no_other_frame():
    """Of gdb's frames that no merged one shows; the evaluator's has the Python frame that it runs."""
    core = debuggers.some_core("threads")
    frames = analyzer.json_of(core.path, "--all").json["threads"][0]["frames"]
    hidden = [at for at, frame in enumerate(frames) if frame["hidden"] and frame["kind"] == "native"
              and not frame["inlined"]]
    runs = next(at for at in hidden if frames[at + 1]["kind"] == "python")
    works = next(at for at in hidden if frames[at + 1]["kind"] == "native" and at > 0)

    def select(at):
        """The outermost of those that are inlined there."""
        return "python [f.select() for f in list(_walk()) if f.pc() == %s]" % frames[at]["pc"]

    answers = debuggers.gdb(debuggers.WALK[2:3] + debuggers.open_core(core) + [
        select(runs), "py-list-merged", "py-list-merged", select(works), "py-list-merged", "py-print-merged x"])[3:]
    python = frames[runs + 1]
    assert answers[1].startswith("Merged frame ") and python["function"] in answers[1].split("\n")[0]
    assert re.search(r"^->%d\t" % python["line"], answers[1], re.M)
    assert not answers[2].startswith("Merged frame ")
    for answer in answers[4:]:
        assert answer.startswith("error: The selected frame of gdb, ") and "py-frame-merged" in answer


def test_words_that_make_no_sense():
    core = debuggers.some_core("threads")
    answers = debuggers.gdb(["py-bt-merged", "py-why", "py-up-merged", "py-threads-merged",
                             "print $py_current_line()"])
    assert [answer for answer in answers if "There is no process and no core file." not in answer] == []
    answers = debuggers.gdb(debuggers.open_core(core) + ["py-bt-merged foo", "py-bt-merged 99999", "py-bt-merged 7.1",
                                               "py-bt-merged --nonsense", "py-why all"])[2:]
    assert answers == ["error: Invalid thread ID: foo", "error: Unknown thread 99999.",
                       "error: Thread 7.1 is not one of the selected inferior.",
                       "error: Unknown option --nonsense; the options are --all, --locals, --locals=python, --no-fold "
                       "and --json.",
                       "error: py-why takes no arguments."]


def test_threads_are_chosen_as_gdb_does():
    core = debuggers.some_core("threads")
    answers = debuggers.gdb(debuggers.open_core(core) + [
        "py-bt-merged 2 --json", "py-bt-merged 1.3 --json", "py-bt-merged 2-3 --json", "py-bt-merged 1.* --json",
        "python-value {t.num: t.ptid[1] for t in gdb.selected_inferior().threads()}"])[2:]
    tids = answers.pop()
    by_system = debuggers.gdb(debuggers.open_core(core) + ["py-bt-merged %d --json" % tids["2"]])[2]
    chosen = [sorted(thread["tid"] for thread in json.loads(answer)["threads"])
              for answer in answers + [by_system]]
    assert chosen == [[tids["2"]], [tids["3"]], sorted([tids["2"], tids["3"]]), sorted(tids.values()), [tids["2"]]]


def test_help_and_completion():
    names = ["py-bt-merged", "py-up-merged", "py-down-merged", "py-frame-merged", "py-list-merged",
             "py-locals-merged", "py-print-merged", "py-why", "py-threads-merged"]
    answers = debuggers.gdb(["help " + name for name in names] + ["apropos merged", "complete py-bt-merged --"])
    for name, text in zip(names, answers):
        first, usage = text.splitlines()[:2]
        assert first.endswith(".") and usage.startswith("Usage: " + name), text
        assert "Example" in text
    assert all("%s -- " % name in answers[-2] for name in names if name != "py-why")
    assert answers[-1].split("\n")[:3] == ["py-bt-merged --all", "py-bt-merged --json", "py-bt-merged --locals"]


@pytest.mark.cases(["callbacks", "generators"], slow=True)
def test_backtrace_of_gdb(core):
    """Python frames stand in bt in the order of the merged stack; nothing else of bt goes."""
    settings = ["set style enabled off", "set backtrace past-main on", "set backtrace past-entry on"]
    answers = debuggers.gdb(debuggers.open_core(core) + settings + [
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


@pytest.mark.cases(["threads"], slow=True)
def test_beside_pythons_own_commands(core):
    """CPython's python-gdb.py and these scripts do not know of each other; in either order."""
    theirs = core.interpreter.path + "-gdb.py"
    if not os.path.exists(theirs):
        pytest.skip("%s has no gdb script beside it" % core.interpreter.path)
    alone = debuggers.gdb(["source " + theirs] + debuggers.open_core(core) + ["py-bt", "py-list"], script=None)
    assert "threads.py" in alone[3]
    ours = debuggers.gdb(debuggers.open_core(core) + ["py-bt-merged", "py-why", "py-up-merged"])[2:]
    for order in ([theirs, debuggers.GDB_SCRIPT], [debuggers.GDB_SCRIPT, theirs]):
        both = debuggers.gdb(["source " + script for script in order] + debuggers.open_core(core) +
                             ["py-bt", "py-list", "py-bt-merged", "py-why", "py-up-merged"], script=None)
        assert both[4:6] == alone[3:5]
        assert both[6:] == ours
