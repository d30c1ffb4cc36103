/* One look at the heap of a subject: what `pystack-core heap` and the debuggers' commands ask. */
#include "mutants.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct psc_heap_print_options choose_contents(struct choice *choice, char *held, size_t size)
{
    static const uint32_t contents[] = {0,
                                        PSC_HEAP_LARGEST,
                                        PSC_HEAP_FINDINGS,
                                        PSC_HEAP_FINDINGS,
                                        PSC_HEAP_LISTED,
                                        PSC_HEAP_OBJECT,
                                        PSC_HEAP_HOLDERS,
                                        PSC_HEAP_LARGEST | PSC_HEAP_FINDINGS | PSC_HEAP_LISTED};
    static const char *const types[] = {"dict", "builtins.str", "list", "module", "frame", "x.Y"};
    static const char *const wheres[] = {"self.a == 1", "len(self) > 3", "self.name != 'x'",
                                         "self.a.b and", "self[0] is None"};
    struct psc_heap_print_options print = PSC_HEAP_PRINT_OPTIONS_INIT;
    print.contents = contents[choose_below(choice, sizeof(contents) / sizeof(*contents))];
    print.limit = choose_one_in(choice, 4) ? 1000 : 0;
    print.type = types[choose_below(choice, sizeof(types) / sizeof(*types))];
    if (choose_one_in(choice, 3))
        print.where = wheres[choose_below(choice, sizeof(wheres) / sizeof(*wheres))];
    snprintf(held, size, "%s", types[choose_below(choice, 3)]);
    print.held = held;
    print.one_line = choose_one_in(choice, 4);
    return print;
}

/* An object that is there: the first address that a list of the largest ones has. */
static void choose_object(struct psc_heap *heap, struct choice *choice,
                          struct psc_heap_print_options *print, char *held, size_t size)
{
    struct psc_heap_print_options largest = PSC_HEAP_PRINT_OPTIONS_INIT;
    struct report_text text = {0};
    largest.contents = PSC_HEAP_LARGEST;
    largest.limit = 20;
    if (psc_heap_print(heap, &largest, report_take, &text, NULL, NULL) == PSC_OK && text.size) {
        const char *at = text.bytes;
        for (size_t skip = choose_below(choice, 20); at && skip; skip--)
            at = strstr(at + 1, "0x");
        at = at ? strstr(at, "0x") : NULL;
        print->object = at ? strtoull(at, NULL, 16) : 0;
    }
    free(text.bytes);
    if (!print->object)
        print->object = choose_bits(choice) >> 17;
    if (choose_one_in(choice, 2))
        snprintf(held, size, "%#llx", (unsigned long long)print->object);
}

static void print_heap(struct psc_heap *heap, const struct psc_heap_print_options *chosen,
                       const struct look_options *options, struct complaint *complaint,
                       uint64_t *reports)
{
    for (int format = PSC_HEAP_TEXT; format <= PSC_HEAP_HTML; format++) {
        struct psc_heap_print_options print = *chosen;
        struct psc_error err = {0};
        struct report_text text = {0};
        print.format = (enum psc_heap_format)format;
        enum psc_status status = psc_heap_print(heap, &print, report_take, &text, NULL, &err);
        if (status == PSC_ERR_IO)
            complain(complaint, "a heap of more than %zu bytes", REPORT_MAX);
        else if (status != PSC_OK && !err.message[0])
            complain(complaint, "psc_heap_print: %s", psc_status_name(status));
        else if (status == PSC_OK && format == PSC_HEAP_JSON)
            report_check_json(&text, options->heap_schema, complaint);
        else if (status == PSC_OK && format == PSC_HEAP_TEXT)
            report_check_text(&text, complaint);
        *reports += status == PSC_OK;
        free(text.bytes);
    }
}

void look_at_heap(struct psc_target *target, struct choice *choice,
                  const struct look_options *options, struct complaint *complaint,
                  uint64_t *ret_reports)
{
    char held[64];
    struct psc_error err = {0};
    struct psc_heap *heap = NULL;
    struct psc_heap_print_options print = choose_contents(choice, held, sizeof(held));
    enum psc_status status = psc_heap_open(target, NULL, &heap, &err);
    if (status != PSC_OK) {
        if (!err.message[0] || status == PSC_ERR_ARGUMENT || err.status != status)
            complain(complaint, "psc_heap_open: %s, \"%s\"", psc_status_name(status), err.message);
        return;
    }
    if (print.contents & (PSC_HEAP_OBJECT | PSC_HEAP_HOLDERS))
        choose_object(heap, choice, &print, held, sizeof(held));
    // What has grown since another look at the same memory: nothing, but for what is damaged.
    struct psc_heap *older = NULL;
    if (choose_one_in(choice, 6) && psc_heap_open(target, NULL, &older, &err) == PSC_OK) {
        print.contents = PSC_HEAP_GROWTH;
        print.older = older;
    }
    print_heap(heap, &print, options, complaint, ret_reports);
    psc_heap_close(older);
    for (size_t i = 0; i < psc_heap_warning_count(heap); i++)
        if (!psc_heap_warning(heap, i))
            complain(complaint, "a warning of a heap without words");
    psc_heap_close(heap);
}
