"""Stacks of living threads that are not where stacks usually are, copied at the stop all the same."""
import re

import pytest

import analyzer
import living

LOOKS = 6 if analyzer.SANITIZED else 15

# Threads that never rest: each goes down some frames, is interrupted there by a signal whose handler
# has a stack of its own, goes down there, and comes back. What is copied too late is of other calls.
SIGNALS = """
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile int sink;
__attribute__((noinline)) void spin(int n) { for (int i = 0; i < n; i++) sink += i; }
__attribute__((noinline)) void inside(int n) { if (n) inside(n - 1); else spin(3000); sink++; }
static void handle(int number) { (void)number; inside(sink & 7); sink++; }
__attribute__((noinline)) void down(int n)
{
    char room[600];
    room[n] = (char)n;
    if (n) down(n - 1); else raise(SIGUSR1);
    sink += room[n];
}
static void work(void *memory)
{
    const stack_t stack = {.ss_sp = memory, .ss_size = 256 * 1024};
    sigaltstack(&stack, NULL);
    for (unsigned i = 0;; i++) down((int)(i * 7 % 60));
}
static pthread_barrier_t barrier;
static void *start(void *memory) { pthread_barrier_wait(&barrier); work(memory); return NULL; }
int main(void)
{
    const struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
    pthread_t thread;
    pthread_barrier_init(&barrier, NULL, 3);
    sigaction(SIGUSR1, &action, NULL);
    pthread_create(&thread, NULL, start, malloc(256 * 1024));
    pthread_create(&thread, NULL, start, mmap(NULL, 256 * 1024, PROT_READ | PROT_WRITE,
                                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    pthread_barrier_wait(&barrier);
    puts("ready");
    fflush(stdout);
    work(malloc(256 * 1024));
}
"""

# A coroutine of its own stack, into which the thread goes and out of which it comes.
COROUTINES = """
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

static ucontext_t outer, inner;
static volatile int sink;
__attribute__((noinline)) void deep(int n)
{
    char room[300];
    room[n] = (char)n;
    if (n) deep(n - 1); else for (int i = 0; i < 3000; i++) sink += i;
    sink += room[n];
}
static void body(void)
{
    for (unsigned i = 0;; i++) {
        deep((int)(i % 50));
        swapcontext(&inner, &outer);
    }
}
int main(void)
{
    getcontext(&inner);
    inner.uc_stack.ss_size = 256 * 1024;
    inner.uc_stack.ss_sp = mmap(NULL, 256 * 1024, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                                -1, 0);
    makecontext(&inner, body, 0);
    puts("ready");
    fflush(stdout);
    for (;;) swapcontext(&outer, &inner);
}
"""

# The stack is cut into several mappings by what madvise() says of its parts.
SPLIT = """
#include <stdio.h>
#include <sys/mman.h>
static volatile int sink;
__attribute__((noinline)) void deep(int n)
{
    char room[2000];
    room[n] = (char)n;
    if (n) deep(n - 1); else for (int i = 0; i < 3000; i++) sink += i;
    sink += room[n];
}
int main(void)
{
    char here;
    char *page = (char *)(((unsigned long)&here & ~4095ul) - 16 * 4096);
    deep(100);
    madvise(page, 4 * 4096, MADV_DONTDUMP);
    puts("ready");
    fflush(stdout);
    for (unsigned i = 0;; i++) deep(20 + (int)(i * 7 % 80));
}
"""


def names(thread):
    """What has no name in a libc without debug symbols is called libc."""
    return [frame["symbol"] or living.is_in_libc(frame) and "libc" for frame in thread["frames"]
            if frame["kind"] != "gap" and not frame["inlined"]]


def reports(process, whole=True):
    for _ in range(LOOKS):
        result = living.report(process.pid, "--mode", "native", "--format", "json", "--no-source")
        assert result.returncode == analyzer.EXIT_COMPLETE or not whole, result.describe()
        for thread in result.json["threads"]:
            assert not whole or not analyzer.gaps(thread)
            guessed = [frame for frame in thread["frames"] if frame["trust"] not in ("context", "cfi")]
            assert not whole or not guessed, guessed
        yield result.json["threads"]


def test_signals_with_stacks_of_their_own():
    program = living.compiled("signals", SIGNALS, "-O1", "-fno-optimize-sibling-calls", "-pthread")
    whole = re.compile(r"(spin |inside )*(handle )?(\S*restore_rt |libc )?"
                       r"([^ ]*(raise|kill)\S* |libc |down |work |start )*"
                       r"(start_thread \S*clone3? |libc libc |main |libc |\S*libc_start\S* |_start )*$")
    interrupted = 0
    with living.running([program]) as process:
        for threads in reports(process):
            assert len(threads) == 3
            for thread in threads:
                stack = names(thread)
                assert living.begins_a_thread(thread["frames"][-1]), stack
                if "handle" in stack:
                    interrupted += 1
                    assert "work" in stack[stack.index("handle"):], stack
                    assert whole.search(" ".join(stack) + " "), stack
                downs = stack.count("down")
                assert downs <= 60 and stack.count("inside") <= 8, stack
    assert interrupted


def test_coroutine():
    program = living.compiled("coroutines", COROUTINES, "-O1", "-fno-optimize-sibling-calls")
    inside = 0
    with living.running([program]) as process:
        # glibc's own code, in which each coroutine begins, has no rule.
        for (thread,) in reports(process, whole=False):
            stack = names(thread)
            # From where it changes stacks up to its push of the return address, its rule is wrong.
            if stack == ["swapcontext"]:
                continue
            assert stack.count("body") + stack.count("main") == 1, stack
            inside += "body" in stack
            above = stack[stack.index("body"):] if "body" in stack else []
            assert "deep" not in above and stack.count("deep") <= 50, stack
    assert inside


def test_stack_of_several_mappings():
    program = living.compiled("split", SPLIT, "-O1", "-fno-optimize-sibling-calls")
    with living.running([program]) as process:
        with open("/proc/%d/smaps" % process.pid) as file:
            assert " dd" in file.read()
        for (thread,) in reports(process):
            stack = names(thread)
            assert stack[-1] == "_start" and stack.count("main") == 1, stack


@pytest.mark.parametrize("kind", ["--save-core", "--save-core=full"])
def test_core_of_signals_with_stacks_of_their_own(kind, tmp_path):
    program = living.compiled("signals", SIGNALS, "-O1", "-fno-optimize-sibling-calls", "-pthread")
    with living.running([program]) as process:
        live = living.report(process.pid, "--mode", "native", "--format", "json", kind, tmp_path / "saved")
    dead = analyzer.run("--mode", "native", "--format", "json", tmp_path / "saved")
    assert live.returncode == dead.returncode == analyzer.EXIT_COMPLETE, dead.describe()
    assert dead.json["threads"] == live.json["threads"]
