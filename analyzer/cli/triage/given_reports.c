/* Reports that were made elsewhere: by an earlier run, or on the machines where the cores lie. */
#include "input.h"
#include "messages.h"
#include "triage_private.h"

#include <stdlib.h>
#include <string.h>

#define FILE_LIMIT  ((size_t)64 << 30) /* Bytes of one. */
#define GIVEN_LIMIT ((size_t)100000)   /* Reports of all of them: each takes some kilobytes. */

static bool add_line(struct given_reports *given, size_t *capacity, const char *line)
{
    if (given->count == *capacity) {
        size_t more = *capacity ? 2 * *capacity : 256;
        const char **grown = reallocarray(given->lines, more, sizeof(*grown));
        if (!grown)
            return false;
        given->lines = grown;
        *capacity = more;
    }
    given->lines[given->count++] = line;
    return true;
}

/* Lines that are empty are none. */
static bool add_lines(struct given_reports *given, size_t *capacity, char *bytes, size_t size)
{
    bool good = true;
    for (char *line = bytes, *last = bytes + size; good && line < last;) {
        char *end = memchr(line, '\n', (size_t)(last - line));
        if (end)
            *end = '\0';
        if (*line && given->count == GIVEN_LIMIT) {
            given->cut = true;
            return true;
        }
        if (*line)
            good = add_line(given, capacity, line);
        line = end ? end + 1 : last;
    }
    return good;
}

bool given_reports_read(const struct triage_options *options, struct given_reports *ret)
{
    size_t capacity = 0;
    *ret = (struct given_reports){.files = calloc(options->report_file_count + 1, sizeof(char *))};
    bool good = ret->files != NULL;
    if (!good)
        complain("out of memory");
    for (size_t i = 0; good && !ret->cut && i < options->report_file_count; i++) {
        struct input input = {0};
        good = input_read(&input, "--reports", options->report_files[i], FILE_LIMIT);
        ret->files[ret->file_count++] = input.bytes;
        if (good && input.size && !add_lines(ret, &capacity, input.bytes, input.size)) {
            complain("out of memory");
            good = false;
        }
    }
    if (ret->cut)
        complain("--reports: more than %zu reports; the rest is left out", GIVEN_LIMIT);
    return good;
}

void given_reports_deinit(struct given_reports *given)
{
    while (given->file_count)
        free(given->files[--given->file_count]);
    free(given->files);
    free(given->lines);
}
