"""A living process, saved as a core file: it says the same, here and in other tools."""
import os
import re
import shutil
import signal
import struct
import subprocess

import pytest

import analyzer
import cores
import elf
import interpreters
import living
import resting

SLOW = True  # A third of the interpreters, unless thoroughly.
LOOKS = 2 if analyzer.SANITIZED else 4


def start_busy(interpreter):
    return living.running([interpreter.path, "-s", living.BUSY, "600"])


def one():
    return interpreters.find_system() or interpreters.find_wanted()[-1]


def save(pid, core, *options, kind="--save-core", **more):
    """One report, as text and as JSON, and its core: (the result, the text)."""
    text = str(core) + ".txt"
    result = living.report(pid, kind, core, "--format", "json", "--output", "text=" + text, "--all",
                         *options, **more)
    assert result.returncode == analyzer.EXIT_COMPLETE, result.describe()
    with open(text) as file:
        return result, file.read()


def body(document):
    """All but the header, which says where it comes from, and what only a living system tells."""
    document = living.as_of_memory(document)
    target = {key: value for key, value in document["target"].items()
              if key not in ("kind", "path", "pause")}
    return {**document, "target": target}


def rest(text):
    return re.sub(" · (waits for|sleeps).*", "", text.split("\n", 2)[2])


def assert_says_the_same(core, live, text):
    dead = analyzer.run("--format", "json", "--all", core)
    assert dead.returncode == analyzer.EXIT_COMPLETE, dead.describe()
    analyzer.assert_fits_schema(dead.json)
    assert dead.json["target"]["kind"] == "core" and live.json["target"]["kind"] == "process"
    assert body(dead.json) == body(live.json)
    assert rest(analyzer.run("--all", core).stdout) == rest(text)


# ---- it says the same ----

@pytest.mark.parametrize("kind", ["--save-core", "--save-core=full"])
def test_core_says_what_the_report_said(interpreter, kind, tmp_path):
    """Of a process that runs: the core is of that moment, not of another one."""
    core = tmp_path / "saved"
    with start_busy(interpreter) as process:
        for _ in range(LOOKS if kind == "--save-core" else 1):
            live, text = save(process.pid, core, kind=kind)
            assert_says_the_same(core, live, text)
            assert len(live.json["threads"]) >= 7
        living.assert_runs_free(process.pid)
        living.assert_works(process.pid)


def values_of_python_alone(document):
    """Variables of native frames point to memory that only a report with --locals reads."""
    for thread in document["threads"]:
        for frame in thread["frames"]:
            if frame["kind"] != "python":
                frame.pop("locals", None)
    return body(document)


def test_other_questions_later(interpreter, tmp_path):
    """What the report did not ask for is in its core: values, the other modes."""
    core = tmp_path / "saved"
    questions = [["--locals", "--all"], ["--mode", "native"], ["--mode", "python", "--locals"]]
    with start_busy(interpreter) as process, living.stopped(process):
        assert living.report(process.pid, "--save-core", core).returncode == analyzer.EXIT_COMPLETE
        live = [living.report(process.pid, "--format", "json", *words) for words in questions]
    for words, alive in zip(questions, live):
        dead = analyzer.run("--format", "json", *words, core)
        assert dead.returncode == alive.returncode == analyzer.EXIT_COMPLETE, dead.describe()
        assert values_of_python_alone(dead.json) == values_of_python_alone(alive.json), words


def test_all_values_of_the_same_moment(interpreter, tmp_path):
    core = tmp_path / "saved"
    with start_busy(interpreter) as process:
        live, text = save(process.pid, core, "--locals")
    dead = analyzer.run("--format", "json", "--all", "--locals", core)
    assert dead.returncode == analyzer.EXIT_COMPLETE, dead.describe()
    assert body(dead.json) == body(live.json)
    assert rest(analyzer.run("--all", "--locals", core).stdout) == rest(text)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can chroot")
