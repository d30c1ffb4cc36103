/* Annotations of a GitHub workflow: "::error file=...,line=...,title=...::message". */
#include "outputs_private.h"

#define ANNOTATION_LIMIT 10u /* GitHub shows ten of a step. */

/* Values are escaped as actions/toolkit does (packages/core/src/command.ts). */
static void put_escaped(FILE *file, const char *text, bool property)
{
    for (; *text; text++) {
        if (*text == '%' || *text == '\r' || *text == '\n' ||
            (property && (*text == ':' || *text == ',')))
            fprintf(file, "%%%02X", (unsigned)(unsigned char)*text);
        else
            putc(*text, file);
    }
}

bool write_annotations(FILE *file, const struct triage_result *result)
{
    const struct report_groups *groups = result->groups;
    for (size_t i = 0; i < groups->count && i < ANNOTATION_LIMIT; i++) {
        const struct core_report *first = &result->reports[groups->items[i].first];
        const char *path = NULL;
        const json_t *frame = sources_nearest(result->sources, core_report_frames(first), &path);
        fputs(groups->items[i].known ? "::warning " : "::error ", file);
        if (frame) {
            fputs("file=", file);
            put_escaped(file, path, true);
            json_int_t line = json_integer_value(json_object_get(frame, "line"));
            fprintf(file, ",line=%lld,", line > 0 ? (long long)line : 1);
        }
        fputs("title=", file);
        put_escaped(file, core_report_title(first), true);
        fputs("::", file);
        if (groups->items[i].hash)
            fprintf(file, "%zu core file%s, signature %.12s, the first is ", groups->items[i].count,
                    groups->items[i].count == 1 ? "" : "s", groups->items[i].hash);
        put_escaped(file, first->path, false);
        putc('\n', file);
    }
    return true;
}
