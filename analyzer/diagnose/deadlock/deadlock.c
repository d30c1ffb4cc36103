/* From traces to the cycles of waits in them. */
#include "deadlock_private.h"

#include <stdlib.h>

static void waiting_deinit(struct waiting *waiting)
{
    graph_deinit(&waiting->graph);
    free(waiting->nodes);
    free(waiting->labels);
    hash_table_deinit(&waiting->threads);
    hash_table_deinit(&waiting->tasks);
    hash_table_deinit(&waiting->choices);
}

/* ---- threads that wait for the result of a future ---- */

/* What does not run and has let go of the GIL: its Python frames stand where they wait. */
static bool is_waiting(const struct psc_trace *trace, const struct trace_thread *thread)
{
    const uint32_t active =
        TRACE_STATE_HOLDS_GIL | TRACE_STATE_WAITS_FOR_GIL | TRACE_STATE_WITHOUT_GIL;
    // Of one that is not idle, for a signal met it, without a GIL what it sleeps in tells.
    const bool sleeps = thread->waits_for && thread->waits_for->system_call;
    return (thread->state & TRACE_STATE_IDLE) ||
           (sleeps && (thread->state & TRACE_STATE_WITHOUT_GIL)) ||
           (trace->python && trace->python->gil_known && !(thread->state & active));
}

/* What the interpreter itself waits for, whatever its frames do. */
static bool is_of_interpreter(const struct trace_wait *native)
{
    return native->kind == TRACE_WAIT_GIL || native->kind == TRACE_WAIT_FUTURE ||
           native->kind == TRACE_WAIT_STOP_THE_WORLD || native->kind == TRACE_WAIT_PYTHON_MUTEX;
}

/* What the native wait is for is known better by the Python frames. */
static enum psc_status use_result(const struct psc_trace *trace, struct trace_thread *thread)
{
    const struct trace_wait *native = thread->waits_for;
    struct arena *arena = trace->arena;
    if (!thread->result || !is_waiting(trace, thread) || (native && is_of_interpreter(native)))
        return PSC_OK;
    struct trace_wait *wait = arena_alloc(arena, sizeof(*wait));
    if (!wait)
        return PSC_ERR_MEMORY;
    *wait = *thread->result;
    if (native) {
        wait->timed |= native->timed;
        wait->has_time_left = native->has_time_left;
        wait->time_left = native->time_left;
        wait->system_call = native->system_call;
        wait->arguments = native->arguments;
        wait->kernel = native->kernel;
    }
    thread->waits_for = wait;
    return PSC_OK;
}

static enum psc_status use_results(struct psc_trace *trace)
{
    enum psc_status status = PSC_OK;
    for (size_t i = 0; status == PSC_OK && i < trace->thread_count; i++)
        status = use_result(trace, &trace->threads[i]);
    return status;
}

/* ---- cycles ---- */

static bool is_member(const struct waiting *waiting, const struct graph_cycle *cycle,
                      const struct psc_trace *trace)
{
    for (size_t i = 0; i < cycle->count; i++)
        if (waiting->nodes[cycle->edges[i]->from].trace == trace)
            return true;
    return false;
}

static enum psc_status give_cycles(struct waiting *waiting, const struct graph_cycle *cycles,
                                   size_t count, struct psc_trace *trace)
{
    struct trace_deadlock *all = arena_array(trace->arena, count ? count : 1, sizeof(*all));
    if (!all)
        return PSC_ERR_MEMORY;
    trace->deadlocks = all;
    waiting->named_bytes = 0;
    trace->deadlock_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_member(waiting, &cycles[i], trace))
            continue;
        const struct trace_deadlock *one = describe_cycle(waiting, &cycles[i], trace);
        if (!one)
            return PSC_ERR_MEMORY;
        all[trace->deadlock_count++] = *one;
    }
    return PSC_OK;
}

static enum psc_status build(struct waiting *waiting)
{
    enum psc_status status = add_thread_nodes(waiting);
    if (status == PSC_OK)
        status = add_task_nodes(waiting);
    if (status == PSC_OK)
        status = add_thread_edges(waiting);
    return status == PSC_OK ? add_task_edges(waiting) : status;
}

enum psc_status deadlock_fill(struct psc_trace *const *traces, size_t count)
{
    PSC_CLEANUP(waiting_deinit)
    struct waiting waiting = {.traces = traces,
                              .trace_count = count,
                              .threads = HASH_TABLE_OF(struct known_node),
                              .tasks = HASH_TABLE_OF(struct known_node),
                              .choices = HASH_TABLE_OF(struct known_node)};
    struct graph_cycle *cycles = calloc(GRAPH_CYCLE_LIMIT, sizeof(*cycles));
    size_t cycle_count = 0;
    enum psc_status status = cycles ? PSC_OK : PSC_ERR_MEMORY;
    for (size_t i = 0; status == PSC_OK && i < count; i++)
        status = use_results(traces[i]);
    if (status == PSC_OK)
        status = find_process_owners(traces, count);
    if (status == PSC_OK)
        status = build(&waiting);
    if (status == PSC_OK)
        status = graph_find_cycles(&waiting.graph, cycles, &cycle_count);
    for (size_t i = 0; status == PSC_OK && i < count; i++)
        status = give_cycles(&waiting, cycles, cycle_count, traces[i]);
    if (cycles)
        graph_cycles_deinit(cycles, cycle_count);
    free(cycles);
    return status;
}
