"""`record --tasks`: frames of the tasks that await the one that runs; and what of their library's code is met later."""
import os

import pytest

import analyzer
import cores
import interpreters
from recordings import functions_of, read_ndjson, record

WORK = os.path.join(cores.PROGRAMS, "awaited_work.py")
SECONDS = 4 if analyzer.THOROUGH else 1
AWAITING = ("main", "awaits_task", "gathers", "waits_for", "shares")
VERSIONS = [(3, 8), (3, 9), (3, 10), (3, 11), (3, 12), (3, 13)] if analyzer.THOROUGH else [(3, 11), (3, 13)]


def find(version):
    found = interpreters.find_version(*version)
    if not found:
        pytest.skip("no CPython %d.%d" % version)
    return found.path


def record_work(output, version, *options):
    """The stacks of the samples in which a task works, and the counts."""
    for _ in range(3):
        record("--output", "ndjson=%s" % output, *options, "--", find(version), WORK, SECONDS, timeout=120)
        profile = read_ndjson(output.read_text())
        counts = profile["counts"][0]
        # Late samples are read when the event loop has gone on.
        if counts["late"] <= counts["taken"] * 0.1:
            break
    functions = functions_of(profile)
    stacks = [functions[sample["stack"]] for sample in profile["sample"]]
    return [stack for stack in stacks if "spend" in stack], counts


def chain_of(stack):
    """From the event loop's own frame to what spends time."""
    names = [name.rpartition(".")[2] for name in stack[:stack.index("spend")]]
    behind = names[len(names) - names[::-1].index("_run"):] if "_run" in names else names
    return [name for name in behind if name in AWAITING or name.startswith("works_")]


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: "%d.%d" % version)
@pytest.mark.parametrize("mode", ["merged", "python"] if analyzer.THOROUGH else ["merged"])
def test_frames_of_awaiting_tasks(tmp_path, version, mode):
    stacks, counts = record_work(tmp_path / "out.ndjson", version, "--tasks", "--mode", mode)
    wanted = {"works_awaited": ["main", "awaits_task"], "works_gathered": ["main", "gathers"],
              "works_timed": ["main", "waits_for"], "works_alone": [], "works_shared": []}
    # At the end main() awaits the one that worked alone; one of two that shared may be first to wait, or to be done.
    others = {"works_alone": ["main"], "works_shared": ["main", "shares"]}
    seen = {name: 0 for name in wanted}
    false = []
    for stack in stacks:
        chain = chain_of(stack)
        if not chain or chain[-1] not in wanted:
            false.append(stack)
            continue
        right = wanted[chain[-1]]
        seen[chain[-1]] += 1
        if chain[:-1] not in (right, others.get(chain[-1], right)):
            false.append(chain)
    assert seen["works_awaited"] and seen["works_gathered"] and seen["works_alone"], seen
    assert len(false) <= 2 + len(stacks) * 0.1, (false[:5], seen, counts)


def test_library_that_is_loaded_later(tmp_path):
    """_asyncio is loaded when the program has begun, and stands between other frames: no gap remains."""
    stacks, counts = record_work(tmp_path / "out.ndjson", (3, 12) if interpreters.find_version(3, 12) else (3, 11))
    assert counts["partial"] <= 5 + counts["samples"] * 0.1, counts
    known = [stack for stack in stacks if "context_run" in stack or "task_step" in stack]
    assert not known or any("task_step" in stack for stack in known), known[0]
    # Without --tasks each task is called by the event loop alone.
    assert stacks and all(len(chain_of(stack)) == 1 for stack in stacks if "works_gathered" in stack), stacks[0]
