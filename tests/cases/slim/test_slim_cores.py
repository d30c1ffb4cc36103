"""pystack-core slim: a small core says what the big one says, here and in other tools."""
import os
import re
import shutil
import struct
import subprocess
from typing import Dict

import pytest

import analyzer
import cores
import debuggers
import interpreters

EVERYTHING = [["--all", "--locals", "--tasks", "--running"], ["--format", "json", "--all", "--locals", "--tasks"]]
MODES = [[], ["--mode", "python", "--locals"], ["--mode", "native", "--locals"], ["--unwinder", "libdw"],
         ["--explain-signature"]]
SOME = ["threads", "asyncio_task", "alive"]
SECRET = "word-that-nobody-may-see"
KEEPER = """
import ctypes, os, sys
def keep(password):
    holder = {"password": [password], "number": 4711}
    ctypes.string_at(0)
keep("-".join(["word", "that", "nobody", "may", "see"]))
"""
BIG = """
import ctypes, sys
data = bytearray(%d)
view = memoryview(data)
for at in range(0, len(data), 4096):
    data[at] = at >> 12 & 255 or 1
names = [{"name": str(number)} for number in range(20000)]
ctypes.string_at(0)
"""


def slim(core, small, *options):
    result = analyzer.run("slim", *options, core, "-o", small)
    assert result.returncode == 0, result.describe()
    assert oct(os.stat(small).st_mode)[-3:] == "600"
    return small


def same(text, path):
    return text.replace(str(path), "CORE")


def assert_says_the_same(core, small, options, there=()):
    big = analyzer.run(*options, core)
    little = analyzer.run(*options, *there, small)
    assert same(big.stdout, core) == same(little.stdout, small), options
    assert same(big.stderr, core) == same(little.stderr, small), options
    assert big.returncode == little.returncode


def check(case, interpreter, folder, lists):
    if not cores.can_make(case, interpreter):
        return False
    core = cores.make_core(case, interpreter).path
    there = ["--sysroot", cores.ROOTS[core]] if core in cores.ROOTS else []
    small = slim(core, folder / "small.core", *there)
    assert os.path.getsize(small) <= os.path.getsize(core) + 65536
    for options in lists:
        assert_says_the_same(core, small, options, there)
    return True


@pytest.mark.parametrize("case", SOME)
def test_it_says_the_same(case, tmp_path):
    wanted = interpreters.find_wanted()
    one = wanted[SOME.index(case) % len(wanted)]
    assert check(case, one, tmp_path, EVERYTHING + (MODES[:3] if case == SOME[0] else []))


@pytest.mark.skipif(not analyzer.THOROUGH, reason="only with --thorough")
@pytest.mark.parametrize("one", interpreters.find_wanted() + interpreters.find_also(), ids=str)
def test_all_cores(one, tmp_path):
    count = sum(check(case, one, tmp_path, EVERYTHING + MODES) for case in cores.CASES)
    print("%d cores" % count)


