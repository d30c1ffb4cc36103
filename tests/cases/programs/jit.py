# Dies in C code called by machine code that the JIT made, itself called by more of that (3.14, 3.15).
import faulthandler
import os
import signal
import sys

import witness

HOT = 20000

if not sys._jit.is_enabled():
    os.execve(sys.executable, [sys.executable] + sys.argv, dict(os.environ, PYTHON_JIT="1"))


class Rows(object):
    def __init__(self, signals):
        self.signals = signals

    def send(self, total):
        pid, kill = os.getpid(), os.kill
        for number in self.signals:
            total += number + 1
            kill(pid, number)
        return total


def repeat(rows):
    total = 0
    for row in rows:
        for step in range(3):
            total += step
        total = row.send(total)
    return total


def by_key(last):
    return sorted([last], key=lambda item: repeat([Rows([0] * 10) for _ in range(HOT)] + [Rows([0] * HOT + [item])]))


# A signal of 0 does nothing.
by_key(0)
witness.testify()
out = open(os.path.join(witness.FOLDER, "faulthandler.txt"), "w")
faulthandler.enable(out)
by_key(int(signal.SIGSEGV))  # no enum: other types than before would leave that code
