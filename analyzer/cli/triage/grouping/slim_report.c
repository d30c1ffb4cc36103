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

bool core_report_slim(struct core_report *report)
{
    static const char *const of_signature[] = {"version", "hash", "exact", "title", NULL};
    static const char *const of_crash[] = {"signal", "cause", "summary", NULL};
    static const char *const of_target[] = {"kind", "path", "pid", "executable", NULL};
    const json_t *whole = report->json;
    const json_t *frames = json_object_get(core_report_thread(whole), "frames");
    json_t *slim = json_object();
    char *text = json_is_array(frames) ? json_dumps(frames, JSON_COMPACT) : NULL;
    if (slim && (text || !json_is_array(frames)) &&
        pick(slim, "signature", json_object_get(whole, "signature"), of_signature) &&
        pick(slim, "crash", json_object_get(whole, "crash"), of_crash) &&
        pick(slim, "target", json_object_get(whole, "target"), of_target) &&
        pick_running(slim, whole) && pick_deadlocks(slim, whole) && pick_warning(slim, whole)) {
        core_report_deinit(report);
        report->json = slim;
        report->frames = text;
        return true;
    }
    json_decref(slim);
    free(text);
    return false;
}

json_t *core_report_frames(const struct core_report *report)
{
    if (report->frames)
        return json_loads(report->frames, 0, NULL);
    return json_incref(json_object_get(core_report_thread(report->json), "frames"));
}
