/* From walked stacks to the finished trace. */
#include "capture_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Stacks up to this size stay in memory between the walk and the merge. */
#define RELEASED_STACK_SIZE ((size_t)1024 * 1024)

/* One thread on its way into the trace: native, Python, or both. */
struct draft {
    const struct target_thread *native;
    size_t native_index;
    bool is_main; /**< The first one. Its number need not be the smallest: they begin again. */
    struct merged_stack merged;
};

struct filling {
    struct psc_trace *trace;
    const struct capture_sources *sources;
    const struct psc_capture_options *options;
    struct symbolizer *symbolizer;
    struct python_thread *python_threads;
    size_t python_thread_count;
    struct draft *drafts;
    size_t draft_count;
    struct evaluator_facts facts;
    struct variables *variables; /* NULL: they are not asked for. */
};

/* ---- which threads ---- */

static bool wants_thread(const struct filling *filling, size_t index)
{
    const struct psc_capture_options *options = filling->options;
    int32_t tid = filling->sources->target->threads[index].tid;
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

static enum psc_status add_interpreter(struct draft *draft, const struct python_thread *thread)
{
    return merged_stack_add(&draft->merged, &(struct interpreter_stack){.thread = thread});
}

/*
 * The join of native and Python threads: pthread_self() is the thread pointer (glibc, musl). Of a
 * thread that was not stopped the id may have to do, which 3.11 and later keep.
 */
static bool is_same_thread(const struct target_thread *native, const struct python_thread *python)
{
    if (!native->thread_pointer)
        return python->native_id && python->native_id == (uint64_t)native->tid;
    return python->thread_id && python->thread_id == native->thread_pointer;
}

static enum psc_status draft_threads(struct filling *filling, size_t *ret_unwanted)
{
    const struct target *target = filling->sources->target;
    size_t most = target->thread_count + filling->python_thread_count;
    filling->drafts = calloc(most ? most : 1, sizeof(*filling->drafts));
    if (!filling->drafts)
        return PSC_ERR_MEMORY;
    for (size_t i = 0; i < target->thread_count; i++) {
        if (!wants_thread(filling, i)) {
            ++*ret_unwanted;
            continue;
        }
        struct draft *draft = &filling->drafts[filling->draft_count++];
        draft->native = &target->threads[i];
        draft->native_index = i;
        draft->is_main = draft->native->tid == target->process.pid;
        for (size_t p = 0; p < filling->python_thread_count; p++) {
            const struct python_thread *thread = &filling->python_threads[p];
            if (is_same_thread(draft->native, thread) && add_interpreter(draft, thread) != PSC_OK)
                return PSC_ERR_MEMORY;
        }
    }
    bool all =
        filling->options->threads == PSC_THREADS_ALL && filling->options->mode != PSC_MODE_NATIVE;
    for (size_t p = 0; all && p < filling->python_thread_count; p++) {
        const struct python_thread *thread = &filling->python_threads[p];
        bool joined = false;
        for (size_t i = 0; i < target->thread_count && !joined; i++)
            joined = is_same_thread(&target->threads[i], thread);
        // 3.12+ makes the state of a thread before the thread: without an id it has not begun.
        if (joined || !thread->thread_id)
            continue;
        struct draft *draft = &filling->drafts[filling->draft_count++];
        if (add_interpreter(draft, thread) != PSC_OK)
            return PSC_ERR_MEMORY;
    }
    return PSC_OK;
}

static int compare_drafts(const void *left, const void *right)
{
    const struct draft *a = left, *b = right;
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

/* ---- walking ---- */

static enum psc_status look_up_addresses(struct filling *filling, struct merged_stack *merged)
{
    size_t count = merged->native.count;
    struct address_info **grown =
        realloc(merged->native_info, (count ? count : 1) * sizeof(*grown));
    if (!grown)
        return PSC_ERR_MEMORY;
    merged->native_info = grown;
    for (size_t i = 0; i < count; i++) {
        grown[i] = symbolizer_get(filling->symbolizer, native_lookup_pc(&merged->native.frames[i]));
        if (!grown[i])
            return PSC_ERR_MEMORY;
    }
    return PSC_OK;
}

/* A deep stack is read once in order: its pages need not stay. */
static void release_stack(struct filling *filling, const struct native_stack *stack)
{
    if (!stack->count)
        return;
    psc_addr low = stack->frames[0].sp, high = stack->frames[stack->count - 1].sp;
    if (high > low && high - low >= RELEASED_STACK_SIZE)
        target_release(filling->sources->target, low, (size_t)(high - low));
}

static enum psc_status walk_draft(struct filling *filling, struct draft *draft)
{
    enum psc_status status = PSC_OK;
    struct merged_stack *merged = &draft->merged;
    merged->sp = draft->native ? target_sp(filling->sources->target, &draft->native->registers) : 0;
    merged->native.keep_registers = filling->options->locals;
    if (filling->sources->native && draft->native && !draft->native->unreadable)
        status = native_walk(filling->sources->native, draft->native_index, &merged->native);
    release_stack(filling, &merged->native);
    bool with_python = filling->options->mode != PSC_MODE_NATIVE;
    for (size_t i = 0; with_python && status == PSC_OK && i < merged->interpreter_count; i++)
        status = python_walk(filling->sources->python, merged->interpreters[i].thread,
                             &merged->interpreters[i].stack);
    if (status == PSC_OK)
        status = look_up_addresses(filling, merged);
    if (status == PSC_OK && with_python)
        status =
            merge_walk_partial_cframes(merged, filling->sources->python, filling->sources->target);
    if (status == PSC_OK)
        merge_learn_evaluator(&filling->facts, merged);
    return status;
}

static enum psc_status merge_draft(struct filling *filling, struct draft *draft)
{
    struct merged_stack *merged = &draft->merged;
    enum psc_status status = PSC_OK;
    if (merged->native.count && merged->native.end != NATIVE_END_COMPLETE) {
        status = merge_continue_unwinding(merged, filling->sources->native,
                                          filling->sources->target, &filling->facts);
        if (status == PSC_OK)
            status = look_up_addresses(filling, merged);
    }
    struct python *python =
        filling->options->mode != PSC_MODE_NATIVE ? filling->sources->python : NULL;
    if (status == PSC_OK)
        status = merge_stacks(merged, python, filling->sources->target, filling->symbolizer);
    if (status == PSC_OK && python)
        status = merge_find_await_chains(
            merged, &(struct await_chain_input){.target = filling->sources->target,
                                                .modules = filling->sources->modules,
                                                .python = python,
                                                .symbolizer = filling->symbolizer});
    release_stack(filling, &merged->native);
    return status;
}

/* ---- details ---- */

/* Lines are looked up only where a frame is shown. */
static void mark_wanted(struct filling *filling, const struct merged_stack *merged)
{
    struct roles roles = {0};
    bool everything = filling->options->detail_hidden || filling->options->mode == PSC_MODE_NATIVE;
    for (size_t i = 0; i < merged->count; i++) {
        const struct merged_item *item = &merged->items[i];
        if (item->kind == MERGED_PYTHON)
            roles_pass_python(&roles);
        if (item->kind != MERGED_NATIVE)
            continue;
        struct address_info *info = merged->native_info[item->is.native];
        enum trace_role role =
            roles_take(&roles, info, &info->levels[info->level_count - 1], item->evaluator);
        if (everything || item->is.native == 0 || !role_is_hidden(role) ||
            role == TRACE_ROLE_FOLDED)
            info->wanted = true;
    }
}

/* ---- assembling ---- */

struct assembly {
    struct filling *filling;
    const struct merged_stack *merged;
    struct trace_thread *thread;
    size_t capacity;
    const char *inner_symbol; /* Of the physical native frame further in, NULL without. */
    struct roles roles;
};

static struct trace_frame *add_frame(struct assembly *assembly,
                                     const struct trace_location *location)
{
    struct trace_thread *thread = assembly->thread;
    if (!location || !array_reserve((void **)&thread->frames, &assembly->capacity,
                                    thread->frame_count + 1, sizeof(*thread->frames)))
        return NULL;
    struct trace_frame *frame = &thread->frames[thread->frame_count++];
    *frame = (struct trace_frame){.location = location};
    return frame;
}

/*
 * A parallel block and the function around it are one frame: the block's, unless only the
 * function has a line, which is that of the block. @return the role of the function's frame.
 */
static enum trace_role fold_parallel(struct assembly *assembly,
                                     const struct address_level *function, enum trace_role role)
{
    struct roles *roles = &assembly->roles;
    struct trace_thread *thread = assembly->thread;
    bool hides = assembly->filling->options->mode != PSC_MODE_NATIVE;
    size_t distance = roles->parallel_distance;
    const struct trace_location *inner = roles->parallel->location;
    bool keeps_block = inner->function && (inner->line || !function->location->line);
    roles->parallel = NULL;
    if (role_is_hidden(role) || distance > thread->frame_count)
        return role;
    struct trace_frame *block = &thread->frames[thread->frame_count - distance];
    for (size_t i = 1; i < distance; i++) {
        block[i].role = TRACE_ROLE_PLUMBING;
        block[i].hidden = hides;
    }
    if (keeps_block)
        return TRACE_ROLE_FOLDED;
    block->role = TRACE_ROLE_FOLDED;
    block->hidden = hides;
    return role;
}

static bool add_native_levels(struct assembly *assembly, const struct merged_item *item)
{
    const struct merged_stack *merged = assembly->merged;
    const struct native_frame *native = &merged->native.frames[item->is.native];
    const struct address_info *info = merged->native_info[item->is.native];
    bool hides = assembly->filling->options->mode != PSC_MODE_NATIVE;
    if (!assembly->roles.user_inside && !(assembly->thread->state & TRACE_STATE_WITHOUT_GIL) &&
        states_waits_for_gil(assembly->inner_symbol, info, item->evaluator))
        assembly->thread->state |= TRACE_STATE_WAITS_FOR_GIL;
    assembly->inner_symbol = info->symbol.name;
    for (size_t i = 0; i < info->level_count; i++) {
        const struct address_level *level = &info->levels[i];
        enum trace_role role = roles_take(&assembly->roles, info, level, item->evaluator);
        if (assembly->roles.closes_parallel)
            role = fold_parallel(assembly, level, role);
        // Where a thread stands is shown whatever it is, but for an evaluator at work.
        bool innermost = item->is.native == 0 && i == 0;
        if (innermost && role == TRACE_ROLE_PLUMBING && !level->plumbing)
            role = TRACE_ROLE_VISIBLE;
        if (role == TRACE_ROLE_COLLECT)
            assembly->thread->state |= TRACE_STATE_COLLECTING;
        const struct trace_location *location = level->location;
        bool physical = i + 1 == info->level_count;
        if (physical && merged->awaiting && merged->awaiting[item->is.native]) {
            location = symbolizer_awaiting(assembly->filling->symbolizer,
                                           merged->awaiting[item->is.native]);
            role = TRACE_ROLE_VISIBLE;
            assembly->roles.inner = NULL;
        }
        struct trace_frame *frame = add_frame(assembly, location);
        if (!frame)
            return false;
        frame->pc = native->pc;
        frame->has_pc = true;
        frame->sp = native->sp;
        frame->id = native->cfa;
        frame->trust = native->trust;
        frame->role = (uint8_t)role;
        frame->hidden = hides && role_is_hidden(role);
    }
    assembly->thread->native_count++;
    return true;
}

static bool add_python(struct assembly *assembly, const struct python_frame *python)
{
    const struct trace_location *location =
        symbolizer_python(assembly->filling->symbolizer, python);
    struct trace_frame *frame = add_frame(assembly, location);
    if (!frame)
        return false;
    frame->id = python->address;
    if (python->kind == PYTHON_FRAME_TRAMPOLINE) {
        frame->role = TRACE_ROLE_PLUMBING;
        frame->hidden = true;
    }
    if (location->kind == TRACE_GAP)
        assembly->filling->trace->complete = false;
    assembly->thread->python_count++;
    roles_pass_python(&assembly->roles);
    return true;
}

static bool add_gap(struct assembly *assembly, const struct trace_location *gap)
{
    assembly->filling->trace->complete = false;
    roles_pass_gap(&assembly->roles);
    return add_frame(assembly, gap) != NULL;
}

static void describe_thread(struct filling *filling, const struct draft *draft,
                            struct trace_thread *thread)
{
    struct arena *arena = filling->trace->arena;
    if (draft->native) {
        thread->tid = draft->native->tid;
        if (draft->native->name)
            thread->native_name = arena_strdup(arena, draft->native->name);
        if (draft->native->crashed)
            thread->state |= TRACE_STATE_CRASHED;
    }
    thread->name = thread->native_name;
    for (size_t i = 0; i < draft->merged.interpreter_count; i++) {
        const struct python_thread *python = draft->merged.interpreters[i].thread;
        if (!thread->has_python) {
            thread->python_thread_id = python->thread_id;
            thread->interpreter_id = python->interpreter_id;
            if (!thread->tid)
                thread->tid = (int32_t)python->native_id;
        }
        thread->has_python = true;
        if (python->name)
            thread->name = python->name;
        thread->state |= python->holds_gil == PYTHON_YES ? TRACE_STATE_HOLDS_GIL : 0u;
        thread->state |= python->without_gil ? TRACE_STATE_WITHOUT_GIL : 0u;
        thread->state |= python->collecting == PYTHON_YES ? TRACE_STATE_COLLECTING : 0u;
        thread->state |= python->main && !python->interpreter_id ? TRACE_STATE_MAIN : 0u;
        thread->state |= python->finalizing ? TRACE_STATE_FINALIZING : 0u;
    }
    if (!thread->has_python && filling->sources->python)
        thread->state |= TRACE_STATE_NO_PYTHON;
}

static enum psc_status add_values(struct filling *filling, const struct merged_stack *merged,
                                  struct trace_thread *thread)
{
    struct python *python = filling->sources->python;
    enum psc_status status = PSC_OK;
    if (python && filling->options->mode != PSC_MODE_NATIVE)
        status = values_add_exceptions(filling->trace, python, filling->symbolizer, merged, thread);
    if (status == PSC_OK && filling->options->locals)
        status = values_add_locals(filling->trace, python, filling->variables, merged, thread);
    return status;
}

static enum psc_status assemble(struct filling *filling, struct draft *draft,
                                struct trace_thread *thread)
{
    struct assembly assembly = {.filling = filling, .merged = &draft->merged, .thread = thread};
    bool fine = true;
    describe_thread(filling, draft, thread);
    if (!draft->native && filling->sources->native)
        fine = add_gap(&assembly,
                       symbolizer_gap(filling->symbolizer, "the native thread of this Python "
                                                           "thread is not there"));
    if (draft->native && draft->native->unreadable)
        fine = add_gap(&assembly,
                       symbolizer_gap(filling->symbolizer, "%s", draft->native->unreadable));
    for (size_t i = 0; fine && i < draft->merged.count; i++) {
        const struct merged_item *item = &draft->merged.items[i];
        switch (item->kind) {
        case MERGED_NATIVE:
            fine = add_native_levels(&assembly, item);
            break;
        case MERGED_PYTHON:
            fine = add_python(&assembly, &item->is.python);
            break;
        case MERGED_GAP:
            fine = add_gap(&assembly, item->is.gap);
            break;
        }
    }
    if (!fine)
        return PSC_ERR_MEMORY;
    // A process that was not stopped has no native threads here: that says nothing of them.
    if (filling->sources->target->thread_count)
        thread->state |=
            states_of_registers(filling->sources->target->machine, draft->native, thread->state);
    return add_values(filling, &draft->merged, thread);
}

static enum psc_status fill_suspended(struct filling *filling)
{
    struct python *python = filling->sources->python;
    if (!filling->options->tasks || !python || filling->options->mode == PSC_MODE_NATIVE)
        return PSC_OK;
    enum psc_status status = tasks_fill(filling->trace, python, filling->symbolizer,
                                        filling->python_threads, filling->python_thread_count);
    return status == PSC_OK ? greenlets_fill(filling->trace, python, filling->sources->target,
                                             filling->symbolizer, filling->python_threads,
                                             filling->python_thread_count)
                            : status;
}

/* Interpreters that another thread runs than the one that made them. */
static enum psc_status find_owning_threads(struct filling *filling)
{
    PSC_CLEANUP(cleanup_free)
    struct merged_stack **stacks =
        calloc(filling->draft_count ? filling->draft_count : 1, sizeof(*stacks));
    if (!stacks)
        return PSC_ERR_MEMORY;
    for (size_t i = 0; i < filling->draft_count; i++)
        stacks[i] = &filling->drafts[i].merged;
    return merge_find_owning_threads(stacks, filling->draft_count, filling->sources->target);
}

/* What is there when the caller wants no more is thrown away. */
static bool goes_on(struct filling *filling, enum psc_status status)
{
    return status == PSC_OK && !target_interrupted(filling->sources->target);
}

static enum psc_status fill_threads(struct filling *filling, struct psc_error *err)
{
    enum psc_status status = PSC_OK;
    struct psc_error why = {0};
    if (filling->sources->python &&
        python_list_threads(filling->sources->python, &filling->python_threads,
                            &filling->python_thread_count, &why) != PSC_OK)
        target_warn(filling->sources->target, "python-threads", "%s", why.message);
    status = draft_threads(filling, &filling->trace->unwanted_threads);
    if (status == PSC_OK && !filling->draft_count)
        return psc_fail(err, PSC_ERR_NOT_FOUND, "there is no thread %d in it",
                        filling->options->thread_id_count ? filling->options->thread_ids[0] : 0);
    qsort(filling->drafts, filling->draft_count, sizeof(*filling->drafts), compare_drafts);
    for (size_t i = 0; goes_on(filling, status) && i < filling->draft_count; i++)
        status = walk_draft(filling, &filling->drafts[i]);
    if (goes_on(filling, status))
        status = find_owning_threads(filling);
    for (size_t i = 0; goes_on(filling, status) && i < filling->draft_count; i++) {
        status = merge_draft(filling, &filling->drafts[i]);
        mark_wanted(filling, &filling->drafts[i].merged);
    }
    if (status == PSC_OK)
        status = symbolizer_resolve(filling->symbolizer);
    struct psc_trace *trace = filling->trace;
    trace->threads =
        calloc(filling->draft_count ? filling->draft_count : 1, sizeof(*trace->threads));
    if (!trace->threads)
        status = PSC_ERR_MEMORY;
    for (size_t i = 0; goes_on(filling, status) && i < filling->draft_count; i++) {
        status = assemble(filling, &filling->drafts[i], &trace->threads[i]);
        trace->thread_count++;
        merged_stack_deinit(&filling->drafts[i].merged);
    }
    if (status == PSC_OK)
        status = fill_suspended(filling);
    if (status == PSC_OK && arena_is_exhausted(trace->arena))
        status = PSC_ERR_MEMORY;
    return status == PSC_OK ? PSC_OK : psc_fail(err, status, "out of memory");
}

enum psc_status trace_fill(struct psc_trace *trace, const struct capture_sources *sources,
                           const struct psc_capture_options *options, struct psc_error *err)
{
    struct filling filling = {.trace = trace, .sources = sources, .options = options};
    const struct symbolizer_input input = {.target = sources->target,
                                           .modules = sources->modules,
                                           .python = sources->python,
                                           .no_source = options->no_source,
                                           .all_inlined = options->all_inlined,
                                           .all_modules = options->all_modules};
    enum psc_status status = symbolizer_create(trace, &input, &filling.symbolizer);
    if (status != PSC_OK)
        return psc_fail(err, status, "out of memory");
    if (options->locals) {
        filling.variables = variables_create(&(struct variables_input){.target = sources->target,
                                                                       .modules = sources->modules,
                                                                       .python = sources->python,
                                                                       .arena = trace->arena});
        if (!filling.variables)
            status = psc_fail(err, PSC_ERR_MEMORY, "out of memory");
    }
    if (status == PSC_OK)
        status = fill_threads(&filling, err);
    if (status == PSC_OK && symbolizer_list_modules(filling.symbolizer) != PSC_OK)
        status = psc_fail(err, PSC_ERR_MEMORY, "out of memory");
    for (size_t i = 0; i < filling.draft_count; i++)
        merged_stack_deinit(&filling.drafts[i].merged);
    free(filling.drafts);
    variables_destroy(filling.variables);
    symbolizer_destroy(filling.symbolizer);
    return status;
}
