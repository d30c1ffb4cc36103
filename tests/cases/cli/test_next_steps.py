"""What the usual mistakes are answered with: the cause, and what to do next. And the examples of --help: they run."""
import contextlib
import os
import pty
import re
import shutil
import signal
import subprocess
import tempfile

import pytest

import analyzer
import interpreters
import living

NOBODY = 65534
COMMANDS: list = [[], ["heap"], ["record", "-d", "1"]]  # That take a process.
STUBS = ["pytest", "make", "docker", "sudo", "sysctl", "coredumpctl", "perf", "nm", "debuginfod-find", "python3"]


def said(code, *arguments, **more):
    done = analyzer.run(*arguments, **more)
    assert done.returncode == code, done.describe()
    assert done.stderr and all(line.startswith("pystack-core: ") for line in done.stderr.splitlines()), done.stderr
    return done.stderr


@pytest.mark.parametrize("command", [[], ["heap"], ["slim", "-o", "small"]], ids=" ".join)
def test_what_is_no_core(command, any_core, tmp_path):
    core, (text, empty, cut) = any_core, [tmp_path / name for name in ("text", "empty", "cut")]
    text.write_text("no core\n")
    empty.write_bytes(b"")
    with open(core, "rb") as file:
        cut.write_bytes(file.read(700))

    def ask(path):
        return said(2, *command, path, cwd=str(tmp_path))

    assert "No such file" in ask(tmp_path / "nowhere") and "pystack-core doctor" in ask(tmp_path / "nowhere")
    assert "not a core file" in ask(text) and "the file is empty" in ask(empty)
    assert "is a directory; name a core file in it" in ask(tmp_path)
    assert "an executable" in ask("/usr/bin/env") and "name the core file" in ask("/usr/bin/env")
    assert "cut off: ulimit -c unlimited" in ask(cut)


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
def test_what_is_not_permitted():
    """A core of somebody else, and a process of somebody else, by each command that takes one."""
    with living.running(["/bin/sh", "-c", "echo ready; exec sleep 600"]) as process, \
            tempfile.NamedTemporaryFile(dir="/tmp") as core:
        denied = said(2, core.name, user=NOBODY, group=NOBODY, extra_groups=[])
        assert "Permission denied; run this as its owner or as root" in denied
        for command in COMMANDS:
            done = analyzer.run(*command, "--pid", process.pid, cwd="/", user=NOBODY, group=NOBODY, extra_groups=[])
            assert "process %d belongs to user 0; run this as that user or as root" % process.pid in done.stderr
            assert done.stderr.count("process %d: process" % process.pid) == 0 and "/tmp" not in done.stderr


def test_what_is_not_in_it(any_core, tmp_path):
    threads = analyzer.run("--format", "json", any_core).json["threads"]
    assert re.search(r"no thread 7 in it; its threads: [\d, ]*%d" % threads[0]["tid"], said(2, "--thread", "7", any_core))
    wrong = analyzer.run(any_core, "/usr/bin/env")
    assert re.search(r"/usr/bin/env: not the program that the core file is of, which is /\S+; it is not used", wrong.stderr)
    assert "nowhere: there is no such directory" in analyzer.run("--debug-dir", "/nowhere", any_core).stderr
    assert "pystack-core --format json writes" in said(2, "summary", any_core)
    assert "there is no object of such a type" in said(2, "heap", any_core, "--who-holds", "no.such")


def test_no_process():
    for command in COMMANDS:
        assert said(2, *command, "--pid", "4194303").count("process 4194303") == 1


def examples(*command):
    """Those of --help."""
    text = analyzer.run(*command, "--help").stdout
    return re.findall(r"^  (\S.*?)(?:   .*)?$", text[text.index("\nExamples:"):text.index("\nExit status:")], re.M)


