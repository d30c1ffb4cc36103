#!/usr/bin/env python3
"""Time and memory against the other tools that read core files, in one run on one machine.

    cmake --build build --target bench        (or bench.py --program PROGRAM --folder FOLDER)

Three kinds of core: small, wide (64 threads, 75 Python frames each, over 500 MB), and deep (a
recursion of 20,000 Python frames; with 3.10 that is 40,000 native frames). Ratios carry over to
other machines, times do not. A peer that takes over its limit is killed and shown as "> limit".
"""
import argparse
import os
import shutil
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cases", "support"))

RUNS = 5
LONG = 5
LIMIT = 60


def measure(runner, command):
    """(seconds, peak KB, exit code as subprocess has it) of one run; seconds is None when too long."""
    out = subprocess.run([runner, str(LIMIT), *command], check=True, capture_output=True).stdout
    seconds, peak, status = out.decode().split()
    code = os.waitstatus_to_exitcode(int(status))
    return None if float(seconds) >= LIMIT else float(seconds), int(peak), code


def median_of(runner, command):
    """The median of RUNS runs after one to warm up; (seconds or None, peak KB, note)."""
    seconds, peak, code = measure(runner, command)
    if seconds is None:
        return None, peak, ""
    if code < 0 or code > 1:
        return seconds, peak, "killed by signal %d" % -code if code < 0 else "exit %d" % code
    if seconds > LONG:
        return seconds, peak, "one run"
    results = [measure(runner, command) for _ in range(RUNS)]
    if any(one[0] is None for one in results):
        return None, peak, ""
    return (statistics.median(one[0] for one in results),
            statistics.median(one[1] for one in results), "")


def find_pystack(folder):
    """Bloomberg's pystack in an environment of its own, or why there is none."""
    program = os.path.join(folder, "venv", "bin", "pystack")
    if not os.path.exists(program):
        for command in ([sys.executable, "-m", "venv", os.path.join(folder, "venv")],
                        [os.path.join(folder, "venv", "bin", "pip"), "install", "-q", "pystack"]):
            try:
                done = subprocess.run(command, capture_output=True, timeout=180)
            except (OSError, subprocess.TimeoutExpired) as error:
                return None, str(error)
            if done.returncode:
                return None, (done.stderr or done.stdout).decode().strip().splitlines()[-1]
    return program, None


def commands(program, pystack, core):
    exe = core.interpreter.path
    yield "pystack-core", [program, core.path]
    yield "pystack-core --format json", [program, "--format", "json", core.path]
    yield "eu-stack", ["eu-stack", "--core", core.path, "--executable", exe, "-n", "0"]
    yield "gdb thread apply all bt", ["gdb", "-nx", "-batch", "-iex", "set auto-load no", "-iex",
                                      "set debuginfod enabled off", "-ex", "thread apply all bt", exe,
                                      core.path]
    if pystack:
        yield "pystack core --native", [pystack, "core", "--native", core.path, exe]
        yield "pystack core", [pystack, "core", core.path, exe]


def describe(core):
    size = os.stat(core.path)
    return "%s, CPython %s (%.0f MB, %.0f MB on disk)" % (
        core.case, core.interpreter.label, size.st_size / 1e6, size.st_blocks * 512 / 1e6)


def print_table(runner, program, pystack, core):
    print("\n%s" % describe(core))
    print("  %-30s %10s %8s %10s %8s" % ("", "seconds", "ratio", "peak MB", "ratio"))
    base = None
    for name, command in commands(program, pystack, core):
        if shutil.which(command[0]) is None:
            print("  %-30s not installed" % name)
            continue
        seconds, peak, note = median_of(runner, command)
        if base is None:
            base = (seconds or LIMIT, peak)
        shown = "> %d" % LIMIT if seconds is None else "%.3f" % seconds
        ratio = (seconds or LIMIT) / base[0]
        print("  %-30s %10s %7s%s %10.0f %7.1fx  %s" % (
            name, shown, (">" if seconds is None else "") + "%.1f" % ratio, "x", peak / 1024,
            peak / base[1], note), flush=True)


def print_triage(runner, program, core, folder):
    """200 cores (links to one): all of them by one call, and one by one; in turns, the ratio pair by pair."""
    place = os.path.join(folder, "many")
    shutil.rmtree(place, ignore_errors=True)
    os.makedirs(place)
    for number in range(200):
        os.link(core.path, os.path.join(place, "core.%d" % number))
    triage = [program, "triage", "-j", "2", place]
    each = ["sh", "-c", "ls %s/* | xargs -P2 -n1 eu-stack --core" % place]
    pairs = [(measure(runner, triage)[0], measure(runner, each)[0]) for _ in range(RUNS)]
    shutil.rmtree(place)
    print("\n200 cores, %s" % describe(core))
    if any(None in pair for pair in pairs):
        print("  longer than the limit of %d s" % LIMIT)
        return
    print("  triage -j2 %.2f s, xargs -P2 eu-stack %.2f s, ratio %s" % (
        statistics.median(pair[0] for pair in pairs), statistics.median(pair[1] for pair in pairs),
        " ".join("%.2f" % ratio for ratio in sorted(pair[0] / pair[1] for pair in pairs))), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--folder", required=True)
    options = parser.parse_args()
    os.environ["PSC_TEST_CORES"] = os.path.join(options.folder, "cores")
    import cores
    import interpreters

    cores.SPECIAL_CASES["wide"] = ("crowd.py", ["64", "75", "8"], "signal")
    os.makedirs(options.folder, exist_ok=True)
    runner = os.path.join(options.folder, "measure")
    cores.compile_c([os.path.join(HERE, "measure.c")], runner, "-O2")
    pystack, why = find_pystack(options.folder)
    if not pystack:
        print("pystack is not compared: %s" % why)
    else:
        version = subprocess.run([pystack, "--version"], capture_output=True).stdout.decode().strip()
        print("peer: %s" % version)
    system = interpreters.find_system()
    older = interpreters.find_version(3, 10)
    wanted = [("worker_crash", system), ("wide", system), ("recursion_20000", system),
              ("recursion_20000", older)]
    for case, interpreter in wanted:
        if interpreter is None:
            print("\n%s: not measured, its interpreter is not here" % case)
            continue
        print_table(runner, options.program, pystack, cores.make_core(case, interpreter))
    if system and shutil.which("eu-stack"):
        print_triage(runner, options.program, cores.make_core("worker_crash", system), options.folder)


if __name__ == "__main__":
    main()
