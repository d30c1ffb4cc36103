"""Deep stacks print completely; broken chains end in a named gap; neither takes long."""
import re

import pytest

import analyzer
import truth


@pytest.mark.cases(["recursion_20000"])
def test_20000_python_frames(core):
    document = analyzer.json_of(core.path).json
    ident = core.truth["dying"]
    thread = analyzer.thread_by_ident(document, ident)
    expected = truth.stacks(core)[ident]
    assert len(expected) > 20000
    assert [truth.key_of_json(frame) for frame in analyzer.python_frames(thread)] == expected
    assert not analyzer.gaps(thread)


@pytest.mark.cases(["recursion_20000"])
def test_20000_python_frames_in_text(core):
    result = analyzer.run("--no-source", "--thread", "crashed", "--no-fold", core.path)
    assert result.returncode == analyzer.EXIT_COMPLETE, result.describe()
    assert len(re.findall(r"^ +#\d+ +Python +down ", result.stdout, re.M)) == 20001


@pytest.mark.cases(["native_60000"])
def test_60000_native_frames(core):
    document = analyzer.json_of(core.path).json
    thread = analyzer.thread_by_ident(document, core.truth["dying"])
    descents = [frame for frame in thread["frames"] if frame["symbol"] == "ways_descend"]
    assert len(descents) == 60001
    assert [truth.key_of_json(frame) for frame in analyzer.python_frames(thread)] == \
        truth.stacks(core)[core.truth["dying"]]
    assert not analyzer.gaps(thread)


@pytest.mark.cases(["native_60000", "recursion_20000"])
def test_deep_stacks_are_quick(core):
    """A generous bound: eu-stack takes minutes, pystack crashes."""
    analyzer.run(core.path, memory=2 * analyzer.GIGABYTE, timeout=15 if analyzer.SANITIZED else 10)


@pytest.mark.cases(["broken_cycle", "broken_nowhere"])
@pytest.mark.parametrize("mode", ["merged", "python"])
def test_broken_chains_end_in_a_named_gap(core, mode):
    result = analyzer.run("--format", "json", "--mode", mode, core.path, timeout=20)
    assert result.returncode == analyzer.EXIT_PARTIAL, result.describe()
    thread = result.json["threads"][0]
    head = core.truth["promises"]["head"]
    assert [frame["name"] for frame in analyzer.python_frames(thread)][:len(head)] == head
    gaps = analyzer.gaps(thread)
    assert gaps and all(gap["function"] for gap in gaps)
    assert len(thread["frames"]) < 1000
    if core.case == "broken_cycle":
        assert any("circle" in gap["function"] for gap in gaps), gaps


@pytest.mark.cases(["broken_cycle", "broken_nowhere"])
def test_broken_chains_keep_the_native_stack(core):
    merged = analyzer.json_of(core.path, "--all").json["threads"][0]
    native = analyzer.json_of(core.path, "--mode", "native", "--all").json["threads"][0]
    assert analyzer.physical_pcs(merged) == analyzer.physical_pcs(native)
