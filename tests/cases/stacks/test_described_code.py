"""Code that a program made at run time and described to debuggers: gdb's names, lines and callers."""
import json
import os
import shutil
import subprocess
import sys

import pytest

import analyzer
import cores
import living
import resting

NATIVE = os.path.join(cores.FOLDER_OF_CASES, "native")
OWN = ["program_inner", "described_inner", "described_outer", "main"]
WELL = {"PATH": os.environ["PATH"], "CASE_DESCRIBED_WELL": "1"}
NUMBA = """
import ctypes, sys
from numba import njit
stop = ctypes.CDLL(None).pause if "wait" in sys.argv else ctypes.CDLL(None).abort
stop.argtypes, stop.restype = [], None

@njit(debug="debug" in sys.argv)
def inner(number):
    more = number + 1
    stop()
    return more

@njit(debug="debug" in sys.argv)
def outer(number):
    twice = inner(number) * 2
    return twice + 1

print("ready", flush=True)
outer(4)
"""


def compile_case(folder, *flags):
    subprocess.run(["gcc", "-w", "-c", "-O1", "-g", "-fomit-frame-pointer", "-o", "described_code.o",
                    os.path.join(NATIVE, "described_code.c")], cwd=folder, check=True)
    subprocess.run(["gcc", "-w", "-O1", "-fno-optimize-sibling-calls", *flags, "-o", "case_described",
                    os.path.join(NATIVE, "case_described.c")], cwd=folder, check=True)
    return [os.path.join(folder, "case_described"), os.path.join(folder, "described_code.o")]


def gdb_frames(*arguments):
    """[(pc, name, file or None, line)] of the first thread, without inlined calls."""
    if shutil.which("gdb") is None:
        pytest.skip("no gdb here")
    script = ("import gdb, json\nframe, found = gdb.newest_frame(), []\n"
              "while frame is not None:\n"
              "    place = frame.find_sal()\n"
              "    if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):\n"
              "        found.append([frame.pc(), frame.name(), place.symtab and place.symtab.filename, place.line])\n"
              "    frame = frame.older()\n"
              "print('FRAMES', json.dumps(found))")
    said = subprocess.run(["gdb", "-nx", "-batch", "-iex", "set auto-load no", "-iex",
                           "set debuginfod enabled off", "-ex", "py exec(%r)" % script, *arguments],
                          capture_output=True, timeout=300).stdout.decode()
    line = next(line for line in said.splitlines() if line.startswith("FRAMES"))
    return json.loads(line[len("FRAMES"):])


def shown_frames(*arguments):
    result = analyzer.run("--format", "json", "--mode", "native", "--all", *arguments)
    analyzer.assert_fits_schema(result.json)
    return result.json["threads"][0]["frames"]


def is_made(frame):
    return frame["kind"] == "native" and frame["module"] is None


def assert_equals_gdb(frames, expected):
    """What was made at run time is named as gdb names it, and what stands around it is the same."""
    physical = [frame for frame in frames if not frame["inlined"]]
    pcs = [int(frame["pc"], 16) for frame in physical]
    assert pcs[:len(expected)] == [frame[0] for frame in expected][:len(pcs)]
    made = [(frame, other) for frame, other in zip(physical, expected) if is_made(frame)]
    assert made
    for frame, (_, name, path, line) in made:
        assert frame["function"] == name.split("(")[0]
        assert frame["trust"] == "cfi"
        assert (os.path.basename(frame["file"]) if frame["file"] else None, frame["line"]) == \
            (os.path.basename(path) if path else None, line or None)


def test_a_core(tmp_path):
    """A list that gdb would follow for ever, and an image that is none, do no harm."""
    for flags in ((), ("-s", "-rdynamic")):
        for env in (None, WELL):
            command = compile_case(tmp_path, *flags)
            cores.run_to_core([*command, "abort"], str(tmp_path), env)
            core = str(tmp_path / "core")
            frames = shown_frames(core)
            if not flags:
                assert [frame["function"] for frame in frames if frame["function"] in OWN] == OWN
            assert {frame["trust"] for frame in frames} <= {"context", "cfi"}
            made = [frame for frame in frames if is_made(frame)]
            assert [(frame["function"], os.path.basename(frame["file"]), frame["line"]) for frame in made] == \
                [("described_inner", "described_code.c", 5), ("described_outer", "described_code.c", 11)]
            if env:
                assert_equals_gdb(frames, gdb_frames(command[0], core))


def test_a_living_process(tmp_path):
    with living.running([*compile_case(tmp_path), "wait"], env=WELL) as process:
        frames = shown_frames("--pid", str(process.pid))
        assert [frame["function"] for frame in frames if frame["function"] in OWN] == OWN
        assert_equals_gdb(frames, gdb_frames("-p", str(process.pid)))
        values = shown_frames("--locals", "--pid", str(process.pid))
        inner = next(frame for frame in values if frame["function"] == "described_inner")
        assert inner["locals"]["number"] == "5"


def assert_are_of_numba(frames, debug):
    names = [frame["function"].split("[")[0] for frame in frames if is_made(frame)]
    assert names[-1] == "cpython::__main__::outer"
    if debug == "debug":
        assert names == ["__main__::inner", "__main__::outer", "cpython::__main__::outer"]
        assert [frame["line"] for frame in frames if is_made(frame)] == [10, 15, None]


@pytest.mark.skipif(not analyzer.THOROUGH, reason="installs numba: PSC_TEST_THOROUGH=1")
@pytest.mark.parametrize("debug", ("debug", "plain"))
def test_numba(debug, tmp_path):
    python = str(tmp_path / "venv" / "bin" / "python")
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    subprocess.run([python, "-m", "pip", "-q", "install", "--only-binary", ":all:", "numba"], check=True)
    program = tmp_path / "program.py"
    program.write_text(NUMBA)
    cores.run_to_core([python, str(program), debug], str(tmp_path))
    core = str(tmp_path / "core")
    frames = shown_frames(core)
    assert_are_of_numba(frames, debug)
    assert_equals_gdb(frames, gdb_frames(os.path.realpath(python), core))
    with living.running([python, str(program), debug, "wait"]) as process:
        resting.wait_until(lambda: any(is_made(frame) for frame in shown_frames("--pid", str(process.pid))), "code of numba")
        resting.wait_until_at_rest(process.pid)
        frames = shown_frames("--pid", str(process.pid))
        assert_are_of_numba(frames, debug)
        assert_equals_gdb(frames, gdb_frames("-p", str(process.pid)))
