"""Programs of a musl userland, of whose libc no unwind rule is at hand, in a root without anything else."""
import contextlib
import functools
import glob
import json
import os
import re
import shutil
import signal
import subprocess

import pytest

import analyzer
import cores
import living

SOURCE = os.path.join(cores.PROGRAMS, "musl_threads.c")
LOADER = "/lib/ld-musl-x86_64.so.1"

pytestmark = [pytest.mark.skipif(shutil.which("musl-gcc") is None or not os.path.exists(LOADER),
                                 reason="needs musl-gcc (Debian: musl-tools)"),
              pytest.mark.skipif(os.geteuid() != 0, reason="needs root")]

# Of each thread the program's own functions, innermost first.
OWN = {("wait_in_sleep", *["descend"] * 4, "main"), ("wait_in_condition", "run_condition"),
       ("wait_in_read", "run_read"), ("spin", "run_spin"), ("compare", "wait_in_sort", "run_sort")}
NAMES = {name for names in OWN for name in names}
# The kernel's calls that they wait in: nanosleep, pause, read, futex, clock_nanosleep.
WAITING = {"35", "34", "0", "202", "230"}


@functools.lru_cache(maxsize=None)
def program(kind, optimization):
    """Its root folder; its name in there is /program."""
    flags = [optimization, "-fasynchronous-unwind-tables", *(["-static"] if kind == "static" else [])]

    def make(folder):
        os.mkdir(os.path.join(folder, "lib"))
        subprocess.run(["musl-gcc", *flags, SOURCE, "-o", os.path.join(folder, "program")], check=True)
        if kind == "dynamic":
            shutil.copy(LOADER, os.path.join(folder, "lib"))

    with open(SOURCE) as file:
        key = cores.digest(file.read(), flags, os.stat(LOADER).st_mtime_ns)
    return cores.made_once("musl-%s%s" % (kind, optimization), key, make)


@contextlib.contextmanager
def waiting(root, *around, **more):
    """The program, of which all threads but the one that spins have come to rest."""
    with living.running([*around, "chroot", root, "/program"], **more) as process:
        def resting():
            calls = []
            for task in os.listdir("/proc/%d/task" % process.pid):
                with open("/proc/%d/task/%s/syscall" % (process.pid, task)) as file:
                    calls.append(file.read().split()[0])
            # The one that spins has been at it for some ticks.
            return len(calls) == 5 and sum(call in WAITING for call in calls) == 4 and \
                living.cpu_ticks(process.pid) > 3
        living.wait_until(resting, "the threads to rest")
        yield process


@functools.lru_cache(maxsize=None)
def code_of(root):
    """Of a static program by function: its direct calls by return address, and whither it jumps."""
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", os.path.join(root, "program")],
                          check=True, capture_output=True, text=True).stdout
    calls: dict = {}
    jumps: dict = {}
    name, called = None, None
    for line in text.splitlines():
        head = re.match(r"[0-9a-f]+ <(.+)>:$", line)
        name = head[1] if head else name
        item = re.match(r" +([0-9a-f]+):\t(\S+) *(.*)", line)
        if not item:
            continue
        if called is not None:
            calls[int(item[1], 16)] = called
        target = re.search(r"<([^+>]+)", item[3])
        whither = target[1] if target and not item[3].startswith("*") else "*"
        called = whither if item[2].startswith("call") else None
        if item[2].startswith("jmp"):
            jumps.setdefault(name, set()).add(whither)
    return calls, jumps


def may_become(code, called, inner):
    """Whether a call of one function can be seen as another's, to which it jumps at its end."""
    seen, todo = set(), [called]
    while todo:
        name = todo.pop()
        if name in (inner, "*"):
            return True
        if name not in seen:
            seen.add(name)
            todo += code[1].get(name, ())
    return False


