"""heap --verify: damage that was planted is named by its address; heap --diff: a leak that was."""
import shutil
import subprocess

import pytest

import analyzer
import cores
import interpreters

# What verifying calls each kind of damage that heap_damage.py plants.
KINDS = {kind: name for name, kinds in {
    "refcount-too-low": ("decref", "decref_instance", "decref_text", "reused"),
    "dangling": ("freed", "freed_text", "freed_attribute", "freed_slot", "freed_tuple_item", "freed_deque_item",
                 "freed_value", "freed_key", "freed_member", "freed_cell", "count_zero", "wild_item"),
    "overwritten": ("overwritten", "overrun_small", "type_wild", "type_zero"),
    "collector-list": ("gc_next", "gc_previous", "gc_untracked"),
    "free-block": ("free_block", "twice_freed", "pool_header"),
    "chunk": ("chunk", "chunk_by_one", "chunk_before", "chunk_mapped", "freed_cached",
              "freed_chunk_next", "freed_chunk_previous"),
    "table": ("dict_keys", "dict_keys_header", "list_count", "list_items"),
    "guard": ("guard_behind", "guard_before"),
}.items() for kind in kinds}


def subjects():
    found = [one for one in interpreters.find_with_heap() if not one.debug]
    return found if analyzer.THOROUGH else [found[0], found[-1]]


def plantings():
    """Each kind with every interpreter; in the whole run with one, by turns."""
    kinds, found = [*KINDS, "none"], subjects()
    newer = [(kind, python) for kind in kinds for python in interpreters.find_newer_in_suites()]
    if analyzer.THOROUGH:
        return [(kind, python) for kind in kinds for python in found] + newer
    return [(kind, found[i % len(found)]) for i, kind in enumerate(kinds)] + [("none", one) for one in found[:-1]] + newer


@pytest.mark.parametrize("kind, python", plantings(), ids=str)
def test_planted(kind, python, tmp_path):
    allocator = {"PYTHONMALLOC": "debug"} if kind.startswith("guard") else {}
    core = cores.core_of(python, str(tmp_path), "heap_damage", kind, **allocator)
    result = analyzer.run("heap", "--format", "json", "--verify", core.path)
    assert result.returncode in (0, 1), result.describe()
    analyzer.assert_fits_schema(result.json)
    findings = result.json["findings"]
    if kind == "none":
        assert findings == []
        return
    # Nothing that is whole is accused.
    found, = findings
    assert found["kind"] == KINDS[kind]
    assert abs(int(found["address"], 16) - int(core.truth["address"], 16)) <= 16, (found, core.truth)
    if core.truth["holder"]:
        assert core.truth["holder"] in [one["address"] for one in found["holders"]]
    assert found["around"]["words"] or kind == "wild_item"
    if kind in ("decref", "freed", "guard_behind"):
        text = analyzer.run("heap", "--verify", core.path).stdout
        assert "\n%s %s: " % (found["kind"], found["address"]) in text


@pytest.mark.parametrize("kind, how, said", [
    ("gc_next", "collect", "the collector's list is broken at list at %s: its link to 0x4141414141414140 was overwritten"),
    ("type_wild", "collect", "the header of the object at %s was overwritten: its type would be 0x4141414141414141"),
    ("free_block", "allocate", "the free list of the allocator's pool at 0x"),
    ("none", "collect", None)])
def test_header_names_what_is_damaged_nearby(kind, how, said, tmp_path):
    """The plain report of a death in the collector or the allocator."""
    python = subjects()[-1]
    cores.run_to_core([python.path, cores.PROGRAMS + "/heap_damage.py", kind, how], str(tmp_path))
    core = cores.Core(str(tmp_path), python, "heap_damage")
    result = analyzer.run("--format", "json", core.path)
    analyzer.assert_fits_schema(result.json)
    damage = result.json["crash"].get("damage")
    if not said:
        assert damage is None
        return
    assert damage.startswith(said % core.truth["address"] if "%" in said else said)
    assert "\n  damaged: %s\n" % damage in analyzer.run(core.path).stdout


