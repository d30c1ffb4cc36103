/* The version that memory tells of: the text that sys.version begins with. */
#include "runtime.h"

#include <string.h>

struct version_search {
    struct py_version_text *ret;
    bool found;
};

static bool find_version(void *context, psc_addr address, const uint8_t *bytes, size_t size)
{
    struct version_search *search = context;
    const char *text = (const char *)bytes;
    size_t at = 0;
    (void)address;
    while (at < size) {
        const char *dot = memchr(text + at, '.', size - at);
        if (!dot)
            return true;
        size_t start = (size_t)(dot - text);
        at = start + 1;
        /* A number of one digit, at the start of a text. */
        if (start == 0 || (text[start - 1] != '3' && text[start - 1] != '2'))
            continue;
        start--;
        if (start > 0 && text[start - 1] > ' ' && text[start - 1] < 0x7f)
            continue;
        if (parse_version_text(text + start, size - start, search->ret)) {
            search->found = true;
            return false;
        }
    }
    return true;
}

bool version_scan_find(struct python *python, const struct module *module,
                       struct py_version_text *ret)
{
    struct version_search search = {.ret = ret};
    scan_writable(python, module, find_version, &search);
    return search.found;
}
