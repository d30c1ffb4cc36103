/*
 * Where a suspended generator stands: before its function returns it stores the number of the
 * `yield from` in the generator's object (Cython/Compiler/Nodes.py, ExprNodes.py, YieldExprNode),
 * and before that it calls what it awaits; the failure of that call has the line.
 */
#include "reports_private.h"

/** Bytes of a function that are searched for the number. */
#define SIZE_LIMIT ((uint64_t)1 << 20)
/** Calls of what is awaited that lead to one store: compilers copy them, or inline. */
#define CALL_LIMIT 8
/** Reading this many instructions takes as long as following one. */
#define LOOKED_A_STEP 4

static bool stores(const struct instruction *instruction, uint32_t label, uint64_t offset)
{
    return instruction->verb == INSTRUCTION_MOVE && instruction->to.kind == OPERAND_BASED &&
           instruction->to.width == 4 && (uint64_t)instruction->to.number == offset &&
           instruction->from.kind == OPERAND_IMMEDIATE &&
           flow_truncate((uint64_t)instruction->from.number, 4) == label;
}

/** The line that a function reports when a call has failed; 0: that is not certain. */
static uint32_t line_of(struct reports *reports, uint64_t call)
{
    struct error_report chain[REPORTS_CHAIN_LIMIT];
    size_t count = reports_find(reports, call, chain, REPORTS_CHAIN_LIMIT);
    return count && chain[0].direct ? chain[count - 1].line : 0;
}

/** The call of what is awaited that leads to the store; 0: several, of several lines. */
static uint64_t find_call(struct reports *reports, uint64_t store)
{
    uint64_t calls[CALL_LIMIT];
    uint64_t best = 0;
    uint32_t line = 0;
    size_t count = flow_find_calls_leading(&reports->flow, store, calls, CALL_LIMIT);
    for (size_t i = 0; i < count; i++) {
        uint32_t own = count > 1 ? line_of(reports, calls[i]) : 0;
        if (own && line && own != line)
            return 0;
        best = !best || (own && !line) ? calls[i] : best;
        line = own ? own : line;
    }
    return best;
}

uint64_t reports_find_suspension(struct reports *reports, uint64_t start, uint32_t label,
                                 uint64_t offset)
{
    struct flow *flow = &reports->flow;
    const struct code_function *function = code_find_function(&flow->image, start);
    uint64_t found = 0;
    size_t looked = 0;
    if (!function || function->start != start || function->end - start > SIZE_LIMIT)
        return 0;
    for (uint64_t at = start; at < function->end;) {
        if (looked++ % LOOKED_A_STEP == 0 && !flow_spend_steps(flow, 1))
            return 0;
        struct instruction instruction = *flow_decode(flow, at);
        if (instruction.verb == INSTRUCTION_BAD)
            break;
        if (stores(&instruction, label, offset)) {
            uint64_t call = find_call(reports, at);
            /* A path that was copied may stand for several lines. */
            if (!call || (found && found != call))
                return 0;
            found = call;
        }
        at += instruction.size;
    }
    return found;
}