def test_process_below_another_root(tmp_path):
    """Its core names files as the process does; --sysroot says where they are."""
    source = ("#include <stdio.h>\n#include <unistd.h>\n"
              "int work(void) { pause(); return 1; }\n"
              "int main(void) { puts(\"ready\"); fflush(stdout); return work(); }\n")
    shutil.copy(living.compiled("resting", source, "-static"), tmp_path / "inside")
    core = tmp_path / "saved"
    with living.running(["chroot", str(tmp_path), "/inside"]) as process:
        live, _ = save(process.pid, core, "--mode", "native")
    assert live.json["target"]["executable"] == "/inside"
    dead = analyzer.run("--format", "json", "--all", "--mode", "native", "--sysroot", tmp_path, core)
    assert dead.returncode == analyzer.EXIT_COMPLETE, dead.describe()
    assert body(dead.json) == body(live.json)
    assert "work" in [frame["symbol"] for frame in dead.json["threads"][0]["frames"]]


def test_program_that_was_deleted(tmp_path):
    """Its names are lost with it; its code and its unwind tables are in the core."""
    source = ("#include <stdio.h>\n#include <unistd.h>\n"
              "static volatile int kept;\n"
              "__attribute__((noinline)) void rest(void) { pause(); kept++; }\n"
              "__attribute__((noinline)) void work(void) { rest(); kept++; }\n"
              "int main(void) { puts(\"ready\"); fflush(stdout); work(); return kept; }\n")
    program = tmp_path / "program"
    shutil.copy(living.compiled("deleted", source, "-O1"), program)
    with living.running([str(program)]) as process:
        program.unlink()
        live, _ = save(process.pid, tmp_path / "saved", "--mode", "native")
    dead = analyzer.run("--format", "json", "--mode", "native", tmp_path / "saved").json
    pcs = analyzer.physical_pcs(live.json["threads"][0])
    assert {"rest", "work", "main"} <= {frame["symbol"] for frame in live.json["threads"][0]["frames"]}
    assert analyzer.physical_pcs(dead["threads"][0]) == pcs
    assert {frame["trust"] for frame in dead["threads"][0]["frames"]} == {"context", "cfi"}


# ---- other tools ----

def in_gdb(core, *commands):
    if shutil.which("gdb") is None:
        pytest.skip("no gdb here")
    words = [word for command in commands for word in ("-ex", command)]
    done = subprocess.run(["gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off", "-iex",
                           "set auto-load python-scripts off", *words, str(core)],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=600)
    return done.stdout.decode("utf-8", "replace")


@pytest.mark.parametrize("kind", ["--save-core", "--save-core=full"])
def test_gdb_reads_it(interpreter, kind, tmp_path):
    core = tmp_path / "saved"
    with start_busy(interpreter) as process:
        live, _ = save(process.pid, core, "--mode", "native", kind=kind)
    program = live.json["target"]["executable"]
    said = in_gdb(core, "file " + program, "core-file %s" % core, "info sharedlibrary",
                  "info threads", "echo stacks\\n", "thread apply all -q bt 200")
    libraries = set(re.findall(r"^0x\S+ +0x\S+ +Yes.*? (/\S+)$", said, re.M))
    loaded = {module["path"] for module in live.json["target"]["modules"]
              if module["path"] not in (program, "[vdso]")}
    assert {os.path.realpath(path) for path in libraries} == loaded
    threads = re.findall(r"^[* ] \d+ .*?LWP (\d+)", said, re.M)
    assert sorted(map(int, threads)) == sorted(thread["tid"] for thread in live.json["threads"])
    assert "Backtrace stopped" not in said and "previous frame" not in said, said[-4000:]
    # Each stack ends where threads begin, which has no name without libc's debug symbols; some thread
    # may be there this very moment, and of one that the kernel has just made gdb shows the zero above.
    outermost = {analyzer.physical_pcs(thread)[-1] for thread in live.json["threads"]}
    frames = [line for line in said.partition("\nstacks\n")[2].splitlines() if re.match(r"#\d+ ", line)
              and not re.match(r"#[1-9]\d* +0x0+ in \?\? \(\)$", line)]
    ends = [line for line, after in zip(frames, frames[1:] + ["#0 "]) if after.startswith("#0 ")]
    assert len(ends) == len(threads), said[-4000:]
    for end in ends:
        address, name = re.match(r"#\d+ +(?:0x(\S+) in )?(\S+) \(", end).groups()
        assert name in living.OUTERMOST or name == "??" and int(address, 16) in outermost, said[-4000:]


