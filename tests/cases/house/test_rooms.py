"""The rules of the house that a compiler does not check (docs: README.md, "The house")."""
import os
import re
import subprocess

import pytest

import analyzer
import cores

ANALYZER = os.path.join(cores.SOURCE, "analyzer")


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


def test_no_way_around_the_doors():
    for path in sources(ANALYZER, ".c", ".h"):
        with open(path) as file:
            assert not re.search(r'#include\s+[<"]\.\./', file.read()), path


def test_file_names_are_unique():
    names = {}
    for folder in ("analyzer", "tests/unit", "tests/fuzz"):
        for path in sources(os.path.join(cores.SOURCE, folder), ".c", ".h"):
            assert names.setdefault(os.path.basename(path), path) == path


def test_the_library_never_prints_or_exits():
    """Only cli/ may. snprintf and the like write into memory."""
    banned = re.compile(r"\b(printf|vprintf|puts|putchar|perror|fprintf|fputs|exit|_exit|abort|assert|"
                        r"setlocale|strtok)\s*\(")
    for path in sources(ANALYZER, ".c", ".h"):
        if os.path.dirname(path).endswith("/cli"):
            continue
        found = banned.search(code_of(path))
        assert not found, "%s uses %s" % (path, found.group(1))


@pytest.mark.skipif(analyzer.SANITIZED, reason="sanitizers add variables of their own")
def test_no_writable_globals():
    """No object of the library has anything in .data or .bss; .data.rel.ro is constant."""
    build = os.environ.get("PSC_BUILD_DIR", os.path.join(cores.SOURCE, "build"))
    archive = next(sources(build, "libpystack_core_static.a"))
    table = subprocess.run(["objdump", "-t", archive], check=True, capture_output=True).stdout.decode()
    symbol = re.compile(r"[0-9a-f]+ (.{7}) (\.t?(?:data|bss)(?:\.\S+)?|\*COM\*)\t[0-9a-f]+ (\S+)$", re.M)
    found = symbol.findall(table)
    assert found, "the symbol table is not as this test reads it"
    assert [name for flags, section, name in found
            if not section.startswith(".data.rel.ro") and "d" not in flags] == []


def test_no_old_marks():
    for folder in ("analyzer", "tests", "testdata"):
        for path in sources(os.path.join(cores.SOURCE, folder), ".c", ".h", ".py", ".txt", ".cmake"):
            if path == os.path.abspath(__file__):
                continue
            with open(path, errors="replace") as file:
                assert not re.search(r"\b(TODO|FIXME|XXX|HACK)\b", file.read()), path
