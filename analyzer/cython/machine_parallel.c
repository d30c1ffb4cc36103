/*
 * Bodies of parallel blocks. What fails in one is not reported there: the body leaves exception,
 * file and line in memory that it shares with the function which began the block, and that one
 * reports them (Cython/Compiler/Nodes.py, ParallelStatNode.fetch_parallel_exception()). So the
 * place of the line is that which the function reports from, and the line is what the body stores
 * there.
 */
#include "machine_explore.h"

#include <stdlib.h>

/** Calls that may fail, from the end of a block to the report. */
#define CALL_LIMIT 3
/** Bytes of shared memory. */
#define SHARED_LIMIT ((uint64_t)1 << 14)
/** Bytes of a function that are looked through for the call. */
#define SWEEP_LIMIT ((uint64_t)256 << 10)
/** What __kmpc_fork_call() hands on by address: shared variables of a block. */
#define VARIABLE_LIMIT 256

bool machine_begins_parallel(struct machine_target target)
{
    return target.import &&
           (strncmp(target.import, "GOMP_parallel", strlen("GOMP_parallel")) == 0 ||
            strncmp(target.import, "__kmpc_fork_call", strlen("__kmpc_fork_call")) == 0);
}

/* ---- where it begins ---- */

/** The call that begins a block. */
struct beginning {
    struct machine_state state; /**< At the call. */
    uint64_t end;               /**< Behind it. */
    bool libgomp;
};

/**
 * Of GOMP_parallel(void (*fn)(void *), void *data, unsigned threads, unsigned flags) or
 * __kmpc_fork_call(ident_t *loc, kmp_int32 argc, kmpc_micro microtask, ...).
 */
static bool is_beginning(const struct machine *machine, const struct machine_state *state,
                         const struct machine_instruction *instruction, uint64_t body,
                         struct beginning *ret)
{
    struct machine_target target = machine_operand_target(machine, &instruction->to);
    if (!machine_begins_parallel(target))
        return false;
    bool libgomp = target.import[0] == 'G';
    struct value function = state->registers[libgomp ? MACHINE_RDI : MACHINE_RDX];
    if (function.kind != VALUE_CONSTANT || function.number != body)
        return false;
    *ret = (struct beginning){*state, instruction->address + instruction->size, libgomp};
    return true;
}

/** As the function stands, not as it runs: what is handed over is made ready right before. */
static bool find_beginning(struct machine *machine, const struct machine_function *function,
                           uint64_t body, struct beginning *ret)
{
    struct machine_state state;
    machine_state_init(&state, function->start);
    for (uint64_t at = function->start; at < function->end && at - function->start < SWEEP_LIMIT;) {
        struct machine_instruction instruction =
            *machine_decode(machine->decoder, &machine->image, at);
        if (instruction.verb == MACHINE_BAD)
            return false;
        at += instruction.size;
        switch (instruction.verb) {
        case MACHINE_CALL:
            if (is_beginning(machine, &state, &instruction, body, ret))
                return true;
            machine_state_return(&state, (struct value){VALUE_UNKNOWN, 0});
            break;
        case MACHINE_JUMP:
        case MACHINE_RETURN:
        case MACHINE_STOP:
            machine_state_init(&state, at);
            break;
        default:
            machine_state_step(&state, &machine->image, &instruction);
            break;
        }
    }
    return false;
}

/* ---- what is reported behind it ---- */

static bool is_kept(struct value value)
{
    return value.kind == VALUE_KEPT_STACK || value.kind == VALUE_KEPT_FRAME;
}

static struct value reported_line(const struct machine *machine, const struct machine_state *state,
                                  struct machine_target target)
{
    const struct machine_anchor *anchor =
        target.import ? NULL : machine_find_anchor(machine, target.address);
    return anchor ? machine_resolve(state, anchor->line) : (struct value){VALUE_UNKNOWN, 0};
}

static enum machine_verdict kept_report_call(struct machine_exploration *exploration,
                                             struct machine_state *state,
                                             struct machine_target target)
{
    if (machine_find_anchor(exploration->machine, target.import ? 0 : target.address))
        return is_kept(reported_line(exploration->machine, state, target)) ? MACHINE_FOUND
                                                                           : MACHINE_END_WAY;
    return machine_is_clean(exploration->machine, target) ? MACHINE_PASS_FREE
                                                          : MACHINE_PASS_COUNTED;
}

/** The stack's place whose number is reported when the block has failed. */
static struct value find_reported_place(struct machine *machine, uint64_t end)
{
    struct machine_state start;
    struct value place = {VALUE_UNKNOWN, 0};
    machine_state_init(&start, end);
    start.keeps = true;
    struct machine_exploration exploration = {
        .on_call = kept_report_call, .error = true, .call_limit = CALL_LIMIT};
    struct machine_state *found = NULL;
    if (machine_exploration_init(&exploration, machine, &start))
        found = machine_explore(&exploration);
    machine_exploration_deinit(&exploration);
    if (!found)
        return place;
    struct machine_instruction call = *machine_decode(machine->decoder, &machine->image, found->pc);
    place = reported_line(machine, found, machine_operand_target(machine, &call.to));
    free(found);
    place.kind = place.kind == VALUE_KEPT_STACK ? VALUE_STACK : VALUE_FRAME;
    return place;
}

