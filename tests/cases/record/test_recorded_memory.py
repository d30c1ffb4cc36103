"""Memory of a recording: it does not grow with the threads that come and go, nor with time."""
import os
import signal
import subprocess

import pytest

import analyzer
import cores
import living
from resting import let_pass, wait_until

# Short threads, one after the other and some at a time, all with the same stack.
PROGRAM = """
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>
static void *rest(void *argument)
{
    poll(0, 0, 15);
    return argument;
}
int main(int argc, char **argv)
{
    volatile long *count = mmap(0, sizeof(*count), PROT_READ | PROT_WRITE, MAP_SHARED, open(argv[argc - 1], O_RDWR), 0);
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    write(1, "ready\\n", 6);
    for (;;) {
        *count += !pthread_create(&thread, &attributes, rest, 0);
        poll(0, 0, 1);
    }
}
"""
WARMED = 3000  # Threads by which everything is known that is kept for all of them.
WANTED = 12000 if analyzer.THOROUGH else 8000
# Bytes for a thread that has ended: its row in the profile, and that of tables which double.
ROW = 300
# Open at a time: some of each thread that was met of late.
FILES = 1000


def processes_of(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
        return [pid, *map(int, file.read().split())]


def memory_of(pid):
    """Bytes of their own that the program and its halves have; now and then they have more, to look for an interpreter."""
    readings = []
    for _ in range(10):
        readings.append(memory_now(pid))
        let_pass(0.2)
    return min(readings)


def memory_now(pid):
    total = 0
    for one in processes_of(pid):
        with open("/proc/%d/status" % one) as file:
            total += sum(int(line.split()[1]) * 1024 for line in file if line.startswith("RssAnon:"))
    return total


def open_files_of(pid):
    return sum(len(os.listdir("/proc/%d/fd" % one)) for one in processes_of(pid))


def wait_for(counter, wanted):
    wait_until(lambda: int.from_bytes(counter.read_bytes(), "little") >= wanted, "threads")


@pytest.mark.skipif(analyzer.SANITIZED, reason="the sanitizer keeps what was freed")
def test_threads_that_come_and_go_leave_nothing(tmp_path):
    (tmp_path / "program.c").write_text(PROGRAM)
    cores.compile_c([str(tmp_path / "program.c")], str(tmp_path / "program"), "-O0", "-pthread")
    output, counter = tmp_path / "stacks", tmp_path / "counter"
    counter.write_bytes(bytes(8))
    with living.running([tmp_path / "program", counter]) as process:
        with subprocess.Popen([analyzer.PROGRAM, "record", "--idle", "--pid", str(process.pid), "--rate", "1000", "--output",
                               "collapsed=%s" % output], stderr=subprocess.PIPE, stdin=subprocess.DEVNULL) as recorder:
            wait_for(counter, WARMED)
            warm = memory_of(recorder.pid)
            wait_for(counter, WARMED + WANTED)
            grown, files = memory_of(recorder.pid) - warm, open_files_of(recorder.pid)
            recorder.send_signal(signal.SIGINT)
            errors = recorder.communicate(timeout=60)[1].decode()
    assert recorder.returncode in (0, 1) and output.read_text().strip(), errors
    print("%d threads, %d bytes each, %d open files" % (WANTED, grown / WANTED, files), errors)
    assert grown < WANTED * ROW + (4 << 20), grown
    assert files < FILES, files
