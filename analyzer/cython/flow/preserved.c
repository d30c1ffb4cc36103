/*
 * What a call's caller keeps: compilers load the line, the name or the file of a report into a
 * register that calls preserve, or store it on the stack, long before the call. All paths from the
 * function's start to the call are followed; what is the same on each of them is what is there.
 */
#include "flow.h"

#include <stdlib.h>
#include <string.h>

/** Instructions followed, and entries of a `switch`, for one question. */
#define STEP_LIMIT 60000
/** Addresses where paths meet. */
#define JOIN_LIMIT 4096
/** Comparing this many of them takes as long as following one instruction. */
#define JOINS_A_STEP 32

/** Entries of one jump table. */
#define TABLE_LIMIT 1024

/** Constants stored on the stack that are kept. */
#define KNOWN_SLOT_LIMIT 16

/** Registers and stack slots that hold a constant or an address on the stack, which counts from the
 * stack pointer at the function's start. */
struct known {
    struct abstract_value registers[INSTRUCTION_REGISTER_LIMIT];
    struct flow_slot slots[KNOWN_SLOT_LIMIT];
    size_t slot_count;
};

/** Where a path begins: the function, and all that is jumped to. */
struct join {
    uint64_t start;
    uint64_t end; /**< Where following it ended the last time. */
    struct known known;
    bool dirty; /**< To be followed again. */
};

struct dataflow {
    struct flow *flow;
    const struct code_function *function; /**< That is followed, its fragments included. */
    struct join *joins;
    size_t count;
    size_t capacity;
    uint32_t *order; /**< Which of them, sorted by start. */
    size_t order_capacity;
    uint64_t *todo; /**< Starts of those that are dirty. */
    size_t todo_count;
    size_t todo_capacity;
    uint64_t call; /**< Where the call ends: the instruction behind it. */
    struct known at_call;
    bool call_reached;
    size_t steps;
    bool failed; /**< Not all paths could be followed. */
};

static bool is_kept(struct abstract_value value)
{
    return value.kind == ABSTRACT_CONSTANT || value.kind == ABSTRACT_STACK ||
           value.kind == ABSTRACT_FRAME;
}

static void keep_known(const struct flow_state *state, struct known *ret)
{
    *ret = (struct known){.slot_count = 0};
    for (size_t i = 0; i < state->abi->register_count; i++)
        if (is_kept(state->registers[i]))
            ret->registers[i] = state->registers[i];
    for (size_t i = 0; i < state->slot_count && ret->slot_count < KNOWN_SLOT_LIMIT; i++)
        if (state->slots[i].value.kind == ABSTRACT_CONSTANT && state->slots[i].value.number)
            ret->slots[ret->slot_count++] = state->slots[i];
}

static void load_known(const struct known *known, struct flow_state *state)
{
    memcpy(state->registers, known->registers, sizeof(state->registers));
    for (size_t i = 0; i < known->slot_count; i++)
        state->slots[i] = known->slots[i];
    state->slot_count = (uint16_t)known->slot_count;
}

static bool same_value(struct abstract_value a, struct abstract_value b)
{
    return a.kind == b.kind && a.number == b.number;
}

static bool has_slot(const struct known *known, const struct flow_slot *slot)
{
    for (size_t i = 0; i < known->slot_count; i++)
        if (same_value(known->slots[i].at, slot->at) && known->slots[i].width == slot->width &&
            same_value(known->slots[i].value, slot->value))
            return true;
    return false;
}

/** Keeps only what is the same on another path; true when something was taken away. */
static bool meet(struct known *known, const struct known *other)
{
    bool changed = false;
    for (size_t i = 0; i < INSTRUCTION_REGISTER_LIMIT; i++) {
        struct abstract_value *mine = &known->registers[i];
        if (mine->kind == ABSTRACT_UNKNOWN || same_value(*mine, other->registers[i]))
            continue;
        *mine = (struct abstract_value){ABSTRACT_UNKNOWN, 0};
        changed = true;
    }
    for (size_t i = 0; i < known->slot_count;) {
        if (has_slot(other, &known->slots[i])) {
            i++;
            continue;
        }
        known->slots[i] = known->slots[--known->slot_count];
        changed = true;
    }
    return changed;
}

/** The position in `order` of the join with this start, or where it is to be inserted. */
static size_t find_position(const struct dataflow *dataflow, uint64_t start)
{
    return SORTED_COUNT(i, dataflow->count, dataflow->joins[dataflow->order[i]].start < start);
}

static struct join *find_join(const struct dataflow *dataflow, uint64_t start)
{
    size_t position = find_position(dataflow, start);
    struct join *join =
        position < dataflow->count ? &dataflow->joins[dataflow->order[position]] : NULL;
    return join && join->start == start ? join : NULL;
}

