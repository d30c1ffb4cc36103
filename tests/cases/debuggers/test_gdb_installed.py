"""The commands from an install tree: gdb loads them at its start, and they find library and program there."""
import os
import re
import shutil
import subprocess

import pytest

import analyzer
import debuggers
import test_lldb_plugin

NOWHERE = {"PYSTACK_CORE_LIBRARY": "", "PYSTACK_CORE_PROGRAM": ""}


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """The install tree, made by cmake --install."""
    if analyzer.SANITIZED:
        pytest.skip("a sanitized library needs its sanitizer loaded first")
    folder = tmp_path_factory.mktemp("installed")
    done = subprocess.run(["cmake", "--install", debuggers.BUILD, "--prefix", folder], capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return folder


def test_gdb_loads_them_at_its_start(prefix):
    """With the prefix's folder in the place of the one where this gdb looks."""
    debuggers.need(debuggers.GDB, "unshare")
    configuration = subprocess.run([debuggers.GDB, "--configuration"], capture_output=True).stdout.decode()
    found = re.search(r"--with-system-gdbinit-dir=(\S+)", configuration)
    if not found or not os.path.isdir(found.group(1)):
        pytest.skip("this gdb has no folder of files for its start")
    script = 'mount --bind "$0" "$1" && shift && exec "$@"'
    command = ["unshare", "-m", "sh", "-c", script, str(prefix / "etc/gdb/gdbinit.d"), found.group(1)]
    if subprocess.run(command + ["true"], capture_output=True).returncode:
        pytest.skip("no folder can be mounted over another here")
    core = debuggers.some_core("threads")
    done = subprocess.run(command + [debuggers.GDB, "-q", "-batch", "-iex", "set debuginfod enabled off",
                                     core.interpreter.path, core.path, "-ex", "py-why", "-ex", "print $py_current_line()"],
                          capture_output=True, timeout=600, env=debuggers.environment(**NOWHERE))
    text = done.stdout.decode()
    assert "died of SIGSEGV" in text and re.search(r'^\$1 = ".*threads\.py:\d+"$', text, re.M), done


def test_library_and_program_are_found(prefix):
    core = debuggers.some_core("threads")
    script = str(prefix / "share/pystack-core/pystack_core_gdb.py")
    ours = debuggers.gdb(debuggers.open_core(core) + ["py-bt-merged all"])[2]
    answers = debuggers.gdb(debuggers.open_core(core) + ["py-bt-merged all"], env=NOWHERE, script=script)
    assert answers[2] == ours
    library, = prefix.glob("lib*/**/libpystack_core.so.0")
    hidden = library.with_name("hidden")
    library.rename(hidden)
    try:
        answers = debuggers.gdb(debuggers.open_core(core) + ["py-bt-merged all"], env=NOWHERE, script=script)
    finally:
        hidden.rename(library)
    assert "bin/pystack-core does it instead" in answers[2]
    assert debuggers.without_warnings(answers[2]) == debuggers.without_warnings(ours)


def test_lldb(prefix):
    debuggers.need(debuggers.LLDB)
    core = debuggers.some_core("threads")
    script = str(prefix / "share/pystack-core/pystack_core_lldb.py")
    answers = test_lldb_plugin.lldb([test_lldb_plugin.open_core(core), "py-why"], script=script, **NOWHERE)
    assert "died of SIGSEGV" in answers[1]["text"]


def test_nothing_else_is_written(prefix):
    folder = prefix / "share/pystack-core"
    assert sorted(one.name for one in folder.iterdir() if one.suffix == ".py") == \
        sorted(name for name in os.listdir(debuggers.PLUGIN) if name.endswith(".py"))
    shutil.rmtree(folder / "__pycache__", ignore_errors=True)
