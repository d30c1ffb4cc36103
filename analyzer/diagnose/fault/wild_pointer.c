/* What the bits of a pointer tell that led nowhere. */
#include "fault_private.h"

#include <ctype.h>
#include <inttypes.h>

/* Letters that a pointer needs to look like text, and bytes of one. */
#define TEXT_LEAST   6u
#define POINTER_SIZE 8u
/* Words above the stack pointer among which there are pointers of the same frame. */
#define FRAME_WORDS 64u
/* glibc's malloc: the sizes of blocks that go to a thread's cache (malloc.c, MAX_TCACHE_SIZE). */
#define CACHED_SIZE_LEAST 0x20u
#define CACHED_SIZE_MOST  0x410u
/* Lower bits of a pointer change when it goes through memory in the common way. */
#define FLIPPED_BIT_LEAST 16u
/* Behind the end of what a pointer walks over, in bytes. */
#define OVERRUN_LIMIT ((psc_addr)1 << 20)

struct pattern {
    uint8_t byte;
    bool freed;
    const char *words;
};

/*
 * CPython, Objects/obmalloc.c: PYMEM_DEADBYTE, PYMEM_CLEANBYTE, PYMEM_FORBIDDENBYTE; the second of
 * each is that of 3.7 and before. jemalloc, include/jemalloc/internal/jemalloc_internal_types.h.
 * AddressSanitizer's flag malloc_fill_byte.
 */
static const struct pattern patterns[] = {
    {0xdd, true, "with which CPython's debug allocator fills freed memory"},
    {0xdb, true, "with which CPython's debug allocator fills freed memory (up to 3.7)"},
    {0xcd, false, "with which CPython's debug allocator fills new memory"},
    {0xcb, false, "with which CPython's debug allocator fills new memory (up to 3.7)"},
    {0xfd, false, "with which CPython's debug allocator surrounds memory"},
    {0xfb, false, "with which CPython's debug allocator surrounds memory (up to 3.7)"},
    {0x5a, true, "with which jemalloc fills freed memory"},
    {0xa5, false, "with which jemalloc fills new memory"},
    {0xbe, false, "with which AddressSanitizer fills new memory"},
};

static bool add_pattern(struct examination *examination, uint64_t pointer)
{
    uint8_t byte = (uint8_t)pointer;
    if (pointer != byte * UINT64_C(0x0101010101010101))
        return false;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(patterns); i++) {
        if (patterns[i].byte != byte)
            continue;
        text_printf(examination->summary, ", made of bytes 0x%02x, %s", byte, patterns[i].words);
        if (patterns[i].freed)
            examination->crash->cause = TRACE_CAUSE_FREED_MEMORY;
        return true;
    }
    return false;
}

static bool is_plain(unsigned char letter)
{
    return isalnum(letter) || letter == ' ' || letter == '_' || letter == '-' || letter == '.' ||
           letter == '/' || letter == ':' || letter == ',' || letter == '=';
}

/* Eight printable characters, or plain ones and zeros behind them. */
static bool add_text(struct examination *examination, uint64_t pointer)
{
    char letters[POINTER_SIZE + 1] = "";
    unsigned count = 0;
    bool plain = true, printable = true;
    for (; count < POINTER_SIZE && (pointer >> count * 8 & 0xff); count++) {
        unsigned char letter = (unsigned char)(pointer >> count * 8);
        letters[count] = (char)letter;
        plain &= is_plain(letter);
        printable &= letter >= 0x20 && letter < 0x7f;
    }
    if (count < TEXT_LEAST || (count < POINTER_SIZE && pointer >> count * 8) ||
        !(count == POINTER_SIZE ? printable : plain))
        return false;
    text_printf(examination->summary, ", which looks like text: \"%s\"", letters);
    return true;
}

/* ---- a block that glibc's malloc has freed ---- */

static bool is_mapped(const struct fault *fault, psc_addr address)
{
    const struct target_mapping *mapping = target_find_mapping(fault->target, address);
    return mapping && !mapping->file && (!mapping->permissions_known || mapping->writable);
}

