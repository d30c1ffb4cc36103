/* A report as its JSON has it. */
#include "grouping.h"
#include "json_cost.h"

#include "redact.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* As in signature/signature.c. */
#define HOLDER_LIMIT 64u

void core_report_deinit(struct core_report *report)
{
    json_decref(report->json);
    free(report->stack);
    report->json = NULL;
    report->stack = NULL;
}

/* Of a core that nothing is known of: it fits the schema of reports. */
static json_t *make_empty(const char *path, const char *problem)
{
    return json_pack("{s:s, s:{s:s, s:s%, s:n, s:n, s:[], s:n, s:n, s:[]}, s:n, s:[], s:[], s:n, "
                     "s:[{s:s, s:s}]}",
                     "schema", "pystack-core/1", "target", "kind", "core", "path", path,
                     strlen(path), "pid", "executable", "arguments", "architecture", "python",
                     "modules", "crash", "threads", "deadlocks", "signature", "warnings", "code",
                     "no-report", "message", problem);
}

bool core_report_take(struct core_report *report, const char *output, size_t size,
                      const char *problem)
{
    json_error_t error;
    bool fits = json_is_affordable(output, size);
    report->json = size && fits ? json_loadb(output, size, 0, &error) : NULL;
    problem = fits ? problem : "its report would take too much memory";
    if (report->json && !json_is_object(report->json))
        core_report_deinit(report);
    if (!report->json)
        report->json = make_empty(report->path, problem);
    if (!report->json) // The path, or what was said, is no UTF-8.
        report->json = make_empty("?", "its name, or what is wrong with it, is no UTF-8");
    return report->json != NULL;
}

const char *report_text(const json_t *object, const char *outer, const char *inner,
                        const char *member)
{
    object = json_object_get(object, outer);
    object = inner ? json_object_get(object, inner) : object;
    return json_string_value(json_object_get(object, member));
}

static const char *signature_member(const struct core_report *report, const char *name)
{
    return report_text(report->json, "signature", NULL, name);
}

const char *core_report_hash(const struct core_report *report)
{
    return signature_member(report, "hash");
}

bool core_report_tells(const struct core_report *report)
{
    const char *kind = report_text(report->json, "target", NULL, "kind");
    return core_report_hash(report) || (kind && !strcmp(kind, "exit"));
}

static const char *first_warning(const struct core_report *report)
{
    const json_t *first = json_array_get(json_object_get(report->json, "warnings"), 0);
    return json_string_value(json_object_get(first, "message"));
}

const char *core_report_title(const struct core_report *report)
{
    const char *title = signature_member(report, "title");
    if (!title)
        title = report_text(report->json, "crash", NULL, "summary");
    if (!title)
        title = first_warning(report);
    return title ? title : "no report";
}

static bool has_state(const json_t *thread, const char *wanted)
{
    const json_t *states = json_object_get(thread, "state");
    for (size_t i = 0; i < json_array_size(states); i++) {
        const char *state = json_string_value(json_array_get(states, i));
        if (state && !strcmp(state, wanted))
            return true;
    }
    return false;
}

static const json_t *find_by_state(const json_t *threads, const char *state)
{
    for (size_t i = 0; i < json_array_size(threads); i++)
        if (has_state(json_array_get(threads, i), state))
            return json_array_get(threads, i);
    return NULL;
}

static const json_t *find_owner(const json_t *report, const json_t *thread)
{
    const json_t *owner = json_object_get(json_object_get(thread, "waits_for"), "owner");
    const json_t *threads = json_object_get(report, "threads"),
                 *pid = json_object_get(owner, "pid");
    const json_t *own = json_object_get(json_object_get(report, "target"), "pid");
    json_int_t tid = json_integer_value(json_object_get(owner, "tid"));
    if (json_is_integer(pid) && json_integer_value(pid) != json_integer_value(own))
        return NULL;
    for (size_t i = 0; tid && i < json_array_size(threads); i++)
        if (json_integer_value(json_object_get(json_array_get(threads, i), "tid")) == tid)
            return json_array_get(threads, i);
    return NULL;
}

static const json_t *find_holder(const json_t *report, const json_t *thread)
{
    const json_t *holder = thread;
    for (size_t i = 0; i < HOLDER_LIMIT; i++) {
        const json_t *next = find_owner(report, holder);
        if (!next)
            return holder;
        holder = next;
    }
    return thread;
}

/* As signature/signature.c chooses. */
const json_t *core_report_thread(const json_t *report)
{
    const json_t *threads = json_object_get(report, "threads");
    const json_t *thread = find_by_state(threads, "crashed");
    if (thread)
        return thread;
    thread = find_by_state(threads, "holds-gil");
    if (!thread)
        thread = find_by_state(threads, "main");
    return thread ? find_holder(report, thread) : json_array_get(threads, 0);
}

char *core_report_line(const struct core_report *report)
{
    // Seconds and milliseconds: more digits are noise.
    return json_dumps(report->json, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(10));
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(((const struct core_report *)a)->path, ((const struct core_report *)b)->path);
}

/* The first without a report whose path, masked, is that one. */
static struct core_report *find_masked(struct core_report *reports, size_t count, const char *path)
{
    struct core_report *found = NULL;
    for (size_t i = 0; !found && i < count; i++) {
        struct text masked = {0};
        redact_text(reports[i].path, strlen(reports[i].path), &masked);
        if (!reports[i].json && !masked.failed && masked.size == strlen(path) &&
            !memcmp(masked.data, path, masked.size))
            found = &reports[i];
        text_deinit(&masked);
    }
    return found;
}

bool core_report_read(struct core_report *reports, size_t count, const char *line, size_t size)
{
    struct core_report found = {0};
    json_error_t error;
    if (json_is_affordable(line, size))
        found.json = json_loadb(line, size, 0, &error);
    const char *path =
        json_string_value(json_object_get(json_object_get(found.json, "target"), "path"));
    const struct core_report key = {.path = path};
    struct core_report *report =
        path ? bsearch(&key, reports, count, sizeof(*reports), compare_paths) : NULL;
    if (!report && path && strchr(path, '['))
        report = find_masked(reports, count, path);
    if (report && !report->json) {
        report->json = found.json;
        report->code = core_report_tells(report) ? 0 : 2;
        return true;
    }
    core_report_deinit(&found);
    return false;
}
