"""Files that become shorter while they are mapped: one sentence, or a report with gaps, and never a signal."""
import os
import shutil
import signal
import subprocess
import sys
import threading

import pytest

import analyzer
import cores
import debuggers
import interpreters
import living


def has_mapped(pid, path):
    """The program, or its child that reads."""
    with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
        pids = [pid, *map(int, file.read().split())]
    for one in pids:
        with open("/proc/%d/maps" % one) as maps:
            if path in maps.read():
                return True
    return False


def shorten_while_mapped(path, *arguments):
    """Runs the program; cuts the file off as soon as it has mapped it. (exit code, standard error)"""
    process = subprocess.Popen([analyzer.PROGRAM, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"})
    path = os.path.realpath(path)
    mapped = False
    while not mapped and process.poll() is None:
        try:
            mapped = has_mapped(process.pid, path)
        except OSError:  # one of them has ended
            continue
    if mapped:
        os.truncate(path, 0)
    _, errors = process.communicate()
    return process.returncode, errors.decode()


def assert_said(ended, path):
    code, errors = ended
    assert code in (analyzer.EXIT_COMPLETE, analyzer.EXIT_PARTIAL, analyzer.EXIT_NOTHING), (code, errors)
    if "became shorter" in errors:
        assert code == analyzer.EXIT_NOTHING
        assert errors == "pystack-core: %s: the file became shorter while it was read\n" % os.path.realpath(path)
        return True
    return False


@pytest.mark.skipif(analyzer.SANITIZED, reason="the sanitizer handles the signal")
def test_core_that_becomes_shorter(tmp_path):
    interpreter = interpreters.find_system() or interpreters.find_wanted()[-1]
    whole = cores.make_core("threads", interpreter).path
    said = 0
    for i in range(10):
        core = tmp_path / ("core.%d" % i)
        subprocess.run(["cp", "--sparse=always", whole, core], check=True)
        said += assert_said(shorten_while_mapped(core, core), core)
    assert said


@pytest.mark.skipif(analyzer.SANITIZED, reason="the sanitizer handles the signal")
def test_module_that_becomes_shorter(tmp_path):
    """Of a core: a living process would die of it itself."""
    core = cores.make_plain_core()
    said = 0
    for i in range(10):
        folder = tmp_path / str(i)
        folder.mkdir()
        program = shutil.copy(os.path.join(cores.native_helpers(), "plain"), folder)
        said += assert_said(shorten_while_mapped(program, core, program), program)
    assert said


@pytest.mark.skipif(analyzer.SANITIZED, reason="the sanitizer handles the signal")
def test_module_of_a_recorded_process_that_becomes_shorter(tmp_path):
    """The recording goes on, and what there is of it is written. The process waits in the C library for good."""
    many = "".join("void function_%d(void) {}\n" % number for number in range(10000))
    (tmp_path / "many.c").write_text(many + "#include <unistd.h>\nvoid rest(void) { write(1, \"ready\\n\", 6); pause(); }\n")
    (tmp_path / "main.c").write_text("#include <dlfcn.h>\nint main(int argc, char **argv) {\n  (void)argc;\n"
                                     "  ((void (*)(void))dlsym(dlopen(argv[1], RTLD_NOW), \"rest\"))();\n}\n")
    cores.compile_c([str(tmp_path / "many.c")], str(tmp_path / "many.so"), "-O0", "-shared", "-fPIC")
    cores.compile_c([str(tmp_path / "main.c")], str(tmp_path / "main"), "-ldl")
    shortened = 0
    for i in range(8):
        library = shutil.copy(tmp_path / "many.so", tmp_path / ("many.%d.so" % i))
        output = tmp_path / ("stacks.%d" % i)
        with living.running([tmp_path / "main", library]) as process:
            code, errors = shorten_while_mapped(library, "record", "--idle", "--pid", process.pid, "--duration", "0.5",
                                                "--output", "collapsed=%s" % output)
            assert code in (analyzer.EXIT_COMPLETE, analyzer.EXIT_PARTIAL), errors
            assert "shorter" not in errors and output.read_text().strip()
            shortened += not os.path.getsize(library)
    assert shortened


def test_source_that_becomes_shorter(tmp_path):
    """It is copied, not mapped: what is there is shown."""
    source = tmp_path / "program.py"
    text = "import signal\nprint('ready', flush=True)\nsignal.pause()  # here\n" + 100000 * "# more\n"
    source.write_text(text)
    interpreter = interpreters.find_system() or interpreters.find_wanted()[-1]
    with living.running([interpreter.path, source]) as process:
        assert "# here" in living.report(process.pid).stdout
        for _ in range(3):
            source.write_text(text)
            code, errors = shorten_while_mapped(source, "--pid", process.pid)
            assert code == analyzer.EXIT_COMPLETE and "shorter" not in errors


# ---- the library, whose host must live ----

PROGRAM = """
static const char text[1 << 20] = "x";
__attribute__((noinline)) static int deeper(int a) { return a ? deeper(a - 1) + text[a] : *(volatile int *)8; }
int main(int argc, char **argv) { (void)argv; return deeper(argc + 5) + 1; }
"""
# The file is cut off when the library asks for the n-th time whether it is to end; 0: once the core is open.
HOST = """
import os, sys
sys.path.insert(0, sys.argv[1])
import pystack_core_header as c
from pystack_core_loader import load
core, path, maps_files, moment = sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
library, asked = load(), 0

@c.OpenOptionsInterrupted
def interrupted(context):
    global asked
    asked += 1
    if asked == moment:
        os.truncate(path, 0)
    return 0

options = c.OpenOptions(size=c.ctypes.sizeof(c.OpenOptions), interrupted=interrupted, maps_files=maps_files)
target, trace, error = c.ctypes.c_void_p(), c.ctypes.c_void_p(), c.Error()
status = library.psc_open_core(os.fsencode(core), None, options, target, error)
if not moment:
    os.truncate(path, 0)
if not status:
    library.psc_capture(target, None, trace, error)
    library.psc_trace_destroy(trace)
    library.psc_close(target)
print("lives", status, asked > moment)
"""


@pytest.fixture(name="crashed")
def _crashed(tmp_path):
    """(core, program): one that gdb need not open to show the core."""
    if not cores.kernel_writes_here() or analyzer.SANITIZED:
        pytest.skip("the kernel writes no core files here, or the library is a sanitizer's")
    (tmp_path / "program.c").write_text(PROGRAM)
    program = tmp_path / "program"
    cores.compile_c([str(tmp_path / "program.c")], str(program), "-g", "-O0")
    subprocess.run(["sh", "-c", 'ulimit -c unlimited; exec "$0"', program], cwd=tmp_path, check=False)
    return [path for path in tmp_path.iterdir() if path.name.startswith("core")][0], program


def run_host(core, path, maps_files, moment):
    script = [sys.executable, "-c", HOST, debuggers.PLUGIN, core, path, str(maps_files), str(moment)]
    return subprocess.run(script, capture_output=True, text=True, timeout=600, check=False,
                          env=dict(os.environ, PYSTACK_CORE_LIBRARY=debuggers.LIBRARY, PYTHONDONTWRITEBYTECODE="1"))


def test_host_of_a_core_that_becomes_shorter(crashed, tmp_path):
    for maps_files, ends in ((1, -signal.SIGBUS), (0, 0)):
        core = shutil.copy(crashed[0], tmp_path / "copy")
        done = run_host(core, core, maps_files, 0)
        assert done.returncode == ends, done.stderr
    assert done.stdout.startswith("lives 0 ")


def shorten_at_each_moment(core, path):
    """At one moment after the other, until its host is done before that comes; the host lives each time."""
    whole, moments = path.read_bytes(), 0
    for moment in list(range(1, 12)) + list(range(12, 200, 16)):
        path.write_bytes(whole)
        done = run_host(core, path, 0, moment)
        assert done.returncode == 0 and done.stdout.startswith("lives 0 "), done.stderr
        moments += "True" in done.stdout
        if "True" not in done.stdout:
            break
    assert moments > 3


def test_host_of_a_module_that_becomes_shorter(crashed):
    core, program = crashed
    shorten_at_each_moment(core, program)


def test_host_of_a_module_of_700_megabytes(crashed, monkeypatch, tmp_path):
    """It is more than is copied into memory. Its blocks are reserved and were never written, which costs nothing."""
    core, program = crashed
    whole, moments = program.read_bytes(), 0
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    for moment in (1, 3, 5, 20, 100):
        program.write_bytes(whole)
        with open(program, "r+b") as file:
            try:
                os.posix_fallocate(file.fileno(), len(whole), 700 << 20)
            except OSError:
                pytest.skip("no room for 700 MB")
        done = run_host(core, program, 0, moment)
        assert done.returncode == 0 and done.stdout.startswith("lives 0 "), done.stderr
        moments += "True" in done.stdout
    assert moments > 1


def test_host_of_split_debug_information_that_becomes_shorter(tmp_path, monkeypatch):
    """libdw would map a .dwo by its name: it is given a copy."""
    if not cores.kernel_writes_here() or analyzer.SANITIZED:
        pytest.skip("the kernel writes no core files here, or the library is a sanitizer's")
    (tmp_path / "program.c").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    cores.compile_c([str(tmp_path / "program.c")], str(tmp_path / "program"), "-g", "-gsplit-dwarf", "-O0")
    subprocess.run(["sh", "-c", "ulimit -c unlimited; exec ./program"], check=False)
    core, = (path for path in tmp_path.iterdir() if path.name.startswith("core"))
    split, = tmp_path.glob("*.dwo")
    assert "program.c:" in analyzer.run(core).stdout
    whole = split.read_bytes()
    shorten_at_each_moment(core, split)
    split.write_bytes(whole)
    ends = [shorten_while_mapped(split, core) for _ in range(3)]
    assert {code for code, _ in ends} <= {analyzer.EXIT_COMPLETE, analyzer.EXIT_PARTIAL}, ends


def test_debugger_whose_modules_become_shorter(crashed):
    """Again and again, from outside. gdb is told of the core alone, so that it opens none of them itself."""
    core, program = crashed
    whole, ends = program.read_bytes(), threading.Event()

    def cut():
        while not ends.is_set():
            with open(program, "r+b") as file:
                for _ in range(50):
                    file.write(whole)
                    file.flush()
                    file.truncate(0)
                    file.seek(0)

    cutter = threading.Thread(target=cut)
    cutter.start()
    try:
        answers = debuggers.gdb(["core-file %s" % core, "py-bt-merged --all"] * 25)
    finally:
        ends.set()
        cutter.join()
    shown = [answer for answer in answers[1::2] if "#0" in answer]
    assert len(shown) == 25, answers
