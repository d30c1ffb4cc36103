#!/usr/bin/env python3
"""What a recording costs beside py-spy, austinp and CPython's own sampler, in turns in one run.

    cmake --build build --target bench        (or record.py --program PROGRAM --folder FOLDER)

CPython's own sampler needs 3.15: an interpreter that is found, or, with --root FOLDER, one in the root
of another system (python3.15 there; it gets a /proc of its own, in a mount namespace: root).

CPU is that of the whole profiler, its start included, for each moment at which all threads are
looked at; "steady" is our own figure without the start. "work" is what the program did meanwhile,
as a share of what it does alone. "stands" is the median for one thread, by our own clock. "ratio" is
our cost by that of the tool. An empty timer loop beside them shows which late moments are the machine's.
"""
import argparse
import contextlib
import mmap
import os
import re
import resource
import shutil
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
CELLS = [(threads, 0, depth, rate) for rate in (100, 1000) for depth in (10, 1000) for threads in (1, 10, 100)]
CELLS += [(10, 90, 10, 100), (1, 0, 10, 10000)]


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
            print("NOT COMPARED: %s, which cannot be had here" % name)
    return found


class Place:
    """Where the target and CPython's sampler run: here, or in another system's root."""

    def __init__(self, root, python, folder):
        self.root, self.folder = root, folder
        self.python = "/usr/bin/python3.15" if root else python.path
        self.has_sampler = bool(root) or python.minor >= (3, 15)

    def inside(self, path):
        return os.path.join("/tmp", os.path.relpath(path, self.folder)) if self.root else path

    def target(self, *words):
        if not self.root:
            return [self.python, *words]
        return ["unshare", "--mount", "sh", "-c", 'mount -t proc proc "$0/proc" && mount --bind "$1" "$0/tmp" && '
                'cd "$0" && root=$0 && shift && exec env LC_ALL=C chroot "$root" "$@"', self.root, self.folder,
                self.python, *words]

    def beside(self, pid, *command):
        """In the target's own root: its paths are those of its mappings there."""
        return ["env", "LC_ALL=C", "nsenter", "--target", pid, "--mount", "chroot", self.root, *command] if self.root \
            else list(command)


def runs(command):
    return not subprocess.run(command, capture_output=True, timeout=60).returncode


