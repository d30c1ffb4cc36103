/* Where an anchor takes name, line and file from: followed to the making of a code object. */
#include "explore.h"

#include <stdlib.h>

#define CONVENTION_CALL_LIMIT 12
/** Functions between the anchor and what makes the code object. */
#define CONVENTION_DEPTH 2

/** What a function hands on to the making of a code object, best way so far. */
struct convention {
    struct machine_anchor best;
    int score;
    unsigned depth;
    bool python2;                   /**< Strings are made with CPython 2's functions. */
    struct machine_anchor compiled; /**< What Py_CompileString() and later calls were given. */
};

static int score_of(const struct machine_anchor *anchor)
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
    struct machine_anchor anchor = {
        .name = as_source(name), .line = as_source(line), .file = as_source(file)};
    int score = score_of(&anchor);
    if (score > convention->score) {
        convention->score = score;
        convention->best = anchor;
    }
}

static void offer_resolved(struct convention *convention, const struct machine_state *state,
                           const struct machine_anchor *sinks)
{
    offer(convention, machine_resolve(state, sinks->name), machine_resolve(state, sinks->line),
          machine_resolve(state, sinks->file));
}

/*
 * PyCode_New(..., filename, name, firstlineno, lnotab), all of these on the stack: Cython 0.29 up
 * to 0.29.24 (Cython/Utility/Exceptions.c). CPython 2 has one argument less in front of them.
 */
static void offer_stacked(struct convention *convention, const struct machine_state *state)
{
    uint64_t file_at = convention->python2 ? 4 * 8 : 5 * 8;
    offer(convention, machine_state_load(state, file_at + 8, 8),
          machine_state_load(state, file_at + 16, 4), machine_state_load(state, file_at, 8));
}

/** What makes a string object of its argument returns, for our purpose, that argument. */
static void take_string(struct machine_exploration *exploration, const struct machine_state *state,
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
static void take_compiled(struct convention *convention, const struct machine_state *state,
                          const char *import)
{
    struct machine_anchor *compiled = &convention->compiled;
    struct value argument = as_source(state->registers[MACHINE_RDI]);
    if (!import)
        return;
    if (strcmp(import, "Py_CompileString") == 0)
        *compiled = (struct machine_anchor){.file = as_source(state->registers[MACHINE_RSI])};
    else if (compiled->file.kind == VALUE_UNKNOWN)
        return;
    else if (strcmp(import, "PyLong_FromLong") == 0)
        compiled->line = argument;
    else if (strcmp(import, "PyUnicode_FromString") == 0)
        offer(convention, argument, compiled->line, compiled->file);
}

static bool find_convention(struct machine *machine, uint64_t start, unsigned depth,
                            struct machine_anchor *ret);

static enum machine_verdict convention_call(struct machine_exploration *exploration,
                                            struct machine_state *state,
                                            struct machine_target target)
{
    /* PyCode_NewEmpty(const char *filename, const char *funcname, int firstlineno) */
    static const struct machine_anchor sinks = {.file = {VALUE_ARGUMENT, MACHINE_RDI},
                                                .name = {VALUE_ARGUMENT, MACHINE_RSI},
                                                .line = {VALUE_ARGUMENT, MACHINE_RDX}};
    struct convention *convention = exploration->context;
    if (target.import && strcmp(target.import, "PyCode_NewEmpty") == 0) {
        offer_resolved(convention, state, &sinks);
        return MACHINE_END_WAY;
    }
    if (target.import && strcmp(target.import, "PyCode_New") == 0) {
        offer_stacked(convention, state);
        return MACHINE_END_WAY;
    }
    take_string(exploration, state, target.import);
    take_compiled(convention, state, target.import);
    const struct machine_function *callee =
        target.import ? NULL : machine_find_function(&exploration->machine->image, target.address);
    struct machine_anchor inner;
    if (callee && callee->start == target.address && convention->depth < CONVENTION_DEPTH &&
        find_convention(exploration->machine, callee->start, convention->depth + 1, &inner)) {
        offer_resolved(convention, state, &inner);
        return MACHINE_END_WAY;
    }
    return MACHINE_PASS_COUNTED;
}

static bool find_convention(struct machine *machine, uint64_t start, unsigned depth,
                            struct machine_anchor *ret)
{
    static const uint8_t arguments[] = {MACHINE_RDI, MACHINE_RSI, MACHINE_RDX,
                                        MACHINE_RCX, MACHINE_R8,  MACHINE_R9};
    struct convention convention = {.depth = depth};
    struct machine_exploration exploration = {
        .on_call = convention_call, .call_limit = CONVENTION_CALL_LIMIT, .context = &convention};
    struct machine_state state;
    machine_state_init(&state, start);
    state.registers[MACHINE_RBP].kind = VALUE_UNKNOWN;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(arguments); i++)
        state.registers[arguments[i]] = (struct value){VALUE_ARGUMENT, arguments[i]};
    if (machine_exploration_init(&exploration, machine, &state))
        free(machine_explore(&exploration));
    machine_exploration_deinit(&exploration);
    *ret = convention.best;
    ret->start = start;
    return convention.score > 0;
}

bool machine_find_convention(struct machine *machine, uint64_t start, struct machine_anchor *ret)
{
    return find_convention(machine, start, 0, ret) &&
           (ret->name.kind == VALUE_ARGUMENT || ret->line.kind == VALUE_ARGUMENT);
}
