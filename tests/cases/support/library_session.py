"""Run by any Python: shows a core file and a sleeping process through gdb-plugin/pystack_core_library.py.

    library_session.py PLUGIN_FOLDER CORE EXECUTABLE PID     JSON on standard output
"""
import itertools
import json
import os
import signal
import sys
from typing import Any, Dict

sys.path.insert(0, sys.argv[1])
import pystack_core_library as psc  # noqa: E402


def read_file(pid, name):
    with open("/proc/%d/%s" % (pid, name), "rb") as file:
        return file.read()


def sleeping_thread(pid, tid):
    """Registers as far as /proc tells: the thread sleeps in a system call."""
    words = read_file(pid, "task/%d/syscall" % tid).split()
    registers = [0] * len(psc.X86_64.registers)
    registers[psc.X86_64.registers.index("rsp")] = int(words[-2], 16)
    registers[psc.X86_64.registers.index("rip")] = int(words[-1], 16)
    return psc.Thread(tid, registers, 0, name="thread-%d" % tid)


class Memory:
    def __init__(self, pid):
        self.file = open("/proc/%d/mem" % pid, "rb", buffering=0)
        self.reads = 0

    def read(self, address, size):
        self.reads += 1
        self.file.seek(address)
        return self.file.read(size)


def held(pid, **how):
    threads = [sleeping_thread(pid, int(tid)) for tid in os.listdir("/proc/%d/task" % pid)]
    return psc.HeldProcess(pid, psc.parse_maps(os.fsdecode(read_file(pid, "maps"))), threads,
                    auxv=read_file(pid, "auxv"), **how)


def main(core, executable, pid):
    memory = Memory(pid)
    answers = {}
    with psc.open_core(core, executable) as target, target.capture() as trace:
        answers["core"] = trace.text()
    hows: Dict[str, Dict[str, Any]] = {
        "callback": {"read": memory.read}, "path": {"memory_path": "/proc/%d/mem" % pid}}
    for name, how in hows.items():
        for _ in range(3):
            memory.reads = 0
            with psc.open_held_process(held(pid, **how)) as target, target.capture() as trace:
                answers[name] = json.loads(trace.json_text(show_all=True))
                answers[name + " reads"] = memory.reads
                answers[name + " text"] = trace.text()

    def interrupted(address, size):
        memory.reads += 1
        if memory.reads > 20:
            raise KeyboardInterrupt
        return memory.read(address, size)

    memory.reads = 0
    try:
        with psc.open_held_process(held(pid, read=interrupted)) as target, target.capture():
            answers["interrupted"] = "not at all"
    except KeyboardInterrupt:
        answers["interrupted"] = memory.reads
    # Asked while it works; what stands then is thrown away.
    asked = itertools.count(1)
    psc.ask_for_interrupts(lambda: next(asked) > 5)
    try:
        with psc.open_core(core, executable) as target, target.capture():
            answers["asked"] = "not at all"
    except KeyboardInterrupt:
        answers["asked"] = next(asked) - 1
    # A signal: KeyboardInterrupt comes up in the callback, or where it begins.
    psc.ask_for_interrupts(lambda: os.kill(os.getpid(), signal.SIGINT))
    answers["signal"] = 0
    for _ in range(20):
        try:
            with psc.open_core(core, executable) as target, target.capture():
                pass
        except KeyboardInterrupt:
            answers["signal"] += 1
    psc.ask_for_interrupts(lambda: False)
    for name, path in (("no core", "/nonexistent"), ("not a core", executable)):
        try:
            psc.open_core(path)
        except psc.Failed as reason:
            answers[name] = str(reason)
    json.dump(answers, sys.stdout)


main(sys.argv[2], sys.argv[3], int(sys.argv[4]))
