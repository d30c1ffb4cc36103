"""At every instruction with which an evaluator is entered or left, the stack is whole and right.

A process is driven instruction by instruction. Around each entry and exit the library looks at it:
an evaluator call that is on the native stack runs the same Python frame from its first to its last look;
before and after that, and only while it is the innermost one, it runs none.
"""
import ctypes
import os
import subprocess
import sys

import pytest

import analyzer
import cores

sys.path.insert(0, os.path.join(cores.SOURCE, "gdb-plugin"))
import pystack_core_loader as loader  # noqa: E402
import pystack_core_library as psc  # noqa: E402

PROGRAM = os.path.join(cores.PROGRAMS, "steps.py")
ALSO_OLDER = True
SLOW = True  # A third of the interpreters, unless thoroughly.
KINDS = ["call", "call_through_c", "iterate", "throw", "finalize", "unwind"]
# PSC_TEST_STEPS=3000 looks at nearly all that the program does.
LOOKS = int(os.environ.get("PSC_TEST_STEPS", "150"))
AROUND = 60  # Instructions that are looked at from an entry or a change of the thread state on.
STEPS = 200000
TOP_OF_STATE = 88  # Bytes of PyThreadState: the pointers to its newest frame are among them.

PTRACE_GETREGS, PTRACE_SINGLESTEP, PTRACE_SEIZE, PTRACE_INTERRUPT = 12, 9, 0x4206, 0x4207
USER_REGISTERS = ("r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp "
                  "ss fs_base gs_base ds es fs gs").split()

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


def ptrace(request, pid, data=None):
    assert libc.ptrace(request, pid, None, data) == 0, os.strerror(ctypes.get_errno())


class Stepper:
    """A process of one thread that this one traces."""

    def __init__(self, pid):
        self.pid = pid
        self.memory = "/proc/%d/mem" % pid
        self.file = open(self.memory, "rb", buffering=0)
        ptrace(PTRACE_SEIZE, pid)
        ptrace(PTRACE_INTERRUPT, pid)
        os.waitpid(pid, 0x40000000)
        with open("/proc/%d/auxv" % pid, "rb") as file:
            self.auxv = file.read()

    def step(self):
        ptrace(PTRACE_SINGLESTEP, self.pid)
        os.waitpid(self.pid, 0x40000000)

    def registers(self):
        values = (ctypes.c_uint64 * len(USER_REGISTERS))()
        ptrace(PTRACE_GETREGS, self.pid, ctypes.addressof(values))
        return dict(zip(USER_REGISTERS, values))

    def look(self):
        registers = self.registers()
        thread = psc.Thread(self.pid, [registers[name] for name in psc.X86_64.registers], registers["fs_base"])
        with open("/proc/%d/maps" % self.pid) as file:
            process = psc.HeldProcess(self.pid, psc.parse_maps(file.read()), [thread], memory_path=self.memory,
                            auxv=self.auxv)
        with psc.open_held_process(process) as target, target.capture(no_source=True) as trace:
            return trace.document(show_all=True)


def moments(stepper, state, evaluator, looks):
    """
    Steps, and stops `looks` times at instructions that are near an entry or an exit and were not met
    before at this depth. Yields the highest stack pointer since the last time: what lies below
    has returned.
    """
    near, before, highest, met = 0, None, 0, set()
    for _ in range(STEPS):
        stepper.file.seek(state)
        top = stepper.file.read(TOP_OF_STATE)
        registers = stepper.registers()
        highest = max(highest, registers["rsp"])
        if registers["rip"] == evaluator or top != before:
            near = AROUND
        before = top
        place = registers["rip"], registers["rsp"]
        if near and place not in met:
            met.add(place)
            yield highest
            highest = 0
            looks -= 1
            if not looks:
                return
        near -= near > 0
        stepper.step()


def list_evaluators(thread):
    """[(where the caller's stack begins, names of its Python frames)], the innermost first."""
    native = [frame for frame in thread["frames"]
              if frame["kind"] in ("native", "cython") and not frame["inlined"]]
    callers = {id(frame): int(caller["sp"], 16) for frame, caller in zip(native, native[1:])}
    found: list = []
    last = None
    for frame in thread["frames"]:
        if id(frame) in callers:
            last = frame
            if analyzer.is_evaluator(frame):
                found.append((callers[id(frame)], []))
        elif frame["kind"] == "python":
            assert analyzer.is_evaluator(last), "%s stands below no evaluator" % frame["name"]
            found[-1][1].append(frame["name"])
    return found


class Calls:
    """The evaluator calls that are under way, and what they ran at all looks."""

    def __init__(self):
        self.running = {}
        self.over = set()

    def check(self, highest, found):
        self.running = {call: names for call, names in self.running.items() if call > highest}
        self.over = {call for call in self.over if call > highest}
        for place, (call, names) in enumerate(found):
            if not names:
                assert place == 0, "evaluator %d of %s runs nothing" % (place, found)
                if call in self.running:
                    self.over.add(call)
                continue
            assert call not in self.over, "%s runs after its end" % names
            known = self.running.get(call, set(names))
            assert known & set(names), "%s became %s" % (known, names)
            self.running[call] = known & set(names)


def describe(document):
    return [(frame["kind"], frame["symbol"] or frame["name"] or frame["function"])
            for frame in document["threads"][0]["frames"]]


def step_through(process, state, evaluator, looks):
    """(looks taken, what was wrong)"""
    stepper = Stepper(process.pid)
    calls, wrong, taken = Calls(), [], 0
    for highest in moments(stepper, state, evaluator, looks):
        document = stepper.look()
        taken += 1
        try:
            assert not document["warnings"], document["warnings"]
            assert not analyzer.gaps(document["threads"][0]), "a gap"
            calls.check(highest, list_evaluators(document["threads"][0]))
        except AssertionError as reason:
            wrong.append("%s: %s" % (reason, describe(document)))
            calls = Calls()
    return taken, wrong


@pytest.mark.skipif(analyzer.SANITIZED, reason="the sanitizer's library needs a preloaded runtime")
def test_every_step(interpreter, monkeypatch):
    monkeypatch.setenv("PYSTACK_CORE_LIBRARY",
                       os.path.join(os.path.dirname(analyzer.PROGRAM), loader.LIBRARY_NAME))
    command = [interpreter.path, "-s", "-E", PROGRAM, *KINDS]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    try:
        word, state, evaluator = process.stdout.readline().split()
        assert word == b"ready"
        taken, wrong = step_through(process, int(state), int(evaluator), LOOKS)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    assert not wrong, "%d of %d looks are wrong, as: %s" % (len(wrong), taken, "\n".join(wrong[:3]))
    assert taken >= LOOKS // 2, taken
