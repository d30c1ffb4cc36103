/** Reports that were written as JSON: files with one, or one behind the other. */
#ifndef PSC_JSON_REPORTS_H
#define PSC_JSON_REPORTS_H

#include <pystack_core.h>

#include <stdbool.h>

struct report_list {
    struct psc_trace **traces;
    size_t count;
    size_t capacity;
};

/**
 * Adds all reports of a file, "-" is standard input. False, and said so on standard error, when
 * something in it cannot be read; what stands before that is added.
 */
bool report_list_add_file(struct report_list *list, const char *path);
void report_list_deinit(struct report_list *list);

#endif
