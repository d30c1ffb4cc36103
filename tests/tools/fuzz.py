#!/usr/bin/env python3
"""
Damages cores, modules, debug information, sources, the memory of processes, what debuggers say and what the program is
given, and looks at them: no crash, no sanitizer's report, no leak, no hang, bounded time and memory, every report
well-formed.

    tests/tools/fuzz.py                          a few thousand mutants, as in every test run
    tests/tools/fuzz.py --release-check          100,000 of cores, 20,000 of files: once for each release
    tests/tools/fuzz.py --release-check --jobs 8 the same, several kinds and parts of them at a time
    tests/tools/fuzz.py --build build-asan       with the sanitizers
    tests/tools/fuzz.py --kinds memory,core --mutants 5000 --seed 7
    tests/tools/fuzz.py --build build-coverage --coverage
                                                 which lines they reach, by room (cmake --preset coverage)

A failure is told with the command that repeats it, and its files are kept in --save.
"""
import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time

import fuzz_coverage
import fuzz_program
import fuzz_subjects

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# kind: how many, by weight; the kinds of cores, and those of files.
CORES = {"memory": 48, "core": 31, "debugger": 8, "heap": 10, "live": 3}
FILES = {"elf": 29, "debug": 39, "text": 29, "program": 3}
EVERY_RUN = {False: 2500, True: 600}  # With sanitizers each costs several times as much.
RELEASE_CORES, RELEASE_FILES = 100000, 20000


def of_cache(build, name):
    """A variable of the build."""
    with open(os.path.join(build, "CMakeCache.txt")) as file:
        found = [line.rstrip().partition("=")[2] for line in file if line.startswith(name + ":")]
    return found[0] if found else ""


def is_sanitized(build):
    return of_cache(build, "PSC_SANITIZE") == "ON"


