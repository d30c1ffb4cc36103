/* From merged stacks to the threads of the trace. */
#include "capture_private.h"

#include <stdlib.h>

struct assembly {
    struct capture *capture;
    const struct merged_stack *merged;
    struct trace_thread *thread;
    size_t capacity;
    const char *inner_symbol; /* Of the physical native frame further in, NULL without. */
    struct roles roles;
    size_t handler; /* Native frames that are of a signal handler, from the innermost. */
};

static struct trace_frame *add_frame(struct assembly *assembly,
                                     const struct trace_location *location)
{
    struct trace_thread *thread = assembly->thread;
    if (!location || !array_reserve((void **)&thread->frames, &assembly->capacity,
                                    thread->frame_count + 1, sizeof(*thread->frames)))
        return NULL;
    struct trace_frame *frame = &thread->frames[thread->frame_count++];
    *frame = (struct trace_frame){.location = location, .interpreter_id = -1};
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
    bool hides = assembly->capture->options.mode != PSC_MODE_NATIVE;
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
    bool hides = assembly->capture->options.mode != PSC_MODE_NATIVE;
    bool handler = item->is.native < assembly->handler;
    if (!handler && !assembly->roles.user_inside &&
        !(assembly->thread->state & TRACE_STATE_WITHOUT_GIL) &&
        states_waits_for_gil(assembly->inner_symbol, info, item->evaluator))
        assembly->thread->state |= TRACE_STATE_WAITS_FOR_GIL;
    assembly->inner_symbol = info->symbol.name;
    for (size_t i = 0; i < info->level_count; i++) {
        const struct address_level *level = &info->levels[i];
        enum trace_role role = roles_take(&assembly->roles, info, level, item->evaluator);
        if (assembly->roles.closes_parallel)
            role = fold_parallel(assembly, level, role);
        // Where a thread stands is shown whatever it is, but for an evaluator at work.
        bool innermost = item->is.native == assembly->handler && i == 0;
        if (innermost && role == TRACE_ROLE_PLUMBING && !level->plumbing)
            role = TRACE_ROLE_VISIBLE;
        // Known only where the address was shown for another thread: never told of this one.
        bool physical = i + 1 == info->level_count;
        if (item->evaluator && !physical && item->is.native > assembly->handler &&
            role == TRACE_ROLE_VISIBLE)
            role = TRACE_ROLE_PLUMBING;
        if (handler)
            role = TRACE_ROLE_HANDLER;
        if (role == TRACE_ROLE_COLLECT)
            assembly->thread->state |= TRACE_STATE_COLLECTING;
        const struct trace_location *location = level->location;
        if (physical && merged->awaiting && merged->awaiting[item->is.native]) {
            location = symbolizer_awaiting(assembly->capture->symbolizer,
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
        // Registers that a signal frame has are the thread's own.
        frame->trust = item->is.native && item->is.native == assembly->handler
                           ? (uint8_t)TRACE_TRUST_CONTEXT
                           : native->trust;
        frame->role = (uint8_t)role;
        frame->hidden = hides && role_is_hidden(role);
    }
    assembly->thread->native_count++;
    // The code that was interrupted called none of these.
    if (handler && item->is.native + 1 == assembly->handler) {
        assembly->roles = (struct roles){0};
        assembly->inner_symbol = NULL;
    }
    return true;
}

/* Python frames further in than what was interrupted. */
static bool is_in_handler(const struct assembly *assembly)
{
    return assembly->thread->native_count < assembly->handler;
}

static bool add_python(struct assembly *assembly, const struct python_frame *python)
{
    const struct trace_location *location =
        symbolizer_python(assembly->capture->symbolizer, python);
    struct trace_frame *frame = add_frame(assembly, location);
    if (!frame)
        return false;
    frame->id = python->address;
    frame->interpreter_id = python->interpreter_id;
    if (!assembly->capture->samples)
        frame->self_class = python_read_self_class(assembly->capture->python, python);
    if (!assembly->thread->python_count && python->interpreter_id >= 0)
        assembly->thread->interpreter_id = python->interpreter_id;
    if (python->kind == PYTHON_FRAME_TRAMPOLINE) {
        frame->role = TRACE_ROLE_PLUMBING;
        frame->hidden = true;
    } else if (is_in_handler(assembly)) {
        frame->role = TRACE_ROLE_HANDLER;
        frame->hidden = assembly->capture->options.mode != PSC_MODE_NATIVE;
    }
    if (location->kind == TRACE_GAP)
        assembly->capture->trace->complete = false;
    assembly->thread->python_count++;
    roles_pass_python(&assembly->roles);
    return true;
}

static bool add_gap(struct assembly *assembly, const struct trace_location *gap)
{
    assembly->capture->trace->complete = false;
    roles_pass_gap(&assembly->roles);
    return add_frame(assembly, gap) != NULL;
}

/* The id of the first interpreter with the GIL of that of a thread state. */
static int64_t get_gil_id(const struct capture *capture, const struct python_thread *python)
{
    const struct trace_python *described = capture->trace->python;
    return described && python->interpreter_index < described->interpreter_count
               ? described->interpreters[python->interpreter_index].gil_id
               : python->interpreter_id;
}

static void describe_thread(struct capture *capture, const struct captured_thread *from,
                            struct trace_thread *thread)
{
    struct arena *arena = capture->trace->arena;
    if (from->native) {
        thread->tid = from->native->tid > 0 ? from->native->tid : 0;
        if (from->native->name && !capture->samples)
            thread->native_name = arena_strdup(arena, from->native->name);
        if (from->native->crashed)
            thread->state |= TRACE_STATE_CRASHED;
    }
    thread->interpreter_id = -1;
    for (size_t i = 0; i < from->merged.interpreter_count; i++) {
        const struct python_thread *python = from->merged.interpreters[i].thread;
        if (!thread->has_python) {
            thread->python_thread_id = python->thread_id;
            thread->interpreter_id = python->interpreter_id;
            if (!thread->tid)
                thread->tid = (int32_t)python->native_id;
        }
        thread->has_python = true;
        // An interpreter that another thread made has the name of that one.
        bool own = !from->native || !from->native->thread_pointer ||
                   is_thread_of_state(from->native, python);
        if (own && !thread->name)
            thread->name = python->name;
        if (python->holds_gil == PYTHON_YES) {
            thread->state |= TRACE_STATE_HOLDS_GIL;
            thread->gil_interpreter_id = get_gil_id(capture, python);
        }
        thread->state |= python->without_gil ? TRACE_STATE_WITHOUT_GIL : 0u;
        thread->state |= python->collecting == PYTHON_YES ? TRACE_STATE_COLLECTING : 0u;
        thread->state |= python->main && !python->interpreter_id ? TRACE_STATE_MAIN : 0u;
        thread->state |= python->finalizing ? TRACE_STATE_FINALIZING : 0u;
    }
    if (!thread->name)
        thread->name = thread->native_name;
    if (!thread->has_python && capture->python)
        thread->state |= TRACE_STATE_NO_PYTHON;
}

/* Not the thread whose fault the process died of; one that was killed otherwise. */
static bool may_live_with_fault(const struct capture *capture, const struct captured_thread *from)
{
    const struct target_signal *signal = &capture->target->process.signal;
    if (!from->native || !from->merged.native.count)
        return false;
    return !from->native->crashed ||
           (signal->has_info && signal->code <= 0 && !capture->first.found);
}

enum psc_status assemble_thread(struct capture *capture, const struct captured_thread *from,
                                struct trace_thread *thread)
{
    struct assembly assembly = {.capture = capture,
                                .merged = &from->merged,
                                .thread = thread,
                                .handler = handler_frames_of(capture, from)};
    bool fine = true;
    describe_thread(capture, from, thread);
    if (!from->native && capture->native)
        fine = add_gap(&assembly,
                       symbolizer_gap(capture->symbolizer, "the native thread of this Python "
                                                           "thread is not there"));
    if (from->native && from->native->unreadable)
        fine =
            add_gap(&assembly, symbolizer_gap(capture->symbolizer, "%s", from->native->unreadable));
    for (size_t i = 0; fine && i < from->merged.count; i++) {
        const struct merged_item *item = &from->merged.items[i];
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
    if (from->native && !(thread->state & (TRACE_STATE_WITHOUT_GIL | TRACE_STATE_HOLDS_GIL)) &&
        diagnose_waits_for_gil(capture->waits, from->native->tid))
        thread->state |= TRACE_STATE_WAITS_FOR_GIL;
    // A process that was not stopped has no native threads here: that says nothing of them.
    if (capture->target->thread_count)
        thread->state |= states_of_registers(capture->target->machine, from->native, thread->state);
    if (capture->samples)
        return PSC_OK;
    enum psc_status status = trace_find_recursions(capture->trace->arena, thread);
    if (status == PSC_OK && may_live_with_fault(capture, from))
        status = diagnose_thread_fault(capture->target, from->native, &from->merged.native,
                                       capture->trace->arena, &thread->fault);
    if (status == PSC_OK)
        status = values_add_exceptions(capture, &from->merged, thread);
    if (status == PSC_OK && capture->options.locals)
        status = values_add_locals(capture, &from->merged, thread);
    return status;
}

enum psc_status assemble_threads(struct capture *capture)
{
    struct psc_trace *trace = capture->trace;
    enum psc_status status = PSC_OK;
    trace->unwanted_threads = capture->unwanted_threads;
    trace->threads =
        calloc(capture->thread_count ? capture->thread_count : 1, sizeof(*trace->threads));
    if (!trace->threads)
        return PSC_ERR_MEMORY;
    for (size_t i = 0; capture_goes_on(capture, status) && i < capture->thread_count; i++) {
        status = assemble_thread(capture, &capture->threads[i], &trace->threads[i]);
        trace->thread_count++;
        // Why it died is read from the stack of the thread that did.
        if (!capture->threads[i].native || !capture->threads[i].native->crashed)
            merged_stack_deinit(&capture->threads[i].merged);
    }
    return status == PSC_OK && arena_is_exhausted(trace->arena) ? PSC_ERR_MEMORY : status;
}
