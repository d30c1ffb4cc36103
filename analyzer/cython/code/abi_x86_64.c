/* x86-64: the System V ABI, section 3.2, and the bytes that compilers and linkers write. */
#include "code_abi.h"

#include <elf.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/** By DWARF's numbers: the ABI, figure 3.36. */
enum { RAX, RDX, RCX, RBX, RSI, RDI, RBP, RSP, R8, R9, R10, R11, R12, R13, R14, R15 };

static const uint8_t arguments[] = {RDI, RSI, RDX, RCX, R8, R9};
static const uint8_t preserved[] = {RBX, RBP, R12, R13, R14, R15};
static const uint8_t scratch[] = {RCX, RDX, RSI, RDI, R8, R9, R10, R11};

/** In the order of the opcodes. */
static const uint8_t registers[] = {RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI,
                                    R8,  R9,  R10, R11, R12, R13, R14, R15};

/** A reference whose last four bytes say how far its target is behind it. */
static void set_reference(const struct code_range *range, enum reference_kind kind, size_t offset,
                          uint8_t size, struct code_reference *ret)
{
    int32_t distance = (int32_t)load_u32(range->bytes + offset + size - 4);
    *ret = (struct code_reference){
        .kind = kind,
        .offset = offset,
        .size = size,
        .target = range->address + offset + size + (uint64_t)(int64_t)distance,
    };
}

/** What the first byte may begin. */
static const uint8_t beginnings[256] = {
    [0xe8] = REFERENCE_CALL,    [0xe9] = REFERENCE_JUMP,
    [0x0f] = REFERENCE_BRANCH,  [0xff] = REFERENCE_CALL_SLOT | REFERENCE_JUMP_SLOT,
    [0x48] = REFERENCE_ADDRESS, [0x4c] = REFERENCE_ADDRESS,
};

/** The kind of the reference at some bytes, and its size; 0: none. `left` is at least 5. */
static unsigned classify(const uint8_t *code, size_t left, uint8_t *ret_size)
{
    switch (code[0]) {
    case 0xe8: /* call */
        *ret_size = 5;
        return REFERENCE_CALL;
    case 0xe9: /* jmp */
        *ret_size = 5;
        return REFERENCE_JUMP;
    case 0x0f: /* jcc */
        *ret_size = 6;
        return left >= 6 && (code[1] & 0xf0) == 0x80 ? REFERENCE_BRANCH : 0;
    case 0xff: /* call, jmp *slot(%rip) */
        *ret_size = 6;
        if (left < 6)
            return 0;
        return code[1] == 0x15 ? REFERENCE_CALL_SLOT : code[1] == 0x25 ? REFERENCE_JUMP_SLOT : 0;
    default: /* lea address(%rip) */
        *ret_size = 7;
        return left >= 7 && (code[0] & 0xfb) == 0x48 && code[1] == 0x8d && (code[2] & 0xc7) == 0x05
                   ? REFERENCE_ADDRESS
                   : 0;
    }
}

/** Where a byte of some value is, at or behind an offset; the range's size when nowhere. */
static size_t find_byte(const struct code_range *range, size_t from, uint8_t byte)
{
    const uint8_t *found =
        from < range->size ? memchr(range->bytes + from, byte, range->size - from) : NULL;
    return found ? (size_t)(found - range->bytes) : range->size;
}

/**
 * Where a reference may begin, at or behind an offset; near the range's end when nowhere. Of one
 * kind that of its bytes is looked for which is the rarest in code.
 */
static size_t skip_others(const struct code_range *range, size_t from, unsigned kinds)
{
    switch (kinds) {
    case REFERENCE_JUMP:
        return find_byte(range, from, 0xe9);
    case REFERENCE_BRANCH:
        return find_byte(range, from, 0x0f);
    case REFERENCE_CALL_SLOT:
        return find_byte(range, from + 1, 0x15) - 1;
    case REFERENCE_JUMP_SLOT:
        return find_byte(range, from + 1, 0x25) - 1;
    case REFERENCE_ADDRESS:
        return find_byte(range, from + 1, 0x8d) - 1;
    default:
        break;
    }
    while (from < range->size && !(beginnings[range->bytes[from]] & kinds))
        from++;
    return from;
}

static bool find_reference(const struct code_range *range, size_t from, unsigned kinds,
                           struct code_reference *ret)
{
    const uint8_t *code = range->bytes;
    /* The most frequent question, and one byte answers it. */
    if (kinds == REFERENCE_CALL) {
        const size_t found = find_byte(range, from, 0xe8);
        if (found + 5 > range->size)
            return false;
        set_reference(range, REFERENCE_CALL, found, 5, ret);
        return true;
    }
    for (size_t i = from; (i = skip_others(range, i, kinds)) + 5 <= range->size; i++) {
        uint8_t size;
        unsigned kind = classify(code + i, range->size - i, &size);
        if (!(kind & kinds))
            continue;
        set_reference(range, (enum reference_kind)kind, i, size, ret);
        if (kind == REFERENCE_ADDRESS)
            ret->register_number = registers[(code[i] & 4) << 1 | (code[i + 2] >> 3 & 7)];
        return true;
    }
    return false;
}

