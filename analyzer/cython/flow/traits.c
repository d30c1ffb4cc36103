/* Imports and small functions that are called on an error path: what is known of them. */
#include "flow.h"
#include "python.h"

#include <string.h>

/** Bytes of a function that only releases, counts or asks: such a function is small. */
#define CLEANUP_SIZE_LIMIT  768
#define CLEANUP_DEPTH_LIMIT 3
/** Reading this many of its bytes takes as long as following one instruction. */
#define BYTES_A_STEP 32

/** Functions of C's and C++'s libraries that free or ask, and those that do not return. */
static const char *const cleanup_imports[] = {
    "_ZdlPv", "_ZdlPvm", "__vsnprintf_chk", "free", "vsnprintf",
};
static const char *const end_imports[] = {
    "_Unwind_Resume",   "__assert_fail", "__cxa_rethrow", "__cxa_throw",
    "__stack_chk_fail", "abort",         "exit",
};

/** What is known of a function or import that a path calls. */
enum trait {
    TRAIT_CLEANUP = 1,
    TRAIT_MATCHES = 2,   /**< Calls a C_API_MATCHES_ERROR. */
    TRAIT_CLEARS = 4,    /**< Calls PyErr_Clear(): what it returns is no answer to a question. */
    TRAIT_RETURNS = 8,   /**< Not only abort() and its like. */
    TRAIT_ASKS = 16,     /**< Calls PyErr_Occurred(). */
    TRAIT_LOCKS = 32,    /**< Takes the GIL. */
    TRAIT_CATCHES = 64,  /**< Calls a C_API_TAKES_ERROR. */
    TRAIT_RESTORES = 128 /**< Calls a C_API_RESTORES_ERROR. */
};

static bool is_listed(const char *const *list, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i], name) == 0)
            return true;
    return false;
}

static void keep_known(struct flow *flow, uint64_t start, uint8_t traits, bool open)
{
    struct known_traits *known = hash_table_find(&flow->traits, start);
    if (!known)
        known = hash_table_add(&flow->traits, start);
    if (!known)
        return;
    known->traits = traits;
    known->open = open;
}

static uint8_t traits_of(struct flow *flow, struct code_target target, unsigned depth);

/** The traits of what an instruction calls or jumps to outside of its function. */
static uint8_t traits_of_instruction(struct flow *flow, const struct code_function *function,
                                     const struct instruction *instruction, unsigned depth)
{
    const struct operand *to = &instruction->to;
    struct code_target target = {0};
    if (instruction->verb == INSTRUCTION_BAD)
        return 0;
    if (instruction->verb != INSTRUCTION_CALL && instruction->verb != INSTRUCTION_JUMP)
        return instruction->verb == INSTRUCTION_RETURN ? TRAIT_CLEANUP | TRAIT_RETURNS
                                                       : TRAIT_CLEANUP;
    if (to->kind == OPERAND_IMMEDIATE)
        target = code_target_of(&flow->image, (uint64_t)to->number);
    else if (to->kind == OPERAND_ABSOLUTE)
        target = code_slot_target(&flow->image, (uint64_t)to->number);
    else
        return flow_is_deallocation(to) ? TRAIT_CLEANUP | TRAIT_RETURNS : 0;
    if (!target.import && target.address >= function->start && target.address < function->end)
        return TRAIT_CLEANUP;
    uint8_t traits = traits_of(flow, target, depth + 1);
    return instruction->verb == INSTRUCTION_JUMP ? traits : traits & (uint8_t)~TRAIT_RETURNS;
}

static uint8_t traits_of_function(struct flow *flow, const struct code_function *function,
                                  unsigned depth)
{
    uint8_t traits = 0;
    uint64_t size = function->end - function->start;
    if (size > CLEANUP_SIZE_LIMIT || !flow_spend_steps(flow, 1 + (size_t)size / BYTES_A_STEP))
        return 0;
    for (uint64_t at = function->start; at < function->end;) {
        struct instruction instruction = *flow_decode(flow, at);
        uint8_t more = traits_of_instruction(flow, function, &instruction, depth);
        if (!more)
            return 0;
        traits |= more;
        at += instruction.size;
    }
    return traits;
}

bool flow_begins_parallel(struct code_target target)
{
    return target.import &&
           (strncmp(target.import, "GOMP_parallel", strlen("GOMP_parallel")) == 0 ||
            strncmp(target.import, "__kmpc_fork_call", strlen("__kmpc_fork_call")) == 0);
}

