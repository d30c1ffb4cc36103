/* Markdown, as a step's summary shows it. */
#include "outputs_private.h"

#include <stdlib.h>
#include <string.h>

/* GitHub refuses a summary of a step that is longer than 1 MiB. */
#define SUMMARY_LIMIT 900000L
#define FRAMES_SHOWN  20u

/* A title in a line of its own: no character of it is markup, or drives anything. */
static void put_title(FILE *file, const char *title)
{
    char *text = NULL;
    size_t size;
    FILE *memory = open_memstream(&text, &size);
    if (!memory)
        return;
    put_safely(memory, title);
    if (!fclose(memory))
        for (const char *at = text; *at; at++) {
            if (strchr("\\`*_{}[]<>()#+-.!|~&@", *at))
                putc('\\', file);
            putc(*at, file);
        }
    free(text);
}

/* In a block of code nothing is markup but its end. */
static void put_block(FILE *file, const json_t *frames)
{
    char *text = NULL;
    size_t size;
    FILE *memory = open_memstream(&text, &size);
    if (!memory)
        return;
    bool some = put_frames(memory, frames, "", FRAMES_SHOWN);
    if (!fclose(memory) && some) {
        fputs("\n```\n", file);
        for (char *at = text; *at; at++)
            putc(*at == '`' ? '\'' : *at, file);
        fputs("```\n", file);
    }
    free(text);
}

bool write_markdown(FILE *file, const struct triage_result *result)
{
    const struct report_groups *groups = result->groups;
    fprintf(file, "## %zu core file%s, %zu cause%s\n", result->report_count,
            result->report_count == 1 ? "" : "s", groups->count - groups->unread,
            groups->count - groups->unread == 1 ? "" : "s");
    for (size_t i = 0; i < groups->count; i++) {
        const struct report_group *group = &groups->items[i];
        const struct core_report *first = &result->reports[group->first];
        if (ftell(file) > SUMMARY_LIMIT) {
            fprintf(file, "\n… %zu more groups\n", groups->count - i);
            return true;
        }
        if (!group->unread)
            fprintf(file, "\n### %zu × ", group->count);
        else
            fputs("\n### not read: ", file);
        put_title(file, core_report_title(first));
        fputs("\n\n", file);
        if (group->hash)
            fprintf(file, "`%.12s`%s · ", group->hash,
                    !result->has_baseline ? ""
                    : group->known        ? " (known)"
                                          : " (**new**)");
        put_title(file, first->path);
        if (group->count > 1)
            fprintf(file, " and %zu more", group->count - 1);
        putc('\n', file);
        if (!group->unread)
            put_block(file, core_report_frames(first));
    }
    return true;
}
