/*
 * The way of an error: from the return address forward to the anchor that reports it, and on to
 * the reports of the functions into which that one was inlined.
 */
#include "explore.h"

#include <stdlib.h>

/** Calls that may fail, on the way to a report. */
#define CALL_LIMIT 3
/** The same in the body of a parallel block, whose failure passes through others. */
#define BLOCK_CALL_LIMIT 6
/** The same when all ways are followed. */
#define ONLY_CALL_LIMIT 8
/** On the way from one report to that of the caller into which the function was inlined. */
#define CHAIN_CALL_LIMIT 1
/** Reports on one way, with those that say the same again. */
#define ROUND_LIMIT (2 * MACHINE_CHAIN_LIMIT)

/* ---- reports ---- */

const struct machine_anchor *machine_find_anchor(const struct machine *machine, uint64_t start)
{
    for (size_t i = 0; start && i < machine->anchor_count; i++)
        if (machine->anchors[i].start == start)
            return &machine->anchors[i];
    return NULL;
}

/** What a call reports by; NULL when it is none of a report. */
static const struct machine_anchor *find_report_call(const struct machine *machine,
                                                     struct machine_target target)
{
    /*
     * Of the helper that was inlined into its only caller, the module's body at -O3:
     * PyCode_NewEmpty(const char *filename, const char *funcname, int firstlineno)
     */
    static const struct machine_anchor inlined = {.file = {VALUE_ARGUMENT, MACHINE_RDI},
                                                  .name = {VALUE_ARGUMENT, MACHINE_RSI},
                                                  .line = {VALUE_ARGUMENT, MACHINE_RDX}};
    if (target.import)
        return strcmp(target.import, "PyCode_NewEmpty") == 0 ? &inlined : NULL;
    return machine_find_anchor(machine, target.address);
}

/** The failure of something else than the call that is under way. */
static bool is_another_failure(const struct machine_exploration *exploration,
                               const struct machine_state *state, struct machine_target target)
{
    static const char *const setters[] = {"PyErr_Format", "PyErr_SetNone", "PyErr_SetObject",
                                          "PyErr_SetString"};
    for (size_t i = 0; target.import && i < PSC_ARRAY_SIZE(setters); i++)
        if (strcmp(target.import, setters[i]) == 0)
            return exploration->single && state->tested;
    return false;
}

static enum machine_verdict report_call(struct machine_exploration *exploration,
                                        struct machine_state *state, struct machine_target target)
{
    state->caught |= machine_is_catch(exploration->machine, target);
    if (find_report_call(exploration->machine, target) || machine_kept_line(state))
        return MACHINE_FOUND;
    if (is_another_failure(exploration, state, target))
        return MACHINE_END_WAY;
    return machine_is_clean(exploration->machine, target) ? MACHINE_PASS_FREE
                                                          : MACHINE_PASS_COUNTED;
}

struct value machine_resolve(const struct machine_state *state, struct value from)
{
    return from.kind == VALUE_ARGUMENT ? state->registers[from.number % MACHINE_REGISTERS] : from;
}

void machine_read_report(const struct machine *machine, const struct machine_anchor *anchor,
                         const struct machine_state *state, struct machine_report *ret)
{
    struct value name = machine_resolve(state, anchor->name),
                 file = machine_resolve(state, anchor->file),
                 line = machine_resolve(state, anchor->line);
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
    struct instruction call = *machine_decode(machine->decoder, &machine->image, state->pc);
    struct machine_target target = machine_operand_target(machine, &call.to);
    const struct machine_anchor *anchor = find_report_call(machine, target);
    *ret = (struct machine_report){.line = machine_kept_line(state)};
    ret->kept = ret->line != 0;
    if (ret->kept)
        ret->file = machine_kept_file(machine, state);
    if (anchor)
        machine_read_report(machine, anchor, state, ret);
}

static bool same_report(const struct machine_report *a, const struct machine_report *b)
{
    return a->line == b->line && a->name == b->name && a->file == b->file;
}

