"""Single values by the program: --eval, of cores and living processes."""
import re
from typing import List

import pytest

import analyzer
import cython_core
import cores
import interpreters
import living

MOVING = """
import sys
class Pair: pass
def spin(pair):
    number = 0
    while True:
        number += 1
        pair.items = [[number] * 20000, {"next": number + 1}]
def main():
    pair = Pair()
    pair.items = [[0] * 20000, {"next": 1}]
    print("ready", flush=True)
    spin(pair)
main()
"""


def frame_of(document, function):
    """(tid, number) of the first frame of that function, as the text report counts them."""
    for thread in document["threads"]:
        shown = [frame for frame in thread["frames"] if frame["kind"] != "gap" and not frame["hidden"]]
        for number, frame in enumerate(shown):
            if frame["function"] == function:
                return thread["tid"], number
    raise AssertionError("no frame of %s" % function)


def evaluate(core, place, *names, options=()):
    arguments = [word for name in names for word in ("--eval", "%s: %s" % (place, name))]
    result = analyzer.run("--format", "json", *options, *arguments, core)
    analyzer.assert_fits_schema(result.json)
    return [(one["scope"], one["value"], one["problem"]) for one in result.json["values"]], result


def test_values_of_a_core(interpreter):
    core = cores.make_core("frame_values", interpreter).path
    document = analyzer.json_of(core).json
    tid, number = frame_of(document, "deepest")
    place = "%d/%d" % (tid, number)
    found, result = evaluate(core, place, "thing.rows[-1]", "thing.table['key']['deep']", "len", "nonsense", "thing.")
    assert found[0][:2] == ("local", "(3, 'three')") and found[1][:2] == ("local", "42")
    assert found[2][0] == "builtin" and found[2][1].startswith("<built-in function len")
    assert found[3][1] is None and "there is no 'nonsense'" in found[3][2] and found[4][2]
    assert result.returncode == analyzer.EXIT_PARTIAL and result.stderr.count("pystack-core: --eval: ") == 2
    for same in ("crashed/%d" % number, "main/#%d" % number):
        assert evaluate(core, same, "thing.rows[-1]")[0] == found[:1]
    text = analyzer.run("--eval", place + ":thing.rows[-1]", "--eval", place + ":  thing.table['key']", core)
    assert text.stdout == "local thing.rows[-1] = (3, 'three')\nlocal thing.table['key'] = {'deep': 42}\n"
    assert text.returncode == 0 and not text.stderr


def test_numbers_are_those_of_the_report(any_core):
    """With --all they count hidden frames; in the text they stand behind '#'."""
    ways: List[List[str]] = [[], ["--all"], ["--order", "outermost-first"]]
    for options in ways:
        text = analyzer.run(*options, any_core).stdout
        for number in re.findall(r"^  #(\d+) +Python +by_sub ", text, re.M):
            found, result = evaluate(any_core, "crashed/" + number, "by_sub", options=options)
            assert result.json["values"][0]["function"] == "by_sub" and found[0][0] == "global", result.describe()


def test_what_is_not_there(any_core):
    found, result = evaluate(any_core, "4194304/0", "x")
    assert found == [(None, None, "there is no thread 4194304")] and result.returncode == analyzer.EXIT_NOTHING
    found, _ = evaluate(any_core, "main/999", "x")
    assert found[0][2].endswith("has no frame 999")
    found, _ = evaluate(any_core, "main/0", "x")
    assert "is not one of Python" in found[0][2]


def test_names_of_a_cython_frame():
    core = cython_core.make_cython_core("O0")
    document = analyzer.json_of(core, "--locals").json
    for thread in document["threads"]:
        shown = [frame for frame in thread["frames"] if frame["kind"] != "gap" and not frame["hidden"]]
        for number, frame in enumerate(shown):
            if frame["kind"] == "cython" and frame.get("locals"):
                name, value = list(frame["locals"].items())[0]
                place = "%d/%d" % (thread["tid"], number)
                assert evaluate(core, place, name, options=["--locals"])[0] == [("local", value, None)]
                return
    raise AssertionError("no Cython frame has locals")


def test_one_moment_of_a_living_process(interpreter):
    """Values of one look fit together, however fast they change."""
    with living.running([interpreter.path, "-s", "-c", MOVING if interpreter.version >= "3" else
                         MOVING.replace('print("ready", flush=True)', 'print("ready"); sys.stdout.flush()')]) as process:
        seen = set()
        for _ in range(12):
            # What it calls is another thing from look to look: its number is mostly one of the first.
            words = [word for number in range(10) for word in (
                "--eval", "main/%d: pair.items[0][-1]" % number,
                "--eval", "%d/%d: pair.items[1]['next']" % (process.pid, number))]
            result = living.report(process.pid, "--format", "json", *words)
            values = [one for one in result.json["values"] if one["function"] == "spin"]
            if not values:
                continue
            assert int(values[1]["value"]) == int(values[0]["value"]) + 1, result.stdout
            seen.add(values[0]["value"])
            if len(seen) == 4:
                break
        assert len(seen) >= 2
        living.assert_runs_free(process.pid)


@pytest.mark.parametrize("arguments", [
    ["x"], ["1: x"], ["main/: x"], ["main/x: y"], ["/1: x"], ["other/1: x"], ["main/1:"], ["main/1"], ["main/-1: x"],
    ["0/1: x"], ["main/1 x"]], ids=" ".join)
def test_wrong_usage(arguments, any_core):
    result = analyzer.run("--eval", *arguments, any_core)
    assert result.returncode == analyzer.EXIT_USAGE and not result.stdout, result.describe()


def test_it_goes_with_one_target():
    if interpreters.find_system() is None:
        pytest.skip("no /usr/bin/python3 here")
    for options in (["--pid", "1,2"], ["--match", "x"], ["--pid", "1", "--children"], ["--pid", "1", "--no-pause"],
                    ["--mode", "python", "core"]):
        result = analyzer.run("--eval", "main/0: x", *options)
        assert result.returncode == analyzer.EXIT_USAGE, result.describe()
