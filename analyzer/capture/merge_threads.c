/* The stacks of the chosen threads: native frames are walked, and merged with Python's. */
#include "capture_private.h"

#include <stdlib.h>
#include <string.h>

/* Stacks up to this size stay in memory between the walk and the merge. */
#define RELEASED_STACK_SIZE ((size_t)1024 * 1024)

static enum psc_status look_up_addresses(struct capture *capture, struct merged_stack *merged)
{
    size_t count = merged->native.count;
    struct address_info **grown =
        realloc(merged->native_info, (count ? count : 1) * sizeof(*grown));
    if (!grown)
        return PSC_ERR_MEMORY;
    merged->native_info = grown;
    for (size_t i = 0; i < count; i++) {
        grown[i] = symbolizer_get(capture->symbolizer, native_lookup_pc(&merged->native.frames[i]));
        if (!grown[i])
            return PSC_ERR_MEMORY;
    }
    return PSC_OK;
}

/* A deep stack is read once in order: its pages need not stay. */
static void release_stack(struct capture *capture, const struct native_stack *stack)
{
    if (!stack->count)
        return;
    psc_addr low = stack->frames[0].sp, high = stack->frames[stack->count - 1].sp;
    if (high > low && high - low >= RELEASED_STACK_SIZE)
        target_release(capture->target, low, (size_t)(high - low));
}

/* glibc keeps a thread's block at the end of its stack; the kernel the program's name on that of
 * the first one. */
static psc_addr find_stack_address(const struct capture *capture,
                                   const struct captured_thread *thread)
{
    const struct target *target = capture->target;
    const struct python_thread *python = thread->merged.interpreters[0].thread;
    return python->native_id && python->native_id == (uint64_t)target->process.pid
               ? target->auxv.execfn
               : python->thread_id;
}

enum psc_status walk_native(struct capture *capture, struct captured_thread *thread)
{
    enum psc_status status = PSC_OK;
    struct merged_stack *merged = &thread->merged;
    merged->sp = thread->native ? target_sp(capture->target, &thread->native->registers) : 0;
    if (merged->sp)
        merged->stack_end =
            target_find_stack_end(capture->target, merged->sp, thread->native->thread_pointer);
    merged->inside = capture->unpaused ? find_stack_address(capture, thread) : 0;
    merged->native.kept_frames = capture->options.locals                     ? NATIVE_SAVED_LIMIT
                                 : thread->native && thread->native->crashed ? DIAGNOSE_DEPTH
                                                                             : 0;
    if (capture->native && thread->native && !thread->native->unreadable)
        status = native_walk_again(capture->native, thread->native_index, thread->walked,
                                   &merged->native);
    release_stack(capture, &merged->native);
    return status;
}

enum psc_status walk_thread(struct capture *capture, struct captured_thread *thread,
                            struct evaluator_facts *facts)
{
    struct merged_stack *merged = &thread->merged;
    enum psc_status status = PSC_OK;
    if (!merged->native.count)
        status = walk_native(capture, thread);
    if (status == PSC_OK)
        status = look_up_addresses(capture, merged);
    if (status == PSC_OK && capture->reads_python)
        status = merge_choose_partial_cframes(merged, capture->python, capture->target);
    if (status == PSC_OK)
        merge_learn_evaluator(facts, merged);
    return status;
}

enum psc_status merge_thread(struct capture *capture, struct captured_thread *thread,
                             const struct evaluator_facts *facts)
{
    struct merged_stack *merged = &thread->merged;
    enum psc_status status = PSC_OK;
    if (merged->native.count &&
        (merged->native.end != NATIVE_END_COMPLETE || merged->native.skips)) {
        status = merge_continue_unwinding(merged, capture->native, capture->target, facts);
        if (status == PSC_OK)
            status = look_up_addresses(capture, merged);
    }
    struct python *python = capture->reads_python ? capture->python : NULL;
    for (size_t i = 0; i < merged->interpreter_count; i++)
        capture->trace->runs_greenlets |= merged->interpreters[i].stack.seam_count != 0;
    if (status == PSC_OK)
        status = merge_stacks(merged, python, capture->target, capture->symbolizer);
    if (status == PSC_OK && python)
        status = merge_find_await_chains(
            merged, &(struct await_chain_input){.target = capture->target,
                                                .modules = *capture->modules,
                                                .python = python,
                                                .symbolizer = capture->symbolizer});
    release_stack(capture, &merged->native);
    return status;
}

/* States whose frames another thread runs, and those that none of the wanted threads runs. */
static void drop_candidates(struct capture *capture)
{
    size_t kept = 0;
    for (size_t i = 0; i < capture->thread_count; i++) {
        struct captured_thread *thread = &capture->threads[i];
        if (thread->is_candidate || (!thread->native && !thread->merged.interpreter_count))
            merged_stack_deinit(&thread->merged);
        else
            capture->threads[kept++] = *thread;
    }
    capture->thread_count = kept;
}

/* Interpreters that another thread runs than the one that made them. */
static enum psc_status find_owning_threads(struct capture *capture)
{
    PSC_CLEANUP(cleanup_free)
    struct merged_stack **stacks =
        calloc(capture->thread_count ? capture->thread_count : 1, sizeof(*stacks));
    if (!stacks)
        return PSC_ERR_MEMORY;
    for (size_t i = 0; i < capture->thread_count; i++)
        stacks[i] = &capture->threads[i].merged;
    enum psc_status status =
        merge_find_owning_threads(stacks, capture->thread_count, capture->target);
    drop_candidates(capture);
    return status;
}

