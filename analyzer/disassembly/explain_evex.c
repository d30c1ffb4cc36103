/*
 * Instructions of AVX-512 that capstone 4 does not know (Intel SDM, volume 2, 2.7): glibc's
 * strlen(), memcpy() and their like are made of them on today's machines. Their text is not made,
 * but what those that string functions use do to memory is told.
 */
#include "disassembly_private.h"

enum { PREFIX_SIZE = 4, MODRM_AT = 5, LEAST_SIZE = 6 };

/* 62 | R X B R' 0 m m m | W v v v v 1 p p | z L'L b V' a a a | opcode | ModRM */
struct evex {
    const uint8_t *bytes;
    size_t size;
    unsigned map, opcode, mod, rm;
    bool broadcasts, masks;
    uint16_t width; /* Of the vector, in bytes; 0: reserved. */
};

/* Numbers as instructions have them to DWARF's (System V ABI, AMD64 supplement, figure 3.36). */
static int8_t register_of(unsigned number)
{
    static const int8_t low[] = {0, 2, 1, 3, 7, 6, 4, 5};
    return number < 8 ? low[number] : (int8_t)number;
}

static struct evex split_evex(const uint8_t *bytes, size_t size)
{
    static const uint16_t widths[] = {16, 32, 64, 0};
    return (struct evex){.bytes = bytes,
                         .size = size,
                         .map = bytes[1] & 7,
                         .opcode = bytes[PREFIX_SIZE],
                         .mod = bytes[MODRM_AT] >> 6,
                         .rm = bytes[MODRM_AT] & 7,
                         .broadcasts = bytes[3] & 0x10,
                         .masks = bytes[3] & 7,
                         .width = widths[bytes[3] >> 5 & 3]};
}

/* Whole vectors, read or written: vmovdqu, vpcmp, vpminub, vpxor, vptestm and their like. */
static enum memory_access access_of(const struct evex *evex)
{
    static const uint8_t reads[] = {0x6f, 0x74, 0x75, 0x76, 0x64, 0x65, 0x66, 0xda,
                                    0xde, 0xdb, 0xdf, 0xeb, 0xef, 0xf8, 0xfa};
    if (evex->map == 1 && (evex->opcode == 0x7f || evex->opcode == 0xe7))
        return MEMORY_ACCESS_WRITE;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(reads) && evex->map == 1; i++)
        if (evex->opcode == reads[i])
            return MEMORY_ACCESS_READ;
    bool tests = evex->map == 2 && (evex->opcode == 0x26 || evex->opcode == 0x27);
    bool compares = evex->map == 3 && (evex->opcode == 0x1e || evex->opcode == 0x1f ||
                                       evex->opcode == 0x3e || evex->opcode == 0x3f);
    return tests || compares ? MEMORY_ACCESS_READ : 0;
}

static int32_t load_displacement(const uint8_t *bytes)
{
    return (int32_t)load_u32(bytes);
}

/* False: cut off, or of a kind that is not told. */
static bool decode_memory(const struct evex *evex, struct memory_operand *ret, size_t *ret_size)
{
    unsigned more_index = evex->bytes[1] & 0x40 ? 0 : 8, more_base = evex->bytes[1] & 0x20 ? 0 : 8;
    size_t at = LEAST_SIZE;
    unsigned base = evex->rm;
    bool has_base = true;
    *ret = (struct memory_operand){.base = -1, .index = -1, .scale = 1, .counter = -1};
    if (evex->rm == 4) {
        if (at >= evex->size)
            return false;
        unsigned sib = evex->bytes[at++], index = (sib >> 3 & 7) + more_index;
        base = sib & 7;
        ret->scale = (uint8_t)(1u << (sib >> 6));
        if (index != 4)
            ret->index = register_of(index);
    }
    if (evex->mod == 0 && base == 5) {
        if (evex->rm == 5)
            return false; // Of the instruction's end: never a wild pointer.
        has_base = false;
    }
    if (has_base)
        ret->base = register_of(base + more_base);
    size_t bytes = evex->mod == 1 ? 1 : evex->mod == 2 || !has_base ? 4 : 0;
    if (at + bytes > evex->size)
        return false;
    // One byte counts vectors.
    if (bytes == 1)
        ret->displacement = (int64_t)(int8_t)evex->bytes[at] * evex->width;
    else if (bytes)
        ret->displacement = load_displacement(evex->bytes + at);
    *ret_size = at + bytes + (evex->map == 3);
    return true;
}

bool x86_explain_unknown(const uint8_t *bytes, size_t size, struct explained_instruction *ret)
{
    if (size < LEAST_SIZE || bytes[0] != 0x62)
        return false;
    const struct evex evex = split_evex(bytes, size);
    ret->unknown = true;
    ret->uses_vectors = true;
    if (evex.mod == 3) // Registers alone.
        return true;
    size_t length;
    enum memory_access access = access_of(&evex);
    ret->opaque = true;
    if (!access || evex.masks || evex.broadcasts || !evex.width ||
        !decode_memory(&evex, &ret->memory[0], &length))
        return true;
    ret->opaque = false;
    ret->size = (uint8_t)length;
    ret->memory[0].access = (uint8_t)access;
    ret->memory[0].width = evex.width;
    ret->memory_count = 1;
    return true;
}
