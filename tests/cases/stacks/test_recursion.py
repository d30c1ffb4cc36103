"""A recursion stands there once, with how often it comes again; JSON and --all have every frame."""
import re

import pytest

import analyzer

CYCLES = ["cycles_three", "cycles_through_c", "cycles_twice"]
FOLD = re.compile(r"^  --  #(\d+) to #(\d+): the (?:(\d+) frames|frame) (above|below), ([\d,]+) times? more$", re.M)


def text_of(core, *options):
    result = analyzer.run("--thread", "crashed", *options, core.path)
    assert result.returncode == analyzer.EXIT_COMPLETE, result.describe()
    return result.stdout


def folds_of(text):
    """(first number, last number, frames of a cycle, how often)"""
    return [(int(first), int(last), int(frames or 1), int(times.replace(",", "")))
            for first, last, frames, _, times in FOLD.findall(text)]


def places(frames):
    return [(frame["kind"], frame["function"], frame["file"], frame["line"]) for frame in frames]


def check_folds(text, frames):
    """Each line stands for the frames that it says, and every frame is there or stood for."""
    folds = folds_of(text)
    numbers = [int(number) for number in re.findall(r"^  #(\d+) ", text, re.M)]
    for first, last, size, times in folds:
        assert last - first + 1 == size * times
        cycle = places(frames[first - size:first])
        assert all(places(frames[at:at + size]) == cycle for at in range(first, last + 1, size))
        assert not set(numbers) & set(range(first, last + 1))
        numbers += range(first, last + 1)
    assert sorted(numbers) == list(range(len(frames)))
    return folds


@pytest.mark.cases(CYCLES + ["recursion_900"], slow=True)
def test_recursion_is_folded(core):
    document = analyzer.json_of(core.path).json
    analyzer.assert_fits_schema(document)
    thread = document["threads"][0]
    text = text_of(core)
    folds = check_folds(text, thread["frames"])
    assert len(text.splitlines()) < 150
    assert len(folds) == (2 if core.case == "cycles_twice" else 1)
    # What is folded is what JSON calls a recursion.
    told = [thread["recursion"]] + thread.get("other_recursions", [])
    assert sorted((one["first"] + one["frames"], one["frames"], one["times"] - 1) for one in told) == \
        [(first, size, times) for first, _, size, times in folds]
    assert max(told, key=lambda one: one["frames"] * one["times"]) == told[0]
    if core.case == "cycles_three":
        assert thread["recursion"]["frames"] == 3 and thread["recursion"]["times"] >= 599
    if core.case == "cycles_through_c":
        cycle = thread["frames"][thread["recursion"]["first"]:][:thread["recursion"]["frames"]]
        assert {"python", "native"} == {frame["kind"] for frame in cycle}


@pytest.mark.cases(["cycles_three", "cycles_through_c"], slow=True)
def test_each_frame_when_asked(core):
    listed = len(analyzer.json_of(core.path).json["threads"][0]["frames"])
    for option, document in (("--no-fold", analyzer.json_of(core.path).json),
                             ("--all", analyzer.json_of(core.path, "--all").json)):
        thread = document["threads"][0]
        text = text_of(core, option)
        assert not folds_of(text)
        assert len(re.findall(r"^  #\d+ ", text, re.M)) == len(thread["frames"]) >= listed
        # The same recursion, whether hidden frames are listed or not.
        first = thread["recursion"]["first"]
        shown = [frame for frame in thread["frames"][first:] if not frame["hidden"]]
        size = thread["recursion"]["frames"]
        for at in range(thread["recursion"]["times"]):
            assert places(shown[at * size:(at + 1) * size]) == places(shown[:size])


@pytest.mark.cases(["cycles_three"], slow=True)
def test_outermost_first(core):
    frames = analyzer.json_of(core.path).json["threads"][0]["frames"]
    text = text_of(core, "--order", "outermost-first")
    (last, first, size, times), = folds_of(text)
    assert (size * times, size) == (last - first + 1, 3)
    assert " below, " in text
    numbers = [int(number) for number in re.findall(r"^  #(\d+) ", text, re.M)]
    assert numbers == sorted(numbers, reverse=True) and numbers[0] == len(frames) - 1
    assert places(frames[first - 3:first]) == places(frames[first:first + 3])


@pytest.mark.cases(["cycles_three"], slow=True)
def test_values_of_both_ends(core):
    """With values the outermost cycle is shown as well: with which argument it all began."""
    text = text_of(core, "--locals")
    assert check_folds(text, analyzer.json_of(core.path).json["threads"][0]["frames"])
    assert "depth = 600\n" in text and "depth = 1\n" in text and "depth = 300\n" not in text


@pytest.mark.cases(["cycles_three", "recursion_900"], slow=True)
def test_max_frames(core):
    frames = analyzer.json_of(core.path).json["threads"][0]["frames"]
    for options, count in ((("--max-frames", "2"), 2), (("--max-frames", "20", "--no-fold"), 20),
                           (("--max-frames=7", "--all"), 7)):
        text = text_of(core, *options)
        assert [int(number) for number in re.findall(r"^  #(\d+) ", text, re.M)] == list(range(count))
        rest = re.search(r"^  --  ([\d,]+) more frames further out$", text, re.M).group(1)
        if "--all" not in options:
            assert int(rest.replace(",", "")) == len(frames) - count
    assert "further out" not in text_of(core, "--max-frames", "5000")
    outer = text_of(core, "--max-frames", "2", "--order", "outermost-first")
    assert re.findall(r"^  (?:#(\d+)|--  [\d,]+ more)", outer, re.M) == ["", "1", "0"]
    # JSON has all of them.
    assert analyzer.json_of(core.path, "--max-frames", "2").json["threads"][0]["frames"] == frames


def test_what_is_no_recursion(any_core):
    for thread in analyzer.json_of(any_core).json["threads"]:
        assert thread["recursion"] is None and "other_recursions" not in thread
    assert not folds_of(analyzer.run(any_core).stdout)
