/* An expression on objects; the input is the text. */
#include "where.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct where where;
    struct psc_error err = {0};
    char *typed = malloc(size + 1);
    if (!typed)
        return 0;
    memcpy(typed, data, size);
    typed[size] = '\0';
    if (parse_where(typed, &where, &err) != PSC_OK) {
        if (!*err.message)
            abort();
        where.count = 0;
    }
    if (where.count > WHERE_TERMS)
        abort();
    for (size_t i = 0; i < where.count; i++)
        if (!where.terms[i].path || !*where.terms[i].path)
            abort();
    free(typed);
    return 0;
}
