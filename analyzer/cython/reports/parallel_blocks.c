/*
 * Bodies of parallel blocks. What fails in one is not reported there: the body leaves exception,
 * file and line in memory that it shares with the function which began the block, and that one
 * reports them (Cython/Compiler/Nodes.py, ParallelStatNode.fetch_parallel_exception()). So the
 * address of the line is the one that the function reports from, and the line is what the body
 * stores there.
 */
#include "reports_private.h"

#include <stdlib.h>
#include <string.h>

/** Calls that may fail, from the end of a block to the report. */
#define CALL_LIMIT 3
/** Bytes of shared memory. */
#define SHARED_LIMIT ((uint64_t)1 << 14)
/** Bytes of a function that are searched for the call. */
#define SWEEP_LIMIT ((uint64_t)256 << 10)
/** Shared variables of a block, which __kmpc_fork_call() passes by address. */
#define VARIABLE_LIMIT 256
/** Added to the addresses of one of two shared areas, so that they differ from all of the other. */
#define ANOTHER_VARIABLE ((uint64_t)1 << 40)

/* Arguments, from 0. GOMP_parallel(void (*fn)(void *), void *data, unsigned threads, unsigned
 * flags)
 */
#define GOMP_BODY 0
#define GOMP_DATA 1
/* __kmpc_fork_call(ident_t *loc, kmp_int32 argc, kmpc_micro microtask, ...): shared variables. */
#define KMPC_BODY      2
#define KMPC_VARIABLES 3
/* Of the body itself: void *data; and kmp_int32 *global_tid, kmp_int32 *bound_tid, variables. */
#define GOMP_BODY_DATA      0
#define KMPC_BODY_VARIABLES 2

bool reports_is_block_call(struct flow *flow, uint64_t address)
{
    const struct code_image *image = &flow->image;
    const struct code_function *function = code_find_function(image, address);
    struct code_range before =
        function ? code_of_function(image, function) : (struct code_range){0};
    struct code_reference call;
    if (!before.bytes || address - before.address >= before.size)
        return false;
    before.size = (size_t)(address + 1 - before.address);
    for (unsigned direct = 0; direct < 2; direct++)
        if (image->abi->read_call_before(&before, direct, &call) &&
            flow_begins_parallel(code_reference_target(image, &call)))
            return true;
    return false;
}

/* ---- where a block begins ---- */

/** The call that begins a block. */
struct beginning {
    struct flow_state state; /**< At the call. */
    uint64_t end;            /**< Behind it. */
    bool libgomp;
};

static enum flow_verdict pass_any(struct flow_exploration *exploration, struct flow_state *state,
                                  struct code_target target)
{
    (void)exploration;
    (void)state;
    (void)target;
    return FLOW_PASS_FREE;
}

/** What was set long before the call, on a path from the entry of the function. */
static void come_to_beginning(struct flow *flow, struct beginning *beginning, uint64_t call)
{
    const struct code_function *function = code_find_function(&flow->image, call);
    struct flow_state entry;
    if (beginning->libgomp &&
        flow_state_argument(&beginning->state, GOMP_DATA, 8).kind != ABSTRACT_UNKNOWN)
        return;
    flow_state_init(&entry, flow->image.abi, function ? function->start : call);
    struct flow_exploration exploration = {.on_call = pass_any, .goal = call};
    struct flow_state *found = flow_explore_once(&exploration, flow, &entry);
    if (found)
        flow_state_copy(found, &beginning->state);
    free(found);
}

/** Whether a call begins the block of a body. */
static bool is_beginning(struct flow *flow, const struct flow_state *state,
                         const struct instruction *instruction, uint64_t body,
                         struct beginning *ret)
{
    struct code_target target = flow_operand_target(flow, &instruction->to);
    if (!flow_begins_parallel(target))
        return false;
    bool libgomp = target.import[0] == 'G';
    struct abstract_value function = flow_state_argument(state, libgomp ? GOMP_BODY : KMPC_BODY, 8);
    if (function.kind != ABSTRACT_CONSTANT || function.number != body)
        return false;
    *ret = (struct beginning){*state, instruction->address + instruction->size, libgomp};
    come_to_beginning(flow, ret, instruction->address);
    return true;
}

/** The search for a call that begins the block of a body. */
struct beginning_search {
    uint64_t body;
    struct beginning *ret;
    bool found;
};

static bool try_beginning(void *context, struct flow *flow, const struct flow_state *state,
                          const struct instruction *instruction)
{
    struct beginning_search *search = context;
    search->found = is_beginning(flow, state, instruction, search->body, search->ret);
    return !search->found;
}

/** The arguments are set right before the call. */
static bool find_beginning(struct flow *flow, const struct code_function *function, uint64_t body,
                           struct beginning *ret)
{
    struct beginning_search search = {.body = body, .ret = ret};
    flow_sweep(flow, function, SWEEP_LIMIT, try_beginning, &search);
    return search.found;
}

