/* The search along all paths from an instruction: the best path goes on first. */
#include "flow.h"
#include "python.h"

#include <stdlib.h>
#include <string.h>

/** Instructions followed for one question. */
#define STEP_LIMIT 6500
/** The same where the search is for an address (flow_exploration.goal). */
#define GOAL_STEP_LIMIT 20000
/**
 * States that come by one address in the body of a parallel block: between an error and where it is
 * kept many objects are released, and each of these calls doubles the paths.
 */
#define CROWD_LIMIT 16
/** Hashes of states that the table has room for at first. */
#define SEEN_SIZE 128

/* ---- the heap ---- */

static bool is_better(const struct flow_state *a, const struct flow_state *b)
{
    return a->calls != b->calls ? a->calls < b->calls : a->steps < b->steps;
}

static bool heap_push(struct flow_exploration *exploration, struct flow_state *state)
{
    if (!array_reserve((void **)&exploration->heap, &exploration->heap_capacity,
                       exploration->heap_count + 1, sizeof(struct flow_state *))) {
        free(state);
        return false;
    }
    size_t at = exploration->heap_count++;
    while (at && is_better(state, exploration->heap[(at - 1) / 2])) {
        exploration->heap[at] = exploration->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    exploration->heap[at] = state;
    return true;
}

static struct flow_state *heap_pop(struct flow_exploration *exploration)
{
    struct flow_state **heap = exploration->heap;
    if (!exploration->heap_count)
        return NULL;
    struct flow_state *best = heap[0], *last = heap[--exploration->heap_count];
    size_t at = 0, count = exploration->heap_count;
    for (size_t child = 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count && is_better(heap[child + 1], heap[child]))
            child++;
        if (!is_better(heap[child], last))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
    return best;
}

static bool push_copy(struct flow_exploration *exploration, const struct flow_state *state,
                      uint64_t pc)
{
    struct flow_state *copy = exploration->spare_count
                                  ? exploration->spare[--exploration->spare_count]
                                  : malloc(sizeof(*copy));
    if (!copy)
        return false;
    flow_state_copy(state, copy);
    copy->pc = pc;
    return heap_push(exploration, copy);
}

static void put_away(struct flow_exploration *exploration, struct flow_state *state)
{
    if (exploration->spare_count < FLOW_SPARE_LIMIT)
        exploration->spare[exploration->spare_count++] = state;
    else
        free(state);
}

/** False when it was there before. */
static bool note_seen(struct flow_exploration *exploration, uint64_t hash)
{
    if (hash_table_find(&exploration->seen, hash))
        return false;
    bool noted = hash_table_add(&exploration->seen, hash);
    exploration->cut_short |= !noted;
    return noted;
}

/** False when so many better ones came by this address that one more tells nothing. */
static bool has_room(struct flow_exploration *exploration, uint64_t pc)
{
    for (uint64_t i = 1; i <= CROWD_LIMIT; i++)
        if (note_seen(exploration, hash_u64(hash_u64(pc) + i) | 1))
            return true;
    exploration->cut_short = true;
    return false;
}

/** False when the state was there before. */
static bool see(struct flow_exploration *exploration, const struct flow_state *state)
{
    if (exploration->goal)
        return note_seen(exploration, hash_u64(state->pc) | 1);
    return note_seen(exploration, flow_state_hash(state)) &&
           (!exploration->crowded || has_room(exploration, state->pc));
}

/* ---- one path ---- */

/**
 * What a call on an error's path returns. The exception is one that nobody expects, and nothing
 * fails besides.
 */
static struct abstract_value result_of(const struct flow_exploration *exploration,
                                       const struct flow_state *state, struct code_target target)
{
    if (exploration->result.kind != ABSTRACT_UNKNOWN || !exploration->error)
        return exploration->result;
    if (target.import && c_api_traits(target.import) & C_API_HANDS_ON) {
        struct abstract_value handed_on = flow_state_argument(state, C_API_HANDED_ON, 8);
        if (handed_on.kind == ABSTRACT_ERROR)
            return handed_on;
    }
    /*
     * Another call may have taken the exception: __Pyx_GetException() before `finally`. But where
     * no result was tested, this call is the test for the failure: in C++ objects are moved first.
     */
    if (flow_asks_for_error(exploration->flow, target)) {
        /* In `finally` this asks for the failure of what is called there. */
        if (state->taken && state->tested && !state->calls)
            return (struct abstract_value){ABSTRACT_CONSTANT, 0};
        return (struct abstract_value){
            state->calls && state->tested ? ABSTRACT_UNKNOWN : ABSTRACT_NONZERO, 0};
    }
    if (flow_matches_exception(exploration->flow, target))
        return (struct abstract_value){ABSTRACT_CONSTANT, 0};
    if (flow_returns_thread_state(target))
        return (struct abstract_value){ABSTRACT_THREAD, 0};
    return (struct abstract_value){state->tested ? ABSTRACT_SUCCESS : ABSTRACT_UNKNOWN, 0};
}

static enum flow_verdict pass_call(struct flow_exploration *exploration, struct flow_state *state,
                                   const struct operand *operand)
{
    struct code_target target = flow_operand_target(exploration->flow, operand);
    if (flow_never_returns(exploration->flow, target))
        return FLOW_END_PATH;
    exploration->result = (struct abstract_value){ABSTRACT_UNKNOWN, 0};
    enum flow_verdict verdict = flow_is_deallocation(operand)
                                    ? FLOW_PASS_FREE
                                    : exploration->on_call(exploration, state, target);
    if (verdict == FLOW_PASS_COUNTED && ++state->calls > exploration->call_limit) {
        exploration->cut_short = true;
        return FLOW_END_PATH;
    }
    if (verdict == FLOW_PASS_FREE || verdict == FLOW_PASS_COUNTED) {
        state->taken = flow_leaves_exception_taken(exploration->flow, target, state->taken);
        flow_state_return(state, result_of(exploration, state, target));
    }
    return verdict;
}

enum path_end { PATH_GOES_ON, PATH_ENDS, PATH_FOUND };

static enum path_end step_return(struct flow_exploration *exploration)
{
    exploration->left = true;
    exploration->returned = exploration->stop_at_return;
    return exploration->stop_at_return ? PATH_FOUND : PATH_ENDS;
}

static enum path_end step_jump(struct flow_exploration *exploration, struct flow_state *state,
                               const struct instruction *instruction)
{
    struct code_target target = flow_operand_target(exploration->flow, &instruction->to);
    if (instruction->to.kind == OPERAND_IMMEDIATE &&
        code_is_inside(&exploration->flow->image, exploration->function, target)) {
        state->pc = target.address;
        return PATH_GOES_ON;
    }
    if (!target.import && !target.address) {
        exploration->cut_short = true;
        return PATH_ENDS;
    }
    enum flow_verdict verdict = pass_call(exploration, state, &instruction->to);
    if (verdict == FLOW_FOUND)
        return PATH_FOUND;
    return verdict == FLOW_END_PATH ? PATH_ENDS : step_return(exploration);
}

static enum path_end step_branch(struct flow_exploration *exploration, struct flow_state *state,
                                 const struct instruction *instruction)
{
    uint64_t next = instruction->address + instruction->size;
    uint64_t target = (uint64_t)instruction->to.number;
    bool taken;
    if (instruction->to.kind != OPERAND_IMMEDIATE)
        return PATH_ENDS;
    if (!exploration->goal && flow_state_decide(state, instruction->condition, &taken)) {
        state->pc = taken ? target : next;
        return PATH_GOES_ON;
    }
    if (!push_copy(exploration, state, target) || !push_copy(exploration, state, next))
        exploration->cut_short = true;
    return PATH_ENDS;
}

/** @param ret_next  where the next instruction is that one only falls through to. */
static enum path_end step(struct flow_exploration *exploration, struct flow_state *state,
                          uint64_t *ret_next)
{
    struct flow *flow = exploration->flow;
    const struct instruction instruction = *flow_decode(flow, state->pc);
    state->steps++;
    switch (instruction.verb) {
    case INSTRUCTION_BAD:
        exploration->cut_short = true;
        return PATH_ENDS;
    case INSTRUCTION_STOP:
        return PATH_ENDS;
    case INSTRUCTION_RETURN:
        return step_return(exploration);
    case INSTRUCTION_JUMP:
        return step_jump(exploration, state, &instruction);
    case INSTRUCTION_BRANCH:
        return step_branch(exploration, state, &instruction);
    case INSTRUCTION_CALL: {
        enum flow_verdict verdict = pass_call(exploration, state, &instruction.to);
        if (verdict == FLOW_FOUND)
            return PATH_FOUND;
        if (verdict == FLOW_END_PATH)
            return PATH_ENDS;
        /* Back to the heap: a path with fewer calls may be better now. */
        if (!push_copy(exploration, state, instruction.address + instruction.size))
            exploration->cut_short = true;
        return PATH_ENDS;
    }
    default:
        flow_state_step(state, &flow->image, &instruction);
        *ret_next = state->pc;
        return PATH_GOES_ON;
    }
}

struct flow_state *flow_explore(struct flow_exploration *exploration)
{
    struct flow *flow = exploration->flow;
    struct flow_state *state;
    while ((state = heap_pop(exploration))) {
        enum path_end end = PATH_GOES_ON;
        uint64_t next = 0; /* Behind the last instruction. */
        while (end == PATH_GOES_ON) {
            if (exploration->goal && state->pc == exploration->goal)
                return state;
            if (exploration->steps >= exploration->step_limit || !flow_spend_steps(flow, 1)) {
                exploration->cut_short = true;
                free(state);
                return NULL;
            }
            exploration->steps++;
            /* Where paths meet is seen where each was led by a branch, a jump or a call. */
            end = state->pc == next || see(exploration, state) ? step(exploration, state, &next)
                                                               : PATH_ENDS;
        }
        if (end == PATH_FOUND)
            return state;
        put_away(exploration, state);
    }
    return NULL;
}

bool flow_exploration_init(struct flow_exploration *exploration, struct flow *flow,
                           const struct flow_state *start)
{
    exploration->flow = flow;
    exploration->crowded |= start->line_address.kind == ABSTRACT_SHARED;
    exploration->function = code_find_function(&flow->image, start->pc);
    if (!exploration->step_limit)
        exploration->step_limit = exploration->goal ? GOAL_STEP_LIMIT : STEP_LIMIT;
    hash_table_init(&exploration->seen, sizeof(uint64_t));
    return exploration->function && hash_table_reserve(&exploration->seen, SEEN_SIZE) &&
           push_copy(exploration, start, start->pc);
}

void flow_exploration_deinit(struct flow_exploration *exploration)
{
    for (size_t i = 0; i < exploration->heap_count; i++)
        free(exploration->heap[i]);
    for (size_t i = 0; i < exploration->spare_count; i++)
        free(exploration->spare[i]);
    free(exploration->heap);
    hash_table_deinit(&exploration->seen);
}

struct flow_state *flow_explore_once(struct flow_exploration *exploration, struct flow *flow,
                                     const struct flow_state *start)
{
    bool ready = flow_exploration_init(exploration, flow, start);
    struct flow_state *found = ready ? flow_explore(exploration) : NULL;
    flow_exploration_deinit(exploration);
    return found;
}