static void make_dirty(struct dataflow *dataflow, struct join *join)
{
    if (join->dirty)
        return;
    if (!array_reserve((void **)&dataflow->todo, &dataflow->todo_capacity, dataflow->todo_count + 1,
                       sizeof(*dataflow->todo))) {
        dataflow->failed = true;
        return;
    }
    join->dirty = true;
    dataflow->todo[dataflow->todo_count++] = join->start;
}

static void add_join(struct dataflow *dataflow, uint64_t start, const struct known *known)
{
    if (dataflow->count >= JOIN_LIMIT ||
        !array_reserve((void **)&dataflow->joins, &dataflow->capacity, dataflow->count + 1,
                       sizeof(*dataflow->joins)) ||
        !array_reserve((void **)&dataflow->order, &dataflow->order_capacity, dataflow->count + 1,
                       sizeof(*dataflow->order)) ||
        !flow_spend_steps(dataflow->flow, 1 + dataflow->count / JOINS_A_STEP)) {
        dataflow->failed = true;
        return;
    }
    /* A path that was followed past this start must now end at it. */
    for (size_t i = 0; i < dataflow->count; i++)
        if (dataflow->joins[i].start < start && start < dataflow->joins[i].end)
            make_dirty(dataflow, &dataflow->joins[i]);
    size_t position = find_position(dataflow, start);
    memmove(dataflow->order + position + 1, dataflow->order + position,
            (dataflow->count - position) * sizeof(*dataflow->order));
    dataflow->order[position] = (uint32_t)dataflow->count;
    struct join *join = &dataflow->joins[dataflow->count++];
    *join = (struct join){.start = start, .end = start, .known = *known};
    make_dirty(dataflow, join);
}

/** A path leads to an address, and this is known there. */
static void reach(struct dataflow *dataflow, uint64_t start, const struct known *known)
{
    struct join *join = find_join(dataflow, start);
    if (!join)
        add_join(dataflow, start, known);
    else if (meet(&join->known, known))
        make_dirty(dataflow, join);
}

static void reach_with(struct dataflow *dataflow, uint64_t start, const struct flow_state *state)
{
    struct known known;
    keep_known(state, &known);
    reach(dataflow, start, &known);
}

/** A path has reached the end of the call. */
static void take_at_call(struct dataflow *dataflow, const struct flow_state *state)
{
    struct known known;
    keep_known(state, &known);
    if (dataflow->call_reached)
        meet(&dataflow->at_call, &known);
    else
        dataflow->at_call = known;
    dataflow->call_reached = true;
}

/** Counts what was read; false when the limit is reached. */
static bool spend(struct dataflow *dataflow)
{
    dataflow->failed |= dataflow->steps++ >= STEP_LIMIT || !flow_spend_steps(dataflow->flow, 1);
    return !dataflow->failed;
}

static bool is_part(struct dataflow *dataflow, uint64_t address)
{
    const struct code_function *function = code_find_function(&dataflow->flow->image, address);
    return function && (function == dataflow->function ||
                        code_find_jumping(&dataflow->flow->image, function) == dataflow->function);
}

/**
 * `switch`: `movslq (%base,%index,4),%to; add %base,%to; jmp *%to`. Some register still holds where
 * the table is. Bytes behind its end that could be an entry do no harm: they only add a path.
 */
static bool follow_table(struct dataflow *dataflow, const struct flow_state *state, uint64_t base)
{
    const struct code_image *image = &dataflow->flow->image;
    size_t size, count = 0;
    const uint8_t *table = code_bytes(image, base, &size);
    for (; table && count < TABLE_LIMIT && (count + 1) * 4 <= size; count++) {
        uint64_t to = base + (uint64_t)(int64_t)(int32_t)load_u32(table + 4 * count);
        if (!is_part(dataflow, to) || !spend(dataflow))
            break;
        reach_with(dataflow, to, state);
    }
    return count >= 2 && count < TABLE_LIMIT;
}

static bool follow_tables(struct dataflow *dataflow, const struct flow_state *state)
{
    bool found = false;
    for (size_t i = 0; i < state->abi->register_count; i++)
        if (state->registers[i].kind == ABSTRACT_CONSTANT)
            found |= follow_table(dataflow, state, state->registers[i].number);
    return found;
}

