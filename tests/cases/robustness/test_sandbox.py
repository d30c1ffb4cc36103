"""What a parser that was taken over could do: gdb makes system calls in the program while it parses."""
import contextlib
import errno
import os
import pty
import re
import shlex
import shutil
import signal
import socket
import subprocess
import tarfile

import pytest

import analyzer
import cores
import debuggers
import interpreters
import living
import made_calls
from resting import wait_until

AT_FDCWD = -100
# Of x86-64: asm/unistd_64.h.
CALLS = {"write": 1, "open": 2, "socket": 41, "connect": 42, "fork": 57, "execve": 59, "kill": 62, "rename": 82,
         "mkdir": 83, "unlink": 87, "chmod": 90, "ptrace": 101, "mount": 165, "openat": 257, "process_vm_readv": 310,
         "process_vm_writev": 311, "tgkill": 234, "memfd_create": 319, "bpf": 321, "io_uring_setup": 425,
         "pidfd_open": 434, "openat2": 437, "unshare": 272,
         "sendto": 44, "readlink": 89, "setuid": 105, "symlink": 88, "creat": 85, "prlimit64": 302}

SCRIPT = """set confirm off
set pagination off
set breakpoint pending on
set detach-on-fork on
set follow-fork-mode %s
handle SIGSYS nostop noprint pass
%s
%s
kill
"""


@pytest.fixture(autouse=True)
def _needs(request):
    debuggers.need("gdb")
    if os.uname().machine != "x86_64" or analyzer.SANITIZED:
        pytest.skip("system calls of x86-64 are tried, in a program without sanitizers")


def go_to(at, behind=None, run="run"):
    """gdb's commands: to a function; with `behind` in a process that is made once that was called."""
    if not behind:
        return "break %s\n%s" % (at, run)
    return "\n".join(["set follow-fork-mode parent", "break " + behind, run, "set follow-fork-mode child",
                      "break " + at, "continue"])


def ask(tmp_path, calls, arguments, at="reports_write", follow="child", behind=None, stdin=None, terminal=None):
    """[result or -errno] of system calls that are made at a function of the program, see go_to()."""
    driver = tmp_path / "driver.py"
    driver.write_text(made_calls.driver([CALLS[name], *(int(value) if isinstance(value, int) else value for value in values)]
                                        for name, *values in calls))
    script = tmp_path / "script.gdb"
    run = "run %s < %s" % (shlex.join(map(str, arguments)), stdin) if stdin else "run"
    if terminal:
        run = "set inferior-tty %s\n%s" % (terminal, run)
    script.write_text(SCRIPT % (follow, go_to(at, behind, run), "source %s" % driver))
    done = subprocess.run(["gdb", "-nx", "-batch", "-x", script, "--args", analyzer.PROGRAM, *map(str, arguments)],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600, cwd=tmp_path,
                          env=dict(os.environ, DEBUGINFOD_URLS="", HOME="/nonexistent", **made_calls.ENVIRONMENT))
    found = re.findall(r"^result (-?\d+)$", done.stdout, re.M)
    assert len(found) == len(calls), done.stdout[-3000:]
    return [int(result) for result in found]


def make_foreign(path, text=b"secret\n", mode=0o600):
    path.write_bytes(text)
    os.chmod(path, mode)
    return path


def secrets(tmp_path):
    """Files that none but the user may read; none of them is code or source."""
    secret = make_foreign(tmp_path / "secret")
    link = tmp_path / "link.py"
    link.symlink_to(secret)
    memory = tmp_path / "memory"
    shutil.copy(cores.make_plain_core(), memory)
    os.chmod(memory, 0o600)
    made_up = ["/proc/1/environ", "/proc/kcore", "/proc/self/mem", "/proc/%d/mem" % os.getpid(), "/sys/kernel/notes"]
    return [str(path) for path in (secret, link, memory)] + ["/etc/shadow", "/dev/null"] + made_up


