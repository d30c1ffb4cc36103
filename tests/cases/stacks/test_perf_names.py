"""Names that a program writes for perf(1) of code that it makes: perf maps, and jitdump files."""
import contextlib
import os

import pytest

import analyzer
import cores
import living

# Each function is called once before: the interpreter keeps what it writes until there is much of it.
PROGRAM = """
import os, sys, time
def inner(last):
    if last and "die" in sys.argv:
        os.abort()
    if last:
        print("ready", flush=True)
        time.sleep(600)
def outer(last):
    list(map(inner, [last]))
outer(False)
for number in range(2000):
    exec("def f%d_%s(): pass\\nf%d_%s()" % (number, "x" * 60, number, "x" * 60))
outer(True)
"""
FUNCTIONS = ["py::inner:<string>", "py::outer:<string>"]


def names(*arguments):
    document = analyzer.run("--format", "json", "--all", *arguments).json
    frames = document["threads"][0]["frames"]
    assert all(frame["hidden"] for frame in frames if (frame["function"] or "").startswith("py::"))
    return [frame["function"] for frame in frames if frame["function"] in FUNCTIONS]


@contextlib.contextmanager
def removed(pattern, pid):
    try:
        yield pattern % pid
    finally:
        with contextlib.suppress(OSError):
            os.unlink(pattern % pid)


@pytest.fixture
def perf(interpreter):
    if interpreter.minor < (3, 12):
        pytest.skip("no -X perf before 3.12")
    return interpreter


def test_perf_map(perf):
    with living.running([perf.path, "-s", "-X", "perf", "-c", PROGRAM]) as process, \
            removed("/tmp/perf-%d.map", process.pid) as path:
        assert names("--pid", process.pid) == FUNCTIONS
        if os.geteuid() == 0:
            os.chown(path, 65534, 65534)
            assert names("--pid", process.pid) == []  # Anybody could have written it.


def test_jit_dump(perf, tmp_path):
    """Of a core, too: it has the file mapped. Whose number is in it is another process's."""
    if perf.minor < (3, 13):
        pytest.skip("no -X perf_jit before 3.13")
    with living.running([perf.path, "-s", "-X", "perf_jit", "-c", PROGRAM]) as process, \
            removed("/tmp/jit-%d.dump", process.pid):
        assert names("--pid", process.pid) == FUNCTIONS
    cores.run_to_core([perf.path, "-s", "-X", "perf_jit", "-c", PROGRAM, "die"], str(tmp_path))
    core = str(tmp_path / "core")
    pid = analyzer.json_of(core).json["target"]["pid"]
    with removed("/tmp/jit-%d.dump", pid) as path:
        assert names(core) == FUNCTIONS
        with open(path, "r+b") as file:
            file.seek(20)
            file.write((pid + 1).to_bytes(4, "little"))
        assert names(core) == []
