#include "what_runs.h"

#include <inttypes.h>

/* Of the packages, how many a line has; JSON has all of them. */
#define PACKAGE_LIMIT 8

static const char *const separator = " \u00b7 ";

void what_runs_add_rank(struct text *text, const struct trace_running *running)
{
    if (running && running->rank_by)
        text_printf(text, " (rank %" PRIu64 ")", running->rank);
}

static void add_test(struct text *text, const struct trace_running *running)
{
    if (!running->test)
        return;
    text_add_string(text, "  test ");
    text_add_escaped(text, running->test);
    if (running->phase) {
        text_add_string(text, " (");
        text_add_escaped(text, running->phase);
        text_add_char(text, ')');
    }
    if (running->worker) {
        text_add_string(text, separator);
        text_add_string(text, "worker ");
        text_add_escaped(text, running->worker);
    }
    if (running->has_test_age)
        text_printf(text, "%slast seen %.1f s before the end", separator, running->test_age);
    text_add_char(text, '\n');
}

static void add_packages(struct text *text, const struct trace_running *running, bool all)
{
    size_t count = running->package_count;
    size_t shown = all || count <= PACKAGE_LIMIT ? count : PACKAGE_LIMIT;
    for (size_t i = 0; i < shown; i++) {
        text_add_string(text, i ? ", " : "  packages: ");
        text_add_escaped(text, running->packages[i].name);
        text_add_char(text, ' ');
        text_add_escaped(text, running->packages[i].version);
    }
    if (shown < count)
        text_printf(text, ", %zu more", count - shown);
    if (shown)
        text_add_char(text, '\n');
}

/* ---- all ---- */

static void add_uptime(struct text *text, double uptime)
{
    uint64_t seconds = (uint64_t)uptime;
    uint64_t minutes = seconds / 60, hours = minutes / 60, days = hours / 24;
    if (days)
        text_printf(text, "up %" PRIu64 " d %" PRIu64 " h", days, hours % 24);
    else if (hours)
        text_printf(text, "up %" PRIu64 " h %" PRIu64 " min", hours, minutes % 60);
    else if (minutes)
        text_printf(text, "up %" PRIu64 " min %" PRIu64 " s", minutes, seconds % 60);
    else
        text_printf(text, "up %.1f s", uptime);
}

static void add_place(struct text *text, const struct trace_running *running)
{
    const char *before = "  ";
    if (running->has_uptime) {
        text_add_string(text, before);
        add_uptime(text, running->uptime);
        before = separator;
    }
    if (running->working_directory) {
        text_add_string(text, before);
        text_add_string(text, "in ");
        text_add_escaped(text, running->working_directory);
        before = separator;
    }
    if (running->host) {
        text_add_string(text, before);
        text_add_string(text, "on ");
        text_add_escaped(text, running->host);
        before = separator;
    }
    if (before == separator)
        text_add_char(text, '\n');
}

static void add_bytes(struct text *text, uint64_t bytes)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 1024 && unit + 1 < PSC_ARRAY_SIZE(units)) {
        value /= 1024;
        unit++;
    }
    text_printf(text, value < 10 && unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

static void add_memory(struct text *text, const struct trace_running *running)
{
    size_t shown = 0;
    for (size_t i = 0; i < running->memory_count; i++) {
        const struct trace_memory *memory = &running->memory[i];
        if (!memory->bytes)
            continue;
        text_add_string(text, shown++ ? ", " : "  memory: ");
        // "resident_file"
        for (const char *at = memory->kind; *at; at++)
            text_add_char(text, *at == '_' ? ' ' : *at);
        text_add_char(text, ' ');
        add_bytes(text, memory->bytes);
    }
    if (shown)
        text_add_char(text, '\n');
}

static void add_environment(struct text *text, const struct trace_running *running)
{
    if (!running->environment_known) {
        text_add_string(text, "  environment: cannot be read\n");
        return;
    }
    if (running->environment_count)
        text_printf(text, "  environment%s:\n",
                    running->environment_initial ? " that it began with" : "");
    for (size_t i = 0; i < running->environment_count; i++) {
        const struct trace_variable *variable = &running->environment[i];
        text_add_string(text, "    ");
        text_add_escaped(text, variable->name);
        text_add_char(text, '=');
        text_add_escaped(text, variable->value);
        text_add_string(text, variable->cut ? "\u2026\n" : "\n");
    }
}

void what_runs_add_lines(struct text *text, const struct trace_running *running, bool all)
{
    if (!running)
        return;
    add_test(text, running);
    add_packages(text, running, all);
    if (!all)
        return;
    add_place(text, running);
    add_memory(text, running);
    add_environment(text, running);
}
