"""What the processor refused: the access, the instruction with its registers, the pointer's pattern."""
import json
import os
import re
import signal
import subprocess

import pytest

import analyzer
import cores
import interpreters
import resting

SOURCE, PROGRAM = [os.path.join(cores.PROGRAMS, name) for name in ("faults.c", "faults.py")]
WAYS = ["null_write", "null_read", "add", "vector", "wild", "kernel", "call", "call_data", "code", "none", "file",
        "copy_to", "copy_from", "freed_python", "text", "call_wild", "return", "aligned", "halt", "divide", "overflow",
        "undefined", "breakpoint", "freed", "flipped", "deep"]
FEW = ["null_write", "call", "freed_python", "divide"]
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


@pytest.mark.parametrize("way", WAYS)
def test_fault(way, library, tmp_path):
    check(*die(system_or_first(), library, tmp_path, way))


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


def compare(interpreter, library, folder, way, handler, *more):
    bare, _ = die(interpreter, library, folder / "bare", way, "", *more)
    below, _ = die(interpreter, library, folder / "below", way, handler, *more)
    check_same(bare, below)


@pytest.mark.parametrize("way", ["null_write", "call", "freed_python", "divide", "undefined", "file"])
def test_below_faulthandler(way, library, tmp_path):
    compare(system_or_first(), library, tmp_path, way, "faulthandler")


@pytest.mark.parametrize("way", ["null_write", "abort"])
@pytest.mark.parametrize("python", others(), ids=repr)
def test_below_faulthandler_of_other_interpreters(python, way, library, tmp_path):
    compare(python, library, tmp_path, way, "faulthandler")
    if analyzer.THOROUGH:
        compare(python, library, tmp_path / "thread", way, "faulthandler", "thread")


@pytest.mark.parametrize("handler", HANDLERS[1:])
@pytest.mark.parametrize("way", ["call", "freed_python"] if not analyzer.THOROUGH else WAYS[:-1])
def test_below_a_handler(handler, way, library, tmp_path):
    bare, _ = die(system_or_first(), library, tmp_path / "bare", way)
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


# ---- near misses ----

@pytest.mark.parametrize("handler", ["", "faulthandler"])
@pytest.mark.parametrize("way", ["caught", "caught_raise", "alarm", "alarm_fault"])
def test_no_fault_below_a_handler(way, handler, library, tmp_path):
    """An old signal frame lies on the stack, and the kernel's words on the thread's last fault stay."""
    check(*die(system_or_first(), library, tmp_path, way, handler))


@pytest.mark.parametrize("handler", ["", "faulthandler"])
def test_sent_from_outside(handler, library, tmp_path):
    command = command_of(system_or_first(), library, tmp_path, "sent", handler)
    process = subprocess.Popen(command, cwd=tmp_path, preexec_fn=cores._allow_cores, stderr=subprocess.DEVNULL)
    try:
        ready = tmp_path / "promise.ready"
        resting.wait_until(lambda: ready.exists() or process.poll() is not None, "its loop", resting.WAIT)
        process.send_signal(signal.SIGSEGV)
        process.wait(timeout=resting.WAIT)
    finally:
        process.kill()
        process.wait()
    left, = [path for path in tmp_path.iterdir() if path.name.startswith("core")]
    left.rename(tmp_path / "core")
    document, promise = report_on(tmp_path)
    check(document, promise)
    assert "near_spin" in [frame["function"] for frame in document["threads"][0]["frames"][:4]]
    assert document["crash"]["sender_pid"] == (None if handler else os.getpid())
