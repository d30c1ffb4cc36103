#!/usr/bin/env python3
"""Measures what machine code tells: Python's own traceback of the same calls is the truth.

testdata/cython/forms calls every form of Cython function from inside the one before. It is
compiled, stripped, and run twice: once the innermost call raises, and the traceback is kept;
once it dies, and pystack-core prints the stack from the core file. Each entry of the traceback
must be there with its function and line; estimates do not count. Then, for each call that
stands in the module, what is answered is compared with debug information: see cython_truth.py.

Bounded (for ctest): the Cython of the system, -O0 and -O2. --full: also Cython 0.29 to 3.3 from
PyPI, gcc -O0 to -O3, -flto, clang. What can not be had is named. Exit code: 0 all at least
--least percent and good by cython_truth.py's bounds, 1 below, 77 nothing could be run.
"""
import argparse
import glob
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cython_truth
from cython_builds import SOURCES, Forms, compile_c, compiler_key, keep, keep_c, run
from cython_names import installed_cythons, pypi_cythons

WANTED = ["0.29.37", "3.0.12", "3.1.*", "3.2.*", "3.3.*"]
BOUNDED = {"gcc -O0": ["gcc", "-O0"], "gcc -O2": ["gcc", "-O2"]}
FULL = {
    **BOUNDED,
    "gcc -O1": ["gcc", "-O1"],
    "gcc -O3": ["gcc", "-O3"],
    "gcc -O2 -flto": ["gcc", "-O2", "-flto"],
    "clang -O0": ["clang", "-O0"],
    "clang -O2": ["clang", "-O2"],
}
# Modules compared with their debug information, and with which compilers.
TRUTH_BOUNDED = {"forms": ["gcc -O2"]}
TRUTH_FULL = {"forms": list(FULL), "FlowControl": ["gcc -O0", "gcc -O2", "clang -O2"],
              "Parsing": ["gcc -O2"]}
# What the file keeps: flags for the compiler and for strip.
KEPT = {"stripped": (["-g0"], ["strip"]), "symbols": (["-g0"], None), "debug": (["-g"], None)}


def pythons():
    """One interpreter that all Cython versions support, with its headers."""
    candidates = sorted(Path.home().glob(".pyenv/versions/3.11.*/bin/python3"))
    candidates += sorted(Path.home().glob(".pyenv/versions/3.1?.*/bin/python3"))
    candidates.append(Path("/usr/bin/python3"))
    for path in candidates:
        if path.exists():
            include = subprocess.run(
                [path, "-c", "import sysconfig; print(sysconfig.get_paths()['include'])"],
                text=True, capture_output=True, check=True).stdout.strip()
            if os.path.exists(os.path.join(include, "Python.h")):
                yield path, include


def shown_name(name):
    """__qualname__ from a traceback's function name."""
    parts = [re.sub(r"^__pyx_fuse_\d+(_\d+)*(__pyx_f_5forms_)?", "", part)
             for part in name.split(".")]
    # Bodies of generators have neither module nor scope in tracebacks.
    parts = parts[1:] if parts[0] == "forms" else ["*"] + parts
    parts = [part for part in parts[:-1] if not re.fullmatch(r"genexpr\d+", part)] + parts[-1:]
    if re.fullmatch(r"(__pyx_lambda_funcdef_)?lambda\d*", parts[-1]):
        parts[-1] = "<lambda>"
    if parts[-1] == "genexpr":
        parts[-1] = "<genexpr>"
    if len(parts) > 1:
        parts[-1] = re.sub(rf"^_{parts[-2]}(?=__)", "", parts[-1])
    return ".".join(parts)


def expected(entries):
    """Outermost first: ("python", name) and ("cython", name, line); wrapper and body are one."""
    found: list = []
    for file, name, line in entries:
        if not file.endswith(".pyx"):
            found.append(("python", name))
            continue
        entry = ("cython", shown_name(name), line)
        if found and found[-1][:2] == entry[:2]:
            found.pop()
        found.append(entry)
    return found


def shown(frames):
    """The same from a report, and how many lines are estimates."""
    found: list = []
    for frame in reversed(frames):
        if frame["kind"] == "python":
            found.append(("python", frame["name"]))
        elif frame["kind"] == "cython":
            name = re.sub(r"\.__(get|set)__$", "", frame["function"])
            exact = frame["line_source"] in ("machine-code", "dwarf", "c-file")
            found.append(("cython", name, frame["line"] if exact else None))
        elif frame["function"] is None and frame["module"] and "forms" in str(frame["module"]):
            found.append(("cython", "??", None))
    return found


