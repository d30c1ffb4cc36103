/* Markdown, as a step's summary shows it. */
#include "outputs_private.h"

#include <stdlib.h>
#include <string.h>

/* GitHub refuses a summary of a step that is longer than 1 MiB. */
#define SUMMARY_LIMIT 1000000u
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
static void put_block(FILE *file, const json_t *stack)
{
    char *text = NULL;
    size_t size;
    FILE *memory = open_memstream(&text, &size);
    if (!memory)
        return;
    bool some = put_frames(memory, stack, "", FRAMES_SHOWN);
    if (!fclose(memory) && some) {
        fputs("\n```\n", file);
        for (char *at = text; *at; at++)
            putc(*at == '`' ? '\'' : *at, file);
        fputs("```\n", file);
    }
    free(text);
}

static void put_group(FILE *file, const struct triage_result *result,
                      const struct report_group *group)
{
    const struct core_report *first = &result->reports[group->first];
    const char *test = report_text(first->json, "running", "test", "id");
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
    if (test) {
        fputs(" · test ", file);
        put_title(file, test);
    }
    putc('\n', file);
    json_t *stack = group->unread ? NULL : core_report_stack(first);
    if (!group->unread)
        put_block(file, stack);
    json_decref(stack);
}

/* Of a group; malloc'd. */
static char *make_section(const struct triage_result *result, const struct report_group *group,
                          size_t *ret_size)
{
    char *text = NULL;
    FILE *memory = open_memstream(&text, ret_size);
    if (!memory)
        return NULL;
    put_group(memory, result, group);
    if (!fclose(memory))
        return text;
    free(text);
    return NULL;
}

bool write_markdown(FILE *file, const struct triage_result *result)
{
    const struct report_groups *groups = result->groups;
    size_t written = 0;
    fprintf(file, "## %zu %s%s, %zu cause%s\n", result->report_count, word_for_deaths(result),
            result->report_count == 1 ? "" : "s", groups->count - groups->unread,
            groups->count - groups->unread == 1 ? "" : "s");
    for (size_t i = 0; i < groups->count; i++) {
        size_t size = 0;
        char *section = make_section(result, &groups->items[i], &size);
        if (!section) {
            complain("out of memory");
            return false;
        }
        const bool fits = written + size <= SUMMARY_LIMIT;
        if (fits)
            fwrite(section, 1, size, file);
        free(section);
        written += size;
        if (!fits) {
            fprintf(file, "\n… %zu more groups\n", groups->count - i);
            break;
        }
    }
    return true;
}
