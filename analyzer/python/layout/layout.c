#include "layout.h"

/* A cell is an offset, CELL_NONE, or CELL_SLOT and the number of a word. */
#define CELL_NONE UINT32_MAX
#define CELL_SLOT UINT32_C(0x80000000)

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

/* The columns are 2.7, then 3.6 onwards. */
static size_t column_of(const struct py_rules *rules)
{
    return rules->major == 2 ? 0 : (size_t)rules->minor - 5;
}

bool layout_is_self_described(const struct py_rules *rules)
{
    return layout_field_slot(rules, PY_OBJECT_SIZE) != 0;
}

enum psc_status layout_from_table(const struct py_rules *rules, uint32_t header_size,
                                  uint64_t runtime_size, struct py_layout *ret)
{
    size_t column = column_of(rules);
    uint32_t moved = header_size - PY_HEADER_PLAIN;
    if (header_size < PY_HEADER_PLAIN || moved > PY_HEADER_PLAIN)
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

const struct py_path_attributes *layout_path_attributes(void)
{
    static const struct py_path_attributes attributes = {
        .text = "_str",
        .root = "_root",
        .all_parts = "_parts",
        .tail = "_tail_cached",
        .given = "_raw_paths",
    };
    return &attributes;
}
