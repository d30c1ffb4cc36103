"""gdb lives, and one sentence says what is wrong."""
import os
import shutil
import subprocess

import pytest

import analyzer
import cores
import debuggers
import interpreters


MISSING = {"PYSTACK_CORE_LIBRARY": "/nonexistent/libpystack_core.so"}


def test_library_is_missing():
    """The program does it, and that is said; what it cannot do is one sentence."""
    core = debuggers.some_core("threads")
    commands = ["py-bt-merged all", "py-bt-merged 2", "py-bt-merged --all --locals", "py-why", "py-threads-merged",
                "py-up-merged 3", "py-down-merged", "py-locals-merged", "bt 1"]
    ours = debuggers.gdb(debuggers.open_core(core) + commands)[2:]
    answers = debuggers.gdb(debuggers.open_core(core) + commands + ["py-print-merged x"],
                            env=MISSING)[2:]
    said = "warning: /nonexistent/libpystack_core.so cannot be loaded"
    assert answers[0].startswith(said) and "the program %s does it instead" % analyzer.PROGRAM in answers[0]
    assert [debuggers.without_warnings(one) for one in answers[:len(ours)]] == \
        [debuggers.without_warnings(one) for one in ours]
    assert answers[-1].startswith("error: ") and "\n" not in answers[-1]
    answers = debuggers.gdb(debuggers.open_core(core) + ["print $py_current_line()", "py-bt-merged"],
                            env={**MISSING, "PYSTACK_CORE_PROGRAM": ""}, script=copied_script())
    assert "/nonexistent/libpystack_core.so cannot be loaded" in answers[2] and "\n" not in answers[2].strip()
    assert answers[3].startswith("error: ") and "is not found either" in answers[3]


def test_library_is_missing_for_a_process():
    """The program can read the Python side of what gdb holds."""
    with debuggers.living(interpreters.find_wanted()[-1]) as (pid, _):
        answers = debuggers.gdb(["attach %d" % pid, "py-bt-merged", "py-why", "py-up-merged 0", "detach"], env=MISSING)
    assert "the program %s does it instead" % analyzer.PROGRAM in answers[1]
    assert 'Thread %d "MainThread"' % pid in answers[1] and "only its Python frames" in answers[1]
    assert answers[1].count("Thread ") == 1 and "2 threads alive" in answers[2]
    assert answers[3].splitlines()[1].split()[:2] == ["#0", "Python"]


def copied_script():
    """The scripts in a folder that has neither the library nor the program near it."""
    sources = [os.path.join(debuggers.PLUGIN, name) for name in os.listdir(debuggers.PLUGIN) if name.endswith(".py")]

    def make(folder):
        for source in sources:
            with open(source) as file, open(os.path.join(folder, os.path.basename(source)), "w") as copy:
                copy.write(file.read())

    return os.path.join(cores.made_once("gdb-scripts", cores.digest(*sorted(sources)), make), "pystack_core_gdb.py")


def test_library_beside_the_script(tmp_path):
    core = debuggers.some_core("threads")
    folder = shutil.copytree(os.path.dirname(copied_script()), tmp_path / "scripts")
    script, nowhere = str(folder / "pystack_core_gdb.py"), {"PYSTACK_CORE_LIBRARY": ""}
    answers = debuggers.gdb(debuggers.open_core(core) + ["py-why"], env=nowhere, script=script)
    assert "libpystack_core.so.0 is not beside these commands; PYSTACK_CORE_LIBRARY can name it" in answers[2]
    os.symlink(debuggers.LIBRARY, folder / "libpystack_core.so.0")
    answers = debuggers.gdb(debuggers.open_core(core) + ["py-why"], env=nowhere, script=script)
    assert "died of" in answers[2]


