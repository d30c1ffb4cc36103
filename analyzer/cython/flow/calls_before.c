/*
 * What a function has done for certain when it comes to an address: the calls that are on every
 * path there from its entry. Their lines stand above, whatever order the compiler laid out.
 */
#include "flow.h"

#include <stdlib.h>
#include <string.h>

/** Instructions of one function that are read. */
#define LAYOUT_LIMIT ((size_t)1 << 15)

/** Reading this many of them takes as long as following one on a path. */
#define LAID_OUT_A_STEP 4

/** Sweeps over a function, backward; each goes through one more jump to lower addresses. */
#define PASS_LIMIT 64
/** One sweep reads this many instructions in the time that following one takes. */
#define SWEPT_A_STEP 32

#define NOWHERE UINT32_MAX

/** Instructions of one function, in their order. */
struct layout {
    const struct code_function *function;
    struct layout_instruction {
        uint32_t offset;
        uint32_t target; /**< Of a jump: the instruction's number; or NOWHERE. */
        uint8_t size;
        bool goes_on; /**< Execution may go on with the instruction that follows it. */
        bool call;
    } * items;
    size_t count;
    size_t capacity;
    uint32_t *from;  /**< The instruction before, on the shortest path from the entry. */
    uint32_t *on;    /**< Each instruction's number on the path; NOWHERE when it is not on it. */
    uint32_t *queue; /**< As large as the count of instructions. */
};

static void layout_deinit(struct layout *layout)
{
    free(layout->items);
    free(layout->from);
    free(layout->on);
    free(layout->queue);
}

/** The instruction that the byte at an address belongs to. */
static uint32_t layout_find(const struct layout *layout, uint64_t address)
{
    uint64_t offset = address - layout->function->start;
    size_t at = SORTED_COUNT(i, layout->count,
                             layout->items[i].offset + (uint64_t)layout->items[i].size <= offset);
    return at < layout->count && layout->items[at].offset <= offset ? (uint32_t)at : NOWHERE;
}

/** Whether what stands behind an instruction may be executed after it. */
static bool goes_on(struct flow *flow, const struct instruction *instruction)
{
    enum instruction_verb verb = (enum instruction_verb)instruction->verb;
    if (verb == INSTRUCTION_CALL)
        return !flow_never_returns(flow, flow_operand_target(flow, &instruction->to));
    return verb != INSTRUCTION_JUMP && verb != INSTRUCTION_RETURN && verb != INSTRUCTION_STOP;
}

static bool read_instructions(struct flow *flow, struct layout *layout)
{
    const struct code_function *function = layout->function;
    for (uint64_t at = function->start; at < function->end && layout->count < LAYOUT_LIMIT;) {
        if (layout->count % LAID_OUT_A_STEP == 0 && !flow_spend_steps(flow, 1))
            return false;
        struct instruction instruction = *flow_decode(flow, at);
        enum instruction_verb verb = (enum instruction_verb)instruction.verb;
        if (verb == INSTRUCTION_BAD)
            break;
        if (!array_reserve((void **)&layout->items, &layout->capacity, layout->count + 1,
                           sizeof(*layout->items)))
            return false;
        bool jumps = (verb == INSTRUCTION_JUMP || verb == INSTRUCTION_BRANCH) &&
                     instruction.to.kind == OPERAND_IMMEDIATE;
        uint64_t to = jumps ? (uint64_t)instruction.to.number - function->start : NOWHERE;
        layout->items[layout->count++] = (struct layout_instruction){
            .offset = (uint32_t)(at - function->start),
            .target = to < NOWHERE ? (uint32_t)to : NOWHERE,
            .size = instruction.size,
            .goes_on = goes_on(flow, &instruction),
            .call = verb == INSTRUCTION_CALL,
        };
        at += instruction.size;
    }
    for (size_t i = 0; i < layout->count; i++) {
        struct layout_instruction *item = &layout->items[i];
        if (item->target == NOWHERE)
            continue;
        uint32_t target = layout_find(layout, function->start + item->target);
        item->target =
            target != NOWHERE && layout->items[target].offset == item->target ? target : NOWHERE;
    }
    return layout->count > 0;
}

static bool layout_init(struct layout *layout, struct flow *flow,
                        const struct code_function *function)
{
    *layout = (struct layout){.function = function};
    if (function->end - function->start >= NOWHERE || !read_instructions(flow, layout))
        return false;
    layout->from = malloc(layout->count * sizeof(*layout->from));
    layout->on = malloc(layout->count * sizeof(*layout->on));
    layout->queue = malloc(layout->count * sizeof(*layout->queue));
    if (!layout->from || !layout->on || !layout->queue)
        return false;
    memset(layout->from, 0xff, layout->count * sizeof(*layout->from));
    memset(layout->on, 0xff, layout->count * sizeof(*layout->on));
    return true;
}

/** The instructions that can follow one: 0 to 2. */
static size_t successors(const struct layout *layout, uint32_t at, uint32_t ret[2])
{
    const struct layout_instruction *item = &layout->items[at];
    size_t count = 0;
    if (item->goes_on && at + 1 < layout->count)
        ret[count++] = at + 1;
    if (item->target != NOWHERE)
        ret[count++] = item->target;
    return count;
}

