/* Which threads are captured: the target's and Python's, joined. */
#include "capture_private.h"

#include "live.h"

#include <stdio.h>
#include <stdlib.h>

/* In a message. */
#define NAMED_THREADS 8u

static bool wants_thread(const struct capture *capture, size_t index)
{
    const struct psc_capture_options *options = &capture->options;
    int32_t tid = capture->target->threads[index].tid;
    switch (options->threads) {
    case PSC_THREADS_ALL:
        return true;
    case PSC_THREADS_CRASHED:
        return index == 0;
    case PSC_THREADS_LISTED:
        break;
    }
    for (uint32_t i = 0; i < options->thread_id_count; i++)
        if (options->thread_ids[i] == tid)
            return true;
    return false;
}

static enum psc_status add_interpreter(struct captured_thread *thread,
                                       const struct python_thread *python)
{
    return merged_stack_add(&thread->merged, &(struct interpreter_stack){.thread = python});
}

bool is_thread_of_state(const struct target_thread *native, const struct python_thread *python)
{
    if (!native->thread_pointer)
        return python->native_id && python->native_id == (uint64_t)native->tid;
    return python->thread_id && python->thread_id == native->thread_pointer;
}

static enum psc_status take_natives(struct capture *capture)
{
    const struct target *target = capture->target;
    for (size_t i = 0; i < target->thread_count; i++) {
        if (!wants_thread(capture, i)) {
            capture->unwanted_threads++;
            continue;
        }
        struct captured_thread *thread = &capture->threads[capture->thread_count++];
        thread->native = &target->threads[i];
        thread->native_index = i;
        thread->is_main = thread->native->tid == target->process.pid;
        for (size_t p = 0; p < capture->python_thread_count; p++) {
            const struct python_thread *python = &capture->python_threads[p];
            if (is_thread_of_state(thread->native, python) &&
                add_interpreter(thread, python) != PSC_OK)
                return PSC_ERR_MEMORY;
        }
    }
    return PSC_OK;
}

/* Those of Python without a native thread among the first `native_count`. */
static enum psc_status take_others(struct capture *capture, size_t native_count)
{
    const struct target *target = capture->target;
    for (size_t p = 0; p < capture->python_thread_count; p++) {
        const struct python_thread *python = &capture->python_threads[p];
        bool joined = false;
        for (size_t i = 0; i < native_count && !joined; i++)
            joined = is_thread_of_state(&target->threads[i], python);
        // 3.12+ makes the state of a thread before the thread: without an id it has not begun.
        if (joined || !python->thread_id)
            continue;
        if (add_interpreter(&capture->threads[capture->thread_count++], python) != PSC_OK)
            return PSC_ERR_MEMORY;
    }
    return PSC_OK;
}

/*
 * Where not all threads are wanted: up to 3.12 an interpreter may be run by another thread than the
 * one whose id its state has.
 */
static enum psc_status take_candidates(struct capture *capture)
{
    const struct target *target = capture->target;
    for (size_t p = 0; p < capture->python_thread_count; p++) {
        const struct python_thread *python = &capture->python_threads[p];
        bool taken = !python->thread_id || python->interpreter_id <= 0;
        for (size_t i = 0; i < target->thread_count && !taken; i++)
            taken = wants_thread(capture, i) && is_thread_of_state(&target->threads[i], python);
        if (taken)
            continue;
        struct captured_thread *thread = &capture->threads[capture->thread_count++];
        thread->is_candidate = true;
        if (add_interpreter(thread, python) != PSC_OK)
            return PSC_ERR_MEMORY;
    }
    return PSC_OK;
}

/* Where the thread of a process that is not stopped stands among capture->threads. */
struct taken_thread {
    uint64_t thread_id;
    size_t index;
};

/* All of Python's, of a process that is not stopped: several states may be of one thread. */
static enum psc_status take_unpaused(struct capture *capture)
{
    struct hash_table taken PSC_CLEANUP(hash_table_deinit) = HASH_TABLE_OF(struct taken_thread);
    for (size_t p = 0; p < capture->python_thread_count; p++) {
        const struct python_thread *python = &capture->python_threads[p];
        // As in take_others().
        if (!python->thread_id)
            continue;
        struct taken_thread *thread = hash_table_find(&taken, python->thread_id);
        if (!thread) {
            thread = hash_table_add(&taken, python->thread_id);
            if (!thread)
                return PSC_ERR_MEMORY;
            thread->index = capture->thread_count++;
        }
        if (add_interpreter(&capture->threads[thread->index], python) != PSC_OK)
            return PSC_ERR_MEMORY;
    }
    return PSC_OK;
}

