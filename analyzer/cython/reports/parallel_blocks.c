/*
 * Bodies of parallel blocks. What fails in one is not reported there: the body leaves exception,
 * file and line in memory that it shares with the function which began the block, and that one
 * reports them (Cython/Compiler/Nodes.py, ParallelStatNode.fetch_parallel_exception()). So the
 * place of the line is that which the function reports from, and the line is what the body stores
 * there.
 */
#include "explore.h"

#include <stdlib.h>

/** Calls that may fail, from the end of a block to the report. */
#define CALL_LIMIT 3
/** Bytes of shared memory. */
#define SHARED_LIMIT ((uint64_t)1 << 14)
/** Bytes of a function that are looked through for the call. */
#define SWEEP_LIMIT ((uint64_t)256 << 10)
/** What __kmpc_fork_call() hands on by address: shared variables of a block. */
#define VARIABLE_LIMIT 256
/** Apart from all places in the other one. */
#define ANOTHER_VARIABLE ((uint64_t)1 << 40)

bool machine_begins_parallel(struct machine_target target)
{
    return target.import &&
           (strncmp(target.import, "GOMP_parallel", strlen("GOMP_parallel")) == 0 ||
            strncmp(target.import, "__kmpc_fork_call", strlen("__kmpc_fork_call")) == 0);
}

bool machine_is_block_call(struct machine *machine, uint64_t address)
{
    /* e8 rel32, or ff 15 rel32 where there is no procedure linkage table. */
    for (unsigned size = 5; size <= 6; size++) {
        const struct instruction *call =
            machine_decode(machine->decoder, &machine->image, address + 1 - size);
        if (call->verb == INSTRUCTION_CALL && call->size == size &&
            machine_begins_parallel(machine_operand_target(machine, &call->to)))
            return true;
    }
    return false;
}

/* ---- where it begins ---- */

/** The call that begins a block. */
struct beginning {
    struct machine_state state; /**< At the call. */
    uint64_t end;               /**< Behind it. */
    bool libgomp;
};

static enum machine_verdict pass_any(struct machine_exploration *exploration,
                                     struct machine_state *state, struct machine_target target)
{
    (void)exploration;
    (void)state;
    (void)target;
    return MACHINE_PASS_FREE;
}

/** What was made ready long before, on a way from the entry of the function. */
static void come_to_beginning(struct machine *machine, struct beginning *beginning, uint64_t call)
{
    const struct machine_function *function = machine_find_function(&machine->image, call);
    struct machine_state entry;
    if (beginning->libgomp && beginning->state.registers[MACHINE_RSI].kind != VALUE_UNKNOWN)
        return;
    machine_state_init(&entry, function ? function->start : call);
    struct machine_exploration exploration = {.on_call = pass_any, .goal = call};
    struct machine_state *found = NULL;
    if (machine_exploration_init(&exploration, machine, &entry))
        found = machine_explore(&exploration);
    machine_exploration_deinit(&exploration);
    if (found)
        beginning->state = *found;
    free(found);
}

/**
 * Of GOMP_parallel(void (*fn)(void *), void *data, unsigned threads, unsigned flags) or
 * __kmpc_fork_call(ident_t *loc, kmp_int32 argc, kmpc_micro microtask, ...).
 */
static bool is_beginning(struct machine *machine, const struct machine_state *state,
                         const struct instruction *instruction, uint64_t body,
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
    come_to_beginning(machine, ret, instruction->address);
    return true;
}

/** The search for a call that begins the block of a body. */
struct beginning_search {
    uint64_t body;
    struct beginning *ret;
    bool found;
};

static bool try_beginning(void *context, struct machine *machine, const struct machine_state *state,
                          const struct instruction *instruction)
{
    struct beginning_search *search = context;
    search->found = is_beginning(machine, state, instruction, search->body, search->ret);
    return !search->found;
}

/** What is handed over is made ready right before. */
static bool find_beginning(struct machine *machine, const struct machine_function *function,
                           uint64_t body, struct beginning *ret)
{
    struct beginning_search search = {.body = body, .ret = ret};
    machine_sweep(machine, function, SWEEP_LIMIT, try_beginning, &search);
    return search.found;
}

