/*
 * SARIF 2.1.0 (OASIS, sarif-schema-2.1.0.json). GitHub reads of it the first location, code flows
 * and partialFingerprints.primaryLocationLineHash ("SARIF support for code scanning"), viewers the
 * stacks as well.
 */
#include "messages.h"
#include "outputs_private.h"
#include "pystack_core.h"

#include <stdlib.h>
#include <string.h>

/* Twice as many as GitHub shows (docs.github.com, "SARIF support for code scanning"). */
#define RESULT_LIMIT 10000
#define SCHEMA \
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
#define THREAD_LIMIT 20u  /* Stacks of a result. */
#define FRAME_LIMIT  200u /* Of a stack; GitHub takes 10,000 of a code flow. */
#define PATH_LIMIT   100u /* Reports that a result names. */

/* A path as a URI (RFC 3986): "file:" before an absolute one. malloc'd. */
static char *make_uri(const char *path)
{
    char *uri = malloc(3 * strlen(path) + 8), *end = uri;
    if (uri && *path == '/')
        end = stpcpy(end, "file://");
    for (; uri && *path; path++) {
        const unsigned char byte = (unsigned char)*path;
        const bool plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                           (byte >= '0' && byte <= '9') || strchr("/-._~", byte);
        end += plain ? sprintf(end, "%c", byte) : sprintf(end, "%%%02X", byte);
    }
    if (uri)
        *end = '\0';
    return uri;
}

static json_t *make_region(const json_t *frame, struct sources *sources)
{
    static const char *const members[][2] = {{"line", "startLine"},
                                             {"column", "startColumn"},
                                             {"end_line", "endLine"},
                                             {"end_column", "endColumn"}};
    size_t size;
    json_t *region = json_object();
    if (number_of(frame, "line") < 1)
        put_member(region, "startLine", json_integer(1));
    else
        for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
            if (number_of(frame, members[i][0]) > 0)
                put_member(region, members[i][1], json_integer(number_of(frame, members[i][0])));
    const char *line = sources ? sources_frame_line(sources, frame, &size) : NULL;
    if (line)
        put_member(region, "snippet", json_pack("{s:s%}", "text", line, size));
    return region;
}

/* Where a frame's file is; NULL: it has none. */
static json_t *make_place(const json_t *frame, const struct triage_result *result)
{
    const char *path = text_of(frame, "file"), *own = sources_path(result->sources, frame);
    char *uri = *path && *path != '<' ? make_uri(own ? own : path) : NULL;
    if (!uri)
        return NULL;
    json_t *artifact = json_pack("{s:s}", "uri", uri);
    if (own)
        put_text(artifact, "uriBaseId", "SRCROOT");
    free(uri);
    return json_pack("{s:o, s:o}", "artifactLocation", artifact, "region",
                     make_region(frame, result->shows_source ? result->sources : NULL));
}

static json_t *make_location(const json_t *frame, const struct triage_result *result)
{
    const char *function = text_of(frame, "function"), *module = text_of(frame, "module");
    json_t *location = json_object();
    put_member(location, "physicalLocation", make_place(frame, result));
    if (!is_gap(frame) && *function)
        put_member(location, "logicalLocations",
                   json_pack("[{s:s, s:s}]", "fullyQualifiedName", function, "kind", "function"));
    put_member(location, "message",
               json_pack("{s:o}", "text",
                         json_sprintf("%s%s%s%s", is_gap(frame) ? "gap: " : "",
                                      *function ? function : "??", *module ? " in " : "", module)));
    return location;
}

static json_t *make_frame(const json_t *frame, const struct triage_result *result)
{
    json_t *made = json_pack("{s:o}", "location", make_location(frame, result));
    json_t *offset = json_of_number(json_string_value(json_object_get(frame, "offset")));
    json_t *pc = json_of_number(json_string_value(json_object_get(frame, "pc")));
    json_t *address = pc || offset ? json_object() : NULL;
    put_member(address, "absoluteAddress", pc);
    put_member(address, "relativeAddress", offset);
    put_member(json_object_get(made, "location"), "properties",
               json_pack("{s:s}", "language", text_of(frame, "kind")));
    json_t *location = json_object_get(made, "location");
    if (address && !json_object_get(location, "physicalLocation"))
        put_member(location, "physicalLocation", json_object());
    if (address)
        put_member(json_object_get(location, "physicalLocation"), "address", address);
    put_text(made, "module", text_of(frame, "module"));
    return made;
}

