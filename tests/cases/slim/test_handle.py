"""pystack-core handle: a core comes through a pipe while its process is held; crashes lists what it kept."""
import json
import os
import re
import resource
import shutil
import struct
import subprocess

import pytest

import analyzer
import debuggers
import interpreters

needs_gdb = pytest.mark.skipif(not shutil.which("gdb"), reason="no gdb here")
PROGRAM = """
import ctypes, threading, time
def wait(name):
    time.sleep(600)
for number in range(2):
    threading.Thread(target=wait, args=("n%d" % number,), daemon=True).start()
big = bytearray(MEGABYTES << 20)
def die(what):
    ctypes.string_at(0)
die({"a": [1, 2, "three"]})
"""
# gdb holds the process where it took its signal, as the kernel does, and writes its core.
HOLDER = """
python
import subprocess
gdb.execute("run")
gdb.execute("gcore %(core)s")
pid = gdb.selected_inferior().pid
reorder(%(core)r, %(stream)r)
command = [word.replace("PID", str(pid)) for word in %(command)r]
with open(%(stream)r, "rb") as stream:
    done = subprocess.run(command, stdin=stream, capture_output=True)
with open(%(told)r, "w") as told:
    json.dump({"pid": pid, "code": done.returncode, "out": done.stdout.decode(), "err": done.stderr.decode()}, told)
gdb.execute("kill")
end
"""


def reorder(core, stream):
    """A core as the kernel writes it: its notes stand behind the program headers, before all memory."""
    with open(core, "rb") as file:
        data = file.read()
    at, = struct.unpack_from("<Q", data, 32)
    count, = struct.unpack_from("<H", data, 56)
    heads = [list(struct.unpack_from("<IIQQQQQQ", data, at + 56 * i)) for i in range(count)]
    notes = b"".join(data[head[2]:head[2] + head[5]] for head in heads if head[0] == 4)
    note = next(head for head in heads if head[0] == 4)
    loads = [head for head in heads if head[0] == 1]
    end = 64 + 56 * (1 + len(loads))
    note[2], note[5] = end, len(notes)
    end = (end + len(notes) + 4095) & -4096
    memory = []
    for head in loads:
        memory.append(data[head[2]:head[2] + head[5]])
        head[2] = end
        end += head[5]
    first = bytearray(data[:64])
    struct.pack_into("<QQ", first, 32, 64, 0)
    struct.pack_into("<HHH", first, 56, 1 + len(loads), 0, 0)
    begin = bytes(first) + b"".join(struct.pack("<IIQQQQQQ", *head) for head in [note] + loads) + notes
    with open(stream, "wb") as file:
        file.write(begin + bytes(-len(begin) % 4096) + b"".join(memory))


def held(folder, *options, megabytes=8, by_kernel=True, program=PROGRAM, number=11):
    """What handle said of a process that is held, and its core: as the kernel writes it, or as gdb does."""
    (folder / "program.py").write_text(program.replace("MEGABYTES", str(megabytes)))
    one = interpreters.find_system() or interpreters.find_wanted()[-1]
    store = folder / "store"
    stream = folder / ("stream.core" if by_kernel else "big.core")
    names = {"core": str(folder / "big.core"), "stream": str(stream), "told": str(folder / "told.json"),
             "command": [analyzer.PROGRAM, "handle", "PID", str(os.geteuid()), str(os.getegid()), str(number),
                         "--store", str(store), "--time-limit", "600", *options]}
    here = os.path.abspath(__file__)
    (folder / "commands.gdb").write_text(
        "set pagination off\nset confirm off\nset startup-with-shell off\npython\nimport json, struct, re\n"
        "text = open(%r).read()\nexec(re.search('def reorder.*?(?=\\n\\n\\n)', text, re.S).group(0))\nend\n%s"
        % (here, (HOLDER if by_kernel else HOLDER.replace("reorder(", "(lambda core, stream: None)(")) % names))
    done = subprocess.run(["gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off", "-x", str(folder / "commands.gdb"),
                           "--args", one.path, "-s", str(folder / "program.py")],
                          capture_output=True, check=False, timeout=1200, stdin=subprocess.DEVNULL)
    if not (folder / "told.json").exists():
        pytest.skip("gdb cannot hold it here: %s" % done.stderr.decode()[-400:])
    told = json.loads((folder / "told.json").read_text())
    assert "Sanitizer" not in told["err"] and "runtime error" not in told["err"], told["err"]
    return told, store


