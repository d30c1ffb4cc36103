"""heap --who-holds, retained sizes and the page: objects that are held in ways that are known."""
import re
import sys

import pytest

import analyzer
import browser
import cores
import interpreters

COUNT = 2000


def subjects():
    found = interpreters.find_with_heap()
    return found if analyzer.THOROUGH else [found[0], found[-1]]


@pytest.fixture(scope="module", name="cores_by", params=subjects(), ids=str)
def make_core(request, tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("holders"))
    return cores.core_of(request.param, folder, "heap_holders", str(COUNT))


def held(core, what):
    result = analyzer.run("heap", "--format", "json", "--who-holds", what, core.path)
    assert result.returncode == 0, result.describe()
    analyzer.assert_fits_schema(result.json)
    return result.json["paths"]


def ways(core, name):
    return held(core, core.truth[name])[0]


def test_ways_from_modules(cores_by):
    module, namespace, live, sessions, item = ways(cores_by, "item")
    assert (module["via"], module["type"]) == ("module __main__", "module")
    assert [namespace["via"], live["via"], sessions["via"], item["via"]] == [".__dict__", "['live']", "['sessions']", "[7]"]
    assert item["address"] == cores_by.truth["item"] and sessions["address"] == cores_by.truth["list"]
    deep = ways(cores_by, "deep")
    assert [step["via"] for step in deep][-3:] == ["['deep']", "['list']", "[1]"]
    assert "['Config']" in [step["via"] for step in deep] and "['cache']" in [step["via"] for step in deep]
    assert ways(cores_by, "slot")[-1]["via"] == ".kept"
    # Members that code in C named.
    assert [step["via"] for step in ways(cores_by, "partial")][-3:] == ["['partial']", ".keywords", "['key']"]
    text = analyzer.run("heap", "--who-holds", cores_by.truth["deep"], cores_by.path).stdout
    assert "held by module __main__: Config.cache['deep']['list'][1]\n" in text


def test_ways_through_memory_of_c(cores_by):
    """An element has its children in memory of its own: the tree holds them all, by their numbers."""
    *_, tree, child, leaf = ways(cores_by, "leaf")
    assert [one["address"] for one in (tree, child, leaf)] == [cores_by.truth[name] for name in ("tree", "child", "leaf")]
    assert (tree["via"], child["via"]) == ("['tree']", "->[7]")
    assert tree["retained_bytes"] > 101 * 56


def test_ways_from_frames(cores_by):
    frame, *_, last = ways(cores_by, "local")
    assert re.match(r"frame work \(heap_holders.py:\d+\) in thread %d$" % cores_by.truth["main_id"], frame["via"])
    assert last["address"] == cores_by.truth["local"]
    if cores_by.interpreter.minor >= (3, 11):
        assert last["via"] == ".only_here"
    other = ways(cores_by, "thread")
    assert other[0]["via"].startswith("frame waits (") and other[0]["via"].endswith(" in thread %d" % cores_by.truth["thread_id"])


def test_garbage(cores_by):
    assert ways(cores_by, "garbage")[0]["via"].startswith("garbage")
    document = analyzer.run("heap", "--format", "json", cores_by.path).json
    assert document["garbage"]["objects"] >= 3


def test_of_a_type(cores_by):
    paths = held(cores_by, "Session")
    counts = [path[-1]["objects"] for path in paths]
    assert counts == sorted(counts, reverse=True) and counts[0] == COUNT and sum(counts) == COUNT + 7
    result = analyzer.run("heap", "--who-holds", "NoSuchType", cores_by.path)
    assert result.returncode == 2 and "NoSuchType: there is no object of such a type" in result.stderr


def test_retained(cores_by):
    """The list of sessions retains itself and all of them; it is the one suspect."""
    sessions = ways(cores_by, "item")[-2]
    bytes_of_one = 3000 + sys.getsizeof(bytearray())
    assert COUNT * bytes_of_one < sessions["retained_bytes"] < COUNT * (bytes_of_one + 1000)
    document = analyzer.run("heap", "--format", "json", cores_by.path).json
    analyzer.assert_fits_schema(document)
    suspect, = document["suspects"]
    assert suspect["address"] == cores_by.truth["list"] and suspect["way"] == "module __main__: live['sessions']"
    assert (suspect["of_type"], suspect["of_type_objects"]) == ("__main__.Session", COUNT)
    retained = {one["type"]: one["retained_bytes"] for one in document["types"]}
    assert COUNT * bytes_of_one < retained["__main__.Session"] <= document["bytes"]


def test_healthy(cores_by):
    result = analyzer.run("heap", "--format", "json", "--verify", cores_by.path)
    assert result.json["findings"] == [], result.stdout[-2000:]


def test_page(cores_by, tmp_path):
    path = tmp_path / "heap.html"
    assert analyzer.run("heap", "--format", "html", "-o", path, cores_by.path).returncode == 0
    text = path.read_text()
    assert not set(analyzer.forbidden_characters(text.replace("\n", "")))
    assert path.stat().st_mode & 0o077 == 0
    if cores_by.interpreter is not subjects()[-1]:
        return
    for width, dark in ((1280, False), (390, True)):
        with browser.Page(path, width, dark=dark) as page:
            assert page.evaluate("document.scripts.length === 1 && !document.getElementById('tools').hidden")
            page.evaluate("document.querySelectorAll('details').forEach(function (one) { one.open = true; })")
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            page.press("/", "/")
            page.call("Input.insertText", text="live")
            shown = "Array.from(document.querySelectorAll('.tree li')).filter(function (a) { return !a.hidden; }).length"
            assert 0 < page.evaluate(shown) < page.evaluate("document.querySelectorAll('.tree li').length")
            page.press("Escape")
            assert page.requests() == ["file://%s" % path] and not page.violations, page.violations
            page.screenshot(tmp_path / ("%d.png" % width))
