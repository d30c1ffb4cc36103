"""What a Rust panic said: beside what it says on standard error."""
import os
import re
import shutil
import subprocess

import pytest

import analyzer
import cores
import interpreters

SOURCE = os.path.join(cores.PROGRAMS, "panics.rs")
BUILDS = {
    "abort": ["-Cpanic=abort", "-Copt-level=3"],
    "abort_stripped": ["-Cpanic=abort", "-Copt-level=3", "-Cstrip=symbols"],
    "unwind_unoptimised": ["-Cpanic=unwind", "-Copt-level=0"],
    "unwind_stripped": ["-Cpanic=unwind", "-Copt-level=3", "-Cstrip=symbols"],
}
# The arguments of die() in panics.rs.
WAYS = {"literal": 0, "formatted": 1, "index": 2, "expect": 3, "unwrap": 4, "assert_eq": 5, "borrowed": 6, "division": 7,
        "in_drop": 8, "owned": 10, "lines": 15, "unreachable": 16, "todo": 17}
QUICK = ("literal", "formatted", "in_drop", "owned")
SILENT = {13: "with a hook that is silent: 9", 14: "a literal and a silent hook"}


def rustc():
    path = shutil.which("rustc", path=os.environ.get("PATH", "") + ":" + os.path.expanduser("~/.cargo/bin"))
    if path is None:
        pytest.skip("no Rust compiler here")
    return path


@pytest.fixture(params=interpreters.in_turn(BUILDS), ids=lambda pair: "%s-%s" % pair)
def pair(request):
    """How it is built, and the interpreter that loads it."""
    return request.param


@pytest.fixture
def python(pair):
    return pair[1]


@pytest.fixture
def library(pair):
    compiler, build = rustc(), pair[0]

    def make(folder):
        subprocess.run([compiler, "--crate-type", "cdylib", "--edition", "2021", *BUILDS[build],
                        "-o", os.path.join(folder, "libpanics.so"), SOURCE], check=True)

    version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout
    folder = cores.made_once("panics-" + build, cores.digest(SOURCE, BUILDS[build], version), make)
    return os.path.join(folder, "libpanics.so")


def die(python, library, way, folder, function="die"):
    """(crash of the JSON report, the texts that were said, each with its place)."""
    program = "import ctypes; ctypes.CDLL(%r).%s(%d, ctypes.c_size_t(9))" % (library, function, way)
    os.makedirs(folder)
    cores.run_to_core(["/bin/sh", "-c", 'exec "$0" "$@" 2>stderr', python.path, "-c", program], folder,
                      {"PATH": "/usr/bin:/bin", "RUST_BACKTRACE": "0"})
    with open(os.path.join(folder, "stderr"), encoding="utf-8") as file:
        said = re.findall(r"panicked at (\S+):\n(.*?)\n(?:note: |stack backtrace:|\n|thread caused|$)", file.read(), re.S)
    return analyzer.json_of(os.path.join(folder, "core")).json["crash"], said


def test_panics(library, python, tmp_path):
    for way, number in WAYS.items():
        if way not in QUICK and not analyzer.THOROUGH:
            continue
        crash, said = die(python, library, number, str(tmp_path / way))
        place, text = said[-1]
        assert (crash["cause"], crash["message"]) == ("panic", text.rstrip("\n")), way
        assert crash["summary"] == "abort() called: a Rust panic at " + place


def test_a_thread_of_rust(library, python, tmp_path):
    crash, said = die(python, library, WAYS["formatted"], str(tmp_path / "run"), "die_in_thread")
    assert crash["message"] == said[-1][1]


def test_what_is_no_text(library, python, tmp_path):
    crash, said = die(python, library, 9, str(tmp_path / "run"))
    assert said[0][1] == "Box<dyn Any>"
    if "unwind" in library:
        assert crash["message"] == said[-1][1]
    else:
        assert crash["message"] is None and crash["cause"] == ("other" if "stripped" in library else "panic")


def test_a_hook_that_says_nothing(library, python, tmp_path):
    for way, text in SILENT.items():
        if way == 13 or analyzer.THOROUGH:
            crash, said = die(python, library, way, str(tmp_path / str(way)))
            assert not said
            assert crash["message"] == ("panic in a function that cannot unwind" if "unwind" in library else text)


@pytest.mark.parametrize("way", [11, 12])
def test_abort_without_a_panic(library, python, tmp_path, way):
    """One that was caught before is no cause, though its remains are near by; with panic=abort none is caught."""
    if way == 11 and "unwind" not in library:
        pytest.skip("panic=abort catches nothing")
    crash, _ = die(python, library, way, str(tmp_path / "run"))
    assert (crash["summary"], crash["message"], crash["cause"]) == ("abort() called", None, "other")
