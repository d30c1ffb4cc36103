#!/usr/bin/env python3
"""What a recording costs beside py-spy, austinp and CPython's own sampler, in turns in one run.

    cmake --build build --target bench        (or record.py --program PROGRAM --folder FOLDER)

CPU is that of the whole profiler, its start included, for each moment at which all threads are
looked at; "steady" is our own figure without the start. "work" is what the program did meanwhile,
as a share of what it does alone. "stands" is the median for one thread, by our own clock.
"""
import argparse
import contextlib
import mmap
import os
import re
import resource
import signal
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "cases", "support")]
SECONDS = 4
PEERS = {"py-spy": "py-spy", "austinp": "austin-dist"}
# Working threads, waiting ones, depth, looks a second.
CELLS = [(1, 0, 10, 100), (1, 0, 10, 1000), (10, 0, 10, 100), (10, 0, 10, 1000), (10, 0, 1000, 100),
         (10, 90, 10, 100), (100, 0, 10, 100)]


class Result:
    def __init__(self, cpu, taken, work, more=""):
        self.cpu, self.taken, self.work, self.more = cpu, taken, work, more

    def describe(self):
        cost = "%8.2f" % (self.cpu * 1000 / self.taken) if self.taken else "       -"
        return "%s ms, %4d looks, work %.2f %s" % (cost, self.taken, self.work, self.more)


def find_peers(folder):
    venv = os.path.join(folder, "venv")
    found = {}
    for name, package in PEERS.items():
        program = os.path.join(venv, "bin", name)
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            if not os.path.exists(venv):
                subprocess.run([sys.executable, "-m", "venv", venv], check=True, timeout=180, capture_output=True)
            if not os.path.exists(program):
                subprocess.run([os.path.join(venv, "bin", "pip"), "install", "-q", package], check=True,
                               timeout=180, capture_output=True)
        if os.path.exists(program):
            found[name] = program
        else:
            print("%s cannot be had here: not compared" % name)
    return found


def commands(program, peers, python, pid, rate, output):
    """(name, command, what is looked for in its output)"""
    yield "pystack-core", [program, "record", "--idle", "--pid", pid, "--rate", str(rate), "--duration",
                           str(SECONDS), "--output", "collapsed=" + output]
    if rate >= 1000:
        yield "pystack-core --no-pause", [program, "record", "--idle", "--no-pause", "--pid", pid, "--rate", str(rate),
                                          "--duration", str(SECONDS), "--output", "collapsed=" + output]
    if "py-spy" in peers:
        yield "py-spy --native", [peers["py-spy"], "record", "-n", "-i", "-p", pid, "-r", str(rate), "-d", str(SECONDS),
                                  "-f", "raw", "-o", output]
    if "austinp" in peers:
        yield "austinp", [peers["austinp"], "-i", str(1000000 // rate), "-x", str(SECONDS), "-p", pid, "-o", output]
    if python.minor >= (3, 15):
        yield "profiling.sampling", [python.path, "-m", "profiling.sampling", "attach", pid, "-a", "-r", str(rate),
                                     "-d", str(SECONDS), "--collapsed", "-o", output]


def count_looks(name, text, output, threads):
    """(looks, more about them)"""
    if name.startswith("pystack-core"):
        moments = re.search(r"(\d+) moments wanted, (\d+) taken, (\d+) late, (\d+) lost; .*?, (\d+) failed", text)
        stands = re.search(r"up to (\d+) us in the median", text)
        steady = re.search(r"([\d.]+) ms of processor time a moment", text)
        if not moments:
            return 0, text.strip()[-80:]
        return int(moments.group(2)), "(wanted %s, late %s, lost %s, failed %s, stands %s us, steady %s ms)" % (
            moments.group(1), moments.group(3), moments.group(4), moments.group(5), stands.group(1) if stands else 0,
            steady.group(1) if steady else "?")
    if name.startswith("py-spy"):
        found = re.search(r"Samples: (\d+) Errors: (\d+)", text)
        return (int(found.group(1)) // threads, "(errors %s)" % found.group(2)) if found else (0, "")
    if name == "austinp":
        with contextlib.suppress(OSError), open(output, errors="replace") as file:
            return sum(line.startswith("P") for line in file) // threads, ""
        return 0, ""
    found = re.search(r"Captured ([\d,]+) samples", text)
    errors = re.search(r"[Ee]rror rate: ([\d.]+)", text)
    return (int(found.group(1).replace(",", "")) if found else 0), "(errors %s %%)" % (
        errors.group(1) if errors else 0)


def run(command, cells):
    """(processor time, output, work a second)"""
    before, start = sum(cells), time.monotonic()
    used = child_time()
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as one:
        with contextlib.suppress(subprocess.TimeoutExpired):
            one.wait(SECONDS + 1)
        work, seconds = sum(cells) - before, time.monotonic() - start
        if one.poll() is None:
            one.send_signal(signal.SIGINT)
        text = one.communicate(timeout=120)[0].decode(errors="replace")
    return child_time() - used, text, work / seconds


def child_time():
    """What all children that have ended took; the target has not."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def rate_alone(cells):
    before, start = sum(cells), time.monotonic()
    time.sleep(SECONDS / 2)
    return (sum(cells) - before) / (time.monotonic() - start)


def compare(program, peers, python, folder, cell):
    working, waiting, depth, rate = cell
    print("\n%d threads work, %d wait, %d deep, %d looks a second" % (working, waiting, depth, rate), flush=True)
    counters, output = os.path.join(folder, "counters"), os.path.join(folder, "output")
    with open(counters, "wb") as file:
        file.write(bytes(8 * 256))
    with subprocess.Popen([python.path, "-s", os.path.join(HERE, "record_target.py"), counters, str(working),
                           str(waiting), str(depth)], stdout=subprocess.PIPE) as target:
        try:
            assert target.stdout.readline() == b"ready\n"
            with open(counters, "r+b") as file, mmap.mmap(file.fileno(), 8 * 256) as memory, \
                    memoryview(memory) as view, view.cast("Q") as cells:
                for name, command in commands(program, peers, python, str(target.pid), rate, output):
                    before = rate_alone(cells)
                    cpu, text, work = run(command, cells)
                    alone = statistics.mean([before, rate_alone(cells)])
                    looks, more = count_looks(name, text, output, working + waiting)
                    print("  %-24s %s" % (name, Result(cpu, looks, work / alone if alone else 0, more).describe()),
                          flush=True)
        finally:
            target.kill()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--cells", type=int, nargs="*", help="which of them, from 0 on")
    options = parser.parse_args()
    import interpreters

    os.makedirs(options.folder, exist_ok=True)
    python = (interpreters.find_version(3, 15) or interpreters.find_version(3, 12) or interpreters.find_system())
    peers = find_peers(options.folder)
    for number, cell in enumerate(CELLS):
        if options.cells is None or number in options.cells:
            compare(options.program, peers, python, options.folder, cell)


if __name__ == "__main__":
    main()
