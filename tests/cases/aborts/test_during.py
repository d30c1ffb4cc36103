"""What the interpreter was about when it died: a finalizer, a callback, the collector, its own end."""
import os

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
