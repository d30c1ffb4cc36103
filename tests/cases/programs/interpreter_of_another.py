# An interpreter that one thread made, which has ended, and that another one runs; a thread inside it.
import threading
import time

try:
    import _interpreters as module
    create, run = lambda: module.create("legacy"), module.exec
except ImportError:
    import _xxsubinterpreters as module
    run = module.run_string

    def create():
        try:
            return module.create(isolated=False)
        except TypeError:
            return module.create()

SOURCE = """
import threading, time
def rests_inside():
    time.sleep(600)
def works():
    try:
        raise ValueError("inner")
    except ValueError:
        thread = threading.Thread(target=rests_inside)
        thread.daemon = True
        thread.start()
        print("ready", flush=True)
        time.sleep(600)
works()
"""
made = []


def runs():
    try:
        raise KeyError("outer")
    except KeyError:
        run(made[0], SOURCE)


maker = threading.Thread(target=lambda: made.append(create()))
maker.start()
maker.join()
runner = threading.Thread(target=runs, name="runner")
runner.daemon = True
runner.start()
time.sleep(600)
