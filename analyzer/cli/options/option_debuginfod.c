/* Options of files that are fetched. */
#include "option_values.h"

/* A day. */
#define SECONDS_LIMIT 86400

enum options_result take_debuginfod(void *request, const struct option_spec *spec,
                                    const char *value)
{
    struct options *options = request;
    (void)spec;
    options->debuginfod = true;
    if (value)
        options->debuginfod_urls = value;
    return OPTIONS_RUN;
}

enum options_result take_debuginfod_limit(void *request, const struct option_spec *spec,
                                          const char *value)
{
    struct options *options = request;
    uint64_t seconds;
    if (!option_parse_number(spec, value, SECONDS_LIMIT, &seconds))
        return OPTIONS_WRONG;
    options->debuginfod_seconds = (unsigned)seconds;
    return OPTIONS_RUN;
}