def shares(weights, kinds, total):
    chosen = {kind: weight for kind, weight in weights.items() if kind in kinds}
    whole = sum(chosen.values())
    return {kind: total * weight // whole for kind, weight in chosen.items()}


def how_many(options):
    """{kind: (number of the first mutant, how many)}"""
    if options.release_check:
        counts = {**shares(CORES, options.kinds, RELEASE_CORES), **shares(FILES, options.kinds, RELEASE_FILES)}
    else:
        counts = shares({**CORES, **FILES}, options.kinds, options.mutants or EVERY_RUN[options.sanitized])
    part, parts = options.part
    ends = {kind: (count * part // parts, count * (part + 1) // parts) for kind, count in counts.items()}
    return {kind: (first, end - first) for kind, (first, end) in ends.items() if end > first}


def run_kind(kind, first, count, subjects, scratch, options):
    """Runs one kind; whether nothing failed."""
    if not subjects:
        print("%s: no subjects on this machine" % kind)
        return False
    listed = os.path.join(options.save if options.keep_subjects else scratch, kind + ".subjects")
    with open(listed, "w") as file:
        file.writelines(map(fuzz_subjects.line_of, subjects))
    command = [os.path.join(options.build, "tests/fuzz/mutants"), "--kind=" + kind, "--seed=%d" % options.seed,
               "--first=%d" % first, "--count=%d" % count,
               "--save=" + options.save, "--schemas=" + os.path.join(SOURCE, "schema"), listed]
    done = subprocess.run(command, stdin=subprocess.DEVNULL)
    if done.returncode not in (0, 1):
        print("%s: `mutants` ended with %d" % (kind, done.returncode))
    return done.returncode == 0


def make_subjects(kind, scratch, few, skipped):
    if kind in ("memory", "core", "debugger"):
        return fuzz_subjects.core_subjects(scratch, few, skipped)
    make = {"heap": fuzz_subjects.heap_subjects, "elf": fuzz_subjects.module_subjects,
            "debug": fuzz_subjects.file_subjects, "text": fuzz_subjects.text_subjects}[kind]
    return make(scratch, few, skipped)


def run_program(options, first, count, scratch, skipped):
    paths = [dict(one)["core"] for one in fuzz_subjects.core_subjects(scratch, 4, skipped)]
    return fuzz_program.run(options, scratch.folder, paths, fuzz_subjects.jit_dump(skipped), range(first, first + count))


def run(options, scratch_folder):
    scratch = fuzz_subjects.Scratch(scratch_folder)
    few = None if options.release_check else 14
    good = True
    made: dict = {}
    skipped: list = []
    for kind, (first, count) in how_many(options).items():
        if kind == "program":
            good = run_program(options, first, count, scratch, skipped) and good
        elif kind == "live":
            with fuzz_subjects.live_subjects(few and 3, skipped) as subjects:
                good = run_kind(kind, first, count, subjects, scratch_folder, options) and good
        else:
            # What was damaged is mended by then.
            name = "core" if kind in ("memory", "debugger") else kind
            if name not in made:
                made[name] = make_subjects(kind, scratch, few, skipped)
            good = run_kind(kind, first, count, made[name], scratch_folder, options) and good
    for reason in sorted(set(skipped)):
        print("left out: " + reason)
    return good


def run_parts(options):
    """Several of these programs, each with its own copies of the subjects; whether all were good."""
    command = [sys.executable, "-B", *sys.argv, "--part"]
    running = [subprocess.Popen([*command, "%d/%d" % (part, options.jobs)], stdin=subprocess.DEVNULL)
               for part in range(options.jobs)]
    return not any([one.wait() for one in running])


def tell_rate(options, begun):
    """How many there were, and how fast: of processor time, for a machine may be busy."""
    total = sum(count for _, count in how_many(options).values())
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = max(usage.ru_utime + usage.ru_stime, 0.1)
    print("%d mutants in %d s, of a processor %d s: %.1f a second of that"
          % (total, time.monotonic() - begun, spent, total / spent))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(SOURCE, "build"), help="the build folder (build)")
    parser.add_argument("--kinds", default=",".join([*CORES, *FILES]), type=lambda text: text.split(","),
                        help="memory, core, debugger, heap, live, elf, debug, text, program; all of them")
    parser.add_argument("--mutants", type=int, help="how many of all kinds together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--release-check", action="store_true", help="100,000 of cores, 20,000 of files")
    parser.add_argument("--jobs", type=int, default=1, help="how many parts are done at a time")
    parser.add_argument("--part", default=(0, 1), type=lambda text: tuple(map(int, text.split("/"))),
                        help="only the part I/N of them, counted from 0")
    parser.add_argument("--coverage", action="store_true", help="print which lines were reached")
    parser.add_argument("--save", help="the folder of what failed (BUILD/tests/fuzz/failed)")
    parser.add_argument("--keep-subjects", action="store_true", help="keep the subjects, too, to repeat a failure")
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    options.sanitized = is_sanitized(options.build)
    options.save = os.path.abspath(options.save or os.path.join(options.build, "tests/fuzz/failed"))
    unknown = set(options.kinds) - {*CORES, *FILES}
    if unknown:
        parser.error("no such kind: " + ", ".join(unknown))
    os.makedirs(options.save, exist_ok=True)
    fuzz_subjects.keep_cores_in(os.environ.get("PSC_TEST_CORES") or of_cache(options.build, "PSC_TEST_CORES"))
    begun = time.monotonic()
    scratch = tempfile.mkdtemp(prefix="pystack-core-fuzz.")
    good = False
    try:
        if options.coverage and options.part == (0, 1):
            fuzz_coverage.forget(options.build)
        alone = options.jobs < 2 or options.part != (0, 1)
        good = run(options, scratch) if alone else run_parts(options)
        if options.coverage and options.part == (0, 1):
            fuzz_coverage.show(options.build, SOURCE)
    finally:
        if good or not options.keep_subjects:
            shutil.rmtree(scratch, ignore_errors=True)
        else:
            print("subjects are kept in %s" % scratch)
    tell_rate(options, begun)
    print("%d s, %s" % (time.monotonic() - begun, "no failure" if good else "FAILED"))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
