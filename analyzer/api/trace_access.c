/* The public calls that read a trace. */
#include "sized_struct.h"
#include "trace.h"

#include <string.h>

/* Numbers of the public header are part of the ABI; those of trace.h are the same, for now. */
#define SAME_NUMBER(public, internal) \
    _Static_assert((unsigned)(public) == (unsigned)(internal), "a switch is needed here")

SAME_NUMBER(PSC_FRAME_PYTHON, TRACE_PYTHON);
SAME_NUMBER(PSC_FRAME_CYTHON, TRACE_CYTHON);
SAME_NUMBER(PSC_FRAME_NATIVE, TRACE_NATIVE);
SAME_NUMBER(PSC_FRAME_GAP, TRACE_GAP);
SAME_NUMBER(PSC_LINE_NONE, TRACE_LINE_NONE);
SAME_NUMBER(PSC_LINE_CODE, TRACE_LINE_CODE);
SAME_NUMBER(PSC_LINE_DWARF, TRACE_LINE_DWARF);
SAME_NUMBER(PSC_LINE_C_FILE, TRACE_LINE_C_FILE);
SAME_NUMBER(PSC_LINE_XML, TRACE_LINE_XML);
SAME_NUMBER(PSC_LINE_MACHINE_CODE, TRACE_LINE_MACHINE_CODE);
SAME_NUMBER(PSC_LINE_ESTIMATE, TRACE_LINE_ESTIMATE);
SAME_NUMBER(PSC_TRUST_CONTEXT, TRACE_TRUST_CONTEXT);
SAME_NUMBER(PSC_TRUST_CFI, TRACE_TRUST_CFI);
SAME_NUMBER(PSC_TRUST_FRAME_POINTER, TRACE_TRUST_FRAME_POINTER);
SAME_NUMBER(PSC_TRUST_SCAN, TRACE_TRUST_SCAN);
SAME_NUMBER(PSC_TRUST_ANCHOR, TRACE_TRUST_ANCHOR);
SAME_NUMBER(PSC_THREAD_CRASHED, TRACE_STATE_CRASHED);
SAME_NUMBER(PSC_THREAD_HOLDS_GIL, TRACE_STATE_HOLDS_GIL);
SAME_NUMBER(PSC_THREAD_WAITS_FOR_GIL, TRACE_STATE_WAITS_FOR_GIL);
SAME_NUMBER(PSC_THREAD_COLLECTING, TRACE_STATE_COLLECTING);
SAME_NUMBER(PSC_THREAD_MAIN, TRACE_STATE_MAIN);
SAME_NUMBER(PSC_THREAD_NO_PYTHON, TRACE_STATE_NO_PYTHON);
SAME_NUMBER(PSC_THREAD_FINALIZING, TRACE_STATE_FINALIZING);
SAME_NUMBER(PSC_THREAD_IDLE, TRACE_STATE_IDLE);
SAME_NUMBER(PSC_THREAD_TERMINATED, TRACE_STATE_TERMINATED);
#define PUBLIC_STATES (PSC_THREAD_TERMINATED * 2u - 1u)

static enum psc_status refuse(struct psc_error *err, const char *function, bool has_trace)
{
    return psc_fail(err, PSC_ERR_ARGUMENT, "%s: %s is NULL", function, has_trace ? "ret" : "trace");
}

/* ---- the whole ---- */

int psc_trace_is_complete(const struct psc_trace *trace)
{
    return trace && trace->complete;
}

int32_t psc_trace_pid(const struct psc_trace *trace)
{
    return trace ? trace->pid : 0;
}

enum psc_status psc_trace_core(const struct psc_trace *trace, struct psc_error *err)
{
    if (!trace || !trace->core_path)
        return psc_fail(err, PSC_ERR_NOT_FOUND, "no core file was asked for");
    const struct psc_error *error = &trace->core_error;
    return error->status ? psc_fail(err, error->status, "%s", error->message) : PSC_OK;
}

