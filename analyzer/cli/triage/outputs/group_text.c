/* Groups as text and as JSON. */
#include "outputs_private.h"

#define FRAMES_SHOWN 12u
#define PATHS_SHOWN  5u
#define HASH_SHOWN   12

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
    if (!group->unread)
        put_frames(file, core_report_frames(first), "  ", FRAMES_SHOWN);
}

bool write_group_text(FILE *file, const struct triage_result *result)
{
    const struct report_groups *groups = result->groups;
    put_count(file, result->report_count, "core");
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