/* The innermost first. */
static json_t *make_stack(const json_t *thread, const struct triage_result *result)
{
    const json_t *frames = json_object_get(thread, "frames");
    json_t *list = json_array();
    size_t left = 0;
    for (size_t i = 0; i < json_array_size(frames); i++) {
        const json_t *frame = json_array_get(frames, i);
        if (!is_shown(frame))
            continue;
        if (json_array_size(list) == FRAME_LIMIT)
            left++;
        else
            json_array_append_new(list, make_frame(frame, result));
    }
    json_t *words = json_sprintf("thread %lld %s%s", number_of(thread, "tid"),
                                 text_of(thread, "name"), left ? " (further frames left out)" : "");
    return json_pack("{s:{s:o}, s:o}", "message", "text", words, "frames", list);
}

static json_t *make_stacks(const json_t *report, const struct triage_result *result)
{
    const json_t *threads = json_object_get(report, "threads"), *first = core_report_thread(report);
    json_t *list = json_array();
    if (first)
        json_array_append_new(list, make_stack(first, result));
    for (size_t i = 0; i < json_array_size(threads) && json_array_size(list) < THREAD_LIMIT; i++)
        if (json_array_get(threads, i) != first)
            json_array_append_new(list, make_stack(json_array_get(threads, i), result));
    return list;
}

/* A code flow goes forward in time: the outermost frame first, the place of death last. */
static json_t *make_flow(const json_t *frames, const struct triage_result *result)
{
    json_t *locations = json_array();
    size_t count = json_array_size(frames);
    for (size_t i = count < FRAME_LIMIT ? count : FRAME_LIMIT; i > 0; i--) {
        const json_t *frame = json_array_get(frames, i - 1);
        if (is_shown(frame) && !is_gap(frame))
            json_array_append_new(locations,
                                  json_pack("{s:o}", "location", make_location(frame, result)));
    }
    if (!json_array_size(locations)) { // A flow has one at least.
        json_decref(locations);
        return NULL;
    }
    return json_pack("[{s:[{s:o}]}]", "threadFlows", "locations", locations);
}

/* The nearest frame of the repository, else the nearest with a file, else the core. */
static json_t *make_main_location(const struct core_report *report, const json_t *frames,
                                  const struct triage_result *result)
{
    const char *path;
    const json_t *frame = sources_nearest(result->sources, frames, &path);
    for (size_t i = 0; !frame && i < json_array_size(frames); i++)
        if (frame_is_own(json_array_get(frames, i)) && is_shown(json_array_get(frames, i)))
            frame = json_array_get(frames, i);
    if (frame)
        return make_location(frame, result);
    char *uri = make_uri(report->path);
    json_t *location = json_pack("{s:{s:{s:s}, s:{s:i}}}", "physicalLocation", "artifactLocation",
                                 "uri", uri ? uri : "", "region", "startLine", 1);
    free(uri);
    return location;
}

static json_t *make_message(const struct triage_result *result, const struct report_group *group)
{
    const struct core_report *first = &result->reports[group->first];
    const char *summary = report_text(first->json, "crash", NULL, "summary");
    const char *test = report_text(first->json, "running", "test", "id");
    json_t *path = json_of_bytes(first->path);
    json_t *text =
        json_sprintf("%s%s%s%s%s (%zu ×, the first is %s)", core_report_title(first),
                     summary ? ": " : "", summary ? summary : "", test ? "; in the test " : "",
                     test ? test : "", group->count, json_string_value(path));
    json_decref(path);
    return text;
}

static json_t *make_paths(const struct triage_result *result, size_t index)
{
    const size_t *members = result->groups->members + result->groups->member_at[index];
    json_t *paths = json_array();
    for (size_t i = 0; i < result->groups->items[index].count && i < PATH_LIMIT; i++)
        json_array_append_new(paths, json_of_bytes(result->reports[members[i]].path));
    return paths;
}

