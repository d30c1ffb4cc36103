"""Calls all forms of the named modules inside each other; at the end raises or dies.

    run.py raise|die MODULE ...     A module `body` calls sys.psc_callback() itself.
"""
import importlib
import json
import os
import sys

sys.setrecursionlimit(10000)
BODIES = ("body",)


class End(BaseException):
    """Nobody catches it."""


def leaf():
    if sys.argv[1] == "die":
        os.abort()
    raise End


def find_steps(names):
    steps = []
    for name in names:
        if name in BODIES:
            steps.append(lambda callback, name=name: import_body(name, callback))
        else:
            steps += importlib.import_module(name).FORMS
    return steps


def import_body(name, callback):
    sys.psc_callback = callback
    return importlib.import_module(name)


def main():
    steps = find_steps(sys.argv[2:])

    def chain(index):
        if index == len(steps):
            return leaf()
        steps[index](lambda: chain(index + 1))
        sys.exit("%r swallowed what was raised" % steps[index])

    try:
        chain(0)
    except End as error:
        entries = []
        traceback = error.__traceback__
        while traceback:
            code = traceback.tb_frame.f_code
            entries.append([code.co_filename, code.co_name, traceback.tb_lineno])
            traceback = traceback.tb_next
        json.dump(entries, sys.stdout)


main()
