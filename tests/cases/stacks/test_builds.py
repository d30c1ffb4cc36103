"""Builds of CPython that are not the usual ones: free-threaded, with a JIT. Missing ones are skips."""
import functools
import json
import os
import subprocess

import pytest

import analyzer
import cores
import interpreters
import truth
from elf import without_files

OTHER_SUITES = True


def builds(what, having):
    """Of each minor version one; PSC_TEST_INTERPRETERS names those that no search finds."""
    found = {one.minor: one for one in interpreters.find_all() if having(one)}
    return [pytest.param(one, id=one.label) for one in found.values()] or [
        pytest.param(None, id="none", marks=pytest.mark.skip(reason="no %s CPython here" % what))]


FREE_THREADED = builds("free-threaded", lambda one: one.free_threaded)


@pytest.mark.cases(["hot_threads"])
def test_threads_with_specialised_code(core):
    """Lines, and from 3.11 columns, of code that was specialised, by each thread on its own or not."""
    document = analyzer.json_of(core.path).json
    positions = 0
    for ident, stack in core.truth["stacks"].items():
        frames = analyzer.python_frames(analyzer.thread_by_ident(document, int(ident)))
        assert [truth.key_of_json(frame) for frame in frames] == [truth.key_of(frame) for frame in stack]
        for frame, said in list(zip(frames, stack))[1:]:
            if said["position"] and None not in said["position"]:
                assert [frame["line"], frame["end_line"], frame["column"] - 1, frame["end_column"] - 1] == \
                    said["position"]
                positions += 1
    assert len(core.truth["stacks"]) == 7
    assert positions or core.interpreter.minor < (3, 11)


@pytest.mark.parametrize("free_threaded", FREE_THREADED)
def test_free_threaded_has_no_gil(free_threaded):
    result = analyzer.json_of(cores.make_core("threads", free_threaded).path)
    assert result.json["target"]["python"]["free_threaded"] is True
    for thread in result.json["threads"]:
        assert not {"holds-gil", "waits-for-gil"} & set(thread["state"]), thread
    assert "free-threaded" in analyzer.run(cores.make_core("threads", free_threaded).path).stdout.splitlines()[2]
    assert analyzer.run(cores.make_core("threads", free_threaded).path).stdout.splitlines()[2].endswith("no GIL")


@pytest.mark.parametrize("free_threaded", FREE_THREADED)
def test_free_threaded_with_its_gil(free_threaded, tmp_path):
    """PYTHON_GIL=1, or an extension that needs it, turns the GIL on."""
    program = os.path.join(cores.PROGRAMS, "threads.py")
    ways = os.path.join(cores.native_helpers(), "libways.so")
    cores.run_to_core([free_threaded.path, "-s", program, str(tmp_path), ways], str(tmp_path),
                      {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "PYTHON_GIL": "1"})
    core = cores.Core(str(tmp_path), free_threaded, "threads")
    document = analyzer.json_of(core.path).json
    ident = core.truth["promises"]["holds_gil"]
    assert "holds-gil" in analyzer.thread_by_ident(document, ident)["state"]
    for waiting in core.truth["promises"]["waits_for_gil"]:
        assert "waits-for-gil" in analyzer.thread_by_ident(document, waiting)["state"]
    assert "GIL held by" in analyzer.run(core.path).stdout.splitlines()[2]


@functools.lru_cache(maxsize=None)
def has_jit(interpreter):
    """Debian's 3.14 and 3.15 have a JIT that PYTHON_JIT=1 turns on."""
    def enter():
        if interpreter.root:
            os.chroot(interpreter.root)
            os.chdir("/")
    program = "import sys; sys.exit(not (hasattr(sys, '_jit') and sys._jit.is_available()))"
    return subprocess.run([interpreter.path, "-E", "-s", "-c", program], preexec_fn=enter).returncode == 0


JITS = [pytest.param(one, id=one.label)
        for one in interpreters.find_all() + interpreters.find_in_suites()
        if one.minor >= (3, 14) and has_jit(one)] or [
            pytest.param(None, id="none", marks=pytest.mark.skip(reason="no CPython with a JIT here"))]


@pytest.mark.parametrize("jit", JITS)
def test_code_made_by_the_jit(jit):
    """Python frames are what faulthandler said at the end; the native stack goes on behind that code."""
    core = cores.make_core("jit", jit)
    document = analyzer.json_of(core.path, "--all").json
    thread = analyzer.thread_by_ident(document, core.truth["dying"])
    found = [truth.key_of_json(frame) for frame in analyzer.python_frames(thread)]
    assert found == truth.parse_faulthandler(core.faulthandler_text)[core.truth["dying"]]
    assert [frame["name"] for frame in analyzer.python_frames(thread)] == \
        ["send", "repeat", "<lambda>", "by_key", "<module>"]
    symbols = [frame["symbol"] for frame in thread["frames"]]
    assert any(frame["kind"] == "native" and frame["module"] is None for frame in thread["frames"]), \
        "the code that the JIT made is not on the stack"
    assert any(symbol and "sort" in symbol for symbol in symbols), symbols
    assert symbols[-1] == "_start"


