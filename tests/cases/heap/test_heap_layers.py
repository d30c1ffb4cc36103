"""heap, layer by layer: beside the mappings of the process, the stacks that its threads tell, and what both allocators say."""
import os
import re

import pytest

import analyzer
import cores
import interpreters

PAGE = 4096


def subjects():
    found = interpreters.find_with_heap()
    system = [(one, "numpy") for one in found if one.is_system]
    some = found if analyzer.THOROUGH else [found[0], found[-1]]
    return [(one, "plain") for one in some + interpreters.find_newer_in_suites()] + system


@pytest.fixture(scope="module", name="core", params=subjects(), ids=str)
def make_core(request, tmp_path_factory):
    python, kind = request.param
    arguments = ["numpy"] if kind == "numpy" else []
    return cores.core_of(python, str(tmp_path_factory.mktemp("layers")), "heap_layers", *arguments)


@pytest.fixture(scope="module", name="report")
def make_report(core):
    result = analyzer.run("heap", "--format", "json", core.path)
    assert result.returncode == 0, result.describe()
    analyzer.assert_fits_schema(result.json)
    return result.json


@pytest.fixture(name="layers")
def make_layers(report):
    return {one["name"]: one["bytes"] for one in report["layers"]}


def sums(layers, word):
    return sum(size for name, size in layers.items() if name.startswith(word))


class Mappings:
    def __init__(self, core):
        text = core.truth["mappings"]
        if not text:
            pytest.skip("there was no /proc to tell what is mapped")
        self.writable = []
        self.all = self.files = self.data = self.special = self.anonymous = self.first_stack = 0
        for line in text.splitlines():
            place, permissions, *_ = line.split(None, 5)
            name = line.split(None, 5)[5:]
            size = int(place.split("-")[1], 16) - int(place.split("-")[0], 16)
            if name == ["[vsyscall]"]:
                continue
            self.all += size
            if "w" in permissions:
                self.writable.append([int(end, 16) for end in place.split("-")])
            if name and name[0].startswith("/"):
                self.data += size if "w" in permissions else 0
                self.files += size if "w" not in permissions else 0
            elif "w" in permissions:
                self.anonymous += size
                self.first_stack += size if name == ["[stack]"] else 0
            else:
                self.special += size


def stacks(core):
    """From glibc 2.42 on the page before a stack may be a guard by madvise(), which parts no mappings: it is of the stack's."""
    mappings = Mappings(core)
    guards = [address for address, _ in core.truth["stacks"]
              if any(start <= address - PAGE < end for start, end in mappings.writable)]
    return mappings.first_stack + sum(size for _, size in core.truth["stacks"]) + PAGE * len(guards)


def arenas(core):
    """Bytes of pymalloc's arenas."""
    with open(os.path.join(core.folder, "mallocstats.txt")) as file:
        count, size = re.search(r"(\d+) arenas \* (\d+) bytes/arena", file.read()).groups()
    return int(count) * int(size)


def test_files_and_the_whole(core, report, layers):
    mappings = Mappings(core)
    assert layers["files, read only"] == mappings.files
    assert layers["files, writable"] == mappings.data
    # The kernel writes the page of [vsyscall], too.
    assert layers["other mappings"] - mappings.special in (0, PAGE)
    assert sum(layers.values()) - mappings.all in (0, PAGE)
    assert report["mapped_bytes"] == sum(layers.values())


def test_stacks(core, layers):
    assert layers["thread stacks"] == stacks(core)


def test_pymalloc(core, layers):
    assert sums(layers, "pymalloc") == arenas(core)


def test_malloc(core, report, layers):
    truth = core.truth["malloc"]
    if not truth:
        pytest.skip("this C library has no mallinfo2()")
    malloc = report["malloc"]
    assert malloc["arenas"] > 4
    assert malloc["arena_bytes"] == truth["arena"]
    # From glibc 2.42 on it counts some words of each more.
    assert malloc["mapped_chunks"] == truth["hblks"] and malloc["mapped_bytes"] == pytest.approx(truth["hblkhd"], rel=.001)
    assert sums(layers, "malloc") == malloc["arena_bytes"] + malloc["mapped_bytes"]
    assert malloc["used"] + malloc["kept"] == pytest.approx(truth["uordblks"], rel=.01)
    assert malloc["free"] == pytest.approx(truth["fordblks"], rel=.01)


def test_the_rest(core, layers):
    """What nobody owns of memory without a file: a mapping of the program's own is in it, to the byte."""
    truth = core.truth["malloc"]
    if not truth:
        pytest.skip("this C library has no mallinfo2()")
    rest = Mappings(core).anonymous - stacks(core) - arenas(core) - truth["arena"] - sums(layers, "malloc, mapped")
    assert layers["memory without a file, the rest"] == rest > 5 << 20