/* ---- what is reported behind a block ---- */

static bool is_kept(struct abstract_value value)
{
    return value.kind == ABSTRACT_KEPT_STACK || value.kind == ABSTRACT_KEPT_FRAME;
}

static enum flow_verdict kept_report_call(struct flow_exploration *exploration,
                                          struct flow_state *state, struct code_target target)
{
    const struct traceback_helper *helper =
        flow_find_traceback_helper(exploration->flow, target.address);
    if (helper)
        return is_kept(flow_state_resolve(state, helper->line)) ? FLOW_FOUND : FLOW_END_PATH;
    return flow_is_cleanup(exploration->flow, target) ? FLOW_PASS_FREE : FLOW_PASS_COUNTED;
}

/** What the stack holds where it is reported from; ABSTRACT_UNKNOWN when that is not on the stack.
 */
static struct abstract_value address_of(struct abstract_value value)
{
    if (!is_kept(value))
        return (struct abstract_value){ABSTRACT_UNKNOWN, 0};
    value.kind = value.kind == ABSTRACT_KEPT_STACK ? ABSTRACT_STACK : ABSTRACT_FRAME;
    return value;
}

/** The addresses on the stack whose contents are reported when the block has failed. */
static bool find_reported_addresses(struct flow *flow, uint64_t end,
                                    struct abstract_value *ret_line,
                                    struct abstract_value *ret_file)
{
    struct flow_state start;
    flow_state_init(&start, flow->image.abi, end);
    start.keeps = true;
    struct flow_exploration exploration = {
        .on_call = kept_report_call, .error = true, .call_limit = CALL_LIMIT};
    struct flow_state *found = flow_explore_once(&exploration, flow, &start);
    if (!found)
        return false;
    struct instruction call = *flow_decode(flow, found->pc);
    const struct traceback_helper *helper =
        flow_find_traceback_helper(flow, flow_operand_target(flow, &call.to).address);
    if (helper) {
        *ret_line = address_of(flow_state_resolve(found, helper->line));
        *ret_file = address_of(flow_state_resolve(found, helper->file));
    }
    free(found);
    return helper;
}

/**
 * An address as it is named where a search begins anew, from the stack pointer or the frame
 * pointer.
 * @param number  the register.
 */
static struct abstract_value name_from(const struct flow_state *state, uint8_t number,
                                       struct abstract_value address)
{
    struct abstract_value base = state->registers[number];
    bool same =
        address.kind == base.kind && (base.kind == ABSTRACT_STACK || base.kind == ABSTRACT_FRAME);
    if (!same)
        return (struct abstract_value){ABSTRACT_UNKNOWN, 0};
    return (struct abstract_value){number == state->abi->stack_pointer ? ABSTRACT_STACK
                                                                       : ABSTRACT_FRAME,
                                   address.number - base.number};
}

/**
 * @param to  as named behind the call.
 * @return how far it lies behind `to`; UINT64_MAX: that is not known.
 */
static uint64_t distance(const struct flow_state *state, struct abstract_value from,
                         struct abstract_value to)
{
    const struct code_abi *abi = state->abi;
    struct abstract_value base =
        name_from(state, to.kind == ABSTRACT_STACK ? abi->stack_pointer : abi->frame_pointer, from);
    return base.kind != ABSTRACT_UNKNOWN ? to.number - base.number : UINT64_MAX;
}

/** The variable's address is one of those that follow the function; bodies have two before it. */
static void find_variable(const struct flow_state *state, struct abstract_value address,
                          struct block_variable *ret)
{
    for (unsigned i = 0; i < VARIABLE_LIMIT && !ret->known; i++) {
        struct abstract_value variable = flow_state_argument(state, KMPC_VARIABLES + i, 8);
        ret->known = distance(state, variable, address) == 0;
        ret->base = flow_entry_argument(state->abi, KMPC_BODY_VARIABLES + i);
    }
}

/** libgomp's bodies are given one structure. */
static void find_shared(const struct beginning *beginning, struct abstract_value address,
                        struct block_variable *ret)
{
    if (address.kind == ABSTRACT_UNKNOWN)
        return;
    if (!beginning->libgomp) {
        find_variable(&beginning->state, address, ret);
        return;
    }
    ret->base = flow_entry_argument(beginning->state.abi, GOMP_BODY_DATA);
    ret->offset =
        distance(&beginning->state, flow_state_argument(&beginning->state, GOMP_DATA, 8), address);
    ret->known = ret->offset < SHARED_LIMIT;
}

/** Functions that were asked for, in no order. */
struct parallel_blocks {
    struct parallel_block *items;
    size_t count;
    size_t capacity;
};

void reports_destroy_blocks(struct parallel_blocks *blocks)
{
    if (blocks)
        free(blocks->items);
    free(blocks);
}

