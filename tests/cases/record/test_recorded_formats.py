"""A real program in all formats at once: the same samples in each."""
import collections
import json
import re
import sys

import pytest

import analyzer
import living
from profile_checks import check_firefox

PROGRAM = '''
import gc, threading
def collects():
    junk = [[] for _ in range(100000)]
    while True:
        gc.collect()
def spins():
    while True:
        sum(number * 2 for number in range(1000))
for target in (collects, spins):
    threading.Thread(target=target, name=target.__name__, daemon=True).start()
print("ready", flush=True)
threading.Event().wait()
'''
FORMATS = ("collapsed", "flamegraph", "speedscope", "firefox", "pprof", "lines", "heat", "ndjson")


@pytest.fixture(scope="module", name="folder")
def make_folder(tmp_path_factory):
    """Files named by their formats."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "works.py").write_text(PROGRAM)
    with living.running([sys.executable, str(folder / "works.py")]) as process:
        outputs = [word for name in FORMATS for word in ("--output", "%s=%s" % (name, folder / name))]
        result = analyzer.run("record", "--pid", str(process.pid), "--duration", "3", "--threads", *outputs, timeout=240)
        assert result.returncode in (0, 1), result.describe()
        living.assert_works(process.pid)
    return folder


def lines_of_json(folder):
    with open(folder / "ndjson") as file:
        return [json.loads(line) for line in file]


def test_same_samples(folder):
    """Intervals by thread: in each line format, in speedscope, in Firefox's and in the page."""
    threads: dict = {}
    wanted: collections.Counter = collections.Counter()
    items = lines_of_json(folder)
    interval = items[0]["interval_ns"]
    for item in items:
        if item["type"] == "thread":
            threads[item["id"]] = "%s (%d)" % (item["name"], item["tid"])
        elif item["type"] == "sample" and item["stack"]:
            wanted[threads[item["thread"]]] += item["weight"]
    assert {name.split()[0] for name in wanted} >= {"collects", "spins"}, wanted
    collapsed: collections.Counter = collections.Counter()
    for line in (folder / "collapsed").read_text().splitlines():
        stack, _, count = line.rpartition(" ")
        collapsed[stack.split(";")[0]] += int(count)
    assert collapsed == wanted
    speedscope = json.loads((folder / "speedscope").read_text())
    assert {one["name"]: one["endValue"] // interval for one in speedscope["profiles"]} == wanted
    page = (folder / "flamegraph").read_text()
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S).group(1))
    assert data["nodes"]["total"][0] == sum(wanted.values())
    assert {one["name"]: sum(one["weights"]) for one in data["threads"]} == wanted


def test_firefox(folder):
    """Tables are whole; who waits for the GIL, and who collects, is told by categories and markers."""
    profile = json.loads((folder / "firefox").read_text())
    check_firefox(profile)
    names = profile["shared"]["stringArray"]
    categories = [category["name"] for category in profile["meta"]["categories"]]
    stacks, frames = profile["shared"]["stackTable"], profile["shared"]["frameTable"]
    markers: dict = collections.defaultdict(set)
    found: dict = collections.defaultdict(collections.Counter)
    for thread in profile["threads"]:
        markers[thread["name"]] |= {names[name] for name in thread["markers"]["name"]}
        for stack in thread["samples"]["stack"]:
            if stack is not None:
                found[thread["name"]][categories[frames["category"][stacks["frame"][stack]]]] += 1
    assert "GC" in markers["collects"] and found["collects"]["Garbage collection"], (markers, found)
    assert "GC" not in markers["spins"], markers
    assert "GIL wait" in markers["spins"] | markers["collects"], (markers, found)
    functions = {names[name] for name in profile["shared"]["funcTable"]["name"]}
    assert {"spins", "collects"} <= {name.rpartition(".")[2] for name in functions}, functions
    assert {library["codeId"] is not None for library in profile["libs"]}


def test_lines(folder):
    text = (folder / "lines").read_text()
    assert re.search(r"^ *[\d.]+ +[\d.]+ +6  collects +\| +gc\.collect\(\)$", text, re.M), text
    assert "gc.collect()" in (folder / "heat").read_text()


SLEEPERS = '''
import threading
for _ in range(150):
    threading.Thread(target=threading.Event().wait, daemon=True).start()
print("ready", flush=True)
threading.Event().wait()
'''
MANY = 65536  # More samples than are sorted in memory.


def test_more_samples_than_memory_holds(tmp_path):
    """Those who sort them by thread need a file for it, which a parser without rights cannot make."""
    (tmp_path / "sleeps.py").write_text(SLEEPERS)
    with living.running([sys.executable, str(tmp_path / "sleeps.py")]) as process:
        outputs = [word for name in FORMATS for word in ("--output", "%s=%s" % (name, tmp_path / name))]
        result = analyzer.run("record", "--pid", str(process.pid), "--idle", "--rate", "1000", "--duration", "4", *outputs,
                              timeout=240)
        assert result.returncode in (0, 1), result.describe()
    items = lines_of_json(tmp_path)
    weights = [item["weight"] for item in items if item["type"] == "sample" and item["stack"]]
    assert len(weights) > MANY, result.describe()
    speedscope = json.loads((tmp_path / "speedscope").read_bytes())
    shown = sum(sum(profile["weights"]) for profile in speedscope["profiles"])
    assert round(shown / items[0]["interval_ns"]) == sum(weights)
    check_firefox(json.loads((tmp_path / "firefox").read_bytes()))
    for name in FORMATS:
        assert (tmp_path / name).stat().st_size, (name, result.describe())
