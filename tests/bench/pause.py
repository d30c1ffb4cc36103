#!/usr/bin/env python3
"""How long a living process stands still while it is looked at, beside py-spy and pystack.

    cmake --build build --target bench        (or pause.py --program PROGRAM --folder FOLDER)

The process records the largest gap of its own clock, in a native loop that needs nothing but a
processor. "nothing" is the machine's own noise over as long a time. All in one run, in turns.
"""
import argparse
import contextlib
import mmap
import os
import statistics
import struct
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROUNDS = 15
LIMIT = 60


def find_peers(folder):
    """{name: path} of what PyPI gives, in an environment of its own."""
    venv = os.path.join(folder, "venv")
    found = {}
    for name in ("py-spy", "pystack"):
        program = os.path.join(venv, "bin", name)
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            if not os.path.exists(venv):
                subprocess.run([sys.executable, "-m", "venv", venv], check=True, timeout=180,
                               capture_output=True)
            if not os.path.exists(program):
                subprocess.run([os.path.join(venv, "bin", "pip"), "install", "-q", name], check=True,
                               timeout=180, capture_output=True)
        if os.path.exists(program):
            found[name] = program
        else:
            print("%s cannot be had here: not compared" % name)
    return found


def commands(program, peers, pid):
    yield "nothing", ["sleep", "0.1"]
    yield "pystack-core", [program, "--pid", pid]
    yield "pystack-core --mode python", [program, "--mode", "python", "--pid", pid]
    if "py-spy" in peers:
        yield "py-spy dump --native", [peers["py-spy"], "dump", "--native", "--pid", pid]
        yield "py-spy dump", [peers["py-spy"], "dump", "--pid", pid]
    if "pystack" in peers:
        yield "pystack remote --native", [peers["pystack"], "remote", "--native", pid]
        yield "pystack remote", [peers["pystack"], "remote", pid]


def measure(command, memory):
    """(largest gap in ms, seconds, exit code)"""
    memory[:8] = struct.pack("d", 0.0)
    start = time.monotonic()
    try:
        code = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              timeout=LIMIT).returncode
    except subprocess.TimeoutExpired:
        code = None
    seconds = time.monotonic() - start
    time.sleep(0.01)
    return struct.unpack("d", memory[:8])[0], seconds, code


def compare(program, peers, python, folder, threads, frames, recursion):
    path = os.path.join(folder, "gap")
    with open(path, "wb") as file:
        file.write(bytes(8))
    target = subprocess.Popen(
        [python, "-s", os.path.join(HERE, "pause_target.py"), os.path.join(folder, "libgap.so"), path,
         str(threads), str(frames), str(recursion)], stdout=subprocess.PIPE)
    try:
        assert target.stdout.readline() == b"ready\n"
        with open(path, "r+b") as file, mmap.mmap(file.fileno(), 8) as memory:
            time.sleep(0.3)
            results: dict = {}
            for _ in range(ROUNDS):
                for name, command in commands(program, peers, str(target.pid)):
                    if results.get(name, [(0, 0, 0)])[0][2] not in (0, 1):
                        continue  # It failed: once is enough.
                    results.setdefault(name, []).append(measure(command, memory))
    finally:
        target.kill()
        target.wait()
    print("\n%d threads of %d Python frames%s, %s" % (
        threads, frames, ", and a recursion of %d" % recursion if recursion else "", python))
    print("  %-28s %30s %10s" % ("", "gap in ms: median (min..max)", "s"))
    for name, rows in results.items():
        gaps = [row[0] for row in rows]
        note = "" if rows[0][2] in (0, 1) else "exit %s" % rows[0][2]
        print("  %-28s %14.1f (%5.1f..%6.1f) %10.2f  %s" % (
            name, statistics.median(gaps), min(gaps), max(gaps),
            statistics.median(row[1] for row in rows), note), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--python", default="/usr/bin/python3")
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", os.path.join(HERE, "gap.c"), "-o",
                    os.path.join(options.folder, "libgap.so")], check=True)
    peers = find_peers(options.folder)
    for threads, frames, recursion in ((20, 20, 0), (200, 20, 0), (1, 20, 20000)):
        compare(options.program, peers, options.python, options.folder, threads, frames, recursion)


if __name__ == "__main__":
    main()