/** How many bytes are_calls() takes at once; 0: it takes none. */
#ifdef __SSE2__
#define CALL_BLOCK 32
#else
#define CALL_BLOCK 0
#endif

/** A bit for each byte of a block that is 0xe8. */
static uint32_t are_calls(const uint8_t *block)
{
#ifdef __SSE2__
    const __m128i call = _mm_set1_epi8((char)0xe8);
    const __m128i low = _mm_loadu_si128((const __m128i *)(const void *)block);
    const __m128i high = _mm_loadu_si128((const __m128i *)(const void *)(block + 16));
    return (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(low, call)) |
           (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(high, call)) << 16;
#else
    (void)block;
    return 0;
#endif
}

static size_t list_calls(const struct code_range *range, size_t *from, struct code_call *ret,
                         size_t limit)
{
    struct code_reference call;
    size_t count = 0, at = *from;
    /* Blocks of whose calls all have their distance. */
    while (CALL_BLOCK && at + CALL_BLOCK + 4 <= range->size && count + CALL_BLOCK <= limit) {
        for (uint32_t bits = are_calls(range->bytes + at); bits; bits &= bits - 1) {
            const size_t end = at + (size_t)__builtin_ctz(bits) + 5;
            const uint64_t behind = range->address + end;
            const int32_t distance = (int32_t)load_u32(range->bytes + end - 4);
            ret[count].address = behind - 5;
            ret[count++].target = behind + (uint64_t)(int64_t)distance;
        }
        at += CALL_BLOCK;
    }
    while (count < limit && find_reference(range, at, REFERENCE_CALL, &call)) {
        ret[count++] = (struct code_call){range->address + call.offset, call.target};
        at = call.offset + 1;
    }
    *from = at;
    return count;
}

/** The length of `ff /2` with this second byte and SIB, 0 when it is no call of 8 bytes' address.
 */
static size_t indirect_call_size(uint8_t mode, uint8_t scale)
{
    if ((mode & 0x38) != 0x10)
        return 0;
    bool has_scale = (mode & 7) == 4 && mode >> 6 != 3;
    switch (mode >> 6) {
    case 0:
        return (mode & 7) == 5 || (has_scale && (scale & 7) == 5) ? 6 + has_scale : 2 + has_scale;
    case 1:
        return 3 + (size_t)has_scale;
    case 2:
        return 6 + (size_t)has_scale;
    default:
        return 2;
    }
}

static bool read_call_before(const struct code_range *range, bool direct,
                             struct code_reference *ret)
{
    const uint8_t *end = range->bytes + range->size;
    if (direct) {
        if (range->size < 5 || end[-5] != 0xe8)
            return false;
        set_reference(range, REFERENCE_CALL, range->size - 5, 5, ret);
        return true;
    }
    for (size_t size = 7; size >= 2; size--) {
        if (range->size < size || end[-(ptrdiff_t)size] != 0xff)
            continue;
        uint8_t mode = end[1 - (ptrdiff_t)size];
        uint8_t scale = size > 2 ? end[2 - (ptrdiff_t)size] : 0;
        if (indirect_call_size(mode, scale) != size)
            continue;
        if (mode == 0x15)
            set_reference(range, REFERENCE_CALL_SLOT, range->size - size, (uint8_t)size, ret);
        else
            *ret = (struct code_reference){.kind = REFERENCE_CALL_POINTER,
                                           .offset = range->size - size,
                                           .size = (uint8_t)size};
        return true;
    }
    return false;
}

/** `jmp *slot(%rip)`, maybe behind `endbr64`, and `bnd` or `mov $index,%r11d`, as mold writes it.
 */
static uint64_t read_stub(const struct code_range *range)
{
    static const uint8_t landing[] = {0xf3, 0x0f, 0x1e, 0xfa}; /* endbr64 */
    const uint8_t *bytes = range->bytes;
    size_t at = 0;
    if (range->size >= sizeof(landing) && memcmp(bytes, landing, sizeof(landing)) == 0)
        at = sizeof(landing);
    if (at < range->size && bytes[at] == 0xf2) /* bnd */
        at++;
    else if (at + 2 <= range->size && bytes[at] == 0x41 && bytes[at + 1] == 0xbb) /* mov */
        at += 6;
    struct code_reference jump;
    if (range->size < at + 6 || bytes[at] != 0xff || bytes[at + 1] != 0x25)
        return 0;
    set_reference(range, REFERENCE_JUMP_SLOT, at, 6, &jump);
    return jump.target;
}

const struct code_abi abi_x86_64 = {
    .elf_machine = EM_X86_64,
    .register_count = 16,
    .stack_pointer = RSP,
    .frame_pointer = RBP,
    .result = RAX,
    .result_vector = 0,
    .arguments = arguments,
    .argument_count = PSC_ARRAY_SIZE(arguments),
    .call_pushes = 8,
    .preserved = preserved,
    .preserved_count = PSC_ARRAY_SIZE(preserved),
    .scratch = scratch,
    .scratch_count = PSC_ARRAY_SIZE(scratch),
    .stub_size = 16,
    .stub_leads = {0, 4, 5, 6, 10},
    .stub_lead_count = 5,
    .find_reference = find_reference,
    .list_calls = list_calls,
    .read_call_before = read_call_before,
    .read_stub = read_stub,
};