def assert_stacks(document, root, kind):
    assert len(document["threads"]) == 5
    found = set()
    for thread in document["threads"]:
        assert not analyzer.gaps(thread), thread
        frames = thread["frames"]
        names = [frame["function"] for frame in frames]
        found.add(tuple(name for name in names if name in NAMES))
        if "main" in names:
            assert names[-1] == "_start", names
        elif kind == "static":
            assert names[-1] == "__clone", names
        # What is not the program's own is musl's.
        if kind == "dynamic":
            assert all(frame["module"] == LOADER for frame in frames
                       if frame["function"] not in NAMES | {"_start"}), frames
        else:
            code = code_of(root)
            for inner, outer in zip(names, frames[1:]):
                called = code[0].get(int(outer["pc"], 16))
                assert called and may_become(code, called, inner), (inner, outer, called, names)
    assert found == OWN, found


@pytest.mark.parametrize("optimization", ["-O2", "-O0"])
@pytest.mark.parametrize("kind", ["dynamic", "static"])
def test_from_the_host(kind, optimization):
    root = program(kind, optimization)
    with waiting(root) as process:
        result = living.report(process.pid, "--mode", "native", "--format", "json")
        merged = living.report(process.pid)
    assert result.returncode == analyzer.EXIT_COMPLETE, result.describe()
    assert result.json["target"]["executable"] == "/program"
    assert_stacks(result.json, root, kind)
    assert merged.returncode == analyzer.EXIT_PARTIAL, merged.describe()
    assert "no Python interpreter was found" in merged.stderr


def carry(folder):
    """The program with the glibc that it needs, for a userland that has none."""
    folder.mkdir()
    listed = subprocess.run(["ldd", analyzer.PROGRAM], check=True, capture_output=True, text=True).stdout
    for library in {analyzer.PROGRAM, *re.findall(r"(/\S+) \(0x", listed)}:
        shutil.copy(library, folder)


@pytest.mark.skipif(not living.can_unshare(), reason="no mounts of our own here (unshare -m fails)")
def test_from_inside(tmp_path):
    root = tmp_path / "root"
    shutil.copytree(program("dynamic", "-O2"), root)
    carry(root / "carried")
    (root / "proc").mkdir()
    mounting = ["unshare", "-m", "sh", "-c", 'mount -t proc proc "$2/proc" && exec "$@"', "sh"]
    with waiting(str(root), *mounting) as process:
        inside = subprocess.run(
            ["nsenter", "-t", str(process.pid), "-m", "-r", "-w", "/carried/ld-linux-x86-64.so.2", "--library-path",
             "/carried", "/carried/" + os.path.basename(analyzer.PROGRAM), "--pid", str(process.pid), "--mode",
             "native", "--format", "json"], capture_output=True, timeout=600)
    assert inside.returncode == analyzer.EXIT_COMPLETE, inside.stderr
    assert_stacks(json.loads(inside.stdout), str(root), "dynamic")


@pytest.mark.parametrize("kind", ["dynamic", "static"])
def test_saved_core(kind, tmp_path):
    root = program(kind, "-O2")
    with waiting(root) as process:
        saved = living.report(process.pid, "--mode", "native", "--save-core", tmp_path / "core")
    assert saved.returncode == analyzer.EXIT_COMPLETE, saved.describe()
    result = analyzer.run(tmp_path / "core", "--sysroot", root, "--mode", "native", "--format", "json")
    assert_stacks(result.json, root, kind)


@pytest.mark.parametrize("kind", ["dynamic", "static"])
def test_core_of_the_kernel(kind, tmp_path):
    if not cores.kernel_writes_here():
        pytest.skip("the kernel writes core files elsewhere")
    root = tmp_path / "root"
    shutil.copytree(program(kind, "-O2"), root)
    with waiting(str(root), preexec_fn=cores._allow_cores) as process:
        process.send_signal(signal.SIGABRT)
        process.wait(timeout=600)
    core, = glob.glob(os.path.join(glob.escape(str(root)), "core*"))
    result = analyzer.run(core, "--sysroot", root, "--mode", "native", "--format", "json")
    assert_stacks(result.json, program(kind, "-O2"), kind)
