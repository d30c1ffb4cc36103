"""What the processor refused: the access, the instruction with its registers, the pointer's pattern."""
import contextlib
import copy
import json
import os
import re
import signal
import subprocess
from typing import Dict, List

import pytest

import analyzer
import cores
import interpreters
import resting

SOURCE, PROGRAM = [os.path.join(cores.PROGRAMS, name) for name in ("faults.c", "faults.py")]
WAYS = ["null_write", "null_read", "add", "vector", "wild", "kernel", "call", "call_data", "code", "none", "file",
        "copy_to", "copy_from", "freed_python", "text", "call_wild", "return", "aligned", "halt", "divide", "overflow",
        "undefined", "breakpoint", "freed", "flipped", "deep"]
FEW = ["null_write", "freed_python"]
HANDLERS = ["faulthandler", "raise", "raise+siginfo", "raise+nodefer", "raise+siginfo+stack+nodefer", "kill",
            "kill+nodefer", "abort", "abort+stack", "queue+siginfo", "queue+siginfo+nodefer"]

pytestmark = pytest.mark.skipif(not cores.kernel_writes_here(), reason="the kernel's own core is looked at")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("library") / "libfaults.so")
    cores.compile_c([SOURCE], path, "-g", "-O1", "-shared", "-fPIC", "-w", "-fcf-protection=none")
    return path


def command_of(interpreter, library, folder, way, *more):
    return [interpreter.path, PROGRAM, library, str(folder / "promise"), way, *more]


def die(interpreter, library, folder, way, *more):
    """The report of a death, and what the program has said of it."""
    folder.mkdir(exist_ok=True, parents=True)
    cores.run_to_core(command_of(interpreter, library, folder, way, *more), str(folder))
    return report_on(folder)


def report_on(folder):
    document = analyzer.json_of(str(folder / "core")).json
    os.remove(folder / "core")
    return document, json.loads((folder / "promise").read_text())


def check(document, promise):
    crash = document["crash"]
    words, holds, instruction = promise.pop("words", ""), promise.pop("holds", None), promise.pop("instruction", "")
    assert {name: crash[name] for name in promise} == promise, crash
    assert words in crash["summary"], crash
    if instruction is None:
        assert crash["instruction"] is None and not crash["operands"], crash
    elif instruction:
        assert re.fullmatch(instruction, crash["instruction"]), crash
    if holds:
        assert holds in crash["operands"].values(), crash
        assert all("%" + name in crash["instruction"] for name in crash["operands"]), crash


def system_or_first():
    return interpreters.find_system() or interpreters.find_wanted()[0]


def others():
    found = {one.minor: one for one in interpreters.find_wanted()}
    chosen = [found[minor] for minor in ((3, 8), (3, 12), (3, 13)) if minor in found]
    return interpreters.find_wanted() if analyzer.THOROUGH else chosen


@pytest.mark.parametrize("way,python", interpreters.in_turn(WAYS), ids=str)
def test_fault(way, python, library, tmp_path):
    check(*die(python, library, tmp_path, way))


def test_two_bits(library, tmp_path):
    """Of a pointer that differs in one bit more nothing is said."""
    document, promise = die(system_or_first(), library, tmp_path, "flipped_twice")
    check(document, promise)
    assert "flipped" not in document["crash"]["summary"], document["crash"]


def assert_not_freed(crash):
    assert crash["cause"] == "wild-pointer" and "free()" not in crash["summary"], crash


@pytest.mark.parametrize("way", ["reused", "reused_as_it_was"])
@pytest.mark.parametrize("python", others(), ids=repr)
def test_memory_that_is_used_again(python, way, library, tmp_path):
    """A pointer out of a block that was freed and given out again: alive, in a handler that loops, and as a core."""
    found: List[dict] = []

    def is_seen(process):
        found.extend([fault for fault in [seen_fault(process)] if fault])
        return bool(found)

    document, promise = die(python, library, tmp_path / "core", way)
    check(document, promise)
    assert_not_freed(document["crash"])
    folder = tmp_path / "alive"
    folder.mkdir()
    with running(python, library, folder, way, "python") as process:
        resting.wait_until(lambda: is_seen(process), "its fault", resting.WAIT)
    assert_not_freed(found[-1])


@pytest.mark.parametrize("way", FEW)
@pytest.mark.parametrize("python", others(), ids=repr)
def test_fault_of_other_interpreters(python, way, library, tmp_path):
    check(*die(python, library, tmp_path, way))


