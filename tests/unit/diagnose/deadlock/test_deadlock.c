/* Cycles among threads, tasks and processes, in traces made by hand. */
#include "diagnose.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define THREADS 8

/* A process of some threads, 1 to THREADS, each with its wait. */
struct process {
    struct psc_trace *trace;
    struct trace_wait waits[THREADS];
};

static void make(struct process *process, int32_t pid, size_t threads)
{
    *process = (struct process){.trace = trace_create()};
    assert_non_null(process->trace);
    process->trace->pid = pid;
    process->trace->threads = calloc(threads, sizeof(struct trace_thread));
    assert_non_null(process->trace->threads);
    process->trace->thread_count = threads;
    for (size_t i = 0; i < threads; i++)
        process->trace->threads[i].tid = (int32_t)(i ? pid + (int32_t)i : pid);
}

static struct trace_wait *waits(struct process *process, size_t thread, enum trace_wait_kind kind,
                                int32_t owner)
{
    process->waits[thread] = (struct trace_wait){.kind = kind,
                                                 .object = trace_wait_name(kind),
                                                 .owner_tid = owner,
                                                 .owner_certain = owner != 0,
                                                 .known_by = "the test"};
    process->trace->threads[thread].waits_for = &process->waits[thread];
    return &process->waits[thread];
}

static const struct trace_deadlock *find_one(const struct process *process)
{
    assert_int_equal(diagnose_deadlocks(&process->trace, 1), PSC_OK);
    assert_int_equal(process->trace->deadlock_count, 1);
    return &process->trace->deadlocks[0];
}

static void find_none(const struct process *process)
{
    assert_int_equal(diagnose_deadlocks(&process->trace, 1), PSC_OK);
    assert_int_equal(process->trace->deadlock_count, 0);
}

static void release(const struct process *process)
{
    trace_destroy(process->trace);
}

static void test_gil_and_mutex(void **state)
{
    struct process process;
    (void)state;
    make(&process, 100, 3);
    waits(&process, 0, TRACE_WAIT_MUTEX, 101)->object = "a mutex";
    waits(&process, 1, TRACE_WAIT_GIL, 100)->object = "the GIL";
    waits(&process, 2, TRACE_WAIT_GIL, 100);
    const struct trace_deadlock *found = find_one(&process);
    assert_int_equal(found->verdict, TRACE_VERDICT_DEADLOCK);
    assert_int_equal(found->count, 2);
    assert_string_equal(found->summary,
                        "deadlock: thread 100 waits for a mutex, held by thread 101; thread 101 "
                        "waits for the GIL, held by thread 100");
    release(&process);
}

static void test_verdicts(void **state)
{
    struct process process;
    (void)state;
    make(&process, 100, 2);
    waits(&process, 0, TRACE_WAIT_LOCK, 101)->owner_certain = false;
    waits(&process, 1, TRACE_WAIT_RLOCK, 100);
    assert_int_equal(find_one(&process)->verdict, TRACE_VERDICT_LIKELY);
    process.waits[1].timed = true;
    assert_int_equal(find_one(&process)->verdict, TRACE_VERDICT_STALL);
    release(&process);
}

/* A certain cycle is told where a likely one leads through the same threads. */
static void test_surest_first(void **state)
{
    struct process process;
    (void)state;
    make(&process, 100, 4);
    waits(&process, 0, TRACE_WAIT_LOCK, 101)->owner_certain = false;
    waits(&process, 1, TRACE_WAIT_LOCK, 100)->owner_certain = false;
    waits(&process, 2, TRACE_WAIT_RLOCK, 103);
    waits(&process, 3, TRACE_WAIT_RLOCK, 102);
    assert_int_equal(diagnose_deadlocks(&process.trace, 1), PSC_OK);
    assert_int_equal(process.trace->deadlock_count, 2);
    assert_int_equal(process.trace->deadlocks[0].members[0].tid, 102);
    assert_int_equal(process.trace->deadlocks[1].verdict, TRACE_VERDICT_LIKELY);
    release(&process);
}

static void test_itself(void **state)
{
    struct process process;
    (void)state;
    make(&process, 100, 2);
    waits(&process, 1, TRACE_WAIT_MUTEX, 101);
    assert_int_equal(find_one(&process)->count, 1);
    release(&process);
}

static void test_owner_goes_on(void **state)
{
    struct process process;
    (void)state;
    make(&process, 100, 3);
    waits(&process, 0, TRACE_WAIT_MUTEX, 101);
    waits(&process, 2, TRACE_WAIT_JOIN, 100);
    find_none(&process);
    waits(&process, 1, TRACE_WAIT_POLL, 0);
    find_none(&process);
    waits(&process, 1, TRACE_WAIT_MUTEX, 999); // That thread is not there.
    find_none(&process);
    release(&process);
}

/* Work of an executor with two threads: one that goes on is enough. */
static void test_executor(void **state)
{
    static const struct trace_worker workers[] = {{101, 7}, {102, 7}};
    struct process process;
    (void)state;
    make(&process, 100, 3);
    process.trace->workers = workers;
    process.trace->worker_count = 2;
    waits(&process, 1, TRACE_WAIT_FUTURE, 0)->work_queue = 7;
    find_none(&process);
    waits(&process, 2, TRACE_WAIT_FUTURE, 0)->work_queue = 7;
    const struct trace_deadlock *found = find_one(&process);
    assert_int_equal(found->verdict, TRACE_VERDICT_DEADLOCK);
    assert_non_null(strstr(found->members[0].waits_for, "all 2 threads"));
    release(&process);
}

