"""Each diagnosis has a case, alive and as a core, and a near miss: the table of diagnoses beside the code and the tests."""
import os
import re

import pytest

import cores
import diagnoses

ANALYZER = os.path.join(cores.SOURCE, "analyzer")
CASES = os.path.join(cores.SOURCE, "tests", "cases")


def read(*parts):
    with open(os.path.join(*parts)) as file:
        return file.read()


def members_of(path, name, prefix):
    """The members of an enum, in the words of JSON."""
    body = re.search(r"enum %s \{(.*?)\}" % name, read(ANALYZER, path), re.S).group(1)
    found = re.findall(r"\b%s(\w+)" % prefix, re.sub(r"/\*.*?\*/", "", body, flags=re.S))
    return {one.lower() for one in found}


def in_json(words):
    return {word.replace("_", "-") for word in words}


CODE = {
    "CAUSES": in_json(members_of("trace/trace.h", "trace_cause", "TRACE_CAUSE_")) - {"unknown"},
    "PHASES": members_of("python/c_api.h", "c_api_phase", "C_API_PHASE_") - {"none"},
    "KINDS": in_json(members_of("trace/trace_waits.h", "trace_wait_kind", "TRACE_WAIT_")) - {"kinds"},
    "VERDICTS": members_of("trace/trace_waits.h", "trace_verdict", "TRACE_VERDICT_"),
    "REASONS": members_of("diagnose/deadlock/deadlock_private.h", "reason", "REASON_"),
}
ROWS = [pytest.param(row, id="%s-%s" % (table.lower(), name)) for table in [*CODE, "WORDS"]
        for name, row in getattr(diagnoses, table).items()]


@pytest.mark.parametrize("table", CODE)
def test_each_has_a_row(table):
    assert set(getattr(diagnoses, table)) == CODE[table] and CODE[table]


def programs_of(text):
    """What is run by a test: its programs are named in it, or are cases that cores.py makes."""
    folder = os.path.join(CASES, "programs")
    for name in os.listdir(folder):
        if os.path.isfile(os.path.join(folder, name)) and '"%s"' % name in text:
            yield name, read(folder, name)


@pytest.mark.parametrize("row", ROWS)
def test_each_row_has_its_cases(row):
    assert len(row) == 3
    for case in row:
        path, _, word = case.partition(" ")
        if not path.endswith(".py"):
            continue
        text = read(CASES, path)
        found = [text, *(program for _, program in programs_of(text))]
        assert any(re.search(r"(\b|_)%s\b" % re.escape(word), one) for one in found), case
