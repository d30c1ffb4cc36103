"""py-why of a death in which an object was in hand: what the report says of it, of a core and of a process that runs."""
import os
import re

import pytest

import analyzer
import cores
import debuggers
import interpreters
import test_lldb_plugin

PROGRAM = os.path.join(cores.PROGRAMS, "broken_objects.py")
WAYS = ["type", "collector"] if analyzer.THOROUGH else ["type"]
# The session's commands have the context that was before them, which has no process yet.
LAUNCH = "script lldb.debugger.GetSelectedTarget().LaunchSimple(['-s', %r, %r], None, '/')"


@pytest.fixture(scope="module", params=WAYS)
def death(request, tmp_path_factory):
    """(interpreter, way, core, the report's head, which names the object)."""
    debuggers.need()
    interpreter = interpreters.find_wanted()[-1]
    folder = str(tmp_path_factory.mktemp(request.param))
    cores.run_to_core([interpreter.path, "-s", PROGRAM, request.param], folder, {"PATH": "/usr/bin:/bin"})
    core = os.path.join(folder, "core")
    told = analyzer.json_of(core).json["crash"]["object"]
    header = debuggers.show(core).partition("\n\n")[0]
    assert "\n  %s\n" % told in header
    return interpreter, request.param, core, header


def object_of(text):
    """The line without the address: another process has the object elsewhere."""
    line, = [line for line in text.splitlines() if "reference count" in line]
    return re.sub(" at 0x[0-9a-f]+", "", line)


def test_in_gdb(death):
    debuggers.need(debuggers.GDB)
    interpreter, way, core, header = death
    assert debuggers.gdb(["file " + interpreter.path, "core-file " + core, "py-why"])[-1].startswith(header)
    alive = debuggers.gdb(["run", "py-why", "kill"], "--args", interpreter.path, "-s", PROGRAM, way)[1]
    assert object_of(alive) == object_of(header)


def test_in_lldb(death):
    interpreter, way, core, header = death
    answers = test_lldb_plugin.lldb(["target create %s --core %s" % (interpreter.path, core), "py-why",
                                     "target create " + interpreter.path,
                                     LAUNCH % (PROGRAM, way), "py-why", "process kill"])
    assert answers[1]["text"].startswith(header)
    assert object_of(answers[4]["text"]) == object_of(header)
