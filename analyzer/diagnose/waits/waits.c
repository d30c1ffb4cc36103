/* From what was found of each thread to trace_thread.waits_for. */
#include "waits_private.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

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
    wait->timed = wait->has_time_left = false;
    wait->known_by = maker->facts && maker->facts->for_gil
                         ? "the condition of the GIL, which it sleeps on"
                         : "its stack is in the function that takes the GIL";
}

static void describe_sleep(struct wait_maker *maker)
{
    const struct wait_facts *facts = maker->facts;
    bool futex = facts->call && !strncmp(facts->call, "futex", 5);
    maker->wait.timed = facts->timed;
    if (futex && facts->python.kind != PYTHON_WAIT_NONE)
        waits_describe_python(maker);
    else if (futex)
        waits_describe_futex(maker);
    else
        waits_describe_call(maker);
    if (maker->wait.kind == TRACE_WAIT_MALLOC_LOCK)
        waits_find_arena_owner(maker);
}

/*
 * Of a living process: where in the kernel it sleeps, and the time left. The thread has gone on
 * since it was looked at, if only to the same place.
 */
static void ask_system(struct wait_maker *maker, struct system *system)
{
    const struct wait_facts *facts = maker->facts;
    struct timespec now;
    char place[64];
    int32_t tid = (int32_t)facts->tid;
    // Of a futex without a limit that is all that is wanted; there are many.
    bool short_way = system && facts->call && !strcmp(facts->call, "futex") &&
                     !facts->has_deadline && system_find_function(system, tid, place) &&
                     strstr(place, "futex");
    if (!system || (!short_way && !system_find_place(system, tid, facts->arguments[0], place)))
        return;
    maker->system = system;
    if (*place)
        maker->wait.kernel = arena_strdup(maker->trace->arena, place);
    if (!facts->has_deadline || clock_gettime(facts->clock, &now) != 0)
        return;
    double left = facts->deadline - (double)now.tv_sec - (double)now.tv_nsec / 1e9;
    maker->wait.has_time_left = true;
    maker->wait.time_left = left > 0 ? left : 0;
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

static enum psc_status fill_thread(struct wait_maker *maker, struct system *system,
                                   struct trace_thread *thread)
{
    bool gil = thread->state & TRACE_STATE_WAITS_FOR_GIL;
    bool sleeps = maker->facts && maker->facts->sleeps;
    // It is on its way to sleep again, or to wake the others.
    bool stops = !sleeps && maker->facts && maker->facts->python.kind == PYTHON_WAIT_WORLD;
    if (!gil && !sleeps && !stops && !waits_describe_spin(maker))
        return PSC_OK;
    if (sleeps) {
        describe_call(maker);
        ask_system(maker, system);
    }
    if (gil)
        describe_gil(maker);
    else if (sleeps)
        describe_sleep(maker);
    else if (stops)
        waits_describe_python(maker);
    struct trace_wait *wait = arena_alloc(maker->trace->arena, sizeof(*wait));
    if (!wait || arena_is_exhausted(maker->trace->arena))
        return PSC_ERR_MEMORY;
    *wait = maker->wait;
    thread->waits_for = wait;
    return PSC_OK;
}

enum psc_status waits_fill(struct waits *waits, struct psc_trace *trace)
{
    enum psc_status status = PSC_OK;
    bool living = waits->input.target->kind == TARGET_PROCESS;
    struct system *system = living ? system_create(trace->pid) : NULL;
    if (living && !system)
        return PSC_ERR_MEMORY;
    for (size_t i = 0; status == PSC_OK && i < trace->thread_count; i++) {
        struct trace_thread *thread = &trace->threads[i];
        struct wait_maker maker = {.waits = waits, .trace = trace, .thread = thread};
        if (thread->tid > 0)
            maker.facts = hash_table_find(&waits->facts, (uint64_t)thread->tid);
        status = fill_thread(&maker, system, thread);
    }
    if (status == PSC_OK)
        status = waits_fill_process_locks(waits, system, trace);
    system_destroy(system);
    return status;
}
