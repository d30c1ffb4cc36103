/*
 * The way of an error: from the return address forward, those ways first that pass the fewest
 * calls which could fail themselves, and among these the shortest.
 */
#include "machine.h"

#include <stdlib.h>

/** Instructions followed for one question. */
#define STEP_LIMIT 6000
/** For all questions about one module: a hostile file costs seconds, not hours. */
#define TOTAL_STEP_LIMIT ((uint64_t)8 << 20)
/** A power of two, over STEP_LIMIT. */
#define SEEN_SIZE ((size_t)1 << 14)
/** Calls that may fail, on the way to a report. */
#define CALL_LIMIT 3
/** On the way from one report to that of the caller into which the function was inlined. */
#define CHAIN_CALL_LIMIT      1
#define CONVENTION_CALL_LIMIT 12
/** Functions between the anchor and PyCode_NewEmpty. */
#define CONVENTION_DEPTH 2

enum verdict {
    PASS_FREE,    /**< Go on behind the call; it let go of things only. */
    PASS_COUNTED, /**< Go on, but less gladly. */
    END_WAY,
    FOUND
};

struct exploration {
    struct machine *machine;
    const struct machine_function *home;
    struct machine_state **heap; /**< The best first. */
    size_t heap_count;
    size_t heap_capacity;
    uint64_t *seen; /**< Hashes of states that were followed. */
    size_t steps;
    unsigned call_limit;
    bool error;   /**< The call before the start failed: an exception is set. */
    bool escaped; /**< Some way ended otherwise than FOUND, or in a function that never returns. */
    bool stop_at_return;
    bool returned; /**< Stopped at a return. */
    /** Of a call; the state is at the call. */
    enum verdict (*on_call)(struct exploration *exploration, struct machine_state *state,
                            struct machine_target target);
    void *context;
};

/* ---- the heap ---- */

static bool is_better(const struct machine_state *a, const struct machine_state *b)
{
    return a->calls != b->calls ? a->calls < b->calls : a->steps < b->steps;
}

