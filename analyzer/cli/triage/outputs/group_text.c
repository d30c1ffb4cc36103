/* Groups as text and as JSON. */
#include "outputs_private.h"

#include <string.h>

#define FRAMES_SHOWN 12u
#define PATHS_SHOWN  5u
#define HASH_SHOWN   12
/* Of many members in tests of one name, those behind may be named again. */
#define TESTS_COMPARED 1000u

static void put_count(FILE *file, size_t count, const char *what)
{
    fprintf(file, "%zu %s%s", count, what, count == 1 ? "" : "s");
}

static void put_paths(FILE *file, const struct triage_result *result, size_t group)
{
    const size_t *members = result->groups->members + result->groups->member_at[group];
    size_t count = result->groups->items[group].count;
    for (size_t i = 0; i < count && i < PATHS_SHOWN; i++) {
        fputs(i ? ", " : "", file);
        put_safely(file, result->reports[members[i]].path);
    }
    if (count > PATHS_SHOWN)
        fprintf(file, " and %zu more", count - PATHS_SHOWN);
}

static const char *test_of(const struct core_report *report)
{
    return report_text(report->json, "running", "test", "id");
}

/* Whether one of the members before it was at the same test. */
static bool is_named(const struct triage_result *result, const size_t *members, size_t index)
{
    const char *test = test_of(&result->reports[members[index]]);
    for (size_t i = 0; i < index && i < TESTS_COMPARED; i++) {
        const char *other = test_of(&result->reports[members[i]]);
        if (other && !strcmp(other, test))
            return true;
    }
    return false;
}

/* Of a test that was not read from a core: how old that is. */
static void put_age(FILE *file, const json_t *seconds)
{
    if (json_is_number(seconds))
        fprintf(file, " (last seen %.1f s before the end)", json_number_value(seconds));
    else if (seconds)
        fputs(" (last seen)", file);
}

/* The tests that the processes were at. */
static void put_tests(FILE *file, const struct triage_result *result, size_t group)
{
    const size_t *members = result->groups->members + result->groups->member_at[group];
    size_t shown = 0, left = 0;
    for (size_t i = 0; i < result->groups->items[group].count; i++) {
        const struct core_report *report = &result->reports[members[i]];
        if (!test_of(report) || is_named(result, members, i))
            continue;
        if (shown == PATHS_SHOWN) {
            left++;
            continue;
        }
        fputs(shown++ ? ", " : "      in the test ", file);
        put_safely(file, test_of(report));
        const char *worker = report_text(report->json, "running", "test", "worker");
        if (worker) {
            fputs(" of ", file);
            put_safely(file, worker);
        }
        const json_t *test = json_object_get(json_object_get(report->json, "running"), "test");
        put_age(file, json_object_get(test, "last_seen_s"));
    }
    if (left)
        fprintf(file, " and %zu more", left);
    if (shown)
        putc('\n', file);
}

static void put_group(FILE *file, const struct triage_result *result, size_t index)
{
    const struct report_group *group = &result->groups->items[index];
    const struct core_report *first = &result->reports[group->first];
    const char *strong = result->color ? "\033[1m" : "", *plain = result->color ? "\033[0m" : "";
    if (!group->unread)
        fprintf(file, "\n%s%zu ×  ", strong, group->count);
    else
        fprintf(file, "\n%snot read:  ", strong);
    put_safely(file, core_report_title(first));
    fprintf(file, "%s\n      ", plain);
    if (group->hash)
        fprintf(file, "%.*s%s · ", HASH_SHOWN, group->hash,
                !result->has_baseline ? ""
                : group->known        ? " (known)"
                                      : " (new)");
    put_paths(file, result, index);
    putc('\n', file);
    put_tests(file, result, index);
    json_t *stack = group->unread ? NULL : core_report_stack(first);
    put_frames(file, stack, "  ", FRAMES_SHOWN);
    json_decref(stack);
}

const char *word_for_deaths(const struct triage_result *result)
{
    for (size_t i = 0; i < result->report_count; i++)
        if (!is_of_core(&result->reports[i]))
            return "death";
    return "core file";
}

const char *word_for_group(const struct triage_result *result, size_t group)
{
    const size_t *members = result->groups->members + result->groups->member_at[group];
    for (size_t i = 0; i < result->groups->items[group].count; i++)
        if (!is_of_core(&result->reports[members[i]]))
            return "death";
    return "core file";
}

bool write_group_text(FILE *file, const struct triage_result *result)
{
    const struct report_groups *groups = result->groups;
    put_count(file, result->report_count,
              strcmp(word_for_deaths(result), "death") ? "core" : "death");
    fputs(": ", file);
    put_count(file, groups->count - groups->unread, "cause");
    if (groups->unread)
        fprintf(file, ", %zu could not be read", groups->unread);
    putc('\n', file);
    for (size_t i = 0; i < groups->count; i++)
        put_group(file, result, i);
    if (result->other_files) {
        putc('\n', file);
        put_count(file, result->other_files, "other file");
        fputs(result->other_files == 1 ? " is no core\n" : " are no cores\n", file);
    }
    return true;
}

bool write_group_json(FILE *file, const struct triage_result *result)
{
    json_t *list = json_array();
    for (size_t i = 0; list && i < result->groups->count; i++) {
        const struct report_group *group = &result->groups->items[i];
        const struct core_report *first = &result->reports[group->first];
        const size_t *members = result->groups->members + result->groups->member_at[i];
        json_t *paths = json_array();
        for (size_t j = 0; j < group->count; j++)
            json_array_append_new(paths, json_string(result->reports[members[j]].path));
        json_t *one = json_pack("{s:s?, s:s, s:I, s:s, s:o}", "hash", group->hash, "title",
                                core_report_title(first), "count", (json_int_t)group->count,
                                "first", first->path, "reports", paths);
        if (one && result->has_baseline)
            json_object_set_new(one, "known", json_boolean(group->known));
        json_array_append_new(list, one);
    }
    json_t *all = json_pack("{s:s, s:o}", "schema", "pystack-core-groups/1", "groups", list);
    if (all)
        json_dumpf(all, file, JSON_INDENT(1) | JSON_ENSURE_ASCII);
    putc('\n', file);
    json_decref(all);
    return true;
}
