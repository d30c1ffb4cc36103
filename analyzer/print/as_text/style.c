/* Colours, how wide text is, how sure a line of source is. */
#include "as_text_private.h"

#include <inttypes.h>

void print_text_line(struct text *text, const struct trace_location *location)
{
    if (location->line)
        text_printf(text, location->line_source == TRACE_LINE_ESTIMATE ? ":~%" PRIu32 : ":%" PRIu32,
                    location->line);
}

void print_text_source(struct text *text, const struct trace_location *location)
{
    if (location->line_source == TRACE_LINE_ESTIMATE)
        text_add_string(text, "~ ");
    text_add_escaped(text, location->source);
}

void print_add_style(struct text *text, const struct psc_print_options *options,
                     enum print_style style)
{
    static const char *const codes[] = {
        [PRINT_PLAIN] = "\033[0m",    [PRINT_BOLD] = "\033[1m",    [PRINT_DIM] = "\033[2m",
        [PRINT_ALARM] = "\033[1;31m", [PRINT_NOTICE] = "\033[33m", [PRINT_PYTHON] = "\033[32m",
        [PRINT_CYTHON] = "\033[36m",
    };
    if (options->color)
        text_add_string(text, codes[style]);
}

struct width_range {
    uint32_t first;
    uint32_t last;
    uint8_t width;
};

/* East Asian Width W and F, and the combining marks (Unicode 15), in coarse blocks. */
static const struct width_range width_ranges[] = {
    {0x0300, 0x036f, 0},   {0x1100, 0x115f, 2},   {0x200b, 0x200d, 0},   {0x20d0, 0x20ff, 0},
    {0x2e80, 0x303e, 2},   {0x3041, 0xa4cf, 2},   {0xac00, 0xd7a3, 2},   {0xf900, 0xfaff, 2},
    {0xfe00, 0xfe0f, 0},   {0xfe30, 0xfe6f, 2},   {0xff00, 0xff60, 2},   {0xffe0, 0xffe6, 2},
    {0x1f300, 0x1f64f, 2}, {0x1f900, 0x1f9ff, 2}, {0x20000, 0x3fffd, 2},
};

size_t print_measure_text(const char *text, size_t size)
{
    size_t width = 0;
    while (size) {
        uint32_t code_point = 0;
        size_t used = utf8_decode(text, size, &code_point);
        size_t columns = 1;
        for (size_t i = 0; code_point >= 0x300 && i < PSC_ARRAY_SIZE(width_ranges); i++)
            if (code_point >= width_ranges[i].first && code_point <= width_ranges[i].last)
                columns = width_ranges[i].width;
        width += columns;
        used = used ? used : 1;
        text += used;
        size -= used;
    }
    return width;
}
