/* The threads of a report, and their frames. */
#include "report_private.h"

#include <stdlib.h>
#include <string.h>

static const char *last_component(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static enum trace_kind kind_of(struct reading *reading, const json_t *frame)
{
    static const char *const kinds[] = {[TRACE_PYTHON] = "python",
                                        [TRACE_CYTHON] = "cython",
                                        [TRACE_NATIVE] = "native",
                                        [TRACE_GAP] = "gap"};
    const char *kind = json_string_value(json_object_get(frame, "kind"));
    for (size_t i = 0; kind && i < PSC_ARRAY_SIZE(kinds); i++)
        if (!strcmp(kinds[i], kind))
            return (enum trace_kind)i;
    reading_fail(reading, PSC_ERR_FORMAT, "a frame has no \"kind\" that is known");
    return TRACE_GAP;
}

static const struct trace_module *make_module(struct reading *reading, const json_t *frame)
{
    const char *path = reading_text(reading, frame, "module");
    struct trace_module *module = path ? arena_alloc(reading->trace->arena, sizeof(*module)) : NULL;
    if (!module)
        return NULL;
    module->path = path;
    module->name = last_component(path);
    return module;
}

/* "0x1a2b" */
static bool take_offset(struct reading *reading, const json_t *frame, uint64_t *ret)
{
    const char *text = json_string_value(json_object_get(frame, "offset"));
    char *end = NULL;
    (void)reading;
    *ret = text && !strncmp(text, "0x", 2) ? strtoull(text + 2, &end, 16) : 0;
    return end && end != text + 2 && !*end;
}

static void take_frame(struct reading *reading, const json_t *value, struct trace_frame *ret)
{
    static const char *const languages[] = {[TRACE_PYTHON] = "Python",
                                            [TRACE_CYTHON] = "Cython",
                                            [TRACE_NATIVE] = "C",
                                            [TRACE_GAP] = NULL};
    struct trace_location *location = arena_alloc(reading->trace->arena, sizeof(*location));
    const char *source = json_string_value(json_object_get(value, "line_source"));
    int64_t line;
    if (!location) {
        reading_fail(reading, PSC_ERR_MEMORY, "out of memory");
        return;
    }
    location->kind = kind_of(reading, value);
    location->language = languages[location->kind];
    location->function = reading_text(reading, value, "function");
    location->file = reading_text(reading, value, "file");
    if (reading_number(reading, value, "line", &line) && line > 0 && line <= INT32_MAX)
        location->line = (uint32_t)line;
    if (source && !strcmp(source, "estimate"))
        location->line_source = TRACE_LINE_ESTIMATE;
    location->module = make_module(reading, value);
    location->has_offset = take_offset(reading, value, &location->offset);
    *ret = (struct trace_frame){.location = location,
                                .hidden = reading_flag(reading, value, "hidden"),
                                .interpreter_id = -1};
}

static void take_frames(struct reading *reading, const json_t *value, struct trace_thread *thread)
{
    const json_t *frames = reading_list(reading, value, "frames");
    size_t count = json_array_size(frames);
    if (count > reading->frames_left) {
        reading_fail(reading, PSC_ERR_LIMIT, "it has too many frames");
        return;
    }
    reading->frames_left -= count;
    thread->frames = calloc(count ? count : 1, sizeof(*thread->frames));
    if (!thread->frames) {
        reading_fail(reading, PSC_ERR_MEMORY, "out of memory");
        return;
    }
    for (size_t i = 0; reading->status == PSC_OK && i < count; i++) {
        take_frame(reading, json_array_get(frames, i), &thread->frames[i]);
        thread->frame_count += reading->status == PSC_OK;
    }
}

static uint32_t take_states(struct reading *reading, const json_t *value)
{
    static const struct {
        const char *name;
        uint32_t bit;
    } states[] = {
        {"crashed", TRACE_STATE_CRASHED},
        {"main", TRACE_STATE_MAIN},
        {"holds-gil", TRACE_STATE_HOLDS_GIL},
        {"waits-for-gil", TRACE_STATE_WAITS_FOR_GIL},
        {"collecting-garbage", TRACE_STATE_COLLECTING},
        {"finalizing", TRACE_STATE_FINALIZING},
        {"idle", TRACE_STATE_IDLE},
        {"terminated", TRACE_STATE_TERMINATED},
        {"no-python", TRACE_STATE_NO_PYTHON},
    };
    const json_t *list = reading_list(reading, value, "state");
    uint32_t found = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        for (size_t j = 0; name && j < PSC_ARRAY_SIZE(states); j++)
            if (!strcmp(states[j].name, name))
                found |= states[j].bit;
    }
    return found;
}

static void take_thread(struct reading *reading, const json_t *value, struct trace_thread *thread)
{
    int64_t number;
    *thread = (struct trace_thread){.interpreter_id = -1, .gil_interpreter_id = -1};
    if (!json_is_object(value))
        reading_fail(reading, PSC_ERR_FORMAT, "a thread is no object");
    if (reading_number(reading, value, "tid", &number) && number > 0 && number <= INT32_MAX)
        thread->tid = (int32_t)number;
    thread->has_python = reading_number(reading, value, "python_thread_id", &number);
    thread->python_thread_id = (uint64_t)number;
    thread->name = reading_text(reading, value, "name");
    thread->state = take_states(reading, value);
    thread->waits_for = reading_take_wait(reading, value);
    take_frames(reading, value, thread);
    if (reading->status == PSC_OK && trace_find_recursions(reading->trace->arena, thread) != PSC_OK)
        reading_fail(reading, PSC_ERR_MEMORY, "out of memory");
}

void reading_take_threads(struct reading *reading, const json_t *report)
{
    struct psc_trace *trace = reading->trace;
    const json_t *threads = reading_list(reading, report, "threads");
    size_t count = json_array_size(threads);
    if (!threads) {
        reading_fail(reading, PSC_ERR_FORMAT, "there are no \"threads\" in it");
        return;
    }
    trace->threads = calloc(count ? count : 1, sizeof(*trace->threads));
    if (!trace->threads) {
        reading_fail(reading, PSC_ERR_MEMORY, "out of memory");
        return;
    }
    for (size_t i = 0; reading->status == PSC_OK && i < count; i++) {
        trace->thread_count++;
        take_thread(reading, json_array_get(threads, i), &trace->threads[i]);
    }
}
