/* Groups as text and as JSON. */
#include "triage_private.h"

#define FRAMES_SHOWN 12u
#define PATHS_SHOWN  5u
#define HASH_SHOWN   12

static void put_count(FILE *file, size_t count, const char *what)
{
    fprintf(file, "%zu %s%s", count, what, count == 1 ? "" : "s");
}

static void put_paths(FILE *file, const struct triage_result *result, size_t group)
{
    size_t shown = 0;
    for (size_t i = 0; i < result->report_count && shown < PATHS_SHOWN; i++) {
        if (result->reports[i].group != group)
            continue;
        fputs(shown++ ? ", " : "", file);
        put_safely(file, result->reports[i].path);
    }
    size_t left = result->groups->items[group].count - shown;
    if (left)
        fprintf(file, " and %zu more", left);
}

static void put_group(FILE *file, const struct triage_result *result, size_t index)
{
    const struct report_group *group = &result->groups->items[index];
    const struct core_report *first = &result->reports[group->first];
    const char *strong = result->color ? "\033[1m" : "", *plain = result->color ? "\033[0m" : "";
    if (group->hash)
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
    if (group->hash)
        put_frames(file, core_report_frames(first), "  ", FRAMES_SHOWN);
}

void write_group_text(FILE *file, const struct triage_result *result)
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
}

void write_group_json(FILE *file, const struct triage_result *result)
{
    json_t *list = json_array();
    for (size_t i = 0; list && i < result->groups->count; i++) {
        const struct report_group *group = &result->groups->items[i];
        const struct core_report *first = &result->reports[group->first];
        json_t *paths = json_array();
        for (size_t j = 0; j < result->report_count; j++)
            if (result->reports[j].group == i)
                json_array_append_new(paths, json_string(result->reports[j].path));
        json_t *one = json_pack("{s:s?, s:s, s:I, s:s, s:o}", "hash", group->hash, "title",
                                core_report_title(first), "count", (json_int_t)group->count,
                                "first", first->path, "reports", paths);
        if (one && result->has_baseline)
            json_object_set_new(one, "known", json_boolean(group->known));
        json_array_append_new(list, one);
    }
    json_t *all = json_pack("{s:s, s:o}", "schema", "pystack-core-groups/1", "groups", list);
    if (all)
        json_dumpf(all, file, JSON_INDENT(1));
    putc('\n', file);
    json_decref(all);
}