def segments(stack):
    """The Cython entries between Python frames."""
    parts: list = [[]]
    for entry in stack:
        if entry[0] == "python":
            parts.append([])
        else:
            parts[-1].append((re.sub(r"\.__(get|set)__$", "", entry[1]), entry[2]))
    return parts


def same(want, got):
    """Equal, but for the scope that tracebacks do not tell."""
    name, found = want[0], got[0]
    return want[1:] == got[1:] and (
        name == found or (name.startswith("*.") and name[2:] == found.split(".")[-1]))


def common(left, right):
    """Pairs of a longest common subsequence."""
    table = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i in range(len(left) - 1, -1, -1):
        for k in range(len(right) - 1, -1, -1):
            table[i][k] = (table[i + 1][k + 1] + 1 if same(left[i], right[k])
                           else max(table[i + 1][k], table[i][k + 1]))
    return table[0][0]


class Score:
    def __init__(self):
        self.entries = self.right = self.named = self.shown = 0
        self.misses = []


def compare(truth, found):
    score = Score()
    truth, found = segments(truth), segments(found)
    if len(truth) != len(found):
        score.misses.append(f"{len(found)} Python frames, {len(truth)} in the traceback")
    for want, got in zip(truth, found):
        score.entries += len(want)
        score.shown += len(got)
        score.right += common(want, got)
        score.named += common([entry[:1] for entry in want], [entry[:1] for entry in got])
        if len(want) != len(got) or not all(map(same, want, got)):
            score.misses.append(f"{want} shown as {got}")
    return score


