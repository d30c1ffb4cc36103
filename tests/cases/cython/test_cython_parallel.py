"""Lines in parallel blocks, of stripped modules too; Python's own traceback of them is the truth."""
import functools
import json
import os
import shutil
import subprocess

import pytest

import analyzer
import cores
import interpreters

SOURCES = os.path.join(cores.SOURCE, "testdata", "cython", "parallel")
RAISING = ["in_loop", "in_block", "through_helper"]
# In the last one nothing can fail: the block has no line of its own.
WAYS = RAISING + ["without_error"]
THREADS = [1, 3]
VARIANTS = {"O0": ["-O0", "-g0", "-s"], "O2": ["-O2", "-g0", "-s"]}
# The generated C stays in its place.
DEBUG = {"debug": ["-O2", "-g"]}


@functools.lru_cache(None)
def function_lines():
    """Name -> its first and last line, and marker -> line."""
    functions, markers, name = {}, {}, None
    with open(os.path.join(SOURCES, "blocks.pyx")) as file:
        for number, text in enumerate(file, 1):
            if text.startswith(("def ", "cdef ")):
                name = text.partition("(")[0].split()[-1]
                functions[name] = [number, number]
            elif name and text.strip():
                functions[name][1] = number
            if "#@ " in text:
                markers[text.partition("#@ ")[2].strip()] = number
    return functions, markers


def make_cores(variant):
    """A folder with a core for each way, and what the traceback of each says."""
    system = interpreters.find_system()
    for tool in ("cython3", "python3-config"):
        if shutil.which(tool, path="/usr/bin") is None:
            pytest.skip("no /usr/bin/%s here" % tool)

    def shell(folder, *command):
        return subprocess.run(command, cwd=folder, check=True, capture_output=True).stdout.decode()

    def make(folder):
        for name in os.listdir(SOURCES):
            shutil.copy(os.path.join(SOURCES, name), folder)
        includes = shell(folder, "/usr/bin/python3-config", "--includes").split()
        shell(folder, "/usr/bin/cython3", "blocks.pyx")
        shell(folder, "cc", *{**VARIANTS, **DEBUG}[variant], "-w", "-fopenmp", "-shared", "-fPIC",
              *includes, "-o", "blocks.so", "blocks.c")
        for left in ("blocks.c", "blocks.pyx") if variant in VARIANTS else ():
            os.remove(os.path.join(folder, left))
        truth, made = {}, {}
        for way in WAYS:
            if way in RAISING:
                truth[way] = json.loads(shell(folder, system.path, "-s", "run.py", "raise", way, "2"))
            for threads in THREADS:
                name = "%s-%d" % (way, threads)
                made[name] = cores.run_to_core([system.path, "-s", "run.py", "die", way, str(threads)],
                                               folder, {"PATH": "/usr/bin:/bin"})
                os.rename(os.path.join(folder, "core"), os.path.join(folder, name + ".core"))
        with open(os.path.join(folder, "truth.json"), "w") as file:
            json.dump(truth, file)
        with open(os.path.join(folder, "made.json"), "w") as file:
            json.dump({"by": made}, file)

    key = cores.digest(__file__, *[os.path.join(SOURCES, name) for name in sorted(os.listdir(SOURCES))],
                       system.path, os.stat(system.path).st_mtime_ns)
    return cores.made_once("parallel-" + variant, key, make)


@pytest.fixture(params=VARIANTS)
def variant(request, system):
    return request.param


@functools.lru_cache(None)
def threads_of(variant, way, threads):
    """Of each thread, the crashed one first, its Cython frames, innermost first."""
    path = os.path.join(make_cores(variant), "%s-%d.core" % (way, threads))
    document = analyzer.json_of(path).json
    return [[frame for frame in thread["frames"] if frame["kind"] == "cython"]
            for thread in sorted(document["threads"], key=lambda thread: "crashed" not in thread["state"])]


def bare(frame):
    return frame["function"].replace(" [parallel]", "")


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("way", RAISING)
def test_the_line_of_what_failed(variant, way, threads):
    with open(os.path.join(make_cores(variant), "truth.json")) as file:
        truth = json.load(file)[way]
    frames = threads_of(variant, way, threads)[0]
    assert [bare(frame) for frame in frames] == [name for name, _ in reversed(truth)]
    exact = [(bare(frame), frame["line"]) for frame in frames if frame["line_source"] == "machine-code"]
    assert set(exact) <= {(name, line) for name, line in truth}
    if variant == "O2":
        assert exact == [(name, line) for name, line in reversed(truth)]


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("way", WAYS)
def test_every_thread_is_inside_of_its_function(variant, way, threads):
    functions, _ = function_lines()
    stacks = threads_of(variant, way, threads)
    assert stacks[0]
    for frame in (frame for stack in stacks for frame in stack):
        assert bare(frame) in functions
        if frame["line"] is not None:
            first, last = functions[bare(frame)]
            assert first <= frame["line"] <= last
            assert os.path.basename(frame["file"]) == "blocks.pyx"


@pytest.mark.parametrize("threads", THREADS)
def test_a_block_that_can_not_fail(variant, threads):
    _, markers = function_lines()
    frames = threads_of(variant, "without_error", threads)[0]
    assert [frame["function"] for frame in frames] == ["without_error [parallel]"]
    assert frames[0]["line_source"] == "estimate"
    assert markers["before"] <= frames[0]["line"] <= markers["behind"]


@pytest.mark.parametrize("threads", THREADS)
def test_what_was_inlined_into_a_block(system, threads):
    _, markers = function_lines()
    frames = threads_of("debug", "without_error", threads)[0]
    assert [(frame["function"], frame["line"], frame["line_source"], frame["inlined"]) for frame in frames] == [
        ("strike", markers["strike"], "c-file", True),
        ("without_error [parallel]", markers["without_error"], "c-file", False)]
