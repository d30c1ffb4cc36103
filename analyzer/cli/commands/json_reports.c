#include "json_reports.h"

#include "input.h"
#include "messages.h"

#include <stdlib.h>

/* Of one file: a report of a thousand threads has some megabytes. */
#define FILE_LIMIT ((size_t)2 << 30)
/* Of all files: each takes some kilobytes, however small its text is. */
#define REPORT_LIMIT ((size_t)65536)

static bool add_trace(struct report_list *list, struct psc_trace *trace)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? list->capacity * 2 : 64;
        void *grown = reallocarray(list->traces, capacity, sizeof(struct psc_trace *));
        if (!grown)
            return false;
        list->traces = grown;
        list->capacity = capacity;
    }
    list->traces[list->count++] = trace;
    return true;
}

static bool add_reports(struct report_list *list, const char *path, const struct input *input)
{
    size_t at = 0, number = 0, before = list->count;
    while (at < input->size) {
        if (list->count == REPORT_LIMIT) {
            complain("%s: more than %zu reports; the rest is left out", input_name(path),
                     REPORT_LIMIT);
            return false;
        }
        struct psc_error err = {0};
        struct psc_trace *trace = NULL;
        size_t used = 0;
        number++;
        if (psc_read_report(input->bytes + at, input->size - at, &used, &trace, &err) != PSC_OK) {
            complain("%s: report %zu of it cannot be read: %s%s", input_name(path), number,
                     err.message,
                     number == 1 ? "; pystack-core --format json writes what is read here" : "");
            return false;
        }
        at += used;
        if (trace && !add_trace(list, trace)) {
            psc_trace_destroy(trace);
            complain("out of memory");
            return false;
        }
    }
    if (list->count == before)
        complain("%s: there is no report in it; pystack-core --format json writes one",
                 input_name(path));
    return list->count > before;
}

bool report_list_add_file(struct report_list *list, const char *path)
{
    struct input input = {0};
    bool good = input_read(&input, NULL, path, FILE_LIMIT) && add_reports(list, path, &input);
    input_deinit(&input);
    return good;
}

void report_list_deinit(struct report_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        psc_trace_destroy(list->traces[i]);
    free(list->traces);
}
