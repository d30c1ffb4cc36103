/* What the interpreter was about when its thread died, by the frames of its stack. */
#include "diagnose_private.h"
#include "python.h"

#include <string.h>

/* Innermost frames that are looked at. */
#define DURING_DEPTH 4096u

struct phases {
    struct text text;
    const struct trace_location *python; /* The last Python frame further in. */
    uint32_t told;                       /* enum c_api_phase, a bit each. */
};

static void tell(struct phases *phases, enum c_api_phase phase, const char *words, const char *name)
{
    if (phases->told >> phase & 1)
        return;
    phases->told |= 1u << phase;
    text_add_string(&phases->text, phases->text.size ? ", " : "");
    text_add_string(&phases->text, words);
    text_add_string(&phases->text, name);
}

static bool is_finalizer(const struct trace_location *python)
{
    return python && python->name && !strcmp(python->name, "__del__");
}

static void tell_phase(struct phases *phases, enum c_api_phase phase, const char *name)
{
    switch (phase) {
    case C_API_PHASE_FINALIZER:
        if (is_finalizer(phases->python))
            tell(phases, phase, "in ",
                 phases->python->function ? phases->python->function : "__del__");
        return;
    case C_API_PHASE_WEAK_REFERENCE:
        if (phases->python)
            tell(phases, phase, "in the callback of a weak reference", "");
        return;
    case C_API_PHASE_CALLBACK:
        if (phases->python)
            tell(phases, phase, "in a callback from C", "");
        return;
    case C_API_PHASE_MODULE:
        tell(phases, phase,
             *name ? "in the initialization of " : "in the initialization of a module", name);
        return;
    case C_API_PHASE_COLLECTOR:
        if (is_finalizer(phases->python))
            tell_phase(phases, C_API_PHASE_FINALIZER, "");
        tell(phases, phase, "in the garbage collector", "");
        return;
    case C_API_PHASE_END:
        tell(phases, phase, "while the interpreter was finalized", "");
        return;
    case C_API_PHASE_NONE:
        return;
    }
}

static void pass_native(struct phases *phases, const struct trace_frame *frame)
{
    const struct trace_location *location = frame->location;
    const char *symbol = location->symbol ? location->symbol : location->function;
    const char *name = "";
    if (frame->role == TRACE_ROLE_COLLECT)
        tell_phase(phases, C_API_PHASE_COLLECTOR, "");
    enum c_api_phase phase = symbol ? c_api_find_phase(symbol, &name) : C_API_PHASE_NONE;
    tell_phase(phases, phase, name);
    // What runs inside of these is known; what is further out has other Python frames.
    if (phase != C_API_PHASE_NONE)
        phases->python = NULL;
}

enum psc_status diagnose_during(const struct trace_thread *thread, struct arena *arena,
                                const char **ret)
{
    struct phases phases = {0};
    *ret = NULL;
    for (size_t i = 0; thread && i < thread->frame_count && i < DURING_DEPTH; i++) {
        const struct trace_frame *frame = &thread->frames[i];
        if (frame->location->kind == TRACE_PYTHON)
            phases.python = frame->location;
        else if (frame->location->kind == TRACE_NATIVE)
            pass_native(&phases, frame);
    }
    // A stripped interpreter does not name its collector; its state says so, too.
    phases.python = NULL;
    if (thread && thread->state & TRACE_STATE_COLLECTING)
        tell_phase(&phases, C_API_PHASE_COLLECTOR, "");
    if (thread && thread->state & TRACE_STATE_FINALIZING)
        tell_phase(&phases, C_API_PHASE_END, "");
    bool failed = phases.text.failed;
    if (phases.text.size && !failed)
        *ret = arena_strndup(arena, phases.text.data, phases.text.size);
    text_deinit(&phases.text);
    return failed || arena_is_exhausted(arena) ? PSC_ERR_MEMORY : PSC_OK;
}