def test_nothing_is_taken_from_outside(tmp_path):
    """From a checkout in a folder where others may write: what they plant there, or where PATH leads, is not run."""
    core = debuggers.some_core("threads")
    checkout, ran = tmp_path / "checkout", tmp_path / "ran"
    shutil.copytree(os.path.dirname(copied_script()), checkout / "gdb-plugin")
    source = tmp_path / "planted.c"
    source.write_text('#include <stdio.h>\n__attribute__((constructor)) static void run(void) { fclose(fopen("%s", "w")); }\n'
                      % ran)
    for folder in ("lib", "lib64", "lib/x86_64-linux-gnu", "bin", "path"):
        (tmp_path / folder).mkdir(exist_ok=True)
        library, program = tmp_path / folder / "libpystack_core.so.0", tmp_path / folder / "pystack-core"
        cores.compile_c([str(source)], str(library), "-shared", "-fPIC")
        program.write_text("#!/bin/sh\necho >%s\n" % ran)
        program.chmod(0o755)
    script = str(checkout / "gdb-plugin" / "pystack_core_gdb.py")
    planted = {"PYSTACK_CORE_LIBRARY": "", "PYSTACK_CORE_PROGRAM": "", "LD_LIBRARY_PATH": str(tmp_path / "path"),
               "PATH": "%s:/usr/bin:/bin" % (tmp_path / "path")}
    answers = debuggers.gdb(debuggers.open_core(core) + ["py-bt-merged", "py-why"], env=planted, script=script)
    assert not ran.exists()
    assert "is not beside these commands" in answers[2] and "the program pystack-core is not found either" in answers[2]
    (checkout / "build" / "analyzer").mkdir(parents=True)
    os.symlink(debuggers.LIBRARY, checkout / "build" / "analyzer" / "libpystack_core.so.0")
    answers = debuggers.gdb(debuggers.open_core(core) + ["py-why"], env=planted, script=script)
    assert "died of" in answers[2] and not ran.exists()


def test_library_of_another_version(tmp_path):
    source, library = tmp_path / "other.c", tmp_path / "libpystack_core.so.0"
    source.write_text('const char *psc_version(void); const char *psc_version(void) { return "97.1.0"; }\n')
    cores.compile_c([str(source)], str(library), "-shared", "-fPIC")
    core = debuggers.some_core("threads")
    answers = debuggers.gdb(debuggers.open_core(core) + ["py-bt-merged", "py-threads-merged"],
                            env={"PYSTACK_CORE_LIBRARY": str(library)})
    assert "is version 97.1.0, these commands are for" in answers[2]
    assert "is version 97.1.0" in answers[3]
    assert "died of" in answers[2] and "MainThread" in answers[3]
    source.write_text("int nothing;\n")
    cores.compile_c([str(source)], str(library), "-shared", "-fPIC")
    answers = debuggers.gdb(debuggers.open_core(core) + ["py-why"], env={"PYSTACK_CORE_LIBRARY": str(library)})
    assert "psc_version" in answers[2] and "does it instead" in answers[2]


def test_python_of_gdb_without_ctypes(tmp_path):
    """As with a PYTHONPATH for another Python."""
    (tmp_path / "ctypes.py").write_text("raise ImportError('SIZEOF_TIME_T')\n")
    core = debuggers.some_core("threads")
    answers = debuggers.gdb(debuggers.open_core(core) + ["py-bt-merged", "py-up-merged", "bt 2"],
                            env={"PYTHONPATH": str(tmp_path)})
    assert "no working ctypes (ImportError: SIZEOF_TIME_T)" in answers[2]
    assert "died of" in answers[2]
    assert "no working ctypes" in answers[3] and "#1 " in answers[3]
    assert answers[4].startswith("#0")


