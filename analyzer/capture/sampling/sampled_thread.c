/* A sample: a thread is copied, then walked when it runs again. */
#include "sampling.h"

#include <stdlib.h>

/* The same when a thread is met that is not in it. */
#define LIST_AGE_UNKNOWN UINT64_C(2000000)
/* Samples of a thread that was found in the middle of a change, one after the other. */
#define SAMPLE_LIMIT 2
#define STACK_SPARE  ((size_t)4 * 1024)
/* Bytes that are kept of the stacks of all threads, and of what was made of them. */
#define WALKED_LIMIT ((size_t)64 * 1024 * 1024)
/* Samples for which a page is copied that none of them wanted. */
#define PAGE_AGE 4

static enum psc_status join_python(struct capture_session *session, struct captured_thread *thread)
{
    for (size_t i = 0; i < session->list.count; i++) {
        const struct python_thread *python = &session->list.items[i];
        if (is_thread_of_state(thread->native, python) &&
            merged_stack_add(&thread->merged, &(struct interpreter_stack){.thread = python}) !=
                PSC_OK)
            return PSC_ERR_MEMORY;
    }
    return PSC_OK;
}

/* A thread that the list does not have may have been born since. */
static enum psc_status find_states(struct capture_session *session, struct captured_thread *thread)
{
    enum psc_status status = join_python(session, thread);
    if (status != PSC_OK || thread->merged.interpreter_count ||
        sampling_now() - session->listed_at < LIST_AGE_UNKNOWN)
        return status;
    status = sampling_list_python(session);
    return status == PSC_OK ? join_python(session, thread) : status;
}

static enum psc_status read_stacks(struct capture_session *session, struct captured_thread *thread)
{
    struct capture *capture = &session->capture;
    struct merged_stack *merged = &thread->merged;
    psc_addr sp = thread->native ? target_sp(capture->target, &thread->native->registers) : 0;
    enum psc_status status = PSC_OK;
    for (size_t i = 0; status == PSC_OK && i < merged->interpreter_count; i++) {
        struct interpreter_stack *stack = &merged->interpreters[i];
        status = python_walk(capture->python, stack->thread, &stack->stack);
        if (status == PSC_OK)
            status = python_add_greenlets(capture->python, stack->thread, sp, &stack->stack);
        if (status == PSC_OK)
            status = merge_walk_further(stack, capture->python);
    }
    if (python_code_changed(capture->python)) {
        symbolizer_forget_python(capture->symbolizer, capture->python);
        sampling_forget_walks(session);
    }
    return status;
}

static enum psc_status resolve_lines(struct capture *capture, const struct captured_thread *thread)
{
    const struct merged_stack *merged = &thread->merged;
    for (size_t i = 0; i < merged->native.count; i++) {
        const struct address_info *info = merged->native_info[i];
        if (info->wanted && !info->resolved && info->module)
            return symbolizer_resolve(capture->symbolizer);
    }
    return PSC_OK;
}

/*
 * Code where none was when the mappings were read: a library was loaded since, or was being loaded
 * then (ld.so maps the whole file first, its code over that; elf/dl-map-segments.h of glibc).
 */
static void look_for_news(struct capture_session *session, const struct captured_thread *thread)
{
    const struct merged_stack *merged = &thread->merged;
    const struct native_stack *stack = &merged->native;
    session->unknown_code = false;
    // What returns into such code is passed over by the walk: a return address leads to code.
    session->lacks_frames =
        stack->skips || (stack->count && stack->end != NATIVE_END_COMPLETE && !stack->lacks);
    for (size_t i = 0; i < merged->native.count && !session->unknown_code; i++) {
        const struct address_info *info = merged->native_info[i];
        const struct target_mapping *mapping =
            target_find_mapping(session->capture.target, info->pc);
        session->unknown_code = !mapping || !mapping->executable;
    }
}

/* The first argument of the system call that a thread is in; 0 where it cannot be told. */
static uint64_t first_argument(const struct target_machine *machine,
                               const struct target_thread *native)
{
    for (size_t i = 0; native->registers.in_system_call && i < machine->register_count; i++)
        if (machine->user_index[i] == machine->user_syscall_words[1])
            return native->registers.value[i];
    return 0;
}

/* The GIL's waiters sleep on a futex in it, whatever their stacks say. */
static bool sleeps_for_gil(const struct capture_session *session,
                           const struct target_thread *native)
{
    psc_addr word = first_argument(session->capture.target->machine, native);
    for (size_t i = 0; word && i < session->list.interpreter_count; i++) {
        const struct python_interpreter *interpreter = &session->list.interpreters[i];
        if (interpreter->gil_waits_start && word >= interpreter->gil_waits_start &&
            word < interpreter->gil_waits_end)
            return true;
    }
    return false;
}

