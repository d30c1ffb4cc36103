/* Where a helper takes name, line and file from: followed to the making of a code object. */
#include "python.h"
#include "reports_private.h"

#include <stdlib.h>
#include <string.h>

#define CONVENTION_CALL_LIMIT 12
/** Functions between the helper and what makes the code object. */
#define CONVENTION_DEPTH 2
/** The score of a helper that is given all three. */
#define FULL_SCORE 9

/** What was found of functions, so that none is followed once for each path that calls it. */
struct known_makings {
    struct hash_table of_depth[CONVENTION_DEPTH + 1]; /**< struct known_making; by CONVENTION_DEPTH.
                                                       */
};

struct known_making {
    uint64_t start;
    bool found;
    struct traceback_helper helper;
};

/** What a function hands on to the making of a code object, best path so far. */
struct making {
    struct traceback_helper best;
    int score;
    unsigned depth;
    struct known_makings *known;
    bool python2;                     /**< Strings are made with CPython 2's functions. */
    struct traceback_helper compiled; /**< What Py_CompileString() and later calls were given. */
};

static int score_of(const struct traceback_helper *helper)
{
    const struct abstract_value values[] = {helper->name, helper->line, helper->file};
    int score = 0;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(values); i++)
        score += values[i].kind == ABSTRACT_ARGUMENT   ? 3
                 : values[i].kind == ABSTRACT_CONSTANT ? 2
                                                       : 0;
    return score;
}

static struct abstract_value as_source(struct abstract_value value)
{
    bool usable = value.kind == ABSTRACT_ARGUMENT || value.kind == ABSTRACT_CONSTANT;
    return usable ? value : (struct abstract_value){ABSTRACT_UNKNOWN, 0};
}

static void offer(struct making *making, struct abstract_value name, struct abstract_value line,
                  struct abstract_value file)
{
    struct traceback_helper helper = {
        .name = as_source(name), .line = as_source(line), .file = as_source(file)};
    int score = score_of(&helper);
    if (score > making->score) {
        making->score = score;
        making->best = helper;
    }
}

/** What a call of a function that makes a code object, or leads to one, is given. */
static void offer_resolved(struct making *making, const struct flow_state *state,
                           const struct traceback_helper *inner)
{
    offer(making, flow_state_resolve(state, inner->name), flow_state_resolve(state, inner->line),
          flow_state_resolve(state, inner->file));
}

/** Cython 0.29 up to 0.29.24 calls PyCode_New() (Cython/Utility/Exceptions.c). */
static void offer_arguments(struct making *making, const struct flow_state *state,
                            const struct c_api_code_maker *maker)
{
    offer(making, flow_state_argument(state, maker->name, 8),
          flow_state_argument(state, maker->line, 4), flow_state_argument(state, maker->file, 8));
}

/** What makes a string object of its argument returns, for our purpose, that argument. */
static void take_string(struct flow_exploration *exploration, const struct flow_state *state,
                        const char *import)
{
    struct making *making = exploration->context;
    const struct c_api_text_maker *maker = import ? c_api_find_text_maker(import) : NULL;
    if (!maker)
        return;
    making->python2 |= maker->python2;
    exploration->result = as_source(flow_state_argument(state, maker->text, 8));
}

/**
 * Of the limited API: Py_CompileString("_getframe()", file, mode), PyLong_FromLong(line),
 * PyUnicode_FromString(name), whose results replace what the compiled code has.
 */
static void take_compiled(struct making *making, const struct flow_state *state, const char *import)
{
    struct traceback_helper *compiled = &making->compiled;
    struct abstract_value argument = as_source(flow_state_argument(state, 0, 8));
    uint32_t traits = import ? c_api_traits(import) : 0;
    if (traits & C_API_COMPILES)
        *compiled = (struct traceback_helper){
            .file = as_source(flow_state_argument(state, C_API_COMPILED_FILE, 8))};
    else if (compiled->file.kind == ABSTRACT_UNKNOWN)
        return;
    else if (traits & C_API_MAKES_INT)
        compiled->line = argument;
    else if (traits & C_API_MAKES_TEXT && !c_api_find_text_maker(import)->python2)
        offer(making, argument, compiled->line, compiled->file);
}

static bool find_making(struct flow *flow, uint64_t start, struct making *making,
                        struct traceback_helper *ret);

/** find_making() for what a path calls, done once for each function. */
static bool find_inner_making(struct flow *flow, uint64_t start, const struct making *outer,
                              struct traceback_helper *ret)
{
    struct making making = {.depth = outer->depth + 1, .known = outer->known};
    struct hash_table *table = &outer->known->of_depth[making.depth];
    const struct known_making *before = hash_table_find(table, start);
    if (before) {
        *ret = before->helper;
        return before->found;
    }
    bool found = find_making(flow, start, &making, ret);
    struct known_making *known = hash_table_add(table, start);
    if (known) {
        known->found = found;
        known->helper = *ret;
    }
    return found;
}

static enum flow_verdict making_call(struct flow_exploration *exploration, struct flow_state *state,
                                     struct code_target target)
{
    struct making *making = exploration->context;
    const struct c_api_code_maker *maker =
        target.import ? c_api_find_code_maker(target.import, making->python2) : NULL;
    if (maker) {
        offer_arguments(making, state, maker);
        return making->score == FULL_SCORE ? FLOW_FOUND : FLOW_END_PATH;
    }
    take_string(exploration, state, target.import);
    take_compiled(making, state, target.import);
    const struct code_function *callee =
        target.import ? NULL : code_find_function(&exploration->flow->image, target.address);
    struct traceback_helper inner;
    if (callee && callee->start == target.address && making->depth < CONVENTION_DEPTH &&
        find_inner_making(exploration->flow, callee->start, making, &inner))
        offer_resolved(making, state, &inner);
    else if (making->score != FULL_SCORE)
        return FLOW_PASS_COUNTED;
    /* No path can tell more. */
    return making->score == FULL_SCORE ? FLOW_FOUND : FLOW_END_PATH;
}

static bool find_making(struct flow *flow, uint64_t start, struct making *making,
                        struct traceback_helper *ret)
{
    const struct code_abi *abi = flow->image.abi;
    struct flow_exploration exploration = {
        .on_call = making_call, .call_limit = CONVENTION_CALL_LIMIT, .context = making};
    struct flow_state state;
    flow_state_init(&state, flow->image.abi, start);
    state.registers[abi->frame_pointer].kind = ABSTRACT_UNKNOWN;
    for (unsigned i = 0; i < abi->argument_count; i++)
        state.registers[abi->arguments[i]] = flow_entry_argument(abi, i);
    free(flow_explore_once(&exploration, flow, &state));
    *ret = making->best;
    ret->start = start;
    return making->score > 0;
}

bool reports_find_helper_arguments(struct flow *flow, uint64_t start, struct traceback_helper *ret)
{
    struct known_makings known;
    for (size_t i = 0; i <= CONVENTION_DEPTH; i++)
        known.of_depth[i] = HASH_TABLE_OF(struct known_making);
    struct making making = {.known = &known};
    bool found = find_making(flow, start, &making, ret);
    for (size_t i = 0; i <= CONVENTION_DEPTH; i++)
        hash_table_deinit(&known.of_depth[i]);
    return found && (ret->name.kind == ABSTRACT_ARGUMENT || ret->line.kind == ABSTRACT_ARGUMENT);
}