def crashes(store, *words):
    return analyzer.run("crashes", "--store", store, *words)


def only_crash(store):
    listed = crashes(store, "--format", "json")
    assert listed.returncode == 0, listed.describe()
    return json.loads(listed.stdout)


def named(text, name):
    return text.replace(str(name), "CORE")


@needs_gdb
def test_report_and_small_core_of_a_held_process(tmp_path):
    passed = tmp_path / "passed.core"
    told, store = held(tmp_path, "--then", "cp", "/dev/stdin", str(passed))
    assert told["code"] == 0, told
    crash = only_crash(store)
    assert crash["pid"] == told["pid"] and crash["signal"] == 11 and "die" in crash["title"], crash
    assert passed.read_bytes() == (tmp_path / "stream.core").read_bytes()
    kept = store / crash["id"]
    assert sorted(os.listdir(kept)) == ["core", "crash.json", "report.json", "report.txt"]
    assert oct(os.stat(store).st_mode)[-3:] == "700" and oct(os.stat(kept / "core").st_mode)[-3:] == "600"
    big = analyzer.run(tmp_path / "stream.core")
    assert named(big.stdout, tmp_path / "stream.core") == named((kept / "report.txt").read_text(), kept / "core")
    analyzer.assert_fits_schema(json.loads((kept / "report.json").read_text()))
    for options in (["--format", "json", "--all", "--locals=python", "--tasks"], ["--mode", "native"]):
        big, small = analyzer.run(*options, tmp_path / "stream.core"), analyzer.run(*options, kept / "core")
        assert named(big.stdout, tmp_path / "stream.core") == named(small.stdout, kept / "core"), options
    shown = crashes(store, "show", crash["id"])
    assert shown.stdout.startswith((kept / "report.txt").read_text())
    assert crash["id"] in crashes(store).stdout and "die" in crashes(store).stdout
    assert crashes(store, "prune", crash["id"]).returncode == 0 and not kept.exists()


@needs_gdb
def test_notes_behind_the_memory(tmp_path):
    """As gdb's gcore writes a core: they are read past what stands before them."""
    told, store = held(tmp_path, megabytes=80, by_kernel=False)
    assert told["code"] == 0, told
    crash = only_crash(store)
    kept = store / crash["id"]
    assert sorted(os.listdir(kept)) == ["core", "crash.json", "report.json", "report.txt"]
    assert (kept / "core").stat().st_size < 8 << 20
    asked: list[list[str]] = [[], ["--format", "json", "--all", "--locals=python"]]
    for options in asked:
        big, small = analyzer.run(*options, tmp_path / "big.core"), analyzer.run(*options, kept / "core")
        assert named(big.stdout, tmp_path / "big.core") == named(small.stdout, kept / "core"), options
    # Passed on, it is not kept, and it is not read twice.
    with open(tmp_path / "big.core", "rb") as stream:
        done = analyzer.run("handle", "--store", tmp_path / "other", os.getpid(), "--then", "cp", "/dev/stdin",
                            tmp_path / "passed.core", stdin=stream)
    assert "its notes stand behind its memory, which is passed on" in done.stderr, done.describe()
    assert subprocess.run(["cmp", tmp_path / "big.core", tmp_path / "passed.core"]).returncode == 0
    with open(tmp_path / "cut.core", "wb") as cut:
        cut.write((tmp_path / "big.core").read_bytes()[:70 << 20])
    with open(tmp_path / "cut.core", "rb") as stream:
        done = handle(tmp_path / "other", stream)
    assert done.returncode == 1 and "it ends before its notes" in done.stderr, done.describe()


