#include "layout.h"

/* A cell is an offset, CELL_NONE, or CELL_SLOT and the number of a word. */
#define CELL_NONE    UINT32_MAX
#define CELL_SLOT    UINT32_C(0x80000000)
#define HEADER_PLAIN 16u

enum { COLUMN_COUNT = 11 };

struct py_row {
    const char *name;
    const char *path;
    bool in_object;
    uint8_t width;
    uint32_t cells[COLUMN_COUNT];
};

#define NA   CELL_NONE
#define S(n) (CELL_SLOT | (n))
#define P    false
#define O    true
#define ROW(field, kind, bytes, paths, ...) \
    [PY_##field] = {.name = #field,         \
                    .path = (paths),        \
                    .in_object = (kind),    \
                    .width = (bytes),       \
                    .cells = {__VA_ARGS__}},
static const struct py_row matrix[PY_FIELD_COUNT] = {
#include "layout.def"
};
#undef ROW
#undef O
#undef P
#undef S
#undef NA

/* A row is complete only when all it says was tried on that version; others are left out. */
/* clang-format off */
static const struct py_rules rules_table[] = {
    { 2,  7,  "2.7", PY_TOP_FRAME_OBJECT, PY_LINES_LNOTAB_UNSIGNED, PY_INSTRUCTION_BYTES, PYTHON_JOIN_SLOT,    PY_SHIMS_NONE,       0, PY_GIL_CURRENT,     PY_COLLECTING_HIDDEN,      PY_DICTS_TABLE,   PY_ATTRIBUTES_DICT,           PY_INTS_SIGNED_SIZE, 0, PY_OBJECTS_2 },
    { 3,  6,  "3.6", PY_TOP_FRAME_OBJECT, PY_LINES_LNOTAB,    PY_INSTRUCTION_BYTES,   PYTHON_JOIN_SLOT,        PY_SHIMS_NONE,       0, PY_GIL_CURRENT,     PY_COLLECTING_HIDDEN,      PY_DICTS_COMPACT, PY_ATTRIBUTES_DICT,           PY_INTS_SIGNED_SIZE, 0, PY_OBJECTS_3 },
    { 3,  7,  "3.7", PY_TOP_FRAME_OBJECT, PY_LINES_LNOTAB,    PY_INSTRUCTION_BYTES,   PYTHON_JOIN_SLOT,        PY_SHIMS_NONE,       0, PY_GIL_RUNTIME,     PY_COLLECTING_RUNTIME,     PY_DICTS_COMPACT, PY_ATTRIBUTES_DICT,           PY_INTS_SIGNED_SIZE, 0, PY_OBJECTS_3 },
    { 3,  8,  "3.8", PY_TOP_FRAME_OBJECT, PY_LINES_LNOTAB,    PY_INSTRUCTION_BYTES,   PYTHON_JOIN_SLOT,        PY_SHIMS_NONE,       0, PY_GIL_RUNTIME,     PY_COLLECTING_RUNTIME,     PY_DICTS_COMPACT, PY_ATTRIBUTES_DICT,           PY_INTS_SIGNED_SIZE, 0, PY_OBJECTS_3 },
    { 3,  9,  "3.9", PY_TOP_FRAME_OBJECT, PY_LINES_LNOTAB,    PY_INSTRUCTION_BYTES,   PYTHON_JOIN_SLOT,        PY_SHIMS_NONE,       0, PY_GIL_RUNTIME,     PY_COLLECTING_INTERPRETER, PY_DICTS_COMPACT, PY_ATTRIBUTES_DICT,           PY_INTS_SIGNED_SIZE, 0, PY_OBJECTS_3 },
    { 3, 10, "3.10", PY_TOP_FRAME_OBJECT, PY_LINES_310,       PY_INSTRUCTION_UNITS,   PYTHON_JOIN_CFRAME_SLOT, PY_SHIMS_NONE,       0, PY_GIL_RUNTIME,     PY_COLLECTING_INTERPRETER, PY_DICTS_COMPACT, PY_ATTRIBUTES_DICT,           PY_INTS_SIGNED_SIZE, 0, PY_OBJECTS_3 },
    { 3, 11, "3.11", PY_TOP_CFRAME,       PY_LINES_LOCATIONS, PY_INSTRUCTION_POINTER, PYTHON_JOIN_CFRAME,      PY_SHIMS_NONE,       0, PY_GIL_RUNTIME,     PY_COLLECTING_INTERPRETER, PY_DICTS_KINDS,   PY_ATTRIBUTES_VALUES_POINTER, PY_INTS_SIGNED_SIZE, 0, PY_OBJECTS_3 },
    { 3, 12, "3.12", PY_TOP_CFRAME,       PY_LINES_LOCATIONS, PY_INSTRUCTION_POINTER, PYTHON_JOIN_SHIM,        PY_SHIMS_OWNER,      0, PY_GIL_INTERPRETER, PY_COLLECTING_INTERPRETER, PY_DICTS_KINDS,   PY_ATTRIBUTES_TAGGED_POINTER, PY_INTS_TAG,         0, PY_OBJECTS_3 },
    { 3, 13, "3.13", PY_TOP_FRAME,        PY_LINES_LOCATIONS, PY_INSTRUCTION_POINTER, PYTHON_JOIN_SHIM,        PY_SHIMS_OWNER_INIT, 0, PY_GIL_INTERPRETER, PY_COLLECTING_INTERPRETER, PY_DICTS_KINDS,   PY_ATTRIBUTES_INLINE,         PY_INTS_TAG,         2, PY_OBJECTS_3 },
    { 3, 14, "3.14", PY_TOP_FRAME,        PY_LINES_LOCATIONS, PY_INSTRUCTION_POINTER, PYTHON_JOIN_SHIM,        PY_SHIMS_OWNER_INIT, 3, PY_GIL_INTERPRETER, PY_COLLECTING_INTERPRETER, PY_DICTS_KINDS,   PY_ATTRIBUTES_INLINE,         PY_INTS_TAG,         8, PY_OBJECTS_3 },
    { 3, 15, "3.15", PY_TOP_FRAME,        PY_LINES_LOCATIONS, PY_INSTRUCTION_POINTER, PYTHON_JOIN_SHIM,        PY_SHIMS_OWNER_INIT, 3, PY_GIL_INTERPRETER, PY_COLLECTING_INTERPRETER, PY_DICTS_KINDS,   PY_ATTRIBUTES_INLINE,         PY_INTS_TAG,         8, PY_OBJECTS_3 },
};
/* clang-format on */