enum psc_status psc_trace_get_target(const struct psc_trace *trace, struct psc_target_info *ret,
                                     struct psc_error *err)
{
    if (!trace || !ret)
        return refuse(err, "psc_trace_get_target", trace);
    const struct psc_target_info info = {
        .kind = strcmp(trace->kind, "core") ? PSC_TARGET_PROCESS : PSC_TARGET_CORE,
        .pid = trace->pid,
        .argument_count = (uint32_t)trace->argument_count,
        .path = trace->path,
        .executable = trace->executable,
        .architecture = trace->architecture,
    };
    return sized_give(SIZED_TYPE(psc_target_info, PSC_TARGET_INFO_INIT), &info, ret, err);
}

const char *psc_trace_argument(const struct psc_trace *trace, size_t index)
{
    return trace && index < trace->argument_count ? trace->arguments[index] : NULL;
}

enum psc_status psc_trace_get_python(const struct psc_trace *trace, struct psc_python_info *ret,
                                     struct psc_error *err)
{
    if (!trace || !ret)
        return refuse(err, "psc_trace_get_python", trace);
    const struct trace_python *python = trace->python;
    if (!python)
        return psc_fail(err, PSC_ERR_NOT_FOUND, "%s",
                        trace->python_problem ? trace->python_problem
                                              : "no Python interpreter found");
    const struct psc_python_info info = {
        .debug = python->debug,
        .implementation = python->implementation,
        .version = python->version,
        .free_threaded = python->free_threaded,
        .gil_known = python->gil_known,
        .gil_holder = python->gil_holder_tid,
    };
    return sized_give(SIZED_TYPE(psc_python_info, PSC_PYTHON_INFO_INIT), &info, ret, err);
}

static enum psc_status give_crash(const struct trace_crash *crash, struct psc_crash_info *ret,
                                  struct psc_error *err)
{
    const struct psc_crash_info info = {
        .signal_number = crash->signal_number,
        .signal = crash->signal,
        .code = crash->code,
        .summary = crash->summary,
        .message = crash->message,
        .fault_address = crash->has_address ? crash->address : 0,
        .has_fault_address = crash->has_address,
        .sender_pid = crash->has_sender ? crash->sender_pid : 0,
        .has_sender = crash->has_sender,
        .thread_id = crash->tid,
        .cause = trace_cause_name(crash->cause),
        .access = trace_access_name(crash->access),
        .instruction = crash->instruction,
        .operand_count = (uint32_t)crash->operand_count,
        .raised_again = crash->raised_again,
        .during = crash->during,
        .object = crash->object,
        .handler_fault = crash->handler_fault,
    };
    return sized_give(SIZED_TYPE(psc_crash_info, PSC_CRASH_INFO_INIT), &info, ret, err);
}

enum psc_status psc_trace_get_crash(const struct psc_trace *trace, struct psc_crash_info *ret,
                                    struct psc_error *err)
{
    if (!trace || !ret)
        return refuse(err, "psc_trace_get_crash", trace);
    const struct trace_crash *crash = trace->crash;
    if (!crash || !crash->signal_number)
        return psc_fail(err, PSC_ERR_NOT_FOUND, "no signal ended or stopped it");
    return give_crash(crash, ret, err);
}

int psc_trace_is_snapshot(const struct psc_trace *trace)
{
    return trace && trace->crash && trace->crash->cause == TRACE_CAUSE_SNAPSHOT;
}

/* ---- threads ---- */

size_t psc_trace_thread_count(const struct psc_trace *trace)
{
    return trace ? trace->thread_count : 0;
}

/* NULL, and said so, when there is no such thread. */
static const struct trace_thread *find_thread(const struct psc_trace *trace, size_t thread,
                                              struct psc_error *err)
{
    if (thread < trace->thread_count)
        return &trace->threads[thread];
    psc_fail(err, PSC_ERR_ARGUMENT, "there is no thread at index %zu; the trace has %zu", thread,
             trace->thread_count);
    return NULL;
}

