/*
 * Where the function of a generator stands that it has left: before it does, it stores the number
 * of the place in its object (Cython/Compiler/Nodes.py, ExprNodes.py, YieldExprNode), and before
 * that it has called what it delegates to, whose failure has the line of the `yield from`.
 */
#include "explore.h"

/** Bytes of a function that are looked through for the number. */
#define SIZE_LIMIT ((uint64_t)1 << 20)
/** Calls of the delegate that lead to one store: compilers copy it, or put it where it is called.
 */
#define CALL_LIMIT 8
/** Instructions that are looked at in the time of one that is followed. */
#define LOOKED_A_STEP 4

static bool stores(const struct instruction *instruction, uint32_t label, uint64_t offset)
{
    return instruction->verb == INSTRUCTION_MOVE && instruction->to.kind == OPERAND_BASED &&
           instruction->to.width == 4 && (uint64_t)instruction->to.number == offset &&
           instruction->from.kind == OPERAND_IMMEDIATE &&
           machine_cut((uint64_t)instruction->from.number, 4) == label;
}

/** The line that a function reports when a call has failed; 0: that is not certain. */
static uint32_t line_of(struct machine *machine, uint64_t call)
{
    struct machine_report reports[MACHINE_CHAIN_LIMIT];
    size_t count = machine_find_reports(machine, call, reports, MACHINE_CHAIN_LIMIT);
    return count && reports[0].direct ? reports[count - 1].line : 0;
}

/** The call of a delegate that leads to the store; 0: there are several, of several lines. */
static uint64_t find_call(struct machine *machine, uint64_t store)
{
    uint64_t calls[CALL_LIMIT];
    uint64_t best = 0;
    uint32_t line = 0;
    size_t count = machine_find_calls_leading(machine, store, calls, CALL_LIMIT);
    for (size_t i = 0; i < count; i++) {
        uint32_t own = count > 1 ? line_of(machine, calls[i]) : 0;
        if (own && line && own != line)
            return 0;
        best = !best || (own && !line) ? calls[i] : best;
        line = own ? own : line;
    }
    return best;
}

uint64_t machine_find_suspension(struct machine *machine, uint64_t start, uint32_t label,
                                 uint64_t offset)
{
    const struct machine_function *function = machine_find_function(&machine->image, start);
    uint64_t found = 0;
    size_t looked = 0;
    if (!function || function->start != start || function->end - start > SIZE_LIMIT)
        return 0;
    for (uint64_t at = start; at < function->end;) {
        if (looked++ % LOOKED_A_STEP == 0 && !machine_spend_steps(machine, 1))
            return 0;
        struct instruction instruction = *machine_decode(machine->decoder, &machine->image, at);
        if (instruction.verb == INSTRUCTION_BAD)
            break;
        if (stores(&instruction, label, offset)) {
            uint64_t call = find_call(machine, at);
            /* A way that was copied may stand for several lines. */
            if (!call || (found && found != call))
                return 0;
            found = call;
        }
        at += instruction.size;
    }
    return found;
}

static const struct machine_function *whole_function(struct machine *machine, uint64_t address)
{
    const struct machine_function *function = machine_find_function(&machine->image, address);
    const struct machine_function *parent =
        function ? machine_find_jumping(machine, function) : NULL;
    return parent ? parent : function;
}

bool machine_same_function(struct machine *machine, uint64_t a, uint64_t b)
{
    const struct machine_function *function = whole_function(machine, a);
    return function && function == whole_function(machine, b);
}
