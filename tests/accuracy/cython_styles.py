#!/usr/bin/env python3
"""Python's own traceback as the truth, for modules in the styles of several authors.

testdata/cython/styles holds plain Python, typed Cython and C++, each with many ways to call and
to be called; nothing there was made with the analyzer in view. They are compiled, stripped, and
run twice, once raising and once dying, with all ways on one stack. Between two calls of run.py
the same functions must stand in the same order, with the same file and line; estimates do not
count, and an exact line that is another one than the traceback's is counted apart.

Bounded (for ctest): C++, the Cython of the system, -O2. --full: all, Cython 0.29 to 3.3, gcc and
clang. Exit code: 0 all at least --least percent right and none above --wrong percent wrong, 1 else,
77 nothing could be run.
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
from pathlib import Path
from typing import Dict, List, Tuple

from cython_accuracy import FULL, pythons
from cython_names import installed_cythons, pypi_cythons

SOURCES = Path(__file__).resolve().parents[2] / "testdata" / "cython" / "styles"
WANTED = ["0.29.37", "3.0.12", "3.1.*", "3.2.*", "3.3.*"]
SINCE_3 = ["modern.py"]
CPLUS = {"gcc": "g++", "clang": "clang++"}
# Modules of each run, in the order of their calls; what they need besides.
STYLES: Dict[str, Tuple[List[str], List[str]]] = {
    "plain": (["plain.py", "modern.py", "body.py"], []),
    "typed": (["typed.pyx"], ["typed_inline.pxd", "typed_included.pxi"]),
    "C++": (["solids.pyx"], ["solids.hpp"]),
}
MODULES = ["plain", "modern", "body", "typed", "typed_inline", "solids"]
# Cython keeps the code objects of tracebacks by their lines, whatever the file. Those of its own
# conversions (vector.from_py) have small ones, and must not stand for ours.
EMPTY_LINES = 400


def is_old(command):
    version = subprocess.run([*command, "--version"], text=True, capture_output=True, check=False)
    return " 0." in version.stdout + version.stderr


def run(command, folder, **options):
    subprocess.run([*map(str, command)], cwd=folder, check=True, text=True, capture_output=True,
                   **options)


def make_c(command, names, more, folder):
    """The C files of the modules, in folder."""
    made = []
    for name in names + more:
        text = (SOURCES / name).read_text(encoding="utf-8")
        if name == "solids.pyx":
            text = "\n" * EMPTY_LINES + text
        (folder / name).write_text(text, encoding="utf-8")
    for name in names:
        cplus = name == "solids.pyx"
        run([*command, "-3", *(["--cplus"] if cplus else []), name], folder)
        made.append((folder / name).with_suffix(".cpp" if cplus else ".c"))
    return made


def compile_all(c_files, compiler, include, place):
    """Stripped modules in place; neither C nor .pyx is beside them."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    shutil.copy(SOURCES / "run.py", place)
    for c_file in c_files:
        flags = ["-fopenmp"] if compiler[0] == "gcc" and c_file.stem == "typed" else []
        tool = CPLUS[compiler[0]] if c_file.suffix == ".cpp" else compiler[0]
        library = place / (c_file.stem + ".so")
        run([tool, *compiler[1:], *flags, "-g0", "-w", "-shared", "-fPIC", f"-I{include}", "-o",
             library, c_file.name], c_file.parent)
        run(["strip", library], place)


def shown_name(name):
    """__qualname__ from a traceback's function name; "*." before what lacks its scope."""
    name = re.sub(r"__pyx_fuse_\d+(_\d+)*(__pyx_f_5typed_)?", "", name)
    first, _, rest = name.partition(".")
    parts = rest.split(".") if first in MODULES and rest else ["*", *name.split(".")]
    parts = [part for part in parts[:-1] if not re.fullmatch(r"genexpr\d+", part)] + parts[-1:]
    if re.fullmatch(r"(__pyx_lambda_funcdef_)?lambda\d*", parts[-1]):
        parts[-1] = "<lambda>"
    if re.fullmatch(r"genexpr\d*", parts[-1]):
        parts[-1] = "<genexpr>"
    if parts[-1] in ("__get__", "__set__", "__del__") and len(parts) > 2:
        parts.pop()
    if len(parts) > 1:
        parts[-1] = re.sub(rf"^_{parts[-2].lstrip('_')}(?=__)", "", parts[-1])
    return ".".join(parts)


