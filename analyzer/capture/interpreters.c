/* The interpreters of a process, and who holds their GILs. */
#include "capture_private.h"

/* The thread of a thread state that holds a GIL. */
struct gil_holder {
    psc_addr tstate;
    int32_t tid;
};

/* The first interpreter that uses a GIL. */
struct gil_owner {
    psc_addr gil;
    int64_t id;
};

/* A C stack is searched in pieces of 4 KB, up to 1 MB. */
#define PIECE_LIMIT ((size_t)256)

static bool has_collector_list(const struct capture *capture, const struct captured_thread *thread)
{
    uint64_t words[STACK_PIECE_WORDS];
    psc_addr at = 0;
    size_t count = STACK_PIECE_WORDS;
    for (size_t piece = 0; count == STACK_PIECE_WORDS && piece < PIECE_LIMIT; piece++) {
        count = merged_stack_read_words(&thread->merged, capture->target, &at, words);
        for (size_t w = 0; w < count; w++)
            if (words[w] && python_is_collector_list(capture->python, at + 8 * w, words[w]))
                return true;
    }
    return false;
}

/* A state of the interpreter whose thread has a list of the collector's on its stack; or NULL. */
static struct python_thread *find_collector(const struct capture *capture,
                                            const struct captured_thread *thread, size_t index)
{
    for (size_t k = 0; thread->native && k < thread->merged.interpreter_count; k++) {
        const struct python_thread *python = thread->merged.interpreters[k].thread;
        if (python->interpreter_index == index && has_collector_list(capture, thread))
            return &capture->python_threads[python - capture->python_threads];
    }
    return NULL;
}

/*
 * An interpreter says that it collects, not which thread does: mostly that which holds the GIL, but
 * what the collector runs may have released it.
 */
static void find_collectors(const struct capture *capture)
{
    for (size_t i = 0; i < capture->interpreter_count; i++) {
        struct python_thread *collector = NULL;
        size_t found = 0;
        if (capture->interpreters[i].collecting != PYTHON_YES)
            continue;
        for (size_t t = 0; t < capture->thread_count; t++) {
            struct python_thread *python = find_collector(capture, &capture->threads[t], i);
            collector = python ? python : collector;
            found += python != NULL;
        }
        for (size_t p = 0; found == 1 && p < capture->python_thread_count; p++)
            if (capture->python_threads[p].interpreter_index == i)
                capture->python_threads[p].collecting =
                    &capture->python_threads[p] == collector ? PYTHON_YES : PYTHON_NO;
    }
}

static void note_thread(struct hash_table *holders, const struct python_thread *python, int32_t tid)
{
    struct gil_holder *holder = hash_table_find(holders, python->tstate);
    if (holder && !holder->tid && tid > 0)
        holder->tid = tid;
}

/* Threads that are captured are known already; another interpreter's may not be its own. */
static void find_holders(const struct capture *capture, struct hash_table *holders)
{
    for (size_t i = 0; i < capture->thread_count; i++) {
        const struct captured_thread *thread = &capture->threads[i];
        for (size_t k = 0; k < thread->merged.interpreter_count; k++) {
            const struct python_thread *python = thread->merged.interpreters[k].thread;
            note_thread(holders, python,
                        thread->native ? thread->native->tid : (int32_t)python->native_id);
        }
    }
    const struct target *target = capture->target;
    for (size_t p = 0; p < capture->python_thread_count; p++) {
        const struct python_thread *python = &capture->python_threads[p];
        const struct gil_holder *holder = hash_table_find(holders, python->tstate);
        for (size_t i = 0; holder && !holder->tid && i < target->thread_count; i++)
            if (is_thread_of_state(&target->threads[i], python))
                note_thread(holders, python, target->threads[i].tid);
    }
}

static bool list_holders(const struct capture *capture, struct hash_table *holders)
{
    for (size_t i = 0; i < capture->interpreter_count; i++) {
        psc_addr holder = capture->interpreters[i].holder;
        if (holder && !hash_table_find(holders, holder) && !hash_table_add(holders, holder))
            return false;
    }
    find_holders(capture, holders);
    return true;
}

/* Of the first interpreter with that GIL; -1: which it uses is not known. */
static bool find_owner(struct hash_table *owners, const struct python_interpreter *interpreter,
                       int64_t *ret)
{
    *ret = -1;
    if (!interpreter->gil)
        return true;
    struct gil_owner *owner = hash_table_find(owners, interpreter->gil);
    if (!owner && (owner = hash_table_add(owners, interpreter->gil)))
        owner->id = interpreter->id;
    if (owner)
        *ret = owner->id;
    return owner != NULL;
}

static enum psc_status fill(const struct capture *capture, struct hash_table *holders,
                            struct hash_table *owners, struct trace_interpreter *ret)
{
    if (!list_holders(capture, holders))
        return PSC_ERR_MEMORY;
    for (size_t i = 0; i < capture->interpreter_count; i++) {
        const struct python_interpreter *from = &capture->interpreters[i];
        const struct gil_holder *holder = hash_table_find(holders, from->holder);
        ret[i] = (struct trace_interpreter){
            .id = from->id,
            .gil_known = from->gil_known && (!from->holder || (holder && holder->tid)),
            .without_gil = from->without_gil,
            .gil_holder_tid = from->gil_known && holder ? holder->tid : 0,
        };
        if (!find_owner(owners, from, &ret[i].gil_id))
            return PSC_ERR_MEMORY;
    }
    return PSC_OK;
}

enum psc_status fill_interpreters(struct capture *capture)
{
    struct psc_trace *trace = capture->trace;
    struct hash_table holders PSC_CLEANUP(hash_table_deinit) = HASH_TABLE_OF(struct gil_holder);
    struct hash_table owners PSC_CLEANUP(hash_table_deinit) = HASH_TABLE_OF(struct gil_owner);
    size_t count = capture->interpreter_count;
    if (!trace->python || !count)
        return PSC_OK;
    if (capture->target->thread_count)
        find_collectors(capture);
    struct trace_python *python = arena_alloc(trace->arena, sizeof(*python));
    struct trace_interpreter *interpreters =
        arena_array(trace->arena, count, sizeof(*interpreters));
    if (!python || !interpreters)
        return PSC_ERR_MEMORY;
    enum psc_status status = fill(capture, &holders, &owners, interpreters);
    *python = *trace->python;
    python->interpreters = interpreters;
    python->interpreter_count = count;
    // The main interpreter's; of those that have a GIL of their own each tells by itself.
    python->gil_known = interpreters[0].gil_known;
    python->without_gil = interpreters[0].without_gil;
    python->gil_holder_tid = interpreters[0].gil_holder_tid;
    for (size_t i = 1; i < count && !python->gil_holder_tid; i++)
        python->gil_holder_tid = interpreters[i].gil_holder_tid;
    trace->python = python;
    return status;
}
