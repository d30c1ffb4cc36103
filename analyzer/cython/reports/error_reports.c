/*
 * The path of an error: from the return address forward to the helper that reports it, and on to
 * the reports of the functions into which that one was inlined.
 */
#include "python.h"
#include "reports_private.h"

#include <stdlib.h>
#include <string.h>

/** Calls that may fail, on the path to a report. */
#define CALL_LIMIT 3
/** The same in the body of a parallel block: its error path calls more of them. */
#define BLOCK_CALL_LIMIT 6
/** The same where all paths are followed, not only the best. */
#define ONLY_CALL_LIMIT 8
/** On the path from one report to that of the caller into which the function was inlined. */
#define CHAIN_CALL_LIMIT 1
/** Reports on one path, repeated ones included. */
#define ROUND_LIMIT (2 * REPORTS_CHAIN_LIMIT)

/** The traceback helper that a call enters; false when it enters none. */
static bool find_report_call(const struct flow *flow, struct code_target target,
                             struct traceback_helper *ret)
{
    const struct code_abi *abi = flow->image.abi;
    if (!target.import) {
        const struct traceback_helper *helper = flow_find_traceback_helper(flow, target.address);
        if (helper)
            *ret = *helper;
        return helper;
    }
    /* Of the helper that was inlined into its only caller, the module's body at -O3. */
    const struct c_api_code_maker *maker = c_api_traits(target.import) & C_API_MAKES_CODE
                                               ? c_api_find_code_maker(target.import, false)
                                               : NULL;
    if (maker)
        *ret = (struct traceback_helper){.name = flow_entry_argument(abi, maker->name),
                                         .line = flow_entry_argument(abi, maker->line),
                                         .file = flow_entry_argument(abi, maker->file)};
    return maker;
}

/** A failure of something other than the call that is under way. */
static bool is_another_failure(const struct flow_exploration *exploration,
                               const struct flow_state *state, struct code_target target)
{
    return target.import && c_api_traits(target.import) & C_API_RAISES && exploration->single &&
           state->tested;
}

static void forget_error(struct abstract_value *value)
{
    if (value->kind == ABSTRACT_ERROR)
        *value = (struct abstract_value){ABSTRACT_UNKNOWN, 0};
}

/**
 * Cython tests what a call has returned for failure before it takes or releases the GIL: what is
 * tested afterwards is of the program's own meaning.
 */
static void forget_failure(struct flow_state *state)
{
    for (size_t i = 0; i < INSTRUCTION_REGISTER_LIMIT; i++) {
        forget_error(&state->registers[i]);
        forget_error(&state->vectors[i]);
    }
    for (size_t i = 0; i < state->slot_count; i++)
        forget_error(&state->slots[i].value);
}

static enum flow_verdict report_call(struct flow_exploration *exploration, struct flow_state *state,
                                     struct code_target target)
{
    state->caught |= flow_takes_exception(exploration->flow, target);
    if (!state->tested && target.import && c_api_traits(target.import) & C_API_GIL)
        forget_failure(state);
    struct traceback_helper helper;
    if (find_report_call(exploration->flow, target, &helper) || reports_kept_line(state))
        return FLOW_FOUND;
    if (is_another_failure(exploration, state, target))
        return FLOW_END_PATH;
    return flow_is_cleanup(exploration->flow, target) ? FLOW_PASS_FREE : FLOW_PASS_COUNTED;
}

void reports_read(const struct flow *flow, const struct traceback_helper *helper,
                  const struct flow_state *state, struct error_report *ret)
{
    struct abstract_value name = flow_state_resolve(state, helper->name),
                          file = flow_state_resolve(state, helper->file),
                          line = flow_state_resolve(state, helper->line);
    *ret = (struct error_report){0};
    if (name.kind == ABSTRACT_CONSTANT)
        ret->name = code_string(&flow->image, name.number);
    if (file.kind == ABSTRACT_CONSTANT)
        ret->file = code_string(&flow->image, file.number);
    uint32_t number = (uint32_t)line.number;
    if (line.kind == ABSTRACT_CONSTANT && number && number < INT32_MAX)
        ret->line = number;
}

/** What the call at which the state stands reports. */
static void read_found(struct flow *flow, const struct flow_state *state, struct error_report *ret)
{
    struct instruction call = *flow_decode(flow, state->pc);
    struct code_target target = flow_operand_target(flow, &call.to);
    struct traceback_helper helper;
    *ret = (struct error_report){.line = reports_kept_line(state)};
    ret->kept = ret->line != 0;
    if (ret->kept)
        ret->file = reports_kept_file(flow, state);
    if (find_report_call(flow, target, &helper))
        reports_read(flow, &helper, state, ret);
}