def test_elfutils_reads_it(interpreter, tmp_path):
    if shutil.which("eu-stack") is None:
        pytest.skip("no eu-stack here")
    core = tmp_path / "saved"
    with start_busy(interpreter) as process:
        live, _ = save(process.pid, core, "--mode", "native")
    # Told the program, it takes the list of modules from the linker; by itself it guesses from mappings,
    # of which libffi has two.
    done = subprocess.run(["eu-stack", "-b", "-n", "500", "-e", live.json["target"]["executable"],
                           "--core", str(core)], capture_output=True, timeout=600)
    said: dict = {}
    for line in done.stdout.decode().splitlines():
        if line.startswith("TID"):
            frames = said.setdefault(int(line[4:].rstrip(":")), [])
        elif line.startswith("#"):
            frames.append(int(line.split()[1], 16))
    assert sorted(said) == sorted(thread["tid"] for thread in live.json["threads"]), done.stderr
    for thread in live.json["threads"]:
        ours = known_pcs(thread)
        assert said[thread["tid"]][:len(ours)] == ours, (thread["tid"], done.stderr)


def known_pcs(thread):
    """
    Those of the frames that unwind information led to. A thread may stand for an instant where there is
    none, and each tool has a guess of its own there: in clone3() from its system call on, in the new
    thread and in the old one, and in libffi's trampolines.
    """
    frames = [frame for frame in thread["frames"] if not frame["inlined"]]
    guess = next((at for at, frame in enumerate(frames) if frame["trust"] not in ("context", "cfi")), None)
    return [int(frame["pc"], 16) for frame in frames[:guess]]


def test_notes_are_as_they_should_be(tmp_path):
    core = tmp_path / "saved"
    with start_busy(one()) as process:
        live, _ = save(process.pid, core)
    done = subprocess.run(["readelf", "-n", "-h", "-l", str(core)], capture_output=True, timeout=600,
                          env={"LC_ALL": "C", "PATH": os.environ["PATH"]})
    assert done.returncode == 0 and not done.stderr, done.stderr
    kinds = [(note.name, note.type) for note in elf.notes(core)]
    tids = len(live.json["threads"])
    # NT_PRSTATUS, NT_FPREGSET, NT_PRPSINFO, NT_AUXV, NT_FILE
    assert [kinds.count((b"CORE", kind)) for kind in (1, 2, 3, 6, elf.NT_FILE)] == [tids, tids, 1, 1, 1]
    assert kinds[0] == (b"CORE", 1) and kinds[1] == (b"CORE", 3)
    names = {thread["tid"] for thread in live.json["threads"]}
    noted = set()
    with open(core, "rb") as file:
        for note in elf.notes(core):
            if (note.name, note.type) == (b"CORE", 1):
                file.seek(note.offset + 32)
                noted.add(struct.unpack("<i", file.read(4))[0])
    assert noted == names


# ---- what is in it ----