/* ---- what is reported behind it ---- */

static bool is_kept(struct value value)
{
    return value.kind == VALUE_KEPT_STACK || value.kind == VALUE_KEPT_FRAME;
}

static enum machine_verdict kept_report_call(struct machine_exploration *exploration,
                                             struct machine_state *state,
                                             struct machine_target target)
{
    const struct machine_anchor *anchor = machine_find_anchor(exploration->machine, target.address);
    if (anchor)
        return is_kept(machine_resolve(state, anchor->line)) ? MACHINE_FOUND : MACHINE_END_WAY;
    return machine_is_clean(exploration->machine, target) ? MACHINE_PASS_FREE
                                                          : MACHINE_PASS_COUNTED;
}

/** What the stack holds where it is reported from; VALUE_UNKNOWN when that is not on the stack. */
static struct value place_of(struct value value)
{
    if (!is_kept(value))
        return (struct value){VALUE_UNKNOWN, 0};
    value.kind = value.kind == VALUE_KEPT_STACK ? VALUE_STACK : VALUE_FRAME;
    return value;
}

/** The stack's places whose contents are reported when the block has failed. */
static bool find_reported_places(struct machine *machine, uint64_t end, struct value *ret_line,
                                 struct value *ret_file)
{
    struct machine_state start;
    machine_state_init(&start, end);
    start.keeps = true;
    struct machine_exploration exploration = {
        .on_call = kept_report_call, .error = true, .call_limit = CALL_LIMIT};
    struct machine_state *found = NULL;
    if (machine_exploration_init(&exploration, machine, &start))
        found = machine_explore(&exploration);
    machine_exploration_deinit(&exploration);
    if (!found)
        return false;
    struct instruction call = *machine_decode(machine->decoder, &machine->image, found->pc);
    const struct machine_anchor *anchor =
        machine_find_anchor(machine, machine_operand_target(machine, &call.to).address);
    if (anchor) {
        *ret_line = place_of(machine_resolve(found, anchor->line));
        *ret_file = place_of(machine_resolve(found, anchor->file));
    }
    free(found);
    return anchor;
}

/**
 * A place as it is named where a search begins anew, from the stack pointer or the frame pointer.
 * @param number  the register.
 */
static struct value name_from(const struct machine_state *state, enum machine_register number,
                              struct value place)
{
    struct value base = state->registers[number];
    bool same = place.kind == base.kind && (base.kind == VALUE_STACK || base.kind == VALUE_FRAME);
    if (!same)
        return (struct value){VALUE_UNKNOWN, 0};
    return (struct value){number == MACHINE_RSP ? VALUE_STACK : VALUE_FRAME,
                          place.number - base.number};
}

/**
 * @param to  as named behind the call.
 * @return how far it is behind a place; UINT64_MAX: that is not known.
 */
static uint64_t distance(const struct machine_state *state, struct value from, struct value to)
{
    struct value base = name_from(state, to.kind == VALUE_STACK ? MACHINE_RSP : MACHINE_RBP, from);
    return base.kind != VALUE_UNKNOWN ? to.number - base.number : UINT64_MAX;
}

/** The variable's address is one of those that follow the function; bodies have two before it. */
static void find_variable(const struct machine_state *state, struct value place,
                          struct machine_shared *ret)
{
    static const uint8_t given[] = {MACHINE_RCX, MACHINE_R8, MACHINE_R9};
    static const uint8_t taken[] = {MACHINE_RDX, MACHINE_RCX, MACHINE_R8, MACHINE_R9};
    for (uint64_t i = 0; i < VARIABLE_LIMIT && !ret->known; i++) {
        struct value variable = i < PSC_ARRAY_SIZE(given)
                                    ? state->registers[given[i]]
                                    : machine_state_load(state, 8 * (i - PSC_ARRAY_SIZE(given)), 8);
        ret->known = distance(state, variable, place) == 0;
        ret->base = i < PSC_ARRAY_SIZE(taken)
                        ? (struct value){VALUE_ARGUMENT, taken[i]}
                        : (struct value){VALUE_STACK, 8 + 8 * (i - PSC_ARRAY_SIZE(taken))};
    }
}