def core_of_python():
    interpreter = interpreters.find_system() or interpreters.find_wanted()[-1]
    return cores.make_core("threads", interpreter).path


def test_parser_cannot_open(tmp_path):
    paths = secrets(tmp_path)
    calls: list = [("openat", AT_FDCWD, path, 0) for path in paths] + [("open", path, 0) for path in paths]
    calls += [("openat2", AT_FDCWD, path, 0, 24) for path in paths]  # asks as for one below a root
    results = ask(tmp_path, calls, [core_of_python()])
    assert all(result < 0 for result in results), list(zip(calls, results))
    assert -errno.EACCES in results


def test_parser_of_the_core_itself(tmp_path):
    """The header and the notes, too, are read by the child."""
    calls: list = [("openat", AT_FDCWD, path, 0) for path in secrets(tmp_path)]
    results = ask(tmp_path, calls, [core_of_python()], at="core_open")
    assert all(result < 0 for result in results), list(zip(calls, results))


def test_parser_of_reports(tmp_path):
    report = tmp_path / "report.json"
    report.write_bytes(analyzer.run("--format", "json", core_of_python()).stdout.encode())
    calls: list = [("openat", AT_FDCWD, path, 0) for path in secrets(tmp_path)]
    calls += [("openat", AT_FDCWD, str(tmp_path / "new"), os.O_CREAT | os.O_WRONLY, 0o600),
              ("socket", socket.AF_INET, socket.SOCK_STREAM, 0), ("execve", "/bin/true", 0, 0)]
    results = ask(tmp_path, calls, ["summary", report], at="psc_read_report")
    assert all(result < 0 for result in results), list(zip(calls, results))
    assert "1 thread" in analyzer.run("summary", report).stdout or "threads" in analyzer.run("summary", report).stdout


@pytest.mark.parametrize("command", [["heap"], ["slim", "-o", "small"]], ids=["heap", "slim"])
def test_parser_of_other_commands(command, tmp_path):
    """From the first byte of the core on."""
    calls = all_calls(tmp_path)
    results = ask(tmp_path, calls, [*command, core_of_python()], at="core_open")
    assert all(result < 0 for result in results), list(zip(calls, results))
    assert not (tmp_path / "new").exists()


def all_calls(tmp_path):
    return [*[("openat", AT_FDCWD, path, 0) for path in secrets(tmp_path)],
            ("openat", AT_FDCWD, str(tmp_path / "new"), os.O_CREAT | os.O_WRONLY, 0o600),
            ("connect", 3, 0, 0), ("ptrace", 16, os.getpid(), 0, 0), ("kill", os.getpid(), 0), ("fork",),
            *[("socket", family, socket.SOCK_STREAM, 0) for family in (socket.AF_INET, socket.AF_UNIX)],
            ("execve", "/bin/true", 0, 0), ("unlink", str(tmp_path / "secret"))]


def test_reader_of_triage(tmp_path):
    """Who reads the reports of its children, of others, of an earlier run, and what is known."""
    calls = all_calls(tmp_path)
    (tmp_path / "known").write_text("0" * 40)
    core = core_of_python()
    results = ask(tmp_path, calls, ["triage", "--baseline", "known", "--output", "html=page", core], behind="sandbox_run",
                  at="core_report_take")
    assert all(result < 0 for result in results), list(zip(calls, results))
    assert not (tmp_path / "new").exists() and not (tmp_path / "page").exists()


def test_unpacker_of_an_archive(tmp_path):
    calls = all_calls(tmp_path)
    archive = tmp_path / "files.tar"
    with tarfile.open(archive, "w") as tar:
        tar.add(interpreters.find_wanted()[-1].path, "usr/bin/python")
    results = ask(tmp_path, calls, ["--sysroot", archive, core_of_python()], at="bundle_unpack")
    assert all(result < 0 for result in results), list(zip(calls, results))


