#include "symbol.h"

#include <stdlib.h>

/* RFC 3492 section 5. */
#define PUNYCODE_BASE         36u
#define PUNYCODE_T_MIN        1u
#define PUNYCODE_T_MAX        26u
#define PUNYCODE_SKEW         38u
#define PUNYCODE_DAMP         700u
#define PUNYCODE_INITIAL_BIAS 72u
#define PUNYCODE_INITIAL_N    0x80u

/* Inserting is quadratic; C identifiers of this length do not occur. */
#define PUNYCODE_LIMIT 4096

static uint32_t adapt_bias(uint32_t delta, uint32_t count, bool first)
{
    delta = first ? delta / PUNYCODE_DAMP : delta / 2;
    delta += delta / count;
    uint32_t bias = 0;
    while (delta > (PUNYCODE_BASE - PUNYCODE_T_MIN) * PUNYCODE_T_MAX / 2) {
        delta /= PUNYCODE_BASE - PUNYCODE_T_MIN;
        bias += PUNYCODE_BASE;
    }
    return bias + (PUNYCODE_BASE - PUNYCODE_T_MIN + 1) * delta / (delta + PUNYCODE_SKEW);
}

static bool punycode_digit(char character, uint32_t *ret)
{
    if (character >= 'a' && character <= 'z')
        *ret = (uint32_t)(character - 'a');
    else if (character >= 'A' && character <= 'Z')
        *ret = (uint32_t)(character - 'A');
    else if (character >= '0' && character <= '9')
        *ret = (uint32_t)(character - '0') + 26;
    else
        return false;
    return true;
}

/** One variable-length integer, added to *value. */
static bool parse_delta(struct slice *text, uint32_t bias, uint32_t *value)
{
    uint32_t weight = 1;
    for (uint32_t k = PUNYCODE_BASE;; k += PUNYCODE_BASE) {
        uint32_t digit;
        uint32_t part;
        if (!text->size || !punycode_digit(*text->data, &digit))
            return false;
        *text = slice_from(*text, 1);
        if (__builtin_mul_overflow(digit, weight, &part) ||
            __builtin_add_overflow(*value, part, value))
            return false;
        uint32_t threshold = k <= bias + PUNYCODE_T_MIN   ? PUNYCODE_T_MIN
                             : k >= bias + PUNYCODE_T_MAX ? PUNYCODE_T_MAX
                                                          : k - bias;
        if (digit < threshold)
            return true;
        if (__builtin_mul_overflow(weight, PUNYCODE_BASE - threshold, &weight))
            return false;
    }
}

static bool decode_punycode(struct slice extended, uint32_t *points, size_t *count)
{
    uint32_t n = PUNYCODE_INITIAL_N;
    uint32_t i = 0;
    uint32_t bias = PUNYCODE_INITIAL_BIAS;
    while (extended.size) {
        uint32_t before = i;
        if (*count >= PUNYCODE_LIMIT || !parse_delta(&extended, bias, &i))
            return false;
        uint32_t length = (uint32_t)*count + 1;
        bias = adapt_bias(i - before, length, before == 0);
        if (__builtin_add_overflow(n, i / length, &n) || n > 0x10ffff)
            return false;
        i %= length;
        memmove(points + i + 1, points + i, (*count - i) * sizeof(*points));
        points[i++] = n;
        (*count)++;
    }
    return true;
}

bool parse_punycode(struct slice basic, struct slice extended, struct text *ret)
{
    if (basic.size >= PUNYCODE_LIMIT || !extended.size || extended.size > PUNYCODE_LIMIT)
        return false;
    PSC_CLEANUP(cleanup_free) uint32_t *points = malloc(PUNYCODE_LIMIT * sizeof(*points));
    if (!points)
        return false;
    size_t count = 0;
    for (; count < basic.size; count++) {
        if ((uint8_t)basic.data[count] >= PUNYCODE_INITIAL_N)
            return false;
        points[count] = (uint8_t)basic.data[count];
    }
    if (!decode_punycode(extended, points, &count))
        return false;
    for (size_t i = 0; i < count; i++)
        text_add_code_point(ret, points[i]);
    return !ret->failed;
}
