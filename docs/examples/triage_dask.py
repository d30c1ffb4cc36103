#!/usr/bin/env python3
"""Triage of cores where they lie, by the machines of a Dask cluster.

    triage_dask.py [--scheduler ADDRESS] [--output FORMAT=FILE]... [HOST:]CORE|DIRECTORY...

Each worker runs `pystack-core triage` over a few cores of its own machine at a time and gives their reports back,
one line each; `pystack-core triage --reports` puts them in groups here. Cores are never moved. HOST is a worker's, as
the scheduler knows it; without one the files are where all workers see them, and may be named from this folder on. A
worker that dies loses only what it had in hand: others do that again, or, where the cores lie on one machine, its own
next worker.

Without --scheduler two workers of this machine do the work. Needs dask and distributed of PyPI, and pystack-core on
every machine. Options behind -- go to pystack-core: `-- --no-source --redact`.
"""
from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from typing import Any, List, Optional, Sequence, Set, Tuple

# Cores of one task: what is done again when a worker dies.
CORES_AT_ONCE = 4
# How often a task may lose its worker.
RETRIES = 5
# Of one core, in seconds, when --time-limit is not given.
TIME_LIMIT = 60


def find_files(base: str, word: str) -> Optional[List[str]]:
    """
    On a worker: the files below a directory, links left out; `triage` itself tells which are cores. None: it is a file.
    What is not absolute is below `base`.
    """
    top = os.path.join(base, word)
    if not os.path.isdir(top):
        os.stat(top)
        return None
    found = [os.path.join(folder, name) for folder, _, names in os.walk(top) for name in names]
    found = [path for path in found if os.path.isfile(path) and not os.path.islink(path)]
    return sorted(os.path.join(word, os.path.relpath(path, top)) for path in found)


def look_at(program: str, options: Sequence[str], base: str, paths: Sequence[str]) -> str:
    """On a worker: the reports of some cores, one JSON object a line."""
    command = [program, "triage", "-j", "1", "--format", "ndjson", *options, "--", *paths]
    done = subprocess.run(command, cwd=base, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=(TIME_LIMIT + 30) * len(paths), check=False)
    if done.returncode not in (0, 1, 2, 3):
        raise RuntimeError("%s: exit code %d: %s" % (program, done.returncode, done.stderr.decode(errors="replace")[-500:]))
    return done.stdout.decode()


def split_host(word: str) -> Tuple[Optional[str], str]:
    host, colon, path = word.partition(":")
    return (host, path) if colon and host and "/" not in host else (None, word)


def workers_of(client: Any, host: Optional[str]) -> Optional[List[str]]:
    if host is None:
        return None
    workers = client.scheduler_info()["workers"]
    found = [address for address, worker in workers.items() if host in (worker["host"], worker.get("name"))]
    if not found:
        sys.exit("triage_dask.py: %s: no worker is there" % host)
    return found


def submit_all(client: Any, options: argparse.Namespace) -> List[Any]:
    """Files that are named come first: those that a directory has as well are looked at once."""
    futures = []
    seen: Set[Tuple[Optional[str], str]] = set()
    for host, word in sorted(map(split_host, options.words), key=lambda one: (one[0] or "", one[1])):
        workers = workers_of(client, host)
        base = os.getcwd() if host is None else "/"
        found = client.submit(find_files, base, word, workers=workers, pure=False, retries=RETRIES).result()
        more = [] if found is None else ["--skip-others"]
        paths = [word] if found is None else found
        paths = [path for path in paths if (host, path) not in seen]
        seen.update((host, path) for path in paths)
        for at in range(0, len(paths), CORES_AT_ONCE):
            futures.append(client.submit(look_at, options.program, [*options.forwarded, *more], base,
                                         paths[at:at + CORES_AT_ONCE], workers=workers, pure=False, retries=RETRIES))
    return futures


def collect(client: Any, options: argparse.Namespace, reports: Any) -> None:
    """Writes the reports as they come; what is there is not lost when this program is ended."""
    from distributed import as_completed
    for future in as_completed(submit_all(client, options)):
        lines = future.result()
        for line in lines.splitlines():
            json.loads(line)
        reports.write(lines)
        reports.flush()


def parse(arguments: List[str]) -> argparse.Namespace:
    forwarded: List[str] = []
    if "--" in arguments:
        at = arguments.index("--")
        arguments, forwarded = arguments[:at], arguments[at + 1:]
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--scheduler", help="its address; without one two workers of this machine")
    parser.add_argument("--program", default="pystack-core", help="as the workers find it (%(default)s)")
    parser.add_argument("--reports", help="keep the reports (ndjson) in this file")
    parser.add_argument("--format", default="text", help="of the groups (%(default)s)")
    parser.add_argument("--output", action="append", default=[], metavar="FORMAT=FILE", help="write FILE as well")
    parser.add_argument("words", nargs="+", metavar="[HOST:]CORE|DIRECTORY")
    options = parser.parse_args(arguments)
    options.forwarded = forwarded
    return options


def main(arguments: List[str]) -> int:
    from distributed import Client, LocalCluster
    options = parse(arguments)
    cluster = None if options.scheduler else LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with tempfile.NamedTemporaryFile("w", suffix=".ndjson") as temporary, Client(options.scheduler or cluster) as client:
        path = options.reports or temporary.name
        with open(path, "w", encoding="utf-8") as reports:
            collect(client, options, reports)
        command = [options.program, "triage", "--reports", path, "--format", options.format]
        for output in options.output:
            command += ["--output", output]
        sys.stdout.flush()
        code = subprocess.run(command, check=False).returncode
    if cluster:
        cluster.close()
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
