/* The instructions of a file's functions, each decoded once. */
#include "flow.h"

#include <stdlib.h>
#include <string.h>

/**
 * Slots of the table, powers of two: few functions of most modules are asked for. When as many
 * instructions are kept as the largest one has room for, all are forgotten. This is no hash table
 * of base/: each step of a path asks here, and an instruction's slot is where its address says,
 * next to its neighbours', so that nothing is hashed and caches are used well.
 */
#define FIRST_SLOTS ((size_t)1 << 11)
#define LAST_SLOTS  ((size_t)1 << 15)

struct flow_decoder {
    struct disassembler *disassembler;
    uint16_t *slots; /**< By address, open addressing: numbers of items from 1; 0: none. */
    size_t slot_count;
    struct instruction *items; /**< In the order in which they were asked for. */
    size_t count;
    size_t capacity;
};

/** Instructions that the slots have room for. */
static size_t room_of(size_t slot_count)
{
    return slot_count / 4 * 3;
}

struct flow_decoder *flow_decoder_create(uint16_t elf_machine)
{
    struct flow_decoder *decoder = calloc(1, sizeof(*decoder));
    if (!decoder)
        return NULL;
    decoder->slot_count = FIRST_SLOTS;
    decoder->slots = calloc(decoder->slot_count, sizeof(*decoder->slots));
    if (!decoder->slots ||
        !array_reserve((void **)&decoder->items, &decoder->capacity, 1, sizeof(*decoder->items)) ||
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
    free(decoder->slots);
    free(decoder->items);
    free(decoder);
}

/** The slot of an address, or the empty one for it. */
static uint16_t *find_slot(const struct flow_decoder *decoder, uint64_t address)
{
    size_t at = (size_t)address & (decoder->slot_count - 1);
    while (decoder->slots[at] && decoder->items[decoder->slots[at] - 1].address != address)
        at = (at + 1) & (decoder->slot_count - 1);
    return &decoder->slots[at];
}

/** False: out of memory. */
static bool double_slots(struct flow_decoder *decoder)
{
    uint16_t *slots = calloc(decoder->slot_count * 2, sizeof(*slots));
    if (!slots)
        return false;
    free(decoder->slots);
    decoder->slots = slots;
    decoder->slot_count *= 2;
    for (size_t i = 0; i < decoder->count; i++)
        *find_slot(decoder, decoder->items[i].address) = (uint16_t)(i + 1);
    return true;
}

/** Room for one more; all are forgotten where there is none. */
static void make_room(struct flow_decoder *decoder)
{
    const bool full = decoder->count >= room_of(decoder->slot_count);
    if ((!full || (decoder->slot_count < LAST_SLOTS && double_slots(decoder))) &&
        array_reserve((void **)&decoder->items, &decoder->capacity, decoder->count + 1,
                      sizeof(*decoder->items)))
        return;
    memset(decoder->slots, 0, decoder->slot_count * sizeof(*decoder->slots));
    decoder->count = 0;
}

const struct instruction *flow_decode(struct flow *flow, uint64_t address)
{
    struct flow_decoder *decoder = flow->decoder;
    const struct code_image *image = &flow->image;
    const uint16_t *known = find_slot(decoder, address);
    if (*known)
        return &decoder->items[*known - 1];
    make_room(decoder);
    struct instruction *slot = &decoder->items[decoder->count++];
    *find_slot(decoder, address) = (uint16_t)decoder->count;
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