/**
 * Whether no way leads to another report.
 * @param call_limit  of the ways that are followed. With 0 none may leave the function either:
 * there, one without a report says that the call does not fail.
 */
static bool is_only_report(struct machine *machine, const struct machine_state *start, bool error,
                           bool single, unsigned call_limit, const struct machine_report *report)
{
    struct machine_exploration exploration = {
        .on_call = report_call, .error = error, .single = single, .call_limit = call_limit};
    struct machine_state *state;
    bool only = machine_exploration_init(&exploration, machine, start);
    while (only && (state = machine_explore(&exploration))) {
        struct machine_report other;
        read_found(machine, state, &other);
        only = same_report(report, &other);
        free(state);
    }
    /* From where a parallel block fails to where it keeps the line, too much happens for all. */
    only = only && (report->kept || (!exploration.cut_short && !(exploration.left && !call_limit)));
    machine_exploration_deinit(&exploration);
    return only;
}

/** @param trust  whether a branch on what the call returned is one on its failure. */
static struct machine_state *search_report(struct machine *machine,
                                           const struct machine_state *start, bool error,
                                           bool single, bool trust, struct machine_report *ret)
{
    struct machine_exploration exploration = {
        .on_call = report_call,
        .error = error,
        .single = single,
        .call_limit = start->line_place.kind == VALUE_SHARED ? BLOCK_CALL_LIMIT : CALL_LIMIT};
    struct machine_state *found = NULL;
    if (machine_exploration_init(&exploration, machine, start))
        found = machine_explore(&exploration);
    machine_exploration_deinit(&exploration);
    if (!found)
        return NULL;
    read_found(machine, found, ret);
    struct machine_state open = *start;
    if (!found->tested) /* A branch that failure decided, but as success would have, is open. */
        machine_state_set_result(&open, (struct value){VALUE_UNKNOWN, 0});
    if (found->calls == 0)
        ret->direct =
            (trust && found->tested) || is_only_report(machine, &open, error, single, 0, ret);
    else
        /* A generator's body exchanges StopIteration for RuntimeError before it reports. */
        ret->direct = trust && found->tested &&
                      is_only_report(machine, start, error, single, ONLY_CALL_LIMIT, ret);
    return found;
}

/* ---- the reports of an address ---- */

/**
 * From one report on to the next, that of the function into which it was inlined.
 * @param ret_outermost  whether there is none since the way leaves the function.
 */
static struct machine_state *search_next(struct machine *machine, struct machine_state *state,
                                         struct machine_report *ret, bool *ret_outermost)
{
    /* What a parallel block keeps is the last that it tells. */
    *ret_outermost = machine_kept_line(state);
    if (*ret_outermost)
        return NULL;
    struct instruction call = *machine_decode(machine->decoder, &machine->image, state->pc);
    if (call.verb != INSTRUCTION_CALL)
        return NULL;
    machine_state_return(state, (struct value){VALUE_UNKNOWN, 0});
    state->pc = call.address + call.size;
    state->calls = 0;
    state->steps = 0;
    state->caught = false;
    state->taken = false;
    struct machine_exploration exploration = {.on_call = report_call,
                                              .error = true,
                                              .call_limit = CHAIN_CALL_LIMIT,
                                              .stop_at_return = true};
    struct machine_state *found = NULL;
    if (machine_exploration_init(&exploration, machine, state))
        found = machine_explore(&exploration);
    machine_exploration_deinit(&exploration);
    if (found && exploration.returned) {
        *ret_outermost = true;
        free(found);
        found = NULL;
    }
    if (found) {
        read_found(machine, found, ret);
        /* `finally` takes the exception, which may fail, and sets it again. */
        ret->direct =
            found->calls == 0 || is_only_report(machine, state, true, false, ONLY_CALL_LIMIT, ret);
    }
    return found;
}

