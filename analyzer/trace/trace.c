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
