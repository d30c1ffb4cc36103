"""Values inside a real gdb: of Python frames, of Cython frames, of C frames; and Cython frames in place."""
import json
import os
import re

import pytest

import analyzer
import cython_core
import debuggers

OTHER_SUITES = True


def shown_frames(thread):
    return [frame for frame in thread["frames"] if not frame["hidden"] and frame["kind"] != "gap"]


def in_gdb(core, commands):
    """What gdb answers; the interpreters of another suite are below a root of their own."""
    root = core.interpreter.root
    setup = ["set sysroot " + root] if root else ["set width 0"]
    setup += ["file " + core.interpreter.file, "core-file " + core.path]
    return debuggers.gdb(setup + commands)[3:]


@pytest.mark.cases(["frame_values"], slow=True)
def test_locals_of_all_frames(core):
    """As --locals has them; frames of C are left to gdb."""
    document = analyzer.json_of(core.path, "--locals").json
    thread, = document["threads"]
    shown = shown_frames(thread)
    answers = in_gdb(core, ["py-bt-merged all --locals", "py-bt-merged --locals --json"] +
                     [command for number in range(len(shown))
                      for command in ("py-frame-merged %d" % number, "py-locals-merged")])
    assert debuggers.without_warnings(answers[0]) == analyzer.run(
        "--color", "never", "--locals", core.path).stdout
    assert json.loads(debuggers.without_warnings(answers[1]))["threads"] == document["threads"]
    seen = 0
    for frame, answer in zip(shown, answers[3::2]):
        if frame["kind"] != "python":
            continue
        known = frame.get("locals") or {}
        seen += len(known)
        assert answer.splitlines() == (["%s = %s" % one for one in known.items()] or ["No locals."])
    assert seen > 20


@pytest.mark.cases(["frame_values"], slow=True)
def test_single_values(core):
    promised = core.truth["promises"]["values"]
    numbers = {frame["name"]: number for number, frame in enumerate(
        shown_frames(analyzer.json_of(core.path).json["threads"][0]))}
    commands, expected = [], []
    for name, expressions in promised.items():
        commands += ["py-frame-merged %d" % numbers[name]] + ["py-print-merged " + what for what in expressions]
        expected += [None] + ["%s %s = %s\n" % (scope, what.strip(), text)
                              for what, (scope, text) in expressions.items()]
    commands += ["py-print-merged nothing", "py-print-merged", "py-print-merged len(", "py-frame-merged 0",
                 "py-print-merged x"]
    answers = in_gdb(core, commands)
    assert [one for one in zip(answers, expected) if one[1] and one[0] != one[1]] == []
    wrong = answers[-5:]
    assert wrong[0] == "error: there is no 'nothing' among the locals, globals and builtins of this frame"
    assert wrong[1] == "error: The name of what is to be printed is missing."
    assert wrong[2].startswith("error: '.' or '[' is wanted at column 4")
    assert wrong[4].startswith("error: Merged frame 0 is not one of Python")
    assert len(expected) > 40


def test_limits():
    core = debuggers.some_core("frame_values")
    thread = analyzer.json_of(core.path, "--locals", "--value-items", "1").json["threads"][0]
    number, frame = next((number, one) for number, one in enumerate(shown_frames(thread)) if one["name"] == "deepest")
    answers = debuggers.gdb(debuggers.open_core(core) + [
        "py-frame-merged %d" % number, "py-print-merged --value-items 1 thing.rows", "py-print-merged thing.rows",
        "py-locals-merged --value-items=1", "py-print-merged --value-depth", "py-print-merged --value-items 70000 thing",
        "py-bt-merged --value-items 1 all --locals"])[3:]
    assert answers[0].endswith("\u2026 2 more]\n") and "\u2026" not in answers[1]
    assert answers[2].splitlines() == ["%s = %s" % one for one in frame["locals"].items()]
    assert answers[3:5] == ["error: --value-depth takes a number from 1 on.",
                            "error: the items of values is 70000; the most is 65536"]
    assert debuggers.without_warnings(answers[5]) == analyzer.run(
        "--color", "never", "--locals", "--value-items", "1", core.path).stdout


