"""Threads and code that come and go: outer_N calls inner_N and nobody else does. churn.py SECONDS"""
import sys
import threading
import time

SOURCE = """
def inner_{0}(end):
    while now() < end:
        pass

def outer_{0}(end):
    inner_{0}(end)
"""


def live(number):
    names = {"now": time.monotonic}
    exec(compile(SOURCE.format(number), "made_%d.py" % number, "exec"), names)
    names["outer_%d" % number](time.monotonic() + 0.004)


def main():
    end = time.monotonic() + float(sys.argv[1])
    number = 0
    while time.monotonic() < end:
        threads = [threading.Thread(target=live, args=(number + i,)) for i in range(3)]
        number += len(threads)
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


main()
