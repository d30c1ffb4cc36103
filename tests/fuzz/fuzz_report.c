/* Reports that are read back, and summaries of them. */
#include "print.h"
#include "report.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int pass_over(void *context, const char *bytes, size_t size)
{
    (void)context;
    (void)bytes;
    (void)size;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { LIMIT = 4 };
    struct psc_trace *traces[LIMIT] = {NULL};
    struct psc_print_options options = PSC_PRINT_OPTIONS_INIT;
    size_t count = 0, at = 0, used = 0;
    options.content = PSC_CONTENT_SUMMARY;
    while (at < size && count < LIMIT &&
           parse_report((const char *)data + at, size - at, &used, &traces[count], NULL) ==
               PSC_OK) {
        if (!used || used > size - at)
            abort();
        at += used;
        count += traces[count] != NULL;
    }
    const struct psc_trace *const *readable = (const struct psc_trace *const *)traces;
    const struct print_output output = {pass_over, NULL};
    for (int format = PSC_FORMAT_TEXT; count && format <= PSC_FORMAT_JSON; format++) {
        options.format = (enum psc_format)format;
        if (print_traces(readable, count, &options, &output, NULL) != PSC_OK)
            abort();
    }
    for (size_t i = 0; i < count; i++)
        trace_destroy(traces[i]);
    return 0;
}
