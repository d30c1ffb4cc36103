/* Which functions without a name are Cython's own: they work for Python, and report no error. */
#include "cython_private.h"
#include "python.h"

/** A helper is small; what calls Python from a larger function has a name. */
#define HELPER_SIZE_LIMIT 8192
/** As many of its bytes are looked at in the time of an instruction that is followed. */
#define BYTES_A_STEP 32
/** Without optimisation it calls Python through others: how far these are followed, and how many.
 */
#define HELPER_DEPTH 2
/** What a type's table holds may be a slot, which calls the wrapper of its method. */
#define SLOT_DEPTH        3
#define HELPER_CALL_LIMIT 64

/** What a function calls. */
struct calls {
    bool python;
    bool takes_gil;
    bool unraisable; /**< It tells of an error that it can not raise, and in which function. */
    unsigned followed;
};

/** What one function does to tell of an error: __Pyx_WriteUnraisable() does both. */
struct telling {
    bool writes;
    bool makes_name;
};

static void note_import(struct calls *calls, struct telling *telling, const char *import)
{
    uint32_t traits = c_api_traits(import);
    telling->makes_name |= (traits & C_API_MAKES_TEXT) != 0;
    if (traits & C_API_UNRAISABLE)
        telling->writes = true;
    else if (traits & C_API_GIL)
        calls->takes_gil = true;
    else if (c_api_is_symbol(import))
        calls->python = true;
}

/** Python's functions may also be chosen first, and then called through a pointer. */
static void note_pointer(struct flow *flow, struct calls *calls, struct telling *telling,
                         const struct instruction *instruction)
{
    const struct operand *from = &instruction->from;
    const struct code_pointer *pointer =
        from->kind == OPERAND_ABSOLUTE ? code_find_pointer(&flow->image, (uint64_t)from->number)
                                       : NULL;
    if (pointer && pointer->import)
        note_import(calls, telling, pointer->import);
}

/** A linked-in library calls Python neither by itself nor through what it calls by address. */
static void note_calls(struct flow *flow, const struct code_function *function, unsigned depth,
                       struct calls *calls)
{
    uint64_t end = function->end - function->start > HELPER_SIZE_LIMIT
                       ? function->start + HELPER_SIZE_LIMIT
                       : function->end;
    struct telling telling = {0};
    if (!flow_spend_steps(flow, 1 + (size_t)(end - function->start) / BYTES_A_STEP))
        return;
    for (uint64_t at = function->start; at < end;) {
        struct instruction instruction = *flow_decode(flow, at);
        if (instruction.verb == INSTRUCTION_BAD)
            break;
        at += instruction.size;
        if (instruction.verb != INSTRUCTION_CALL && instruction.verb != INSTRUCTION_JUMP) {
            note_pointer(flow, calls, &telling, &instruction);
            continue;
        }
        struct code_target target = flow_operand_target(flow, &instruction.to);
        if (target.import) {
            note_import(calls, &telling, target.import);
            continue;
        }
        const struct code_function *callee =
            depth ? code_find_function(&flow->image, target.address) : NULL;
        if (callee && callee->start == target.address && callee != function &&
            calls->followed++ < HELPER_CALL_LIMIT)
            note_calls(flow, callee, depth - 1, calls);
    }
    /* Cython's generators only write: of errors while one is closed. */
    calls->unraisable |= telling.writes && telling.makes_name;
}

bool cython_is_own_code(struct flow *flow, uint64_t pc)
{
    const struct code_function *function = code_find_function(&flow->image, pc);
    struct calls calls = {0};
    if (!function || function->end - function->start > HELPER_SIZE_LIMIT)
        return false;
    note_calls(flow, function, function->pointed ? SLOT_DEPTH : HELPER_DEPTH, &calls);
    return calls.python && !calls.takes_gil && !calls.unraisable;
}