def test_parsers_behind_the_kernel(tmp_path):
    """`handle` as root: who reads the head of the stream, and who reads the process; `crashes`: what it has kept."""
    calls = all_calls(tmp_path)
    core = core_of_python()
    with living.running(SLEEPER) as process:
        command = ["handle", "--store", tmp_path / "store", process.pid]
        for at, behind in (("parse_elf_header", None), ("core_check_header", "held_report_make")):
            results = ask(tmp_path, calls, command, at=at, behind=behind, stdin=core)
            assert all(result < 0 for result in results), (at, list(zip(calls, results)))
        with open(core, "rb") as stream:
            kept = subprocess.run([analyzer.PROGRAM, *map(str, command)], stdin=stream, capture_output=True, timeout=600,
                                  check=False)
        assert kept.returncode in (0, 1), kept.stderr
    results = ask(tmp_path, calls, ["crashes", "--store", tmp_path / "store"], at="crash_record_parse")
    assert all(result < 0 for result in results), list(zip(calls, results))
    assert not (tmp_path / "new").exists() and (tmp_path / "secret").exists()


def test_parser_gets_code_and_source(tmp_path):
    source = make_foreign(tmp_path / "source.py", b"pass\n")
    public = make_foreign(tmp_path / "notes", mode=0o644)
    calls = [("openat", AT_FDCWD, "/usr/bin/env", 0), ("openat", AT_FDCWD, str(source), 0)]
    assert all(result > 2 for result in ask(tmp_path, calls, [core_of_python()]))
    # What all may read lies in a folder that all may enter.
    assert public.exists() and ask(tmp_path, [("openat", AT_FDCWD, "/etc/passwd", 0)], [core_of_python()])[0] > 2


def changing_calls(tmp_path, target):
    return [("openat", AT_FDCWD, str(target), os.O_RDWR), ("openat", AT_FDCWD, str(target), os.O_WRONLY | os.O_APPEND),
            ("openat", AT_FDCWD, str(tmp_path / "new.py"), os.O_CREAT | os.O_WRONLY, 0o600),
            ("openat", AT_FDCWD, str(tmp_path / "new.py"), os.O_CREAT, 0o600), ("open", str(target), os.O_TRUNC),
            ("openat", AT_FDCWD, str(tmp_path), os.O_TMPFILE | os.O_RDWR, 0o600),
            ("creat", str(tmp_path / "new.py"), 0o600), ("unlink", str(target)), ("mkdir", str(tmp_path / "folder")),
            ("rename", str(target), str(tmp_path / "other.py")), ("chmod", str(target), 0o777),
            ("symlink", str(target), str(tmp_path / "link"))]


def test_parser_can_only_read(tmp_path):
    target = make_foreign(tmp_path / "file.py", mode=0o666)
    calls = changing_calls(tmp_path, target)
    assert ask(tmp_path, calls, [core_of_python()]) == [-errno.EPERM] * len(calls)
    assert target.read_bytes() == b"secret\n" and not (tmp_path / "new.py").exists()


