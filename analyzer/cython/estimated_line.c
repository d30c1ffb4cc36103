/*
 * A line near an address that tells none itself: of the calls that its function has made for
 * certain on the way there, the last one whose line is known. The body of a parallel block that
 * has none stands below the place where the block begins.
 */
#include "explore.h"

#include <stdlib.h>

/** Calls that are asked. */
#define NEAR_LIMIT 24
/** Calls that may fail, on the way from a parallel block to the next line. */
#define BEHIND_CALL_LIMIT 8
/** Lines of a block. Behind a longer one nothing tells where in it something is. */
#define BLOCK_LINE_LIMIT 200

/** Who asks. */
struct asking {
    struct machine *machine;
    const char *module;
    const char *function; /**< As __qualname__, or only the last part of it. */
    struct arena *arena;
};

static bool is_same_function(const struct asking *asking, const struct machine_report *report)
{
    const char *function =
        cython_traceback_function(report->name, asking->module, report->file, asking->arena);
    const char *dot = function ? strrchr(function, '.') : NULL;
    if (!function)
        return false;
    return strcmp(function, asking->function) == 0 ||
           (dot && !strchr(asking->function, '.') && strcmp(dot + 1, asking->function) == 0);
}

/** The line that the function has at a call; 0 when it is not certain. */
static uint32_t line_at(const struct asking *asking, uint64_t call, const char **ret_file)
{
    struct machine_report reports[MACHINE_CHAIN_LIMIT];
    size_t found = machine_find_reports(asking->machine, call, reports, MACHINE_CHAIN_LIMIT);
    const struct machine_report *last = found ? &reports[found - 1] : NULL;
    /* A parallel block does not say whose it is. */
    if (!last || !reports[0].direct || !last->line ||
        (last->name ? !is_same_function(asking, last) : !last->kept))
        return 0;
    if (last->file)
        *ret_file = last->file;
    return last->line;
}

static uint32_t line_before(const struct asking *asking, uint64_t pc, const char **ret_file)
{
    uint64_t calls[NEAR_LIMIT];
    uint32_t line = 0;
    size_t count = machine_find_calls_before(asking->machine, pc, calls, NEAR_LIMIT);
    for (size_t i = 0; !line && i < count; i++)
        line = line_at(asking, calls[i], ret_file);
    return line;
}

static enum machine_verdict line_call(struct machine_exploration *exploration,
                                      struct machine_state *state, struct machine_target target)
{
    struct machine *machine = exploration->machine;
    const struct asking *asking = exploration->context;
    const struct machine_anchor *anchor = machine_find_anchor(machine, target.address);
    struct machine_report report;
    if (!anchor)
        return machine_is_clean(machine, target) ? MACHINE_PASS_FREE : MACHINE_PASS_COUNTED;
    machine_read_report(machine, anchor, state, &report);
    /* The block's own report has a line that it keeps in memory. */
    return report.line && report.name && is_same_function(asking, &report) ? MACHINE_FOUND
                                                                           : MACHINE_END_WAY;
}

/** The line of the next error that the function can report behind a call. */
static uint32_t line_behind(struct asking *asking, uint64_t call, const char **ret_file)
{
    struct machine *machine = asking->machine;
    struct machine_state start;
    struct machine_report report = {0};
    machine_state_init(&start, call + 1);
    struct machine_exploration exploration = {
        .on_call = line_call, .context = asking, .call_limit = BEHIND_CALL_LIMIT, .crowded = true};
    struct machine_state *found = NULL;
    if (machine_exploration_init(&exploration, machine, &start))
        found = machine_explore(&exploration);
    machine_exploration_deinit(&exploration);
    if (!found)
        return 0;
    struct instruction last = *machine_decode(machine->decoder, &machine->image, found->pc);
    struct machine_target target = machine_operand_target(machine, &last.to);
    const struct machine_anchor *anchor = machine_find_anchor(machine, target.address);
    if (anchor)
        machine_read_report(machine, anchor, found, &report);
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

uint32_t cython_machine_near_line(struct machine *machine, const char *module, const char *function,
                                  uint64_t pc, uint32_t behind, struct arena *arena,
                                  const char **ret_file)
{
    struct asking asking = {machine, module, function, arena};
    const struct machine_function *home = machine_find_function(&machine->image, pc);
    const struct machine_block *block = home ? machine_find_block(machine, home) : NULL;
    uint32_t line = line_before(&asking, pc, ret_file);
    if (!block)
        return line ? line : behind;
    if (!line || !*ret_file) {
        uint32_t above = line_before(&asking, block->call, ret_file);
        line = line ? line : above;
    }
    if (!behind || !*ret_file) {
        uint32_t below = line_behind(&asking, block->call, ret_file);
        behind = behind ? behind : below;
    }
    return middle(line, behind);
}
