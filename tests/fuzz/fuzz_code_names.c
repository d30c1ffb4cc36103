/* Files with the names of code that was made at run time: the input is a perf map, and a jitdump.
 */
#include "code_names.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct code_name *name, const uint8_t *data, size_t size)
{
    const uint8_t *begin = (const uint8_t *)name->name;
    if (name->start >= name->end || begin < data || begin > data + size ||
        name->name_size > (size_t)(data + size - begin))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct code_name name;
    struct jit_dump dump;
    const char *at = (const char *)data, *end = at + size;
    while (parse_next_perf_name(&at, end, &name))
        check(&name, data, size);
    if (parse_jit_dump(data, size, &dump))
        for (size_t offset = dump.header_size; parse_next_jit_name(data, size, &offset, &name);)
            check(&name, data, size);
    return 0;
}
