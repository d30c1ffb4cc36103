"""Whatever becomes of us while we look at a process: it runs on, and nobody traces it."""
import errno
import os
import random
import signal
import subprocess
import time

import pytest

import analyzer
import driving
import living
import resting

# A thorough run ends us at each system call, another at some of them and at all stages.
EVERY = analyzer.THOROUGH and not analyzer.SANITIZED
STOPS = 30 if EVERY else 5
# In the order in which they are met; "sendmsg" answers the one who parses.
STAGES = ["seize", "interrupt", "wait4", "registers", "process_vm_readv", "detach", "sendmsg"]


def drive(process, visit, *options):
    # The leak sanitizer does not work in a traced process.
    environment = dict(os.environ, ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0")
    return driving.drive([analyzer.PROGRAM, *options, "--pid", str(process.pid)], visit, env=environment,
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def list_calls(process):
    """The names of the system calls of a report."""
    names = []
    assert drive(process, lambda call: names.append(call.name)) == analyzer.EXIT_COMPLETE
    return names


def choose_calls(names):
    """Numbers of calls: most of them while the process is held. How many calls wait for it is by chance."""
    first, last = names.index("seize"), max(at for at, name in enumerate(names) if name == "detach")
    held = range(max(0, first - 5), min(last + 6, len(names)))
    others = [at for at in range(len(names)) if at not in held]
    return sorted(at + 1 for group, wanted in ((held, 32), (others, 16))
                  for at in (group if EVERY else group[::max(1, len(group) // wanted)]))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_our_death_at_any_system_call_leaves_the_process_running(number):
    with living.one_busy() as process:
        moments = choose_calls(list_calls(process))
        if number != signal.SIGKILL and not EVERY:
            moments = moments[::4]
        for moment in moments:
            def end(call, moment=moment):
                if call.number == moment:
                    os.kill(call.pid, number)
            # A report may need fewer calls than the first one.
            assert drive(process, end) in (-number, analyzer.EXIT_COMPLETE, analyzer.EXIT_PARTIAL), moment
            living.assert_runs_free(process.pid)
        assert process.poll() is None
        living.assert_works(process.pid)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("stage", STAGES)
def test_our_death_at_each_stage_leaves_the_process_running(stage, number):
    """At the first call of the stage, and at the second where there are several threads to it."""
    with living.one_busy() as process:
        for which in range(1 if stage in ("process_vm_readv", "sendmsg") else 2):
            met: list = []

            def end(call, which=which, met=met):
                if call.name == stage:
                    met.append(call)
                    if len(met) == which + 1:
                        os.kill(call.pid, number)

            assert drive(process, end) == -number and len(met) > which
            living.assert_runs_free(process.pid)
        living.assert_works(process.pid)
        assert living.report(process.pid).returncode == analyzer.EXIT_COMPLETE


def test_our_stop_from_the_terminal_does_not_stop_the_process():
    chance = random.Random(4712)
    with living.one_busy() as process:
        stops = 0
        for _ in range(STOPS):
            ours = subprocess.Popen([analyzer.PROGRAM, "--pid", str(process.pid)], preexec_fn=os.setpgrp,
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            end = time.monotonic() + 1
            while time.monotonic() < end and not living.process_state(process.pid)[1] and \
                    ours.poll() is None:
                pass
            resting.let_pass(chance.random() * 0.0005)
            ours.send_signal(signal.SIGTSTP)
            living.wait_until(lambda: ours.poll() is not None or
                              living.process_state(ours.pid)[0] == "T", "stop or end")
            stops += ours.poll() is None
            living.assert_runs_free(process.pid)
            ours.send_signal(signal.SIGCONT)
            assert ours.wait(timeout=600) in (analyzer.EXIT_COMPLETE, analyzer.EXIT_PARTIAL)
        assert stops


def test_broken_pipe():
    with living.one_busy() as process:
        reader, writer = os.pipe()
        os.close(reader)
        ours = subprocess.run([analyzer.PROGRAM, "--pid", str(process.pid)], stdout=writer,
                              stderr=subprocess.PIPE, timeout=600)
        os.close(writer)
        assert ours.returncode in (0, 1), ours.stderr
        living.assert_runs_free(process.pid)


@pytest.mark.skipif(analyzer.SANITIZED, reason="the sanitizer's own allocations must not fail")
def test_too_little_memory():
    """From some allocation on none succeeds: at the start, before, during and after the stop."""
    with living.one_busy() as process:
        wanted = []

        def note(call):
            if call.name in ("mmap", "brk"):
                wanted.append(call.name)

        drive(process, note)
        # The first call of brk, and what follows it, are the dynamic linker's.
        own = wanted.index("brk", 1) + 1
        step = 1 if EVERY else 3
        codes, refused, first = set(), [True], own
        while refused:  # Until one comes to its end first: how much a report needs is not always the same.
            refused = []
            met: list = []

            def refuse(call, first=first, met=met, refused=refused):
                if call.name in ("mmap", "brk"):
                    met.append(call)
                    if len(met) >= first:
                        refused.append(call)
                        call.fail(errno.ENOMEM)

            code = drive(process, refuse)
            living.assert_runs_free(process.pid)
            assert len(refused) < 10000, "each step asks again for what it was refused"
            codes.add(code)
            first += step
        assert codes <= {analyzer.EXIT_COMPLETE, analyzer.EXIT_PARTIAL, analyzer.EXIT_NOTHING}, codes
        assert analyzer.EXIT_NOTHING in codes and code == analyzer.EXIT_COMPLETE, codes
        living.assert_works(process.pid)


def test_process_stopped_by_a_signal_stays_so():
    with living.one_busy() as process:
        with living.stopped(process):
            for _ in range(10):
                assert living.report(process.pid).returncode == analyzer.EXIT_COMPLETE
                # Each thread wakes up to stop again; nobody would stop one that runs.
                living.wait_until(lambda: set(living.thread_states(process.pid).values()) == {("T", 0)},
                                  "stop of all threads again")
        living.assert_runs_free(process.pid)
        living.assert_works(process.pid)


def test_signals_are_not_lost():
    """One that arrives while the process is held is delivered afterwards."""
    with living.running([living.compiled("counter", living.COUNTER)]) as process:
        sent = 0
        for _ in range(30):
            ours = subprocess.Popen([analyzer.PROGRAM, "--pid", str(process.pid)],
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            limit = sent + 2000  # Of more the kernel may lose some (RLIMIT_SIGPENDING).
            while ours.poll() is None:
                if sent < limit:
                    process.send_signal(signal.SIGRTMIN)
                    sent += 1
                resting.let_pass(0.0002)
        process.send_signal(signal.SIGRTMIN + 1)
        assert int(process.stdout.readline()) == sent