def test_parser_cannot_connect(tmp_path):
    """Neither to the network nor to a socket of this machine, nor by a socket that it has."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        server.listen()
        calls: list = [("socket", family, kind, 0) for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX, 16)
                 for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM)]
        calls += [("connect", number, 0, 0) for number in range(12)]
        assert ask(tmp_path, calls, [core_of_python()]) == [-errno.EPERM] * len(calls)


def foreign_calls(pid):
    return [("socket", socket.AF_INET, socket.SOCK_STREAM, 0), ("socket", socket.AF_UNIX, socket.SOCK_STREAM, 0),
            ("execve", "/bin/true", 0, 0), ("kill", pid, 9), ("tgkill", pid, pid, 9), ("ptrace", 4, pid, 0, 0),
            ("process_vm_writev", pid, 0, 0, 0, 0), ("mount", 0, 0, 0, 0), ("unshare", 0x10000000),
            ("bpf", 0, 0, 0), ("io_uring_setup", 8, 0)]


def reach_others(pid):
    return [("execve", "/bin/true", 0, 0), ("fork",), ("ptrace", 16, pid, 0, 0), ("ptrace", 0x4206, pid, 0, 0),
            ("kill", pid, 9), ("tgkill", pid, pid, 9), ("process_vm_readv", pid, 0, 0, 0, 0),
            ("process_vm_writev", pid, 0, 0, 0, 0), ("pidfd_open", pid, 0), ("mount", 0, 0, 0, 0),
            ("unshare", 0x10000000), ("bpf", 0, 0, 0), ("io_uring_setup", 8, 0), ("setuid", 0), ("prlimit64", pid, 7)]


def test_parser_cannot_reach_others(tmp_path):
    with living.running(["sh", "-c", "echo ready; exec sleep 600"]) as victim:
        calls = reach_others(victim.pid)
        assert ask(tmp_path, calls, [core_of_python()]) == [-errno.EPERM] * len(calls)
        assert victim.poll() is None


SLEEPER = ["sh", "-c", "echo ready; exec sleep 600"]


def test_parser_of_a_living_process(tmp_path):
    """Its memory is open; the parser may do no more than that of a core."""
    with living.running(SLEEPER) as process, living.running(SLEEPER) as other:
        for pid in (process.pid, other.pid):
            calls = reach_others(pid)
            assert ask(tmp_path, calls, ["--pid", process.pid]) == [-errno.EPERM] * len(calls)
        calls = [("socket", family, kind, protocol) for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX)
                 for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW) for protocol in (0, 4)]
        calls += [("socket", 16, socket.SOCK_RAW, protocol) for protocol in (0, 9, 15, 16)]  # netlink's others
        calls += [("connect", number, 0, 0) for number in range(12)] + [("sendto", 1, 0, 0, 0, 4096, 16)]
        assert ask(tmp_path, calls, ["--pid", process.pid]) == [-errno.EPERM] * len(calls)
        assert process.poll() is None and other.poll() is None


@pytest.mark.parametrize("several", [False, True])
def test_parser_of_a_living_process_cannot_open(several, tmp_path):
    with living.running(SLEEPER) as process, living.running(SLEEPER) as other, \
            living.running(SLEEPER, start_new_session=True) as stranger:
        looked_at = ["--pid", process.pid] + (["--pid", other.pid] if several else [])
        paths = secrets(tmp_path)
        paths += ["/proc/%d/%s" % (process.pid, name)
                  for name in ("mem", "environ", "auxv", "root/etc/shadow", "../%d/mem" % process.pid, "fd/0",
                               "task/%d/../mem" % process.pid, "net/../mem", "net/packet", "clear_refs", "fdinfo/0x",
                               "task/%d/mem" % process.pid, "oom_score_adj", "stack", "personality", "attr/current")]
        # Of a process that is no relative only what everybody may know.
        paths += ["/proc/%d/%s" % (stranger.pid, name)
                  for name in ("fdinfo/0", "task/%d/syscall" % stranger.pid, "task/%d/wchan" % stranger.pid, "net/tcp")]
        calls: list[tuple[object, ...]] = [("openat", AT_FDCWD, path, 0) for path in paths]
        calls += [("openat", AT_FDCWD, path, os.O_DIRECTORY)
                  for path in ("/proc/%d/fd" % stranger.pid, "/proc/%d" % process.pid, "/proc/self", "/proc/sys",
                               "/proc/%d/map_files" % process.pid)]
        calls += [("openat", AT_FDCWD, "/proc/%d/oom_score_adj" % process.pid, os.O_WRONLY),
                  ("readlink", "/proc/%d/fd/0" % stranger.pid, 0x1000, 16), ("readlink", "/proc/1/root", 0x1000, 16)]
        results = ask(tmp_path, calls, looked_at)
        assert not [call for call, result in zip(calls, results) if result >= 0]


def test_parser_of_a_living_process_asks_the_system(tmp_path):
    with living.running(SLEEPER) as process:
        names = ("task/%d/syscall" % process.pid, "task/%d/wchan" % process.pid, "fdinfo/0", "net/tcp", "stat")
        calls: list[tuple[object, ...]] = [("openat", AT_FDCWD, "/proc/%d/%s" % (process.pid, name), 0) for name in names]
        calls += [("openat", AT_FDCWD, "/proc/%d/fd" % process.pid, os.O_DIRECTORY), ("socket", 16, socket.SOCK_RAW, 4)]
        results = ask(tmp_path, calls, ["--pid", process.pid])
        assert all(result > 2 for result in results), list(zip(calls, results))


def test_whole_program_has_no_network(tmp_path):
    """Nor programs, nor the memory and the signals of others."""
    calls = foreign_calls(os.getpid())
    results = ask(tmp_path, calls, [core_of_python()], at="sandbox_run", follow="parent")
    assert results == [-errno.EPERM] * len(calls)


RECORD = ["record", "--duration", "1", "--output", "ndjson=-", "--pid"]


@contextlib.contextmanager
def some_terminal(command):
    """Its name for `top`, which wants one; else None."""
    ends = pty.openpty() if command[0] == "top" else ()
    try:
        yield os.ttyname(ends[1]) if ends else None
    finally:
        for end in ends:
            os.close(end)


@pytest.mark.parametrize("command", [RECORD, RECORD[:1] + ["--children", "--no-pause"] + RECORD[1:], ["top", "--pid"]],
                         ids=["record", "children", "top"])
def test_parser_of_a_recording(command, tmp_path):
    """It reads what is copied of the process, and its memory, by files that the one who traces has opened."""
    with living.running(SLEEPER) as process, living.running(SLEEPER) as other, some_terminal(command) as terminal:
        target = make_foreign(tmp_path / "file.py", mode=0o666)
        foreign = [call for pid in (process.pid, other.pid) for call in reach_others(pid)] + changing_calls(tmp_path, target)
        foreign += [("connect", number, 0, 0) for number in range(12)]
        foreign += [("socket", family, socket.SOCK_STREAM, 0) for family in (socket.AF_INET, socket.AF_UNIX)]
        names = ("environ", "mem", "root/etc/shadow", "fd/0", "clear_refs", "task/%d/environ", "task/%d/../mem", "attr/current")
        paths = secrets(tmp_path) + ["/proc/%d/%s" % (process.pid, name.replace("%d", str(process.pid))) for name in names]
        paths += ["/proc/%d/task/%d/%s" % (other.pid, other.pid, name) for name in ("mem", "maps", "pagemap", "children")]
        opens = [("openat", AT_FDCWD, path, 0) for path in paths]
        opens += [("openat", AT_FDCWD, "/proc/%d/task" % other.pid, os.O_DIRECTORY)]
        own = [("openat", AT_FDCWD, "/proc/%d/task/%d/%s" % (process.pid, process.pid, name), 0) for name in ("mem", "pagemap")]
        results = ask(tmp_path, [*foreign, *opens, *own], [*command, process.pid], at="record_run", terminal=terminal)
        assert results[:len(foreign)] == [-errno.EPERM] * len(foreign), list(zip(foreign, results))
        assert all(result < 0 for result in results[len(foreign):-2]), list(zip(opens, results[len(foreign):]))
        assert all(result > 2 for result in results[-2:]), results[-2:]
        assert target.read_bytes() == b"secret\n" and not (tmp_path / "new.py").exists()
        assert process.poll() is None and other.poll() is None


def test_who_traces_changes_nothing(tmp_path):
    """He parses nothing, and has given up what he needs no more: nothing is written but what is open."""
    with living.running(SLEEPER) as process:
        target = make_foreign(tmp_path / "file.py", mode=0o666)
        calls = foreign_calls(process.pid) + changing_calls(tmp_path, target)
        results = ask(tmp_path, calls, [*RECORD, process.pid], at="broker_serve", follow="parent")
        assert results == [-errno.EPERM] * len(results), list(zip(calls, results))
        assert target.read_bytes() == b"secret\n" and not (tmp_path / "new.py").exists()
        assert process.poll() is None


@pytest.mark.parametrize("at,follow", [("broker_serve", "parent"), ("record_run", "child")], ids=["traces", "parses"])
def test_recording_keeps_few_capabilities(at, follow, tmp_path):
    """Those to trace, to read what is others', to be in time, and for the kernel to end the child; who parses has none."""
    script = tmp_path / "script.gdb"
    with living.running(SLEEPER) as process:
        script.write_text(SCRIPT % (follow, go_to(at), "python print(open('/proc/%d/status' % "
                                    "gdb.selected_inferior().pid).read())"))
        done = subprocess.run(["gdb", "-nx", "-batch", "-x", script, "--args", analyzer.PROGRAM, *RECORD, str(process.pid)],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=600, env=dict(os.environ, DEBUGINFOD_URLS="", HOME="/nonexistent"))
    kept = 1 << 19 | 1 << 2 | 1 << 23 | 1 << 5 if at == "broker_serve" else 0
    found = int(re.findall(r"^CapEff:\s*([0-9a-f]+)$", done.stdout, re.M)[0], 16)
    assert found & ~(kept | (1 << 40 | 1 << 21 if kept else 0)) == 0, hex(found)
    assert not (found & 1 << 40 and found & 1 << 21), hex(found)


