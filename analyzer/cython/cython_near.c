/*
 * A line near a parallel block: the call of OpenMP's runtime cannot fail and tells nothing, but
 * compilers keep a function's calls about in their order.
 */
#include "machine_explore.h"

/** Calls on either side of the address that are asked. */
#define NEAR_LIMIT 24
/** Bytes of a function that are decoded. */
#define CODE_SIZE_LIMIT ((uint64_t)256 * 1024)

/** A method table has only the last part of a name. */
static bool is_same_name(const char *reported, const char *name)
{
    const char *dot = strchr(name, '.') ? NULL : strrchr(reported, '.');
    return strcmp(dot ? dot + 1 : reported, name) == 0;
}

/** The line that the function has at a call; 0 when it is not certain. */
static uint32_t line_at(struct machine *machine, const char *name, uint64_t call,
                        const char **ret_file)
{
    struct machine_report reports[MACHINE_CHAIN_LIMIT];
    size_t found = machine_find_reports(machine, call, reports, MACHINE_CHAIN_LIMIT);
    const struct machine_report *last = found ? &reports[found - 1] : NULL;
    if (!last || !reports[0].direct || !last->line || !last->name ||
        !is_same_name(last->name, name))
        return 0;
    *ret_file = last->file;
    return last->line;
}

/** The calls before an address, the last ones in a ring, and the first ones behind it. */
struct near_calls {
    uint64_t before[NEAR_LIMIT];
    size_t before_count;
    uint64_t behind[NEAR_LIMIT];
    size_t behind_count;
    bool parallel; /**< The call at the address begins a parallel block. */
};

/* gcc's libgomp, and the runtime of LLVM and Intel. */
static bool begins_parallel(const struct machine *machine,
                            const struct machine_instruction *instruction)
{
    struct machine_target target = machine_operand_target(machine, &instruction->to);
    return target.import && (strncmp(target.import, "GOMP_parallel", 13) == 0 ||
                             strncmp(target.import, "__kmpc_fork_call", 16) == 0);
}

static void find_calls(struct machine *machine, const struct machine_function *function,
                       uint64_t pc, struct near_calls *calls)
{
    for (uint64_t at = function->start; at < function->end && calls->behind_count < NEAR_LIMIT;) {
        const struct machine_instruction *instruction =
            machine_decode(machine->decoder, &machine->image, at);
        if (instruction->verb == MACHINE_BAD)
            return;
        uint64_t next = at + instruction->size;
        if (instruction->verb == MACHINE_CALL && pc >= at && pc < next)
            calls->parallel = begins_parallel(machine, instruction);
        if (instruction->verb == MACHINE_CALL && next <= pc)
            calls->before[calls->before_count++ % NEAR_LIMIT] = next - 1;
        else if (instruction->verb == MACHINE_CALL && at > pc)
            calls->behind[calls->behind_count++] = next - 1;
        at = next;
    }
}

uint32_t cython_machine_near_line(struct machine *machine, const char *name, uint64_t pc,
                                  const char **ret_file)
{
    const struct machine_function *function = machine_find_function(&machine->image, pc);
    struct near_calls calls = {.before_count = 0};
    uint32_t line = 0;
    if (!function || function->end - function->start > CODE_SIZE_LIMIT)
        return 0;
    find_calls(machine, function, pc, &calls);
    if (!calls.parallel)
        return 0;
    for (size_t i = 0; !line && i < calls.before_count && i < NEAR_LIMIT; i++)
        line = line_at(machine, name, calls.before[(calls.before_count - 1 - i) % NEAR_LIMIT],
                       ret_file);
    for (size_t i = 0; !line && i < calls.behind_count; i++)
        line = line_at(machine, name, calls.behind[i], ret_file);
    return line;
}
