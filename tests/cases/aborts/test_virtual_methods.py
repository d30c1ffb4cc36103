"""A virtual method is called that is not there: a pure one from a constructor, a deleted one."""
import os
import shutil
import subprocess

import pytest

import analyzer
import cores
import interpreters
import living

CXX, RUN_MAIN = [os.path.join(cores.PROGRAMS, name) for name in ("ways_to_abort.cc", "run_main.py")]
FLAGS = ["-std=c++17", "-w", "-O2", "-pthread", "-shared", "-fPIC"]
# libc++abi calls abort() itself; what is said of libstdc++ is of std::terminate().
BUILDS = {"libstdc++": ["c++"], "stripped": ["c++", "-s"], "own_runtime": ["c++", "-static-libstdc++", "-static-libgcc"],
          "libc++": ["clang++", "-stdlib=libc++"]}
PURE = "C++ std::terminate(): a pure virtual method was called"
SUMMARIES = {"pure": PURE, "pure_in_catch": PURE, "deleted": "C++ std::terminate(): a deleted virtual method was called",
             "not_pure": "C++ std::terminate(), without an active exception",
             "joinable": "C++ std::terminate(), without an active exception"}
OF_LIBCXX = {"pure": "a pure virtual method of C++ was called", "pure_in_catch": "a pure virtual method of C++ was called",
             "deleted": "a deleted virtual method of C++ was called"}


def library_of(build):
    compiler, *flags = BUILDS[build]
    if shutil.which(compiler) is None:
        pytest.skip("no %s here" % compiler)

    def make(folder):
        done = subprocess.run([compiler, *FLAGS, *flags, "-o", os.path.join(folder, "ways.so"), CXX], stderr=subprocess.PIPE)
        if done.returncode and build == "libc++":
            pytest.skip("no libc++ here")
        assert not done.returncode, done.stderr

    return os.path.join(cores.made_once("virtual-methods-" + build, cores.digest(CXX, FLAGS, flags), make), "ways.so")


def die(python, build, way, folder):
    """(report, what the program said)"""
    library = library_of(build)
    folder.mkdir()
    cores.run_to_core(["/bin/sh", "-c", 'exec "$0" "$@" 2>stderr', python.path, RUN_MAIN, library, way], str(folder))
    return analyzer.json_of(str(folder / "core")), (folder / "stderr").read_text()


@pytest.mark.parametrize("way", ["pure", "pure_in_catch", "deleted", "not_pure", "joinable"])
@pytest.mark.parametrize("python", interpreters.find_three(), ids=repr)
def test_a_method_that_is_not_there(python, way, tmp_path):
    report, said = die(python, "libstdc++", way, tmp_path / "run")
    crash = report.json["crash"]
    # It says that a pure or deleted method was called, where one was.
    assert ("virtual method called" in said) == (way not in ("not_pure", "joinable"))
    assert crash["summary"] == "abort() called: " + SUMMARIES[way]
    # An exception that was in hand is not why.
    assert (crash["cause"], crash["message"]) == ("terminate", None)
    assert report.json["signature"]["parts"][0] == "SIGABRT terminate"


@pytest.mark.parametrize("build", ["stripped", "own_runtime", "libc++"])
@pytest.mark.parametrize("way", ["pure", "deleted", "not_pure"])
def test_other_builds(build, way, tmp_path):
    report, said = die(interpreters.find_three()[0], build, way, tmp_path / "run")
    crash = report.json["crash"]
    assert ("virtual" in said) == (way != "not_pure")
    if build != "libc++":
        assert (crash["summary"], crash["cause"]) == ("abort() called: " + SUMMARIES[way], "terminate")
    elif way in OF_LIBCXX:
        assert (crash["summary"], crash["cause"]) == ("abort() called: " + OF_LIBCXX[way], "other")
    assert ("virtual method" in crash["summary"]) == (way != "not_pure")


def test_text(tmp_path):
    die(interpreters.find_three()[0], "libstdc++", "pure", tmp_path / "run")
    assert "abort() called: " + PURE in analyzer.run(tmp_path / "run" / "core").stdout


@pytest.mark.parametrize("python", interpreters.find_three(), ids=repr)
def test_a_handler_that_waits(python):
    """The process lives: its stack says where it is, and it has not died."""
    with living.running([python.path, RUN_MAIN, library_of("libstdc++"), "pure_lives"], stderr=subprocess.DEVNULL) as process:
        report = living.report(process.pid, "--format", "json")
    symbols = [frame["symbol"] for frame in report.json["threads"][0]["frames"]]
    assert "__cxa_pure_virtual" in symbols and report.json["crash"] is None
    assert "virtual method" not in report.stdout
