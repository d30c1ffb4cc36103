"""Exceptions of each thread: what the program itself said of them before it died."""
import pytest

import analyzer
import truth

OTHER_SUITES = True


def assert_equal(found, said):
    assert [(one["type"], one["message"], one["link"]) for one in found] == \
        [(one["type"], one["message"], one["link"]) for one in said]
    for one, expected in zip(found, said):
        if one["cut"]:
            assert one["traceback"] == expected["traceback"][-len(one["traceback"]):]
            assert len(one["traceback"]) == 100
        else:
            assert one["traceback"] == expected["traceback"]


@pytest.mark.cases(["exceptions"])
def test_raised_and_not_caught(core):
    thread = analyzer.json_of(core.path).json["threads"][0]
    raised = thread["exception"]
    assert (raised["type"], raised["message"], raised["state"]) == ("KeyError", "'missing'", "raised")
    assert [place["name"] for place in raised["traceback"]] == ["last", "fails", "fails"]


@pytest.mark.cases(["exceptions"])
def test_handled_ones_newest_first(core):
    promises = core.truth["promises"]
    thread = analyzer.json_of(core.path).json["threads"][0]
    others = thread.get("other_exceptions", [])
    assert {one["state"] for one in others} <= {"handled"}
    # The raised one's context is the newest that is handled.
    newest = truth.flat_exception(thread["exception"])[1:] or truth.flat_exception(others[0])
    newest[0]["link"] = None
    assert_equal(newest[:1], promises["newest"][:1])
    everything = [one for other in [thread["exception"], *others] for one in truth.flat_exception(other)]
    said = {one["type"]: one for one in promises["handled"] + promises["in_generator"]}
    found = {one["type"]: one for one in everything}
    for name, one in said.items():
        if name == "__main__.OwnError":
            continue  # two of them; the older one is checked by its chain
        assert (found[name]["message"], found[name]["traceback"]) == (one["message"], one["traceback"]), name
    messages = [one["message"] for one in everything if one["type"] == "__main__.OwnError"]
    assert messages == ["('deep', 300)", "one argument"]


@pytest.mark.cases(["exceptions"])
def test_another_thread_in_its_handler(core):
    document = analyzer.json_of(core.path).json
    analyzer.assert_fits_schema(document)
    thread = analyzer.thread_by_ident(document, core.truth["promises"]["worker"])
    assert thread["exception"]["state"] == "handled" and "other_exceptions" not in thread
    assert_equal(truth.flat_exception(thread["exception"]), core.truth["promises"]["waiting"])
    assert thread["exception"]["message"] == "[Errno 2] No such file or directory: '/nonexistent/file'"


@pytest.mark.cases(["exceptions"])
def test_exceptions_in_text(core):
    text = analyzer.run(core.path).stdout
    assert "exception raised: KeyError: 'missing'" in text.splitlines()[2]
    assert "  exception being handled: FileNotFoundError: [Errno 2]" in text
    assert "caused by KeyError: 'missing'" in text and "while handling " in text


@pytest.mark.cases(["callbacks"])
def test_no_exception(core):
    thread = analyzer.json_of(core.path).json["threads"][0]
    assert thread["exception"] is None and "other_exceptions" not in thread