@pytest.mark.cases(["hot_threads"])
def test_found_when_no_file_of_the_dead_machine_is_there(core, tmp_path):
    """By what it says of itself from 3.13 on, before by what its threads point to."""
    empty = tmp_path / "empty"
    empty.mkdir()
    options = ("--mode", "python", "--sysroot", empty, without_files(core.path, tmp_path))
    result = analyzer.run("--format", "json", *options)
    stacks = {int(ident): [truth.key_of(frame) for frame in stack] for ident, stack in core.truth["stacks"].items()}
    for ident, stack in stacks.items():
        frames = analyzer.python_frames(analyzer.thread_by_ident(result.json, ident))
        assert [truth.key_of_json(frame) for frame in frames] == stack
    explained = analyzer.run("--explain", *options).stdout
    found = next(line for line in explained.splitlines() if "python: CPython " in line)
    assert ("found by cookie" if core.interpreter.minor >= (3, 13) else "found by scan") in found
    files = {module["file"] for module in result.json["target"]["modules"] if "python" in module["path"]}
    assert files == {"missing"}


@pytest.mark.cases(["mapped_twice"])
def test_the_interpreter_is_mapped_more_than_once(core):
    """The one that runs is found, its symbols are where it was loaded, and nothing is warned of."""
    result = analyzer.json_of(core.path)
    thread = analyzer.thread_by_ident(result.json, core.truth["dying"])
    assert [truth.key_of_json(frame) for frame in analyzer.python_frames(thread)] == \
        truth.stacks(core)[core.truth["dying"]]
    assert result.json["warnings"] == []
    whole = analyzer.json_of(core.path, "--all").json["threads"][0]["frames"]
    assert "PyEval_EvalCode" in {frame["symbol"] for frame in whole}


BUILD_FACTS = """
import json, sysconfig
names = "LIBPL LIBRARY LIBS SYSLIBS INCLUDEPY prefix MODLIBS".split()
print(json.dumps({name: sysconfig.get_config_var(name) or "" for name in names}))
"""
SCRIPT = """
import os, signal


def last(item):
    with open("pid", "w") as out:
        out.write(str(os.getpid()))
    os.kill(os.getpid(), signal.SIGSEGV)


def middle():
    return sorted([1], key=last)


list(map(lambda item: middle(), [1]))
"""


def build_host(interpreter, folder, source, *flags):
    """A program with the interpreter's static library in it, and where its modules are."""
    facts = json.loads(subprocess.run([interpreter.path, "-E", "-s", "-c", BUILD_FACTS], check=True,
                                      capture_output=True).stdout.decode())
    library = os.path.join(facts["LIBPL"], facts["LIBRARY"])
    if not os.path.exists(library):
        pytest.skip("%s has no static library" % interpreter)
    program = folder / "host-of-python"
    libraries = [name for name in (facts["LIBS"] + " " + facts["SYSLIBS"] + " " + facts["MODLIBS"]).split()
                 if name.startswith("-l")]
    cores.compile_c([os.path.join(cores.NATIVE, source), library, *libraries], str(program), "-g", "-O1",
                    "-I" + facts["INCLUDEPY"], "-pthread", *flags)
    return str(program), facts["prefix"]


def embed(interpreter, folder, *flags):
    """It runs SCRIPT and dies. Its core."""
    program, home = build_host(interpreter, folder, "embed.c", *flags)
    (folder / "script.py").write_text(SCRIPT)
    cores.run_to_core([program, "-S", "script.py"], str(folder),
                      {"PATH": "/usr/bin:/bin", "PYTHONHOME": home})
    return str(folder / "core")


def crash_story(document):
    return [(frame["name"], frame["line"]) for frame in document["threads"][0]["frames"]
            if frame["kind"] == "python" and not frame["hidden"]]


@pytest.mark.parametrize("flags", [["-Wl,-E"], ["-s"]], ids=["exported", "stripped"])
def test_linked_into_a_program(interpreter, flags, tmp_path):
    """With its names exported, and without any name at all: by its section, its cookie or a scan."""
    if interpreter.is_system:
        pytest.skip("linked against the shared one in test_unknown_python.py")
    document = analyzer.run("--format", "json", embed(interpreter, tmp_path, *flags)).json
    assert document["target"]["python"]["version"] == interpreter.version
    assert crash_story(document) == [("last", 8), ("middle", 12), ("<lambda>", 15), ("<module>", 15)]
    gaps = analyzer.gaps(document["threads"][0])
    if interpreter.minor >= (3, 11) or "-s" not in flags:
        assert not gaps
    else:  # where the evaluator is known by its name alone
        assert len(gaps) == 1 and gaps[0]["function"]


WITHOUT_RUNTIME = [pytest.param(one, id=one.label) for one in interpreters.find_all() if one.minor < (3, 7)] or [
    pytest.param(None, id="none", marks=pytest.mark.skip(reason="no CPython 2.7 or 3.6 here"))]


@pytest.mark.parametrize("flags", [["-Wl,-E"], ["-Wl,-E", "-s"]], ids=["symbols", "stripped"])
@pytest.mark.parametrize("old", WITHOUT_RUNTIME)
def test_interpreters_newer_than_that_of_the_current_thread(old, flags, tmp_path):
    """Up to 3.6 there is no _PyRuntime: what is known first is one thread, perhaps of an older one."""
    program, home = build_host(old, tmp_path, "two_interpreters.c", *flags)
    cores.run_to_core([program], str(tmp_path), {"PATH": "/usr/bin:/bin", "PYTHONHOME": home})
    document = analyzer.run("--format", "json", tmp_path / "core").json
    names = {frame["name"] for thread in document["threads"] for frame in analyzer.python_frames(thread)}
    assert {"dies", "waits"} <= names