def test_names_are_completed():
    core = debuggers.some_core("frame_values")
    frame = next(number for number, one in enumerate(shown_frames(analyzer.json_of(core.path).json["threads"][0]))
                 if one["name"] == "deepest")
    answers = debuggers.gdb(debuggers.open_core(core) + [
        "complete py-print-merged thi", "py-frame-merged %d" % frame, "complete py-print-merged thi",
        "complete py-print-merged thing.na", "complete py-print-merged CONST", "complete py-print-merged ValueE",
        "complete py-print-merged thing.nothing", "complete py-print-merged nothing."])[2:]
    assert answers[0] == ""  # a frame of C
    assert answers[2:] == ["py-print-merged thing\n", "py-print-merged thing.name\n", "py-print-merged CONSTANT\n",
                           "py-print-merged ValueError\n", "", ""]


def test_values_of_c_frames_are_gdbs():
    core = debuggers.some_core("threads")
    thread = analyzer.json_of(core.path).json["threads"][0]
    frame = next(number for number, one in enumerate(shown_frames(thread)) if one["function"] == "ways_rest_and_kill")
    answers = debuggers.gdb(debuggers.open_core(core) + ["py-frame-merged %d" % frame, "info args", "info locals",
                                                         "py-frame-merged %d" % frame, "py-locals-merged"])[2:]
    known = shown_frames(analyzer.json_of(core.path, "--locals").json["threads"][0])[frame].get("locals")
    if known:
        assert answers[4] == "".join("%s = %s\n" % one for one in known.items())
    else:
        assert answers[4] == answers[1] + answers[2]


# ---- Cython ----

def check_cython(document, answers):
    """One answer of py-frame-merged, one of SELECTED, one of py-list-merged for each frame; then bt."""
    shown = shown_frames(document["threads"][0])
    cython = 0
    for number, frame in enumerate(shown):
        printed, selected, listed = answers[3 * number:3 * number + 3]
        assert printed.split()[0] == "#%d" % number
        if frame["kind"] != "cython":
            continue
        cython += 1
        assert frame["file"] and frame["file"].endswith("kern.pyx")
        assert selected == [frame["pc"], frame["sp"]], frame
        if os.path.exists(frame["file"]):
            assert re.search(r"^->%d\t" % frame["line"], listed, re.M), listed
    assert cython >= 8
    lines = [(frame["function"], frame["line"]) for frame in shown if frame["kind"] == "cython"]
    in_bt = [(name, int(line)) for name, line in re.findall(r"^#?\d* *(?:0x\w+ in )?(\S+) \(.*\) at \S*kern\.pyx:(\d+)$",
                                                            answers[-1], re.M)]
    assert in_bt == lines


def commands_for(document):
    return [command for number in range(len(shown_frames(document["threads"][0])))
            for command in ("py-frame-merged %d" % number, debuggers.SELECTED, "py-list-merged")] + ["bt"]


@pytest.mark.parametrize("variant", ["O0", "O2-line"])
def test_cython_frames_of_a_core(variant, system):
    core = cython_core.make_cython_core(variant)
    document = analyzer.json_of(core).json
    settings = ["set style enabled off", "set print frame-arguments none", "file " + system.path, "core-file " + core]
    check_cython(document, debuggers.gdb(settings + commands_for(document))[len(settings):])


def test_cython_frames_of_a_process(system):
    """At the signal that its core was made of."""
    core = cython_core.make_cython_core("O0")
    settings = ["set style enabled off", "set print frame-arguments none", "run", "py-bt-merged --json"]
    answers = debuggers.gdb(settings + commands_for(analyzer.json_of(core).json), "--args", system.path, "-s", "run.py",
                            cwd=os.path.dirname(core))
    check_cython(json.loads(debuggers.without_warnings(answers[3])), answers[len(settings):])
