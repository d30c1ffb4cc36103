/* The table of formats. */
#include "html.h"
#include "junit.h"
#include "outputs_private.h"

#define FORMAT(id, name, what, write, needs_whole) [OUTPUT_##id] = {name, write, needs_whole},
const struct output_format output_formats[] = {
#include "formats.def"
};
#undef FORMAT

#define FORMAT(id, name, what, write, needs_whole) {name, OUTPUT_##id},
const struct option_choice output_choices[] = {
#include "formats.def"
    {"json", OUTPUT_NDJSON}, // As of a single report.
    {NULL, 0}};
#undef FORMAT

#define FORMAT(id, name, what, write, needs_whole) "\n" name ": " what
const char output_formats_help[] = "one of (text is the default):"
#include "formats.def"
    ;
#undef FORMAT

void output_format_prepare(const struct output_format *format)
{
    if (format == &output_formats[OUTPUT_JUNIT])
        junit_prepare();
}
