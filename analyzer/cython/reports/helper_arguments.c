/* Where an anchor takes name, line and file from: followed to the making of a code object. */
#include "reports_private.h"

#include <stdlib.h>
#include <string.h>

#define CONVENTION_CALL_LIMIT 12
/** Functions between the anchor and what makes the code object. */
#define CONVENTION_DEPTH 2

/** What a function hands on to the making of a code object, best way so far. */
struct convention {
    struct traceback_helper best;
    int score;
    unsigned depth;
    bool python2;                     /**< Strings are made with CPython 2's functions. */
    struct traceback_helper compiled; /**< What Py_CompileString() and later calls were given. */
};

static int score_of(const struct traceback_helper *anchor)
{
    const struct value values[] = {anchor->name, anchor->line, anchor->file};
    int score = 0;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(values); i++)
        score += values[i].kind == VALUE_ARGUMENT ? 3 : values[i].kind == VALUE_CONSTANT ? 2 : 0;
    return score;
}

static struct value as_source(struct value value)
{
    bool usable = value.kind == VALUE_ARGUMENT || value.kind == VALUE_CONSTANT;
    return usable ? value : (struct value){VALUE_UNKNOWN, 0};
}

static void offer(struct convention *convention, struct value name, struct value line,
                  struct value file)
{
    struct traceback_helper anchor = {
        .name = as_source(name), .line = as_source(line), .file = as_source(file)};
    int score = score_of(&anchor);
    if (score > convention->score) {
        convention->score = score;
        convention->best = anchor;
    }
}

static void offer_resolved(struct convention *convention, const struct flow_state *state,
                           const struct traceback_helper *sinks)
{
    offer(convention, flow_state_resolve(state, sinks->name),
          flow_state_resolve(state, sinks->line), flow_state_resolve(state, sinks->file));
}

/*
 * PyCode_New(..., filename, name, firstlineno, lnotab), all of these on the stack: Cython 0.29 up
 * to 0.29.24 (Cython/Utility/Exceptions.c). CPython 2 has one argument less in front of them.
 */
static void offer_stacked(struct convention *convention, const struct flow_state *state)
{
    uint64_t file_at = convention->python2 ? 4 * 8 : 5 * 8;
    offer(convention, flow_state_load(state, file_at + 8, 8),
          flow_state_load(state, file_at + 16, 4), flow_state_load(state, file_at, 8));
}

/** What makes a string object of its argument returns, for our purpose, that argument. */
static void take_string(struct flow_exploration *exploration, const struct flow_state *state,
                        const char *import)
{
    static const struct {
        const char *import;
        uint8_t argument;
        bool python2;
    } makers[] = {
        {"PyUnicode_FromString", MACHINE_RDI, false},
        {"PyUnicode_FromFormat", MACHINE_RSI, false}, /* "%s (%s:%d)", name, C file, C line */
        {"PyString_FromString", MACHINE_RDI, true},
        {"PyString_FromFormat", MACHINE_RSI, true},
    };
    for (size_t i = 0; import && i < PSC_ARRAY_SIZE(makers); i++) {
        if (strcmp(import, makers[i].import) != 0)
            continue;
        struct convention *convention = exploration->context;
        convention->python2 |= makers[i].python2;
        exploration->result = as_source(state->registers[makers[i].argument]);
    }
}

/**
 * Of the limited API: Py_CompileString("_getframe()", file, mode), PyLong_FromLong(line),
 * PyUnicode_FromString(name), whose results replace what the compiled code has.
 */
static void take_compiled(struct convention *convention, const struct flow_state *state,
                          const char *import)
{
    struct traceback_helper *compiled = &convention->compiled;
    struct value argument = as_source(state->registers[MACHINE_RDI]);
    if (!import)
        return;
    if (strcmp(import, "Py_CompileString") == 0)
        *compiled = (struct traceback_helper){.file = as_source(state->registers[MACHINE_RSI])};
    else if (compiled->file.kind == VALUE_UNKNOWN)
        return;
    else if (strcmp(import, "PyLong_FromLong") == 0)
        compiled->line = argument;
    else if (strcmp(import, "PyUnicode_FromString") == 0)
        offer(convention, argument, compiled->line, compiled->file);
}

static bool find_convention(struct flow *flow, uint64_t start, unsigned depth,
                            struct traceback_helper *ret);

static enum flow_verdict convention_call(struct flow_exploration *exploration,
                                         struct flow_state *state, struct flow_target target)
{
    /* PyCode_NewEmpty(const char *filename, const char *funcname, int firstlineno) */
    static const struct traceback_helper sinks = {.file = {VALUE_ARGUMENT, MACHINE_RDI},
                                                  .name = {VALUE_ARGUMENT, MACHINE_RSI},
                                                  .line = {VALUE_ARGUMENT, MACHINE_RDX}};
    struct convention *convention = exploration->context;
    if (target.import && strcmp(target.import, "PyCode_NewEmpty") == 0) {
        offer_resolved(convention, state, &sinks);
        return FLOW_END_PATH;
    }
    if (target.import && strcmp(target.import, "PyCode_New") == 0) {
        offer_stacked(convention, state);
        return FLOW_END_PATH;
    }
    take_string(exploration, state, target.import);
    take_compiled(convention, state, target.import);
    const struct flow_function *callee =
        target.import ? NULL : flow_find_function(&exploration->flow->image, target.address);
    struct traceback_helper inner;
    if (callee && callee->start == target.address && convention->depth < CONVENTION_DEPTH &&
        find_convention(exploration->flow, callee->start, convention->depth + 1, &inner)) {
        offer_resolved(convention, state, &inner);
        return FLOW_END_PATH;
    }
    return FLOW_PASS_COUNTED;
}

static bool find_convention(struct flow *flow, uint64_t start, unsigned depth,
                            struct traceback_helper *ret)
{
    static const uint8_t arguments[] = {MACHINE_RDI, MACHINE_RSI, MACHINE_RDX,
                                        MACHINE_RCX, MACHINE_R8,  MACHINE_R9};
    struct convention convention = {.depth = depth};
    struct flow_exploration exploration = {
        .on_call = convention_call, .call_limit = CONVENTION_CALL_LIMIT, .context = &convention};
    struct flow_state state;
    flow_state_init(&state, start);
    state.registers[MACHINE_RBP].kind = VALUE_UNKNOWN;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(arguments); i++)
        state.registers[arguments[i]] = (struct value){VALUE_ARGUMENT, arguments[i]};
    if (flow_exploration_init(&exploration, flow, &state))
        free(flow_explore(&exploration));
    flow_exploration_deinit(&exploration);
    *ret = convention.best;
    ret->start = start;
    return convention.score > 0;
}

bool reports_find_helper_arguments(struct flow *flow, uint64_t start, struct traceback_helper *ret)
{
    return find_convention(flow, start, 0, ret) &&
           (ret->name.kind == VALUE_ARGUMENT || ret->line.kind == VALUE_ARGUMENT);
}
