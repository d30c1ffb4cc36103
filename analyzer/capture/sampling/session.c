/*
 * What is kept of a process between samples: its modules, the interpreter, unwind rows, symbols,
 * code objects. A sample stops one thread, copies what the last one of that thread needed, and is
 * walked when the thread runs again.
 */
#include "sampling.h"

#include <stdlib.h>
#include <time.h>

/* Nanoseconds after which the lists of threads and interpreters are read again. */
#define LIST_AGE UINT64_C(100000000)
/* Nanoseconds that mappings which were read in vain are not read again. */
#define PATIENCE_FIRST UINT64_C(2000000)
#define PATIENCE_LAST  UINT64_C(300000000)
/* Times as long as reading them took. */
#define COST_SHARE 4
/* Tries to find the interpreter: threads that start and end meanwhile can make one fail. */
#define FIND_LIMIT 4
/* Threads that were not sampled in so many moments are forgotten; so many are always kept. */
#define KNOWN_MOMENTS 256
#define KNOWN_LEAST   ((size_t)64)

uint64_t sampling_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- life ---- */

void sampling_forget_thread(struct capture_session *session)
{
    if (session->thread)
        free(session->thread->frames);
    free(session->thread);
    session->thread = NULL;
}

void sampling_forget_walk(struct capture_session *session, struct known_thread *known)
{
    session->walked_size -= native_walked_size(&known->walked) + known->outer.counted;
    native_walked_deinit(&known->walked);
    known_outer_forget(&known->outer);
    known->outer.counted = 0;
}

void sampling_forget_walks(struct capture_session *session)
{
    for (size_t i = 0; i < session->known.count; i++)
        sampling_forget_walk(session, hash_table_at(&session->known, i));
}

void capture_session_close(struct capture_session *session)
{
    if (!session)
        return;
    struct capture *capture = &session->capture;
    struct target *target = capture->target;
    sampling_forget_thread(session);
    symbolizer_destroy(capture->symbolizer);
    native_destroy(capture->native);
    python_close(capture->python);
    trace_destroy(capture->trace);
    modules_destroy(session->modules);
    if (target)
        target_close(target);
    known_sample_forget_all(session);
    sampling_forget_walks(session);
    hash_table_deinit(&session->known);
    free(session->names);
    free(session);
}

static void cleanup_session(struct capture_session **session)
{
    capture_session_close(*session);
}

/*
 * A library that was loaded since is a module, too: of a process that has just begun, most are.
 * What is known of the others stays, unless one of them is gone.
 */
static enum psc_status read_mappings_again(struct capture_session *session, struct psc_error *err)
{
    struct target *target = session->capture.target;
    bool changed = false, gone = false;
    enum psc_status status = live_prepare(target, &changed, err);
    if (status != PSC_OK || !changed)
        return status;
    status = modules_take_new(session->modules, &gone);
    if (status != PSC_OK || !gone)
        return psc_fail_status(err, status);
    modules_destroy(session->modules);
    session->modules = NULL;
    return modules_create(target, &session->modules, err);
}

static enum psc_status take_modules(struct capture_session *session, bool *ret_taken)
{
    struct capture *capture = &session->capture;
    enum psc_status status = modules_take_new(session->modules, &session->outdated);
    if (status != PSC_OK || session->outdated)
        return status;
    status = symbolizer_take_modules(capture->symbolizer);
    if (status == PSC_OK && capture->native)
        native_forget_unknown(capture->native);
    *ret_taken = status == PSC_OK;
    return status;
}

enum psc_status sampling_take_modules(struct capture_session *session, bool *ret_taken,
                                      struct psc_error *err)
{
    bool changed = false;
    uint64_t start = sampling_now();
    *ret_taken = false;
    if (start < session->look_again_at)
        return PSC_OK;
    enum psc_status status = live_prepare(session->capture.target, &changed, err);
    if (status != PSC_OK)
        return status;
    if (changed) {
        known_sample_forget_all(session);
        sampling_forget_walks(session);
        status = psc_fail_status(err, take_modules(session, ret_taken));
    }
    // Code that a program makes without a mapping of its own stays unknown.
    uint64_t more = session->patience ? 2 * session->patience : PATIENCE_FIRST;
    session->patience = changed ? 0 : more < PATIENCE_LAST ? more : PATIENCE_LAST;
    uint64_t now = sampling_now();
    session->look_again_at = now + session->patience + COST_SHARE * (now - start);
    return status;
}

