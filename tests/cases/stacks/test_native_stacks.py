"""Native stacks equal gdb's, frame for frame by pc; and both unwinding engines agree."""
import json
import os
import subprocess

import pytest

import analyzer
import cores

SCRIPT = os.path.join(cores.TOOLS, "gdb_frames.py")
# Where gdb 13 itself is wrong.
GDB_FAILS = {
    "no_unwind_info": "without CFI gdb guesses from the prologue and invents frames",
}
ALL = [*cores.CASES, "native_60000", "crowd"]


def gdb_threads(core):
    """{LWP: [pc, ...]} by gdb, kept beside the core."""
    kept = os.path.join(core.folder, "gdb-%s.json" % cores.digest(SCRIPT))
    with cores.locked(os.path.basename(core.folder)):
        if not os.path.exists(kept):
            subprocess.run(["gdb", "-nx", "-batch", "-iex", "set auto-load no", "-iex",
                            "set debuginfod enabled off", "-ex", "py output=%r" % (kept + ".new"),
                            "-x", SCRIPT, core.interpreter.path, core.path], check=True,
                           capture_output=True, timeout=600)
            os.rename(kept + ".new", kept)
    with open(kept) as file:
        return {int(lwp): [int(frame["pc"], 16) for frame in thread["frames"] if not frame["inlined"]]
                for lwp, thread in json.load(file).items()}


def hexes(pcs):
    return [hex(pc) for pc in pcs]


@pytest.mark.cases(ALL, when=lambda case, interpreter: case not in GDB_FAILS, slow="very")
def test_frames_equal_gdb(core):
    document = analyzer.json_of(core.path, "--mode", "native", "--all").json
    expected = gdb_threads(core)
    assert {thread["tid"] for thread in document["threads"]} == set(expected)
    for lwp, pcs in expected.items():
        thread = analyzer.thread_by_tid(document, lwp)
        found = analyzer.physical_pcs(thread)
        if found != pcs:
            same = next((at for at, pair in enumerate(zip(found, pcs)) if pair[0] != pair[1]),
                        min(len(found), len(pcs)))
            pytest.fail("LWP %d: %d frames, gdb %d; the first %d are equal, then %s, gdb %s" % (
                lwp, len(found), len(pcs), same, hexes(found[same:same + 3]),
                hexes(pcs[same:same + 3])))


@pytest.mark.cases(ALL, slow=True)
def test_engines_agree(core):
    by_libunwind = analyzer.json_of(core.path, "--mode", "native", "--all").json
    by_libdw = analyzer.json_of(core.path, "--mode", "native", "--all", "--unwinder", "libdw").json
    for thread in by_libunwind["threads"]:
        other = analyzer.thread_by_tid(by_libdw, thread["tid"])
        assert hexes(analyzer.physical_pcs(other)) == hexes(analyzer.physical_pcs(thread))


@pytest.mark.cases(["native_threads"])
def test_threads_without_python_show_their_native_stack(core):
    document = analyzer.json_of(core.path).json
    without = [thread for thread in document["threads"] if thread["python_thread_id"] is None]
    assert len(without) == core.truth["promises"]["native_only_threads"]
    names = [frame["symbol"] for frame in without[0]["frames"]]
    assert "ways_thread" in names and not analyzer.python_frames(without[0])


@pytest.mark.cases(["overflow"])
def test_stack_overflow_is_complete(core):
    document = analyzer.json_of(core.path, "--mode", "native").json
    frames = document["threads"][0]["frames"]
    assert len(frames) > core.truth["promises"]["native_at_least"]
    steps = [frame for frame in frames if frame["symbol"] == "ways_overflow_step"]
    assert len(steps) > core.truth["promises"]["native_at_least"]
    assert analyzer.python_frames(analyzer.json_of(core.path).json["threads"][0])


@pytest.mark.cases(["null_call", "wild_call"])
def test_call_to_nowhere_names_its_caller(core):
    frames = analyzer.json_of(core.path).json["threads"][0]["frames"]
    assert int(frames[0]["pc"], 16) == (0 if core.case == "null_call" else 0x1234)
    assert frames[1]["symbol"] == "ways_" + core.case
    assert frames[1]["file"].endswith("ways.c") and frames[1]["line"]
