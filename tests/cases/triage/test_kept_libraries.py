"""What triage knows of libraries is kept between cores: no report differs from that of the core alone."""
import gzip
import json
import os
import re
import shutil
import signal
import subprocess

import pytest

import analyzer
import cython_core
import interpreters

PROGRAMS = ("""import ctypes
def first(depth):
    return first(depth - 1) if depth else ctypes.string_at(0)
first(%d)
""", """import ctypes, faulthandler, json
faulthandler.enable()
def second(depth):
    return second(depth - 1) if depth else ctypes.string_at(0)
json.loads('[1]')
second(%d)
""", """import os, threading
wait = threading.Event()
threading.Thread(target=wait.wait, daemon=True).start()
def third(depth):
    return third(depth - 1) if depth else os.abort()
third(%d)
""")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Cores of two interpreters and three programs; one is cut off, one is packed, one has a file that is not there."""
    top = tmp_path_factory.mktemp("kept")
    pythons = [found for found in interpreters.find_all() if found.minor >= (3, 7) and not found.root]
    chosen = [found for found in pythons if found.path.startswith("/usr")][:1] + \
        [found for found in pythons if not found.path.startswith("/usr")][:1]
    if not chosen:
        pytest.skip("no interpreter here")
    for number in range(8):
        work = top / ("work%d" % number)
        work.mkdir()
        (work / "dies.py").write_text(PROGRAMS[number % 3] % number)
        subprocess.run(["sh", "-c", 'ulimit -c unlimited; exec "$@"', "sh", chosen[number % len(chosen)].path, "-s", "dies.py"],
                       cwd=work, capture_output=True, timeout=600, check=False)
        (work / "core").rename(top / ("core.%d" % number))
    data = (top / "core.0").read_bytes()
    (top / "core.cut").write_bytes(data[:len(data) // 2])
    with gzip.open(top / "core.packed.gz", "wb", 1) as packed:
        packed.write(data)
    # Pointers of its heap lead elsewhere: it is damaged, the next ones are not.
    damaged = bytearray(data)
    for at in range(len(data) // 2, len(data) - 8, 4096):
        damaged[at:at + 8] = b"\x41\x7f\0\0\0\x40\0\0"
    (top / "core.damaged").write_bytes(damaged)
    return top


@pytest.fixture(scope="module")
def alone(folder):
    """The report of each core alone, as bytes of JSON."""
    return {name: line_of(analyzer.run("--format", "json", name, cwd=folder).stdout) for name in names(folder)}


def line_of(text):
    return json.dumps(json.loads(text), sort_keys=True)


def names(folder):
    return sorted(name for name in os.listdir(folder) if name.startswith("core"))


def reports(text):
    return {json.loads(line)["target"]["path"]: line_of(line) for line in text.splitlines()}


@pytest.mark.parametrize("jobs", (1, 2, 5))
def test_as_alone(folder, alone, jobs):
    result = analyzer.run("triage", "-j", jobs, "--format", "ndjson", ".", cwd=folder)
    found = {os.path.basename(path): line.replace('"./core', '"core') for path, line in reports(result.stdout).items()}
    assert found.keys() == alone.keys()
    for name, line in found.items():
        assert line == alone[name], name


def test_any_order(folder, alone, tmp_path):
    """Which core is looked at first, and teaches the others, is all the same."""
    for number, name in enumerate(reversed(names(folder))):
        os.symlink(folder / name, tmp_path / ("%02d" % number))
    result = analyzer.run("triage", "-j", 2, "--format", "ndjson", *sorted(os.listdir(tmp_path)), cwd=tmp_path)
    found = reports(result.stdout)
    assert len(found) == len(alone)
    for number, name in enumerate(reversed(names(folder))):
        assert found["%02d" % number].replace('"%02d"' % number, '"%s"' % name) == alone[name], name


def children_of(pid):
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
            return file.read().split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def test_keeper_dies(folder, alone):
    """Whoever keeps it may die at any time: the cores are looked at all the same."""
    command = [analyzer.PROGRAM, "triage", "-j", "2", "--format", "ndjson", "."]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          stdin=subprocess.DEVNULL) as process:
        killed = 0
        while process.poll() is None and not killed:
            children = children_of(process.pid)
            # Of the one who makes processes; it is made before the others.
            for child in children_of(int(children[0]))[:1] if children else []:
                try:
                    os.kill(int(child), signal.SIGKILL)
                    killed += 1
                except ProcessLookupError:
                    pass
        output, errors = process.communicate(timeout=analyzer.WALL_SECONDS)
    found = reports(output.decode())
    assert len(found) == len(alone), errors
    for path, line in found.items():
        assert line.replace('"./core', '"core') == alone[os.path.basename(path)], path


@pytest.mark.skipif(not shutil.which("strace") or analyzer.SANITIZED, reason="no strace here, or a sanitizer's program")
def test_libraries_are_read_once(folder, tmp_path):
    trace = tmp_path / "calls"
    subprocess.run(["strace", "-f", "-qq", "-e", "trace=openat,openat2", "-o", trace, analyzer.PROGRAM, "triage", "-j", "1",
                    *["core.%d" % number for number in range(8)]], cwd=folder, capture_output=True, timeout=600, check=True)
    # Those of the parsers are trapped: they show the number of the call in place of a descriptor.
    opened = [line for line in trace.read_text().splitlines() if re.search(r"/libc\.so\.6.*O_PATH.* = \d\d?$", line)]
    # For the first core of each interpreter and for the one who keeps it, not for all eight.
    assert 0 < len(opened) < 8, opened


CORES = ["core.%d" % number for number in range(4)]


@pytest.fixture(scope="module", params=["O2", "O2-stripped", "moved"])
def built(request, tmp_path_factory):
    """Four names of one core with a module of Cython's, and what shows its sources."""
    core = cython_core.make_cython_core(request.param)
    top = tmp_path_factory.mktemp("built")
    for name in CORES:
        os.symlink(core, top / name)
    elsewhere = os.path.join(os.path.dirname(core), "elsewhere")
    options = ["--source-dir", elsewhere] if request.param == "moved" else []
    return top, options


