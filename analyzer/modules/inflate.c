/* The one place that decompresses: libdeflate, which takes half of zlib's time. */
#include "modules_private.h"

#include <libdeflate.h>

bool inflate_bytes(const uint8_t *bytes, size_t size, uint64_t inflated_size, struct arena *arena,
                   struct section_bytes *ret)
{
    struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();
    uint8_t *inflated = decompressor ? arena_alloc(arena, inflated_size) : NULL;
    // Without room for the actual size, anything but that size is an error.
    bool good = inflated && inflated_size &&
                libdeflate_zlib_decompress(decompressor, bytes, size, inflated, inflated_size,
                                           NULL) == LIBDEFLATE_SUCCESS;
    libdeflate_free_decompressor(decompressor);
    if (good)
        *ret = (struct section_bytes){inflated, inflated_size};
    return good;
}