def test_broken_cores(tmp_path):
    """gdb lives, and every command says something."""
    core = debuggers.some_core("threads")
    with open(core.path, "rb") as file:
        whole = file.read(8 << 20)
    for number, (size, damage) in enumerate([(len(whole) // 2, 0), (len(whole), 7), (1 << 20, 0), (20000, 0)]):
        damaged = bytearray(whole[:size])
        for at in range(5000, len(damaged), 997) if damage else ():
            damaged[at] ^= damage
        path = tmp_path / ("core%d" % number)
        path.write_bytes(damaged)
        answers = debuggers.gdb(["file " + core.interpreter.path, "core-file %s" % path, "py-bt-merged all",
                                 "py-bt-merged", "py-why", "py-up-merged", "py-threads-merged", "bt 3", "print 6*7"])
        assert all(answer for answer in answers[2:]), answers
        assert answers[-1] == "$1 = 42\n"
        assert "defect" not in "".join(answers)


MEMORY = ("python-value int([line for line in open('/proc/self/status') if line.startswith('VmRSS')][0].split()[1])")


def test_a_hundred_calls():
    core = debuggers.some_core("threads")
    calls = ["py-bt-merged all"] * 3 + ["py-why", "core-file " + core.path, "py-up-merged", "py-locals-merged"]
    with debuggers.living(interpreters.find_wanted()[-1]) as (pid, _):
        on_core = debuggers.gdb(debuggers.open_core(core) + calls * 4 + [MEMORY] +
                                (calls * 7 + [MEMORY]) * 3, timeout=600)
        attached = debuggers.gdb(["attach %d" % pid] + ["py-bt-merged all"] * 10 + [MEMORY] +
                                 (["py-bt-merged all"] * 30 + [MEMORY]) * 3, timeout=600)
    for answers in (on_core, attached):
        sizes = [answer for answer in answers if isinstance(answer, int)]
        assert len(sizes) == 4
        # The heap settles at some time; a leak goes on.
        more = min(after - before for before, after in zip(sizes, sizes[1:]))
        assert more < 3000, "%d KB more each time" % more


# ---- what users have ----

def test_core_without_python():
    core = cores.make_plain_core()
    answers = debuggers.gdb(["core-file " + core, "py-bt-merged", "py-why", "py-up-merged", "py-print-merged x",
                             "print $py_current_line()", 'print $_streq($py_current_line(), "")', "bt 1"])[1:]
    assert "no Python interpreter found" in answers[0] and "warning: no Python interpreter was found" in answers[0]
    assert "no Python interpreter found" in answers[1] and answers[2].split()[0] == "#1"
    assert answers[3].startswith("error: Merged frame 1 is not one of Python")
    assert answers[4] == '$1 = ""\n' and answers[5] == "$2 = 1\n" and answers[6].startswith("#0")


def test_core_of_another_architecture(tmp_path):
    with open(cores.make_plain_core(), "rb") as file:
        image = bytearray(file.read())
    image[18:20] = (183).to_bytes(2, "little")  # e_machine: EM_AARCH64
    path = tmp_path / "core"
    path.write_bytes(image)
    debuggers.need(debuggers.GDB)
    if subprocess.run([debuggers.GDB, *debuggers.QUIET, "-batch", "--core", path], capture_output=True,
                      cwd=tmp_path).returncode:
        pytest.skip("this gdb itself does not survive such a core")
    answers = debuggers.gdb(["py-bt-merged", "py-why", "py-up-merged"], "--core", path)
    assert answers == ["error: %s: a core file of AArch64; only x86-64 is handled" % path] * 3


# The child dies when its parent has come to line 6.
FORKS = """
import os; ready, go = os.pipe()
def child():
    os.read(ready, 1); os.abort()
def parent(pid):
    os.write(go, b"x"); os.waitpid(pid, 0)
    os.abort()
pid = os.fork()
child() if not pid else parent(pid)
"""


def test_after_a_fork(tmp_path):
    """gdb follows the child; or holds both, as two inferiors."""
    (tmp_path / "program.py").write_text(FORKS)
    arguments = ["--args", interpreters.find_wanted()[-1].path, "-s", "program.py"]
    answers = debuggers.gdb(["set follow-fork-mode child", "run", "py-why", "kill"], *arguments, cwd=tmp_path)
    assert "stopped by SIGABRT" in answers[2] and "below child (" in answers[2]
    answers = debuggers.gdb(["set detach-on-fork off", "set schedule-multiple on", "run", "inferior 1", "py-why",
                             "print $py_current_line()", "py-up-merged", "inferior 2", "print $py_current_line()",
                             "py-why", "py-frame-merged", "py-bt-merged 1.1", "kill inferiors 1 2"],
                            *arguments, cwd=tmp_path)
    assert "a living process, held by a debugger" in answers[4] and answers[5].endswith('program.py:6"\n')
    assert "stopped by SIGABRT" in answers[9] and answers[8].endswith('program.py:4"\n')
    assert answers[6].split()[0] == "#1" and answers[10].split()[0] == "#0"
    assert answers[11] == "error: Thread 1.1 is not one of the selected inferior."


def test_two_cores():
    one, other = debuggers.some_core("threads"), debuggers.some_core("frame_values")
    answers = debuggers.gdb(debuggers.open_core(one) + [
        "py-up-merged", "add-inferior -no-connection", "inferior 2", "py-why"] + debuggers.open_core(other) + [
        "py-why", "inferior 1", "py-why", "py-frame-merged"])[2:]
    assert answers[3] == "error: There is no process and no core file."
    assert answers[6].startswith(other.path + ": ") and answers[8].startswith(one.path + ": ")


def test_a_defect_is_one_sentence_or_a_traceback():
    core = debuggers.some_core("threads")
    broken = "python __import__('pystack_core_frames').why = None"
    answers = debuggers.gdb(debuggers.open_core(core) + [
        broken, "py-why", "set python print-stack full", "py-why"])
    assert answers[3].startswith("error: TypeError: ") and "print-stack full" in answers[3]
    assert "Error occurred in Python" in answers[5]


def test_sysroot(tmp_path):
    """What is below `set sysroot' goes first; what is not there is looked for where the core says."""
    core = debuggers.some_core("threads")
    answers = debuggers.gdb(["set sysroot %s" % tmp_path] + debuggers.open_core(core) + ["py-bt-merged all"])[3:]
    assert debuggers.without_warnings(answers[0]) == debuggers.show("--sysroot", tmp_path, core.path,
                                                                    core.interpreter.path)
