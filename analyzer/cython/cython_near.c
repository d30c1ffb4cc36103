/*
 * A line near an address that tells none itself: of the calls that its function has made for
 * certain on the way there, the last one whose line is known. The body of a parallel block that
 * has none stands below the place where the block begins.
 */
#include "machine.h"

/** Calls that are asked. */
#define NEAR_LIMIT 24

/** Who asks. */
struct asking {
    struct machine *machine;
    const char *module;
    const char *function; /**< As __qualname__, or only the last part of it. */
    struct arena *arena;
};

static bool is_same_function(const struct asking *asking, const char *reported)
{
    const char *function = cython_traceback_function(reported, asking->module, asking->arena);
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
        (last->name ? !is_same_function(asking, last->name) : !last->kept))
        return 0;
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

uint32_t cython_machine_near_line(struct machine *machine, const char *module, const char *function,
                                  uint64_t pc, struct arena *arena, const char **ret_file)
{
    const struct asking asking = {machine, module, function, arena};
    uint32_t line = line_before(&asking, pc, ret_file);
    if (line)
        return line;
    const struct machine_function *home = machine_find_function(&machine->image, pc);
    const struct machine_block *block = home ? machine_find_block(machine, home) : NULL;
    return block ? line_before(&asking, block->call, ret_file) : 0;
}
