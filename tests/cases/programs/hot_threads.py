# Threads that ran the same functions often, each with its own specialisations, then wait in them.
import os
import signal
import threading
import time

import witness

HOT = 3000
arrived = []
held = threading.Lock()
held.acquire()


def pause(index, number):
    if number == HOT - 1:
        arrived.append(index) or held.acquire()  # one line: from now on it stays
    return number


class Adder(object):
    def __init__(self, index):
        self.index = index
        self.total = 0

    def add(self, number):
        self.total += pause(self.index, number) if number % 3 else 1
        return self.total

    def all(self):
        return [self.add(number) for number in range(HOT)] and sum(
            self.add(number)
            for number in range(HOT))


for index in range(6):
    thread = threading.Thread(target=Adder(index).all, name="hot %d" % index)
    thread.daemon = True
    thread.start()
while len(arrived) < 6:
    time.sleep(0.01)
# os.kill keeps the GIL where there is one.
witness.testify(deep=True), os.kill(os.getpid(), signal.SIGSEGV)