/** A place as it is seen behind the call, where the search begins anew. */
static struct value seen_behind(const struct machine_state *state, struct value place)
{
    struct value top = state->registers[MACHINE_RSP], frame = state->registers[MACHINE_RBP];
    if (place.kind == top.kind && !(place.kind == frame.kind && place.kind == VALUE_FRAME))
        return (struct value){VALUE_STACK, place.number - top.number};
    if (place.kind == frame.kind)
        return (struct value){VALUE_FRAME, place.number - frame.number};
    return (struct value){VALUE_UNKNOWN, 0};
}

/** @return how far a place is behind another one; UINT64_MAX: that is not known. */
static uint64_t distance(const struct machine_state *state, struct value from, struct value to)
{
    struct value base = seen_behind(state, from);
    return base.kind == to.kind ? to.number - base.number : UINT64_MAX;
}

/** The variable's address is one of those that follow the function; bodies have two before it. */
static bool find_variable(const struct machine_state *state, struct value place,
                          struct machine_block *block)
{
    static const uint8_t given[] = {MACHINE_RCX, MACHINE_R8, MACHINE_R9};
    static const uint8_t taken[] = {MACHINE_RDX, MACHINE_RCX, MACHINE_R8, MACHINE_R9};
    for (uint64_t i = 0; i < VARIABLE_LIMIT; i++) {
        struct value variable = i < PSC_ARRAY_SIZE(given)
                                    ? state->registers[given[i]]
                                    : machine_state_load(state, 8 * (i - PSC_ARRAY_SIZE(given)), 8);
        if (distance(state, variable, place) != 0)
            continue;
        block->line_base = i < PSC_ARRAY_SIZE(taken)
                               ? (struct value){VALUE_ARGUMENT, taken[i]}
                               : (struct value){VALUE_STACK, 8 + 8 * (i - PSC_ARRAY_SIZE(taken))};
        return true;
    }
    return false;
}

static void find_line_place(struct machine *machine, const struct beginning *beginning,
                            struct machine_block *block)
{
    struct value place = find_reported_place(machine, beginning->end);
    if (place.kind == VALUE_UNKNOWN)
        return;
    if (!beginning->libgomp) {
        block->keeps_line = find_variable(&beginning->state, place, block);
        return;
    }
    block->line_base = (struct value){VALUE_ARGUMENT, MACHINE_RDI};
    block->line_offset =
        distance(&beginning->state, beginning->state.registers[MACHINE_RSI], place);
    block->keeps_line = block->line_offset < SHARED_LIMIT;
}

const struct machine_block *machine_find_block(struct machine *machine,
                                               const struct machine_function *function)
{
    const struct machine_function *parent = machine_find_addressing(machine, function);
    if (!parent)
        return NULL;
    for (size_t i = 0; i < machine->block_count; i++)
        if (machine->blocks[i].body == function)
            return machine->blocks[i].parent ? &machine->blocks[i] : NULL;
    if (!array_reserve((void **)&machine->blocks, &machine->block_capacity,
                       machine->block_count + 1, sizeof(*machine->blocks)))
        return NULL;
    struct machine_block *block = &machine->blocks[machine->block_count++];
    struct beginning beginning;
    *block = (struct machine_block){.body = function};
    if (!find_beginning(machine, parent, function->start, &beginning))
        return NULL;
    block->parent = parent;
    block->call = beginning.end - 1;
    find_line_place(machine, &beginning, block);
    return block;
}

/* ---- inside of it ---- */

static enum machine_verdict pass_any(struct machine_exploration *exploration,
                                     struct machine_state *state, struct machine_target target)
{
    (void)exploration;
    (void)state;
    (void)target;
    return MACHINE_PASS_FREE;
}

/** What is shared is where the body put its address at its entry, on whatever way. */
static struct machine_state *come_to(struct machine *machine, const struct machine_block *block,
                                     uint64_t pc)
{
    struct machine_state entry;
    const struct value shared = {VALUE_SHARED, 0};
    machine_state_init(&entry, block->body->start);
    if (block->line_base.kind == VALUE_ARGUMENT)
        entry.registers[block->line_base.number % MACHINE_REGISTERS] = shared;
    else
        machine_state_store_at(&entry, block->line_base, 8, shared);
    struct machine_exploration exploration = {.on_call = pass_any, .goal = pc};
    struct machine_state *found = NULL;
    if (machine_exploration_init(&exploration, machine, &entry))
        found = machine_explore(&exploration);
    machine_exploration_deinit(&exploration);
    return found;
}

void machine_enter_block(struct machine *machine, const struct machine_function *function,
                         struct machine_state *state)
{
    const struct machine_block *block = machine_find_block(machine, function);
    if (!block || !block->keeps_line)
        return;
    struct machine_state *there = come_to(machine, block, state->pc);
    if (!there)
        return;
    state->line_place = (struct value){VALUE_SHARED, block->line_offset};
    for (size_t i = 0; i < MACHINE_REGISTERS; i++)
        if (there->registers[i].kind == VALUE_SHARED)
            state->registers[i] = there->registers[i];
    for (size_t i = 0; i < there->slot_count; i++) {
        const struct memory_slot *slot = &there->slots[i];
        struct value at = slot->at.kind == VALUE_SHARED ? (struct value){VALUE_UNKNOWN, 0}
                                                        : seen_behind(there, slot->at);
        if (slot->value.kind == VALUE_SHARED)
            machine_state_store_at(state, at, slot->width, slot->value);
    }
    free(there);
}

uint32_t machine_kept_line(const struct machine_state *state)
{
    if (state->line_place.kind != VALUE_SHARED)
        return 0;
    struct value line = machine_state_load_at(state, state->line_place, 4);
    return line.kind == VALUE_CONSTANT && line.number < INT32_MAX ? (uint32_t)line.number : 0;
}
