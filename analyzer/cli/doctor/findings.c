/* What the checks found, and how it is shown. */
#include "doctor_private.h"
#include "messages.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const state_names[] = {
    [FINDING_GOOD] = "good", [FINDING_WARNING] = "warning", [FINDING_STOPS] = "stops"};

char *finding_text(const char *format, ...)
{
    char *text;
    va_list args;
    va_start(args, format);
    int size = vasprintf(&text, format, args);
    va_end(args);
    return size < 0 ? NULL : text;
}

void findings_add(struct findings *findings, const char *name, enum finding_state state,
                  char *message, char *remedy)
{
    if (!message || findings->count == FINDINGS_LIMIT) {
        findings->failed = true;
        free(message);
        free(remedy);
        return;
    }
    findings->items[findings->count++] = (struct finding){name, state, message, remedy};
}

size_t findings_stop(const struct findings *findings)
{
    size_t count = 0;
    for (size_t i = 0; i < findings->count; i++)
        count += findings->items[i].state == FINDING_STOPS;
    return count;
}

void findings_deinit(struct findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        free(findings->items[i].message);
        free(findings->items[i].remedy);
    }
    free(findings->folder);
}

bool read_first_line(const char *path, char *ret, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, ret, size - 1);
    if (fd >= 0)
        close(fd);
    ret[got > 0 ? got : 0] = '\0';
    ret[strcspn(ret, "\n")] = '\0';
    return got >= 0;
}

/* ---- shown ---- */

void print_findings(FILE *file, const struct findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        fprintf(file, "%-8s %-16s ",
                finding->state == FINDING_STOPS ? "STOPS" : state_names[finding->state],
                finding->name);
        put_safely(file, finding->message);
        if (finding->remedy) {
            fprintf(file, "\n%26s", "");
            put_safely(file, finding->remedy);
        }
        putc('\n', file);
    }
    fputs(findings_stop(findings) ? "No usable core file would be written here.\n"
                                  : "Core files are written here.\n",
          file);
}

bool print_findings_json(FILE *file, const struct findings *findings)
{
    json_t *list = json_array();
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        json_t *one = json_pack("{s:s, s:s, s:s, s:s?}", "name", finding->name, "state",
                                state_names[finding->state], "message", finding->message, "remedy",
                                finding->remedy);
        if (!one) // A name that is no UTF-8.
            one = json_pack("{s:s, s:s, s:s, s:n}", "name", finding->name, "state",
                            state_names[finding->state], "message", "it is no UTF-8", "remedy");
        json_array_append_new(list, one);
    }
    json_t *document = json_pack("{s:s, s:b, s:o}", "schema", "pystack-core-doctor/1",
                                 "writes_cores", !findings_stop(findings), "checks", list);
    bool good = document && !json_dumpf(document, file, JSON_INDENT(2)) && putc('\n', file) != EOF;
    json_decref(document);
    return good;
}
