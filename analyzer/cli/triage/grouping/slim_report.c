/*
 * What is kept in memory of each of many reports. Whatever a report holds, that is its own text and
 * some words: a tree of JSON takes up to ninety times as much as its text.
 */
#include "grouping.h"

#include <stdlib.h>

/* Adds an object with those members of another that are words or numbers; null where it is none. */
static bool pick(json_t *slim, const char *name, const json_t *object, const char *const *members)
{
    json_t *picked = json_is_object(object) ? json_object() : json_null();
    for (size_t i = 0; json_is_object(object) && members[i]; i++) {
        json_t *value = json_object_get(object, members[i]);
        if (value && !json_is_object(value) && !json_is_array(value))
            json_object_set(picked, members[i], value);
    }
    return !json_object_set_new(slim, name, picked);
}

/* The first warning is the title of a report without a signature. */
static bool pick_warning(json_t *slim, const json_t *report)
{
    static const char *const of_warning[] = {"code", "message", NULL};
    const json_t *first = json_array_get(json_object_get(report, "warnings"), 0);
    json_t *holder = first ? json_object() : NULL;
    const bool good = !first || (holder && pick(holder, "first", first, of_warning));
    json_t *warnings =
        first && good ? json_pack("[O]", json_object_get(holder, "first")) : json_array();
    json_decref(holder);
    return good && !json_object_set_new(slim, "warnings", warnings);
}

static bool pick_running(json_t *slim, const json_t *report)
{
    static const char *const of_test[] = {"id", "phase", "worker", "last_seen_s", NULL};
    const json_t *running = json_object_get(report, "running");
    json_t *object = json_object();
    if (!object || !pick(object, "test", json_object_get(running, "test"), of_test)) {
        json_decref(object);
        return false;
    }
    return !json_object_set_new(slim, "running", object);
}

/* Whether there are any is all that is asked for. */
static bool pick_deadlocks(json_t *slim, const json_t *report)
{
    const bool any = json_array_size(json_object_get(report, "deadlocks")) != 0;
    return !json_object_set_new(slim, "deadlocks", any ? json_pack("[{}]") : json_array());
}

/* Of a thread what core_report_stack() needs, a new reference; NULL: out of memory. */
static json_t *pick_stack(const json_t *thread)
{
    static const char *const members[] = {"frames", "recursion", "other_recursions"};
    json_t *stack = json_object();
    for (size_t i = 0; stack && i < sizeof(members) / sizeof(members[0]); i++) {
        json_t *value = json_object_get(thread, members[i]);
        if (value && json_object_set(stack, members[i], value)) {
            json_decref(stack);
            return NULL;
        }
    }
    return stack;
}

bool core_report_slim(struct core_report *report)
{
    static const char *const of_signature[] = {"version", "hash", "exact", "title", NULL};
    static const char *const of_crash[] = {"signal", "cause", "summary", NULL};
    static const char *const of_target[] = {"kind", "path", "pid", "executable", NULL};
    const json_t *whole = report->json;
    json_t *stack = pick_stack(core_report_thread(whole));
    json_t *slim = json_object();
    char *text = stack ? json_dumps(stack, JSON_COMPACT) : NULL;
    json_decref(stack);
    if (slim && text &&
        pick(slim, "signature", json_object_get(whole, "signature"), of_signature) &&
        pick(slim, "crash", json_object_get(whole, "crash"), of_crash) &&
        pick(slim, "target", json_object_get(whole, "target"), of_target) &&
        pick_running(slim, whole) && pick_deadlocks(slim, whole) && pick_warning(slim, whole)) {
        core_report_deinit(report);
        report->json = slim;
        report->stack = text;
        return true;
    }
    json_decref(slim);
    free(text);
    return false;
}

json_t *core_report_stack(const struct core_report *report)
{
    if (report->stack)
        return json_loads(report->stack, 0, NULL);
    return json_incref((json_t *)core_report_thread(report->json));
}

json_t *core_report_frames(const struct core_report *report)
{
    json_t *stack = core_report_stack(report);
    json_t *frames = json_incref(json_object_get(stack, "frames"));
    json_decref(stack);
    return frames;
}
