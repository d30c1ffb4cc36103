/* A source file's declaration of its encoding, the conversion, and its lines. */
#include "source_files.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *converted;
    size_t converted_size = 0;
    const char *text = (const char *)data;
    enum source_encoding encoding = source_decode(text, size, &converted, &converted_size);
    if ((encoding == SOURCE_CONVERTED) != (converted != NULL) || converted_size > 3 * size)
        abort();
    free(converted);
    for (size_t at = 0; at < size;) {
        size_t length = source_line_length(text + at, size - at);
        if (!length || length > size - at)
            abort();
        at += length;
    }
    return 0;
}