def look_twice(command, folder):
    """Cores of a process at each of the two times that it waits."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        for name in ("old", "new"):
            assert process.stdout.readline() == b"ready\n"
            subprocess.run(["gcore", "-o", str(folder / name), str(process.pid)], check=True, capture_output=True)
            process.stdin.write(b"\n")
            process.stdin.flush()
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()
    return [folder / ("%s.%d" % (name, process.pid)) for name in ("old", "new")]


# Which type comes first, how it is held, and by what.
LEAKS = {"list": ("__main__.Upload", "module __main__: kept"), "lru_cache": ("__main__.Upload", "module __main__: cached"),
         "closure": ("function", "module __main__: kept"), "traceback": ("ValueError", "module __main__: kept"),
         "reference": ("__main__.Upload", "code in C, from where no object is known")}


@pytest.mark.skipif(not shutil.which("gcore"), reason="no gcore here")
@pytest.mark.parametrize("kind", sorted(LEAKS) if analyzer.THOROUGH else ["reference"])
def test_ways_to_leak(kind, tmp_path):
    old, new = look_twice([subjects()[-1].path, cores.PROGRAMS + "/heap_leaks.py", kind], tmp_path)
    result = analyzer.run("heap", "--format", "json", "--diff", old, new)
    analyzer.assert_fits_schema(result.json)
    growth = result.json["growth"]
    name, way = LEAKS[kind]
    assert (growth["types"][0]["type"], growth["types"][0]["objects"]) == (name, 700)
    first = growth["holders"][0]
    # A stack may have an old pointer to one of them.
    assert first["way"].startswith(way) and first["of_type"] == name and first["of_type_objects"] in (699, 700), first


@pytest.mark.skipif(not shutil.which("gcore"), reason="no gcore here")
@pytest.mark.parametrize("python", subjects()[-1:], ids=str)
def test_leak(python, tmp_path):
    """1500 entries more: they come first, and exactly; the dict that holds them is named."""
    old, new = look_twice([python.path, cores.PROGRAMS + "/heap_leak.py"], tmp_path)
    result = analyzer.run("heap", "--format", "json", "--diff", old, new)
    analyzer.assert_fits_schema(result.json)
    growth = result.json["growth"]
    assert growth["same_process"]
    by_type = {one["type"]: one for one in growth["types"]}
    assert by_type["__main__.Entry"]["objects"] == 1500
    assert growth["types"][0]["type"] == "__main__.Entry" and by_type["bytearray"]["objects"] == 1500
    first = growth["holders"][0]
    assert first["way"] == "module __main__: cache" and first["type"] == "dict"
    assert (first["of_type"], first["of_type_objects"]) == ("__main__.Entry", 1500)
    text = analyzer.run("heap", "--diff", old, new).stdout
    assert "+1500" in text and "module __main__: cache" in text
    assert not [one for one in analyzer.run("heap", "--format", "json", "--diff", new, new).json["growth"]["types"]
                if one["objects"]]


LONG_LIST = """
import ctypes, os
items = [object() for _ in range(100)]
ctypes.memmove(id(items) + 2 * ctypes.sizeof(ctypes.c_void_p), (ctypes.c_uint64 * 1)(%d), 8)
os.abort()
"""


@pytest.mark.parametrize("size", [1 << 61, (1 << 62) + 1, (1 << 63) - 1])
def test_list_of_more_items_than_memory_has(size, tmp_path):
    """Eight times as many bytes are more than a number holds."""
    python = subjects()[-1]
    cores.run_to_core([python.path, "-c", LONG_LIST % size], str(tmp_path))
    result = analyzer.run("heap", "--verify", cores.Core(str(tmp_path), python, "list").path, timeout=20)
    assert result.returncode in (0, 1), result.describe()
