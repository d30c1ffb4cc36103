/*
 * An estimate of the line of an address that tells none itself: of the calls that its function has
 * made for certain on the path there, the last one whose line is known. The body of a parallel
 * block that has none stands below the place where the block begins.
 */
#include "cython_private.h"

#include <stdlib.h>

/** Calls that are asked. */
#define CALL_LIMIT 24
/** Calls that may fail, on the path from a parallel block to the next line. */
#define BEHIND_CALL_LIMIT 8
/** Lines of a block. Behind a longer one nothing tells where in it something is. */
#define BLOCK_LINE_LIMIT 200

/** The line of which function is asked for. */
struct estimate {
    const struct code_question *question;
    const char *function; /**< As __qualname__, or only the last part of it. */
};

static bool is_same_function(const struct estimate *estimate, const struct error_report *report)
{
    const struct code_question *question = estimate->question;
    const char *function =
        cython_traceback_function(report->name, question->module, report->file, question->arena);
    const char *dot = function ? strrchr(function, '.') : NULL;
    if (!function)
        return false;
    return strcmp(function, estimate->function) == 0 ||
           (dot && !strchr(estimate->function, '.') && strcmp(dot + 1, estimate->function) == 0);
}

/** The line that the function has at a call; 0 when it is not certain. */
static uint32_t line_at(const struct estimate *estimate, uint64_t call, const char **ret_file)
{
    struct error_report chain[REPORTS_CHAIN_LIMIT];
    size_t found = reports_find(estimate->question->reports, call, chain, REPORTS_CHAIN_LIMIT);
    const struct error_report *last = found ? &chain[found - 1] : NULL;
    /* A parallel block does not say whose it is. */
    if (!last || !chain[0].direct || !last->line ||
        (last->name ? !is_same_function(estimate, last) : !last->kept))
        return 0;
    if (last->file)
        *ret_file = last->file;
    return last->line;
}

static uint32_t line_before(const struct estimate *estimate, uint64_t pc, const char **ret_file)
{
    uint64_t calls[CALL_LIMIT];
    uint32_t line = 0;
    size_t count = flow_find_calls_before(reports_get_flow(estimate->question->reports), pc, calls,
                                          CALL_LIMIT);
    for (size_t i = 0; !line && i < count; i++)
        line = line_at(estimate, calls[i], ret_file);
    return line;
}

static enum flow_verdict line_call(struct flow_exploration *exploration, struct flow_state *state,
                                   struct code_target target)
{
    struct flow *flow = exploration->flow;
    const struct estimate *estimate = exploration->context;
    const struct traceback_helper *helper = flow_find_traceback_helper(flow, target.address);
    struct error_report report;
    if (!helper)
        return flow_is_cleanup(flow, target) ? FLOW_PASS_FREE : FLOW_PASS_COUNTED;
    reports_read(flow, helper, state, &report);
    /* The block's own report has a line that it keeps in memory. */
    return report.line && report.name && is_same_function(estimate, &report) ? FLOW_FOUND
                                                                             : FLOW_END_PATH;
}

/** The line of the next error that the function can report behind a call. */
static uint32_t line_behind(struct estimate *estimate, uint64_t call, const char **ret_file)
{
    struct flow *flow = reports_get_flow(estimate->question->reports);
    struct flow_state start;
    struct error_report report = {0};
    flow_state_init(&start, flow->image.abi, call + 1);
    struct flow_exploration exploration = {.on_call = line_call,
                                           .context = estimate,
                                           .call_limit = BEHIND_CALL_LIMIT,
                                           .crowded = true};
    struct flow_state *found = flow_explore_once(&exploration, flow, &start);
    if (!found)
        return 0;
    struct instruction last = *flow_decode(flow, found->pc);
    struct code_target target = flow_operand_target(flow, &last.to);
    const struct traceback_helper *helper = flow_find_traceback_helper(flow, target.address);
    if (helper)
        reports_read(flow, helper, found, &report);
    free(found);
    if (report.file)
        *ret_file = report.file;
    return report.line;
}

/**
 * Half way between the last line that was certainly passed and the next one that may be come to;
 * where one of them is not known, the other.
 */
static uint32_t middle(uint32_t before, uint32_t behind)
{
    if (!before || behind <= before || behind - before > BLOCK_LINE_LIMIT)
        return before ? before : behind;
    return before + (behind - before) / 2;
}

uint32_t cython_estimate_line(const struct code_question *question, const char *function,
                              uint64_t pc, uint32_t next, const char **ret_file)
{
    struct estimate estimate = {question, function};
    const struct code_image *image = &reports_get_flow(question->reports)->image;
    const struct code_function *around = code_find_function(image, pc);
    const struct parallel_block *block =
        around ? reports_find_block(question->reports, around) : NULL;
    uint32_t line = line_before(&estimate, pc, ret_file);
    if (!block)
        return line ? line : next;
    if (!line || !*ret_file) {
        uint32_t above = line_before(&estimate, block->call, ret_file);
        line = line ? line : above;
    }
    if (!next || !*ret_file) {
        uint32_t below = line_behind(&estimate, block->call, ret_file);
        next = next ? next : below;
    }
    return middle(line, next);
}