@needs_gdb
@pytest.mark.skipif(analyzer.SANITIZED, reason="no limit of memory there")
def test_a_failure_leaves_the_head(tmp_path):
    passed = tmp_path / "passed.core"
    told, store = held(tmp_path, "--memory-limit", "1", "--then", "cp", "/dev/stdin", str(passed))
    assert told["code"] == 1, told
    crash = only_crash(store)
    assert crash["problem"]
    head = (store / crash["id"] / "head").read_bytes()
    stream = (tmp_path / "stream.core").read_bytes()
    assert stream.startswith(head) and 1000 < len(head) < len(stream)
    assert passed.read_bytes() == stream
    shown = crashes(store, "show", crash["id"])
    assert shown.returncode == 2 and "no report could be made" in shown.stderr


def handle(store, stdin, *options, pid=None):
    return analyzer.run("handle", "--store", store, *options, pid or os.getpid(), stdin=stdin)


def test_what_is_no_core(tmp_path):
    store = tmp_path / "store"
    result = handle(store, subprocess.DEVNULL)
    assert result.returncode == 2 and "is to be a core" in result.stderr, result.describe()
    (tmp_path / "text").write_text("no core " * 100)
    with open(tmp_path / "text") as file:
        assert handle(store, file).returncode == 1
    assert "no core" in only_crash(store)["problem"]
    with open(debuggers.some_core("threads").path, "rb") as file:  # of a process that is not there
        gone = analyzer.run("handle", "--store", store, 999999999, stdin=file)
    assert gone.returncode == 1 and "handle" not in gone.stdout
    assert len(crashes(store, "--format", "json").stdout.splitlines()) == 2


def test_a_store_that_is_not_trusted(tmp_path):
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "open").mkdir()
    os.chmod(tmp_path / "open", 0o755)
    (tmp_path / "text").write_text("x" * 100)
    for name, says in (("link", "it is a link"), ("open", "open to others")):
        with open(tmp_path / "text") as file:
            result = handle(tmp_path / name, file)
        assert result.returncode == 2 and says in result.stderr, result.describe()
    assert not list((tmp_path / "real").iterdir())


def test_limits(tmp_path):
    store = tmp_path / "store"
    (tmp_path / "text").write_text("x" * 100)
    for _ in range(4):
        with open(tmp_path / "text") as file:
            assert handle(store, file, "--max-count", "3").returncode == 1
    ids = [json.loads(line)["id"] for line in crashes(store, "--format", "json").stdout.splitlines()]
    assert len(ids) == 3 and ids == sorted(ids) and all(re.fullmatch(r"\d{8}-\d{6}-\d+(-\d+)?", one) for one in ids)
    assert crashes(store, "prune", "--max-count", "1").stdout == "2 removed\n"
    assert only_crash(store)["id"] == ids[-1]
    for bad in ("../store", "nothing", ids[0]):
        assert crashes(store, "show", bad).returncode == 2
        assert crashes(store, "prune", bad).returncode == 2


def test_memory_that_is_not_there(tmp_path):
    """A head that claims 64 terabytes of the process: what it does not have is not asked for page by page."""
    with open(debuggers.some_core("threads").path, "rb") as file:
        data = bytearray(file.read())
    table, = struct.unpack_from("<Q", data, 32)
    count, = struct.unpack_from("<H", data, 56)
    first = next(at for at in range(table, table + 56 * count, 56) if struct.unpack_from("<I", data, at)[0] == 1)
    struct.pack_into("<I", data, first + 4, 6)
    struct.pack_into("<QQ", data, first + 32, 1 << 46, 1 << 46)
    (tmp_path / "stream").write_bytes(data)
    process = subprocess.Popen(["sleep", "1000"])
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        with open(tmp_path / "stream", "rb") as file:
            result = handle(tmp_path / "store", file, "--time-limit", "100", pid=process.pid)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    finally:
        process.kill()
        process.wait()
    assert result.returncode in (0, 1), result.describe()
    if not analyzer.SANITIZED:
        assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 5