/** A shortest path from the entry, in layout->queue; @return its length, 0: there is none. */
static size_t find_path(struct layout *layout, uint32_t goal)
{
    size_t head = 0, tail = 0, length = 0;
    layout->queue[tail++] = 0;
    layout->from[0] = 0;
    while (head < tail && layout->from[goal] == NOWHERE) {
        uint32_t at = layout->queue[head++], next[2];
        size_t count = successors(layout, at, next);
        for (size_t i = 0; i < count; i++) {
            if (layout->from[next[i]] != NOWHERE)
                continue;
            layout->from[next[i]] = at;
            layout->queue[tail++] = next[i];
        }
    }
    if (layout->from[goal] == NOWHERE)
        return 0;
    for (uint32_t at = goal; at; at = layout->from[at])
        length++;
    size_t position = length;
    for (uint32_t at = goal; at; at = layout->from[at])
        layout->on[at] = (uint32_t)position--;
    layout->on[0] = 0;
    return length + 1;
}

/**
 * Visits all that can be reached from an instruction of the path without coming back to the path;
 * each instruction once. layout->from is reused: NOWHERE marks what was not visited.
 * @return the furthest instruction of the path that is reached so, by its number on it.
 */
static uint32_t leave_path(struct layout *layout, uint32_t start)
{
    size_t top = 0;
    uint32_t furthest = 0;
    layout->queue[top++] = start;
    while (top) {
        uint32_t next[2];
        size_t count = successors(layout, layout->queue[--top], next);
        for (size_t i = 0; i < count; i++) {
            uint32_t at = next[i];
            if (layout->on[at] != NOWHERE) {
                furthest = layout->on[at] > furthest ? layout->on[at] : furthest;
            } else if (layout->from[at] == NOWHERE) {
                layout->from[at] = 0;
                layout->queue[top++] = at;
            }
        }
    }
    return furthest;
}

/** The calls of a path that no other path goes around. */
static size_t keep_calls(struct layout *layout, const uint32_t *path, size_t length, uint64_t *ret,
                         size_t limit)
{
    size_t count = 0;
    uint32_t furthest = 0;
    memset(layout->from, 0xff, layout->count * sizeof(*layout->from));
    for (size_t i = 0; i + 1 < length; i++) {
        const struct layout_instruction *item = &layout->items[path[i]];
        if (item->call && furthest <= i)
            ret[count++ % limit] = layout->function->start + item->offset + item->size - 1;
        uint32_t reached = leave_path(layout, path[i]);
        furthest = reached > furthest ? reached : furthest;
    }
    return count;
}

static void reverse(uint64_t *list, size_t count)
{
    for (size_t i = 0; i < count / 2; i++) {
        uint64_t item = list[i];
        list[i] = list[count - 1 - i];
        list[count - 1 - i] = item;
    }
}

size_t flow_find_calls_before(struct flow *flow, uint64_t address, uint64_t *ret, size_t limit)
{
    const struct code_function *function = code_find_function(&flow->image, address);
    struct layout layout;
    PSC_CLEANUP(cleanup_free) uint32_t *path = NULL;
    size_t count = 0;
    if (!function || !limit)
        return 0;
    uint32_t goal = layout_init(&layout, flow, function) ? layout_find(&layout, address) : NOWHERE;
    size_t length = goal != NOWHERE ? find_path(&layout, goal) : 0;
    if (length)
        path = calloc(length, sizeof(*path));
    for (uint32_t at = goal; path; at = layout.from[at]) {
        path[layout.on[at]] = at;
        if (!at)
            break;
    }
    if (path)
        count = keep_calls(&layout, path, length, ret, limit);
    layout_deinit(&layout);
    /* `ret` was filled as a ring: it is turned so that the last call comes first. */
    size_t held = count < limit ? count : limit;
    size_t turn = count > limit ? count % limit : 0;
    reverse(ret, turn);
    reverse(ret + turn, held - turn);
    return held;
}

/* ---- backward ---- */

static bool may_fail(struct flow *flow, uint64_t address, size_t size)
{
    struct code_target target;
    const struct instruction *call = flow_decode(flow, address);
    if (flow_is_deallocation(&call->to))
        return false;
    return flow_find_call(flow, address + size, &target) == FLOW_CALL_MAY_FAIL;
}

static bool leads_on(const struct layout *layout, uint32_t at)
{
    uint32_t next[2];
    size_t count = successors(layout, at, next);
    for (size_t i = 0; i < count; i++)
        if (layout->on[next[i]] != NOWHERE)
            return true;
    return false;
}

size_t flow_find_calls_leading(struct flow *flow, uint64_t address, uint64_t *ret, size_t limit)
{
    const struct code_function *function = code_find_function(&flow->image, address);
    struct layout layout;
    size_t count = 0;
    bool fine = function && layout_init(&layout, flow, function);
    uint32_t goal = fine ? layout_find(&layout, address) : NOWHERE;
    bool changed = goal != NOWHERE;
    if (changed)
        layout.on[goal] = 0;
    for (unsigned pass = 0; changed; pass++) {
        changed = false;
        if (pass >= PASS_LIMIT || !flow_spend_steps(flow, layout.count / SWEPT_A_STEP)) {
            count = 0;
            break;
        }
        for (uint32_t at = (uint32_t)layout.count; at-- > 0;) {
            const struct layout_instruction *item = &layout.items[at];
            if (layout.on[at] != NOWHERE || layout.from[at] != NOWHERE || !leads_on(&layout, at))
                continue;
            changed = true;
            uint64_t call = function->start + item->offset;
            if (!item->call || !may_fail(flow, call, item->size)) {
                layout.on[at] = 0;
                continue;
            }
            layout.from[at] = 0;
            if (count < limit)
                ret[count] = call + item->size - 1;
            count++;
        }
    }
    /* A path from the entry leads there without a call. */
    if (goal != NOWHERE && layout.on[0] != NOWHERE)
        count = 0;
    if (function)
        layout_deinit(&layout);
    return count <= limit ? count : 0;
}