/*
 * Whether a block of a thread's cache is at `block`, and `pointer` what free() has left in it:
 * the link to the next one, changed by its place, or the key behind that (glibc 2.32 and later,
 * malloc/malloc.c, PROTECT_PTR and tcache_entry).
 */
static bool is_freed_block(const struct fault *fault, psc_addr block, uint64_t pointer)
{
    uint64_t size, link, key;
    if (!block || block % 16 || !is_mapped(fault, block) ||
        target_read_u64(fault->target, block - 8, &size) != PSC_OK ||
        target_read_u64(fault->target, block, &link) != PSC_OK ||
        target_read_u64(fault->target, block + 8, &key) != PSC_OK)
        return false;
    if (size % 16 & 8 || (size & ~7u) < CACHED_SIZE_LEAST || (size & ~7u) > CACHED_SIZE_MOST)
        return false;
    psc_addr next = link ^ block >> 12;
    return key && (pointer == link || pointer == key) && next % 16 == 0 &&
           (!next || is_mapped(fault, next));
}

static bool add_freed_block(struct examination *examination, uint64_t pointer)
{
    const struct fault *fault = examination->fault;
    size_t count = fault->registers ? fault->target->machine->pc : 0;
    for (size_t i = 0; i < count; i++) {
        psc_addr block = fault->registers->value[i];
        if (!is_freed_block(fault, block, pointer))
            continue;
        text_printf(
            examination->summary,
            ", which is what free() leaves in a block of memory, here in that at 0x%" PRIx64,
            block);
        examination->crash->cause = TRACE_CAUSE_FREED_MEMORY;
        return true;
    }
    return false;
}

/* ---- a flipped bit ---- */

static bool is_one_bit(uint64_t value)
{
    return value && !(value & (value - 1)) && value >> FLIPPED_BIT_LEAST;
}

/* `pointer` has not just run out of what the other one points into. */
static bool is_flipped(const struct fault *fault, uint64_t pointer, uint64_t other)
{
    const struct target_mapping *mapping;
    if (!is_one_bit(pointer ^ other))
        return false;
    mapping = target_find_mapping(fault->target, other);
    return mapping && (!mapping->permissions_known || mapping->readable) &&
           (pointer < mapping->start || pointer - mapping->end > OVERRUN_LIMIT) &&
           (pointer > mapping->end || mapping->start - pointer > OVERRUN_LIMIT);
}

static bool add_flip(struct examination *examination, uint64_t pointer)
{
    const struct fault *fault = examination->fault;
    uint64_t words[FRAME_WORDS], other = 0;
    bool found = false;
    if (!fault->registers)
        return false;
    for (size_t i = 0; i < fault->target->machine->pc && !found; i++)
        found = is_flipped(fault, pointer, other = fault->registers->value[i]);
    size_t count = target_read_some(fault->target, target_sp(fault->target, fault->registers),
                                    words, sizeof(words)) /
                   sizeof(words[0]);
    for (size_t i = 0; i < count && !found; i++)
        found = is_flipped(fault, pointer, other = words[i]);
    if (found)
        text_printf(examination->summary,
                    ", which looks like 0x%" PRIx64 " (that is also there) with one bit flipped",
                    other);
    return found;
}

/* What free() leaves of a low address is small: nothing else is said of what is near null. */
static bool describe(struct examination *examination, uint64_t pointer)
{
    if (examination->crash->cause == TRACE_CAUSE_NULL_POINTER)
        return pointer && add_freed_block(examination, pointer);
    return add_pattern(examination, pointer) || add_freed_block(examination, pointer) ||
           add_text(examination, pointer) || add_flip(examination, pointer);
}

void fault_describe_pointer(struct examination *examination, psc_addr address)
{
    const struct memory_operand *accused = examination->accused;
    const struct fault *fault = examination->fault;
    if (accused && fault->registers && accused->base >= 0 &&
        describe(examination, fault->registers->value[accused->base]))
        return;
    if (accused && fault->registers && accused->index >= 0 &&
        describe(examination, fault->registers->value[accused->index]))
        return;
    if (!accused)
        describe(examination, address);
}