def test_sources_of_cython(built):
    """Also what is known of generated C, of debug XML, and of where the .pyx lies."""
    top, options = built
    own = line_of(analyzer.run("--format", "json", *options, "core.0", cwd=top).stdout)
    assert "kern.pyx" in own
    result = analyzer.run("triage", "-j", 1, "--format", "ndjson", *options, *CORES, cwd=top)
    found = reports(result.stdout)
    assert sorted(found) == CORES
    for path, line in found.items():
        assert line.replace('"%s"' % path, '"core.0"') == own, path


@pytest.mark.skipif(not shutil.which("strace") or analyzer.SANITIZED, reason="no strace here, or a sanitizer's program")
def test_sources_of_cython_are_read_once(built, tmp_path):
    top, options = built
    trace = tmp_path / "calls"
    subprocess.run(["strace", "-f", "-qq", "-e", "trace=openat,openat2", "-o", trace, analyzer.PROGRAM, "triage", "-j", "1",
                    *options, *CORES],
                   cwd=top, capture_output=True, timeout=600, check=True)
    opened = [line for line in trace.read_text().splitlines() if re.search(r'/kern\.c".*O_PATH.* = \d\d?$', line)]
    # By the first core and the one who keeps it: to look whether it is there, and to read it.
    assert len(opened) <= 8, opened


@pytest.mark.skipif(not shutil.which("strace") or analyzer.SANITIZED, reason="no strace here, or a sanitizer's program")
@pytest.mark.parametrize("mode,kept", [(0o755, True), (0o775, False), (0o757, False)])
def test_what_others_can_write_is_not_kept(tmp_path, mode, kept):
    """A library that somebody else could change between two cores is opened for each; the reports are the same."""
    (tmp_path / "own.c").write_text("void die(void) { *(volatile int *)0 = 1; }\nint main(void) { die(); }\n")
    subprocess.run(["cc", "-g", "-o", "own", "own.c"], cwd=tmp_path, check=True)
    (tmp_path / "own").chmod(mode)
    subprocess.run(["sh", "-c", "ulimit -c unlimited; exec ./own"], cwd=tmp_path, capture_output=True, check=False)
    if not (tmp_path / "core").exists():
        pytest.skip("the kernel leaves no core file here")
    (tmp_path / "core").rename(tmp_path / CORES[0])
    for name in CORES[1:]:
        shutil.copy(tmp_path / CORES[0], tmp_path / name)
    done = subprocess.run(["strace", "-f", "-qq", "-e", "trace=openat,openat2", "-o", "calls", analyzer.PROGRAM, "triage",
                           "-j", "1", "--format", "ndjson", *CORES], cwd=tmp_path, capture_output=True, timeout=600, check=False)
    assert done.returncode == analyzer.EXIT_PARTIAL, done  # There is no Python in it.
    opened = [line for line in (tmp_path / "calls").read_text().splitlines() if re.search(r'/own", .*O_PATH.* = \d\d?$', line)]
    assert len(opened) < len(CORES) if kept else len(opened) >= len(CORES), opened
    assert {json.loads(line)["threads"][0]["frames"][0]["function"] for line in done.stdout.splitlines()} == {"die"}