def die(folder, program, **environment):
    source = folder / "program.py"
    source.write_text(program)
    one = interpreters.find_system() or interpreters.find_wanted()[-1]
    cores.run_to_core([one.path, "-s", str(source)], str(folder),
                      {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/nonexistent", **environment})
    return folder / "core"


def test_a_large_core_becomes_small(tmp_path):
    core = die(tmp_path, BIG % ((1 << 30) if analyzer.THOROUGH else (64 << 20)))
    small = slim(core, tmp_path / "small.core")
    assert os.path.getsize(small) < 10e6
    if analyzer.THOROUGH:
        assert os.path.getsize(small) < os.path.getsize(core) / 100
    assert_says_the_same(core, small, EVERYTHING[1])


def test_redacted(tmp_path):
    core = die(tmp_path, KEEPER, OWN_VARIABLE="value-" + SECRET)
    assert SECRET.encode() in core.read_bytes()
    small = slim(core, tmp_path / "small.core", "--redact")
    bytes = small.read_bytes()
    assert SECRET.encode() not in bytes
    assert b"text of values and the environment were left out" in bytes
    big, little = analyzer.run("--format", "json", "--locals", core), analyzer.run("--format", "json", "--locals", small)
    assert SECRET in big.stdout and SECRET not in little.stdout
    assert "were left out" in little.stderr and little.returncode == analyzer.EXIT_PARTIAL
    assert [warning["code"] for warning in little.json["warnings"]] == ["core-redacted"]
    names = [[frame["function"] for frame in thread["frames"]] for thread in big.json["threads"]]
    assert names == [[frame["function"] for frame in thread["frames"]] for thread in little.json["threads"]]
    assert little.json["signature"] == big.json["signature"]
    assert "4711" in little.stdout


@pytest.mark.skipif(not shutil.which("unshare") or os.geteuid() != 0, reason="needs mounts of its own")
def test_with_files_it_reads_alone(tmp_path):
    """The folder of the program's library and its source are away."""
    one = next((one for one in interpreters.find_wanted() if not one.path.startswith("/usr/")), None)
    if not one:
        pytest.skip("no interpreter that can be taken away")
    source = tmp_path / "there" / "program.py"
    source.parent.mkdir()
    source.write_text(KEEPER)
    cores.run_to_core([one.path, "-s", str(source)], str(tmp_path), {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"})
    core = tmp_path / "core"
    small = slim(core, tmp_path / "alone.core", "--with-files")
    empty = tmp_path / "empty"
    empty.mkdir()
    prefix = os.path.dirname(os.path.dirname(os.path.realpath(one.path)))
    away = ["unshare", "-m", "sh", "-c", 'mount --bind "$0" "$1" && mount --bind "$0" "$2" && shift 2 && exec "$@"',
            str(empty), prefix, str(source.parent)]
    if subprocess.run([*away, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no mounts of our own here")
    for options in (EVERYTHING[0], EVERYTHING[1]):
        big = analyzer.run(*options, core)
        assert "keep" in big.stdout
        little = analyzer.run(*options, small, through=away)
        assert same(big.stdout, core) == same(little.stdout, small)
    assert same(analyzer.run(core, through=away).stdout, core) != same(analyzer.run(core).stdout, core)


def find_note(core, kind):
    """Where the note begins and ends that has this type of ours."""
    at = core.index(kind + b"pystack-core")
    return at + 20, at + 20 + struct.unpack_from("<I", core, at - 4)[0]


def find_parts(core):
    """Parts of files, and where their note has them: (place, the file's place, start, end)."""
    begin, end = find_note(core, b"part")
    return [(place, *struct.unpack_from("<3Q", core, place)) for place in range(begin, end, 24)]


def find_files(core):
    """(path, its place, its size) of the files that are in a core."""
    at, end = find_note(core, b"file")
    while at < end:
        place, _, size, length = struct.unpack_from("<3QI", core, at)
        yield core[at + 32:at + 32 + length].rstrip(b"\0").decode(), place, size
        at += 32 + length


@pytest.mark.skipif(not os.path.exists("/proc/self/pagemap"), reason="the kernel does not tell what was read")
def test_files_have_the_parts_that_were_needed(tmp_path):
    made = debuggers.some_core("threads")
    small = slim(made.path, tmp_path / "alone.core", "--with-files")
    parts = find_parts(small.read_bytes())
    kept = sum(end - start for _, _, start, end in parts)
    ends = {file: end for _, file, _, end in parts}
    assert 0 < kept < sum(ends.values()) / 2 and all(start % 4096 == 0 for _, _, start, _ in parts)
    assert_says_the_same(made.path, small, EVERYTHING[1])


@pytest.mark.skipif(not os.path.exists("/proc/self/pagemap"), reason="the kernel does not tell what was read")
def test_what_the_program_runs_itself_is_not_needed(tmp_path):
    """The loader has mapped the C library for the program, too, which runs most of it."""
    system = interpreters.find_system()
    if not system:
        pytest.skip("no interpreter that shares its C library")
    small = slim(cores.make_core("threads", system).path, tmp_path / "alone.core", "--with-files").read_bytes()
    kept: Dict[int, int] = {}
    for _, file, start, end in find_parts(small):
        kept[file] = kept.get(file, 0) + end - start
    found = [(kept.get(place, size), size) for path, place, size in find_files(small) if "/libc.so" in path]
    assert len(found) == 1 and found[0][0] < found[0][1] / 2, found


@pytest.mark.skipif(not os.path.exists("/proc/self/pagemap"), reason="the kernel does not tell what was read")
def test_parts_that_are_missing_are_told(tmp_path):
    """Each part of the files, but for their first ones, is moved by a page where there is room."""
    small = slim(debuggers.some_core("threads").path, tmp_path / "alone.core", "--with-files")
    core = bytearray(small.read_bytes())
    parts = find_parts(core)
    for (place, file, start, end), (_, other, behind, _) in zip(parts, parts[1:]):
        if file == other and start and behind - end >= 4096:
            struct.pack_into("<2Q", core, place + 8, start + 4096, end + 4096)
    small.write_bytes(core)
    result = analyzer.run("--locals", small)
    assert "parts were looked at that are not in the core file" in result.stderr, result.describe()
    assert result.returncode == analyzer.EXIT_PARTIAL


def test_the_heap_of_a_small_core_is_told_as_cut(tmp_path):
    core = debuggers.some_core("threads").path
    small = slim(core, tmp_path / "small.core")
    result = analyzer.run("heap", small)
    assert "holds only what a report reads" in result.stderr, result.describe()
    assert result.returncode in (analyzer.EXIT_PARTIAL, analyzer.EXIT_NOTHING), result.describe()


def said_by(core, command):
    done = subprocess.run([str(word) for word in command], capture_output=True, check=False, timeout=600)
    text = done.stdout.decode(errors="replace").replace(str(core), "CORE")
    return [line for line in text.splitlines() if not re.match(r"\[New |Core was generated|warning:", line)]


@pytest.mark.skipif(analyzer.SANITIZED, reason="nothing of memory safety is in it")
@pytest.mark.parametrize("tool", ["gdb", "eu-stack", "lldb"])
def test_other_tools_read_it(tool, tmp_path):
    if not shutil.which(tool):
        pytest.skip("no %s here" % tool)
    made = debuggers.some_core("threads")
    program = made.interpreter.file
    small = slim(made.path, tmp_path / "small.core")
    commands = {
        "gdb": lambda core: ["gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off", "-ex", "thread apply all bt",
                             program, core],
        "eu-stack": lambda core: ["eu-stack", "--core", core, "-e", program],
        "lldb": lambda core: ["lldb", "--batch", "-o", "bt all", "-c", core, program],
    }[tool]
    big, little = (said_by(core, commands(core)) for core in (made.path, small))
    assert len(big) > 10 and big == little


def test_of_a_small_core_and_of_standard_input(tmp_path):
    core = debuggers.some_core("threads").path
    small = slim(core, tmp_path / "small.core")
    again = slim(small, tmp_path / "again.core")
    assert_says_the_same(core, again, EVERYTHING[1])
    with open(core, "rb") as file:
        result = analyzer.run("slim", "-", "-o", tmp_path / "piped.core", stdin=file)
    assert result.returncode == 0, result.describe()
    assert_says_the_same(core, tmp_path / "piped.core", EVERYTHING[0])


@pytest.mark.parametrize("words, code, says", [
    (["slim", "CORE"], 64, "-o SMALL is missing"),
    (["slim", "-o", "x"], 64, "no core file is given"),
    (["slim", "CORE", "-o", "CORE"], 2, "is the core file itself"),
    (["slim", "/nonexistent", "-o", "OUT"], 2, "No such file"),
    (["slim", "CORE", "-o", "/nonexistent/small"], 2, "cannot be written"),
])
def test_what_is_wrong_is_said(words, code, says, tmp_path):
    core = debuggers.some_core("threads").path
    known = {"CORE": core, "OUT": tmp_path / "out"}
    result = analyzer.run(*[known.get(word, word) for word in words])
    assert result.returncode == code and says in result.stderr, result.describe()
    assert not (tmp_path / "out").exists()
