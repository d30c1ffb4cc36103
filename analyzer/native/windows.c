/* Pages of the target that lie in this process, for words of stacks. */
#include "native_private.h"

bool native_read_word_slowly(struct native *native, psc_addr address, uint64_t *ret)
{
    psc_addr page = address & ~(NATIVE_PAGE - 1);
    size_t index = (size_t)(page / NATIVE_PAGE) % NATIVE_WINDOWS;
    if (native->windows[index].page != page || !native->windows[index].bytes) {
        const uint8_t *bytes = target_peek(native->target, page, NATIVE_PAGE);
        if (bytes) {
            native->windows[index].page = page;
            native->windows[index].bytes = bytes;
        }
    }
    return target_read_u64(native->target, address, ret) == PSC_OK;
}
