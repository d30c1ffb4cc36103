"""Which object was in hand when the interpreter died while it deallocated or collected: beside what the program says."""
import os
import re

import pytest

import analyzer
import cores

PROGRAM = os.path.join(cores.PROGRAMS, "broken_objects.py")
# What stands where the type was.
WORDS = {"type": "0x4141414141414141", "freed": "0xdddddddddddddddd"}


def die(interpreter, way, folder):
    """(crash of the JSON report, kind and address that the program said)."""
    os.makedirs(folder)
    cores.run_to_core(["/bin/sh", "-c", 'exec "$0" "$@" >stdout', interpreter.path, "-s", PROGRAM, way], folder,
                      {"PATH": "/usr/bin:/bin"})
    with open(os.path.join(folder, "stdout")) as file:
        kind, address = file.read().split()
    return analyzer.json_of(os.path.join(folder, "core")).json["crash"], kind, address


def expected_object(way, kind, address):
    if way in WORDS:
        return "deallocating an object whose type, %s, is none, at %s" % (WORDS[way], address)
    name = "__main__.Thing" if kind == "Thing" else kind
    return "%s a %s object at %s" % ("the collector visited" if way == "collector" else "deallocating", name, address)


@pytest.mark.parametrize("way", ["type", "freed", "function", "item", "collector"])
def test_object(interpreter, way, tmp_path):
    if interpreter.minor not in ((3, 8), (3, 11), (3, 13)) and not analyzer.THOROUGH:
        pytest.skip("--thorough does it")
    crash, kind, address = die(interpreter, way, str(tmp_path / "run"))
    told = crash.get("object")
    told, count = re.match(r"(.*), reference count (\d+)$", told).groups() if told else (None, None)
    # A stripped interpreter has no name of the function of a type; a jump to nowhere leaves no place.
    silent = interpreter.minor < (3, 8) or interpreter.is_system or (way == "function" and interpreter.minor < (3, 11))
    if told is not None or not silent:
        assert told == expected_object(way, kind, address)
        assert (count == "0") == (way != "collector")


def test_stripped(system, tmp_path):
    """What needs no names."""
    for way in ("type", "freed", "function"):
        crash, kind, address = die(system, way, str(tmp_path / way))
        assert crash.get("object") == expected_object(way, kind, address) + ", reference count 0"


def test_none_in_hand(interpreter, tmp_path):
    if interpreter.minor not in ((3, 8), (3, 11), (3, 13)) and not analyzer.THOROUGH:
        pytest.skip("--thorough does it")
    crash, _, _ = die(interpreter, "elsewhere", str(tmp_path / "run"))
    assert "object" not in crash
