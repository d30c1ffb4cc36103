#include "layout.h"

static const struct numpy_number numbers[] = {
    {"bool", NUMPY_BOOL, 1},
    {"int8", NUMPY_INT, 1},
    {"uint8", NUMPY_UINT, 1},
    {"int16", NUMPY_INT, 2},
    {"uint16", NUMPY_UINT, 2},
    {"int32", NUMPY_INT, 4},
    {"uint32", NUMPY_UINT, 4},
    {"int64", NUMPY_INT, 8},
    {"uint64", NUMPY_UINT, 8},
    {"longlong", NUMPY_INT, 8},
    {"ulonglong", NUMPY_UINT, 8},
    {"float32", NUMPY_FLOAT, 4},
    {"float64", NUMPY_FLOAT, 8},
    {"longdouble", NUMPY_LONG_FLOAT, 16},
    {"complex64", NUMPY_COMPLEX, 8},
    {"complex128", NUMPY_COMPLEX, 16},
    {"clongdouble", NUMPY_LONG_COMPLEX, 32},
    {"object", NUMPY_OBJECT, 8},
    {"bytes", NUMPY_BYTES, 0},
    {"str", NUMPY_STR, 0},
    {"void", NUMPY_VOID, 0},
    {"datetime64", NUMPY_DATETIME, 8},
    {"timedelta64", NUMPY_TIMEDELTA, 8},
    {"float16", NUMPY_FLOAT, 2},
};

const struct numpy_number *layout_get_numpy_number(uint32_t number)
{
    static const struct numpy_number text = {"StringDType", NUMPY_TEXT, NUMPY_TEXT_WIDTH};
    if (number == NUMPY_TEXT_NUMBER)
        return &text;
    return number < PSC_ARRAY_SIZE(numbers) ? &numbers[number] : NULL;
}

#define NUMPY_2                                                                              \
    .size = 24, .size_width = 8, .alignment = 32, .flags = 16, .subarray = 72, .fields = 80, \
    .names = 88, .time = 96, .named_scalars = true

const struct numpy_layout *layout_of_numpy(uint64_t major, uint64_t minor)
{
    static const struct numpy_layout first = {.size = 16,
                                              .size_width = 4,
                                              .alignment = 20,
                                              .flags = 11,
                                              .subarray = 24,
                                              .fields = 32,
                                              .names = 40,
                                              .time = 64,
                                              .half_most = 16,
                                              .single_most = 16};
    static const struct numpy_layout from_2_0 = {NUMPY_2, .half_most = 16, .single_most = 16};
    static const struct numpy_layout from_2_3 = {NUMPY_2, .half_most = 3, .single_most = 6};
    static const struct numpy_layout from_2_4 = {NUMPY_2, .half_most = 3, .single_most = 6,
                                                 .unit_of_no_time = true};
    if (major == 1)
        return &first;
    if (major != 2)
        return NULL;
    return minor < 3 ? &from_2_0 : minor < 4 ? &from_2_3 : &from_2_4;
}

/*
 * Before stack_start of the C++ object: a vtable, from 3.1 on the greenlet itself, an exception
 * state that has one exception, or three pointers for it from CPython 3.7 to 3.10, and two pointers
 * for a switch. Up to CPython 3.6 there is no context before the newest frame. The struct of 1.1
 * has the members for CPython 3.11 where that is the version.
 */
struct greenlet_layout layout_of_greenlets(const struct py_layout *layout, bool has_struct)
{
    bool one_exception = layout->offset[PY_HANDLED_TRACE] == PY_NO_OFFSET;
    bool no_context = layout->offset[PY_THREAD_HANDLED_TYPE] != PY_NO_OFFSET;
    if (has_struct)
        return (struct greenlet_layout){.stack_start = 0,
                                        .stack_stop = 8,
                                        .stack_copy = 16,
                                        .stack_saved = 24,
                                        .previous = 32,
                                        .top_frame = 56,
                                        .frames_first = 72,
                                        .frames_last = 72,
                                        .cframe = 152};
    return (struct greenlet_layout){.pointer = 16,
                                    .stack_start = one_exception ? 48 : 64,
                                    .own_pointer = 8,
                                    .own_size = 8,
                                    .stack_stop = 8,
                                    .stack_copy = 16,
                                    .stack_saved = 24,
                                    .previous = 32,
                                    .top_frame = no_context ? 40 : 48,
                                    .cframe = 56,
                                    .frames_first = 64,
                                    .frames_last = 120};
}

bool layout_has_greenlet_struct(const char *version)
{
    return (version[0] == '0' || version[0] == '1') && version[1] == '.';
}
