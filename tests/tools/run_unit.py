#!/usr/bin/env python3
"""Runs one cmocka program for CTest: run_unit.py PROGRAM JUNIT_FILE

What it prints is shown; each of its tests is written down for summary.py. Exit 77 when all that ran passed, but one
said that it could not run (skip()); else the program's own.
"""
from __future__ import annotations

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from typing import List, Optional, Tuple

SKIPPED = 77
OUTCOMES = {"OK": "passed", "FAILED": "failed", "SKIPPED": "skipped"}


def read_outcomes(text: str) -> List[Tuple[str, str, Optional[str]]]:
    """(test, outcome, reason) of cmocka's output; the reason is what the test said as "SKIPPED: ..."."""
    found = []
    running, reason = None, None
    for line in text.splitlines():
        mark = re.match(r"\[ +(RUN|OK|FAILED|SKIPPED) +\] (\w+)$", line)
        said = re.search(r"SKIPPED: (.*)$", line)
        if said:
            reason = said.group(1)
        elif mark and mark.group(1) == "RUN":
            running, reason = mark.group(2), None
        elif mark and mark.group(2) == running:
            found.append((mark.group(2), OUTCOMES[mark.group(1)], reason))
            running = None
    if running:
        found.append((running, "failed", None))  # it never came back
    return found


def write_junit(path: str, suite: str, outcomes: List[Tuple[str, str, Optional[str]]]) -> None:
    top = ElementTree.Element("testsuite", name=suite)
    for name, outcome, reason in outcomes:
        case = ElementTree.SubElement(top, "testcase", classname=suite, name=name)
        if outcome == "failed":
            ElementTree.SubElement(case, "failure")
        elif outcome == "skipped":
            ElementTree.SubElement(case, "skipped", message=reason or "no reason given by %s" % suite)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    ElementTree.ElementTree(top).write(path)


def main(program: str, junit: str) -> int:
    done = subprocess.run([program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    text = done.stdout.decode(errors="replace")
    sys.stdout.write(text)
    outcomes = read_outcomes(text)
    write_junit(junit, os.path.basename(junit)[:-len(".xml")], outcomes)
    if done.returncode < 0:
        print("killed by signal %d" % -done.returncode)
        return 1
    if done.returncode == 0 and any(outcome == "skipped" for _, outcome, _ in outcomes):
        return SKIPPED
    return done.returncode if outcomes or done.returncode else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