static enum psc_status find_thread_of_python(struct capture_session *session,
                                             struct captured_thread *thread)
{
    struct capture *capture = &session->capture;
    enum psc_status status = PSC_OK;
    if (capture->reads_python && thread->native)
        status = find_states(session, thread);
    if (status == PSC_OK && capture->reads_python)
        python_read_gil(capture->python, &session->list);
    return status;
}

/* Of a thread whose frames of Python were read. */
static enum psc_status merge_part(struct capture_session *session, struct captured_thread *thread)
{
    struct capture *capture = &session->capture;
    enum psc_status status = walk_thread(capture, thread, &session->facts);
    if (status == PSC_OK)
        status = merge_thread(capture, thread, &session->facts);
    if (status != PSC_OK)
        return status;
    mark_wanted(capture, thread);
    look_for_news(session, thread);
    status = resolve_lines(capture, thread);
    sampling_forget_thread(session);
    session->thread = calloc(1, sizeof(*session->thread));
    if (!session->thread)
        return PSC_ERR_MEMORY;
    return status == PSC_OK ? assemble_thread(capture, thread, session->thread) : status;
}

/* As it was walked, without what was made of it. */
static void unmerge(struct merged_stack *merged)
{
    merged->count = 0;
    free(merged->awaiting);
    merged->awaiting = NULL;
    for (size_t i = 0; i < merged->interpreter_count; i++) {
        python_stack_deinit(&merged->interpreters[i].stack);
        python_stack_deinit(&merged->interpreters[i].further);
    }
}

/* Only what is not as it was in the last sample; *ret_cut is all zero where that is not possible.
 */
static enum psc_status merge_changed(struct capture_session *session,
                                     const struct known_outer *outer,
                                     struct captured_thread *thread, struct outer_cut *ret_cut)
{
    struct capture *capture = &session->capture;
    bool taken = false, complete = capture->trace->complete;
    if (!known_outer_cut(outer, &thread->merged, ret_cut))
        return PSC_OK;
    enum psc_status status = merge_part(session, thread);
    if (status == PSC_OK)
        status = known_outer_take(outer, &thread->merged, session->thread, ret_cut, &taken);
    if (status != PSC_OK || taken)
        return status;
    *ret_cut = (struct outer_cut){0};
    unmerge(&thread->merged);
    capture->trace->complete = complete;
    return capture->reads_python ? read_stacks(session, thread) : PSC_OK;
}

static enum psc_status merge_sample(struct capture_session *session, struct known_outer *outer,
                                    struct captured_thread *thread)
{
    struct capture *capture = &session->capture;
    struct outer_cut cut = {0};
    enum psc_status status = capture->reads_python ? read_stacks(session, thread) : PSC_OK;
    if (status == PSC_OK && outer)
        status = merge_changed(session, outer, thread, &cut);
    if (status == PSC_OK && !cut.same)
        status = merge_part(session, thread);
    if (status == PSC_OK && outer && capture->trace->complete)
        known_outer_keep(outer, &thread->merged, session->thread, &cut);
    else if (outer)
        known_outer_forget(outer);
    if (status == PSC_OK && capture->options.tasks)
        status = sampling_add_tasks(session, thread);
    return status;
}

/* Pages that were wanted now, and those that were not long ago; both rise. */
static void learn_pages(struct capture_session *session, struct known_thread *known)
{
    struct known_thread before = *known;
    psc_addr wanted[KNOWN_PAGES];
    size_t count = live_sample_pages(session->capture.target, wanted, KNOWN_PAGES);
    size_t i = 0, k = 0, kept = 0;
    while (kept < KNOWN_PAGES && (i < count || k < before.page_count)) {
        if (k == before.page_count || (i < count && wanted[i] <= before.pages[k])) {
            k += k < before.page_count && wanted[i] == before.pages[k];
            known->ages[kept] = 0;
            known->pages[kept++] = wanted[i++];
        } else {
            known->ages[kept] = (uint8_t)(before.ages[k] + 1);
            known->pages[kept] = before.pages[k++];
            kept += known->ages[kept] < PAGE_AGE;
        }
    }
    known->page_count = kept;
}

/* What the next sample of the thread has to copy. */
static void learn_needs(struct capture_session *session, struct known_thread *known,
                        const struct captured_thread *thread)
{
    const struct native_stack *stack = &thread->merged.native;
    learn_pages(session, known);
    if (thread->native->thread_pointer)
        known->thread_pointer = thread->native->thread_pointer;
    if (!stack->count || stack->lacks)
        return;
    const struct native_frame *last = &stack->frames[stack->count - 1];
    psc_addr low = stack->frames[0].sp, high = last->cfa ? last->cfa : last->sp;
    known->stack_size = high > low ? (size_t)(high - low) + STACK_SPARE : FIRST_STACK;
}

