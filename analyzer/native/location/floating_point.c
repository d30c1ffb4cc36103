/* Floating numbers on the stack of DWARF expressions: of single and double precision. */
#include "location_private.h"

#include <dwarf.h>
#include <math.h>
#include <string.h>

/* A single one converted to double and back is what it was. */
static double get(const struct slot *slot)
{
    double value;
    float single;
    if (slot->size == sizeof(single)) {
        memcpy(&single, &slot->value, sizeof(single));
        return (double)single;
    }
    memcpy(&value, &slot->value, sizeof(value));
    return value;
}

static void put(struct slot *slot, double value)
{
    float single = (float)value;
    slot->value = 0;
    if (slot->size == sizeof(single))
        memcpy(&slot->value, &single, sizeof(single));
    else
        memcpy(&slot->value, &value, sizeof(value));
}

/* Of single precision, too: rounding a double's result of one operation once more changes nothing.
 */
bool location_combine_floats(struct slot *left, const struct slot *right, uint8_t code)
{
    double a = get(left);
    double b = get(right);
    bool order = false;
    if (right->encoding != left->encoding || right->size != left->size)
        return false;
    switch (code) {
    case DW_OP_plus:
        put(left, a + b);
        return true;
    case DW_OP_minus:
        put(left, a - b);
        return true;
    case DW_OP_mul:
        put(left, a * b);
        return true;
    case DW_OP_div:
        put(left, a / b);
        return true;
    case DW_OP_eq:
        order = a == b;
        break;
    case DW_OP_ne:
        order = a != b;
        break;
    case DW_OP_lt:
        order = a < b;
        break;
    case DW_OP_le:
        order = a <= b;
        break;
    case DW_OP_gt:
        order = a > b;
        break;
    case DW_OP_ge:
        order = a >= b;
        break;
    default:
        return false;
    }
    *left = (struct slot){order, GENERIC_ENCODING, GENERIC_SIZE};
    return true;
}

bool location_change_float(struct slot *slot, uint8_t code)
{
    if (code == DW_OP_neg)
        put(slot, -get(slot));
    else if (code == DW_OP_abs)
        put(slot, fabs(get(slot)));
    else
        return false;
    return true;
}

/* To a whole number: what C's conversion would leave undefined is not known. */
static bool to_whole(struct slot *slot, uint8_t encoding, uint64_t size)
{
    double value = trunc(get(slot));
    bool with_sign = encoding == DW_ATE_signed || encoding == DW_ATE_signed_char;
    double limit = ldexp(1, (int)(8 * size) - with_sign);
    if (isnan(value) || value >= limit || value < (with_sign ? -limit : 0))
        return false;
    uint64_t whole = with_sign ? (uint64_t)(int64_t)value : (uint64_t)value;
    *slot = (struct slot){whole, encoding, (uint8_t)size};
    return true;
}

bool location_convert_float(struct slot *slot, uint8_t encoding, uint64_t size)
{
    bool from = slot->encoding == DW_ATE_float;
    bool with_sign = slot->encoding == DW_ATE_signed || slot->encoding == DW_ATE_signed_char ||
                     slot->encoding == GENERIC_ENCODING;
    if (encoding != DW_ATE_float)
        return to_whole(slot, encoding, size);
    double value = from        ? get(slot)
                   : with_sign ? (double)(int64_t)slot->value
                               : (double)slot->value;
    float single = from        ? (float)value
                   : with_sign ? (float)(int64_t)slot->value
                               : (float)slot->value;
    *slot = (struct slot){0, encoding, (uint8_t)size};
    if (size == sizeof(single))
        memcpy(&slot->value, &single, sizeof(single));
    else
        memcpy(&slot->value, &value, sizeof(value));
    return true;
}
