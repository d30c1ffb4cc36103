/* Comment blocks of generated C, and the debug XML: any bytes give an ordered map and no fault. */
#include "cython.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LINE_LIMIT 10000

static void try_lines(struct cython_lines *lines)
{
    struct cython_line line;
    size_t length = 0;
    for (uint32_t i = 0; i < LINE_LIMIT; i++) {
        if (!cython_lines_get(lines, i, &line))
            continue;
        if (!line.line)
            abort();
        length += strlen(line.file);
    }
    if (cython_lines_get(lines, UINT32_MAX, &line) && length == 0)
        abort();
    cython_lines_destroy(lines);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cython_lines *lines;
    if (parse_cython_lines((const char *)data, size, &lines) == PSC_OK)
        try_lines(lines);
    if (parse_cython_xml((const char *)data, size, &lines) == PSC_OK)
        try_lines(lines);
    return 0;
}
