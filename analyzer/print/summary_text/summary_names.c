/* Threads and processes by name, many of them in few words. */
#include "summary_private.h"

#include "wait_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of one list; JSON has all. */
#define THREAD_LIMIT  4
#define PROCESS_LIMIT 8

static const char *const separator = " \u00b7 ";

/* With a comma at each thousand. */
void summary_add_count(struct text *text, size_t count)
{
    char digits[32];
    size_t size = (size_t)snprintf(digits, sizeof(digits), "%zu", count);
    for (size_t i = 0; i < size; i++) {
        if (i && (size - i) % 3 == 0)
            text_add_char(text, ',');
        text_add_char(text, digits[i]);
    }
}

static void add_more(struct text *text, size_t count)
{
    if (!count)
        return;
    text_add_string(text, ", \u2026 ");
    summary_add_count(text, count);
    text_add_string(text, " more");
}

/* ---- processes ---- */

static int compare_ranks(const void *left, const void *right)
{
    return COMPARE(*(const uint64_t *)left, *(const uint64_t *)right);
}

/* "0-4, 6"; rising. */
static void add_ranges(struct text *text, const uint64_t *ranks, size_t count)
{
    size_t parts = 0, at = 0;
    while (at < count && parts < PROCESS_LIMIT) {
        size_t first = at++;
        while (at < count && ranks[at] == ranks[at - 1] + 1)
            at++;
        text_printf(text, "%s%" PRIu64, parts++ ? ", " : "", ranks[first]);
        if (at - first > 1)
            text_printf(text, "%s%" PRIu64, at - first > 2 ? "-" : ", ", ranks[at - 1]);
    }
    add_more(text, count - at);
}

static const char *host_of(const struct psc_trace *trace)
{
    return trace->running && trace->running->host ? trace->running->host : "";
}

static bool are_of_one_host(const struct summary *summary)
{
    for (size_t i = 1; i < summary->count; i++)
        if (strcmp(host_of(summary->traces[i]), host_of(summary->traces[0])) != 0)
            return false;
    return true;
}

static void add_process(const struct summary *summary, size_t process)
{
    struct text *text = &summary->sink->buffer;
    const struct psc_trace *trace = summary->traces[process];
    if (*host_of(trace) && !are_of_one_host(summary)) {
        text_add_escaped(text, host_of(trace));
        text_add_char(text, ':');
    }
    if (trace->pid > 0)
        text_printf(text, "%" PRId32, trace->pid);
    else
        text_add_escaped(text, trace->path ? trace->path : "?");
}

/* Those without a rank of their own. */
static void add_others(const struct summary *summary, const bool *member, size_t count)
{
    struct text *text = &summary->sink->buffer;
    size_t done = 0;
    for (size_t i = 0; i < summary->count && done < PROCESS_LIMIT; i++) {
        if (!member[i] || stack_tree_has_rank(summary->traces, summary->count, i))
            continue;
        text_add_string(text, done++ ? ", " : count == 1 ? "process " : "processes ");
        add_process(summary, i);
    }
    add_more(text, count - done);
}

enum psc_status summary_add_processes(struct summary *summary, const bool *member)
{
    struct text *text = &summary->sink->buffer;
    PSC_CLEANUP(cleanup_free) uint64_t *ranks = calloc(summary->count + 1, sizeof(*ranks));
    size_t rank_count = 0, other_count = 0;
    if (!ranks)
        return PSC_ERR_MEMORY;
    for (size_t i = 0; i < summary->count; i++) {
        if (!member[i])
            continue;
        if (stack_tree_has_rank(summary->traces, summary->count, i))
            ranks[rank_count++] = summary->traces[i]->running->rank;
        else
            other_count++;
    }
    qsort(ranks, rank_count, sizeof(*ranks), compare_ranks);
    if (rank_count)
        text_add_string(text, rank_count == 1 ? "rank " : "ranks ");
    add_ranges(text, ranks, rank_count);
    if (rank_count && other_count)
        text_add_string(text, ", ");
    if (other_count)
        add_others(summary, member, other_count);
    return PSC_OK;
}

