/* Waits for things of Python's. */
#include "waits_private.h"

#include <string.h>

static enum trace_wait_kind find_kind(enum python_wait_kind kind)
{
    switch (kind) {
    case PYTHON_WAIT_LOCK:
        return TRACE_WAIT_LOCK;
    case PYTHON_WAIT_RLOCK:
        return TRACE_WAIT_RLOCK;
    case PYTHON_WAIT_CONDITION:
        return TRACE_WAIT_CONDITION;
    case PYTHON_WAIT_EVENT:
    case PYTHON_WAIT_RESULT:
    case PYTHON_WAIT_PYEVENT:
        return TRACE_WAIT_EVENT;
    case PYTHON_WAIT_SEMAPHORE:
        return TRACE_WAIT_SEMAPHORE;
    case PYTHON_WAIT_BARRIER:
        return TRACE_WAIT_BARRIER;
    case PYTHON_WAIT_QUEUE:
        return TRACE_WAIT_QUEUE;
    case PYTHON_WAIT_JOIN:
        return TRACE_WAIT_JOIN;
    case PYTHON_WAIT_CHILD:
        return TRACE_WAIT_CHILD;
    case PYTHON_WAIT_IMPORT:
        return TRACE_WAIT_IMPORT_LOCK;
    case PYTHON_WAIT_MUTEX:
    case PYTHON_WAIT_ONCE:
        return TRACE_WAIT_PYTHON_MUTEX;
    case PYTHON_WAIT_WORLD:
        return TRACE_WAIT_STOP_THE_WORLD;
    case PYTHON_WAIT_NONE:
        break;
    }
    return TRACE_WAIT_FUTEX;
}

static void take_lost_owner(struct wait_maker *maker, psc_addr thread_pointer)
{
    maker->wait.owner_text =
        waits_was_left_by_fork(maker->waits->input.target, thread_pointer)
            ? "held since fork() by a thread of the parent, which is not in this process"
            : "held by a thread that is not in this process";
}

static void take_owner(struct wait_maker *maker, const struct python_wait *python)
{
    struct trace_wait *wait = &maker->wait;
    if (!python->owner || !(python->records_owner || wait->kind == TRACE_WAIT_JOIN))
        return;
    const struct wait_facts *owner = waits_find_pointer(maker->waits, python->owner);
    if (owner) {
        wait->owner_tid = (int32_t)owner->tid;
        wait->owner_certain = true;
    } else if (wait->kind != TRACE_WAIT_JOIN && !maker->trace->unwanted_threads) {
        take_lost_owner(maker, python->owner);
    }
}

static bool has_lock(const struct wait_facts *facts, psc_addr lock)
{
    for (size_t i = 0; i < facts->held_count; i++)
        if (facts->held[i] == lock)
            return true;
    return false;
}

/*
 * A plain lock that nobody here is seen to have, in a process that was forked while it had other
 * threads: these left no more than their stacks, which do not say so.
 */
static void take_lost_holder(struct wait_maker *maker)
{
    struct waits *waits = maker->waits;
    if (maker->trace->unwanted_threads || maker->facts->timed)
        return;
    // A living process goes on by now: what was not read while it stood is not known.
    if (waits->input.target->kind != TARGET_PROCESS)
        waits_read_lost(waits);
    if (waits->lost)
        maker->wait.owner_text =
            waits->lost == 1
                ? "held by nobody who is seen here, likely since fork() by a thread of the parent "
                  "that is not in this process"
                : "held by nobody who is seen here, likely since fork() by one of the threads of "
                  "the parent that are not in this process";
}

/* Of a lock that does not say who has it: the only thread that stands inside of its block. */
static void take_likely_owner(struct wait_maker *maker)
{
    const struct waits *waits = maker->waits;
    const struct python_wait *own = &maker->facts->python;
    // A threading.Semaphore is not the lock that it is made of.
    psc_addr lock =
        maker->wait.kind == TRACE_WAIT_SEMAPHORE && own->object ? own->object : own->lock;
    const struct wait_facts *found = NULL;
    for (size_t i = 0; i < waits->facts.count; i++) {
        const struct wait_facts *facts = hash_table_at(&waits->facts, i);
        // One that is in Condition.wait() stands in the block, but has given the lock back.
        if ((facts->sleeps && facts->python.given_back == lock) || !has_lock(facts, lock))
            continue;
        if (found)
            return;
        found = facts;
    }
    if (!found && own->kind == PYTHON_WAIT_LOCK)
        take_lost_holder(maker);
    if (!found)
        return;
    maker->wait.owner_tid = (int32_t)found->tid;
    maker->wait.known_by =
        "the object that it sleeps in; the owner stands inside of its with block";
}

