#!/usr/bin/env python3
"""Sums up test runs: summary.py BUILD_FOLDER...

Counts single tests: those of pytest or cmocka where a CTest test is a file of these, else the CTest test.
Every reason for a skip is named with its count. Exit 1 when anything failed or nothing ran.
"""
import collections
import glob
import os
import sys
import xml.etree.ElementTree as ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cases", "support"))
import interpreters  # noqa: E402


def read_cases(path):
    """(name, outcome, reason) of each test in a JUnit file, by CTest or by pytest."""
    for case in ElementTree.parse(path).iter("testcase"):
        place, name = case.get("classname"), case.get("name")
        if place and place != name:  # CTest gives the name twice
            name = place + "." + name
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            yield name, "failed", None
        elif skipped is not None:
            yield name, "skipped", skipped.get("message") or "no reason given"
        elif case.get("status") == "notrun" or case.get("status") == "disabled":
            yield name, "skipped", "not run"
        else:
            yield name, "passed", None


def main(folders):
    good = True
    reasons: collections.Counter = collections.Counter()
    for folder in folders:
        counts: collections.Counter = collections.Counter()
        failures = []
        cases = [path for kind in ("cases", "unit")
                 for path in sorted(glob.glob(os.path.join(folder, "Testing", kind, "*.xml")))]
        inside = {"%s.%s" % (os.path.basename(os.path.dirname(path)), os.path.basename(path)[:-len(".xml")])
                  for path in cases}
        everything: list = [(path, None) for path in cases]
        total = os.path.join(folder, "Testing", "all.xml")
        if os.path.exists(total):
            everything.append((total, inside))
        for path, leave_out in everything:
            for name, outcome, reason in read_cases(path):
                if leave_out and name in leave_out:
                    # Its single tests are counted; but it may not have come to its own end.
                    good = good and outcome != "failed"
                    continue
                counts[outcome] += 1
                if outcome == "failed":
                    failures.append(name)
                if reason:
                    reasons[reason.replace("Skipped: ", "")] += 1
        for name in failures[:40]:
            print("FAILED  %s" % name)
        if len(failures) > 40:
            print("        ... and %d more" % (len(failures) - 40))
        print("%-12s %5d passed %5d failed %5d skipped" % (
            os.path.basename(folder), counts["passed"], counts["failed"], counts["skipped"]))
        good = good and counts["failed"] == 0 and counts["passed"] > 0
    found = interpreters.find_wanted()
    print("interpreters: %s" % (", ".join(one.label for one in found) or "none"))
    missing = interpreters.find_missing()
    if missing:
        print("MISSING interpreters, their tests were skipped: %s" % ", ".join(missing))
    if os.environ.get("PSC_TEST_THOROUGH") != "1":
        print("not done: what is slow and rarely breaks, ./run-tests --thorough does it")
    for reason, count in reasons.most_common():
        print("skipped %4d: %s" % (count, reason))
    print("all good" if good else "NOT good")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
