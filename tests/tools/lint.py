#!/usr/bin/env python3
"""Checks sources without running them: lint.py BUILD_FOLDER [--jobs N] [--only NAME...] [--shallow]

    clang-format   the format of each .c and .h
    clang-tidy     each .c of analyzer/, by .clang-tidy; BUILD_FOLDER has compile_commands.json of a clang build
    flake8         each Python file that is a program of ours (setup.cfg)
    mypy           their types (setup.cfg)

--shallow has clang's analyzer follow fewer paths through calls: a fifth of the time.
What was clean and has not changed since is not looked at again: BUILD_FOLDER/lint has its digests. A tool that is
missing fails. Exit 1 when there are findings.
"""
from __future__ import annotations

import argparse
import concurrent.futures
import glob
import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
from typing import Dict, List, Tuple

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
# "mode" of clang/include/clang/StaticAnalyzer/Core/AnalyzerOptions.def
SHALLOW = ["--extra-arg=" + word for word in ("-Xclang", "-analyzer-config", "-Xclang", "mode=shallow")]
# Inputs of tests: written for the interpreters that they run under, or for what Cython makes of them.
INPUTS = ("tests/cases/programs/", "tests/accuracy/wheels/work", "testdata/")


def sources(*patterns: str) -> List[str]:
    found = []
    for pattern in patterns:
        found += glob.glob(os.path.join(ROOT, pattern), recursive=True)
    return sorted(path for path in found if not os.path.relpath(path, ROOT).startswith(INPUTS))


def python_files() -> List[str]:
    return sources("analyzer/**/*.py", "gdb-plugin/**/*.py", "tests/**/*.py", "schema/*.py")


def run(command: List[str]) -> Tuple[bool, str]:
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return done.returncode == 0, done.stdout.decode(errors="replace")


class Tidy:
    """clang-tidy, one file a process: with more in one, version 14 loses track of va_list."""

    def __init__(self, build: str, more: List[str]):
        self.build = build
        self.more = more
        self.kept = os.path.join(build, "lint")
        os.makedirs(self.kept, exist_ok=True)
        with open(os.path.join(build, "compile_commands.json")) as file:
            self.commands: Dict[str, dict] = {entry["file"]: entry for entry in json.load(file)}
        with open(os.path.join(ROOT, ".clang-tidy"), "rb") as config:
            self.settings = config.read() + run(["clang-tidy", "--version"])[1].encode() + str(more).encode()

    def digest(self, path: str) -> str:
        """Of all that the answer depends on: the text with its headers, and the settings."""
        entry = self.commands[path]
        command = shlex.split(entry["command"])
        if os.path.basename(command[0]) == "ccache":
            del command[0]
        del command[command.index("-o"):command.index("-o") + 2]
        text = subprocess.run([*command, "-E", "-C", "-o", "-"], cwd=entry["directory"], check=True,
                              stdout=subprocess.PIPE).stdout
        return hashlib.sha256(self.settings + text).hexdigest()

    def check(self, path: str) -> Tuple[bool, str]:
        if path not in self.commands:
            return False, "%s: is not compiled\n" % path
        clean = os.path.join(self.kept, self.digest(path))
        if os.path.exists(clean):
            os.utime(clean)
            return True, ""
        good, text = run(["clang-tidy", "-p", self.build, "--quiet", *self.more, path])
        if good:
            with open(clean, "w"):
                pass
        return good, "" if good else text


def check_tidy(build: str, jobs: int, shallow: bool) -> Tuple[bool, str]:
    tidy = Tidy(build, SHALLOW if shallow else [])
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        answers = list(pool.map(tidy.check, sources("analyzer/**/*.c")))
    # No more digests than there are files of four states of the tree.
    digests = sorted(glob.glob(os.path.join(tidy.kept, "*")), key=os.path.getmtime)
    for path in digests[:-4 * len(answers)]:
        os.unlink(path)
    return all(good for good, _ in answers), "".join(text for _, text in answers)


def check_format(_build: str, _jobs: int, _shallow: bool) -> Tuple[bool, str]:
    return run(["clang-format", "--dry-run", "-Werror", *sources("analyzer/**/*.[ch]", "tests/**/*.[ch]")])


def check_flake8(_build: str, jobs: int, _shallow: bool) -> Tuple[bool, str]:
    return run(["flake8", "--jobs", str(jobs), *python_files()])


def check_mypy(build: str, _jobs: int, _shallow: bool) -> Tuple[bool, str]:
    """A None where a test expects something fails that test; in the plug-in it has to be told apart."""
    plugin: List[str] = []
    tests: List[str] = []
    for path in python_files():
        (plugin if os.path.dirname(os.path.relpath(path, ROOT)) == "gdb-plugin" else tests).append(path)
    mypy = ["mypy", "--no-error-summary", "--cache-dir"]
    first = run([*mypy, os.path.join(build, "mypy"), *plugin])
    second = run([*mypy, os.path.join(build, "mypy-tests"), "--no-strict-optional", *tests])
    return first[0] and second[0], first[1] + second[1]


CHECKS = {"clang-format": check_format, "clang-tidy": check_tidy, "flake8": check_flake8, "mypy": check_mypy}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", nargs="+", choices=CHECKS, default=list(CHECKS))
    parser.add_argument("--shallow", action="store_true")
    arguments = parser.parse_args()
    failed = False
    for name in arguments.only:
        if not shutil.which(name):
            good, text = False, "%s is not installed\n" % name
        else:
            good, text = CHECKS[name](os.path.abspath(arguments.build), arguments.jobs, arguments.shallow)
        sys.stdout.write("" if good else text)
        print("%-13s %s" % (name, "no findings" if good else "FINDINGS"), flush=True)
        failed = failed or not good
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
