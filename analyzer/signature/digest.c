/* The only user of nettle. */
#include "signature_private.h"

#include <nettle/sha2.h>
#include <string.h>

#define DIGEST_BYTES 20u

const char *digest_strings(struct arena *arena, const char *const *strings, size_t count)
{
    struct sha256_ctx context;
    uint8_t digest[DIGEST_BYTES];
    char *hex = arena_alloc(arena, 2 * sizeof(digest) + 1);
    sha256_init(&context);
    for (size_t i = 0; i < count; i++)
        sha256_update(&context, strlen(strings[i]) + 1, (const uint8_t *)strings[i]);
    sha256_digest(&context, sizeof(digest), digest);
    for (size_t i = 0; hex && i < sizeof(digest); i++) {
        hex[2 * i] = "0123456789abcdef"[digest[i] >> 4];
        hex[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
    }
    return hex;
}
