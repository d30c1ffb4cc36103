"""Each diagnosis has a case, alive and as a core, and a near miss: the table of diagnoses beside the code and the tests."""
import os
import re
import subprocess
import sys

import pytest

import cores
import diagnoses
import interpreters
import resting

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


def collect(files, thorough):
    command = [sys.executable, "-B", "-m", "pytest", "-o", "addopts=-p no:cacheprovider", "--collect-only", "-q", *files]
    return subprocess.Popen(command, cwd=CASES, env=dict(os.environ, PSC_TEST_THOROUGH=thorough, PSC_SANITIZED=""),
                            stdout=subprocess.PIPE, text=True)


@pytest.fixture(scope="module")
def collected():
    """What pytest would run of the tests that are named: thoroughly, and else."""
    cases = [case for table in [*CODE, "WORDS", "NEAR_MISSES"] for row in getattr(diagnoses, table).values() for case in row]
    files = sorted({case.partition("::")[0] for case in cases if ".py::" in case})
    runs = [collect(files, thorough) for thorough in ("1", "0")]
    return [run.communicate(timeout=resting.WAIT)[0].splitlines() for run in runs]


def find_tests(case, ids):
    """The ids of a test; where parameters have its word, those."""
    name, _, word = case.partition(" ")
    found = [one for one in ids if one == name or one.startswith(name + "[")]
    return [one for one in found if re.search(r"[-\[]%s[-\]]" % re.escape(word), one)] or found


def versions(ids):
    return {match for one in ids for match in re.findall(r"[-\[](\d\.\d+)\.\d+[a-z]*-", one)}


@pytest.mark.parametrize("row", ROWS)
def test_each_row_has_its_cases(row, collected):
    """Each of its tests is there and has the case; what is found has three interpreters, or a reason why not."""
    assert len(row) in (3, 4) and ".py::" in row[2], "no near miss"
    thorough, usual = collected
    wanted = min(3, len({one.minor for one in interpreters.find_wanted()}))
    for at, case in enumerate(row[:3]):
        name, _, word = case.partition(" ")
        if ".py::" not in case:
            assert at < 2 and " " in case, case
            continue
        text = read(CASES, name.partition("::")[0])
        sources = [text, *(program for _, program in programs_of(text))]
        assert any(re.search(r"(\b|_)%s\b" % re.escape(word), one) for one in [*sources, *find_tests(case, usual)]), case
        assert find_tests(case, usual), "not in a usual run: " + case
        assert at == 2 or len(row) == 4 or len(versions(find_tests(case, thorough))) >= wanted, case
    assert any(".py::" in case for case in row[:2]) and row[2] not in row[:2]


@pytest.mark.parametrize("name", diagnoses.NEAR_MISSES)
def test_each_near_miss_has_three_interpreters(name, collected):
    usual = collected[1]
    wanted = min(3, len({one.minor for one in interpreters.find_wanted()}))
    for case in diagnoses.NEAR_MISSES[name]:
        assert ".py::" not in case or len(versions(find_tests(case, usual))) >= wanted, case
    assert any(".py::" in case for case in diagnoses.NEAR_MISSES[name])