@pytest.mark.skipif(analyzer.SANITIZED, reason="nothing of memory safety is in it")
def test_examples_run(tmp_path, any_core):
    """As they stand there, in a shell, with a process and with cores of those names; waits are shortened."""
    tools = tmp_path / "tools"
    tools.mkdir()
    os.symlink(analyzer.PROGRAM, tools / "pystack-core")
    for name in STUBS:
        (tools / name).write_text("#!/bin/sh\nexit 0\n")
        (tools / name).chmod(0o755)
    for name in "core.4711", "core.1234", "core.1", "core.2", "cores/core.1":
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(any_core, tmp_path / name)
    (tmp_path / "rank-0.json").write_text(analyzer.run("--format", "json", any_core).stdout)
    (tmp_path / "known.json").write_text(analyzer.run("triage", "--format", "groups", any_core).stdout)
    wrong, seen = [], 0
    commands = re.findall(r"^  pystack-core ([a-z]+)   ", analyzer.run("--help").stdout, re.M)
    with living.running([interpreters.find_wanted()[-1].path, "-c",
                         "print('ready', flush=True)\nwhile True: sum(range(1000))"]) as process:
        for command in [], *[[name] for name in commands]:
            for line in examples(*command):
                seen += 1
                shown = line
                if "sysctl" in line:
                    continue  # What it puts there is a command line of `handle`, which the kernel fills in.
                line = re.sub(r"^(sudo|docker run) .*?(?=pystack-core)", "", line)
                line = re.sub(r"(--pid) \d+", r"\1 %d" % process.pid, line)
                line = re.sub(r"(--duration|-d|--interval) [\d.]+", r"\1 0.2", line)
                line = line.replace("/var/lib/cores", "cores").replace("app.Session", "dict")
                line = re.sub(r"\bhandle --", "handle --root root --", line)
                done = subprocess.run(["sh", "-c", line], cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True,
                                      timeout=600, env={"PATH": "%s:/usr/bin:/bin" % tools, "LC_ALL": "C.UTF-8",
                                                        "HOME": str(tmp_path)})
                # No terminal, no store, nothing on a standard input: that is said with 2.
                most = 2 if re.search(r" (top|crashes|handle) | - *$|pystack-core -$|crashes$|summary -", line) else 1
                if done.returncode > most and not (command == ["triage"] and done.returncode == 3):
                    wrong.append((shown, line, done.returncode, done.stderr.decode()[-300:]))
    assert not wrong and seen > 30, wrong


# ---- progress ----

def on_terminal(*arguments):
    """What a terminal shows when the child that reads is stopped until there is a line."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([analyzer.PROGRAM, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs,
                               env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/nonexistent"})
    os.close(theirs)
    child = None
    while not child and process.poll() is None:
        with contextlib.suppress(OSError, IndexError), open("/proc/%d/task/%d/children" % (process.pid, process.pid)) as file:
            child = int(file.read().split()[0])
            os.kill(child, signal.SIGSTOP)
    said = b""
    with contextlib.suppress(OSError):
        while True:
            got = os.read(ours, 4096)
            said += got
            if child and b", 1 s" in said:
                os.kill(child, signal.SIGCONT)
                child = None
            if not got:
                break
    os.close(ours)
    process.wait()
    return process.returncode, said.decode()


@pytest.mark.skipif(analyzer.SANITIZED, reason="nothing of memory safety is in it")
@pytest.mark.parametrize("what", ["reading", "making small"])
def test_work_that_takes_long_is_told_of(what, any_core, tmp_path):
    """A line that goes when the report comes; none where there is no terminal."""
    arguments = [any_core] if what == "reading" else ["slim", any_core, "-o", tmp_path / "small"]
    expected = analyzer.run(*arguments).stdout.replace("\n", "\r\n")
    code, said = on_terminal(*arguments)
    assert code in (0, 1)
    assert re.search(r"\r\x1b\[K%s \S+, 1 s" % what, said)
    shown = re.sub(r"[^\n]*\r\x1b\[K", "", said)
    assert re.sub(r"\x1b\[[\d;]*m", "", shown) == expected