/* The columns are 2.7, then 3.6 onwards. */
static size_t column_of(const struct py_rules *rules)
{
    return rules->major == 2 ? 0 : (size_t)rules->minor - 5;
}

const struct py_rules *layout_find_rules(uint32_t hex)
{
    for (size_t i = 0; i < PSC_ARRAY_SIZE(rules_table); i++) {
        const struct py_rules *rules = &rules_table[i];
        if (rules->major == hex >> 24 && rules->minor == (hex >> 16 & 0xff))
            return rules;
    }
    return NULL;
}

const struct py_rules *layout_get_rules(size_t index)
{
    return index < PSC_ARRAY_SIZE(rules_table) ? &rules_table[index] : NULL;
}

enum py_generator_states layout_get_generator_states(const struct py_rules *rules)
{
    if (rules->major < 3 || rules->minor < 10)
        return PY_GENERATORS_RUNNING;
    return rules->minor == 10   ? PY_GENERATORS_FRAME
           : rules->minor < 13  ? PY_GENERATORS_SUSPENDED
           : rules->minor <= 14 ? PY_GENERATORS_AWAITING
                                : PY_GENERATORS_COUNTED;
}

enum py_task_lists layout_get_task_lists(const struct py_rules *rules)
{
    return rules->minor <= 6   ? PY_TASKS_STATIC
           : rules->minor < 14 ? PY_TASKS_SETS
                               : PY_TASKS_LINKED;
}

bool layout_is_self_described(const struct py_rules *rules)
{
    return layout_field_slot(rules, PY_OBJECT_SIZE) != 0;
}

enum psc_status layout_from_table(const struct py_rules *rules, uint32_t header_size,
                                  uint64_t runtime_size, struct py_layout *ret)
{
    size_t column = column_of(rules);
    uint32_t moved = header_size - HEADER_PLAIN;
    if (header_size < HEADER_PLAIN || moved > HEADER_PLAIN)
        return PSC_ERR_ARGUMENT;
    for (size_t field = 0; field < PY_FIELD_COUNT; field++) {
        uint32_t cell = matrix[field].cells[column];
        bool known = cell != CELL_NONE && !(cell & CELL_SLOT);
        ret->offset[field] = !known ? PY_NO_OFFSET : matrix[field].in_object ? cell + moved : cell;
    }
    ret->rules = rules;
    ret->managed_dict = -24;
    ret->string_kind_shift = 2;

    /* 3.7.4 made PyGC_Head, of which _PyRuntime.gc holds four, 8 bytes longer. */
    if (rules->major == 3 && rules->minor == 7 && runtime_size == 1432) {
        static const enum py_field behind[] = {PY_RUNTIME_COLLECTING, PY_RUNTIME_GIL_HOLDER,
                                               PY_RUNTIME_GIL_LOCKED, PY_RUNTIME_SIZE};
        for (size_t i = 0; i < PSC_ARRAY_SIZE(behind); i++)
            ret->offset[behind[i]] -= 88;
    }
    return PSC_OK;
}

const char *layout_field_name(enum py_field field)
{
    return matrix[field].name;
}

const char *layout_field_path(enum py_field field)
{
    return matrix[field].path;
}

uint32_t layout_field_width(enum py_field field)
{
    return matrix[field].width;
}

size_t layout_field_slot(const struct py_rules *rules, enum py_field field)
{
    uint32_t cell = matrix[field].cells[column_of(rules)];
    return cell != CELL_NONE && cell & CELL_SLOT ? cell & ~CELL_SLOT : 0;
}
