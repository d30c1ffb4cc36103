/* Which test runs, and which of many equal processes this is, by the environment. */
#include "running_private.h"

#include <stdlib.h>
#include <string.h>

/* More digits make no rank. */
#define RANK_DIGITS 9

/*
 * The most certain first: torchrun's, then those of MPI libraries, which are set for each process;
 * SLURM_PROCID is also inherited by what `mpirun` starts in a batch job. LOCAL_RANK counts on one
 * machine.
 */
static const char *const rank_names[] = {"RANK",     "OMPI_COMM_WORLD_RANK", "PMIX_RANK",
                                         "PMI_RANK", "SLURM_PROCID",         "LOCAL_RANK"};

static bool is_number(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    return digits && digits <= RANK_DIGITS && !text[digits];
}

/* pytest, src/_pytest/runner.py, _update_current_test_var(): "NODEID (PHASE)". */
static void split_test(struct arena *arena, const char *text, struct trace_running *running)
{
    size_t size = strlen(text);
    const char *open = size && text[size - 1] == ')' ? memrchr(text, '(', size) : NULL;
    if (!open || open - text < 2 || open[-1] != ' ') {
        running->test = text;
        return;
    }
    running->test = arena_strndup(arena, text, (size_t)(open - text) - 1);
    running->phase = arena_strndup(arena, open + 1, (size_t)(text + size - open) - 2);
}

void running_take_test(struct arena *arena, const char *text, struct trace_running *ret)
{
    const char *kept = arena_strdup(arena, text);
    if (kept)
        split_test(arena, kept, ret);
}

void running_name_test(struct arena *arena, struct trace_running *running)
{
    const char *test = running_find_variable(running, "PYTEST_CURRENT_TEST");
    if (test && *test)
        split_test(arena, test, running);
    running->worker = running_find_variable(running, "PYTEST_XDIST_WORKER");
    for (size_t i = 0; i < PSC_ARRAY_SIZE(rank_names) && !running->rank_by; i++) {
        const char *value = running_find_variable(running, rank_names[i]);
        if (!value || !is_number(value))
            continue;
        running->rank_by = rank_names[i];
        running->rank = strtoul(value, NULL, 10);
    }
}
