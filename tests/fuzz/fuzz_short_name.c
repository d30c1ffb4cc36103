/* A demangled name that is shortened; the first byte is the limit. */
#include "short_name.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    size_t limit = data[0];
    char *name = malloc(size);
    if (!name)
        return 0;
    memcpy(name, data + 1, size - 1);
    name[size - 1] = '\0';
    struct text text = {0};
    short_name_add(&text, name, limit);
    // Twice the limit in characters of up to four bytes; what is longer is cut.
    if (!text.failed && text.size > 8 * limit + sizeof("…"))
        abort();
    text_deinit(&text);
    free(name);
    return 0;
}