static void follow_jump(struct dataflow *dataflow, const struct flow_state *state,
                        const struct instruction *instruction)
{
    struct code_target target = flow_operand_target(dataflow->flow, &instruction->to);
    if (instruction->to.kind == OPERAND_REGISTER)
        dataflow->failed |= !follow_tables(dataflow, state);
    else if (instruction->to.kind != OPERAND_IMMEDIATE)
        dataflow->failed |= !target.import && !target.address;
    else if (code_is_inside(&dataflow->flow->image, dataflow->function, target))
        reach_with(dataflow, target.address, state);
}

/** One instruction; false at the end of the path. */
static bool step(struct dataflow *dataflow, struct flow_state *state)
{
    struct flow *flow = dataflow->flow;
    struct instruction instruction = *flow_decode(flow, state->pc);
    uint64_t next = instruction.address + instruction.size;
    switch (instruction.verb) {
    case INSTRUCTION_BAD:
        dataflow->failed = true;
        return false;
    case INSTRUCTION_STOP:
    case INSTRUCTION_RETURN:
        return false;
    case INSTRUCTION_JUMP:
        follow_jump(dataflow, state, &instruction);
        return false;
    case INSTRUCTION_BRANCH:
        if (instruction.to.kind != OPERAND_IMMEDIATE)
            return false;
        reach_with(dataflow, (uint64_t)instruction.to.number, state);
        reach_with(dataflow, next, state);
        return false;
    case INSTRUCTION_CALL:
        if (flow_never_returns(flow, flow_operand_target(flow, &instruction.to)))
            return false;
        flow_state_return(state, (struct abstract_value){ABSTRACT_UNKNOWN, 0});
        state->pc = next;
        return true;
    default:
        flow_state_step(state, &flow->image, &instruction);
        return true;
    }
}

/** False when another path goes on there, or one may go no further. */
static bool may_go_on(struct dataflow *dataflow, uint64_t start, const struct flow_state *state)
{
    if (state->steps && find_join(dataflow, state->pc)) {
        reach_with(dataflow, state->pc, state);
        return false;
    }
    find_join(dataflow, start)->end = state->pc + 1;
    if (state->pc == dataflow->call)
        take_at_call(dataflow, state);
    return spend(dataflow);
}

/** Follows a path from one join to the next, or to its end. */
static void follow(struct dataflow *dataflow, uint64_t start)
{
    struct join *join = find_join(dataflow, start);
    struct flow_state state;
    if (!join)
        return;
    flow_state_init(&state, dataflow->flow->image.abi, start);
    load_known(&join->known, &state);
    join->dirty = false;
    while (may_go_on(dataflow, start, &state) && step(dataflow, &state))
        state.steps++;
}

/** What is known, named from the stack pointer and the frame pointer at the call. */
static bool give_known(const struct known *known, struct flow_state *state)
{
    const struct abstract_value top = known->registers[state->abi->stack_pointer],
                                frame = known->registers[state->abi->frame_pointer];
    bool found = false;
    for (size_t i = 0; i < state->abi->preserved_count; i++) {
        if (known->registers[state->abi->preserved[i]].kind != ABSTRACT_CONSTANT)
            continue;
        state->registers[state->abi->preserved[i]] = known->registers[state->abi->preserved[i]];
        found = true;
    }
    for (size_t i = 0; i < known->slot_count; i++) {
        struct flow_slot slot = known->slots[i];
        if (slot.at.kind != ABSTRACT_STACK || top.kind != ABSTRACT_STACK)
            continue;
        /* Both are addressed as the code does: from the stack pointer, or from the frame's. */
        slot.at.number -= top.number;
        flow_state_store_at(state, slot.at, slot.width, slot.value);
        found = true;
        if (frame.kind != ABSTRACT_STACK)
            continue;
        slot.at = (struct abstract_value){ABSTRACT_FRAME, known->slots[i].at.number - frame.number};
        flow_state_store_at(state, slot.at, slot.width, slot.value);
    }
    return found;
}

bool flow_find_preserved(struct flow *flow, uint64_t pc, struct flow_state *state)
{
    const struct code_function *function = code_find_function(&flow->image, pc);
    struct dataflow dataflow = {.flow = flow, .call = pc};
    struct flow_state entry;
    if (!function)
        return false;
    /* Paths come from the function that a fragment belongs to. */
    const struct code_function *parent = code_find_jumping(&flow->image, function);
    dataflow.function = parent ? parent : function;
    flow_state_init(&entry, flow->image.abi, dataflow.function->start);
    reach_with(&dataflow, entry.pc, &entry);
    while (dataflow.todo_count && !dataflow.failed)
        follow(&dataflow, dataflow.todo[--dataflow.todo_count]);
    bool found = !dataflow.failed && dataflow.call_reached && give_known(&dataflow.at_call, state);
    free(dataflow.joins);
    free(dataflow.order);
    free(dataflow.todo);
    return found;
}