/* Lines are looked up only where a frame is shown. */
void mark_wanted(const struct capture *capture, const struct captured_thread *thread)
{
    const struct merged_stack *merged = &thread->merged;
    size_t innermost = handler_frames_of(capture, thread);
    struct roles roles = {0};
    bool everything = capture->options.detail_hidden || capture->options.mode == PSC_MODE_NATIVE;
    for (size_t i = 0; i < merged->count; i++) {
        const struct merged_item *item = &merged->items[i];
        if (item->kind == MERGED_PYTHON)
            roles_pass_python(&roles);
        if (item->kind != MERGED_NATIVE)
            continue;
        struct address_info *info = merged->native_info[item->is.native];
        enum trace_role role =
            roles_take(&roles, info, &info->levels[info->level_count - 1], item->evaluator);
        if (everything || item->is.native == innermost || !role_is_hidden(role) ||
            role == TRACE_ROLE_FOLDED)
            info->wanted = true;
        if (item->is.native + 1 == innermost)
            roles = (struct roles){0};
    }
}

/* ---- signal handlers ---- */

size_t handler_frames_of(const struct capture *capture, const struct captured_thread *thread)
{
    const struct first_fault *first = &capture->first;
    bool here = first->found && first->thread == thread->native &&
                first->handler_frames < thread->merged.native.count;
    return here ? first->handler_frames : 0;
}

/*
 * faulthandler is called for faults only, and passes on what it was called for (CPython,
 * Modules/faulthandler.c): a signal that was sent to it, if no instruction is to blame.
 */
static bool is_below_faulthandler(const struct merged_stack *merged, size_t *ret_frame)
{
    bool found = false;
    for (size_t i = 0; i < merged->native.count; i++) {
        const char *symbol = merged->native_info[i]->symbol.name;
        found |= symbol && !strcmp(symbol, "faulthandler_fatal_error");
        *ret_frame = i;
        if (merged->native.frames[i].signal)
            return found;
    }
    return false;
}

/* A signal that the process sent to itself may be of a handler, which is told by its frames. */
static bool is_sent_by_itself(const struct target *target)
{
    const struct target_signal *signal = &target->process.signal;
    return signal->has_sender && (signal->sender_pid == target->process.pid ||
                                  signal->sender_pid == target->process.inner_pid);
}

static enum psc_status find_below_handler(struct capture *capture,
                                          const struct captured_thread *thread)
{
    struct first_fault *first = &capture->first;
    enum psc_status status =
        diagnose_find_first(capture->target, thread->native, &thread->merged.native, first);
    if (status == PSC_OK && !first->found && is_sent_by_itself(capture->target) &&
        is_below_faulthandler(&thread->merged, &first->handler_frames)) {
        first->found = first->unknown_sender = true;
        first->handler_frames++;
        first->thread = thread->native;
        first->signal.number = capture->target->process.signal.number;
    }
    return status;
}

/* Where the thread was not walked, nor will be. */
static enum psc_status walk_crashed(struct capture *capture)
{
    struct target *target = capture->target;
    struct native *native = NULL;
    struct native_stack stack = {0};
    enum psc_status status =
        native_create(target, *capture->modules, capture->options.unwinder, &native, NULL);
    for (size_t i = 0; status == PSC_OK && i < target->thread_count; i++) {
        if (!target->threads[i].crashed)
            continue;
        status = native_walk(native, i, &stack);
        if (status == PSC_OK)
            status = diagnose_find_first(target, &target->threads[i], &stack, &capture->first);
        break;
    }
    native_stack_deinit(&stack);
    native_destroy(native);
    return status == PSC_ERR_UNSUPPORTED ? PSC_OK : status;
}

/* The thread that faulted comes first, where its handler's signal killed another one. */
static void move_first(struct capture *capture, size_t index)
{
    struct captured_thread thread = capture->threads[index];
    struct target *target = capture->target;
    for (size_t i = 0; i < target->thread_count; i++)
        target->threads[i].crashed = &target->threads[i] == thread.native;
    memmove(capture->threads + 1, capture->threads, index * sizeof(thread));
    capture->threads[0] = thread;
}

static enum psc_status find_first_fault(struct capture *capture)
{
    enum psc_status status = PSC_OK;
    bool walked = false;
    capture->first = (struct first_fault){0};
    if (!capture->target->process.signal.number)
        return PSC_OK;
    for (size_t i = 0; status == PSC_OK && i < capture->thread_count; i++) {
        const struct captured_thread *thread = &capture->threads[i];
        if (!thread->native || !thread->native->crashed || !thread->merged.native.count)
            continue;
        walked = true;
        status = find_below_handler(capture, thread);
    }
    if (status != PSC_OK || capture->first.found || !is_sent_by_itself(capture->target))
        return status;
    if (!walked)
        return walk_crashed(capture);
    for (size_t i = 0; status == PSC_OK && i < capture->thread_count; i++) {
        const struct captured_thread *thread = &capture->threads[i];
        if (!thread->native || thread->native->crashed || !thread->merged.native.count)
            continue;
        status = diagnose_find_first(capture->target, thread->native, &thread->merged.native,
                                     &capture->first);
        if (status == PSC_OK && capture->first.found) {
            move_first(capture, i);
            break;
        }
    }
    return status;
}

enum psc_status merge_threads(struct capture *capture)
{
    struct evaluator_facts facts = {0};
    enum psc_status status = PSC_OK;
    for (size_t i = 0; capture_goes_on(capture, status) && i < capture->thread_count; i++)
        status = walk_thread(capture, &capture->threads[i], &facts);
    if (capture_goes_on(capture, status))
        status = find_owning_threads(capture);
    if (capture_goes_on(capture, status))
        status = find_first_fault(capture);
    for (size_t i = 0; capture_goes_on(capture, status) && i < capture->thread_count; i++) {
        status = merge_thread(capture, &capture->threads[i], &facts);
        mark_wanted(capture, &capture->threads[i]);
    }
    return status;
}
