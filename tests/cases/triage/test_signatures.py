"""Deaths of one cause have one signature, others have another one."""
import json
import os
import re
import subprocess

import pytest

import analyzer
import interpreters
import living

# Each function comes from the file a.py; what differs between the runs is what does not matter.
PROGRAM = """
import ctypes, os, sys, threading
%(moved)s
def parse(depth):
    if depth:
        return parse(depth - 1)
    return %(death)s
def load():
    return parse(%(depth)d)
class Job(object):
    def run(self):
        return load()
for number in range(%(threads)d):
    threading.Thread(target=threading.Event().wait, daemon=True).start()
Job().run()
"""
DEATH = "ctypes.string_at(0)"


def die(folder, interpreter, name="a", options=(), **changes):
    """The JSON report of a program that died, and the core file."""
    values = {"moved": "", "death": DEATH, "depth": 0, "threads": 0, **changes}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / (name + ".py")).write_text(PROGRAM % values)
    done = subprocess.run(["sh", "-c", 'ulimit -c unlimited; exec "$@"', "sh", interpreter.path, "-s", *options, name + ".py"],
                          cwd=folder, capture_output=True, timeout=600)
    assert done.returncode < 0, done
    core = folder / "core"
    result = analyzer.run("--format", "json", core)
    analyzer.schema_validator().validate(result.json)
    return result.json, core


def signature(*arguments, **changes):
    report, core = die(*arguments, **changes)
    os.unlink(core)
    return report["signature"]


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """The signature of the death, and the interpreter of which it is."""
    interpreter = interpreters.find_system() or pytest.skip("no /usr/bin/python3 here")
    return signature(tmp_path_factory.mktemp("known") / "app", interpreter), interpreter


def test_what_it_is_made_of(known):
    found, _ = known
    assert found["version"] == 1 and re.fullmatch("[0-9a-f]{40}", found["hash"]) and found["hash"] != found["exact"]
    assert found["parts"][-3:] == ["a:parse", "a:load", "a:Job.run"]
    # The C library has the name of strlen() only with its debug file.
    assert found["parts"][0].startswith("SIGSEGV") and ("strlen" in found["title"] or "string_at" in found["title"])


@pytest.mark.parametrize("changes", [
    {"moved": "x = 1\n" * 7}, {"depth": 40}, {"depth": 2}, {"threads": 5}, {"options": ["-X", "faulthandler"]},
    {"options": ["-X", "dev"]}], ids=str)
def test_the_same_cause(known, tmp_path, changes):
    expected, interpreter = known
    found = signature(tmp_path / "elsewhere" / "app", interpreter, **changes)
    assert found["parts"] == expected["parts"] and found["hash"] == expected["hash"]


@pytest.mark.parametrize("changes", [
    {"name": "b"}, {"death": "ctypes.memset(1, 2, 3)"}, {"death": "os.abort()"}, {"death": "os.kill(os.getpid(), 11)"}], ids=str)
def test_another_cause(known, tmp_path, changes):
    expected, interpreter = known
    assert signature(tmp_path, interpreter, **changes)["hash"] != expected["hash"]


def test_stripped_or_not(known, tmp_path, interpreter):
    """Debian's interpreter and its modules are stripped; before 3.11 a function's class is not in its name."""
    if interpreter.minor < (3, 11):
        pytest.skip("co_qualname came with 3.11")
    expected, _ = known
    assert signature(tmp_path, interpreter)["parts"] == expected["parts"]


def test_explanation_and_rules_of_a_project(known, tmp_path):
    _, interpreter = known
    report, core = die(tmp_path, interpreter)
    lines = analyzer.run("--explain-signature", core).stdout.splitlines()
    assert lines[0] == report["signature"]["title"] and lines[1].split()[1].rstrip(",") == report["signature"]["hash"]
    in_app = r"  load \(.*a\.py\): of the application, line \d+ of the built-in rules: in-app \*$"
    assert any(re.match(in_app, line) for line in lines)
    rules = tmp_path / "rules"
    rules.write_text("# ours\nskip strlen\nskip *str*\nnot-in-app */a.py\n")
    found = analyzer.run("--format", "json", "--rules", rules, core).json["signature"]
    assert "a:parse" not in found["parts"][1:-1] and "strlen" not in found["parts"] and found["parts"]
    explained = analyzer.run("--explain-signature", "--rules", rules, core).stdout
    assert "line 4 of %s: not-in-app */a.py" % rules in explained
    rules.write_bytes(b"in-app [\x1b/]*a.py\n")
    assert r"in-app [\x1b/]*a.py" in analyzer.run("--explain-signature", "--rules", rules, core).stdout
    rules.write_text("skip a\nskipp b\n")
    result = analyzer.run("--format", "json", "--rules", rules, core)
    assert result.returncode == analyzer.EXIT_NOTHING and not result.stdout
    assert result.stderr == "pystack-core: --rules: %s: line 2: no such action\n" % rules
    for wrong in (tmp_path / "none", tmp_path):
        assert analyzer.run("--explain-signature", "--rules", wrong, core).returncode == analyzer.EXIT_NOTHING


def test_text_has_none(known, tmp_path):
    _, interpreter = known
    report, core = die(tmp_path, interpreter)
    assert report["signature"]["hash"][:12] not in analyzer.run(core).stdout
    assert json.loads(analyzer.run("--format", "json", core).stdout)["signature"]["title"]