def parsers_of(pid):
    """Its children of the user nobody."""
    with open("/proc/%d/task/%d/children" % (pid, pid)) as children:
        return [int(child) for child in children.read().split() if os.stat("/proc/" + child).st_uid == 65534]


def is_over(pid):
    try:
        return living.process_state(pid)[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: another user's parser has the rights of its parent")
def test_parser_ends_with_its_parent():
    """Also one that asks for nothing: it stands still here."""
    with living.running(SLEEPER) as process:
        with subprocess.Popen([analyzer.PROGRAM, *RECORD[:2], "600", *RECORD[3:], str(process.pid)],
                              stdout=subprocess.DEVNULL) as program:
            wait_until(lambda: parsers_of(program.pid), "a parser")
            parser, = parsers_of(program.pid)
            os.kill(parser, signal.SIGSTOP)
            program.kill()
        try:
            wait_until(lambda: is_over(parser), "the parser's end", 20)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(parser, signal.SIGKILL)


def test_text_filter_has_nothing(tmp_path):
    calls = [("openat", AT_FDCWD, "/etc/passwd", 0), ("socket", socket.AF_INET, socket.SOCK_STREAM, 0),
             ("execve", "/bin/true", 0, 0)]
    assert ask(tmp_path, calls, ["demangle", "_Zx"], at="psc_symbols_demangle", follow="parent") == [-errno.EPERM] * 3


def test_it_says_what_was_given_up():
    core = core_of_python()
    with_it, without = analyzer.run("--explain", core), analyzer.run("--explain", "--no-sandbox", core)
    assert re.search(r"^  sandbox: .*files by the parent alone", with_it.stdout, re.M)
    assert re.search(r"^  sandbox: none$", without.stdout, re.M)


def test_reports_are_the_same():
    core = core_of_python()
    for options in (["--format", "json"], ["--locals", "--tasks"], ["--all"], ["--list-files"]):
        assert analyzer.run(*options, core).stdout == analyzer.run("--no-sandbox", *options, core).stdout


def test_parser_that_dies(tmp_path):
    """One sentence, and no half of a report."""
    script = tmp_path / "script.gdb"
    report = tmp_path / "report"
    script.write_text(SCRIPT.replace("\nkill\n", "\n") % ("child", go_to("reports_write"), "signal SIGSEGV"))
    command = ["gdb", "-nx", "-batch", "-x", script, "--args", analyzer.PROGRAM, "-o", report, core_of_python()]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600,
                          env=dict(os.environ, DEBUGINFOD_URLS="", HOME="/nonexistent"))
    assert "was ended by signal 11" in done.stdout
    assert not report.exists() and os.listdir(tmp_path) == ["script.gdb"]