def commands(program, peers, place, pid, rate, output):
    """(name, command)"""
    if rate >= 1000:
        yield "empty timer loop", [os.path.join(place.folder, "timer"), str(rate), str(SECONDS)]
    yield "pystack-core", [program, "record", "--idle", "--pid", pid, "--rate", str(rate), "--duration",
                           str(SECONDS), "--output", "collapsed=" + output]
    if rate >= 1000:
        yield "pystack-core --no-pause", [program, "record", "--idle", "--no-pause", "--pid", pid, "--rate", str(rate),
                                          "--duration", str(SECONDS), "--output", "collapsed=" + output]
    if "py-spy" in peers:
        yield "py-spy --native", [peers["py-spy"], "record", "-n", "-i", "-p", pid, "-r", str(rate), "-d", str(SECONDS),
                                  "-f", "raw", "-o", output]
    if "austinp" in peers:
        words = ["-i", str(1000000 // rate), "-x", str(SECONDS), "-p", pid, "-o"]
        if runs([peers["austinp"], "--version"]):
            yield "austinp", [peers["austinp"], *words, output]
        else:  # Its glibc is newer than that of here.
            yield "austinp", place.beside(pid, place.inside(peers["austinp"]), *words, place.inside(output))
    if place.has_sampler:
        yield "profiling.sampling", place.beside(
            pid, place.python, "-m", "profiling.sampling", "attach", pid, "-a", "-r", str(rate), "-d", str(SECONDS),
            "--collapsed", "-o", place.inside(output))


def count_looks(name, text, threads):
    """(looks, more about them)"""
    if name.startswith("pystack-core"):
        moments = re.search(r"(\d+) moments wanted, (\d+) taken, (\d+) late, (\d+) lost; .*?, (\d+) failed", text)
        stands = re.search(r"up to ([\d.]+) us in the median", text)
        steady = re.search(r"([\d.]+) ms of processor time a moment", text)
        if not moments:
            return 0, text.strip()[-80:]
        return int(moments.group(2)), "(wanted %s, late %s, lost %s, failed %s, stands %s us, steady %s ms)" % (
            moments.group(1), moments.group(3), moments.group(4), moments.group(5), stands.group(1) if stands else 0,
            steady.group(1) if steady else "?")
    if name == "empty timer loop":
        wanted, late, lost = map(int, text.split())
        return wanted - lost, "(wanted %d, late %d, lost %d)" % (wanted, late, lost)
    if name.startswith("py-spy"):
        found = re.search(r"Samples: (\d+) Errors: (\d+)", text)
        return (int(found.group(1)) // threads, "(errors %s)" % found.group(2)) if found else (0, "")
    if name == "austinp":
        # Since 4.0 the file is binary; it tells what it took of each thread.
        told = re.search(r"Error rate[ .]*(\d+)/(\d+)", re.sub(r"\x1b\[[\d;]*m", "", text))
        return (int(told.group(2)) // threads, "(errors %s of %s)" % told.groups()) if told else (0, "")
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
            one.wait(SECONDS + 20)  # To start may take long; some end by a signal alone.
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


def compare(program, peers, place, folder, cell):
    working, waiting, depth, rate = cell
    print("\n%d threads work, %d wait, %d deep, %d looks a second" % (working, waiting, depth, rate), flush=True)
    counters, output = os.path.join(folder, "counters"), os.path.join(folder, "output")
    with open(counters, "wb") as file:
        file.write(bytes(8 * 256))
    script = shutil.copy(os.path.join(HERE, "record_target.py"), folder)
    ours = 0.
    with subprocess.Popen(place.target("-s", place.inside(script), place.inside(counters), str(working), str(waiting),
                                       str(depth)), stdout=subprocess.PIPE) as target:
        try:
            assert target.stdout.readline() == b"ready\n"
            with open(counters, "r+b") as file, mmap.mmap(file.fileno(), 8 * 256) as memory, \
                    memoryview(memory) as view, view.cast("Q") as cells:
                for name, command in commands(program, peers, place, str(target.pid), rate, output):
                    before = rate_alone(cells)
                    cpu, text, work = run(command, cells)
                    alone = statistics.mean([before, rate_alone(cells)])
                    looks, more = count_looks(name, text, working + waiting)
                    if not looks:
                        more = "FAILED: " + " / ".join(text.strip().splitlines()[-3:])
                    cost = cpu / looks if looks else 0
                    ours = ours or (cost if name == "pystack-core" else 0)
                    print("  %-24s %s%s" % (name, Result(cpu, looks, work / alone if alone else 0, more).describe(),
                                            " ratio %.2f" % (ours / cost) if ours and cost else ""), flush=True)
        finally:
            target.kill()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--root", help="a folder with another system's root and python3.15")
    parser.add_argument("--cells", type=int, nargs="*", help="which of them, from 0 on")
    options = parser.parse_args()
    import interpreters

    os.makedirs(options.folder, exist_ok=True)
    python = (interpreters.find_version(3, 15) or interpreters.find_version(3, 12) or interpreters.find_system())
    subprocess.run(["cc", "-O2", os.path.join(HERE, "timer.c"), "-o", os.path.join(options.folder, "timer")], check=True)
    peers = find_peers(options.folder)
    if "austinp" in peers and not options.root and not runs([peers["austinp"], "--version"]):
        print("NOT COMPARED: austinp, whose glibc is newer than that of here (--root FOLDER names a root that has it)")
        del peers["austinp"]
    place = Place(options.root, python, options.folder)
    if not place.has_sampler:
        print("NOT COMPARED: profiling.sampling, for there is no CPython 3.15 here (--root FOLDER names a root that has it)")
    for number, cell in enumerate(CELLS):
        if options.cells is None or number in options.cells:
            compare(options.program, peers, place, place.folder, cell)


if __name__ == "__main__":
    main()
