/* What a condition tells of what was compared: numbers, or what a call that failed returned. */
#include "path_state.h"

#include <string.h>

/** Conditions in pairs, the odd one is the negation of the even one before it. */
static bool holds(uint8_t condition, bool overflow, bool below, bool equal, bool negative)
{
    bool less = negative != overflow;
    switch (condition >> 1) {
    case 0:
        return overflow;
    case 1:
        return below;
    case 2:
        return equal;
    case 3:
        return below || equal;
    case 4:
        return negative;
    case 6:
        return less;
    default:
        return less || equal;
    }
}

static bool decide_constants(const struct flow_state *state, uint8_t condition)
{
    uint8_t width = state->compared_width;
    uint64_t left = flow_truncate(state->left.number, width),
             right = flow_truncate(state->right.number, width);
    int64_t signed_left = flow_sign_extend(left, width),
            signed_right = flow_sign_extend(right, width);
    bool negative = flow_sign_extend(flow_truncate(left - right, width), width) < 0;
    bool less = signed_left < signed_right;
    return holds(condition, less != negative, left < right, left == right, negative);
}

static bool decide_exception(const struct flow_state *state, uint8_t condition, bool *ret)
{
    *ret = false;
    return condition >> 1 == 2 && state->compared_width >= 4;
}

/**
 * What succeeded is a pointer that is not NULL, or a number that is not -1, and not negative
 * where one asks for that.
 */
static bool decide_success(const struct flow_state *state, uint8_t condition, bool *ret)
{
    uint8_t width = state->compared_width;
    uint64_t right = flow_truncate(state->right.number, width);
    bool is_sign = condition >> 1 == 4 || condition >> 1 == 6;
    if (state->right.kind != ABSTRACT_CONSTANT || width < 4)
        return false;
    *ret = false;
    return (right == 0 && (is_sign || (width == 8 && condition >> 1 == 2))) ||
           (right == flow_truncate(UINT64_MAX, width) && condition >> 1 == 2);
}

/**
 * What failed returned NULL if it is a pointer that is compared with 0; else -1, or 0 (`except 0`).
 */
static bool decide_error(const struct flow_state *state, uint8_t condition, bool *ret)
{
    uint8_t width = state->compared_width;
    uint64_t right = flow_truncate(state->right.number, width);
    bool is_sign = condition >> 1 == 4 || condition >> 1 == 6 || condition >> 1 == 7;
    if (state->right.kind != ABSTRACT_CONSTANT || width < 4)
        return false;
    if (state->left.number != ERROR_IS_MINUS_ONE && right == 0 && condition >> 1 == 2)
        *ret = true;
    else if (right == 0 && (is_sign || (width == 4 && condition >> 1 == 2)))
        *ret = holds(condition, false, false, false, true);
    else if ((right == 0 || right == flow_truncate(UINT64_MAX, width)) && condition >> 1 == 2)
        *ret = holds(condition, false, false, true, false);
    else
        return false;
    return true;
}

/** The flags after ucomisd, ucomiss: below, equal, and parity when one of the two is not a number.
 */
static bool real_holds(uint8_t condition, double left, double right, bool *ret)
{
    bool unordered = left != left || right != right;
    switch (condition >> 1) {
    case 1:
        *ret = unordered || left < right;
        return true;
    case 2:
        *ret = unordered || left == right;
        return true;
    case 3:
        *ret = unordered || left <= right;
        return true;
    case 5:
        *ret = unordered;
        return true;
    default:
        return false;
    }
}

static double real_of(struct abstract_value value, uint8_t width)
{
    float narrow;
    double wide;
    uint32_t low = (uint32_t)value.number;
    memcpy(&narrow, &low, sizeof(narrow));
    memcpy(&wide, &value.number, sizeof(wide));
    return width == 4 ? (double)narrow : wide;
}

/** `double` and `float`: what failed returned -1; another `except` value is not known as such. */
static bool decide_real(struct flow_state *state, uint8_t condition, bool *ret)
{
    struct abstract_value left = state->left, right = state->right;
    if (left.kind == ABSTRACT_ERROR && right.kind == ABSTRACT_CONSTANT)
        left = right;
    else if (right.kind == ABSTRACT_ERROR && left.kind == ABSTRACT_CONSTANT)
        right = left;
    else if (left.kind != ABSTRACT_CONSTANT || right.kind != ABSTRACT_CONSTANT)
        return false;
    double value = real_of(right, state->compared_width);
    bool failed = left.kind != state->left.kind || right.kind != state->right.kind;
    if ((failed && value != -1.0) ||
        !real_holds(condition, real_of(left, state->compared_width), value, ret))
        return false;
    state->tested |= failed;
    return true;
}

bool flow_state_decide(struct flow_state *state, uint8_t condition, bool *ret)
{
    bool known = false;
    if (state->compared_real) {
        known = decide_real(state, condition & (uint8_t)~1u, ret);
        if (known && condition & 1)
            *ret = !*ret;
        return known;
    }
    if (!state->compared_width || condition >> 1 == 5) /* Parity. */
        return false;
    if (state->left.kind == ABSTRACT_CONSTANT && state->right.kind == ABSTRACT_CONSTANT) {
        *ret = decide_constants(state, condition & (uint8_t)~1u);
        known = true;
    } else if (state->left.kind == ABSTRACT_ERROR) {
        known = decide_error(state, condition & (uint8_t)~1u, ret);
        /* "Above 0" does not tell failure from 0: kw_args = PyDict_Size(); if (kw_args > 0) */
        state->tested |= known && condition >> 1 != 7;
    } else if (state->left.kind == ABSTRACT_NONZERO || state->right.kind == ABSTRACT_NONZERO) {
        known = decide_exception(state, condition & (uint8_t)~1u, ret);
        state->tested |= known;
    } else if (state->left.kind == ABSTRACT_SUCCESS) {
        known = decide_success(state, condition & (uint8_t)~1u, ret);
    }
    if (known && condition & 1)
        *ret = !*ret;
    return known;
}