/** Those of OpenMP's runtime that share work, lock or wait inside of a parallel block. */
static bool is_parallel_helper(const char *import)
{
    static const char *const beginnings[] = {"GOMP_", "omp_", "__kmpc_"};
    for (size_t i = 0; i < PSC_ARRAY_SIZE(beginnings); i++)
        if (strncmp(import, beginnings[i], strlen(beginnings[i])) == 0)
            return !flow_begins_parallel((struct code_target){.import = import});
    return false;
}

static uint8_t judge_import(const char *import)
{
    static const struct {
        uint32_t of_python;
        uint8_t traits;
    } meanings[] = {
        {C_API_CLEANUP, TRAIT_CLEANUP | TRAIT_RETURNS},
        {C_API_MATCHES_ERROR, TRAIT_CLEANUP | TRAIT_RETURNS | TRAIT_MATCHES},
        {C_API_NEVER_RETURNS, TRAIT_CLEANUP},
        {C_API_CLEARS_ERROR, TRAIT_CLEARS},
        {C_API_ASKS_ERROR, TRAIT_ASKS},
        {C_API_TAKES_GIL, TRAIT_LOCKS},
        {C_API_TAKES_ERROR, TRAIT_CATCHES},
        {C_API_RESTORES_ERROR, TRAIT_RESTORES},
    };
    uint32_t of_python = c_api_traits(import);
    uint8_t traits = 0;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(meanings); i++)
        if (of_python & meanings[i].of_python)
            traits |= meanings[i].traits;
    if (is_listed(end_imports, PSC_ARRAY_SIZE(end_imports), import))
        return TRAIT_CLEANUP;
    if (is_listed(cleanup_imports, PSC_ARRAY_SIZE(cleanup_imports), import) ||
        is_parallel_helper(import))
        return TRAIT_CLEANUP | TRAIT_RETURNS;
    return traits;
}

static uint8_t traits_of_import(struct flow *flow, const char *import)
{
    const struct known_import *before = hash_table_find(&flow->imports, (uintptr_t)import);
    if (before)
        return before->traits;
    const uint8_t traits = judge_import(import);
    struct known_import *known = hash_table_add(&flow->imports, (uintptr_t)import);
    if (known)
        known->traits = traits;
    return traits;
}

static uint8_t traits_of(struct flow *flow, struct code_target target, unsigned depth)
{
    if (target.import)
        return traits_of_import(flow, target.import);
    const struct code_function *function = code_find_function(&flow->image, target.address);
    if (!function || function->start != target.address ||
        flow_find_traceback_helper(flow, target.address))
        return 0;
    const struct known_traits *known = hash_table_find(&flow->traits, target.address);
    if (known && !known->open)
        return known->traits;
    if (depth > CLEANUP_DEPTH_LIMIT) {
        flow->traits_cut = true;
        return 0;
    }
    const bool cut_before = depth && flow->traits_cut;
    flow->traits_cut = false;
    keep_known(flow, target.address, 0, false); /* For functions that call each other. */
    uint8_t traits = traits_of_function(flow, function, depth);
    /* Asked for itself it may have another answer. */
    keep_known(flow, target.address, traits, depth && flow->traits_cut);
    flow->traits_cut |= cut_before;
    return traits;
}

void flow_forget_traits(struct flow *flow)
{
    hash_table_clear(&flow->traits);
}

bool flow_is_cleanup(struct flow *flow, struct code_target target)
{
    return traits_of(flow, target, 0) & TRAIT_RETURNS;
}

bool flow_never_returns(struct flow *flow, struct code_target target)
{
    return traits_of(flow, target, 0) && !flow_is_cleanup(flow, target);
}

bool flow_matches_exception(struct flow *flow, struct code_target target)
{
    uint8_t traits = traits_of(flow, target, 0);
    return traits & TRAIT_MATCHES && !(traits & TRAIT_CLEARS);
}

bool flow_asks_for_error(struct flow *flow, struct code_target target)
{
    uint8_t traits = traits_of(flow, target, 0);
    if (target.import)
        return traits & TRAIT_ASKS;
    /* __Pyx_ErrOccurredWithGIL() */
    return traits & TRAIT_ASKS && traits & TRAIT_LOCKS &&
           !(traits & (TRAIT_MATCHES | TRAIT_CLEARS));
}

bool flow_takes_exception(struct flow *flow, struct code_target target)
{
    return traits_of(flow, target, 0) & TRAIT_CATCHES;
}

bool flow_leaves_exception_taken(struct flow *flow, struct code_target target, bool taken)
{
    uint8_t traits = traits_of(flow, target, 0);
    return !(traits & TRAIT_RESTORES) && (taken || traits & TRAIT_CATCHES);
}

bool flow_returns_thread_state(struct code_target target)
{
    return target.import && c_api_traits(target.import) & C_API_THREAD_STATE;
}
