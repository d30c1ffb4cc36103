"""What a person reads: nothing in it can drive a terminal, and it tells what JSON tells."""
import re

import pytest

import analyzer
import cores


@pytest.mark.cases(cores.CASES, slow=True)
def test_no_control_characters(core):
    for options in ((), ("--all",)):
        text = analyzer.run(*options, core.path).stdout
        assert analyzer.forbidden_characters(text) == []


@pytest.mark.cases(["control_names"])
def test_hostile_names_stay_on_their_line(core):
    """One line a frame, whatever the name holds; and no text is endless."""
    result = analyzer.run("--no-source", "--thread", "crashed", core.path)
    frames = analyzer.json_of(core.path).json["threads"][0]["frames"]
    numbered = re.findall(r"^ +#(\d+) ", result.stdout, re.M)
    assert len(numbered) == len([frame for frame in frames if frame["kind"] != "gap"])
    assert [int(number) for number in numbered] == list(range(len(numbered)))
    # DEL moves nothing, and JSON need not escape it.
    raw = analyzer.run("--format", "json", core.path).stdout.replace("\x7f", "")
    assert analyzer.forbidden_characters(raw) == []


@pytest.mark.cases(["names"])
def test_names_beyond_ascii(core):
    text = analyzer.run("--no-source", core.path).stdout
    for name in ("größe", "функция", "名前", "méthode", "dossier/été 日本 \U0001f40d.py",
                 "поток 線程 \U0001f9f5"):
        assert name in text


@pytest.mark.cases(cores.CASES, slow=True)
def test_text_shows_the_frames_of_json(core):
    """The crashed thread: the same functions in the same order."""
    document = analyzer.json_of(core.path).json
    frames = [frame for frame in document["threads"][0]["frames"] if frame["kind"] != "gap"]
    text = analyzer.run("--no-source", "--no-fold", "--thread", "crashed" if document["crash"] else
                        str(document["threads"][0]["tid"]), core.path).stdout
    lines = re.findall(r"^ +#\d+ +(\S+) +(.*)$", text, re.M)
    assert len(lines) == len(frames)
    if core.case == "control_names":
        return
    for (language, rest), frame in zip(lines, frames):
        assert (language == "Python") == (frame["kind"] == "python")
        assert (language == "Cython") == (frame["kind"] == "cython")
        if frame["function"]:
            assert rest.startswith(frame["function"][:40])


@pytest.mark.cases(["threads"])
def test_source_lines(core):
    text = analyzer.run(core.path).stdout
    assert "witness.testify(), holding.ways_rest_and_kill()" in text
    assert "time.sleep(600)" in text
    assert "time.sleep(600)" not in analyzer.run("--no-source", core.path).stdout


@pytest.mark.cases(["crowd"])
def test_equal_stacks_are_shown_once(core):
    text = analyzer.run(core.path).stdout
    # The first thread or two ran code that was not specialised yet: their stacks differ.
    sizes = [int(number) for number in re.findall(r"^Threads .* (\d+) threads", text, re.M)]
    assert sizes and max(sizes) >= 15
    assert text.count("crowd.py:17") < 20
    document = analyzer.json_of(core.path).json
    assert len(document["threads"]) == 21
    for thread in document["threads"][1:]:
        assert str(thread["tid"]) in text


@pytest.mark.cases(["crowd"])
def test_all_marks_what_is_hidden(core):
    usual, whole = analyzer.run(core.path).stdout, analyzer.run("--all", core.path).stdout
    assert "_PyEval_EvalFrameDefault" not in usual
    assert "_PyEval_EvalFrameDefault" in whole


@pytest.mark.cases(["callbacks"])
def test_values_are_marked(core):
    """A line of source may look like a name with its value."""
    document = analyzer.json_of(core.path, "--locals").json
    plain = analyzer.run(core.path).stdout.splitlines()
    added = [line for line in analyzer.run("--locals", "--no-fold", core.path).stdout.splitlines()
             if line.startswith("         ") and line not in plain]
    assert added and all(re.match(r" +\u00b7 \S", line) for line in added)
    assert not any(re.match(r" +\u00b7 ", line) for line in plain)
    for frame in document["threads"][0]["frames"]:
        lost = [name for name, value in frame.get("locals", {}).items() if value == "<optimised out>"]
        if len(lost) == len(set(lost)) > 1 and frame["kind"] == "native":
            assert any(line.strip() == "\u00b7 %s: optimised out" % ", ".join(lost) for line in added)


@pytest.mark.cases(["callbacks"])
def test_values_of_python_alone(core):
    every = analyzer.json_of(core.path, "--locals").json
    ours = analyzer.json_of(core.path, "--locals=python").json
    for thread in every["threads"]:
        for frame in thread["frames"]:
            if frame["kind"] == "native":
                frame.pop("locals", None)
                frame.pop("arguments", None)
    assert ours == every
    assert any(frame.get("locals") for frame in ours["threads"][0]["frames"])
    # As a word of its own as well.
    assert analyzer.run("--locals", "python", core.path).stdout == analyzer.run("--locals=python", core.path).stdout