/* Of multiprocessing's Lock, which others may give back. */
static void take_last_owner(struct wait_maker *maker, const struct python_wait *python)
{
    const struct wait_facts *owner = waits_find_pointer(maker->waits, python->keeper);
    if (maker->wait.owner_tid || !owner)
        return;
    maker->wait.owner_tid = (int32_t)owner->tid;
    maker->wait.known_by = "the thread of this process that took the lock last, as it records";
}

static void add_name(const struct python_wait *python, struct text *text)
{
    text_add_string(text, python->type);
    if (python->name)
        text_printf(text, "%s\"%s\"", python->named_outer ? " of " : " ", python->name);
}

static void make_object(struct wait_maker *maker, const struct python_wait *python)
{
    struct text text PSC_CLEANUP(text_deinit) = {0};
    const struct trace_wait *wait = &maker->wait;
    bool is_thread = python->detail && wait->kind != TRACE_WAIT_IMPORT_LOCK;
    if (wait->kind == TRACE_WAIT_IMPORT_LOCK && python->detail) {
        text_printf(&text, "%s %s", python->type, python->detail);
    } else if (is_thread || wait->kind == TRACE_WAIT_JOIN) {
        text_add_string(&text, python->type);
        if (wait->owner_tid)
            text_printf(&text, " %d", wait->owner_tid);
        if (python->detail)
            text_printf(&text, " \"%s\"", python->detail);
    } else {
        add_name(python, &text);
    }
    maker->wait.object = text.data ? arena_strdup(maker->trace->arena, text.data) : NULL;
}

/* Of 3.13 and later: the key may be in the handle of a thread. */
static bool is_handle(const struct wait_maker *maker, const struct python_wait *python)
{
    return (python->kind == PYTHON_WAIT_MUTEX || python->kind == PYTHON_WAIT_PYEVENT) &&
           waits_find_pointer(maker->waits, python->owner);
}

/* Of a recursive mutex; else it is not known who has it. */
static void take_keeper(const struct wait_maker *maker, struct python_wait *python)
{
    const struct wait_facts *keeper = waits_find_pointer(maker->waits, python->keeper);
    python->records_owner = keeper && keeper != maker->facts;
    python->owner = python->records_owner ? python->keeper : 0;
    if (python->records_owner)
        python->type = "a recursive PyMutex";
}

void waits_describe_python(struct wait_maker *maker)
{
    struct python_wait python = maker->facts->python;
    if (is_handle(maker, &python)) {
        python.kind = PYTHON_WAIT_JOIN;
        python.type = "the end of thread";
    } else if (python.kind == PYTHON_WAIT_MUTEX) {
        take_keeper(maker, &python);
        if (waits_is_for_imports(maker->thread)) {
            python.kind = PYTHON_WAIT_IMPORT;
            python.type = WAITS_IMPORT_LOCK;
        }
    }
    struct trace_wait *wait = &maker->wait;
    wait->kind = find_kind(python.kind);
    wait->known_by = python.known_by;
    wait->address = python.object ? python.object : python.lock;
    wait->has_address = wait->address != 0;
    take_owner(maker, &python);
    if (waits_has_likely_owner(&python))
        take_likely_owner(maker);
    if (python.kind == PYTHON_WAIT_SEMAPHORE)
        take_last_owner(maker, &python);
    waits_name_process_lock(maker);
    if (python.kind == PYTHON_WAIT_MUTEX && !wait->owner_tid)
        waits_take_section_owner(maker);
    if (python.kind == PYTHON_WAIT_WORLD)
        waits_take_world_owner(maker, &python);
    if (!wait->object)
        make_object(maker, &python);
}