static bool heap_push(struct exploration *exploration, struct machine_state *state)
{
    if (!array_reserve((void **)&exploration->heap, &exploration->heap_capacity,
                       exploration->heap_count + 1, sizeof(struct machine_state *))) {
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

static struct machine_state *heap_pop(struct exploration *exploration)
{
    struct machine_state **heap = exploration->heap;
    if (!exploration->heap_count)
        return NULL;
    struct machine_state *best = heap[0], *last = heap[--exploration->heap_count];
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

static bool push_copy(struct exploration *exploration, const struct machine_state *state,
                      uint64_t pc)
{
    struct machine_state *copy = malloc(sizeof(*copy));
    if (!copy)
        return false;
    *copy = *state;
    copy->pc = pc;
    return heap_push(exploration, copy);
}

/** False when the state was there before. */
static bool see(struct exploration *exploration, const struct machine_state *state)
{
    uint64_t hash = machine_state_hash(state);
    size_t at = hash & (SEEN_SIZE - 1);
    while (exploration->seen[at] && exploration->seen[at] != hash)
        at = (at + 1) & (SEEN_SIZE - 1);
    if (exploration->seen[at])
        return false;
    exploration->seen[at] = hash;
    return true;
}

/* ---- one way ---- */

/** Where a call or jump leads, as far as the instruction tells. */
static struct machine_target target_of(const struct machine *machine,
                                       const struct machine_operand *operand)
{
    if (operand->kind == MACHINE_IMMEDIATE)
        return machine_target_of(&machine->image, (uint64_t)operand->number);
    if (operand->kind == MACHINE_ABSOLUTE)
        return machine_slot_target(&machine->image, (uint64_t)operand->number);
    return (struct machine_target){0};
}

/** True when a jump goes on in the same function: gcc puts cold parts elsewhere. */
static bool is_inside(const struct exploration *exploration, struct machine_target target)
{
    const struct machine_function *function =
        target.import ? NULL : machine_find_function(&exploration->machine->image, target.address);
    return function && (function == exploration->home || function->start != target.address ||
                        !(function->called || function->pointed));
}

/** tp_dealloc of an object's type: what Py_DECREF() was before CPython 3.9. */
static bool is_deallocation(const struct machine_operand *operand)
{
    return operand->kind == MACHINE_BASED && operand->number == 0x30;
}

static enum verdict pass_call(struct exploration *exploration, struct machine_state *state,
                              const struct machine_operand *operand)
{
    struct machine_target target = target_of(exploration->machine, operand);
    if (machine_is_end(target))
        return END_WAY;
    enum verdict verdict =
        is_deallocation(operand) ? PASS_FREE : exploration->on_call(exploration, state, target);
    if (verdict == PASS_COUNTED && ++state->calls > exploration->call_limit) {
        exploration->escaped = true;
        return END_WAY;
    }
    struct value result = {VALUE_UNKNOWN, 0};
    if (exploration->error && target.import && strcmp(target.import, "PyErr_Occurred") == 0)
        result.kind = VALUE_NONZERO;
    if (verdict == PASS_FREE || verdict == PASS_COUNTED)
        machine_state_return(state, result);
    return verdict;
}

enum way { WAY_GOES_ON, WAY_ENDS, WAY_FOUND };

static enum way step_return(struct exploration *exploration)
{
    exploration->escaped = true;
    exploration->returned = exploration->stop_at_return;
    return exploration->stop_at_return ? WAY_FOUND : WAY_ENDS;
}

static enum way step_jump(struct exploration *exploration, struct machine_state *state,
                          const struct machine_instruction *instruction)
{
    struct machine_target target = target_of(exploration->machine, &instruction->to);
    if (instruction->to.kind == MACHINE_IMMEDIATE && is_inside(exploration, target)) {
        state->pc = target.address;
        return WAY_GOES_ON;
    }
    if (!target.import && !target.address) {
        exploration->escaped = true;
        return WAY_ENDS;
    }
    enum verdict verdict = pass_call(exploration, state, &instruction->to);
    if (verdict == FOUND)
        return WAY_FOUND;
    return verdict == END_WAY ? WAY_ENDS : step_return(exploration);
}

static enum way step_branch(struct exploration *exploration, struct machine_state *state,
                            const struct machine_instruction *instruction)
{
    uint64_t next = instruction->address + instruction->size;
    uint64_t target = (uint64_t)instruction->to.number;
    bool taken;
    if (instruction->to.kind != MACHINE_IMMEDIATE)
        return WAY_ENDS;
    if (machine_state_decide(state, instruction->condition, &taken)) {
        state->pc = taken ? target : next;
        return WAY_GOES_ON;
    }
    if (!push_copy(exploration, state, target) || !push_copy(exploration, state, next))
        exploration->escaped = true;
    return WAY_ENDS;
}

static enum way step(struct exploration *exploration, struct machine_state *state)
{
    struct machine *machine = exploration->machine;
    struct machine_instruction instruction =
        *machine_decode(machine->decoder, &machine->image, state->pc);
    state->steps++;
    switch (instruction.verb) {
    case MACHINE_BAD:
        exploration->escaped = true;
        return WAY_ENDS;
    case MACHINE_STOP:
        return WAY_ENDS;
    case MACHINE_RETURN:
        return step_return(exploration);
    case MACHINE_JUMP:
        return step_jump(exploration, state, &instruction);
    case MACHINE_BRANCH:
        return step_branch(exploration, state, &instruction);
    case MACHINE_CALL: {
        enum verdict verdict = pass_call(exploration, state, &instruction.to);
        if (verdict == FOUND)
            return WAY_FOUND;
        if (verdict == END_WAY)
            return WAY_ENDS;
        /* Back to the heap: a way with fewer calls may be better now. */
        if (!push_copy(exploration, state, instruction.address + instruction.size))
            exploration->escaped = true;
        return WAY_ENDS;
    }
    default:
        machine_state_step(state, &machine->image, &instruction);
        return WAY_GOES_ON;
    }
}

/** Follows the best ways until one is found; the caller owns the state, NULL when none is. */
static struct machine_state *explore(struct exploration *exploration)
{
    struct machine *machine = exploration->machine;
    struct machine_state *state;
    while ((state = heap_pop(exploration))) {
        enum way way = WAY_GOES_ON;
        while (way == WAY_GOES_ON) {
            if (exploration->steps >= STEP_LIMIT || machine->steps >= TOTAL_STEP_LIMIT) {
                exploration->escaped = true;
                free(state);
                return NULL;
            }
            exploration->steps++;
            machine->steps++;
            way = see(exploration, state) ? step(exploration, state) : WAY_ENDS;
        }
        if (way == WAY_FOUND)
            return state;
        free(state);
    }
    return NULL;
}

static bool exploration_init(struct exploration *exploration, struct machine *machine,
                             const struct machine_state *start)
{
    exploration->machine = machine;
    exploration->home = machine_find_function(&machine->image, start->pc);
    exploration->seen = calloc(SEEN_SIZE, sizeof(*exploration->seen));
    return exploration->home && exploration->seen && push_copy(exploration, start, start->pc);
}

static void exploration_deinit(struct exploration *exploration)
{
    for (size_t i = 0; i < exploration->heap_count; i++)
        free(exploration->heap[i]);
    free(exploration->heap);
    free(exploration->seen);
}

/* ---- reports ---- */

const struct machine_anchor *machine_find_anchor(const struct machine *machine, uint64_t start)
{
    for (size_t i = 0; start && i < machine->anchor_count; i++)
        if (machine->anchors[i].start == start)
            return &machine->anchors[i];
    return NULL;
}

static enum verdict report_call(struct exploration *exploration, struct machine_state *state,
                                struct machine_target target)
{
    (void)state;
    if (!target.import && machine_find_anchor(exploration->machine, target.address))
        return FOUND;
    return machine_is_clean(exploration->machine, target) ? PASS_FREE : PASS_COUNTED;
}

static struct value resolve(const struct machine_state *state, struct value from)
{
    return from.kind == VALUE_ARGUMENT ? state->registers[from.number % MACHINE_REGISTERS] : from;
}

void machine_read_report(const struct machine *machine, const struct machine_anchor *anchor,
                         const struct machine_state *state, struct machine_report *ret)
{
    struct value name = resolve(state, anchor->name), file = resolve(state, anchor->file),
                 line = resolve(state, anchor->line);
    *ret = (struct machine_report){0};
    if (name.kind == VALUE_CONSTANT)
        ret->name = machine_string(&machine->image, name.number);
    if (file.kind == VALUE_CONSTANT)
        ret->file = machine_string(&machine->image, file.number);
    uint32_t number = (uint32_t)line.number;
    if (line.kind == VALUE_CONSTANT && number && number < INT32_MAX)
        ret->line = number;
}

/** Which anchor the state is about to call. */
static void read_found(struct machine *machine, const struct machine_state *state,
                       struct machine_report *ret)
{
    struct machine_instruction call = *machine_decode(machine->decoder, &machine->image, state->pc);
    struct machine_target target = target_of(machine, &call.to);
    const struct machine_anchor *anchor = machine_find_anchor(machine, target.address);
    *ret = (struct machine_report){0};
    if (anchor)
        machine_read_report(machine, anchor, state, ret);
}

static bool same_report(const struct machine_report *a, const struct machine_report *b)
{
    return a->line == b->line && a->name == b->name && a->file == b->file;
}

/** Whether each way without another call ends in this very report. */
static bool is_only_way(struct machine *machine, const struct machine_state *start, bool error,
                        const struct machine_report *report)
{
    struct exploration exploration = {.on_call = report_call, .error = error};
    struct machine_state *state;
    bool only = exploration_init(&exploration, machine, start);
    while (only && (state = explore(&exploration))) {
        struct machine_report other;
        read_found(machine, state, &other);
        only = same_report(report, &other);
        free(state);
    }
    only = only && !exploration.escaped;
    exploration_deinit(&exploration);
    return only;
}

/** @param trust  whether a branch on what the call returned is one on its failure. */
static struct machine_state *search_report(struct machine *machine,
                                           const struct machine_state *start, bool error,
                                           bool trust, struct machine_report *ret)
{
    struct exploration exploration = {
        .on_call = report_call, .error = error, .call_limit = CALL_LIMIT};
    struct machine_state *found = NULL;
    if (exploration_init(&exploration, machine, start))
        found = explore(&exploration);
    exploration_deinit(&exploration);
    if (!found)
        return NULL;
    read_found(machine, found, ret);
    ret->direct =
        found->calls == 0 && ((trust && found->tested) || is_only_way(machine, start, error, ret));
    return found;
}

/* ---- the call that is under way ---- */

enum call_kind {
    CALL_NONE,
    CALL_MAY_FAIL,
    CALL_HARMLESS,   /**< Of a function that only lets go of things or computes. */
    CALL_CANNOT_FAIL /**< What it returns is no sign of a Python error. */
};

/** The length of `ff /2` with this second byte and SIB, 0 when it is no call of 8 bytes' address.
 */
static size_t indirect_call_size(uint8_t mode, uint8_t scale)
{
    if ((mode & 0x38) != 0x10)
        return 0;
    bool has_scale = (mode & 7) == 4 && mode >> 6 != 3;
    switch (mode >> 6) {
    case 0:
        return (mode & 7) == 5 || (has_scale && (scale & 7) == 5) ? 6 + has_scale : 2 + has_scale;
    case 1:
        return 3 + (size_t)has_scale;
    case 2:
        return 6 + (size_t)has_scale;
    default:
        return 2;
    }
}

static bool is_python_name(const char *name)
{
    return strncmp(name, "Py", 2) == 0 || strncmp(name, "_Py", 3) == 0;
}

static enum call_kind judge_call(struct machine *machine, struct machine_target target)
{
    if (target.import)
        return is_python_name(target.import) && !machine_is_clean(machine, target)
                   ? CALL_MAY_FAIL
                   : CALL_CANNOT_FAIL;
    return machine_is_clean(machine, target) ? CALL_HARMLESS : CALL_MAY_FAIL;
}

/** What kind of call ends at `pc`. */
static enum call_kind call_before(struct machine *machine, uint64_t pc)
{
    const struct machine_image *image = &machine->image;
    const struct machine_function *function = machine_find_function(image, pc - 1);
    size_t have;
    const uint8_t *code = function ? machine_bytes(image, function->start, &have) : NULL;
    size_t before = code ? (size_t)(pc - function->start) : 0;
    if (!code || before > have)
        return CALL_NONE;
    const uint8_t *end = code + before;
    if (before >= 5 && end[-5] == 0xe8) {
        uint64_t to = pc + (uint64_t)(int64_t)(int32_t)load_u32(end - 4);
        struct machine_target target = machine_target_of(image, to);
        const struct machine_function *callee =
            target.import ? NULL : machine_find_function(image, target.address);
        if (target.import || (callee && callee->start == target.address))
            return judge_call(machine, target);
    }
    for (size_t size = 7; size >= 2; size--) {
        if (before < size || end[-(ptrdiff_t)size] != 0xff)
            continue;
        uint8_t mode = end[1 - (ptrdiff_t)size];
        uint8_t scale = size > 2 ? end[2 - (ptrdiff_t)size] : 0;
        if (indirect_call_size(mode, scale) != size)
            continue;
        if (mode != 0x15)
            return CALL_MAY_FAIL;
        uint64_t slot = pc + (uint64_t)(int64_t)(int32_t)load_u32(end - 4);
        return judge_call(machine, machine_slot_target(image, slot));
    }
    return CALL_NONE;
}

/* ---- the reports of an address ---- */

/** From one report on to the next, that of the function into which it was inlined. */
static struct machine_state *search_next(struct machine *machine, struct machine_state *state,
                                         struct machine_report *ret)
{
    struct machine_instruction call = *machine_decode(machine->decoder, &machine->image, state->pc);
    if (call.verb != MACHINE_CALL)
        return NULL;
    machine_state_return(state, (struct value){VALUE_UNKNOWN, 0});
    state->pc = call.address + call.size;
    state->calls = 0;
    state->steps = 0;
    struct exploration exploration = {.on_call = report_call,
                                      .error = true,
                                      .call_limit = CHAIN_CALL_LIMIT,
                                      .stop_at_return = true};
    struct machine_state *found = NULL;
    if (exploration_init(&exploration, machine, state))
        found = explore(&exploration);
    exploration_deinit(&exploration);
    if (found && exploration.returned) {
        free(found);
        found = NULL;
    }
    if (found) {
        read_found(machine, found, ret);
        ret->direct = found->calls == 0;
    }
    return found;
}

/** The innermost report. */
static struct machine_state *search_first(struct machine *machine, struct machine_state *start,
                                          enum call_kind kind, struct machine_report *ret)
{
    bool may_fail = kind == CALL_MAY_FAIL || kind == CALL_HARMLESS;
    struct machine_state *found = NULL;
    struct machine_report plain;
    if (may_fail) {
        start->registers[MACHINE_RAX].kind = VALUE_ERROR;
        found = search_report(machine, start, true, kind == CALL_MAY_FAIL, ret);
        start->registers[MACHINE_RAX].kind = VALUE_UNKNOWN;
    }
    if (found && ret->direct)
        return found;
    struct machine_state *other = search_report(machine, start, false, false, &plain);
    plain.direct = other && plain.direct && may_fail;
    if (other && (!found || plain.direct)) {
        free(found);
        *ret = plain;
        return other;
    }
    free(other);
    return found;
}

size_t machine_find_reports(struct machine *machine, uint64_t address, struct machine_report *ret,
                            size_t limit)
{
    struct machine_state start;
    struct machine_state *found = NULL;
    struct machine_report report;
    enum call_kind kind = call_before(machine, address + 1);
    uint64_t pc = kind == CALL_NONE ? address : address + 1;
    const struct machine_function *function = machine_find_function(&machine->image, address);
    if (!limit || !function || pc >= function->end)
        return 0;
    machine_state_init(&start, pc);
    found = search_first(machine, &start, kind, &report);
    size_t count = 0;
    while (found && count < limit) {
        bool repeated = count && same_report(&ret[count - 1], &report);
        if (!repeated)
            ret[count++] = report;
        bool direct = report.direct;
        struct machine_state *next = search_next(machine, found, &report);
        free(found);
        found = next;
        report.direct = report.direct && direct;
    }
    free(found);
    return count;
}

/* ---- conventions ---- */

/** What a function hands on to the making of a code object, best way so far. */
struct convention {
    struct machine_anchor best;
    int score;
    unsigned depth;
};

static int score_of(const struct machine_anchor *anchor)
{
    const struct value values[] = {anchor->name, anchor->line, anchor->file};
    int score = 0;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(values); i++)
        score += values[i].kind == VALUE_ARGUMENT ? 3 : values[i].kind == VALUE_CONSTANT ? 2 : 0;
    return score;
}

static struct value as_source(struct value value)
{
    bool usable = value.kind == VALUE_ARGUMENT || value.kind == VALUE_CONSTANT;
    return usable ? value : (struct value){VALUE_UNKNOWN, 0};
}

static void offer(struct convention *convention, const struct machine_state *state,
                  const struct machine_anchor *sinks)
{
    struct machine_anchor anchor = {
        .name = as_source(resolve(state, sinks->name)),
        .line = as_source(resolve(state, sinks->line)),
        .file = as_source(resolve(state, sinks->file)),
    };
    int score = score_of(&anchor);
    if (score > convention->score) {
        convention->score = score;
        convention->best = anchor;
    }
}

static bool find_convention(struct machine *machine, uint64_t start, unsigned depth,
                            struct machine_anchor *ret);

static enum verdict convention_call(struct exploration *exploration, struct machine_state *state,
                                    struct machine_target target)
{
    /* PyCode_NewEmpty(const char *filename, const char *funcname, int firstlineno) */
    static const struct machine_anchor sinks = {.file = {VALUE_ARGUMENT, MACHINE_RDI},
                                                .name = {VALUE_ARGUMENT, MACHINE_RSI},
                                                .line = {VALUE_ARGUMENT, MACHINE_RDX}};
    struct convention *convention = exploration->context;
    if (target.import && strcmp(target.import, "PyCode_NewEmpty") == 0) {
        offer(convention, state, &sinks);
        return END_WAY;
    }
    const struct machine_function *callee =
        target.import ? NULL : machine_find_function(&exploration->machine->image, target.address);
    struct machine_anchor inner;
    if (callee && callee->start == target.address && convention->depth < CONVENTION_DEPTH &&
        find_convention(exploration->machine, callee->start, convention->depth + 1, &inner)) {
        offer(convention, state, &inner);
        return END_WAY;
    }
    return PASS_COUNTED;
}

static bool find_convention(struct machine *machine, uint64_t start, unsigned depth,
                            struct machine_anchor *ret)
{
    static const uint8_t arguments[] = {MACHINE_RDI, MACHINE_RSI, MACHINE_RDX,
                                        MACHINE_RCX, MACHINE_R8,  MACHINE_R9};
    struct convention convention = {.depth = depth};
    struct exploration exploration = {
        .on_call = convention_call, .call_limit = CONVENTION_CALL_LIMIT, .context = &convention};
    struct machine_state state;
    machine_state_init(&state, start);
    state.registers[MACHINE_RBP].kind = VALUE_UNKNOWN;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(arguments); i++)
        state.registers[arguments[i]] = (struct value){VALUE_ARGUMENT, arguments[i]};
    if (exploration_init(&exploration, machine, &state))
        free(explore(&exploration));
    exploration_deinit(&exploration);
    *ret = convention.best;
    ret->start = start;
    return convention.score > 0;
}

bool machine_find_convention(struct machine *machine, uint64_t start, struct machine_anchor *ret)
{
    return find_convention(machine, start, 0, ret) &&
           (ret->name.kind == VALUE_ARGUMENT || ret->line.kind == VALUE_ARGUMENT);
}
