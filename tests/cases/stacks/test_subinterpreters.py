"""Several interpreters, and several of them on one thread: one merged stack of all."""
import pytest

import analyzer

OTHER_SUITES = True


@pytest.mark.cases(["subinterpreters"])
def test_frames_of_all_interpreters_in_one_stack(core):
    document = analyzer.json_of(core.path, "--locals").json
    analyzer.assert_fits_schema(document)
    thread = document["threads"][0]
    assert "crashed" in thread["state"]
    frames = [frame for frame in analyzer.python_frames(thread) if frame["name"] not in ("run", "new")]
    assert [frame["name"] for frame in frames] == \
        ["inside", "<module>", "between", "<module>", "outermost", "<module>"]
    values = [frame.get("locals", {}).get("value") for frame in frames]
    assert values == ["'inner'", None, "'middle'", None, "'outer'", None]
    assert analyzer.gaps(thread) == []


@pytest.mark.cases(["subinterpreters"])
def test_order_without_unwinding(core):
    """--mode python has no native frames to go by, but what evaluators leave on the C stack."""
    thread = analyzer.json_of(core.path, "--mode", "python").json["threads"][0]
    names = [frame["name"] for frame in thread["frames"] if frame["name"] not in ("run", "new")]
    assert names == ["inside", "<module>", "between", "<module>", "outermost", "<module>"]


@pytest.mark.cases(["subinterpreters"])
def test_order_by_address(core):
    """Native frames of os.abort() inside, of the interpreters' calls between."""
    thread = analyzer.json_of(core.path).json["threads"][0]
    kinds = [frame["kind"] for frame in thread["frames"] if frame["name"] in
             ("inside", "between", "outermost") or frame["kind"] == "native"]
    first = kinds.index("python")
    assert "native" in kinds[:first]
    between = [index for index, kind in enumerate(kinds) if kind == "python"]
    assert all(later - earlier > 1 for earlier, later in zip(between, between[1:]))
