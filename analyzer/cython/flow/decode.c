/* The instructions of a file's functions, each decoded once. */
#include "flow.h"

#include <stdlib.h>
#include <string.h>

/**
 * Decoded instructions kept; a power of two. When full, all are forgotten. This is no hash table of
 * base/: each step of a path asks here, its size is fixed, and an instruction stands where its
 * address says, next to its neighbours, so that nothing is hashed and caches are used well.
 */
#define CACHE_SIZE ((size_t)1 << 15)

struct flow_decoder {
    struct disassembler *disassembler;
    struct instruction *cache; /**< By address; open addressing. */
    bool *used;
    size_t count;
};

struct flow_decoder *flow_decoder_create(uint16_t elf_machine)
{
    struct flow_decoder *decoder = calloc(1, sizeof(*decoder));
    if (!decoder)
        return NULL;
    decoder->cache = calloc(CACHE_SIZE, sizeof(*decoder->cache));
    decoder->used = calloc(CACHE_SIZE, sizeof(*decoder->used));
    if (!decoder->cache || !decoder->used ||
        disassembler_open(elf_machine, &decoder->disassembler) != PSC_OK) {
        flow_decoder_destroy(decoder);
        return NULL;
    }
    return decoder;
}

void flow_decoder_destroy(struct flow_decoder *decoder)
{
    if (!decoder)
        return;
    disassembler_close(decoder->disassembler);
    free(decoder->cache);
    free(decoder->used);
    free(decoder);
}

static struct instruction *find_slot(struct flow_decoder *decoder, uint64_t address)
{
    size_t at = (size_t)address & (CACHE_SIZE - 1);
    while (decoder->used[at] && decoder->cache[at].address != address)
        at = (at + 1) & (CACHE_SIZE - 1);
    return &decoder->cache[at];
}

const struct instruction *flow_decode(struct flow *flow, uint64_t address)
{
    struct flow_decoder *decoder = flow->decoder;
    const struct code_image *image = &flow->image;
    struct instruction *slot = find_slot(decoder, address);
    if (decoder->used[slot - decoder->cache])
        return slot;
    if (decoder->count >= CACHE_SIZE / 4 * 3) {
        memset(decoder->used, 0, CACHE_SIZE * sizeof(*decoder->used));
        decoder->count = 0;
        slot = find_slot(decoder, address);
    }
    decoder->used[slot - decoder->cache] = true;
    decoder->count++;
    *slot = (struct instruction){.address = address};
    const struct code_function *function = code_find_function(image, address);
    size_t size;
    const uint8_t *code = code_bytes(image, address, &size);
    if (!function || !code)
        return slot;
    if (size > function->end - address)
        size = (size_t)(function->end - address);
    (void)disassembler_decode(decoder->disassembler, code, size, address, slot);
    return slot;
}
