"""What the interpreter was about when it died: a finalizer, a callback, the collector, its own end."""
import os
import shutil

import pytest

import analyzer
import cores

COLLECTOR = "in the garbage collector"
EXPECTED = {
    "finalizer": "in Node.__del__, " + COLLECTOR,
    "state_weakref_callback": "in the callback of a weak reference, " + COLLECTOR,
    "state_collector_callback": COLLECTOR,
    "state_collector_native": COLLECTOR,
    "state_finalizing": "in LastWords.__del__, while the interpreter was finalized",
    "callbacks": "in a callback from C",
    "exception_handled": None,
    "threads": None,
}


@pytest.mark.cases(list(EXPECTED), slow=True)
def test_what_it_was_about(core):
    during = analyzer.json_of(core.path).json["crash"]["during"]
    expected = EXPECTED[core.case]
    if core.interpreter.is_system:  # Stripped: it names only what it exports.
        assert during is None or str(expected).endswith(during)
    elif core.interpreter.minor >= (3, 8):
        assert during == expected


def test_a_method_that_is_called(system, tmp_path):
    """Whoever calls __del__() himself is in no finalizer."""
    program = "import os\nclass A:\n    def __del__(self):\n        os.abort()\nA().__del__()"
    cores.run_to_core([system.path, "-c", program], str(tmp_path))
    crash = analyzer.json_of(os.path.join(str(tmp_path), "core")).json["crash"]
    assert (crash["during"], crash["summary"]) == (None, "abort() called")


@pytest.mark.skipif(not shutil.which("gcc"), reason="no compiler here")
def test_module(interpreter, tmp_path):
    """A module written in C, while it is imported, and in a function of it that is called later."""
    source = tmp_path / "broken.c"
    source.write_text("int *volatile nowhere;\nint call(void) { return *nowhere; }\nint PyInit_broken(void) { return call(); }\n")
    cores.compile_c([str(source)], str(tmp_path / "broken.so"), "-shared", "-fPIC", "-O0")
    ways = {"import broken": "in the initialization of broken", "import ctypes; ctypes.CDLL(path).call()": None,
            "import atexit, ctypes; atexit.register(ctypes.CDLL(path).call)": "while the interpreter was finalized"}
    for number, (program, expected) in enumerate(ways.items()):
        folder = str(tmp_path / str(number))
        os.mkdir(folder)
        program = "import sys; path = %r; sys.path.append(%r); " % (str(tmp_path / "broken.so"), str(tmp_path)) + program
        cores.run_to_core([interpreter.path, "-c", program], folder)
        crash = analyzer.json_of(os.path.join(folder, "core")).json["crash"]
        # Stripped: it names only what it exports.
        assert crash["during"] == expected or interpreter.is_system and not crash["during"], crash
        assert crash["cause"] == "null-pointer", crash