@pytest.mark.skipif(not analyzer.THOROUGH, reason="slow: --thorough")
@pytest.mark.parametrize("way", WAYS)
def test_instruction_as_gdb_has_it(way, library, tmp_path):
    interpreter = system_or_first()
    cores.run_to_core(command_of(interpreter, library, tmp_path, way), str(tmp_path))
    said = subprocess.run(["gdb", "-nx", "-batch", "-ex", "x/i $pc", "-ex", "info registers", interpreter.path,
                           str(tmp_path / "core")], capture_output=True, text=True, timeout=600).stdout
    crash = report_on(tmp_path)[0]["crash"]
    shown = re.search(r"=> .*:\t(.*)", said)
    if shown and crash["access"] != "execute" and way != "breakpoint":
        assert re.sub(r" +", " ", shown.group(1)).split(" <")[0].split(" #")[0] == crash["instruction"].rstrip()
    for name, value in crash["operands"].items():
        if crash["access"] != "execute":
            assert re.search(r"^%s +%s\b" % (name, value), said, re.M), (name, value)


# ---- below a signal handler ----

def plain(document):
    """What has to be the same with and without a handler: no addresses, no ids."""
    crash = dict(document["crash"], thread=None, raised_again=None)
    if crash["fault_address"] and len(crash["fault_address"]) > 8:
        crash.update(fault_address="far", operands=sorted(crash["operands"]))
    crash["summary"] = re.sub(r"0x[0-9a-f]{8,}", "far", crash["summary"] or "").replace(str(document["target"]["pid"]), "pid")
    crash["summary"] = re.sub(r"/\S*/promise", "promise", crash["summary"])
    if crash["sender_pid"]:
        crash["sender_pid"] = "own" if crash["sender_pid"] == document["target"]["pid"] else "other"
    thread = document["threads"][0]
    assert "crashed" in thread["state"] and thread["tid"] == document["crash"]["thread"]
    frames = [(frame["kind"], frame["function"], frame["line"], frame["trust"]) for frame in thread["frames"]]
    return crash, thread["name"], frames


def check_same(bare, below):
    assert not bare["crash"]["raised_again"] and below["crash"]["raised_again"]
    assert plain(bare) == plain(below)


BARE: Dict[tuple, dict] = {}


def die_bare(interpreter, library, folder, way, *more):
    """The report of the same death without a handler; made once."""
    key = (interpreter.path, way, *more)
    if key not in BARE:
        BARE[key] = die(interpreter, library, folder / "bare", way, "", *more)[0]
    return copy.deepcopy(BARE[key])


def compare(interpreter, library, folder, way, handler, *more):
    bare = die_bare(interpreter, library, folder, way, *more)
    below, _ = die(interpreter, library, folder / "below", way, handler, *more)
    check_same(bare, below)


@pytest.mark.parametrize("way", ["null_write", "freed_python", "divide", "file"])
def test_below_faulthandler(way, library, tmp_path):
    compare(system_or_first(), library, tmp_path, way, "faulthandler")


@pytest.mark.parametrize("way", ["null_write", "abort"])
@pytest.mark.parametrize("python", others(), ids=repr)
def test_below_faulthandler_of_other_interpreters(python, way, library, tmp_path):
    compare(python, library, tmp_path, way, "faulthandler")
    if analyzer.THOROUGH:
        compare(python, library, tmp_path / "thread", way, "faulthandler", "thread")


@pytest.mark.parametrize("handler", HANDLERS[1:])
@pytest.mark.parametrize("way", WAYS[:-1] if analyzer.THOROUGH else ["call"])
def test_below_a_handler(handler, way, library, tmp_path):
    bare = die_bare(system_or_first(), library, tmp_path, way)
    below, _ = die(system_or_first(), library, tmp_path / "below", way, handler)
    if handler == "queue+siginfo":  # Its signal comes when it has returned, with the siginfo of the fault.
        below["crash"]["raised_again"] = True
    if way == "file":
        bare["crash"]["summary"] = below["crash"]["summary"]
    check_same(bare, below)


@pytest.mark.parametrize("mode", ["native", "python"])
def test_header_in_every_mode(mode, library, tmp_path):
    cores.run_to_core(command_of(system_or_first(), library, tmp_path, "null_write", "faulthandler"), str(tmp_path))
    path = str(tmp_path / "core")
    crash = analyzer.json_of(path).json["crash"]
    document = analyzer.json_of(path, "--mode", mode).json
    assert document["crash"] == crash and crash["raised_again"] and crash["fault_address"] == "0x18"
    everything = analyzer.json_of(path, "--all").json["threads"][0]["frames"]
    hidden = [frame["symbol"] for frame in everything if frame["hidden"]]
    assert "raise" in hidden and any(frame["symbol"] == "__restore_rt" for frame in everything)
    if mode == "native":  # It hides nothing.
        assert "raise" in [frame["symbol"] for frame in document["threads"][0]["frames"]]
    os.remove(path)


