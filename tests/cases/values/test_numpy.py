"""numpy's arrays and scalars with --locals: dtype, shape, first items."""
import ast
import subprocess

import pytest

import analyzer
import cores
import interpreters

VALUES = {
    "matrix": "<numpy.ndarray float64 (2, 3): 0.0, 1.0, 2.0, 3.0, 4.0, 5.0>",
    "turned": "<numpy.ndarray float64 (3, 2): 0.0, 3.0, 1.0, 4.0, 2.0, 5.0>",
    "backwards": "<numpy.ndarray int64 (5,): 4, 3, 2, 1, 0>",
    "big_endian": "<numpy.ndarray >i4 (3,): 1, -2, 3>",
    "objects": "<numpy.ndarray object (3,): 'x', None, 3>",
    "many": "<numpy.ndarray uint8 (1000,): " + "0, " * 16 + "\u2026 984 more>",
    "single": "<numpy.ndarray int64 (): 5>",
    "empty": "<numpy.ndarray float64 (0, 3)>",
    "complexes": "<numpy.ndarray complex64 (2,): (1+2j), (3-4j)>",
    "halves": "<numpy.ndarray float16 (2,): 1.5, -2.0>",
    "strings": "<numpy.ndarray <U2 (2,): 'ab', 'c'>",
}


def has_numpy(interpreter):
    return subprocess.run([interpreter.path, "-s", "-c", "import numpy"], capture_output=True).returncode == 0


def check(interpreter):
    core = cores.make_core("numpy_values", interpreter)
    thread = analyzer.json_of(core.path, "--locals").json["threads"][0]
    frame = next(frame for frame in analyzer.python_frames(thread) if frame["name"] == "holds")
    assert frame["locals"] == dict(VALUES, scalars=core.truth["promises"]["scalars"])


def check_reprs(interpreter):
    core = cores.make_core("numpy_reprs", interpreter)
    said = core.truth["promises"]["said"]
    frames = analyzer.json_of(core.path, "--locals", "--mode", "python").json["threads"][0]["frames"]
    shown = {ast.literal_eval(frame["locals"]["name"]): frame["locals"]["value"] for frame in frames if frame["name"] == "hold"}
    wrong = ["%s: %r, not %r" % (name, shown.get(name), text) for name, text in said.items() if shown.get(name) != text]
    assert not wrong, "\n".join(wrong)
    assert len(said) > 350


def test_arrays_and_scalars():
    found = [one for one in interpreters.find_wanted() if has_numpy(one)]
    if not found:
        pytest.skip("no CPython here has numpy: install python3-numpy")
    for interpreter in found:
        check(interpreter)
        check_reprs(interpreter)


def test_arrays_and_scalars_of_numpy_2():
    interpreter = interpreters.find_with_numpy_2()
    if interpreter is None:
        pytest.skip("no numpy 2 here: PSC_TEST_SUITES=1 fetches it")
    check(interpreter)
    check_reprs(interpreter)