/* The ids of Python's threads as they are seen from here; nothing else tells them. */
static enum psc_status find_ids(struct capture *capture)
{
    size_t count = capture->python_thread_count;
    struct live_thread_name *names PSC_CLEANUP(cleanup_free) =
        calloc(count ? count : 1, sizeof(*names));
    if (!names)
        return PSC_ERR_MEMORY;
    for (size_t i = 0; i < count; i++)
        names[i] = (struct live_thread_name){.pthread = capture->python_threads[i].thread_id,
                                             .native_id = capture->python_threads[i].native_id};
    enum psc_status status = live_find_threads(capture->target, names, count);
    for (size_t i = 0; status == PSC_OK && i < count; i++)
        capture->python_threads[i].native_id = (uint64_t)names[i].tid;
    return status;
}

static int compare_threads(const void *left, const void *right)
{
    const struct captured_thread *a = left, *b = right;
    bool crashed_a = a->native && a->native->crashed, crashed_b = b->native && b->native->crashed;
    if (crashed_a != crashed_b)
        return crashed_a ? -1 : 1;
    if (!a->native != !b->native)
        return a->native ? -1 : 1;
    if (!a->native)
        return 0;
    if (a->is_main != b->is_main)
        return a->is_main ? -1 : 1;
    return a->native->tid < b->native->tid ? -1 : a->native->tid > b->native->tid;
}

static void list_python(struct capture *capture)
{
    struct python_thread_list list = {0};
    struct psc_error why = {0};
    if (capture->python && python_list_threads(capture->python, &list, &why) != PSC_OK)
        target_warn(capture->target, "python-threads", "%s", why.message);
    capture->interpreters = list.interpreters;
    capture->interpreter_count = list.interpreter_count;
    capture->python_threads = list.items;
    capture->python_thread_count = list.count;
}

/* None of those that were asked for; names what there is. */
static enum psc_status refuse_threads(const struct capture *capture, struct psc_error *err)
{
    const struct psc_capture_options *options = &capture->options;
    const struct target *target = capture->target;
    char ids[NAMED_THREADS * 12 + 8] = "";
    size_t used = 0;
    for (size_t i = 0; i < target->thread_count && i < NAMED_THREADS; i++)
        used += (size_t)snprintf(ids + used, sizeof(ids) - used, "%s%d", i ? ", " : "",
                                 (int)target->threads[i].tid);
    if (target->thread_count > NAMED_THREADS)
        snprintf(ids + used, sizeof(ids) - used, ", ...");
    return psc_fail(err, PSC_ERR_NOT_FOUND, "there is no thread %d in it; its threads: %s",
                    options->thread_id_count ? options->thread_ids[0] : 0, *ids ? ids : "none");
}

enum psc_status choose_threads(struct capture *capture, struct psc_error *err)
{
    const struct psc_capture_options *options = &capture->options;
    list_python(capture);
    // Where no native stack is going to be walked in the stop, nothing has to be joined in it.
    size_t natives = capture->visits && !capture->native ? 0 : capture->target->thread_count;
    size_t most = natives + capture->python_thread_count;
    capture->threads = calloc(most ? most : 1, sizeof(*capture->threads));
    if (!capture->threads)
        return psc_fail_memory(err);
    enum psc_status status = natives ? take_natives(capture) : PSC_OK;
    if (status == PSC_OK && capture->unpaused)
        status = find_ids(capture);
    if (status == PSC_OK && options->threads == PSC_THREADS_ALL && capture->reads_python)
        status = capture->unpaused ? take_unpaused(capture) : take_others(capture, natives);
    if (status == PSC_OK && !capture->thread_count)
        return refuse_threads(capture, err);
    if (status == PSC_OK && natives && options->threads != PSC_THREADS_ALL && capture->reads_python)
        status = take_candidates(capture);
    if (natives)
        qsort(capture->threads, capture->thread_count, sizeof(*capture->threads), compare_threads);
    return psc_fail_status(err, status);
}

void capture_forget_threads(struct capture *capture)
{
    for (size_t i = 0; i < capture->thread_count; i++)
        merged_stack_deinit(&capture->threads[i].merged);
    free(capture->threads);
    free(capture->exceptions);
    free(capture->works);
    hash_table_deinit(&capture->locals);
    diagnose_waits_destroy(capture->waits);
    capture->waits = NULL;
    capture->threads = NULL;
    capture->exceptions = NULL;
    capture->works = NULL;
    capture->work_count = 0;
    capture->thread_count = capture->python_thread_count = capture->interpreter_count = 0;
    capture->unwanted_threads = capture->task_count = capture->greenlet_count = 0;
}
