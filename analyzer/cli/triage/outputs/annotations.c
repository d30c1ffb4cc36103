/* Annotations of a GitHub workflow: "::error file=...,line=...,title=...::message". */
#include "outputs_private.h"

#include <stdlib.h>

/* GitHub shows ten of a step, of errors and of warnings. */
#define ANNOTATION_LIMIT 10u

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

/* For people: what drives a terminal or a log is escaped before. */
static void put_words(FILE *file, const char *text, bool property)
{
    char *safe = NULL;
    size_t size;
    FILE *memory = open_memstream(&safe, &size);
    if (!memory)
        return;
    put_safely(memory, text);
    if (!fclose(memory))
        put_escaped(file, safe, property);
    free(safe);
}

static void put_annotation(FILE *file, const struct triage_result *result, size_t index)
{
    const struct report_group *group = &result->groups->items[index];
    const struct core_report *first = &result->reports[group->first];
    const char *path, *test = report_text(first->json, "running", "test", "id");
    json_t *frames = core_report_frames(first);
    const json_t *frame = sources_nearest(result->sources, frames, &path);
    fputs(group->known ? "::warning " : "::error ", file);
    if (frame) {
        fputs("file=", file);
        put_escaped(file, path, true);
        fprintf(file, ",line=%lld,", number_of(frame, "line") > 0 ? number_of(frame, "line") : 1);
    }
    json_decref(frames);
    fputs("title=", file);
    put_words(file, core_report_title(first), true);
    fputs("::", file);
    if (group->hash)
        fprintf(file, "%zu %s%s, signature %.12s, the first is ", group->count,
                word_for_group(result, index), group->count == 1 ? "" : "s", group->hash);
    put_words(file, first->path, false);
    if (test) {
        fputs(", in the test ", file);
        put_words(file, test, false);
    }
    putc('\n', file);
}

bool write_annotations(FILE *file, const struct triage_result *result)
{
    const struct report_groups *groups = result->groups;
    size_t counts[2] = {0}; // New ones are errors, known ones warnings.
    for (size_t i = 0; i < groups->count; i++)
        if (counts[groups->items[i].known]++ < ANNOTATION_LIMIT)
            put_annotation(file, result, i);
    return true;
}
