/* Memory of the target: words of stacks by pages that lie in this process; what may be code. */
#include "native_private.h"

bool native_read_word_slowly(struct native *native, psc_addr address, uint64_t *ret)
{
    psc_addr page = address & ~(NATIVE_PAGE - 1);
    size_t index = (size_t)(page / NATIVE_PAGE) % NATIVE_WINDOWS;
    if (!target_notes_words(native->target) &&
        (native->windows[index].page != page || !native->windows[index].bytes)) {
        const uint8_t *bytes = target_peek(native->target, page, NATIVE_PAGE);
        if (bytes) {
            native->windows[index].page = page;
            native->windows[index].bytes = bytes;
        }
    }
    return target_read_u64(native->target, address, ret) == PSC_OK;
}

bool code_is_possible(struct native *native, psc_addr address)
{
    if (target_is_executable(native->target, address))
        return true;
    const struct target_mapping *mapping = target_find_mapping(native->target, address);
    // gcore leaves out the segments of unmodified files; only the file would tell.
    return mapping && mapping->file && !mapping->permissions_known && !mapping->file->image;
}
