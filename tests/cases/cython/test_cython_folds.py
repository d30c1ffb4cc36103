"""One frame a call: wrappers, slots, dispatchers and parallel bodies fold; recursion does not."""
import functools
import json
import os
import re
import shutil
import subprocess

import pytest

import analyzer
import cores
import interpreters

SOURCES = os.path.join(cores.SOURCE, "testdata", "cython", "folds")
# Innermost first: the Cython functions that are on the stack, each once a call.
WAYS = {
    "parallel": ["parallel_block"],
    "fused": ["fused_def"],
    "fused_cpdef": ["fused_cpdef"],
    "cpdef": ["plain_cpdef"],
    "recursion": ["recursive", "recursive", "recursive", "recursion"],
    "generator": ["generator"],
    "delegating": ["generator", "delegating"],
    # Resumed, they hand on what is sent to them without being entered again.
    "resumed": ["later", "hands_on", "hands_on_more"],
    "awaited": ["pausing", "awaiting"],
    "awaited_by_python": ["pausing", "awaiting"],
    "awaited_through_python": ["pausing", "awaiting_any"],
    "expression": ["expression.<genexpr>", "expression"],
    "coroutine": ["coroutine"],
    # The symbol of a public function is its plain name.
    "public": ["public_function", "calls_public"],
    # From a .pxd that is cimported: its module is another one.
    "inline": ["inline_function", "calls_inline"],
    "cinit": ["Base.__cinit__"],
    "init": ["Base.__init__"],
    "getitem": ["Base.__getitem__"],
    "setitem": ["Base.__setitem__"],
    "len": ["Base.__len__"],
    "add": ["Base.__add__"],
    "call": ["Base.method", "Derived.method", "Base.__call__"],
    "next": ["Base.__next__"],
    "getattr": ["Base.__getattr__"],
    "compare": ["Base.__richcmp__"],
    "property": ["Base.value"],
    "dealloc": ["Base.__dealloc__"],
    # Through a Python method that overrides the cpdef one.
    "subclass": ["Base.method", "Base.method", "Base.__call__"],
    "method": ["Plain.method.<lambda>", "Plain.method"],
    # A generator and what runs it are two.
    "namesake": ["Plain.namesake", "namesake"],
    "early": ["Early.make", "Early.find", "early"],
}
# What of these a stripped file does not tell.
UNTOLD = {"expression": ["<genexpr>", "expression"], "namesake": ["namesake", "namesake"]}
VARIANTS = {"O0": ["-g", "-O0"], "O2": ["-g", "-O2"], "O2-stripped": ["-g0", "-O2", "-s"]}


def marked_lines():
    lines = {}
    for source in ("folds.pyx", "inlined.pxd"):
        with open(os.path.join(SOURCES, source)) as file:
            for number, text in enumerate(file, 1):
                for name in text.partition("#@ ")[2].split():
                    lines[name] = number
    return lines


def make_cores(variant):
    """A folder with the extension and a core for each way."""
    system = interpreters.find_system()
    for tool in ("cython3", "python3-config"):
        if shutil.which(tool, path="/usr/bin") is None:
            pytest.skip("no /usr/bin/%s here" % tool)

    def shell(folder, *command):
        return subprocess.run(command, cwd=folder, check=True, capture_output=True).stdout.decode().split()

    def make(folder):
        for name in os.listdir(SOURCES):
            shutil.copy(os.path.join(SOURCES, name), folder)
        includes = shell(folder, "/usr/bin/python3-config", "--includes")
        shell(folder, "/usr/bin/cython3", "folds.pyx")
        shell(folder, "cc", *VARIANTS[variant], "-w", "-fopenmp", "-shared", "-fPIC", *includes, "-o",
              "folds.so", "folds.c")
        made = {}
        for way in WAYS:
            made[way] = cores.run_to_core([system.path, "-s", "run.py", way], folder,
                                          {"PATH": "/usr/bin:/bin"})
            os.rename(os.path.join(folder, "core"), os.path.join(folder, way + ".core"))
        with open(os.path.join(folder, "made.json"), "w") as file:
            json.dump({"by": made}, file)

    key = cores.digest(__file__, *[os.path.join(SOURCES, name) for name in sorted(os.listdir(SOURCES))],
                       system.path, os.stat(system.path).st_mtime_ns)
    return cores.made_once("folds-" + variant, key, make)


@pytest.fixture(params=[name for name in VARIANTS if name != "O0" or analyzer.THOROUGH])
def variant(request, system):
    return request.param


def shown_name(frame):
    return re.sub(r"(\.__get__| \[parallel\]|\[[a-z, ]+\])$", "", frame["function"])


@functools.lru_cache(None)
def frames_of(variant, way, *options):
    path = os.path.join(make_cores(variant), way + ".core")
    document = analyzer.json_of(path, "--thread", "crashed", *options).json
    return document["threads"][0]["frames"]


def expected_names(variant, way):
    return UNTOLD.get(way, WAYS[way]) if "stripped" in variant else WAYS[way]


@pytest.mark.parametrize("way", WAYS)
def test_one_frame_a_call(variant, way):
    expected = expected_names(variant, way)
    frames = frames_of(variant, way)
    assert [shown_name(frame) for frame in frames if frame["kind"] == "cython"] == expected
    # What of the module is not theirs is not shown, nor is OpenMP's runtime.
    for frame in frames:
        module = os.path.basename(frame["module"] or "")
        if "stripped" in variant and way in UNTOLD and module == "folds.so" and not frame["function"]:
            # A user's function that nothing names stands there as what it is.
            assert (frame["kind"], frame["line"]) == ("native", None) and frame["offset"]
            continue
        assert frame["kind"] == "cython" or not module.startswith(("folds", "libgomp"))


@pytest.mark.parametrize("way", WAYS)
def test_its_line(variant, way):
    lines = marked_lines()
    for frame in frames_of(variant, way):
        if frame["kind"] != "cython" or frame["line_source"] in ("estimate", None):
            assert frame["kind"] != "cython" or "stripped" in variant
            continue
        source = "inlined.pxd" if frame["function"] == "inline_function" else "folds.pyx"
        assert os.path.basename(frame["file"]) == source
        if expected_names(variant, way).count(shown_name(frame)) == 1 and shown_name(frame) in lines:
            assert (shown_name(frame), frame["line"]) == (shown_name(frame), lines[shown_name(frame)])


@pytest.mark.parametrize("way", WAYS)
def test_all_shows_what_was_folded(variant, way):
    frames = frames_of(variant, way, "--all")
    short = frames_of(variant, way)
    kept = [frame for frame in frames if not frame["hidden"]]
    assert [frame["function"] for frame in kept] == [frame["function"] for frame in short]
    hidden = {frame["symbol"] or "" for frame in frames if frame["hidden"]}
    if variant == "O0":
        wrappers = ("__pyx_pw_", "__pyx_f_", "__pyx_fuse_", "__pyx_tp_", "__Pyx_", "GOMP_")
        assert any(symbol.startswith(wrappers) for symbol in hidden)