static json_t *make_result(const struct triage_result *result, size_t index, size_t rule)
{
    const struct report_group *group = &result->groups->items[index];
    const struct core_report *first = &result->reports[group->first];
    json_t *whole = kept_reports_get(result->kept, first);
    const json_t *frames = json_object_get(core_report_thread(whole), "frames");
    json_t *made =
        json_pack("{s:s, s:I, s:s, s:{s:o}, s:[o], s:I, s:{s:o}}", "ruleId",
                  death_kind_of(first)->name, "ruleIndex", (json_int_t)rule, "level", "error",
                  "message", "text", make_message(result, group), "locations",
                  make_main_location(first, frames, result), "occurrenceCount",
                  (json_int_t)group->count, "properties", "reports", make_paths(result, index));
    if (group->hash) {
        put_member(made, "fingerprints", json_pack("{s:s}", "pystackCore/v1", group->hash));
        put_member(
            made, "partialFingerprints",
            json_pack("{s:o}", "primaryLocationLineHash", json_sprintf("%.16s:1", group->hash)));
    }
    put_member(made, "codeFlows", make_flow(frames, result));
    if (json_array_size(json_object_get(whole, "threads")))
        put_member(made, "stacks", make_stacks(whole, result));
    if (result->has_baseline)
        put_text(made, "baselineState", group->known ? "unchanged" : "new");
    json_decref(whole);
    return made;
}

static json_t *make_rule(const struct death_kind *kind)
{
    return json_pack(
        "{s:s, s:s, s:{s:s}, s:{s:s}, s:{s:s}, s:{s:s}}", "id", kind->name, "name", kind->name,
        "shortDescription", "text", kind->what, "fullDescription", "text", kind->what, "help",
        "text",
        "The code flow leads from the program's start to where it died; the stacks are "
        "those of its threads.",
        "defaultConfiguration", "level", "error");
}

/* Index of the group's rule, which is made when it is the first. */
static size_t take_rule(json_t *rules, const struct death_kind *kind)
{
    for (size_t i = 0; i < json_array_size(rules); i++)
        if (!strcmp(text_of(json_array_get(rules, i), "id"), kind->name))
            return i;
    json_array_append_new(rules, make_rule(kind));
    return json_array_size(rules) - 1;
}

/* All but the results, malloc'd; *ret_rest: what follows them, in it. */
static char *make_frame_of_log(json_t *rules, char **ret_rest)
{
    json_t *driver = json_pack("{s:s, s:s, s:s, s:O}", "name", "pystack-core", "version",
                               psc_version(), "semanticVersion", psc_version(), "rules", rules);
    json_t *run =
        json_pack("{s:{s:o}, s:s, s:{s:{s:{s:s}}}, s:{s:s}, s:[]}", "tool", "driver", driver,
                  "columnKind", "unicodeCodePoints", "originalUriBaseIds", "SRCROOT", "description",
                  "text", "The repository.", "automationDetails", "id", "pystack-core/", "results");
    json_t *log =
        json_pack("{s:s, s:s, s:[o]}", "$schema", SCHEMA, "version", "2.1.0", "runs", run);
    char *text = log ? json_dumps(log, JSON_INDENT(1) | JSON_ENSURE_ASCII) : NULL;
    json_decref(log);
    *ret_rest = text ? strrchr(text, ']') : NULL;
    // Behind the run's there is that of the runs.
    while (*ret_rest > text && *ret_rest && (*ret_rest)[-1] != '[')
        --*ret_rest;
    return text;
}

/* One by one: all of them as a tree would take many times as much as their reports. */
static bool put_results(FILE *file, const struct triage_result *result, json_t *rules)
{
    for (size_t i = 0; i < result->groups->count && i < RESULT_LIMIT; i++) {
        const struct core_report *first = &result->reports[result->groups->items[i].first];
        json_t *made = make_result(result, i, take_rule(rules, death_kind_of(first)));
        if (!made)
            return false;
        fputs(i ? ",\n" : "\n", file);
        json_dumpf(made, file, JSON_INDENT(1) | JSON_ENSURE_ASCII); // Its errors are the file's.
        json_decref(made);
    }
    return true;
}

bool write_sarif(FILE *file, const struct triage_result *result)
{
    json_t *rules = json_array();
    for (size_t i = 0; i < result->groups->count && i < RESULT_LIMIT; i++)
        take_rule(rules, death_kind_of(&result->reports[result->groups->items[i].first]));
    if (result->groups->count > RESULT_LIMIT)
        complain("SARIF has the first %d groups alone", RESULT_LIMIT);
    char *rest, *log = make_frame_of_log(rules, &rest);
    bool good = log && rest;
    if (good) {
        fwrite(log, 1, (size_t)(rest - log), file);
        good = put_results(file, result, rules);
        fprintf(file, "\n%s\n", rest);
    }
    if (!good)
        complain("out of memory");
    free(log);
    json_decref(rules);
    return good;
}