enum psc_status psc_trace_get_thread(const struct psc_trace *trace, size_t thread,
                                     struct psc_thread_info *ret, struct psc_error *err)
{
    if (!trace || !ret)
        return refuse(err, "psc_trace_get_thread", trace);
    const struct trace_thread *found = find_thread(trace, thread, err);
    if (!found)
        return PSC_ERR_ARGUMENT;
    const struct trace_exception *exception = found->exception_count ? found->exceptions : NULL;
    const struct psc_thread_info info = {
        .thread_id = found->tid,
        .state = found->state & PUBLIC_STATES,
        .has_python = found->has_python,
        .python_thread_id = found->has_python ? found->python_thread_id : 0,
        .interpreter_id = found->has_python ? found->interpreter_id : -1,
        .name = found->name,
        .system_name = found->native_name,
        .exception_type = exception ? exception->type : NULL,
        .exception_message = exception ? exception->message : NULL,
        .exception_raised = exception && exception->raised,
    };
    return sized_give(SIZED_TYPE(psc_thread_info, PSC_THREAD_INFO_INIT), &info, ret, err);
}

/* ---- frames ---- */

size_t psc_trace_frame_count(const struct psc_trace *trace, size_t thread)
{
    return trace && thread < trace->thread_count ? trace->threads[thread].frame_count : 0;
}

/* NULL, and said so, when there is no such frame. */
static const struct trace_frame *find_frame(const struct psc_trace *trace, size_t thread,
                                            size_t frame, struct psc_error *err)
{
    const struct trace_thread *found = find_thread(trace, thread, err);
    if (found && frame < found->frame_count)
        return &found->frames[frame];
    if (found)
        psc_fail(err, PSC_ERR_ARGUMENT, "there is no frame %zu; the thread has %zu", frame,
                 found->frame_count);
    return NULL;
}

static const struct trace_locals *get_locals(const struct psc_trace *trace, size_t thread,
                                             size_t frame)
{
    const struct trace_locals **locals = trace->threads[thread].locals;
    return locals ? locals[frame] : NULL;
}

static uint32_t make_flags(const struct trace_frame *frame)
{
    return (frame->hidden ? PSC_FRAME_HIDDEN : 0u) |
           (frame->location->inlined ? PSC_FRAME_INLINED : 0u) |
           (frame->has_pc ? PSC_FRAME_HAS_PC : 0u) |
           (frame->location->has_offset ? PSC_FRAME_HAS_OFFSET : 0u);
}

enum psc_status psc_trace_get_frame(const struct psc_trace *trace, size_t thread, size_t frame,
                                    struct psc_frame_info *ret, struct psc_error *err)
{
    if (!trace || !ret)
        return refuse(err, "psc_trace_get_frame", trace);
    const struct trace_frame *found = find_frame(trace, thread, frame, err);
    if (!found)
        return PSC_ERR_ARGUMENT;
    const struct trace_location *location = found->location;
    const struct trace_module *module = location->module;
    const struct trace_locals *locals = get_locals(trace, thread, frame);
    const struct psc_frame_info info = {
        .kind = (enum psc_frame_kind)location->kind,
        .language = location->language,
        .function = location->function,
        .name = location->name,
        .symbol = location->symbol,
        .file = location->file,
        .source = location->source,
        .module = module ? module->path : NULL,
        .build_id = module ? module->build_id : NULL,
        .line = location->line,
        .column = location->column,
        .end_line = location->end_line,
        .end_column = location->end_column,
        .line_source = location->line ? (enum psc_line_source)location->line_source : PSC_LINE_NONE,
        .trust = (enum psc_trust)found->trust,
        .flags = make_flags(found),
        .local_count = locals ? (uint32_t)locals->count : 0,
        .pc = found->has_pc ? found->pc : 0,
        .sp = found->has_pc ? found->sp : 0,
        .offset = location->has_offset ? location->offset : 0,
        .python_frame = psc_trace_python_frame(trace, thread, frame),
        .interpreter_id = found->interpreter_id,
        .self_class = found->self_class,
    };
    return sized_give(SIZED_TYPE(psc_frame_info, PSC_FRAME_INFO_INIT), &info, ret, err);
}