static bool same_report(const struct error_report *a, const struct error_report *b)
{
    return a->line == b->line && a->name == b->name && a->file == b->file;
}

/** What is assumed of the call whose report is searched for. */
struct report_search {
    struct flow *flow;
    bool error;  /**< It has failed. */
    bool single; /**< Nothing else fails besides. */
    bool trust;  /**< A branch on what it returned is one on its failure. */
    bool raises; /**< It is known to set exceptions. */
};

/**
 * Whether no path leads to another report.
 * @param call_limit  of the paths that are followed. With 0 none may leave the function either:
 * there, one without a report says that the call does not fail.
 */
static bool is_only_report(const struct report_search *search, const struct flow_state *start,
                           unsigned call_limit, const struct error_report *report)
{
    struct flow_exploration exploration = {.on_call = report_call,
                                           .error = search->error,
                                           .single = search->single,
                                           .call_limit = call_limit};
    struct flow_state *state;
    bool only = flow_exploration_init(&exploration, search->flow, start);
    while (only && (state = flow_explore(&exploration))) {
        struct error_report other;
        read_found(search->flow, state, &other);
        only = same_report(report, &other);
        free(state);
    }
    /* From where a parallel block fails to where it keeps the line, too much happens for all. */
    only = only && (report->kept || (!exploration.cut_short && !(exploration.left && !call_limit)));
    flow_exploration_deinit(&exploration);
    return only;
}

static struct flow_state *search_report(const struct report_search *search,
                                        const struct flow_state *start, struct error_report *ret)
{
    struct flow_exploration exploration = {
        .on_call = report_call,
        .error = search->error,
        .single = search->single,
        .call_limit = start->line_address.kind == ABSTRACT_SHARED ? BLOCK_CALL_LIMIT : CALL_LIMIT};
    struct flow_state *found = flow_explore_once(&exploration, search->flow, start);
    if (!found)
        return NULL;
    read_found(search->flow, found, ret);
    struct flow_state open;
    flow_state_copy(start, &open);
    if (!found->tested) /* A branch that failure decided, but as success would have, is open. */
        flow_state_set_result(&open, (struct abstract_value){ABSTRACT_UNKNOWN, 0});
    bool tested = search->trust && found->tested;
    if (found->calls == 0)
        ret->direct = tested || is_only_report(search, &open, 0, ret);
    else
        /*
         * A generator's body exchanges StopIteration for RuntimeError before it reports. But `if
         * error < 0: raise ...` calls something as well.
         */
        ret->direct =
            tested && search->raises && is_only_report(search, start, ONLY_CALL_LIMIT, ret);
    return found;
}

/* ---- the reports of an address ---- */

/**
 * From one report on to the next, that of the function into which it was inlined.
 * @param ret_outermost  whether there is none since the path leaves the function.
 */
static struct flow_state *search_next(struct flow *flow, struct flow_state *state,
                                      struct error_report *ret, bool *ret_outermost)
{
    /* What a parallel block keeps is the last that it tells. */
    *ret_outermost = reports_kept_line(state);
    if (*ret_outermost)
        return NULL;
    struct instruction call = *flow_decode(flow, state->pc);
    if (call.verb != INSTRUCTION_CALL)
        return NULL;
    flow_state_return(state, (struct abstract_value){ABSTRACT_UNKNOWN, 0});
    state->pc = call.address + call.size;
    state->calls = 0;
    state->steps = 0;
    state->caught = false;
    state->taken = false;
    struct flow_exploration exploration = {.on_call = report_call,
                                           .error = true,
                                           .call_limit = CHAIN_CALL_LIMIT,
                                           .stop_at_return = true};
    struct flow_state *found = flow_explore_once(&exploration, flow, state);
    if (found && exploration.returned) {
        *ret_outermost = true;
        free(found);
        found = NULL;
    }
    if (found) {
        read_found(flow, found, ret);
        /* `finally` takes the exception, does what may fail itself, and sets the exception again.
         */
        struct report_search search = {.flow = flow, .error = true};
        ret->direct = found->calls == 0 || is_only_report(&search, state, ONLY_CALL_LIMIT, ret);
    }
    return found;
}

/** A call that is under way. */
struct pending_call {
    enum flow_call_kind kind;
    struct code_target callee;
};

