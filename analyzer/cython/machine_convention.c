/* Where an anchor takes name, line and file from: followed to the making of a code object. */
#include "machine_explore.h"

#include <stdlib.h>

#define CONVENTION_CALL_LIMIT 12
/** Functions between the anchor and PyCode_NewEmpty. */
#define CONVENTION_DEPTH 2

/** What a function hands on to the making of a code object, best way so far. */
struct convention {
    struct machine_anchor best;
    int score;
    unsigned depth;
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

static void offer(struct convention *convention, const struct machine_state *state,
                  const struct machine_anchor *sinks)
{
    struct machine_anchor anchor = {
        .name = as_source(machine_resolve(state, sinks->name)),
        .line = as_source(machine_resolve(state, sinks->line)),
        .file = as_source(machine_resolve(state, sinks->file)),
    };
    int score = score_of(&anchor);
    if (score > convention->score) {
        convention->score = score;
        convention->best = anchor;
    }
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
        offer(convention, state, &sinks);
        return MACHINE_END_WAY;
    }
    const struct machine_function *callee =
        target.import ? NULL : machine_find_function(&exploration->machine->image, target.address);
    struct machine_anchor inner;
    if (callee && callee->start == target.address && convention->depth < CONVENTION_DEPTH &&
        find_convention(exploration->machine, callee->start, convention->depth + 1, &inner)) {
        offer(convention, state, &inner);
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