/* One that waits may be found the same again. */
static bool may_come_again(const struct capture_session *session,
                           const struct captured_thread *thread)
{
    const struct native_stack *stack = &thread->merged.native;
    // Which tasks await another one is not among what is compared.
    return session->capture.trace->complete && !session->unknown_code &&
           !session->capture.options.tasks && !stack->lacks && !stack->skips &&
           (!stack->count || stack->end == NATIVE_END_COMPLETE);
}

static enum psc_status walk_stack(struct capture_session *session, struct known_thread *known,
                                  struct captured_thread *thread)
{
    struct capture *capture = &session->capture;
    if (capture->native)
        native_take_sample(capture->native);
    session->walked_size -= native_walked_size(&known->walked);
    thread->walked = &known->walked;
    enum psc_status status = walk_native(capture, thread);
    thread->walked = NULL;
    session->walked_size += native_walked_size(&known->walked);
    if (session->walked_size > WALKED_LIMIT)
        sampling_forget_walk(session, known);
    return status;
}

static enum psc_status walk_or_take_known(struct capture_session *session,
                                          struct known_thread *known,
                                          struct captured_thread *thread,
                                          struct capture_sample *sample)
{
    struct capture *capture = &session->capture;
    bool waits = thread->native->registers.in_system_call;
    capture->trace->complete = true;
    enum psc_status status = find_thread_of_python(session, thread);
    if (status == PSC_OK)
        status = walk_stack(session, known, thread);
    if (status != PSC_OK)
        return status;
    sample->unchanged = sample->has_frames && known_sample_is_same(session, known, thread);
    if (sample->unchanged) {
        session->unknown_code = session->lacks_frames = false;
        sampling_forget_thread(session);
        return known_sample_take(session, known);
    }
    if (waits)
        target_begin_reads(capture->target);
    status = merge_sample(session, &known->outer, thread);
    session->walked_size -= known->outer.counted;
    known->outer.counted = known_outer_size(&known->outer);
    session->walked_size += known->outer.counted;
    target_end_reads(capture->target);
    if (status == PSC_OK && waits && may_come_again(session, thread))
        known_sample_keep(session, known, thread);
    else
        known_sample_forget(session, known);
    if (status == PSC_OK)
        learn_needs(session, known, thread);
    return status;
}

/* Of a frame, enough to tell where it lies. */
#define FRAME_BYTES ((size_t)64)

/*
 * Frames, or a part of the stack, were read when the thread ran again, so that they may be of
 * different moments. What else is read late does not change: code, names, tables.
 */
static bool is_torn(const struct capture_session *session, const struct captured_thread *thread,
                    const struct live_sleep *sleep)
{
    const struct target *target = session->capture.target;
    const struct native_stack *native = &thread->merged.native;
    const struct native_frame *last = native->count ? &native->frames[native->count - 1] : NULL;
    uint64_t time, runs;
    if (!live_late_pages(target))
        return false;
    if (sleep && live_read_runs(sleep->schedstat, &time, &runs) && runs == sleep->runs)
        return false;
    if (last && last->sp > native->frames[0].sp &&
        live_was_late(target, native->frames[0].sp, (size_t)(last->sp - native->frames[0].sp)))
        return true;
    for (size_t i = 0; i < thread->merged.interpreter_count; i++) {
        const struct python_stack *stack = &thread->merged.interpreters[i].stack;
        if (live_was_late(target, thread->merged.interpreters[i].thread->tstate, FRAME_BYTES))
            return true;
        for (size_t k = 0; k < stack->count; k++)
            if (live_was_late(target, stack->frames[k].address, FRAME_BYTES))
                return true;
    }
    return false;
}

/* *ret_lacks: it has to be stopped, now that it is known what is needed of it. */
static enum psc_status sample_once(struct capture_session *session, struct capture_sample *sample,
                                   const struct live_sleep *sleep, bool *ret_lacks,
                                   struct psc_error *err)
{
    struct target *target = session->capture.target;
    struct known_thread *known = sampling_know_thread(session, sample->tid);
    if (!known)
        return psc_fail_memory(err);
    if (sample->afresh) {
        known_sample_forget(session, known);
        sampling_forget_walk(session, known);
    }
    struct live_sample taken = sampling_sample_of(known, sample->tid);
    taken.sleep = sleep;
    enum psc_status status = live_sample_thread(target, &taken, err);
    sample->stood += taken.stood;
    sample->suspended = taken.suspended;
    if (status != PSC_OK)
        return status;
    struct captured_thread thread = {.native = &target->threads[0],
                                     .is_main = sample->tid == target->process.pid};
    sample->pc = target_pc(target, &thread.native->registers);
    sample->sp = known->sp = target_sp(target, &thread.native->registers);
    sample->waits = thread.native->registers.in_system_call;
    if (session->capture.reads_python)
        python_take_sample(session->capture.python);
    status = walk_or_take_known(session, known, &thread, sample);
    if (status == PSC_OK && sleeps_for_gil(session, thread.native))
        session->thread->state |= TRACE_STATE_WAITS_FOR_GIL;
    *ret_lacks = thread.merged.native.lacks;
    if (*ret_lacks)
        known->lacking_pc = sample->pc;
    else if (status == PSC_OK && !sample->unchanged)
        *ret_lacks = is_torn(session, &thread, taken.stood ? NULL : sleep);
    merged_stack_deinit(&thread.merged);
    return psc_fail_status(err, status);
}

