/* What was looked at: of one process its report's head, of several a line for all that are alike.
 */
#include "summary_private.h"

#include "as_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Kinds of processes, and deaths, that have a line. */
#define KIND_LIMIT  6
#define DEATH_LIMIT 6
/* Of a command line, in characters. */
#define COMMAND_LIMIT 100

static bool have_same_command(const struct psc_trace *a, const struct psc_trace *b)
{
    if (a->argument_count != b->argument_count)
        return false;
    for (size_t i = 0; i < a->argument_count; i++)
        if (strcmp(a->arguments[i], b->arguments[i]) != 0)
            return false;
    return true;
}

static void add_command(struct text *text, const struct psc_trace *trace)
{
    size_t start = text->size;
    if (!trace->argument_count)
        text_add_escaped(text, trace->executable ? trace->executable : "unknown program");
    for (size_t i = 0; i < trace->argument_count && text->size - start < COMMAND_LIMIT; i++) {
        if (i)
            text_add_char(text, ' ');
        text_add_escaped(text, trace->arguments[i]);
    }
    size_t end = start + COMMAND_LIMIT;
    if (text->size <= end)
        return;
    while (utf8_continues(text->data[end]))
        end--;
    text->size = end;
    text_add_string(text, "\u2026");
}

/* Those from `first` on that have its command line; *known of each becomes true. */
static enum psc_status add_kind(struct summary *summary, size_t first, bool *known)
{
    struct text *text = &summary->sink->buffer;
    PSC_CLEANUP(cleanup_free) bool *member = calloc(summary->count, sizeof(*member));
    size_t count = 0;
    if (!member)
        return PSC_ERR_MEMORY;
    for (size_t i = first; i < summary->count; i++) {
        member[i] = !known[i] && have_same_command(summary->traces[first], summary->traces[i]);
        known[i] |= member[i];
        count += member[i];
    }
    if (count > 1) {
        summary_add_count(text, count);
        text_add_string(text, " of ");
    }
    add_command(text, summary->traces[first]);
    text_add_string(text, ": ");
    enum psc_status status = summary_add_processes(summary, member);
    text_add_char(text, '\n');
    return status;
}

static enum psc_status add_deaths(struct summary *summary)
{
    struct text *text = &summary->sink->buffer;
    enum psc_status status = PSC_OK;
    size_t count = 0;
    for (size_t i = 0; status == PSC_OK && i < summary->count; i++) {
        const struct trace_crash *crash = summary->traces[i]->crash;
        // A core that was written of a process that lived on has no signal.
        if (!crash || crash->cause == TRACE_CAUSE_SNAPSHOT || ++count > DEATH_LIMIT)
            continue;
        PSC_CLEANUP(cleanup_free) bool *member = calloc(summary->count, sizeof(*member));
        if (!member)
            return PSC_ERR_MEMORY;
        member[i] = true;
        text_add_string(text, "  ");
        status = summary_add_processes(summary, member);
        text_add_string(text, " died of ");
        text_add_escaped(text, crash->signal ? crash->signal : "a signal");
        if (crash->summary) {
            text_add_string(text, ": ");
            text_add_escaped(text, crash->summary);
        }
        text_add_char(text, '\n');
    }
    if (count > DEATH_LIMIT)
        text_printf(text, "  \u2026 %zu more died\n", count - DEATH_LIMIT);
    return status;
}

enum psc_status summary_add_head(struct summary *summary)
{
    struct text *text = &summary->sink->buffer;
    if (summary->count == 1) {
        print_text_head(summary->traces[0], summary->options, summary->sink);
        return PSC_OK;
    }
    PSC_CLEANUP(cleanup_free) bool *known = calloc(summary->count + 1, sizeof(*known));
    if (!known)
        return PSC_ERR_MEMORY;
    enum psc_status status = PSC_OK;
    size_t kinds = 0, left = 0;
    for (size_t i = 0; status == PSC_OK && i < summary->count; i++) {
        if (known[i])
            continue;
        if (kinds == KIND_LIMIT) {
            left++;
            continue;
        }
        kinds++;
        status = add_kind(summary, i, known);
    }
    if (left)
        text_printf(text, "\u2026 %zu more processes\n", left);
    return status == PSC_OK ? add_deaths(summary) : status;
}