/** libgomp's bodies are given one structure. */
static void find_shared(const struct beginning *beginning, struct value place,
                        struct machine_shared *ret)
{
    if (place.kind == VALUE_UNKNOWN)
        return;
    if (!beginning->libgomp) {
        find_variable(&beginning->state, place, ret);
        return;
    }
    ret->base = (struct value){VALUE_ARGUMENT, MACHINE_RDI};
    ret->offset = distance(&beginning->state, beginning->state.registers[MACHINE_RSI], place);
    ret->known = ret->offset < SHARED_LIMIT;
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
    struct value line = {VALUE_UNKNOWN, 0}, file = line;
    *block = (struct machine_block){.body = function};
    if (!find_beginning(machine, parent, function->start, &beginning))
        return NULL;
    block->parent = parent;
    block->call = beginning.end - 1;
    if (find_reported_places(machine, beginning.end, &line, &file)) {
        find_shared(&beginning, line, &block->line);
        find_shared(&beginning, file, &block->file);
    }
    return block;
}

/* ---- inside of it ---- */

/** What memory that is shared is called: of libgomp all in one. */
static struct value shared_at(const struct machine_block *block,
                              const struct machine_shared *shared)
{
    bool same = shared == &block->line || (shared->base.kind == block->line.base.kind &&
                                           shared->base.number == block->line.base.number);
    return (struct value){VALUE_SHARED, same ? 0 : ANOTHER_VARIABLE};
}

static void give(struct machine_state *entry, const struct machine_block *block,
                 const struct machine_shared *shared)
{
    struct value value = shared_at(block, shared);
    if (!shared->known)
        return;
    if (shared->base.kind == VALUE_ARGUMENT)
        entry->registers[shared->base.number % MACHINE_REGISTERS] = value;
    else
        machine_state_store_at(entry, shared->base, 8, value);
}

/** What is shared is where the body put its address at its entry, on whatever way. */
static struct machine_state *come_to(struct machine *machine, const struct machine_block *block,
                                     uint64_t pc)
{
    struct machine_state entry;
    machine_state_init(&entry, block->body->start);
    give(&entry, block, &block->line);
    give(&entry, block, &block->file);
    struct machine_exploration exploration = {.on_call = pass_any, .goal = pc};
    struct machine_state *found = NULL;
    if (machine_exploration_init(&exploration, machine, &entry))
        found = machine_explore(&exploration);
    machine_exploration_deinit(&exploration);
    return found;
}

static struct value place_in(const struct machine_block *block, const struct machine_shared *shared)
{
    struct value place = shared_at(block, shared);
    place.number += shared->offset;
    return shared->known ? place : (struct value){VALUE_UNKNOWN, 0};
}

void machine_enter_block(struct machine *machine, const struct machine_function *function,
                         struct machine_state *state)
{
    const struct machine_block *block = machine_find_block(machine, function);
    if (!block || !block->line.known)
        return;
    struct machine_state *there = come_to(machine, block, state->pc);
    if (!there)
        return;
    state->line_place = place_in(block, &block->line);
    state->file_place = place_in(block, &block->file);
    for (size_t i = 0; i < MACHINE_REGISTERS; i++)
        if (there->registers[i].kind == VALUE_SHARED)
            state->registers[i] = there->registers[i];
    for (size_t i = 0; i < there->slot_count; i++) {
        const struct memory_slot *slot = &there->slots[i];
        if (slot->value.kind != VALUE_SHARED)
            continue;
        /* Whichever of the two the code goes by. */
        machine_state_store_at(state, name_from(there, MACHINE_RSP, slot->at), slot->width,
                               slot->value);
        machine_state_store_at(state, name_from(there, MACHINE_RBP, slot->at), slot->width,
                               slot->value);
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

const char *machine_kept_file(const struct machine *machine, const struct machine_state *state)
{
    struct value file = machine_state_load_at(state, state->file_place, 8);
    return file.kind == VALUE_CONSTANT ? machine_string(&machine->image, file.number) : NULL;
}
