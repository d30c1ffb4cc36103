/* Annotations of a GitHub workflow: "::error file=...,line=...,title=...::message". */
#include "outputs_private.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* The path below the working directory, which is the repository's; NULL: it lies elsewhere. */
static const char *within(const char *folder, const char *path)
{
    size_t length = strlen(folder);
    if (*path != '/')
        return *path && *path != '<' && strncmp(path, "..", 2) != 0 && !access(path, F_OK) ? path
                                                                                           : NULL;
    if (strncmp(path, folder, length) != 0 || path[length] != '/')
        return NULL;
    return path + length + 1;
}

/* The nearest frame whose source is in the repository. */
static const json_t *find_frame(const json_t *frames, const char *folder, const char **ret_path)
{
    for (size_t i = 0; i < json_array_size(frames); i++) {
        const json_t *frame = json_array_get(frames, i);
        const char *path = json_string_value(json_object_get(frame, "file"));
        *ret_path = path ? within(folder, path) : NULL;
        if (*ret_path && !strstr(*ret_path, "site-packages/") &&
            !json_is_true(json_object_get(frame, "hidden")))
            return frame;
    }
    return NULL;
}

bool write_annotations(FILE *file, const struct triage_result *result)
{
    const struct report_groups *groups = result->groups;
    char *folder = getcwd(NULL, 0);
    for (size_t i = 0; i < groups->count && i < ANNOTATION_LIMIT; i++) {
        const struct core_report *first = &result->reports[groups->items[i].first];
        const char *path = NULL;
        const json_t *frame = folder ? find_frame(core_report_frames(first), folder, &path) : NULL;
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
    free(folder);
    return true;
}