static enum psc_status open_python(struct capture_session *session, struct psc_error *err)
{
    struct capture *capture = &session->capture;
    enum psc_status status = PSC_OK;
    if (capture->options.mode == PSC_MODE_NATIVE)
        return PSC_OK;
    for (size_t i = 0; status == PSC_OK && i < FIND_LIMIT && !capture->python; i++) {
        if (i)
            status = read_mappings_again(session, err);
        if (status == PSC_OK)
            status = find_python(capture, err);
        if (capture->trace->python_problem)
            break;
    }
    if (status == PSC_OK && capture->python)
        python_keep_code(capture->python);
    return status;
}

static enum psc_status open_tools(struct capture_session *session, struct psc_error *err)
{
    struct capture *capture = &session->capture;
    const struct symbolizer_input input = {.target = capture->target,
                                           .modules = session->modules,
                                           .python = capture->python,
                                           .no_source = true,
                                           .no_columns = true,
                                           .no_addresses = true};
    enum psc_status status = PSC_OK;
    capture->reads_python = capture->options.mode != PSC_MODE_NATIVE && capture->python;
    if (capture->options.mode != PSC_MODE_PYTHON)
        status = native_create(capture->target, session->modules, capture->options.unwinder,
                               &capture->native, err);
    if (status != PSC_OK)
        return status;
    return psc_fail_status(err, symbolizer_create(capture->trace, &input, &capture->symbolizer));
}

enum psc_status capture_session_open(int32_t pid, const struct target_options *target_options,
                                     const struct psc_capture_options *options,
                                     struct capture_session **ret, struct psc_error *err)
{
    struct capture_session *session PSC_CLEANUP(cleanup_session) = calloc(1, sizeof(*session));
    if (!session)
        return psc_fail_memory(err);
    struct capture *capture = &session->capture;
    session->known = HASH_TABLE_OF(struct known_thread);
    session->sweep_at = KNOWN_LEAST;
    *capture = (struct capture){.modules = &session->modules,
                                .options = *options,
                                .samples = true,
                                .trace = trace_create()};
    if (options->no_pause)
        capture->options.mode = PSC_MODE_PYTHON;
    if (!capture->trace)
        return psc_fail_memory(err);
    enum psc_status status = live_open(pid, target_options, &capture->target, err);
    if (status != PSC_OK)
        return status;
    if (live_get_refusal(capture->target))
        return psc_fail(err, PSC_ERR_IO, "%s", live_get_refusal(capture->target));
    status = modules_create(capture->target, &session->modules, err);
    if (status == PSC_OK)
        status = open_python(session, err);
    if (status == PSC_OK)
        status = open_tools(session, err);
    if (status != PSC_OK)
        return status;
    describe_process(capture->trace, capture->target);
    live_read_directly(capture->target);
    *ret = session;
    session = NULL;
    return PSC_OK;
}

const struct psc_trace *capture_session_trace(const struct capture_session *session)
{
    return session->capture.trace;
}

struct target *capture_session_target(const struct capture_session *session)
{
    return session->capture.target;
}

void capture_session_let_late_go(struct capture_session *session)
{
    live_let_late_go(session->capture.target);
}

bool capture_session_has_late(const struct capture_session *session)
{
    return live_has_late(session->capture.target);
}

bool capture_session_is_outdated(const struct capture_session *session)
{
    return session->outdated;
}

bool capture_session_met_unknown(const struct capture_session *session)
{
    return session->unknown_code;
}

size_t capture_session_size(const struct capture_session *session)
{
    return arena_size(session->capture.trace->arena) + arena_size(session->capture.target->arena);
}

/* ---- a moment ---- */

/* The ids of Python's threads as they are seen from here, where no registers tell whose is whose.
 */
static enum psc_status find_names(struct capture_session *session)
{
    const struct python_thread_list *list = &session->list;
    if (!session->capture.options.no_pause)
        return PSC_OK;
    free(session->names);
    session->name_count = 0;
    session->names = calloc(list->count ? list->count : 1, sizeof(*session->names));
    if (!session->names)
        return PSC_ERR_MEMORY;
    session->name_count = list->count;
    for (size_t i = 0; i < list->count; i++)
        session->names[i] = (struct live_thread_name){.pthread = list->items[i].thread_id,
                                                      .native_id = list->items[i].native_id};
    return live_find_threads(session->capture.target, session->names, session->name_count);
}