/* ---- threads ---- */

static void add_thread(struct text *text, const struct trace_thread *thread)
{
    if (thread->tid)
        text_printf(text, "%" PRId32, thread->tid);
    else
        text_printf(text, "0x%" PRIx64, thread->python_thread_id);
    if (!thread->name)
        return;
    text_add_string(text, " \"");
    text_add_escaped(text, thread->name);
    text_add_char(text, '"');
}

static void add_threads(const struct summary *summary, const struct stack_node *node)
{
    struct text *text = &summary->sink->buffer;
    size_t done = 0;
    for (size_t at = node->first_end; at != STACK_TREE_NONE && done < THREAD_LIMIT;
         at = summary->tree->ends[at].next) {
        text_add_string(text, done++ ? ", " : node->ends == 1 ? "thread " : "threads ");
        add_thread(text, summary->tree->ends[at].thread);
    }
    add_more(text, node->ends - done);
}

/* Of several processes: whose they are. */
static enum psc_status add_places(struct summary *summary, const struct stack_node *node)
{
    struct text *text = &summary->sink->buffer;
    PSC_CLEANUP(cleanup_free) bool *member = calloc(summary->count + 1, sizeof(*member));
    size_t processes = 0;
    if (!member)
        return PSC_ERR_MEMORY;
    for (size_t at = node->first_end; at != STACK_TREE_NONE; at = summary->tree->ends[at].next) {
        processes += !member[summary->tree->ends[at].process];
        member[summary->tree->ends[at].process] = true;
    }
    if (node->ends == 1) {
        add_threads(summary, node);
        text_add_string(text, " of ");
    } else if (node->ends != processes) {
        summary_add_count(text, node->ends);
        text_add_string(text, " threads of ");
    }
    return summary_add_processes(summary, member);
}

/* What all of them are doing. */
static void add_states(const struct summary *summary, const struct stack_node *node)
{
    static const struct {
        uint32_t bit;
        const char *words;
    } states[] = {
        {TRACE_STATE_CRASHED, "crashed"},
        {TRACE_STATE_HOLDS_GIL, "holds the GIL"},
        {TRACE_STATE_WAITS_FOR_GIL, "waiting for the GIL"},
        {TRACE_STATE_COLLECTING, "collecting garbage"},
        {TRACE_STATE_FINALIZING, "finalizing"},
        {TRACE_STATE_TERMINATED, "terminated"},
    };
    const struct stack_end *ends = summary->tree->ends, *first = &ends[node->first_end];
    struct text *text = &summary->sink->buffer;
    struct text words = {0};
    uint32_t common = UINT32_MAX;
    struct print_wait_common shared = {.address = true, .time = node->ends == 1};
    bool same_wait = true;
    for (size_t at = node->first_end; at != STACK_TREE_NONE; at = ends[at].next) {
        common &= ends[at].thread->state;
        const struct trace_wait *wait = ends[at].thread->waits_for;
        same_wait = same_wait && print_waits_equal(wait, first->thread->waits_for);
        shared.address = shared.address && wait && first->thread->waits_for &&
                         wait->address == first->thread->waits_for->address;
    }
    for (size_t i = 0; i < PSC_ARRAY_SIZE(states); i++)
        if (common & states[i].bit)
            text_printf(text, "%s%s", separator, states[i].words);
    if (same_wait && first->thread->waits_for &&
        print_add_wait(summary->traces[first->process], first->thread->waits_for, &shared,
                       &words)) {
        text_add_string(text, separator);
        text_add(text, words.data, words.size);
    }
    text->failed |= words.failed;
    text_deinit(&words);
}

enum psc_status summary_add_ends(struct summary *summary, size_t index)
{
    const struct stack_node *node = &summary->tree->nodes[index];
    enum psc_status status = PSC_OK;
    if (summary->count > 1)
        status = add_places(summary, node);
    else
        add_threads(summary, node);
    add_states(summary, node);
    return status;
}
