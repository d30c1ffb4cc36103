#include "trace.h"

#include <stdlib.h>

struct psc_trace *trace_create(void)
{
    struct psc_trace *trace = calloc(1, sizeof(*trace));
    struct arena *arena = arena_create();
    if (!trace || !arena) {
        free(trace);
        arena_destroy(arena);
        return NULL;
    }
    trace->arena = arena;
    trace->complete = true;
    warnings_init(&trace->warnings, arena);
    return trace;
}

void trace_drop_threads(struct psc_trace *trace)
{
    for (size_t i = 0; i < trace->thread_count; i++) {
        free(trace->threads[i].frames);
        free(trace->threads[i].locals);
    }
    free(trace->threads);
    trace->threads = NULL;
    trace->thread_count = 0;
}

void trace_destroy(struct psc_trace *trace)
{
    if (!trace)
        return;
    trace_drop_threads(trace);
    warnings_deinit(&trace->warnings);
    text_deinit(&trace->explain);
    arena_destroy(trace->arena);
    free(trace);
}

const char *trace_cause_name(enum trace_cause cause)
{
    static const char *const names[] = {
        [TRACE_CAUSE_UNKNOWN] = NULL,
        [TRACE_CAUSE_NULL_POINTER] = "null-pointer",
        [TRACE_CAUSE_WILD_POINTER] = "wild-pointer",
        [TRACE_CAUSE_FREED_MEMORY] = "freed-memory",
        [TRACE_CAUSE_STACK_OVERFLOW] = "stack-overflow",
        [TRACE_CAUSE_READ_ONLY] = "read-only",
        [TRACE_CAUSE_NO_EXECUTE] = "no-execute",
        [TRACE_CAUSE_FILE_TRUNCATED] = "file-truncated",
        [TRACE_CAUSE_ASSERTION] = "assertion",
        [TRACE_CAUSE_HEAP_CORRUPTION] = "heap-corruption",
        [TRACE_CAUSE_FATAL_ERROR] = "fatal-error",
        [TRACE_CAUSE_TERMINATE] = "terminate",
        [TRACE_CAUSE_PANIC] = "panic",
        [TRACE_CAUSE_STACK_SMASHING] = "stack-smashing",
        [TRACE_CAUSE_FORTIFY] = "fortify",
        [TRACE_CAUSE_DIVISION] = "division",
        [TRACE_CAUSE_ILLEGAL_INSTRUCTION] = "illegal-instruction",
        [TRACE_CAUSE_SECCOMP] = "seccomp",
        [TRACE_CAUSE_SENT] = "sent",
        [TRACE_CAUSE_SNAPSHOT] = "snapshot",
        [TRACE_CAUSE_OUT_OF_MEMORY] = "out-of-memory",
        [TRACE_CAUSE_OTHER] = "other",
    };
    return names[cause];
}

const char *trace_access_name(enum trace_access access)
{
    static const char *const names[] = {
        [TRACE_ACCESS_UNKNOWN] = NULL,
        [TRACE_ACCESS_READ] = "read",
        [TRACE_ACCESS_WRITE] = "write",
        [TRACE_ACCESS_EXECUTE] = "execute",
    };
    return names[access];
}