def is_ours(file):
    return os.path.basename(file) in {
        name for names, more in STYLES.values() for name in names + more}


def expected(entries):
    """(name, file, line), outermost first, between the calls of chain()."""
    parts: list = []
    for file, name, line in entries:
        if name == "chain":
            parts.append([])
        if not is_ours(file) or not parts:
            continue
        name = "<module>" if name.startswith("init ") or name == "<module>" else shown_name(name)
        entry = (name, os.path.basename(file), line)
        before = parts[-1].pop() if parts[-1] and parts[-1][-1][0] == name else None
        # Cython keeps code objects by line: a function around a lambda on its line has that one's
        # name. Else what has the name twice is wrapper and body, or calls itself.
        if before and before[2] == line and name.endswith(("<lambda>", "<genexpr>")):
            parts[-1].append(("?", *before[1:]))
        elif before and name.rsplit(".", 1)[-1].startswith("rec_"):
            parts[-1].append(before)
        parts[-1].append(entry)
    return parts


def shown(frames, place):
    """The same from a report; the line is None when it is an estimate."""
    parts: list = []
    for frame in reversed(frames):
        if frame["kind"] == "python" and frame["name"].split(".")[-1] == "chain":
            parts.append([])
        if not parts:
            continue
        if frame["kind"] == "cython":
            name = re.sub(r"(\.__(get|set|del)__| \[parallel\])$", "", frame["function"])
            exact = frame["line_source"] == "machine-code"
            parts[-1].append((name, os.path.basename(frame["file"] or ""),
                              frame["line"] if exact else None))
        elif frame["kind"] == "native" and str(place) in (frame["module"] or ""):
            parts[-1].append(("??", "", None))
    return parts


def same_name(want, got):
    want = re.sub(r"\.__(get|set|del)__$", "", want)
    return want in ("?", got, "*." + got) or (
        want.startswith("*.") and want[2:] == got.split(".")[-1])


def align(want, got):
    """Pairs, of which one may be None, with as many equal names and lines as can be."""
    def gain(i, k):
        return 2 + (want[i][1:] == got[k][1:]) if same_name(want[i][0], got[k][0]) else 0

    table = [[0] * (len(got) + 1) for _ in range(len(want) + 1)]
    for i in reversed(range(len(want))):
        for k in reversed(range(len(got))):
            both = gain(i, k) and table[i + 1][k + 1] + gain(i, k)
            table[i][k] = max(table[i + 1][k], table[i][k + 1], both)
    i = k = 0
    pairs = []
    while i < len(want) or k < len(got):
        if (i < len(want) and k < len(got) and gain(i, k) and
                table[i][k] == table[i + 1][k + 1] + gain(i, k)):
            pairs.append((want[i], got[k]))
            i, k = i + 1, k + 1
        elif k == len(got) or (i < len(want) and table[i][k] == table[i + 1][k]):
            pairs.append((want[i], None))
            i += 1
        else:
            pairs.append((None, got[k]))
            k += 1
    return pairs


class Score:
    def __init__(self, want, got):
        self.entries = self.right = self.wrong = self.more = 0
        self.misses = []
        if len(want) != len(got):
            self.misses.append(f"{len(got)} calls of chain(), {len(want)} in the traceback")
        for pair in (pair for parts in zip(want, got) for pair in align(*parts)):
            self.add(*pair)

    def add(self, want, got):
        self.entries += want is not None
        self.more += want is None
        if want and got and want[1:] == got[1:]:
            self.right += 1
            return
        wrong = want and got and got[2] is not None
        self.wrong += bool(wrong)
        self.misses.append(f"{want} shown as {got}{' (wrong)' if wrong else ''}")