MEMORY = """
import ctypes, mmap, os, sys, time
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int,
                      ctypes.c_long]
def anonymous(flags, text):
    where = libc.mmap(None, 1 << 20, 3, flags, -1, 0)
    ctypes.memmove(where + 4096, text, len(text))
    return where
private = anonymous(0x22, b"private memory")
shared = anonymous(0x21, b"shared memory")
excluded = anonymous(0x22, b"excluded memory")
assert libc.madvise(ctypes.c_void_p(excluded), ctypes.c_size_t(1 << 20), 16) == 0  # MADV_DONTDUMP
with open(sys.argv[1], "wb+") as file:
    file.write(b"a file's own words".ljust(1 << 20, b"."))
    file.flush()
    unchanged = libc.mmap(None, 1 << 20, 3, 2, file.fileno(), 0)
    changed = libc.mmap(None, 1 << 20, 3, 2, file.fileno(), 0)
    mapped = libc.mmap(None, 1 << 20, 3, 1, file.fileno(), 0)
ctypes.memmove(changed + 8192, b"changed", 7)
empty = libc.mmap(None, 1 << 34, 3, 0x4022, -1, 0)  # 16 GB of which nothing was ever touched.
with open(sys.argv[1] + ".places", "w") as file:
    print(private, shared, excluded, unchanged, changed, mapped, empty, file=file)
print("ready", flush=True)
time.sleep(600)
"""


def bytes_at(core, address, size):
    for header in elf.program_headers(core):
        if header.type == elf.PT_LOAD and header.vaddr <= address < header.vaddr + header.filesz:
            with open(core, "rb") as file:
                file.seek(header.offset + address - header.vaddr)
                return file.read(size)
    return None


def test_full_core_holds_what_the_kernel_would_dump(tmp_path):
    core, file = tmp_path / "saved", tmp_path / "file"
    with living.running([one().path, "-s", "-c", MEMORY, str(file)]) as process:
        places = (tmp_path / "file.places").read_text().split()
        private, shared, excluded, unchanged, changed, mapped, empty = map(int, places)
        result, _ = save(process.pid, core, kind="--save-core=full")
        with open("/proc/%d/coredump_filter" % process.pid, "w") as filter_file:
            filter_file.write("0x38")  # Shared files and headers, no anonymous memory.
        other, _ = save(process.pid, tmp_path / "other", kind="--save-core=full")
    assert bytes_at(core, private + 4096, 14) == b"private memory"
    assert bytes_at(core, private + 8192, 4) == b"\0\0\0\0"
    assert bytes_at(core, shared + 4096, 13) == b"shared memory"
    assert bytes_at(core, excluded + 4096, 8) is None
    assert bytes_at(core, unchanged + 4096, 8) is None
    assert bytes_at(core, changed + 8192, 7) == b"changed"
    assert bytes_at(core, changed, 18) == b"a file's own words"
    assert bytes_at(core, mapped, 18) is None
    assert bytes_at(core, empty, 1) is None
    assert bytes_at(tmp_path / "other", mapped, 18) == b"a file's own words"
    assert bytes_at(tmp_path / "other", private + 4096, 8) is None
    # Sparse, and no code that the files have.
    assert os.stat(core).st_blocks * 512 < 64 << 20
    assert result.json["target"]["pause"] < 20000


def test_small_core_holds_no_more_than_was_looked_at(tmp_path):
    core, file = tmp_path / "saved", tmp_path / "file"
    with living.running([one().path, "-s", "-c", MEMORY, str(file)]) as process:
        private = int((tmp_path / "file.places").read_text().split()[0])
        save(process.pid, core)
    assert bytes_at(core, private + 4096, 8) is None
    assert os.stat(core).st_size < 32 << 20
    # What is missing is missing in gdb, too: nothing is shown as zeros.
    assert "Cannot access memory" in in_gdb(core, "output *(char *)%d" % (private + 4096))


# ---- the file ----

def test_file_is_its_owners_alone(tmp_path):
    core = tmp_path / "saved"
    core.write_text("what was there before")
    os.chmod(core, 0o644)
    with start_busy(one()) as process:
        save(process.pid, core)
    assert os.stat(core).st_mode & 0o777 == 0o600
    assert sorted(os.listdir(tmp_path)) == ["saved", "saved.txt"]