def test_damaged_entries(tmp_path):
    store = tmp_path / "store"
    (tmp_path / "text").write_text("x" * 100)
    with open(tmp_path / "text") as file:
        assert handle(store, file).returncode == 1
    good = only_crash(store)
    for name, text in (("20200101-000000-1", "no JSON"), ("20200101-000000-2", None), ("20200101-000000-3", '{"time": "x"}')):
        (store / name).mkdir(mode=0o700)
        if text:
            (store / name / "crash.json").write_text(text)
    (store / "20200101-000000-4").write_text("no folder")
    (store / "20200101-000000-5").symlink_to(tmp_path)
    listed = [json.loads(line) for line in crashes(store, "--format", "json").stdout.splitlines()]
    assert len(listed) == 4 and listed[3] == good
    for one in listed:
        analyzer.assert_fits_schema(one)
    assert [one["problem"] for one in listed[:3]] == ["its record cannot be read"] * 3
    assert crashes(store).stdout.count("its record cannot be read") == 3
    assert crashes(store, "prune", *(one["id"] for one in listed[:3])).returncode == 0
    assert only_crash(store) == good and (tmp_path / "text").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to be refused")
def test_without_rights(tmp_path):
    """Root, without the right to pass over modes, is as any other user to a store that is somebody else's."""
    store = tmp_path / "store"
    store.mkdir(mode=0o700)
    os.chown(store, 65534, 65534)
    if not shutil.which("setpriv"):
        pytest.skip("no setpriv here")
    away = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-dac_override,-dac_read_search"]
    ways: list = [[], ["prune"]]
    for words in ways:
        result = analyzer.run("crashes", "--store", store, *words, through=away)
        assert result.returncode == 2 and "run it as root" in result.stderr, result.describe()
    missing = crashes(tmp_path / "nothing")
    assert missing.returncode == 2 and "handle --install" in missing.stderr, missing.describe()


def system(folder, pattern):
    for place in ("proc/sys/kernel", "etc/sysctl.d"):
        os.makedirs(folder / place)
    (folder / "proc/sys/kernel/core_pattern").write_text(pattern + "\n")
    (folder / "proc/sys/kernel/core_pipe_limit").write_text("0\n")
    return folder / "proc/sys/kernel/core_pattern", folder / "etc/sysctl.d/60-pystack-core.conf"


def test_installing_and_undoing(tmp_path):
    before = "|/usr/lib/systemd/systemd-coredump %P"
    pattern, settings = system(tmp_path, before)
    result = analyzer.run("handle", "--install", "--root", tmp_path)
    assert result.returncode == 0, result.describe()
    line = pattern.read_text().strip()
    assert line == "|%s handle %%P %%u %%g %%s %%t" % os.path.realpath(analyzer.PROGRAM) and len(line) < 128
    assert "kernel.core_pattern=" + line in settings.read_text()
    assert analyzer.run("handle", "--install", "--root", tmp_path).returncode == 0  # twice: what was before stays known
    result = analyzer.run("handle", "--uninstall", "--root", tmp_path)
    assert result.returncode == 0 and pattern.read_text().strip() == before and not settings.exists(), result.describe()
    pattern.write_text("core.%p\n")
    assert "stays" in analyzer.run("handle", "--uninstall", "--root", tmp_path).stdout
    assert pattern.read_text() == "core.%p\n"
    long = analyzer.run("handle", "--install", "--root", tmp_path, "--store", "/" + "x" * 120)
    assert long.returncode == 2 and "longer than" in long.stderr


SENT = """
import signal, subprocess, sys
code = '''
import os, sys
with open("/proc/self/comm", "w") as name:
    name.write("a (sender) x")
os.kill(os.getppid(), 6)
sys.stdin.read(%d)
'''
signal.pthread_sigmask(signal.SIG_BLOCK, BLOCKED)
child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE)
child.wait()
signal.pthread_sigmask(signal.SIG_UNBLOCK, [6])
"""


@needs_gdb
@pytest.mark.parametrize("lives", [True, False])
def test_who_sent_the_signal(lives, tmp_path):
    """It has its name while it is there, and its number alone when it is gone: here before the signal is taken."""
    program = (SENT % (-1 if lives else 0)).replace("BLOCKED", "[]" if lives else "[6]")
    told, store = held(tmp_path, program=program, number=6)
    assert told["code"] == 0, told
    crash = json.loads((store / only_crash(store)["id"] / "report.json").read_text())["crash"]
    sent = "sent by pid %d" % crash["sender_pid"]
    assert crash["sender_pid"] != told["pid"] and crash["cause"] == "sent"
    assert crash["summary"] == (sent + " a (sender) x" if lives else sent)
