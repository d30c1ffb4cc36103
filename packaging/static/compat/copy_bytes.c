/*
 * memcpy() and memmove() in place of musl's, which are a "rep movsq" for every size: a start that
 * costs more than the few bytes that are mostly copied. x86-64 has SSE2. Both in one file: musl's
 * memmove() needs musl's memcpy().
 */
#include <emmintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* From here on the processor's own loop is the fastest. */
#define LARGE 2048

typedef uint16_t two __attribute__((may_alias, aligned(1)));
typedef uint32_t four __attribute__((may_alias, aligned(1)));
typedef uint64_t eight __attribute__((may_alias, aligned(1)));

static __m128i load(const char *from)
{
    return _mm_loadu_si128((const __m128i_u *)from);
}

static void store(char *to, __m128i bytes)
{
    _mm_storeu_si128((__m128i_u *)to, bytes);
}

/* Of up to 64 bytes all are read before one is written: they may overlap. */
static void copy_few(char *to, const char *from, size_t size)
{
    if (size > 16) {
        size_t middle = size > 32 ? 16 : 0;
        __m128i first = load(from), second = load(from + middle);
        __m128i third = load(from + size - 16 - middle), last = load(from + size - 16);
        store(to, first);
        store(to + middle, second);
        store(to + size - 16 - middle, third);
        store(to + size - 16, last);
    } else if (size >= 8) {
        uint64_t first = *(const eight *)from, last = *(const eight *)(from + size - 8);
        *(eight *)to = first;
        *(eight *)(to + size - 8) = last;
    } else if (size >= 4) {
        uint32_t first = *(const four *)from, last = *(const four *)(from + size - 4);
        *(four *)to = first;
        *(four *)(to + size - 4) = last;
    } else if (size >= 2) {
        uint16_t first = *(const two *)from, last = *(const two *)(from + size - 2);
        *(two *)to = first;
        *(two *)(to + size - 2) = last;
    } else if (size) {
        *to = *from;
    }
}

/* From the first byte on; the last 32 are read before they can be written over. */
static void copy_forward(char *to, const char *from, size_t size)
{
    __m128i before = load(from + size - 32), last = load(from + size - 16);
    for (size_t at = 0; at < size - 32; at += 32) {
        __m128i first = load(from + at), second = load(from + at + 16);
        store(to + at, first);
        store(to + at + 16, second);
    }
    store(to + size - 32, before);
    store(to + size - 16, last);
}

static void copy_backward(char *to, const char *from, size_t size)
{
    __m128i first = load(from), second = load(from + 16);
    for (size_t left = size; left > 32; left -= 32) {
        __m128i last = load(from + left - 16), before = load(from + left - 32);
        store(to + left - 16, last);
        store(to + left - 32, before);
    }
    store(to, first);
    store(to + 16, second);
}

void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
    void *at = to;
    if (size <= 64)
        copy_few(to, from, size);
    else if (size < LARGE)
        copy_forward(to, from, size);
    else
        __asm__ volatile("rep movsb" : "+D"(at), "+S"(from), "+c"(size) : : "memory");
    return to;
}

void *memmove(void *to, const void *from, size_t size)
{
    uintptr_t ahead = (uintptr_t)to - (uintptr_t)from;
    if (size <= 64)
        copy_few(to, from, size);
    else if (ahead >= size && size >= LARGE && (uintptr_t)from - (uintptr_t)to >= size)
        memcpy(to, from, size);
    else if (ahead >= size)
        copy_forward(to, from, size);
    else
        copy_backward(to, from, size);
    return to;
}
