"""The rules of the house that a compiler does not check (docs/contributing.md, "The house")."""
import os
import re
import subprocess
import sys

import pytest

import analyzer
import cores

sys.path.insert(0, cores.TOOLS)
import rooms  # noqa: E402

ANALYZER = os.path.join(cores.SOURCE, "analyzer")
BUILD = os.environ.get("PSC_BUILD_DIR", os.path.join(cores.SOURCE, "build"))
# What is still to be mended, by the rule: nothing may be added.
KNOWN: dict = {}


def sources(folder, *endings):
    for place, _, files in os.walk(folder):
        for name in files:
            if name.endswith(endings):
                yield os.path.join(place, name)


def code_of(path):
    """Without comments and strings."""
    with open(path) as file:
        text = file.read()
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', " ", text, flags=re.S)


@pytest.fixture(scope="module")
def house():
    found = rooms.House(ANALYZER, os.path.join(BUILD, "analyzer"))
    assert len(found.calls) > 100 and sum(map(len, found.calls.values())) > 500, "the objects were not found"
    return found


@pytest.mark.parametrize("rule", rooms.RULES, ids=lambda rule: rule.__name__)
def test_rooms(house, rule):
    assert set(rule(house)) <= set(KNOWN.get(rule.__name__, []))


@pytest.mark.parametrize("kind", ["fuzz", "unit"])
def test_every_parser_is_tested_and_fuzzed(kind):
    """parse_*() takes foreign bytes: its own unit test, and a fuzzer that calls it."""
    listed = subprocess.run(["nm", "-P", next(sources(BUILD, "libpystack_core_static.a"))], check=True,
                            capture_output=True).stdout.decode()
    parsers = set(re.findall(r"^(parse_\w+) T ", listed, re.M))
    assert len(parsers) > 20, "the symbol table is not as this test reads it"
    tests = " ".join(code_of(path) for path in sources(os.path.join(cores.SOURCE, "tests", kind), ".c", ".h"))
    missing = sorted(name for name in parsers if not re.search(r"\b%s\(" % name, tests))
    assert missing == []


def test_no_way_around_the_doors():
    for path in sources(ANALYZER, ".c", ".h"):
        with open(path) as file:
            assert not re.search(r'#include\s+[<"]\.\./', file.read()), path


def test_file_names_are_unique():
    names: dict = {}
    for folder in ("analyzer", "tests/unit", "tests/fuzz"):
        for path in sources(os.path.join(cores.SOURCE, folder), ".c", ".h"):
            assert names.setdefault(os.path.basename(path), path) == path


def test_the_library_never_prints_or_exits():
    """Only cli/ may. snprintf and the like write into memory."""
    banned = re.compile(r"\b(printf|vprintf|puts|putchar|perror|fprintf|fputs|exit|_exit|abort|assert|"
                        r"setlocale|strtok|strerror)\s*\(")
    for path in sources(ANALYZER, ".c", ".h"):
        if path.startswith(os.path.join(ANALYZER, "cli", "")):
            continue
        found = banned.search(code_of(path))
        assert not found, "%s uses %s" % (path, found.group(1))


@pytest.mark.skipif(analyzer.SANITIZED, reason="sanitizers add variables of their own")
def test_no_writable_globals():
    """No object of the library has anything in .data or .bss; .data.rel.ro is constant."""
    archive = next(sources(BUILD, "libpystack_core_static.a"))
    table = subprocess.run(["objdump", "-t", archive], check=True, capture_output=True).stdout.decode()
    symbol = re.compile(r"[0-9a-f]+ (.{7}) (\.t?(?:data|bss)(?:\.\S+)?|\*COM\*)\t[0-9a-f]+ (\S+)$", re.M)
    found = symbol.findall(table)
    assert found, "the symbol table is not as this test reads it"
    assert [name for flags, section, name in found
            if not section.startswith(".data.rel.ro") and "d" not in flags] == []


