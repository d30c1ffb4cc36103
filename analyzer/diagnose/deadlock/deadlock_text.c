/* A cycle in words. */
#include "deadlock_private.h"

#include <inttypes.h>
#include <string.h>

/* Members that the sentence has; a list has all of them. */
#define SENTENCE_LIMIT 16u
/* Bytes of names and of what members wait for; members behind them have numbers alone. */
#define NAMED_BYTES_LIMIT ((size_t)8 << 20)

static void add_quoted(struct text *text, const char *name)
{
    if (name)
        text_printf(text, " \"%s\"", name);
}

/* 'thread 12 "feeder"', 'task "reader"'. */
static void add_name(const struct waiting *waiting, const struct wait_node *node, struct text *text)
{
    bool named = waiting->named_bytes < NAMED_BYTES_LIMIT;
    if (node->thread) {
        text_printf(text, "thread %d", node->thread->tid);
        add_quoted(text, named ? node->thread->name : NULL);
    } else {
        text_add_string(text, "task");
        if (node->task_name && named)
            add_quoted(text, node->task_name);
        else
            text_printf(text, " 0x%" PRIx64, node->task);
    }
}

/* The same with the process, where there are several. */
static void add_node(const struct waiting *waiting, const struct wait_node *node, struct text *text)
{
    add_name(waiting, node, text);
    if (waiting->trace_count > 1 && node->trace)
        text_printf(text, " of process %d", node->trace->pid);
}

static void add_object(const struct waiting *waiting, const struct trace_wait *wait,
                       struct text *text)
{
    bool named = waiting->named_bytes < NAMED_BYTES_LIMIT;
    text_add_string(text, wait && wait->object && named ? wait->object
                          : wait                        ? trace_wait_name(wait->kind)
                                                        : "something");
    if (wait && wait->has_address)
        text_printf(text, " 0x%" PRIx64, wait->address);
}

static void add_reason(const struct waiting *waiting, const struct wait_label *label,
                       const struct wait_node *node, const struct wait_node *next,
                       struct text *text)
{
    bool stop = label->wait && label->wait->kind == TRACE_WAIT_STOP_THE_WORLD;
    const char *held = stop ? ", held up by " : label->certain ? ", held by " : ", likely held by ";
    switch (label->reason) {
    case REASON_HELD:
        add_object(waiting, label->wait, text);
        text_add_string(text, held);
        break;
    case REASON_JOIN:
        text_add_string(text, "the end of ");
        // What waits for a process waits for all of its threads.
        if (label->wait && label->wait->kind == TRACE_WAIT_CHILD && next->trace) {
            text_printf(text, "process %d and its ", next->trace->pid);
            add_name(waiting, next, text);
            return;
        }
        break;
    case REASON_END:
        add_object(waiting, label->wait, text);
        text_add_string(text, ": ");
        break;
    case REASON_RESULT:
        text_add_string(text, "the end of ");
        break;
    case REASON_WORK:
        text_add_string(text, "what is worked on by ");
        break;
    case REASON_UNBEGUN:
        text_add_string(text, "a coroutine that has yet to be begun with by the event loop of ");
        break;
    case REASON_LOOP:
        text_add_string(text, "its event loop, which is run by ");
        break;
    case REASON_EXECUTOR:
        text_printf(text,
                    label->choices == 1 ? "work that the only thread of an executor has yet to "
                                          "begin with, "
                                        : "work that an executor has yet to begin with, all %zu "
                                          "threads of which wait, as ",
                    label->choices);
        break;
    case REASON_CHOICE:
        break;
    }
    if (next == node)
        text_add_string(text, "itself");
    else
        add_node(waiting, next, text);
}

static const char *why_known(const struct wait_label *label)
{
    switch (label->reason) {
    case REASON_LOOP:
        return "the thread that the event loop notes, and what that one waits for";
    case REASON_RESULT:
    case REASON_HELD:
    case REASON_JOIN:
    case REASON_END:
    case REASON_WORK:
    case REASON_UNBEGUN:
    case REASON_EXECUTOR:
    case REASON_CHOICE:
        break;
    }
    return label->wait && label->wait->known_by ? label->wait->known_by
                                                : "the callbacks of what it awaits";
}

static const char *keep(struct arena *arena, struct text *text)
{
    const char *kept =
        text->failed ? NULL : arena_strndup(arena, text->data ? text->data : "", text->size);
    text_clear(text);
    return kept;
}

static struct trace_deadlock_member member_of(const struct wait_node *node)
{
    struct trace_deadlock_member member = {.pid = node->trace->pid};
    if (node->thread) {
        member.tid = node->thread->tid;
        member.name = node->thread->name;
    } else {
        member.task = node->task;
        member.name = node->task_name;
        member.tid = node->item ? node->item->tid : 0;
    }
    return member;
}

