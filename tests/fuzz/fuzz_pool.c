/* A pool of CPython's allocator: its header and as many bytes as it is given. */
#include "blocks.h"

#include <stdlib.h>
#include <string.h>

enum { SIZE = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const psc_addr address = 0x7f0000001000;
    struct heap_pool pool;
    uint8_t *bytes = calloc(1, SIZE);
    if (!bytes)
        return 0;
    memcpy(bytes, data, size < SIZE ? size : SIZE);
    if (parse_pool(bytes, SIZE, address, &pool) == PSC_OK) {
        uint64_t block_size = (pool.size_class + UINT64_C(1)) * PYTHON_POOL_UNIT;
        if (pool.capacity * block_size > SIZE - PYTHON_POOL_HEADER || pool.used > pool.capacity ||
            pool.free_listed > pool.capacity ||
            (!pool.broken && pool.used + pool.free_listed != pool.capacity))
            abort();
    }
    free(bytes);
    return 0;
}
