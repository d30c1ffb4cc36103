/* From what was found of each thread to trace_thread.waits_for. */
#include "waits_private.h"

#include <inttypes.h>
#include <string.h>

/* The one who holds the GIL that a thread of that interpreter needs; 0: nobody, or not known. */
static int32_t find_gil_holder(const struct psc_trace *trace, const struct trace_thread *thread)
{
    const struct trace_python *python = trace->python;
    for (size_t i = 0; python && i < python->interpreter_count; i++)
        if (python->interpreters[i].id == thread->interpreter_id)
            return python->interpreters[i].gil_known ? python->interpreters[i].gil_holder_tid : 0;
    return 0;
}

static void describe_gil(struct wait_maker *maker)
{
    struct trace_wait *wait = &maker->wait;
    int32_t holder = find_gil_holder(maker->trace, maker->thread);
    wait->kind = TRACE_WAIT_GIL;
    wait->object = "the GIL";
    wait->owner_tid = holder != maker->thread->tid ? holder : 0;
    wait->owner_certain = wait->owner_tid != 0;
    // It asks again and again who has it; it does not go on by itself.
    wait->timed = false;
    wait->known_by = maker->facts && maker->facts->for_gil
                         ? "the condition of the GIL, which it sleeps on"
                         : "its stack is in the function that takes the GIL";
}

/* A futex's limit is its fourth argument. */
static void describe_sleep(struct wait_maker *maker)
{
    const struct wait_facts *facts = maker->facts;
    bool futex = facts->call && !strncmp(facts->call, "futex", 5);
    maker->wait.timed = futex && facts->arguments[3] != 0;
    if (futex && facts->python.kind != PYTHON_WAIT_NONE)
        waits_describe_python(maker);
    else if (futex)
        waits_describe_futex(maker);
    else
        waits_describe_call(maker);
}

static void describe_call(struct wait_maker *maker)
{
    const struct wait_facts *facts = maker->facts;
    struct arena *arena = maker->trace->arena;
    maker->wait.system_call =
        facts->call ? facts->call : arena_printf(arena, "system call %" PRIu32, facts->number);
    if (facts->arguments_text)
        maker->wait.arguments = arena_strdup(arena, facts->arguments_text);
}

static enum psc_status fill_thread(struct wait_maker *maker, struct trace_thread *thread)
{
    bool gil = thread->state & TRACE_STATE_WAITS_FOR_GIL;
    if (!gil && !(maker->facts && maker->facts->sleeps))
        return PSC_OK;
    if (maker->facts && maker->facts->sleeps)
        describe_call(maker);
    if (gil)
        describe_gil(maker);
    else
        describe_sleep(maker);
    struct trace_wait *wait = arena_alloc(maker->trace->arena, sizeof(*wait));
    if (!wait || arena_is_exhausted(maker->trace->arena))
        return PSC_ERR_MEMORY;
    *wait = maker->wait;
    thread->waits_for = wait;
    return PSC_OK;
}

enum psc_status waits_fill(struct waits *waits, struct psc_trace *trace)
{
    for (size_t i = 0; i < trace->thread_count; i++) {
        struct trace_thread *thread = &trace->threads[i];
        struct wait_maker maker = {.waits = waits, .trace = trace, .thread = thread};
        if (thread->tid > 0)
            maker.facts = hash_table_find(&waits->facts, (uint64_t)thread->tid);
        enum psc_status status = fill_thread(&maker, thread);
        if (status != PSC_OK)
            return status;
    }
    return PSC_OK;
}