/* A task does not go on while the thread of its event loop waits for it. */
static void test_event_loop(void **state)
{
    struct process process;
    (void)state;
    make(&process, 100, 2);
    struct trace_wait *wait = waits(&process, 0, TRACE_WAIT_FUTURE, 0);
    wait->owner_task = 0x1000;
    wait->owner_task_name = "answer";
    wait->loop_tid = 101;
    find_none(&process);
    waits(&process, 1, TRACE_WAIT_POLL, 0);
    find_none(&process);
    wait->loop_tid = 100;
    const struct trace_deadlock *found = find_one(&process);
    assert_int_equal(found->count, 2);
    assert_int_equal(found->verdict, TRACE_VERDICT_DEADLOCK);
    release(&process);
}

/* Tasks: a lock that is held inside of a nursery's, and the first of several that is enough. */
static void test_tasks(void **state)
{
    static const size_t first = 0, both[] = {1, 2};
    struct trace_leaf leaves[] = {
        {.wait = {.kind = TRACE_WAIT_TASKS, .owner_certain = true}, .any = true},
        {.wait = {.kind = TRACE_WAIT_LOCK, .owner_certain = true},
         .holders = &first,
         .holder_count = 1}};
    struct trace_task items[] = {
        {.id = 0x10, .name = "a", .leaf = &leaves[0], .waits_for = both, .waits_for_count = 2},
        {.id = 0x20, .name = "b", .leaf = &leaves[1]},
        {.id = 0x30, .name = "c"},
    };
    struct trace_tasks tasks = {.items = items, .count = 3};
    struct process process;
    (void)state;
    make(&process, 100, 1);
    process.trace->tasks = &tasks;
    find_none(&process);
    leaves[0].any = false;
    const struct trace_deadlock *found = find_one(&process);
    assert_int_equal(found->count, 2);
    assert_string_equal(found->members[1].waits_for, "lock, held by task \"a\"");
    release(&process);
}

/* Each of two processes waits for the other's end of a pipe. */
static void test_processes(void **state)
{
    struct process parent;
    struct process child;
    (void)state;
    make(&parent, 100, 1);
    make(&child, 200, 2);
    struct trace_wait *wait = waits(&parent, 0, TRACE_WAIT_PIPE, 0);
    wait->owner_pid = 200;
    wait->owner_certain = true;
    wait = waits(&child, 0, TRACE_WAIT_PIPE, 0);
    wait->owner_pid = 100;
    wait->owner_certain = true;
    struct psc_trace *traces[] = {parent.trace, child.trace};
    find_none(&parent);
    assert_int_equal(diagnose_deadlocks(traces, 2), PSC_OK);
    assert_int_equal(parent.trace->deadlock_count, 0); // The child's other thread may read.
    waits(&child, 1, TRACE_WAIT_JOIN, 200);
    assert_int_equal(diagnose_deadlocks(traces, 2), PSC_OK);
    assert_int_equal(parent.trace->deadlock_count, 1);
    assert_int_equal(child.trace->deadlock_count, 1);
    assert_string_equal(parent.trace->deadlocks[0].summary, child.trace->deadlocks[0].summary);
    release(&parent);
    release(&child);
}

/* Many that only wait for a knot, and a long cycle. */
static void test_many(void **state)
{
    const size_t count = 50000;
    struct process process;
    (void)state;
    make(&process, 1, count);
    struct trace_wait *all = calloc(count, sizeof(*all));
    assert_non_null(all);
    for (size_t i = 0; i < count; i++) {
        process.trace->threads[i].tid = (int32_t)i + 1;
        all[i] = (struct trace_wait){.kind = TRACE_WAIT_RLOCK,
                                     .owner_tid = (int32_t)(i < 1000 ? (i + 1) % 1000 + 1 : i),
                                     .owner_certain = true,
                                     .known_by = "the test"};
        process.trace->threads[i].waits_for = &all[i];
    }
    assert_int_equal(find_one(&process)->count, 1000);
    release(&process);
    free(all);
}

/* A cycle of tasks with long names: all are members, and not all of their names are repeated. */
static void test_long_names(void **state)
{
    enum { COUNT = 50000, SIZE = 1000 };
    struct trace_task *items = calloc(COUNT, sizeof(*items));
    size_t *next = calloc(COUNT, sizeof(*next));
    struct trace_tasks tasks = {.items = items, .count = COUNT};
    struct process process;
    char name[SIZE + 1];
    (void)state;
    assert_non_null(items);
    assert_non_null(next);
    memset(name, 'x', SIZE);
    name[SIZE] = '\0';
    for (size_t i = 0; i < COUNT; i++) {
        next[i] = (i + 1) % COUNT;
        items[i] = (struct trace_task){
            .id = 0x1000 + 16 * i, .name = name, .waits_for = &next[i], .waits_for_count = 1};
    }
    make(&process, 100, 1);
    process.trace->tasks = &tasks;
    const struct trace_deadlock *found = find_one(&process);
    assert_int_equal(found->count, COUNT);
    assert_non_null(strstr(found->summary, "; and 49984 more"));
    assert_true(strlen(found->summary) < (size_t)40 * SIZE);
    size_t size = 0;
    for (size_t i = 0; i < COUNT; i++)
        size += strlen(found->members[i].waits_for) +
                (found->members[i].name ? strlen(found->members[i].name) : 0);
    assert_true(size < (size_t)12 << 20);
    assert_string_equal(found->members[0].name, name);
    assert_string_equal(found->members[COUNT - 2].waits_for, "the end of task 0xc44f0");
    release(&process);
    free(items);
    free(next);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gil_and_mutex), cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_surest_first),  cmocka_unit_test(test_itself),
        cmocka_unit_test(test_owner_goes_on), cmocka_unit_test(test_executor),
        cmocka_unit_test(test_event_loop),    cmocka_unit_test(test_tasks),
        cmocka_unit_test(test_processes),     cmocka_unit_test(test_many),
        cmocka_unit_test(test_long_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
