"""What `record` says against the program's own clock: shares in Python, C, Cython, and what comes and goes."""
import json
import os
import random
import re
import shutil
import subprocess

import pytest

import analyzer
import cores
import interpreters
from recordings import functions_of, python, read_ndjson, record

SECONDS = 6 if analyzer.THOROUGH else 3
SEED = 7


def bootstrap_deviation(moments, name, block=20, rounds=400):
    """How far a share may be off by chance: blocks of moments drawn again (Kuensch's block bootstrap)."""
    draw = random.Random(SEED)
    hits = [phase == name for phase in moments]
    count = max(1, len(hits) // block)
    shares = []
    for _ in range(rounds):
        total = size = 0
        for _ in range(count):
            at = draw.randrange(max(1, len(hits) - block))
            part = hits[at:at + block]
            total += sum(part)
            size += len(part)
        shares.append(total / size)
    mean = sum(shares) / rounds
    return (sum((share - mean) ** 2 for share in shares) / rounds) ** 0.5


def record_program(output, *command, rate=200, mode="merged"):
    """What the program says that it did, and its profile; once more where the machine was too busy."""
    for _ in range(3):
        result = record("--idle", "--rate", rate, "--seed", SEED, "--mode", mode, "--output", "ndjson=%s" % output, "--",
                        *command, timeout=120)
        assert result.returncode == 0, result.describe()
        profile = read_ndjson(output.read_text())
        counts = profile["counts"][0]
        # What was not copied in time is read when the thread runs again: on a busy machine that shows.
        if counts["partial"] <= counts["samples"] * 0.02 and counts["late"] <= counts["taken"] * 0.1:
            break
    return result.stdout.splitlines()[-1] if result.stdout else "", profile


def moments_of(profile, phases, tid=None):
    """The phase of each moment that saw one."""
    stacks = functions_of(profile)
    moments = []
    for sample in profile["sample"]:
        if tid is not None and sample["thread"] != tid:
            continue
        phase = next((name for name in phases if name in stacks[sample["stack"]]), None)
        moments += [phase] * sample["weight"] if phase else []
    return moments


def check_shares(profile, moments, spent):
    counts = profile["counts"][0]
    late = counts["late"] / counts["taken"]
    assert counts["partial"] <= counts["samples"] * (0.05 + late), counts
    for name, seconds in spent.items():
        share, truth = moments.count(name) / len(moments), seconds / sum(spent.values())
        # A sample that is late belongs to where the process is by then; a busy machine makes many late.
        allowed = 4 * bootstrap_deviation(moments, name) + 0.02 + 0.1 * late
        assert abs(share - truth) < allowed, (name, share, truth, allowed, counts)


@pytest.mark.parametrize("mode", ["merged", "python"])
def test_shares_are_true(tmp_path, mode):
    told, profile = record_program(tmp_path / "out.ndjson", python(), os.path.join(cores.PROGRAMS, "shares.py"), SECONDS, SEED,
                                   mode=mode)
    spent = json.loads(told)
    moments = moments_of(profile, spent)
    assert len(moments) > SECONDS * 200 * 0.5, profile["counts"]
    check_shares(profile, moments, spent)
    if mode == "merged":
        assert any("crc32" in function for stack in functions_of(profile).values() for function in stack)


def test_who_waits_for_a_processor_hides_nobody(tmp_path):
    """Of two threads on one processor the first one gets it, and stops, when the other one rests: not when to look at that."""
    program = os.path.join(cores.PROGRAMS, "one_processor.py")
    told, profile = record_program(tmp_path / "out.ndjson", python(), program, SECONDS, SEED)
    counts = profile["counts"][0]
    if counts["late"] > counts["taken"] * 0.1:
        pytest.skip("the recording itself waits for a processor too often")
    spent = json.loads(told)
    other = next(thread["id"] for thread in profile["thread"] if not thread["main"])
    moments = moments_of(profile, spent, other)
    share, truth = moments.count("at_work") / len(moments), spent["at_work"] / sum(spent.values())
    # A moment is some time after it was drawn, which is long where others want the processors, too; a third is what was left.
    assert share > truth * 0.55, (share, truth, counts)


def build_kernel(folder):
    """The Cython module of cython_shares.py, stripped as in a wheel, and its interpreter."""
    for tool in ("cython3", "python3-config"):
        if shutil.which(tool, path="/usr/bin") is None:
            pytest.skip("no /usr/bin/%s here" % tool)

    def ask(option):
        return subprocess.run(["/usr/bin/python3-config", option], check=True, capture_output=True, text=True).stdout.split()

    shutil.copy(os.path.join(cores.PROGRAMS, "cython_shares.pyx"), folder / "shares_kernel.pyx")
    subprocess.run(["/usr/bin/cython3", "shares_kernel.pyx"], cwd=folder, check=True, capture_output=True)
    output = "shares_kernel" + ask("--extension-suffix")[0]
    subprocess.run(["cc", "-O1", "-s", "-w", "-shared", "-fPIC", *ask("--includes"), "-o", output, "shares_kernel.c"], cwd=folder,
                   check=True, capture_output=True)
    shutil.copy(os.path.join(cores.PROGRAMS, "cython_shares.py"), folder)
    return interpreters.find_system().path


@pytest.mark.skipif(analyzer.SANITIZED, reason="samples of a slower program show the same")
def test_shares_of_cython(tmp_path):
    """With the GIL and without it, while another thread works without it all the time."""
    told, profile = record_program(tmp_path / "out.ndjson", build_kernel(tmp_path), tmp_path / "cython_shares.py", SECONDS, SEED)
    spent = json.loads(told)
    main = next(thread["id"] for thread in profile["thread"] if thread["main"])
    check_shares(profile, moments_of(profile, spent, main), spent)
    stacks = functions_of(profile)
    frames = {frame["id"]: frame for frame in profile["frame"]}
    files = {(frame["function"], os.path.basename(frame["file"])) for frame in frames.values() if frame["kind"] == "cython"}
    assert {("without_gil", "shares_kernel.pyx"), ("with_gil", "shares_kernel.pyx")} <= files, files
    # The module was loaded after the recording began.
    unknown = sum("(unknown)" in stacks[sample["stack"]] for sample in profile["sample"])
    assert unknown <= 0.02 * len(profile["sample"]) + 1, (unknown, profile["counts"])
    # The other thread: its Python frame, and below it Cython's.
    other = [stacks[sample["stack"]] for sample in profile["sample"] if sample["thread"] != main and sample["stack"]]
    inside = sum("beside" in stack and "without_gil" in stack for stack in other)
    assert inside > len(other) * 0.8, (inside, len(other))


def test_clock_does_not_beat_with_the_program(tmp_path):
    told, profile = record_program(tmp_path / "out.ndjson", python(), os.path.join(cores.PROGRAMS, "beats.py"), SECONDS, rate=100)
    stacks = functions_of(profile)
    moments = []
    for sample in profile["sample"]:
        stack = stacks[sample["stack"]] if sample["stack"] else []
        if "main" in stack:
            moments += [("work" if "on_the_beat" in stack else "rest")] * sample["weight"]
    truth = float(told)
    check_shares(profile, moments, {"work": truth, "rest": 1 - truth})


def test_threads_and_code_that_come_and_go(tmp_path):
    """A function that is freed leaves its address to the next one: none is taken for another."""
    _, profile = record_program(tmp_path / "out.ndjson", python(), os.path.join(cores.PROGRAMS, "churn.py"), SECONDS)
    found = set()
    for stack in functions_of(profile).values():
        made = [re.fullmatch(r"(outer|inner)_(\d+)", name) for name in stack]
        numbers = {match.group(2) for match in made if match}
        assert len(numbers) <= 1, stack
        found |= numbers
        if any(match and match.group(1) == "inner" for match in made):
            assert any(match and match.group(1) == "outer" for match in made), stack
    assert len(found) > 5, profile["counts"]
