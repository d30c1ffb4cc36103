import os
import signal
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "support"))

import analyzer  # noqa: E402
import cores  # noqa: E402
import interpreters  # noqa: E402


def pytest_configure(config):
    if not os.access(analyzer.PROGRAM, os.X_OK):
        pytest.exit("no program %s: set PSC_PROGRAM" % analyzer.PROGRAM, returncode=4)
    # A shell lets what it starts in the background ignore it, and so would all that is started here.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def wanted_interpreters(suites=False, older=False):
    """One parameter for each interpreter, and a skipped one for each that is missing."""
    also = interpreters.find_also() if suites else interpreters.find_older() if older else []
    found = interpreters.find_wanted() + also
    missing = interpreters.find_missing() + (interpreters.find_also_missing() if suites else [])
    return [pytest.param(one, id=one.label) for one in found] + [
        pytest.param(None, id=version, marks=pytest.mark.skip(reason="no CPython %s here" % version))
        for version in missing]


def some_of(ones, name):
    """Every third interpreter, beginning with another one for another test."""
    first = sum(name.encode()) % 3
    return ones[first::3] or ones


def case_parameters(cases, when=lambda case, interpreter: True, suites=False, slow=False):
    """(case, interpreter) for all of which when() is true.

    Two interpreters a case, in turns, with sanitizers and for what is slow, unless the run is a thorough one; one
    with sanitizers and for what is very slow, where there are many cases.
    """
    ones = wanted_interpreters(suites)
    few = analyzer.SANITIZED or slow and not analyzer.THOROUGH
    each = 1 if (analyzer.SANITIZED or slow == "very") and not analyzer.THOROUGH and len(cases) > 10 else 2
    turns = max(len(ones) // each, 1) if few else 1
    return [pytest.param(case, one.values[0], id="%s-%s" % (case, one.id), marks=one.marks)
            for number, case in enumerate(cases) for at, one in enumerate(ones)
            if (number + at) % turns == 0 and
            (one.values[0] is None or cores.can_make(case, one.values[0]) and when(case, one.values[0]))]


def pytest_collection_modifyitems(items):
    """All that is asked of one core comes together, so that the program runs once for it."""
    order: dict = {}

    def place(item):
        parameters = getattr(item, "callspec", None) and item.callspec.params or {}
        key = (item.fspath, parameters.get("case"), str(parameters.get("interpreter")))
        return order.setdefault(key, len(order))

    items.sort(key=place)


def pytest_generate_tests(metafunc):
    marker = metafunc.definition.get_closest_marker("cases")
    if marker and "core" in metafunc.fixturenames:
        settings = {"suites": getattr(metafunc.module, "OTHER_SUITES", False), **marker.kwargs}
        metafunc.parametrize("case,interpreter", case_parameters(*marker.args, **settings))
    elif "interpreter" in metafunc.fixturenames:
        ones = wanted_interpreters(older=getattr(metafunc.module, "ALSO_OLDER", False))
        slow = analyzer.SANITIZED or getattr(metafunc.module, "SLOW", False)
        if slow and not analyzer.THOROUGH:
            ones = some_of(ones, metafunc.function.__name__)
        metafunc.parametrize("interpreter", ones)


@pytest.fixture
def core(case, interpreter):
    """The core of one case by one interpreter; made when it is first asked for."""
    return cores.make_core(case, interpreter)


@pytest.fixture
def system():
    """The distribution's own python3."""
    one = interpreters.find_system()
    if one is None:
        pytest.skip("no /usr/bin/python3 here")
    return one


@pytest.fixture(scope="session")
def any_core():
    """The path of one usual core, for tests that are not about what is in it."""
    found = interpreters.find_wanted()
    if not found:
        pytest.skip("no CPython here")
    return cores.make_core("callbacks", interpreters.find_system() or found[-1]).path