DEADLOCK = """
import threading
a, b, both = threading.RLock(), threading.RLock(), threading.Barrier(2)
def left():
    with a:
        both.wait()
        with b:
            pass
def right():
    with b:
        both.wait()
        with a:
            pass
threads = [threading.Thread(target=function) for function in (ORDER)]
for one in threads:
    one.start()
print("ready", flush=True)
for one in threads:
    one.join()
"""


def test_deadlock(tmp_path):
    """Which of its threads came first does not matter."""
    interpreter = interpreters.find_system() or pytest.skip("no /usr/bin/python3 here")
    hashes = set()
    for number, order in enumerate(("left, right", "right, left")):
        (tmp_path / "dead.py").write_text(DEADLOCK.replace("ORDER", order))
        with living.running([interpreter.path, "-s", tmp_path / "dead.py"]) as process:
            living.wait_until(lambda: report_of(process)["deadlocks"], "the deadlock")
            found = report_of(process)["signature"]
        assert found["parts"] == ["deadlock", "dead:left", "dead:right"]
        hashes.add(found["hash"])
    assert len(hashes) == 1


HANG = """
import os, threading
lock, other, passed = threading.Lock(), threading.RLock(), threading.Event()
def read():
    os.read(os.pipe()[0], 1)
def read_elsewhere():
    os.read(os.pipe()[0], 1)
def hold(block):
    with lock:
        print("ready", flush=True)
        block()
def pass_on():
    with other:
        passed.set()
        lock.acquire()
def wait():
    lock.acquire()
def wait_elsewhere():
    with lock:
        pass
def wait_for_end():
    held.join()
def wait_for_who_waits():
    other.acquire()
held = threading.Thread(target=hold, args=(BLOCK,))
held.start()
while not lock.locked():
    pass
passing = threading.Thread(target=pass_on)
passing.start()
passed.wait()
MAIN()
"""


def test_hang(tmp_path):
    """Named by the thread that all others wait for, wherever they do."""
    interpreter = interpreters.find_system() or pytest.skip("no /usr/bin/python3 here")
    hashes: dict[str, set] = {}
    runs = [("read", name) for name in ("wait", "wait_elsewhere", "wait_for_end", "wait_for_who_waits")]
    for block, main in [*runs, ("read_elsewhere", "wait")]:
        (tmp_path / "hang.py").write_text(HANG.replace("BLOCK", block).replace("MAIN", main))
        with living.running([interpreter.path, "-s", tmp_path / "hang.py"]) as process:
            living.wait_until(lambda: all(thread_waits(one) for one in report_of(process)["threads"]), "threads that wait")
            found = report_of(process)["signature"]
        assert found["parts"][1:] == ["hang:" + block, "hang:hold"], found
        hashes.setdefault(block, set()).add(found["hash"])
    assert [len(one) for one in hashes.values()] == [1, 1] and not hashes["read"] & hashes["read_elsewhere"]


def thread_waits(thread):
    return thread["waits_for"] and thread["waits_for"]["kind"] != "gil"


def report_of(process):
    return json.loads(analyzer.run("--format", "json", "--pid", process.pid).stdout)


def test_stack_overflow(tmp_path):
    """Where in the recursion the stack ended is by chance."""
    interpreter = interpreters.find_system() or pytest.skip("no /usr/bin/python3 here")
    hashes = set()
    for depth in (0, 7):
        report, core = die(tmp_path / str(depth), interpreter, depth=depth, moved="""
sys.setrecursionlimit(10 ** 9)
class Odd(object):
    def __init__(self, other=None): self.other = other or self
    def __repr__(self): return repr(Even(self))
class Even(Odd):
    def __repr__(self): return repr(Odd(self))
""", death="repr(Odd())")
        os.unlink(core)
        hashes.add(report["signature"]["hash"])
        assert report["signature"]["parts"] == ["SIGSEGV stack-overflow", "a:Even.__repr__", "a:Odd.__repr__"]
    assert len(hashes) == 1


NESTED = """
import json, sys
sys.setrecursionlimit(10 ** 8)
def dump(%(argument)s):
    nested = []
    for _ in range(10 ** 6):
        nested = [nested]
    return json.dumps(nested)
%(before)s
dump()
"""


def test_overflow_of_native_code(tmp_path):
    """The C code of json recurses without Python: what it had called when the stack ended is by chance."""
    interpreter = interpreters.find_system() or pytest.skip("no /usr/bin/python3 here")
    found = set()
    for number in range(4):
        folder = tmp_path / str(number)
        folder.mkdir()
        text = NESTED % {"argument": "unused=1" if number % 2 else "", "before": "import os\n" * number}
        (folder / "nests.py").write_text(text)
        # The environment moves the stack.
        done = subprocess.run(["sh", "-c", 'ulimit -c unlimited; exec "$@"', "sh", interpreter.path, "-s", "nests.py"],
                              cwd=folder, env={**os.environ, "MOVES": "x" * (number * 1000 + number)},
                              capture_output=True, timeout=600)
        if done.returncode >= 0:
            pytest.skip("its encoder ends by itself")
        report = analyzer.run("--format", "json", folder / "core", timeout=240)
        found.add(tuple(report.json["signature"]["parts"]))
    assert len(found) == 1, found
    assert found.pop()[-2:] == ("nests:dump", "nests:<module>")
