"""`pystack-core top` in a terminal: tmux, which others wrote, draws what it prints and types the keys."""
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import pytest

import analyzer
import living
from resting import wait_until

PROGRAM = '''
import sys, threading
def leaf_one():
    total = 0
    for number in range(20000):
        total += number
def leaf_two():
    total = 0
    for number in range(10000):
        total += number
def outer():
    while True:
        leaf_one()
        leaf_two()
print("ready", flush=True)
outer()
'''


DEEP_PROGRAM = '''
import sys
sys.setrecursionlimit(100000)
def leaf():
    total = 0
    for number in range(10000):
        total += number
def down(depth):
    while depth == 0:
        leaf()
    down(depth - 1)
print("ready", flush=True)
down(1500)
'''


class Screen:
    """A terminal of some size with a program in it; how it ended stands in it as "exit N"."""

    def __init__(self, folder, words, width=110, height=24, env=""):
        self.server = ["tmux", "-S", os.path.join(folder, "s"), "-f", "/dev/null"]
        quoted = " ".join("'%s'" % word for word in words)
        self.tmux("new-session", "-d", "-x", str(width), "-y", str(height),
                  "env LC_ALL=C.UTF-8 %s %s; echo exit $?; exec cat" % (env, quoted))

    def tmux(self, *words):
        environment = {**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
        done = subprocess.run([*self.server, *words], env=environment, capture_output=True, text=True, check=True, timeout=60)
        return done.stdout

    def text(self, *options):
        return self.tmux("capture-pane", "-p", *options)

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def wait(self, pattern):
        seen = [""]

        def is_there():
            seen[0] = self.text()
            return re.search(pattern, seen[0], re.M)

        try:
            wait_until(is_there, pattern, 120, 0.05)
        except AssertionError:
            raise AssertionError("no %s in\n%s" % (pattern, seen[0])) from None
        return seen[0]

    def close(self):
        subprocess.run([*self.server, "kill-server"], capture_output=True, check=False, timeout=60)


@contextlib.contextmanager
def screen(*words, **more):
    if not shutil.which("tmux"):
        pytest.skip("no tmux here")
    # The name of a socket has 107 bytes at most (unix(7)).
    folder = tempfile.mkdtemp(prefix="top", dir="/tmp")
    shown = None
    try:
        shown = Screen(folder, [analyzer.PROGRAM, "top", "--interval", "0.2", *words], **more)
        yield shown
    finally:
        if shown:
            shown.close()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(name="program")
def start_program(tmp_path):
    path = tmp_path / "spins.py"
    path.write_text(PROGRAM)
    with living.running([sys.executable, str(path)]) as process:
        yield process


def rows(text):
    """{function: (own %, total %)} of the table."""
    return {name: (float(own), float(total)) for own, total, name in
            re.findall(r"^ +(\d+\.\d) +(\d+\.\d) +\d+\.\d\d +\d+\.\d\d  (\S+) ", text, re.M)}


def test_table_and_keys(program):
    """Shares, lines, a function that is followed, a filter, threads, help, pause; and the process runs on."""
    with screen("--pid", str(program.pid), "--mode", "python") as shown:
        shown.wait(r"leaf_one \(.*spins\.py\)$")
        shown.wait(r"^pystack-core top  process %d: " % program.pid)
        found = rows(shown.wait(r"^ +[1-9]\d+\.\d +[1-9].*leaf_one"))
        assert found["outer"][0] < found["outer"][1] >= found["leaf_one"][1] >= found["leaf_one"][0] > 0, found
        assert re.search(r"^GIL +\d+ %   collector 0 %   CPU +\d+ %   threads 1$", shown.text(), re.M), shown.text()
        shown.keys("l")
        shown.wait(r"leaf_one \(.*spins\.py:[56]\)$")
        shown.keys("l", "2")
        shown.wait(r"^ +\d.* outer \(")
        shown.keys("/", "_", "t", "w", "o", "Enter")
        text = shown.wait(r"^filter: _two")
        assert "leaf_two" in text and "leaf_one" not in text
        shown.keys("Enter")  # Into leaf_two.
        shown.wait(r"in leaf_two ")
        shown.keys("Escape")
        shown.wait(r"leaf_one")
        shown.keys("t")
        shown.wait(r"^ +%d +\d+\.\d .*leaf_" % program.pid)
        shown.keys("?")
        shown.wait(r"^ +Any key ends this help|Backspace    out of it")
        shown.keys("x", "t", "p")
        paused = shown.wait(r"PAUSED$")
        assert "leaf_one" in paused
        shown.keys("p", "r", "q")
        shown.wait(r"^exit 0$")
    living.assert_works(program.pid)
    living.assert_runs_free(program.pid)


def test_lost_moments_belong_to_their_samples(program):
    """One thread is never more than all of the time, however many moments are lost."""
    with screen("--pid", str(program.pid), "--mode", "python", "--rate", "20000", "--interval", "0.05") as shown:
        shown.wait(r"[1-9]\d* (lost|left out)[;,].*\n(.*\n)* +\d.* outer ")
        for _ in range(40):
            before = shown.text().split("\n")[1]
            wait_until(lambda old=before: shown.text().split("\n")[1] != old, "another picture")
            assert all(total <= 100 for own, total in rows(shown.text()).values()), shown.text()


def test_windows_and_colors(program):
    """Narrow, tiny and growing windows; colours, and none where they are not wanted."""
    with screen("--pid", str(program.pid), "--mode", "python") as shown:
        shown.wait(r"leaf_one")
        colored = shown.text("-e")
        assert "\x1b[33m" in colored, colored
        for width, height in ((60, 12), (30, 7), (10, 3), (2, 2)):
            shown.tmux("resize-window", "-x", str(width), "-y", str(height))
            if width >= 30:
                shown.wait(r"^ +\d+\.\d .*leaf_")
                assert all(len(line) <= width for line in shown.text().splitlines())
        shown.tmux("resize-window", "-x", "120", "-y", "30")
        shown.wait(r"total s  function \(file\)$")
        shown.keys("C-c")
        shown.wait(r"^exit 0$")
    with screen("--pid", str(program.pid), "--mode", "python", env="NO_COLOR=1") as shown:
        shown.wait(r"leaf_one")
        assert "\x1b[33m" not in shown.text("-e")
    with screen("--pid", str(program.pid), "--mode", "python", env="TERM=vt100") as shown:
        shown.wait(r"leaf_one")
    living.assert_works(program.pid)


def processor_time(pids):
    """Seconds, of all of them together."""
    ticks = 0
    for pid in pids:
        with open("/proc/%d/stat" % pid) as file:
            ticks += sum(map(int, file.read().rpartition(")")[2].split()[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def test_costly_looks_are_fewer(tmp_path):
    """Half a processor at most: moments are left out, which is said; what runs has its share nevertheless."""
    script = tmp_path / "deep.py"
    script.write_text(DEEP_PROGRAM)
    with living.running([sys.executable, str(script)]) as process, \
            screen("--pid", str(process.pid), "--rate", "20000") as shown:
        shown.wait(r" [1-9]\d* (lost|left out); every 0.2 s")
        below = descendants(int(shown.tmux("display-message", "-p", "#{pane_pid}")))
        analyzers = [pid for pid in below if os.readlink("/proc/%d/exe" % pid) == os.path.realpath(analyzer.PROGRAM)]
        assert len(analyzers) == 2, analyzers
        began, before = time.monotonic(), processor_time(analyzers)
        wait_until(lambda: time.monotonic() - began > 6, "six seconds", 60, 0.1)
        taken, passed = processor_time(analyzers) - before, time.monotonic() - began
        # Beside it what was saved, one look and one picture that were begun, and the kernel's ticks.
        assert taken < 0.5 * passed + 0.5, (taken, passed)
        # On a busy machine it may get less than it may take.
        assert taken < 0.45 * passed or re.search(r" [1-9]\d* left out;", shown.text()), shown.text()
        shown.keys("2")
        shown.wait(r"^ +\d+\.\d +[1-9]\d+\.\d .* down \(")
        shown.keys("q")
        shown.wait(r"^exit 0$")


def test_ends(program, tmp_path):
    """The process ends, a command ends; no terminal; a terminal of no known kind."""
    with screen("--pid", str(program.pid)) as shown:
        shown.wait(r"leaf_one")
        program.kill()
        shown.wait(r"^pystack-core: process %d has ended\nexit 0$" % program.pid)
    script = tmp_path / "ends.py"
    script.write_text("import time\nprint('printed by it', flush=True)\nend = time.monotonic() + 1.5\n"
                      "while time.monotonic() < end: sum(range(1000))\nraise SystemExit(5)\n")
    with screen("--", sys.executable, str(script)) as shown:
        shown.wait(r"^pystack-core top  process \d+: ")
        assert "printed by it" not in shown.text()
        shown.wait(r"^printed by it\nexit 5$")
    result = analyzer.run("top", "--pid", str(os.getpid()))
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "pystack-core: top needs a terminal; record writes files\n"
    # ncurses keeps what it made of a terminal that it does not know.
    with screen("--pid", str(os.getpid()), env="TERM=nonsense ASAN_OPTIONS=detect_leaks=0") as shown:
        shown.wait(r"^pystack-core: top needs a terminal that TERM describes; record writes files\nexit 2$")


def children(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
        return [int(word) for word in file.read().split()]


def descendants(pid):
    return [one for child in children(pid) for one in [child, *descendants(child)]]


def test_who_draws_is_killed(program):
    """The other half gives the terminal back, and says what has happened where it can be read."""
    with screen("--pid", str(program.pid)) as shown:
        shown.wait(r"leaf_one")
        below = descendants(int(shown.tmux("display-message", "-p", "#{pane_pid}")))
        analyzers = [pid for pid in below if os.readlink("/proc/%d/exe" % pid) == os.path.realpath(analyzer.PROGRAM)]
        assert len(analyzers) == 2, analyzers
        os.kill(max(analyzers, key=lambda pid: pid in children(analyzers[0])), signal.SIGKILL)
        shown.wait(r"^pystack-core: what reads the files and the memory was ended by signal 9 \(Killed\)\nexit 2$")
        assert shown.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag}").split() == ["0", "1"]
    assert program.poll() is None


def test_wrong_usage():
    for words in ((), ("--pid", "1", "--", "true"), ("--pid", "x"), ("--interval", "0", "--pid", "1")):
        result = analyzer.run("top", *words)
        assert result.returncode == 64 and "pystack-core top --help" in result.stderr, result.describe()
