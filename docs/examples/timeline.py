"""Two threads and two processes that take turns: what a time line of a profile shows."""
import hashlib
import json
import multiprocessing
import threading
import time


def parse(until):
    text = json.dumps(list(range(20000)))
    while time.monotonic() < until:
        json.loads(text)


def digest(until):
    block = bytes(1 << 20)
    while time.monotonic() < until:
        hashlib.sha256(block).digest()


def work(seconds):
    until = time.monotonic() + seconds
    threads = [threading.Thread(target=function, args=(until,), name=function.__name__) for function in (parse, digest)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    process = multiprocessing.get_context("fork").Process(target=work, args=(1.5,), name="child")
    process.start()
    work(1)
    process.join()
