/* One component of a path inside a symbol, and the number of an entry. */
#include "symbol.h"

/* Names longer than this are not Cython's: lengths have at most so many digits. */
#define LENGTH_DIGITS 4
#define NUMBER_DIGITS 9

/** Bytes of the character at `offset`; lengths count code points (Cython 3). */
static size_t character_size(struct slice text, size_t offset)
{
    size_t size = 1;
    while (offset + size < text.size && ((uint8_t)text.data[offset + size] & 0xc0) == 0x80)
        size++;
    return size;
}

/** Where `count` characters end; with `dots`, each "_dot_" counts as one. 0: too short. */
static size_t characters_end(struct slice text, size_t count, bool dots)
{
    size_t end = 0;
    for (; count && end < text.size; count--)
        end += dots && slice_starts(slice_from(text, end), "_dot_") ? 5 : character_size(text, end);
    return count ? 0 : end;
}

static bool is_component_at(struct slice text, size_t end)
{
    return end && end + 1 < text.size && text.data[end] == '_' && !slice_digits(text);
}

/** `<length><name>_`, with something after it. @return the bytes used, or 0. */
size_t cython_take_component(struct slice text, struct cython_component *ret)
{
    size_t digits = slice_digits(text);
    if (!digits || digits > LENGTH_DIGITS || text.data[0] == '0')
        return 0;
    size_t length = 0;
    for (size_t i = 0; i < digits; i++)
        length = length * 10 + (size_t)(text.data[i] - '0');
    struct slice name = slice_from(text, digits);
    if (length > name.size)
        return 0;
    size_t end = characters_end(name, length, false);
    ret->dotted = false;
    if (!is_component_at(name, end)) {
        end = characters_end(name, length, true);
        ret->dotted = true;
        if (!is_component_at(name, end))
            return 0;
    }
    ret->name = (struct slice){name.data, end};
    return digits + end + 1;
}

/** An entry number, which something that is not a digit must follow. */
size_t cython_take_number(struct slice text, int32_t *ret)
{
    size_t digits = slice_digits(text);
    *ret = 0;
    if (!digits || digits > NUMBER_DIGITS || digits == text.size || text.data[0] == '0')
        return 0;
    for (size_t i = 0; i < digits; i++)
        *ret = *ret * 10 + (text.data[i] - '0');
    return digits;
}

bool cython_is_capitalised(struct slice name)
{
    while (name.size && *name.data == '_')
        name = slice_from(name, 1);
    return name.size && *name.data >= 'A' && *name.data <= 'Z';
}

void cython_component_add(struct text *text, const struct cython_component *component)
{
    struct slice rest = component->name;
    while (rest.size) {
        if (component->dotted && slice_skip(&rest, "_dot_")) {
            text_add_char(text, '.');
        } else {
            text_add_char(text, *rest.data);
            rest = slice_from(rest, 1);
        }
    }
}