static enum trace_verdict worse(enum trace_verdict verdict, const struct wait_label *label)
{
    enum trace_verdict own = label->timed     ? TRACE_VERDICT_STALL
                             : label->certain ? TRACE_VERDICT_DEADLOCK
                                              : TRACE_VERDICT_LIKELY;
    return own > verdict ? own : verdict;
}

/* Strings that another trace's arena has. */
static void own_strings(struct trace_deadlock_member *member, struct arena *arena)
{
    member->name = member->name ? arena_strdup(arena, member->name) : NULL;
    member->known_by = member->known_by ? arena_strdup(arena, member->known_by) : NULL;
}

/* The edges of a cycle without those that lead on from a choice; the first is of a member. */
static size_t first_edge(const struct waiting *waiting, const struct graph_cycle *cycle)
{
    size_t at = 0;
    while (at + 1 < cycle->count && !waiting->nodes[cycle->edges[at]->from].trace)
        at++;
    return at;
}

static void add_sentence(struct text *text, enum trace_verdict verdict)
{
    switch (verdict) {
    case TRACE_VERDICT_DEADLOCK:
        text_add_string(text, "deadlock: ");
        break;
    case TRACE_VERDICT_LIKELY:
        text_add_string(text, "likely a deadlock: ");
        break;
    case TRACE_VERDICT_STALL:
        text_add_string(text, "a stall, until a time limit ends it: ");
        break;
    }
}

static void add_to_sentence(const struct waiting *waiting, const struct wait_node *node,
                            const struct text *waits_for, size_t before, struct text *sentence)
{
    if (before >= SENTENCE_LIMIT)
        return;
    text_add_string(sentence, before ? "; " : "");
    add_node(waiting, node, sentence);
    text_add_string(sentence, " waits for ");
    text_add(sentence, waits_for->data ? waits_for->data : "", waits_for->size);
}

static enum psc_status describe_members(struct waiting *waiting, const struct graph_cycle *cycle,
                                        const struct psc_trace *trace,
                                        struct trace_deadlock_member *members,
                                        struct trace_deadlock *ret)
{
    struct arena *arena = trace->arena;
    PSC_CLEANUP(text_deinit) struct text text = {0};
    PSC_CLEANUP(text_deinit) struct text sentence = {0};
    size_t first = first_edge(waiting, cycle);
    for (size_t i = 0; i < cycle->count; i++) {
        const struct graph_edge *edge = cycle->edges[(first + i) % cycle->count];
        const struct wait_node *node = &waiting->nodes[edge->from];
        const struct wait_node *next = &waiting->nodes[edge->to];
        const struct wait_label *label = &waiting->labels[edge->label];
        ret->verdict = worse(ret->verdict, label);
        if (!node->trace)
            continue;
        if (!next->trace)
            next = &waiting->nodes[cycle->edges[(first + i + 1) % cycle->count]->to];
        struct trace_deadlock_member *member = &members[ret->count];
        *member = member_of(node);
        add_reason(waiting, label, node, next, &text);
        add_to_sentence(waiting, node, &text, ret->count, &sentence);
        if (waiting->named_bytes >= NAMED_BYTES_LIMIT)
            member->name = NULL;
        waiting->named_bytes += text.size + (member->name ? strlen(member->name) : 0);
        member->waits_for = keep(arena, &text);
        member->known_by = why_known(label);
        member->certain = label->certain;
        member->timed = label->timed;
        if (node->trace != trace)
            own_strings(member, arena);
        ret->count++;
    }
    if (ret->count > SENTENCE_LIMIT)
        text_printf(&sentence, "; and %zu more", ret->count - SENTENCE_LIMIT);
    add_sentence(&text, ret->verdict);
    text_add(&text, sentence.data ? sentence.data : "", sentence.size);
    ret->summary = sentence.failed ? NULL : keep(arena, &text);
    return ret->summary && !arena_is_exhausted(arena) ? PSC_OK : PSC_ERR_MEMORY;
}

const struct trace_deadlock *describe_cycle(struct waiting *waiting,
                                            const struct graph_cycle *cycle,
                                            const struct psc_trace *trace)
{
    struct arena *arena = trace->arena;
    struct trace_deadlock *deadlock = arena_alloc(arena, sizeof(*deadlock));
    struct trace_deadlock_member *members = arena_array(arena, cycle->count, sizeof(*members));
    if (!deadlock || !members)
        return NULL;
    deadlock->members = members;
    return describe_members(waiting, cycle, trace, members, deadlock) == PSC_OK ? deadlock : NULL;
}