@pytest.mark.parametrize("handler", ["", "faulthandler"])
@pytest.mark.parametrize("where", ["main", "thread"])
def test_stack_overflow(where, handler, library, tmp_path):
    document, promise = die(system_or_first(), library, tmp_path, "deep", handler, where)
    check(document, promise)
    # faulthandler's own stack is for one thread: in others its frame has no room, and nothing is raised again.
    assert document["crash"]["raised_again"] == bool(handler and where == "main")
    thread = document["threads"][0]
    assert thread["recursion"]["times"] > 1000 and thread["recursion"]["frames"] == 1
    assert "faults_deep" in (thread["frames"][0]["function"], thread["frames"][1]["function"])


def test_handler_that_faults(library, tmp_path):
    """The first fault is told as if there were no handler, and what then happened."""
    bare = die_bare(system_or_first(), library, tmp_path, "null_write")
    below, _ = die(system_or_first(), library, tmp_path / "below", "null_write", "fault")
    assert below["crash"].pop("handler_fault") == "SIGSEGV: reading from 0x98 (near a null pointer), not mapped"
    below["crash"]["raised_again"] = True
    check_same(bare, below)


# ---- alive ----

@contextlib.contextmanager
def running(interpreter, library, folder, way, *more):
    process = subprocess.Popen(command_of(interpreter, library, folder, way, *more), cwd=folder,
                               preexec_fn=cores._allow_cores, stderr=subprocess.DEVNULL)
    try:
        promise = folder / "promise"
        resting.wait_until(lambda: promise.exists() or process.poll() is not None, "what it says", resting.WAIT)
        yield process
    finally:
        process.kill()
        process.wait()


def end_with(process, number, folder):
    process.send_signal(number)
    process.wait(timeout=resting.WAIT)
    left, = [path for path in folder.iterdir() if path.name.startswith("core")]
    left.rename(folder / "core")


def seen_fault(process):
    """The fault of the only thread, or None."""
    document = analyzer.run("--format", "json", "--pid", process.pid).json
    analyzer.assert_fits_schema(document)
    assert document["crash"] is None
    thread, = document["threads"]
    return thread.get("fault")


@pytest.mark.parametrize("python", [system_or_first(), *others()], ids=repr)
@pytest.mark.parametrize("way", ["null_write", "divide"] if analyzer.THOROUGH else ["null_write"])
def test_python_handler_that_loops(way, python, library, tmp_path):
    """Python's handler notes the signal and returns: the instruction faults for ever."""
    found: List[dict] = []

    def is_seen():
        found.extend([fault for fault in [seen_fault(process)] if fault])
        return bool(found)

    with running(python, library, tmp_path, way, "python") as process:
        resting.wait_until(is_seen, "its fault", resting.WAIT)
        end_with(process, signal.SIGABRT, tmp_path)
    document, promise = report_on(tmp_path)
    assert document["crash"]["signal"] == "SIGABRT" and document["crash"]["sender_pid"] == os.getpid()
    for fault in (found[-1], document["threads"][0].get("fault")):
        check({"crash": fault}, dict(promise))


def test_busy_process_has_no_fault(library, tmp_path):
    """Memory that was mapped since the mappings were listed is no fault."""
    with running(system_or_first(), library, tmp_path, "busy", "python") as process:
        assert [seen_fault(process) for _ in range(100 if analyzer.THOROUGH else 15)].count(None) >= 15


# ---- near misses ----

@pytest.mark.parametrize("handler", ["", "faulthandler"])
@pytest.mark.parametrize("way", ["caught", "caught_raise", "alarm", "alarm_fault"])
def test_no_fault_below_a_handler(way, handler, library, tmp_path):
    """An old signal frame lies on the stack, and the kernel's words on the thread's last fault stay."""
    check(*die(system_or_first(), library, tmp_path, way, handler))


@pytest.mark.parametrize("handler", ["", "faulthandler"])
def test_sent_from_outside(handler, library, tmp_path):
    with running(system_or_first(), library, tmp_path, "sent", handler) as process:
        ready = tmp_path / "promise.ready"
        resting.wait_until(lambda: ready.exists() or process.poll() is not None, "its loop", resting.WAIT)
        end_with(process, signal.SIGSEGV, tmp_path)
    document, promise = report_on(tmp_path)
    check(document, promise)
    assert "near_spin" in [frame["function"] for frame in document["threads"][0]["frames"][:4]]
    assert document["crash"]["sender_pid"] == (None if handler else os.getpid())