def measure(program, python, place, modules):
    """The score; None when the kernel left no core file."""
    command = [str(python), "-s", "run.py"]
    raised = subprocess.run([*command, "raise", *modules], cwd=place, text=True, check=True,
                            capture_output=True)
    limits = lambda: resource.setrlimit(  # noqa: E731
        resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    subprocess.run([*command, "die", *modules], cwd=place, preexec_fn=limits, check=False,
                   capture_output=True)
    cores = glob.glob(str(place / "core*"))
    if not cores:
        return None
    report = subprocess.run([program, "--format", "json", cores[0]], text=True, capture_output=True,
                            check=False).stdout
    frames = [frame for frame in json.loads(report)["threads"][0]["frames"] if not frame["hidden"]]
    for core in cores:
        os.remove(core)
    return Score(expected(json.loads(raised.stdout)), shown(frames, place))


def run_style(options, style, label, command, interpreter, folder):
    """Whether each run of it was good enough."""
    python, include = interpreter
    names, more = STYLES[style]
    place = folder.with_name("run")
    if is_old(command):
        names = [name for name in names if name not in SINCE_3]
    try:
        c_files = make_c(command, names, more, folder)
    except subprocess.CalledProcessError as error:
        print(f"SKIP {label}, {style}: {error} {error.stderr[-300:]}")
        return []
    good = []
    for compiler in options.compilers:
        if options.only and options.only not in label and options.only not in compiler:
            continue
        try:
            compile_all(c_files, FULL[compiler], include, place)
            score = measure(options.program, python, place, [Path(name).stem for name in names])
        except (subprocess.CalledProcessError, FileNotFoundError) as error:
            print(f"SKIP {label}, {compiler}, {style}: {error} {str(getattr(error, 'stderr', ''))[-300:]}")
            continue
        if score is None:
            print(f"SKIP {label}, {compiler}, {style}: the kernel leaves no core file (core_pattern)")
            continue
        right, wrong = (100 * count / max(score.entries, 1) for count in (score.right, score.wrong))
        print(f"{label:18} {compiler:14} {style:6} {score.entries:4} entries, {score.right:4} right "
              f"({right:.1f} %), {score.wrong} wrong; {score.more} more shown")
        for miss in score.misses[:options.show]:
            print(f"    {miss}")
        sys.stdout.flush()
        good.append(right >= options.least and wrong <= options.wrong)
    return good


def read_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, help="pystack-core")
    parser.add_argument("--cache", type=Path, help="keeps the installed Cython versions")
    parser.add_argument("--full", action="store_true", help="all styles, versions and compilers")
    parser.add_argument("--style", action="append", choices=list(STYLES), help="only this one")
    parser.add_argument("--only", help="a part of the Cython's or the compiler's name")
    parser.add_argument("--least", type=float, default=95.0, help="percent that must be right")
    parser.add_argument("--wrong", type=float, default=1.0, help="percent that may be exact and wrong")
    parser.add_argument("--show", type=int, default=10, help="differences to print per run")
    options = parser.parse_args()
    options.program = os.path.abspath(options.program)
    options.styles = options.style or (list(STYLES) if options.full else ["C++"])
    options.compilers = [name for name in (FULL if options.full else ["gcc -O2"])
                         if shutil.which(FULL[name][0]) or print(f"SKIP {name}: not there")]
    return options


def main():
    options = read_options()
    interpreter = next(pythons(), None)
    cythons = list(installed_cythons())
    if not interpreter or (not cythons and not options.full):
        print("SKIP: no Python.h" if cythons else "SKIP: no cython3 in PATH")
        return 77
    good = []
    with tempfile.TemporaryDirectory() as scratch:
        if options.full:
            cache = options.cache or Path(scratch) / "cache"
            cache.mkdir(parents=True, exist_ok=True)
            cythons += pypi_cythons(cache, WANTED)
        for label, command in cythons:
            for style in options.styles:
                folder = Path(scratch) / re.sub(r"[^\w.]+", "-", f"{label} {style}") / "made"
                folder.mkdir(parents=True)
                good += run_style(options, style, label, command, interpreter, folder)
    if not good:
        print("SKIP: nothing could be run")
        return 77
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
