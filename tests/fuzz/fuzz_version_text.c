/* Versions of CPython in text that may be anything: sys.version, and names of files. */
#include "layout.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = malloc(size + 1);
    struct py_version_text found;
    if (!copy)
        return 0;
    memcpy(copy, data, size);
    copy[size] = '\0';
    (void)parse_version_name(copy);
    if (parse_version_text(copy, size, &found) && (!found.hex || !memchr(found.text, 0, 32)))
        abort();
    free(copy);
    return 0;
}
