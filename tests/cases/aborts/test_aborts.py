"""What abort() was called with: beside what the dying program says of it on standard error."""
import os
import re
import shutil
import signal
import subprocess

import pytest

import analyzer
import cores
import interpreters
import living
import resting

CXX, RUN_MAIN = [os.path.join(cores.PROGRAMS, name) for name in ("ways_to_abort.cc", "run_main.py")]
BUILDS = {
    "usual": ["-O2"],
    "unoptimised": ["-O0"],
    "own_runtime": ["-O2", "-static-libstdc++", "-static-libgcc"],
    "stripped": ["-O2", "-s"],
}
GLIBC = {"assert": "assertion", "double_free": "heap-corruption", "smash": "stack-smashing", "fortify": "fortify"}
EXCEPTIONS = ["runtime_error", "field", "constant", "virtual_base", "several_bases", "plain", "int", "literal", "string",
              "system_error", "filesystem", "out_of_range", "noexcept", "thread", "rethrow", "exception_ptr", "in_catch",
              "old_text_terminate"]
# What is thrown there is no std::exception: standard error has its type alone.
VALUES = {"int": "int: 42", "literal": "char const*: a literal",
          "string": "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >: a string"}


def die(command, folder, environment=None):
    """Runs it until it dies; FOLDER/stderr is what it said."""
    os.makedirs(folder)
    cores.run_to_core(["/bin/sh", "-c", 'exec "$0" "$@" 2>stderr', *command], folder, environment)


@pytest.fixture(params=BUILDS)
def build(request):
    if request.param not in ("usual", "own_runtime") and not analyzer.THOROUGH:
        pytest.skip("--thorough does it")
    if shutil.which("c++") is None:
        pytest.skip("no C++ compiler here")
    return request.param


def program_of(build):
    def make(folder):
        flags = ["-std=c++17", "-w", "-pthread", "-fstack-protector-strong", "-U_FORTIFY_SOURCE", *BUILDS[build]]
        if build != "unoptimised":
            flags.append("-D_FORTIFY_SOURCE=2")
        subprocess.run(["c++", *flags, "-o", os.path.join(folder, "ways"), CXX], check=True)

    return os.path.join(cores.made_once("ways-to-abort-" + build, cores.digest(CXX, BUILDS[build]), make), "ways")


def death(build, way):
    """(crash of the JSON report, what the program said, the report)."""
    program = program_of(build)
    folder = cores.made_once("abort-%s-%s" % (build, way), cores.digest(program, way, cores.kernel_writes_here()),
                             lambda folder: die([program, way], os.path.join(folder, "run")))
    with open(os.path.join(folder, "run", "stderr")) as file:
        said = file.read()
    report = analyzer.json_of(os.path.join(folder, "run", "core"))
    return report.json["crash"], said, report


def skip_what_is_slow(build, way):
    if build == "unoptimised" and way == "fortify":
        pytest.skip("not without optimisation")
    if build != "usual" and way not in ("double_free", "noexcept", "field") and not analyzer.THOROUGH:
        pytest.skip("--thorough does it")


@pytest.mark.parametrize("way", GLIBC)
def test_the_c_library(build, way):
    skip_what_is_slow(build, way)
    crash, said, report = death(build, way)
    assert crash["message"] == said.rstrip("\n") and crash["cause"] == GLIBC[way]
    if way in ("smash", "fortify") and build != "stripped":
        assert crash["summary"].endswith(" in smash_buffer" if way == "smash" else " in copy_text")
    assert [warning["code"] for warning in report.json["warnings"]
            if "python" not in warning["code"]] == ["stack-overrun"] * (way == "smash")


@pytest.mark.parametrize("way", EXCEPTIONS)
def test_exceptions_of_cxx(build, way):
    skip_what_is_slow(build, way)
    crash, said, _ = death(build, way)
    name = re.findall(r"an instance of '(.*)'", said)[0]
    what = re.search(r"^  what\(\):  (.*)$", said, re.M)
    assert crash["cause"] == "terminate"
    assert crash["message"] == VALUES.get(way, "%s: %s" % (name, what.group(1)) if what else name)


def test_what_only_running_tells(build):
    skip_what_is_slow(build, "computed")
    crash, said, _ = death(build, "computed")
    assert "what():  made " in said and crash["message"] == "Computed"


def test_an_own_handler(build):
    """It says nothing; the exception is there all the same."""
    skip_what_is_slow(build, "handler")
    crash, said, _ = death(build, "handler")
    assert said == "" and crash["message"] == "std::runtime_error: own handler"


