/* The public calls that read the lists beside a trace's threads: files, single values, warnings. */
#include "sized_struct.h"
#include "trace.h"

/* As in trace_access.c. */
#define SAME_NUMBER(public, internal) \
    _Static_assert((unsigned)(public) == (unsigned)(internal), "a switch is needed here")

SAME_NUMBER(PSC_FILE_EXECUTABLE, TRACE_FILE_EXECUTABLE);
SAME_NUMBER(PSC_FILE_LIBRARY, TRACE_FILE_LIBRARY);
SAME_NUMBER(PSC_FILE_DEBUG, TRACE_FILE_DEBUG);
SAME_NUMBER(PSC_FILE_CYTHON, TRACE_FILE_CYTHON);
SAME_NUMBER(PSC_FILE_SOURCE, TRACE_FILE_SOURCE);
SAME_NUMBER(PSC_FILE_FOUND, TRACE_FILE_FOUND);
SAME_NUMBER(PSC_FILE_MISSING, TRACE_FILE_MISSING);
SAME_NUMBER(PSC_FILE_MISMATCH, TRACE_FILE_MISMATCH);
SAME_NUMBER(PSC_SCOPE_LOCAL, TRACE_SCOPE_LOCAL);
SAME_NUMBER(PSC_SCOPE_CLOSURE, TRACE_SCOPE_CLOSURE);
SAME_NUMBER(PSC_SCOPE_GLOBAL, TRACE_SCOPE_GLOBAL);
SAME_NUMBER(PSC_SCOPE_BUILTIN, TRACE_SCOPE_BUILTIN);

static enum psc_status refuse(struct psc_error *err, const char *function, size_t index,
                              size_t count)
{
    return psc_fail(err, PSC_ERR_ARGUMENT, "%s: trace or ret is NULL, or %zu is not below %zu",
                    function, index, count);
}

enum psc_status psc_trace_get_operand(const struct psc_trace *trace, size_t index,
                                      struct psc_operand *ret, struct psc_error *err)
{
    size_t count = trace && trace->crash ? trace->crash->operand_count : 0;
    if (!ret || index >= count)
        return refuse(err, "psc_trace_get_operand", index, count);
    const struct trace_operand *operand = &trace->crash->operands[index];
    const struct psc_operand info = {.name = operand->name, .value = operand->value};
    return sized_give(SIZED_TYPE(psc_operand, PSC_OPERAND_INIT), &info, ret, err);
}

size_t psc_trace_file_count(const struct psc_trace *trace)
{
    return trace ? trace->file_count : 0;
}

enum psc_status psc_trace_get_file(const struct psc_trace *trace, size_t index,
                                   struct psc_file_info *ret, struct psc_error *err)
{
    if (!ret || index >= psc_trace_file_count(trace))
        return refuse(err, "psc_trace_get_file", index, psc_trace_file_count(trace));
    const struct trace_file *file = &trace->files[index];
    const struct psc_file_info info = {
        .kind = (enum psc_file_kind)file->kind,
        .state = (enum psc_file_state)file->state,
        .path = file->path,
        .build_id = file->build_id,
        .here = file->here,
    };
    return sized_give(SIZED_TYPE(psc_file_info, PSC_FILE_INFO_INIT), &info, ret, err);
}

size_t psc_trace_evaluation_count(const struct psc_trace *trace)
{
    return trace ? trace->value_count : 0;
}

enum psc_status psc_trace_get_evaluation(const struct psc_trace *trace, size_t index,
                                         struct psc_evaluated *ret, struct psc_error *err)
{
    if (!ret || index >= psc_trace_evaluation_count(trace))
        return refuse(err, "psc_trace_get_evaluation", index, psc_trace_evaluation_count(trace));
    const struct trace_value *value = &trace->values[index];
    const struct psc_evaluated evaluated = {
        .thread_id = value->tid,
        .frame = (uint32_t)value->frame,
        .scope = (enum psc_scope)value->scope,
        .function = value->function,
        .expression = value->expression,
        .value = value->text,
        .problem = value->problem,
    };
    return sized_give(SIZED_TYPE(psc_evaluated, PSC_EVALUATED_INIT), &evaluated, ret, err);
}

/* ---- warnings ---- */

size_t psc_trace_warning_count(const struct psc_trace *trace)
{
    return trace ? trace->warnings.count : 0;
}

const char *psc_trace_warning(const struct psc_trace *trace, size_t index)
{
    return trace && index < trace->warnings.count ? trace->warnings.items[index].message : NULL;
}

const char *psc_trace_warning_code(const struct psc_trace *trace, size_t index)
{
    return trace && index < trace->warnings.count ? trace->warnings.items[index].code : NULL;
}
