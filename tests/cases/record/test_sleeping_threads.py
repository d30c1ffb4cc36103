"""
Threads that sleep are sampled without a stop, and not walked again where nothing has changed: as a stop finds them. Of
threads that run only what has changed is walked: as when all is.
"""
import os
import subprocess

import pytest

import analyzer
import cores
import interpreters

COMPARE = os.environ.get("PSC_COMPARE_SAMPLES")
VERSIONS = [(3, 8), (3, 10), (3, 12), (3, 13)] if analyzer.THOROUGH else [(3, 10), (3, 12)]
SECONDS = "8" if analyzer.THOROUGH else "2"


# A thread that waits for the GIL may run between both looks and wait at the same place again: those are told as different.
@pytest.mark.skipif(not analyzer.THOROUGH, reason="compares moments that lie beside each other: --thorough")
@pytest.mark.skipif(not COMPARE, reason="compare_samples is not built")
@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: "%d.%d" % version)
def test_sample_is_what_a_stop_shows(version):
    found = interpreters.find_version(*version)
    if not found:
        pytest.skip("no CPython %d.%d" % version)
    with subprocess.Popen([found.path, os.path.join(cores.PROGRAMS, "sleepers.py"), "30"],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as target:
        try:
            assert target.stdout.readline() == b"ready\n"
            result = subprocess.run([COMPARE, str(target.pid), SECONDS], stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, timeout=300, check=False)
        finally:
            target.kill()
    counts = result.stdout.decode().split("\n")[-2].split() if result.stdout else []
    assert result.returncode == 0, (result.stdout, result.stderr)
    # Where the kernel does not count, or does not tell where a thread waits, all are stopped.
    if int(counts[1]) == 0 and not os.path.exists("/proc/self/schedstat"):
        pytest.skip("this kernel does not count how often a thread runs")
    assert int(counts[1]) > 20, result.stdout
    # Some of them wake up and sleep again in the same place: these are not walked each time.
    assert int(counts[9]) > 5, result.stdout


def compare_standing(path, seconds):
    """Threads compared where a signal has stopped them, and how many differed."""
    with subprocess.Popen([path, os.path.join(cores.PROGRAMS, "depths.py"), "30"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE) as target:
        try:
            assert target.stdout.readline() == b"ready\n"
            result = subprocess.run([COMPARE, str(target.pid), seconds, "stopped"], stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, timeout=300, check=False)
        finally:
            target.kill()
    assert result.returncode == 0, (result.stdout, result.stderr)
    counts = result.stdout.decode().split("\n")[-2].split()
    return int(counts[1]), int(counts[3])


@pytest.mark.skipif(not COMPARE, reason="compare_samples is not built")
@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: "%d.%d" % version)
def test_what_has_changed_is_walked(version):
    found = interpreters.find_version(*version)
    if not found:
        pytest.skip("no CPython %d.%d" % version)
    compared, different = compare_standing(found.path, "8" if analyzer.THOROUGH else "1")
    assert compared > 20 and not different
