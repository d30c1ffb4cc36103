"""Calls all forms inside each other; at the end raises (and prints the traceback) or dies.

    run.py raise|die
"""
import json
import os
import sys

import forms

sys.setrecursionlimit(10000)


def leaf():
    if sys.argv[1] == "die":
        os.abort()
    raise ValueError("the end")


def chain(index):
    if index == len(forms.FORMS):
        return leaf()
    return forms.FORMS[index](lambda: chain(index + 1))


def main():
    try:
        chain(0)
    except ValueError as error:
        entries = []
        traceback = error.__traceback__
        while traceback:
            code = traceback.tb_frame.f_code
            entries.append([code.co_filename, code.co_name, traceback.tb_lineno])
            traceback = traceback.tb_next
        json.dump(entries, sys.stdout)


main()