const struct parallel_block *reports_find_block(struct reports *reports,
                                                const struct code_function *function)
{
    struct flow *flow = &reports->flow;
    const struct code_function *parent =
        flow->has_parallel ? code_find_addressing(&flow->image, function) : NULL;
    if (!parent)
        return NULL;
    if (!reports->blocks)
        reports->blocks = calloc(1, sizeof(*reports->blocks));
    struct parallel_blocks *blocks = reports->blocks;
    for (size_t i = 0; blocks && i < blocks->count; i++)
        if (blocks->items[i].body == function)
            return blocks->items[i].parent ? &blocks->items[i] : NULL;
    if (!blocks || !array_reserve((void **)&blocks->items, &blocks->capacity, blocks->count + 1,
                                  sizeof(*blocks->items)))
        return NULL;
    struct parallel_block *block = &blocks->items[blocks->count++];
    struct beginning beginning;
    struct abstract_value line = {ABSTRACT_UNKNOWN, 0}, file = line;
    *block = (struct parallel_block){.body = function};
    if (!find_beginning(flow, parent, function->start, &beginning))
        return NULL;
    block->parent = parent;
    block->call = beginning.end - 1;
    if (find_reported_addresses(flow, beginning.end, &line, &file)) {
        find_shared(&beginning, line, &block->line);
        find_shared(&beginning, file, &block->file);
    }
    return block;
}

/* ---- inside the body ---- */

/** The name of a shared variable's memory: with libgomp all of them are in one structure. */
static struct abstract_value shared_at(const struct parallel_block *block,
                                       const struct block_variable *shared)
{
    bool same = shared == &block->line || (shared->base.kind == block->line.base.kind &&
                                           shared->base.number == block->line.base.number);
    return (struct abstract_value){ABSTRACT_SHARED, same ? 0 : ANOTHER_VARIABLE};
}

static void give(struct flow_state *entry, const struct parallel_block *block,
                 const struct block_variable *shared)
{
    struct abstract_value value = shared_at(block, shared);
    if (!shared->known)
        return;
    if (shared->base.kind == ABSTRACT_ARGUMENT)
        entry->registers[shared->base.number % entry->abi->register_count] = value;
    else
        flow_state_store_at(entry, shared->base, 8, value);
}

/** Shared memory is known wherever the body has put its address, on whatever path. */
static struct flow_state *come_to(struct flow *flow, const struct parallel_block *block,
                                  uint64_t pc)
{
    struct flow_state entry;
    flow_state_init(&entry, flow->image.abi, block->body->start);
    give(&entry, block, &block->line);
    give(&entry, block, &block->file);
    struct flow_exploration exploration = {.on_call = pass_any, .goal = pc};
    struct flow_state *found = flow_explore_once(&exploration, flow, &entry);
    return found;
}

static struct abstract_value address_in(const struct parallel_block *block,
                                        const struct block_variable *shared)
{
    struct abstract_value address = shared_at(block, shared);
    address.number += shared->offset;
    return shared->known ? address : (struct abstract_value){ABSTRACT_UNKNOWN, 0};
}

void reports_enter_block(struct reports *reports, const struct code_function *function,
                         struct flow_state *state)
{
    const struct parallel_block *block = reports_find_block(reports, function);
    if (!block || !block->line.known)
        return;
    const struct code_abi *abi = state->abi;
    struct flow_state *there = come_to(&reports->flow, block, state->pc);
    if (!there)
        return;
    state->line_address = address_in(block, &block->line);
    state->file_address = address_in(block, &block->file);
    for (size_t i = 0; i < abi->register_count; i++)
        if (there->registers[i].kind == ABSTRACT_SHARED)
            state->registers[i] = there->registers[i];
    for (size_t i = 0; i < there->slot_count; i++) {
        const struct flow_slot *slot = &there->slots[i];
        if (slot->value.kind != ABSTRACT_SHARED)
            continue;
        /* The code may name the memory by either of the two registers. */
        flow_state_store_at(state, name_from(there, abi->stack_pointer, slot->at), slot->width,
                            slot->value);
        flow_state_store_at(state, name_from(there, abi->frame_pointer, slot->at), slot->width,
                            slot->value);
    }
    free(there);
}

uint32_t reports_kept_line(const struct flow_state *state)
{
    if (state->line_address.kind != ABSTRACT_SHARED)
        return 0;
    struct abstract_value line = flow_state_load_at(state, state->line_address, 4);
    return line.kind == ABSTRACT_CONSTANT && line.number < INT32_MAX ? (uint32_t)line.number : 0;
}

const char *reports_kept_file(const struct flow *flow, const struct flow_state *state)
{
    struct abstract_value file = flow_state_load_at(state, state->file_address, 8);
    return file.kind == ABSTRACT_CONSTANT ? code_string(&flow->image, file.number) : NULL;
}