def die(python, folder):
    """The path of the core."""
    for old in glob.glob(str(folder / "core*")):
        os.remove(old)
    limits = lambda: resource.setrlimit(  # noqa: E731
        resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    subprocess.run([python, "-s", "run.py", "die"], cwd=folder, preexec_fn=limits, check=False,
                   capture_output=True)
    cores = glob.glob(str(folder / "core*"))
    return cores[0] if cores else None


def measure(program, python, folder):
    run = subprocess.run([python, "-s", "run.py", "raise"], cwd=folder, text=True, check=True,
                         capture_output=True)
    core = die(python, folder)
    if not core:
        return None
    report = subprocess.run([program, "--format", "json", core], text=True, capture_output=True,
                            check=False).stdout
    frames = json.loads(report)["threads"][0]["frames"]
    os.remove(core)
    # leaf() and what it called are not in both.
    found = shown([frame for frame in frames if not frame["hidden"]])
    while found and found[-1] != ("python", "leaf"):
        found.pop()
    while found and found[0] != ("python", "main"):
        found.pop(0)
    return compare(expected(json.loads(run.stdout)), found)


def keep_library(folder, source_folder, compiler, include, kept):
    """The folder with forms.so and run.py; neither C nor .pyx is beside it, or where it was made."""
    def make(place):
        flags, strip = KEPT[kept]
        source = place / "source"
        source.mkdir()
        shutil.copy(source_folder / "forms.c", source)
        shutil.copy(SOURCES / "forms" / "run.py", place)
        compile_c([*compiler, *flags], include, source / "forms.c", place / "forms.so")
        shutil.rmtree(source)
        if strip:
            run(*strip, place / "forms.so")
    key = (compiler_key(compiler), include, kept, (source_folder / "stamp").read_text(),
           (SOURCES / "forms" / "run.py").read_text())
    return keep(folder, key, make)


def folder_of(options, label):
    return options.place / re.sub(r"[^\w.]+", "-", label).strip("-.")


def run_forms(options, label, command, interpreter, compiler, kept):
    """Lines of the table, and whether it is good enough; None: it could not be run."""
    python, include = interpreter
    folder = folder_of(options, label)
    source = keep_c(folder / "forms", command, Forms(registered=True), [])
    place = keep_library(folder / f"forms {compiler} {kept}", source, options.compilers[compiler],
                         include, kept)
    score = measure(options.program, python, place)
    if score is None:
        return [f"SKIP {label}, {compiler}: the kernel leaves no core file (core_pattern)"], None
    percent = 100 * score.right / max(score.entries, 1)
    return [f"{label:18} {compiler:14} {kept:9} {score.entries:4} entries, "
            f"{score.right:4} right in function and line ({percent:.1f} %), "
            f"{score.named:4} in function; {score.shown} shown",
            *(f"    {miss}" for miss in score.misses[:options.show])], percent >= options.least


def run_truth(options, label, command, interpreter, compiler, name):
    """The same of a module that is compared with its debug information."""
    folder = folder_of(options, label)
    return cython_truth.measure(options.tool, command, cython_truth.MODULES[name], interpreter[1],
                                (folder / f"truth {name}", folder / f"truth {name} {compiler}"),
                                options.compilers[compiler], f"{label}, {name}, {compiler}", options.show)


def run_job(job):
    """What a job prints, and its judgement: none where this Cython and that Python do not agree."""
    function, options, label, command, interpreter, compiler, what = job
    try:
        return function(options, label, command, interpreter, compiler, what)
    except (subprocess.CalledProcessError, OSError) as error:
        return [f"{'FAILED' if options.full else 'SKIP'} {label}, {compiler}, {what}: {error} "
                f"{str(getattr(error, 'stderr', ''))[-300:]}"], False if options.full else None


def run_all(options, cythons, interpreter, truth):
    """One Cython after the other, as many jobs at a time as there are processors; their judgements."""
    verdicts: dict = {run_forms: [], run_truth: []}
    with ThreadPoolExecutor(max_workers=min(os.cpu_count() or 1, 4)) as pool:
        jobs = []
        for label, command in cythons:
            compilers = [name for name in options.compilers if wanted(options, label, name)]
            jobs += [(run_forms, options, label, command, interpreter, compiler, kept)
                     for compiler in compilers for kept in options.kept or ["stripped"]]
            # Debian's Cython, one more of 0.29, differs from PyPI's by nothing in what it compiles.
            jobs += [(run_truth, options, label, command, interpreter, compiler, name)
                     for name in truth for compiler in compilers
                     if compiler in truth[name] and (name == "forms" or len(command) > 1)]
        for job, (text, good) in zip(jobs, pool.map(run_job, jobs)):
            print("\n".join(text), flush=True)
            if good is not None:
                verdicts[job[0]].append(good)
    return verdicts


def wanted(options, label, compiler):
    return not options.only or options.only in label or options.only in compiler


def find_cythons(options):
    """(label, command) of each Cython that can be had."""
    cythons = list(installed_cythons())
    if not cythons:
        print("SKIP installed Cython: no cython3 in PATH")
    if options.full:
        options.place.mkdir(parents=True, exist_ok=True)
        cythons += pypi_cythons(options.place, WANTED)
    return cythons


def read_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, help="pystack-core")
    parser.add_argument("--tool", help="the program made from tests/accuracy/cython_tool.c")
    parser.add_argument("--cache", type=Path, help="keeps Cython versions and what was built")
    parser.add_argument("--full", action="store_true", help="all versions and compilers")
    parser.add_argument("--kept", action="append", choices=list(KEPT), help="what is not stripped")
    parser.add_argument("--only", help="a part of the Cython's or the compiler's name")
    parser.add_argument("--least", type=float, default=95.0, help="percent that must be right")
    parser.add_argument("--show", type=int, default=10, help="differences to print per run")
    options = parser.parse_args()
    options.program = os.path.abspath(options.program)
    options.compilers = {name: command for name, command in (FULL if options.full else BOUNDED).items()
                         if shutil.which(command[0]) or print(f"SKIP {name}: no {command[0]}")}
    return options


def main():
    options = read_options()
    interpreter = next(pythons(), None)
    if not interpreter:
        print("SKIP: no Python.h")
        return 77
    missing = cython_truth.missing_tools() if options.tool else ["--tool"]
    if missing:
        print("SKIP the comparison with debug information: no", ", ".join(missing))
    truth = {} if missing else TRUTH_FULL if options.full else TRUTH_BOUNDED
    with tempfile.TemporaryDirectory() as scratch:
        options.place = (options.cache or Path(scratch)).resolve()
        verdicts = run_all(options, find_cythons(options), interpreter, truth)
    if not verdicts[run_forms]:
        print("SKIP: nothing could be run")
        return 77
    return 0 if all(verdicts[run_forms] + verdicts[run_truth]) else 1


if __name__ == "__main__":
    sys.exit(main())