/** Finds the innermost report. */
static struct flow_state *search_first(struct flow *flow, struct flow_state *start,
                                       const struct pending_call *call, struct error_report *ret)
{
    bool may_fail = call->kind == FLOW_CALL_MAY_FAIL;
    struct flow_state *found = NULL;
    struct error_report plain;
    if (may_fail || call->kind == FLOW_CALL_CLEANUP) {
        bool raises;
        struct abstract_value failure = reports_find_error_return(flow, call->callee, &raises);
        flow_state_set_result(start, failure);
        /* Where an exception does not match, others are set as a matter of course. */
        struct report_search search = {.flow = flow,
                                       .error = true,
                                       .single = !flow_matches_exception(flow, call->callee),
                                       .trust = failure.kind == ABSTRACT_ERROR,
                                       .raises = raises};
        found = search_report(&search, start, ret);
        /* Some helpers return what others do that have succeeded: __Pyx_IterFinish(). */
        if (search.single && (!found || !ret->direct)) {
            search.single = false;
            free(found);
            found = search_report(&search, start, ret);
        }
        if (found)
            ret->direct = ret->direct && may_fail;
        flow_state_set_result(start, (struct abstract_value){ABSTRACT_UNKNOWN, 0});
    }
    if (found && ret->direct)
        return found;
    struct flow_state *other = search_report(&(struct report_search){.flow = flow}, start, &plain);
    plain.direct = other && plain.direct && may_fail;
    if (other && (!found || plain.direct)) {
        free(found);
        *ret = plain;
        return other;
    }
    free(other);
    return found;
}

/** Finds all reports, from the innermost on. */
static size_t follow_reports(struct flow *flow, struct flow_state *start,
                             const struct pending_call *call, struct error_report *ret,
                             size_t limit)
{
    struct error_report report;
    struct flow_state *found = search_first(flow, start, call, &report);
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
        struct flow_state *next = search_next(flow, found, &report, &ret[count - 1].outermost);
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

/** Whether the path alone does not tell all: some of it was loaded before the call. */
static bool lacks_values(const struct error_report *reports, size_t count)
{
    bool lacks = false;
    for (size_t i = 0; i < count; i++)
        lacks |= !reports[i].line || !reports[i].name;
    return lacks;
}

static size_t find_chain(struct reports *reports, uint64_t address, struct error_report *ret,
                         size_t limit)
{
    struct flow *flow = &reports->flow;
    struct flow_state start;
    struct pending_call call;
    call.kind = flow_find_call(flow, address + 1, &call.callee);
    uint64_t pc = call.kind == FLOW_CALL_NONE ? address : address + 1;
    const struct code_function *function = code_find_function(&flow->image, address);
    if (!limit || !function || pc >= function->end || call.kind == FLOW_CALL_NEVER_RETURNS ||
        flow_find_traceback_helper(flow, function->start))
        return 0;
    flow_state_init(&start, flow->image.abi, pc);
    reports_enter_block(reports, function, &start);
    size_t count = follow_reports(flow, &start, &call, ret, limit);
    if (!lacks_values(ret, count))
        return count;
    flow_state_init(&start, flow->image.abi, pc);
    reports_enter_block(reports, function, &start);
    return flow_find_preserved(flow, pc, &start) ? follow_reports(flow, &start, &call, ret, limit)
                                                 : count;
}

/* ---- those that were asked for ---- */

/** The reports of one address. */
struct known_chain {
    uint64_t address;
    size_t first; /**< In the list of all. */
    size_t count;
};

struct known_chains {
    struct hash_table addresses; /**< struct known_chain */
    struct error_report *items;
    size_t count;
    size_t capacity;
};

void reports_destroy_chains(struct known_chains *chains)
{
    if (!chains)
        return;
    hash_table_deinit(&chains->addresses);
    free(chains->items);
    free(chains);
}

static void keep_chain(struct known_chains *chains, uint64_t address,
                       const struct error_report *reports, size_t count)
{
    struct known_chain *known = NULL;
    if (array_reserve((void **)&chains->items, &chains->capacity, chains->count + count + 1,
                      sizeof(*chains->items)))
        known = hash_table_add(&chains->addresses, address);
    if (!known)
        return;
    known->first = chains->count;
    known->count = count;
    if (count)
        memcpy(chains->items + chains->count, reports, count * sizeof(*reports));
    chains->count += count;
}

size_t reports_find(struct reports *reports, uint64_t address, struct error_report *ret,
                    size_t limit)
{
    if (!reports->chains && (reports->chains = calloc(1, sizeof(*reports->chains))))
        reports->chains->addresses = HASH_TABLE_OF(struct known_chain);
    struct known_chains *chains = reports->chains;
    /* With less room something else may be the last. */
    if (!chains || limit != REPORTS_CHAIN_LIMIT)
        return find_chain(reports, address, ret, limit);
    const struct known_chain *known = hash_table_find(&chains->addresses, address);
    if (known && known->count)
        memcpy(ret, chains->items + known->first, known->count * sizeof(*ret));
    if (known)
        return known->count;
    size_t count = find_chain(reports, address, ret, limit);
    keep_chain(chains, address, ret, count);
    return count;
}
