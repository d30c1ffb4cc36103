/* A sample as text, and what is expected of it. */
#ifndef PSC_PRINT_SAMPLE_H
#define PSC_PRINT_SAMPLE_H

#include "trace_sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* The caller frees. */
static inline char *print_sample(const struct psc_trace *trace,
                                 const struct psc_print_options *wanted)
{
    struct psc_print_options options = *wanted;
    struct text text = {0};
    struct psc_error err = {0};
    options.size = sizeof(options);
    assert_int_equal(print_trace(trace, &options, sample_append, &text, &err), PSC_OK);
    return text.data;
}

static inline void expect_text(const struct psc_trace *trace,
                               const struct psc_print_options *options, const char *expected)
{
    char *text = print_sample(trace, options);
    assert_string_equal(text, expected);
    free(text);
}

static inline void expect_part(const struct psc_trace *trace,
                               const struct psc_print_options *options, const char *part)
{
    char *text = print_sample(trace, options);
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in:\n%s", part, text);
    free(text);
}

#endif
