"""heap beside what a child with the same memory counted: objects and their sizes, pools, malloc()."""
import os
import re
import struct

import pytest

import analyzer
import cores
import interpreters

# Types whose __sizeof__() adds what only their own code knows, see docs/heap.md; and what fork() makes anew.
UNKNOWN_SIZES = re.compile(r"_struct\.Struct|Struct|StgDict|_io\.Buffered\w+|_?ctypes\.|_thread\.\w*lock|code|frame|"
                           r"_hashlib\.|int$|numpy\.")
# The child's own: its files, frames, and what it was counting with.
CHILDS_OWN = 16
OWN = ("Session", "Asked", "Slotted", "OwnDict", "OwnList", "OwnText", "OwnNumber", "Point")


def subjects():
    found = interpreters.find_with_heap()
    return (found if analyzer.THOROUGH else [found[0], found[-1]]) + interpreters.find_newer_in_suites()


def run_heap(core, *options):
    result = analyzer.run("heap", "--format", "json", *options, core.path)
    assert result.returncode == 0, result.describe()
    return result.json


@pytest.fixture(scope="module", name="core", params=subjects(), ids=str)
def make_core(request, tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("truth"))
    return cores.core_of(request.param, folder, "heap_truth")


@pytest.fixture(scope="module", name="report")
def make_report(core):
    return run_heap(core)


def test_objects(core, report):
    found: dict = {}
    for one in report["types"]:
        entry = found.setdefault(one["type"], [0, 0])
        entry[0] += one["objects"]
        entry[1] += one["bytes"]
    truth = core.truth["objects"]
    for name in OWN:
        assert found["__main__." + name] == truth["__main__." + name], name
    missing = {name: count - found.get(name, [0])[0] for name, (count, _) in truth.items()
               if count > found.get(name, [0])[0]}
    assert sum(missing.values()) <= CHILDS_OWN, missing
    assert [name for name, (count, size) in truth.items()
            if found.get(name, [0])[0] == count and found[name][1] != size and not UNKNOWN_SIZES.match(name)] == []


def test_dicts_one_by_one(core):
    """Of these there are more than the collector reaches, so that sums tell little."""
    listed = run_heap(core, "--type", "dict", "--limit", "1000000")["listed"]
    found = {one["address"]: one["size"] for one in listed}
    truth = core.truth["dicts"]
    wrong = {address: (found.get(address), size) for address, size in truth.items() if found.get(address) != size}
    assert len(wrong) <= CHILDS_OWN and len(truth) > 500, wrong


def number_of(text, what):
    return int(re.search(r"# bytes lost to %s\s+=\s+([\d,]+)" % what, text).group(1).replace(",", ""))


def test_pools_and_chunks(core, report):
    with open(os.path.join(core.folder, "mallocstats.txt")) as file:
        stats = file.read()
    pools = report["pymalloc"]
    # A pool or two came or went between the print and the death.
    assert pools["pool_headers"] == pytest.approx(number_of(stats, "pool headers"), abs=4 * 48)
    assert pools["quantization"] == pytest.approx(number_of(stats, "quantization"), abs=4 * 512)
    assert pools["arenas"] == int(re.search(r"# arenas allocated current\s+=\s+(\d+)", stats).group(1))
    assert pools["arena_alignment"] == number_of(stats, "arena alignment")
    unused = int(re.search(r"(\d+) unused pools", stats).group(1))
    assert abs(pools["unused_pools"] - unused * pools["pool_size"]) <= 4 * pools["pool_size"]
    # To the byte, all of the arenas.
    assert pools["arenas"] * 64 * pools["pool_size"] == sum(
        pools[name] for name in ("used", "available", "pool_headers", "quantization", "unused_pools", "arena_alignment"))
    truth = core.truth["malloc"]
    if truth:
        malloc = report["malloc"]
        assert malloc["mapped_chunks"] == truth["hblks"]
        assert malloc["arena_bytes"] == truth["arena"]
        assert malloc["used"] + malloc["kept"] == pytest.approx(truth["uordblks"], rel=.01)


def mapped_by(path):
    """Bytes of all segments of a core."""
    with open(path, "rb") as file:
        header = file.read(64)
        offset, = struct.unpack_from("<Q", header, 32)
        size, count = struct.unpack_from("<HH", header, 54)
        file.seek(offset)
        headers = file.read(size * count)
    return sum(struct.unpack_from("<Q", headers, at + 40)[0] for at in range(0, len(headers), size)
               if struct.unpack_from("<I", headers, at)[0] == 1)


def test_layers_are_all_that_is_mapped(core, report):
    assert sum(one["bytes"] for one in report["layers"]) == report["mapped_bytes"]
    assert report["mapped_bytes"] == pytest.approx(mapped_by(core.path), abs=1 << 20)


@pytest.mark.parametrize("allocator", ["malloc", "debug"])
def test_other_allocators(tmp_path, allocator):
    core = cores.core_of(subjects()[-1], str(tmp_path), "heap_truth", "300", PYTHONMALLOC=allocator)
    report = run_heap(core, "--type", "Session")
    assert report["listed_count"] == 300
    assert bool(report["pymalloc"]["pools"]) == (allocator == "debug")


def test_one_leads_to_the_next(core):
    listed = run_heap(core, "--where", "number == 17 and len(rows) == 3 and rows[2][1] == '119'")
    assert [one["type"] for one in listed["listed"]] == ["__main__.Session"]
    address = listed["listed"][0]["address"]
    one = run_heap(core, "--object", address)["object"]
    assert one["address"] == address and one["type"] == "__main__.Session"
    assert "[17]" in [other["via"] for other in one["referrers"]]
    rows = [other for other in one["references"] if other["type"] == "list"]
    dicts = [other for other in one["references"] if other["type"] == "dict"]
    assert rows or dicts
    largest = run_heap(core, "--largest")
    assert largest["largest"][0]["bytes"] + largest["largest"][0]["owned_bytes"] >= 100000
    assert any(one["value"].startswith("'xxxx") for one in largest["largest"])
    assert analyzer.run("heap", "--type", "NoSuchType", core.path).returncode == 2
    assert analyzer.run("heap", "--where", "a =", core.path).returncode == 2