/** The innermost report. `callee` is what failed. */
static struct machine_state *search_first(struct machine *machine, struct machine_state *start,
                                          enum machine_call_kind kind, struct machine_target callee,
                                          struct machine_report *ret)
{
    bool may_fail = kind == MACHINE_CALL_MAY_FAIL;
    struct machine_state *found = NULL;
    struct machine_report plain;
    if (may_fail || kind == MACHINE_CALL_HARMLESS) {
        struct value failure = machine_find_failure(machine, callee);
        machine_state_set_result(start, failure);
        bool trust = failure.kind == VALUE_ERROR;
        /* Where an exception does not match, others are set as a matter of course. */
        bool single = !machine_is_match(machine, callee);
        found = search_report(machine, start, true, single, trust, ret);
        /* Some helpers return what others do that have succeeded: __Pyx_IterFinish(). */
        if (single && (!found || !ret->direct)) {
            free(found);
            found = search_report(machine, start, true, false, trust, ret);
        }
        if (found)
            ret->direct = ret->direct && may_fail;
        machine_state_set_result(start, (struct value){VALUE_UNKNOWN, 0});
    }
    if (found && ret->direct)
        return found;
    struct machine_state *other = search_report(machine, start, false, false, false, &plain);
    plain.direct = other && plain.direct && may_fail;
    if (other && (!found || plain.direct)) {
        free(found);
        *ret = plain;
        return other;
    }
    free(other);
    return found;
}

/** All of them, from the innermost on. */
static size_t follow_reports(struct machine *machine, struct machine_state *start,
                             enum machine_call_kind kind, struct machine_target callee,
                             struct machine_report *ret, size_t limit)
{
    struct machine_report report;
    struct machine_state *found = search_first(machine, start, kind, callee, &report);
    size_t count = 0;
    bool caught = false;
    for (unsigned round = 0; found && count < limit && round < ROUND_LIMIT; round++) {
        if (!report.name && !report.file && !report.line)
            break;
        bool repeated = count && (caught || same_report(&ret[count - 1], &report));
        /* What has no name, and is not the last, says less than the next. */
        if (count && !ret[count - 1].name)
            ret[count - 1] = report;
        else if (!repeated)
            ret[count++] = report;
        bool direct = report.direct;
        struct machine_state *next =
            search_next(machine, found, &report, &ret[count - 1].outermost);
        free(found);
        found = next;
        /* `except` and `with` report, take the exception, and raise it again. */
        caught = found && (found->calls || found->caught) && ret[count - 1].name &&
                 report.name == ret[count - 1].name;
        report.direct = report.direct && direct;
    }
    free(found);
    return count;
}

/** Whether the way alone does not tell all: some of it was loaded before the call. */
static bool lacks_values(const struct machine_report *reports, size_t count)
{
    bool lacks = false;
    for (size_t i = 0; i < count; i++)
        lacks |= !reports[i].line || !reports[i].name;
    return lacks;
}

size_t machine_find_reports(struct machine *machine, uint64_t address, struct machine_report *ret,
                            size_t limit)
{
    struct machine_state start;
    struct machine_target callee;
    enum machine_call_kind kind = machine_find_call(machine, address + 1, &callee);
    uint64_t pc = kind == MACHINE_CALL_NONE ? address : address + 1;
    const struct machine_function *function = machine_find_function(&machine->image, address);
    if (!limit || !function || pc >= function->end || kind == MACHINE_CALL_ENDS ||
        machine_find_anchor(machine, function->start))
        return 0;
    machine_state_init(&start, pc);
    machine_enter_block(machine, function, &start);
    size_t count = follow_reports(machine, &start, kind, callee, ret, limit);
    if (!lacks_values(ret, count))
        return count;
    machine_state_init(&start, pc);
    machine_enter_block(machine, function, &start);
    return machine_find_preserved(machine, pc, &start)
               ? follow_reports(machine, &start, kind, callee, ret, limit)
               : count;
}