enum psc_status psc_trace_get_local(const struct psc_trace *trace, size_t thread, size_t frame,
                                    size_t local, struct psc_local *ret, struct psc_error *err)
{
    if (!trace || !ret)
        return refuse(err, "psc_trace_get_local", trace);
    if (!find_frame(trace, thread, frame, err))
        return PSC_ERR_ARGUMENT;
    const struct trace_locals *locals = get_locals(trace, thread, frame);
    size_t count = locals ? locals->count : 0;
    if (local >= count)
        return psc_fail(err, PSC_ERR_ARGUMENT, "there is no local %zu; the frame has %zu", local,
                        count);
    const struct psc_local found = {
        .argument = locals->items[local].argument,
        .name = locals->items[local].name,
        .value = locals->items[local].value,
    };
    return sized_give(SIZED_TYPE(psc_local, PSC_LOCAL_INIT), &found, ret, err);
}

psc_addr psc_trace_python_frame(const struct psc_trace *trace, size_t thread, size_t frame)
{
    if (!trace || thread >= trace->thread_count || frame >= trace->threads[thread].frame_count)
        return 0;
    const struct trace_frame *found = &trace->threads[thread].frames[frame];
    return found->location->kind == TRACE_PYTHON ? found->id : 0;
}

/* ---- recursions ---- */

size_t psc_trace_recursion_count(const struct psc_trace *trace, size_t thread)
{
    return trace && thread < trace->thread_count ? trace->threads[thread].recursion_count : 0;
}

enum psc_status psc_trace_get_recursion(const struct psc_trace *trace, size_t thread, size_t index,
                                        struct psc_recursion *ret, struct psc_error *err)
{
    if (!trace || !ret)
        return refuse(err, "psc_trace_get_recursion", trace);
    const struct trace_thread *found = find_thread(trace, thread, err);
    if (!found)
        return PSC_ERR_ARGUMENT;
    if (index >= found->recursion_count)
        return psc_fail(err, PSC_ERR_ARGUMENT, "there is no recursion %zu; the thread has %zu",
                        index, found->recursion_count);
    const struct trace_recursion *recursion = &found->recursions[index];
    const struct psc_recursion info = {
        .first = recursion->first,
        .last = recursion->last,
        .frames = recursion->frames,
        .times = recursion->times,
    };
    return sized_give(SIZED_TYPE(psc_recursion, PSC_RECURSION_INIT), &info, ret, err);
}

/* ---- waits ---- */

enum psc_status psc_trace_get_fault(const struct psc_trace *trace, size_t thread,
                                    struct psc_crash_info *ret, struct psc_error *err)
{
    if (!trace || !ret)
        return refuse(err, "psc_trace_get_fault", trace);
    const struct trace_thread *found = find_thread(trace, thread, err);
    if (!found)
        return PSC_ERR_ARGUMENT;
    if (!found->fault)
        return psc_fail(err, PSC_ERR_NOT_FOUND, "it is not known to meet a fault");
    return give_crash(found->fault, ret, err);
}

enum psc_status psc_trace_get_wait(const struct psc_trace *trace, size_t thread,
                                   struct psc_wait *ret, struct psc_error *err)
{
    if (!trace || !ret)
        return refuse(err, "psc_trace_get_wait", trace);
    const struct trace_thread *found = find_thread(trace, thread, err);
    if (!found)
        return PSC_ERR_ARGUMENT;
    const struct trace_wait *wait = found->waits_for;
    if (!wait)
        return psc_fail(err, PSC_ERR_NOT_FOUND, "it is not known to wait for anything");
    const struct psc_wait info = {
        .kind = trace_wait_name(wait->kind),
        .object = wait->object,
        .address = wait->has_address ? wait->address : 0,
        .has_address = wait->has_address,
        .owner_tid = wait->owner_tid,
        .owner_pid = wait->owner_pid,
        .owner_certain = wait->owner_certain,
        .owner_text = wait->owner_text,
        .known_by = wait->known_by,
        .timed = wait->timed,
        .has_time_left = wait->has_time_left,
        .time_left = wait->has_time_left ? wait->time_left : 0,
        .system_call = wait->system_call,
        .arguments = wait->arguments,
        .kernel = wait->kernel,
    };
    return sized_give(SIZED_TYPE(psc_wait, PSC_WAIT_INIT), &info, ret, err);
}