enum psc_status sampling_list_python(struct capture_session *session)
{
    struct capture *capture = &session->capture;
    struct psc_error why = {0};
    struct python_thread_list list = session->list;
    session->listed_at = sampling_now();
    enum psc_status status = python_list_threads(capture->python, &list, &why);
    if (status == PSC_ERR_MEMORY)
        return status;
    // What cannot be read just now was read before.
    if (status != PSC_OK || !list.count)
        return PSC_OK;
    session->list = list;
    capture->interpreters = list.interpreters;
    capture->interpreter_count = list.interpreter_count;
    capture->python_threads = list.items;
    capture->python_thread_count = list.count;
    return find_names(session);
}

/* Programs may start threads by the thousand, one after the other. */
static void forget_old_threads(struct capture_session *session)
{
    struct hash_table kept = HASH_TABLE_OF(struct known_thread);
    if (session->known.count < session->sweep_at && session->ended_count < KNOWN_LEAST)
        return;
    for (size_t i = 0; i < session->known.count; i++) {
        struct known_thread *known = hash_table_at(&session->known, i);
        bool wanted = !known->ended && session->moment - known->moment < KNOWN_MOMENTS;
        struct known_thread *added = wanted ? hash_table_add(&kept, known->tid) : NULL;
        if (added) {
            *added = *known;
            continue;
        }
        known_sample_forget(session, known);
        sampling_forget_walk(session, known);
    }
    hash_table_deinit(&session->known);
    session->known = kept;
    session->sweep_at = 2 * kept.count + KNOWN_LEAST;
    session->ended_count = 0;
}

void capture_session_forget(struct capture_session *session, int32_t tid)
{
    struct known_thread *known = hash_table_find(&session->known, (uint64_t)tid);
    if (!known || known->ended)
        return;
    known_sample_forget(session, known);
    sampling_forget_walk(session, known);
    known->ended = true;
    session->ended_count++;
}

enum psc_status capture_session_begin(struct capture_session *session, struct psc_error *err)
{
    struct capture *capture = &session->capture;
    enum psc_status status = PSC_OK;
    session->unknown_code = false;
    session->moment++;
    forget_old_threads(session);
    live_begin_moment(capture->target);
    if (!capture->reads_python)
        return PSC_OK;
    python_begin_moment(capture->python);
    if (!session->listed_at || sampling_now() - session->listed_at > LIST_AGE)
        status = sampling_list_python(session);
    return psc_fail_status(err, status);
}

void capture_session_end(struct capture_session *session)
{
    live_end_moment(session->capture.target);
}

const struct python_thread_list *capture_session_threads(const struct capture_session *session)
{
    return &session->list;
}

/* ---- one thread ---- */

struct known_thread *sampling_know_thread(struct capture_session *session, int32_t tid)
{
    struct known_thread *known = hash_table_find(&session->known, (uint64_t)tid);
    if (!known && (known = hash_table_add(&session->known, (uint64_t)tid)))
        known->stack_size = FIRST_STACK;
    if (known && known->ended) {
        // Another thread has its id.
        session->ended_count--;
        *known = (struct known_thread){.tid = known->tid, .stack_size = FIRST_STACK};
    }
    if (known)
        known->moment = session->moment;
    return known;
}

struct live_sample sampling_sample_of(const struct known_thread *known, int32_t tid)
{
    return (struct live_sample){.tid = tid,
                                .pages = known->pages,
                                .page_count = known->page_count,
                                .stack_size = known->stack_size,
                                .near = known->sp};
}

size_t capture_session_room_together(const struct capture_session *session)
{
    return live_room_together(session->capture.target);
}

void capture_session_note_question(struct capture_session *session, int32_t tid, bool copies,
                                   uint64_t runs)
{
    const struct known_thread *known = sampling_know_thread(session, tid);
    if (!known)
        return;
    const struct live_sample sample = sampling_sample_of(known, tid);
    const bool pauses = !session->capture.options.no_pause;
    live_note_question(session->capture.target, &sample, pauses, pauses && copies, runs);
}

void capture_session_ask_together(struct capture_session *session)
{
    live_ask_together(session->capture.target);
}

size_t capture_session_ask(struct capture_session *session, int32_t tid, char ret[256],
                           uint64_t *ret_runs)
{
    const struct known_thread *known = sampling_know_thread(session, tid);
    ret[0] = '\0';
    *ret_runs = 0;
    if (!known)
        return 0;
    const struct live_sample sample = sampling_sample_of(known, tid);
    return live_ask_call(session->capture.target, &sample, !session->capture.options.no_pause, ret,
                         ret_runs);
}