def test_without_an_exception(build):
    skip_what_is_slow(build, "joinable")
    crash, said, _ = death(build, "joinable")
    assert "without an active exception" in said
    assert crash["cause"] == "terminate" and crash["message"] is None
    assert crash["summary"].endswith("without an active exception")


@pytest.mark.parametrize("way", ["abort", "old_text", "abort_in_catch", "raise"])
def test_abort_alone(build, way):
    """An older text and an exception in hand are no cause; raise() is no abort()."""
    skip_what_is_slow(build, way)
    crash, _, _ = death(build, way)
    summary = "sent by itself with tgkill()" if way == "raise" else "abort() called"
    assert (crash["summary"], crash["message"], crash["cause"]) == (summary, None, "other")


def library_of_ways():
    flags = ["-std=c++17", "-w", "-fstack-protector-strong", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2", *BUILDS["usual"]]

    def make(folder):
        subprocess.run(["c++", *flags, "-shared", "-fPIC", "-o", os.path.join(folder, "ways.so"), CXX], check=True)

    return os.path.join(cores.made_once("ways-to-abort-in-python", cores.digest(CXX, flags), make), "ways.so")


@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler here")
@pytest.mark.parametrize("way,python", interpreters.in_turn([*GLIBC, "runtime_error", "abort", "old_text"]), ids=str)
def test_in_python(way, python, tmp_path):
    """The same in a module of Python's."""
    folder = tmp_path / "run"
    die([python.path, RUN_MAIN, library_of_ways(), way], str(folder))
    crash, said = analyzer.json_of(str(folder / "core")).json["crash"], (folder / "stderr").read_text()
    if way in GLIBC:
        assert (crash["cause"], crash["message"]) == (GLIBC[way], said.rstrip("\n"))
    elif way == "runtime_error":
        what = re.search(r"^  what\(\):  (.*)$", said, re.M)
        assert what and (crash["cause"], crash["message"]) == ("terminate", "std::runtime_error: " + what.group(1))
    else:
        assert (crash["cause"], crash["message"], crash["summary"]) == ("other", None, "abort() called")


@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler here")
@pytest.mark.parametrize("way,cause", [("fault", "null-pointer"), ("heap", "heap-corruption"), ("other", "assertion")])
@pytest.mark.parametrize("python", interpreters.find_three(), ids=repr)
def test_after_an_assertion_that_was_caught(python, way, cause, tmp_path):
    """Its text stays in memory until another one takes its place; of a death that has none it is not told."""
    folder = tmp_path / "run"
    die([python.path, RUN_MAIN, library_of_ways(), "old_text_" + way], str(folder))
    crash = analyzer.json_of(str(folder / "core")).json["crash"]
    said = (folder / "stderr").read_text().splitlines()
    assert "five wanted" in said[0] and crash["cause"] == cause, crash
    assert crash["message"] == (None if way == "fault" else said[1])
    assert "five wanted" not in str(crash)


@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler here")
@pytest.mark.parametrize("python", interpreters.find_three(), ids=repr)
def test_living_after_an_assertion(python):
    with living.running([python.path, RUN_MAIN, library_of_ways(), "old_text_lives"]) as process:
        report = living.report(process.pid, "--format", "json")
    assert report.json["crash"] is None and "five wanted" not in report.stdout


@pytest.mark.parametrize("way,environment", [("own_text", {}), ("own_function", {}), ("no_thread_state", {}), ("none", {}),
                                             ("overrun", {"PYTHONMALLOC": "debug"})])
def test_python_gives_up(interpreter, way, environment, tmp_path):
    if way == "own_function" and interpreter.minor < (3, 9):
        pytest.skip("no _Py_FatalErrorFunc()")
    if way == "none" and interpreter.minor >= (3, 12):
        pytest.skip("None is immortal")
    folder = str(tmp_path / "run")
    die([interpreter.path, "-s", os.path.join(cores.PROGRAMS, "fatal_errors.py"), way], folder,
        {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", **environment})
    with open(os.path.join(folder, "stderr")) as file:
        said = re.findall(r"^Fatal Python error: (.*)$", file.read(), re.M)[0]
    crash = analyzer.json_of(os.path.join(folder, "core")).json["crash"]
    assert crash["cause"] == "fatal-error"
    # Up to 3.9 a text that the caller had to make is nowhere certain, nor is the name of the function.
    if way == "none" and interpreter.is_system:  # Stripped: who calls is not known, a format is left.
        assert crash["message"] == said.replace("deallocating None", "%s")
    elif interpreter.minor >= (3, 10):
        assert crash["message"] == said
    else:
        known = crash["message"] is not None
        assert known or way != "no_thread_state"
        assert not known or said.endswith(crash["message"])


ASAN = """
#include <stdlib.h>
int main(int argc, char **argv)
{
    char *volatile memory = malloc(100);
    free(memory);
    if (argc > 1 && argv[1][0] == 'a')
        abort();
    return memory[5];
}
"""


@pytest.mark.skipif(not shutil.which("gcc"), reason="no compiler here")
@pytest.mark.parametrize("way,python", interpreters.in_turn(["error", "abort"]), ids=str)
def test_address_sanitizer(way, python, tmp_path):
    """What it reported; and a program that has it and calls abort() itself."""
    (tmp_path / "asan.c").write_text(ASAN)
    library = str(tmp_path / "asan.so")
    cores.compile_c([str(tmp_path / "asan.c")], library, "-fsanitize=address", "-shared", "-fPIC", "-w")
    runtime = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True).stdout.strip()
    die([python.path, RUN_MAIN, library, way], str(tmp_path / "run"), {
        "PATH": "/usr/bin:/bin", "LD_PRELOAD": runtime,
        "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1:disable_coredump=0:unmap_shadow_on_exit=1"})
    crash, said = analyzer.json_of(str(tmp_path / "run" / "core")).json["crash"], (tmp_path / "run" / "stderr").read_text()
    if way == "abort":
        assert (crash["summary"], crash["message"], crash["cause"]) == ("abort() called", None, "other")
        return
    what, how = re.findall(r"ERROR: AddressSanitizer: (.*?) at pc .*\n(READ .*)", said)[0]
    assert crash["message"] == "%s: %s" % (what, how)
    assert crash["summary"] == "abort() called: an error that AddressSanitizer found" and crash["cause"] == "other"


@pytest.mark.parametrize("way,python", interpreters.in_turn(["trap", "kill_process", "kill"]), ids=str)
def test_system_calls_of_python(way, python, tmp_path):
    library = str(tmp_path / "refused_call.so")
    cores.compile_c([os.path.join(cores.PROGRAMS, "refused_call.c")], library, "-O1", "-shared", "-fPIC")
    die([python.path, RUN_MAIN, library, way], str(tmp_path / "run"))
    crash = analyzer.json_of(str(tmp_path / "run" / "core")).json["crash"]
    assert crash["cause"] == ("other" if way == "kill" else "seccomp") and crash["message"] is None
    assert crash["summary"].startswith("sent by itself with kill()" if way == "kill" else
                                       "system call refused by seccomp: openat(")


@pytest.mark.parametrize("way,summary,cause", [
    ("trap", 'system call refused by seccomp: openat(AT_FDCWD, "/etc/passwd", 0x80000, 00)', "seccomp"),
    ("kill_process", 'system call refused by seccomp: openat(AT_FDCWD, "/etc/passwd", 0x80000, 00)', "seccomp"),
    ("kill", "sent by itself with kill()", "other"), ("raise", "sent by itself with tgkill()", "other")])
def test_system_calls(tmp_path, way, summary, cause):
    program = str(tmp_path / "refused_call")
    cores.compile_c([os.path.join(cores.PROGRAMS, "refused_call.c")], program, "-O1")
    die([program, way], str(tmp_path / "run"))
    crash = analyzer.json_of(str(tmp_path / "run" / "core")).json["crash"]
    assert (crash["summary"], crash["cause"], crash["message"]) == (summary, cause, None)


@pytest.mark.skipif(not cores.kernel_writes_here(), reason="the kernel does not write core files here")
@pytest.mark.parametrize("python", [None, *interpreters.find_three()], ids=str)
def test_killed_from_outside(python, tmp_path):
    program = [str(tmp_path / "refused_call")]
    flags = ["-shared", "-fPIC"] if python else []
    cores.compile_c([os.path.join(cores.PROGRAMS, "refused_call.c")], program[0], "-O1", *flags)
    if python:
        program = [python.path, RUN_MAIN, *program]
    command = "import os, subprocess, sys; child = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE); " \
        "child.stdout.read(); os.kill(child.pid, %d); child.wait(); print(os.getpid())" % signal.SIGQUIT
    done = subprocess.run(["/usr/bin/python3", "-c", command, *program, "wait"], cwd=str(tmp_path), check=True,
                          preexec_fn=cores._allow_cores, capture_output=True, timeout=resting.WAIT)
    core, = tmp_path.glob("core*")
    crash = analyzer.json_of(str(core)).json["crash"]
    parent = int(done.stdout)
    assert (crash["sender_pid"], crash["cause"]) == (parent, "sent")
    assert crash["summary"] == "sent by pid %d, its parent process" % parent
