"""running.py FOLDER LIBWAYS [MODE]: sets and removes variables of its environment, writes down what it knows of itself
(truth.json), and dies; with "alive" it stays."""
import json
import os
import resource
import sys
import threading
import time

folder, ways = sys.argv[1:3]
mode = sys.argv[3] if len(sys.argv) > 3 else "die"

os.environ["PYTEST_CURRENT_TEST"] = "tests/test_a.py::TestB::test_c[x (1) \u00e9] (call)"
os.environ["PYTEST_XDIST_WORKER"] = "gw7"
os.environ["OMP_NUM_THREADS"] = "3"
os.environ["RANK"] = "5"
os.environ["LOCAL_RANK"] = "1"
os.environ["PYTHONPATH"] = "x" * 5000
os.environ["MY_PASSWORD"] = "hidden"
for number in range(300):  # the array is made anew
    os.environ["FILLER_%d" % number] = "y" * 40
os.environ.pop("LC_ALL", None)
os.chdir(folder)
threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
with open("truth.json.new", "w") as file:
    json.dump({"environment": dict(os.environ), "cwd": os.getcwd(), "pid": os.getpid(),
               "resident_peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}, file)
os.rename("truth.json.new", "truth.json")
if mode == "alive":
    print("ready", flush=True)
    time.sleep(1000)
import ctypes  # noqa: E402
ctypes.string_at(0)
