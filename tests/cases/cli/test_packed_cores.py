"""Cores that are compressed, come through a pipe, or are named as gdb has it."""
import bz2
import gzip
import lzma
import os
import shutil
import signal
import stat
import struct
import subprocess
import time

import pytest

import analyzer
import interpreters

CRASH = """import ctypes
def parse(depth):
    return parse(depth - 1) if depth else ctypes.string_at(0)
parse(3)
"""
# Of what it has touched one page in 128 is not zero; then it dies.
MEGABYTES = 2048 if analyzer.THOROUGH else 512
LARGE = """import ctypes, mmap
memory = mmap.mmap(-1, %d << 20)
for at in range(0, len(memory), 128 * 4096):
    memory[at:at + 8] = b"abcdefgh"
ctypes.string_at(0)
""" % MEGABYTES
FORMATS = ("gz", "xz", "zst", "lz4", "bz2")


def crash(folder, text):
    interpreter = interpreters.find_system() or pytest.skip("no /usr/bin/python3 here")
    (folder / "dies.py").write_text(text)
    done = subprocess.run(["sh", "-c", 'ulimit -c unlimited; exec "$@"', "sh", interpreter.path, "-s", "dies.py"],
                          cwd=folder, capture_output=True, timeout=600)
    assert done.returncode == -signal.SIGSEGV
    return folder / "core"


def pack(data, form):
    if form in ("zst", "lz4"):
        tool = {"zst": "zstd", "lz4": "lz4"}[form]
        if not shutil.which(tool):
            pytest.skip("no " + tool + " here")
        return subprocess.run([tool, "-q", "-c"], input=data, stdout=subprocess.PIPE, check=True).stdout
    return {"gz": lambda data: gzip.compress(data, 1), "xz": lambda data: lzma.compress(data, preset=0),
            "bz2": lambda data: bz2.compress(data, 1)}[form](data)


@pytest.fixture(scope="module")
def core(tmp_path_factory):
    return crash(tmp_path_factory.mktemp("packed"), CRASH)


@pytest.fixture(scope="module")
def plain(core):
    return analyzer.run(core).stdout.split("\n", 1)[1]


def shown(*arguments, **more):
    """The report but for its first line, which has the name of the core."""
    result = analyzer.run(*arguments, **more)
    assert result.returncode == analyzer.EXIT_COMPLETE, result.describe()
    return result.stdout.split("\n", 1)[1]


@pytest.mark.parametrize("form", FORMATS)
def test_formats(core, plain, tmp_path, form):
    """Told by what is in it, not by its name."""
    packed = tmp_path / "some.core"
    packed.write_bytes(pack(core.read_bytes(), form))
    assert shown(packed) == plain
    with open(packed, "rb") as file:
        assert shown("-", stdin=file) == plain
    report = analyzer.run("--format", "json", packed).json
    analyzer.assert_fits_schema(report)
    assert report["target"]["path"] == str(packed)
    assert report["signature"] == analyzer.run("--format", "json", core).json["signature"]


def piped(data, *arguments, **more):
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(read)
            while data:
                data = data[os.write(write, data[:100000]):]
        except BrokenPipeError:
            pass
        finally:
            os._exit(0)
    os.close(write)
    try:
        with os.fdopen(read, "rb") as file:
            return analyzer.run(*arguments, stdin=file, **more)
    finally:
        os.waitpid(child, 0)


def test_standard_input(core, plain, tmp_path):
    data = core.read_bytes()
    for sent in (data, pack(data, "gz")):
        assert piped(sent, "-").stdout.split("\n", 1)[1] == plain
    assert piped(data, "-").stdout.startswith("standard input: ")
    assert piped(data, "/dev/stdin").stdout.split("\n", 1)[1] == plain
    with open(core, "rb") as file:
        assert shown("-", stdin=file) == plain
    for sent, said in ((b"", "the file is empty"), (b"no core at all", "not an ELF file"),
                       (pack(b"text", "gz"), "not an ELF file"), (pack(b"", "gz"), "early or is damaged")):
        result = piped(sent, "-")
        assert result.returncode == analyzer.EXIT_NOTHING and said in result.stderr, result.describe()
        assert len(result.stderr.splitlines()) == 1, result.describe()
    result = analyzer.run("-")
    assert result.returncode == analyzer.EXIT_NOTHING and "neither a file nor a pipe" in result.stderr


