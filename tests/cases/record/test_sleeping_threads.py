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
def compare(version, program, *arguments):
    """The last line of counts that compare_samples prints of a program that runs meanwhile."""
    found = interpreters.find_version(*version)
    if not found:
        pytest.skip("no CPython %d.%d" % version)
    with subprocess.Popen([found.path, os.path.join(cores.PROGRAMS, program), "30"],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as target:
        try:
            assert target.stdout.readline() == b"ready\n"
            result = subprocess.run([COMPARE, str(target.pid), *arguments], stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, timeout=300, check=False)
        finally:
            target.kill()
    assert result.returncode == 0, (result.stdout, result.stderr)
    return [int(count) if count.isdigit() else count for count in result.stdout.decode().split("\n")[-2].split()]


@pytest.mark.skipif(not analyzer.THOROUGH, reason="compares moments that lie beside each other: --thorough")
@pytest.mark.skipif(not COMPARE, reason="compare_samples is not built")
@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: "%d.%d" % version)
def test_sample_is_what_a_stop_shows(version):
    counts = compare(version, "sleepers.py", SECONDS)
    # Where the kernel does not count, or does not tell where a thread waits, all are stopped.
    if counts[1] == 0 and not os.path.exists("/proc/self/schedstat"):
        pytest.skip("this kernel does not count how often a thread runs")
    assert counts[1] > 20, counts
    # Some of them wake up and sleep again in the same place: these are not walked each time.
    assert counts[9] > 5, counts


@pytest.mark.skipif(not COMPARE, reason="compare_samples is not built")
@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: "%d.%d" % version)
def test_what_has_changed_is_walked(version):
    """Threads where a signal has stopped them."""
    counts = compare(version, "depths.py", "8" if analyzer.THOROUGH else "1", "stopped")
    compared, different = counts[1], counts[3]
    assert compared > 20 and not different, counts