def test_versions_only_in_layout():
    """How versions of CPython differ, and where things lie in its structs, is told by python/layout/."""
    versions = re.compile(r"\bhex\s*>>|(?:->|\.)m(?:aj|in)or\b|\b0x0?[23][0-9a-fA-F]{6}\b|"
                          r"\bpython_2\b|\bPY_VERSION")
    numbers = re.compile(r"^#\s*define\s+PY_(?!\w*_(?:LIMIT|DEPTH)\b)\w+\s+[(\dU]|"
                         r"\btarget_(?:read|peek)\w*\([^;]*?[+-]\s*\d+u?\s*,", re.M)
    python = os.path.join(ANALYZER, "python")
    for path in sources(ANALYZER, ".c", ".h"):
        if os.path.dirname(path) == os.path.join(python, "layout"):
            continue
        for rule in [versions] + [numbers] * path.startswith(python + os.sep):
            found = rule.search(code_of(path))
            assert not found, "%s: %s" % (path, found.group(0))


def test_names_of_cpython_only_behind_its_door():
    """Symbols, types and file names of CPython stand in python/. Cython itself writes what begins with "PyInit"
    (Cython/Compiler/ModuleNode.py). A text with a blank is what a report says, no name."""
    comment_or_text = re.compile(r'/\*.*?\*/|//[^\n]*|"((?:\\.|[^"\\\n])*)"', re.S)
    # A frame's kind in a report is no name of CPython's.
    compared = re.compile(r'\bstrn?(?:cmp|str)\((?!kind,)[^;]*?"((?:lib)?python[^"]*)"')
    by_cython = tuple(os.path.join(ANALYZER, path) for path in ("cython/", "cli/commands/demangle_filter.c"))
    for path in sources(ANALYZER, ".c", ".h"):
        if path.startswith(os.path.join(ANALYZER, "python", "")):
            continue
        with open(path) as file:
            text = file.read()
        names = [name for name in comment_or_text.findall(text) if re.match(r"_?Py[A-Z_][^ ]*$", name)]
        names += [name for name in compared.findall(text) if name != "python"]  # a frame's kind in reports
        found = [name for name in names if not (path.startswith(by_cython) and name.startswith("PyInit"))]
        assert not found, "%s: %s" % (path, found[0])


# What sleeps for a short time: in a loop that waits for a condition, or because sleeping is what it shows.
SLEEPERS = {
    "tests/cases/support/resting.py", "tests/cases/programs/witness.py", "tests/cases/programs/states.py",
    "tests/cases/programs/hot_threads.py", "tests/cases/programs/busy.py", "tests/cases/programs/busy_2.py",
    "tests/cases/programs/musl_threads.c", "tests/cases/native/python_threads.py", "testdata/native/resting.h",
    "tests/cases/programs/waiting_memory.py", "testdata/native/ways.c", "testdata/native/two_interpreters.c",
    "tests/cases/programs/stuck.py", "tests/cases/programs/stuck_tasks.py", "tests/cases/programs/shares.py",
    "tests/cases/programs/cython_shares.py", "tests/cases/programs/beats.py", "tests/cases/programs/one_processor.py",
    "tests/cases/programs/sleepers.py", "tests/cases/programs/one_holder.py", "tests/cases/record/compare_samples.c",
    "testdata/demo/train.py",
    "tests/cases/debuggers/test_lldb_plugin.py", "tests/bench/pause.py", "tests/bench/record.py",
    "tests/cases/ci/test_ci_deaths.py",
    "tests/accuracy/wheels/wheels.py", "tests/fuzz/mutants/subjects.c"}


def test_no_fixed_sleep_decides():
    """Who sleeps for ten minutes waits to be killed; everybody else waits for something, with a deadline."""
    sleeps = re.compile(r"\btime\.sleep\((?!600\b|1000\b)|\b(usleep|nanosleep)\(")
    found = set()
    for folder in ("tests", "testdata"):
        for path in sources(os.path.join(cores.SOURCE, folder), ".c", ".cpp", ".h", ".py", ".pyx"):
            with open(path, errors="replace") as file:
                if path != os.path.abspath(__file__) and sleeps.search(file.read()):
                    found.add(os.path.relpath(path, cores.SOURCE))
    assert found == SLEEPERS


def test_no_old_marks():
    for folder in ("analyzer", "tests", "testdata"):
        for path in sources(os.path.join(cores.SOURCE, folder), ".c", ".h", ".py", ".txt", ".cmake"):
            if path == os.path.abspath(__file__):
                continue
            with open(path, errors="replace") as file:
                assert not re.search(r"\b(TODO|FIXME|XXX|HACK)\b", file.read()), path