@pytest.mark.parametrize("form", ("gz", "xz", "zst", "lz4", "bz2"))
def test_cut_off(core, tmp_path, form):
    """What there is, is shown; what is missing is told, and the exit code says so."""
    packed = pack(core.read_bytes(), form)
    cut = tmp_path / "core.cut"
    # Blocks of .lz4 have 4 MB, and the last one is lost as a whole.
    cut.write_bytes(packed[:len(packed) * 2 // 3 if form != "lz4" else -1000])
    result = analyzer.run("--format", "json", cut)
    assert result.returncode == analyzer.EXIT_PARTIAL, result.describe()
    assert {"core-incomplete", "core-truncated"} <= {warning["code"] for warning in result.json["warnings"]}
    assert "the compressed core ends early" in result.stderr and result.json["crash"]["signal"] == "SIGSEGV"
    # A byte that was turned over.
    damaged = bytearray(packed)
    damaged[len(damaged) // 2] ^= 0x55
    cut.write_bytes(damaged)
    assert analyzer.run(cut).returncode in (analyzer.EXIT_PARTIAL, analyzer.EXIT_NOTHING)


@pytest.mark.parametrize("form", FORMATS)
def test_cut_anywhere(core, tmp_path, form):
    """Whichever part of a format is missing, also between two blocks: the sentence is the same, and there is one report."""
    packed = pack(core.read_bytes()[:300000], form) if form != "lz4" else \
        subprocess.run(["lz4", "-q", "-c", "-B4"], input=core.read_bytes()[:300000], stdout=subprocess.PIPE, check=True).stdout
    cuts = {6, 8, 11, 13, 20, len(packed) // 2} | {len(packed) - number for number in (1, 4, 5, 8, 9)}
    if form == "lz4":  # LZ4 frame format: a header of 7 bytes, blocks behind their sizes, 4 zeros, a checksum.
        at = 7
        while int.from_bytes(packed[at:at + 4], "little"):
            at += 4 + (int.from_bytes(packed[at:at + 4], "little") & 0x7fffffff)
            cuts |= {at, at + 4, at + 5}
        assert at == len(packed) - 8
    cut = tmp_path / "core.cut"
    for size in sorted(cuts):
        cut.write_bytes(packed[:size])
        result = analyzer.run(cut)
        assert "the compressed core ends early or is damaged" in result.stderr.splitlines()[0], (size, result.describe())
        assert result.returncode in (analyzer.EXIT_PARTIAL, analyzer.EXIT_NOTHING), result.describe()


def test_gzip(core, plain, tmp_path):
    """The checksum and the size in the trailer are compared; members follow each other, and zeros the last one."""
    data = core.read_bytes()
    packed = tmp_path / "core.gz"
    whole = gzip.compress(data[:70000], 1) + gzip.compress(data[70000:], 1)
    packed.write_bytes(whole + bytes(512))
    assert shown(packed) == plain
    for place, word in ((-8, "incorrect data check"), (-4, "incorrect length check")):
        wrong = bytearray(whole)
        wrong[place] ^= 1
        packed.write_bytes(wrong)
        result = analyzer.run(packed)
        assert result.returncode == analyzer.EXIT_PARTIAL and word in result.stderr, result.describe()
        assert "died of SIGSEGV" in result.stdout
    packed.write_bytes(whole[:-3])
    result = analyzer.run(packed)
    assert result.returncode == analyzer.EXIT_PARTIAL and "ends early" in result.stderr, result.describe()


def test_as_gdb_has_it(core, plain, tmp_path):
    """EXECUTABLE -c CORE, with options before it and after it."""
    python = os.path.realpath(interpreters.find_system().path)
    assert shown(python, "-c", core) == plain
    assert shown("-c", core) == plain and shown(python, "-c%s" % core) == plain
    assert analyzer.run("--format", "json", python, "-c", core).json["target"]["path"] == str(core)
    for wrong in ((python, core, "-c", core), ("--pid", os.getpid(), "-c", core)):
        assert analyzer.run(*wrong).returncode == analyzer.EXIT_USAGE


def test_coredumpctl(core, plain, tmp_path):
    """
    What coredumpctl does for `debug` (systemd 252, src/coredump/coredumpctl.c, run_debug()): it unpacks the core to
    /var/tmp/coredump-XXXXXX, and runs DEBUGGER, the words of --debugger-arguments, EXE, "-c", that file.
    """
    fake = tmp_path / "coredumpctl"
    fake.write_text("""#!/bin/sh
# coredumpctl debug --debugger=PROGRAM -A ARGUMENTS; coredumpctl dump
case $1 in
dump) exec cat "$FAKE_CORE" ;;
debug) copy=$(mktemp "${TMPDIR:-/tmp}/coredump-XXXXXX") && cp "$FAKE_CORE" "$copy"
    "${2#--debugger=}" ${4} "$FAKE_EXE" -c "$copy"
    code=$?
    rm "$copy"
    exit $code ;;
esac
""")
    fake.chmod(0o755)
    environment = {**os.environ, "FAKE_CORE": str(core), "TMPDIR": str(tmp_path),
                   "FAKE_EXE": os.path.realpath(interpreters.find_system().path)}

    def call(*words):
        done = subprocess.run(words, env=environment, capture_output=True, timeout=600, stdin=subprocess.DEVNULL, text=True)
        assert done.returncode == analyzer.EXIT_COMPLETE, done
        return done.stdout

    assert call(fake, "debug", "--debugger=" + analyzer.PROGRAM, "-A", "").split("\n", 1)[1] == plain
    assert call(fake, "debug", "--debugger=" + analyzer.PROGRAM, "-A", "--format json --no-source").startswith('{"schema":')
    assert call("sh", "-c", "%s dump | %s -" % (fake, analyzer.PROGRAM)).split("\n", 1)[1] == plain


def descendants(pid):
    found = [pid]
    for parent in found:
        try:
            with open("/proc/%d/task/%d/children" % (parent, parent)) as file:
                found += map(int, file.read().split())
        except OSError:
            pass
    return found


def spools(pid):
    """The files without a name that a process and its children have open: {(device, inode): status}."""
    found = {}
    for one in descendants(pid):
        try:
            for name in os.listdir("/proc/%d/fd" % one):
                status = os.stat("/proc/%d/fd/%s" % (one, name))
                if stat.S_ISREG(status.st_mode) and not status.st_nlink:
                    found[status.st_dev, status.st_ino] = status
        except OSError:
            continue
    return found


def test_large(tmp_path):
    """
    Of a core that is nearly all zeros only the rest takes room, and nothing of it remains when the program is killed
    in the midst of its work.
    """
    core = crash(tmp_path, LARGE)
    size = core.stat().st_size
    assert size > MEGABYTES << 20
    place = tmp_path / "place"
    place.mkdir()
    read, write = os.pipe()
    environment = {**os.environ, "TMPDIR": str(place)}
    with subprocess.Popen([analyzer.PROGRAM, "-"], stdin=read, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=environment) as program:
        os.close(read)
        # All but its last page.
        with open(core, "rb") as file:
            left = size - 4096
            while left:
                left -= os.write(write, file.read(min(1 << 20, left)))
        found = spools(program.pid)
        assert len(found) == 1
        status = next(iter(found.values()))
        assert 4 << 20 < status.st_blocks * 512 < (12 << 20) + size // 100, status
        children = descendants(program.pid)
        program.kill()
        program.wait()
        os.close(write)
        until = time.monotonic() + 300
        while any(os.path.exists("/proc/%d" % child) for child in children) and time.monotonic() < until:
            os.sched_yield()
        assert not any(os.path.exists("/proc/%d" % child) for child in children)
        assert os.listdir(place) == []


def test_bomb(core, tmp_path):
    """Zeros without end are holes; noise without end ends where room does."""
    data = core.read_bytes()
    head = bytearray(data[:64])
    bomb = tmp_path / "core.gz"
    with gzip.open(bomb, "wb", 1) as file:
        file.write(data)
        for _ in range(12):
            file.write(bytes(16 << 20))
    result = analyzer.run(bomb, timeout=120)
    assert result.returncode == analyzer.EXIT_COMPLETE, result.describe()
    # An ELF file of another type is not unpacked further than that is known.
    struct.pack_into("<H", head, 16, 3)
    with gzip.open(bomb, "wb", 1) as file:
        file.write(bytes(head))
        for _ in range(12):
            file.write(bytes(16 << 20))
    result = analyzer.run(bomb)
    assert result.returncode == analyzer.EXIT_NOTHING and "not a core file but" in result.stderr