/* One that slept where that did not tell enough before is stopped. */
static const struct live_sleep *find_sleep(struct capture_session *session,
                                           const struct capture_sample *sample)
{
    const struct known_thread *known = sampling_know_thread(session, sample->tid);
    if (!sample->sleep || !known || (known->lacking_pc && known->lacking_pc == sample->sleep->pc))
        return NULL;
    sample->sleep->thread_pointer = known->thread_pointer;
    return sample->sleep;
}

/* ---- without a stop ---- */

static bool are_same(const struct python_stack *one, const struct python_stack *other)
{
    if (one->count != other->count || one->end != other->end)
        return false;
    for (size_t i = 0; i < one->count; i++)
        if (one->frames[i].address != other->frames[i].address ||
            one->frames[i].code != other->frames[i].code ||
            one->frames[i].lasti != other->frames[i].lasti)
            return false;
    return true;
}

/* What reads the same twice, one after the other, was there in between. */
static bool is_stable(struct capture_session *session, const struct python_thread *python)
{
    struct capture *capture = &session->capture;
    struct python_stack one = {0}, other = {0};
    live_sample_nothing(capture->target);
    bool same = python_walk(capture->python, python, &one) == PSC_OK;
    live_sample_nothing(capture->target);
    same = same && python_walk(capture->python, python, &other) == PSC_OK && are_same(&one, &other);
    python_stack_deinit(&one);
    python_stack_deinit(&other);
    return same;
}

static const struct python_thread *find_named(const struct capture_session *session, int32_t tid)
{
    for (size_t i = 0; i < session->name_count; i++)
        if (session->names[i].tid == tid)
            return &session->list.items[i];
    return NULL;
}

/* Tries to read a stack that does not change meanwhile. */
#define UNPAUSED_LIMIT 8

static enum psc_status sample_unpaused(struct capture_session *session,
                                       struct capture_sample *sample, struct psc_error *err)
{
    struct capture *capture = &session->capture;
    const struct python_thread *python = find_named(session, sample->tid);
    if (!capture->reads_python || !python)
        return PSC_ERR_NOT_FOUND;
    python_take_sample(capture->python);
    bool stable = false;
    for (size_t i = 0; i < UNPAUSED_LIMIT && !stable; i++)
        stable = is_stable(session, python);
    if (!stable)
        return PSC_ERR_LIMIT;
    // The pages that the second walk read are still here.
    struct captured_thread thread = {.native = NULL};
    if (merged_stack_add(&thread.merged, &(struct interpreter_stack){.thread = python}) != PSC_OK)
        return psc_fail_memory(err);
    capture->unpaused = true;
    capture->trace->complete = true;
    enum psc_status status = find_thread_of_python(session, &thread);
    if (status == PSC_OK)
        status = merge_sample(session, NULL, &thread);
    merged_stack_deinit(&thread.merged);
    if (status == PSC_OK)
        session->thread->tid = sample->tid;
    return psc_fail_status(err, status);
}

enum psc_status capture_session_sample(struct capture_session *session,
                                       struct capture_sample *sample, struct psc_error *err)
{
    enum psc_status status = PSC_OK;
    sample->stood = 0;
    sample->pc = sample->sp = 0;
    sample->waits = sample->suspended = sample->unchanged = false;
    if (session->capture.options.no_pause) {
        status = sample_unpaused(session, sample, err);
    } else {
        const struct live_sleep *sleep = find_sleep(session, sample);
        for (size_t i = 0; i < SAMPLE_LIMIT; i++) {
            bool lacks = false, taken = false;
            status = sample_once(session, sample, sleep, &lacks, err);
            if (status == PSC_OK && (session->unknown_code || session->lacks_frames))
                status = sampling_take_modules(session, &taken, err);
            // What it needed is known now, and is copied while it stands the next time.
            if (status != PSC_OK || (session->capture.trace->complete && !taken && !lacks))
                break;
            sleep = NULL;
        }
    }
    sample->partial = status == PSC_OK && !session->capture.trace->complete;
    sample->thread = status == PSC_OK ? session->thread : NULL;
    return status;
}