def test_name_of_its_own(tmp_path):
    with start_busy(one()) as process:
        for kind in ("--save-core", "--save-core=full"):
            result = living.report(process.pid, kind, cwd=tmp_path)
            assert result.returncode == analyzer.EXIT_COMPLETE, result.describe()
            assert os.listdir(tmp_path) == ["core.%d" % process.pid]
            os.unlink(tmp_path / ("core.%d" % process.pid))
        assert living.report(process.pid, "--save-core=%s" % (tmp_path / "named")).returncode == 0
        assert os.listdir(tmp_path) == ["named"]


def test_place_that_cannot_be_written(tmp_path):
    with start_busy(one()) as process:
        for where, word in ((tmp_path / "none" / "saved", "No such file"), (tmp_path, "is a directory"),
                            ("/proc/saved", "cannot be written"), ("/dev/null", "not a regular file")):
            result = living.report(process.pid, "--save-core", where)
            assert result.returncode == analyzer.EXIT_NOTHING and not result.stdout, result.describe()
            assert result.stderr.count("\n") == 1 and word in result.stderr, result.stderr
        assert os.listdir(tmp_path) == []
        living.assert_runs_free(process.pid)


@pytest.mark.parametrize("kind", ["--save-core", "--save-core=full"])
def test_disk_that_is_full(kind, tmp_path):
    """The report is there all the same, and half a file is not."""
    with start_busy(one()) as process:
        command = ["prlimit", "--fsize=200000", analyzer.PROGRAM, "--pid", str(process.pid), kind,
                   str(tmp_path / "saved")]
        done = subprocess.run(command, capture_output=True, timeout=600)
        assert done.returncode == analyzer.EXIT_NOTHING, done.stderr
        assert b"saved: the core file cannot be written: File too large" in done.stderr
        assert b"Thread %d" % process.pid in done.stdout
        assert os.listdir(tmp_path) == []
        living.assert_runs_free(process.pid)


def test_our_death_leaves_neither_a_file_nor_a_stopped_process(tmp_path):
    # So much memory that it is met while it is copied.
    program = "import time\nkept = b'x' * (150 << 20)\nprint('ready', flush=True)\ntime.sleep(600)\n"
    with living.running([one().path, "-s", "-c", program]) as process:
        held = 0
        for number in range(6):
            ours = subprocess.Popen([analyzer.PROGRAM, "--pid", str(process.pid), "--save-core=full",
                                     str(tmp_path / "saved")], stdout=subprocess.DEVNULL,
                                    stderr=subprocess.DEVNULL)
            living.wait_until(lambda: living.process_state(process.pid)[1] or ours.poll() is not None,
                              "stop")
            held += living.process_state(process.pid)[1] != 0
            resting.let_pass(0.004 * number)
            ours.send_signal(signal.SIGINT if number % 2 else signal.SIGKILL)
            ours.wait()
            living.assert_runs_free(process.pid)
            # Killed when it was done, it has left the whole file.
            assert set(os.listdir(tmp_path)) <= {"saved"}
            (tmp_path / "saved").unlink(missing_ok=True)
        assert held
        assert living.report(process.pid).returncode == analyzer.EXIT_COMPLETE


# ---- what goes together ----

@pytest.mark.parametrize("words,said", [
    (["--pid", "1", "--no-pause", "--save-core", "x"], "--no-pause"),
    (["--pid", "1", "--watch", "1", "--save-core", "x"], "--watch"),
    (["--save-core", "x", "core"], "--pid"),
    (["--pid", "1", "--save-core", "x", "y"], "neither CORE"),
    (["--pid", "1", "-o", "x", "--save-core", "x"], "the report goes to x"),
    (["--pid", "1", "--save-core", "full"], "--save-core=full"),
])
def test_what_does_not_go_together(words, said, tmp_path):
    result = analyzer.run(*words, cwd=tmp_path)
    assert result.returncode == analyzer.EXIT_USAGE and said in result.stderr, result.describe()
    assert os.listdir(tmp_path) == []


def test_each_descendant_has_its_own(tmp_path):
    program = ("import os, time\n"
               "if os.fork() and os.fork(): print('ready', flush=True)\n"
               "time.sleep(600)\n")
    with living.running([one().path, "-s", "-c", program], start_new_session=True) as process:
        try:
            result = living.report(process.pid, "--children", "--save-core", tmp_path / "job")
            text = living.report(process.pid, "--children", "--save-core=full", cwd=tmp_path)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
    assert result.returncode == text.returncode == analyzer.EXIT_COMPLETE, result.describe()
    pids = [int(pid) for pid in re.findall(r"^process (\d+):", result.stdout, re.M)]
    assert len(pids) == 3
    assert sorted(os.listdir(tmp_path)) == sorted("%s.%d" % (name, pid) for pid in pids
                                                  for name in ("job", "core"))
    for pid in pids:
        dead = analyzer.json_of(str(tmp_path / ("job.%d" % pid))).json
        assert dead["target"]["pid"] == pid


# ---- the library ----

CALLER = """
#include <pystack_core.h>
#include <stdio.h>
#include <stdlib.h>
#define EXPECT(what) do if (!(what)) { printf("%s: %s\\n", #what, err.message); return 1; } while (0)
int main(int argc, char **argv)
{
    struct psc_capture_options options = PSC_CAPTURE_OPTIONS_INIT;
    options.core_path = argv[2];
    struct psc_error err = {0};
    struct psc_target *target;
    struct psc_trace *trace;
    (void)argc;
    EXPECT(psc_open_process(atoi(argv[1]), NULL, &target, &err) == PSC_OK);
    EXPECT(psc_capture(target, &options, &trace, &err) == PSC_OK);
    EXPECT(psc_trace_core(trace, &err) == PSC_OK);
    psc_trace_destroy(trace);
    EXPECT(psc_capture(target, NULL, &trace, &err) == PSC_OK);
    EXPECT(psc_trace_core(trace, &err) == PSC_ERR_NOT_FOUND);
    psc_trace_destroy(trace);
    options.no_pause = 1;
    EXPECT(psc_capture(target, &options, &trace, &err) == PSC_ERR_ARGUMENT);
    options.no_pause = 0;
    options.core_path = "/nowhere/core";
    EXPECT(psc_capture(target, &options, &trace, &err) == PSC_ERR_IO);
    psc_close(target);
    options.core_path = "other";
    EXPECT(psc_open_core(argv[2], NULL, NULL, &target, &err) == PSC_OK);
    EXPECT(psc_capture(target, &options, &trace, &err) == PSC_ERR_ARGUMENT);
    options.core_path = NULL;
    EXPECT(psc_capture(target, &options, &trace, &err) == PSC_OK);
    psc_trace_destroy(trace);
    psc_close(target);
    return 0;
}
"""


@pytest.mark.skipif(analyzer.SANITIZED, reason="a sanitized library needs its sanitizer loaded first")
def test_calls_of_the_library(tmp_path):
    folder = os.path.join(os.environ.get("PSC_BUILD_DIR", os.path.join(cores.SOURCE, "build")), "analyzer")
    (tmp_path / "caller.c").write_text(CALLER)
    subprocess.run(["cc", "-Wall", "-Werror", tmp_path / "caller.c", "-o", tmp_path / "caller",
                    "-I", os.path.join(cores.SOURCE, "analyzer", "include"), "-L", folder,
                    "-lpystack_core", "-Wl,-rpath," + folder], check=True)
    with start_busy(one()) as process:
        done = subprocess.run([tmp_path / "caller", str(process.pid), tmp_path / "saved"], cwd=tmp_path,
                              capture_output=True, timeout=600)
        living.assert_runs_free(process.pid)
    assert done.returncode == 0, done.stdout
    assert sorted(os.listdir(tmp_path)) == ["caller", "caller.c", "saved"]
