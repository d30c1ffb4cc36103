#include "frames.h"

#include <stdlib.h>

/* 3.14 tags what a slot holds: it may be a small int in place. */
bool py_add_tagged_int(const struct python *python, psc_addr slot, struct text *text)
{
    uint64_t tag = python->layout.rules->pointer_tag;
    if (!tag || (slot & tag) != PY_TAG_INT)
        return false;
    text_printf(text, "%lld", (long long)((int64_t)slot >> PY_TAG_INT_SHIFT));
    return true;
}

psc_addr py_untag(const struct python *python, psc_addr slot)
{
    return slot & ~python->layout.rules->pointer_tag;
}

psc_addr py_follow_cell(struct python *python, psc_addr object)
{
    const struct py_type *type;
    psc_addr value;
    if (py_type_of(python, object, &type) != PSC_OK || type->kind != PY_KIND_CELL)
        return object;
    return py_read_u64(python, object, PY_CELL_REF, &value) == PSC_OK ? value : object;
}

/* Adds the names of one tuple of a code object. */
static enum psc_status take_names(struct python *python, psc_addr code, enum py_field field,
                                  bool cell, struct py_slots *slots)
{
    psc_addr tuple;
    psc_addr items;
    size_t count;
    if (py_read_u64(python, code, field, &tuple) != PSC_OK ||
        py_read_tuple(python, tuple, &count, &items) != PSC_OK || !count)
        return PSC_OK;
    size_t room = PY_SLOT_COUNT_LIMIT - slots->count;
    if (count > room)
        count = room;
    struct py_slot_value *all =
        realloc(slots->items, (slots->count + count + 1) * sizeof(*slots->items));
    if (!all)
        return PSC_ERR_MEMORY;
    slots->items = all;
    for (size_t i = 0; i < count; i++) {
        struct py_slot_value slot = {.cell = cell};
        if (target_read_u64(python->target, items + 8 * i, &slot.name) != PSC_OK)
            break;
        slots->items[slots->count++] = slot;
    }
    return PSC_OK;
}

/* From 3.11: one tuple for all, and a byte each on what it is. */
static void take_kinds(struct python *python, psc_addr code, struct py_slots *slots)
{
    psc_addr kinds;
    uint8_t bytes[PY_SLOT_COUNT_LIMIT];
    if (py_read_u64(python, code, PY_CODE_SLOT_KINDS, &kinds) != PSC_OK ||
        !py_has_flags(python, kinds, PY_FLAG_BYTES) ||
        target_read(python->target, py_field_address(python, kinds, PY_BYTES_DATA), bytes,
                    slots->count) != PSC_OK)
        return;
    for (size_t i = 0; i < slots->count; i++)
        slots->items[i].cell = bytes[i] & (PY_SLOT_CELL | PY_SLOT_FREE);
}

static enum psc_status list_slots(struct python *python, psc_addr code, struct py_slots *slots)
{
    int32_t nlocals = 0;
    enum psc_status status;
    if (python->layout.offset[PY_CODE_SLOT_NAMES] != PY_NO_OFFSET) {
        status = take_names(python, code, PY_CODE_SLOT_NAMES, false, slots);
        if (status == PSC_OK)
            take_kinds(python, code, slots);
    } else {
        status = take_names(python, code, PY_CODE_VARNAMES, false, slots);
        nlocals = (int32_t)slots->count;
        if (status == PSC_OK)
            status = take_names(python, code, PY_CODE_CELLVARS, true, slots);
        if (status == PSC_OK)
            status = take_names(python, code, PY_CODE_FREEVARS, true, slots);
    }
    if (py_read_i32(python, code, PY_CODE_NLOCALS, &nlocals) != PSC_OK || nlocals < 0)
        nlocals = 0;
    slots->nlocals = (size_t)nlocals < slots->count ? (size_t)nlocals : slots->count;
    return status;
}

psc_addr py_frame_slots(const struct python *python, psc_addr frame)
{
    psc_addr at = py_field_address(python, frame, PY_FRAME_LOCALSPLUS);
    return at ? at : py_field_address(python, frame, PY_FRAMEOBJ_LOCALSPLUS);
}

static bool read_values(struct python *python, psc_addr frame, struct py_slots *slots)
{
    psc_addr at = py_frame_slots(python, frame);
    for (size_t i = 0; i < slots->count; i++)
        if (target_read_u64(python->target, at + 8 * i, &slots->items[i].value) != PSC_OK)
            return false;
    return true;
}

enum psc_status py_slots_list(struct python *python, psc_addr code, struct py_slots *ret)
{
    *ret = (struct py_slots){0};
    enum psc_status status = list_slots(python, code, ret);
    if (status != PSC_OK)
        py_slots_deinit(ret);
    return status;
}

enum psc_status py_slots_read(struct python *python, const struct python_frame *frame,
                              struct py_slots *ret, bool *ret_readable)
{
    enum psc_status status = py_slots_list(python, frame->code, ret);
    if (status != PSC_OK)
        return status;
    // A compiled function has its variables where its compiler wanted them.
    *ret_readable = !frame->compiled && read_values(python, frame->address, ret);
    return PSC_OK;
}

static bool add_count(struct python *python, psc_addr code, enum py_field field, size_t *count)
{
    psc_addr tuple;
    psc_addr items;
    size_t more;
    if (py_read_u64(python, code, field, &tuple) != PSC_OK ||
        py_read_tuple(python, tuple, &more, &items) != PSC_OK || more > PY_SLOT_COUNT_LIMIT)
        return false;
    *count += more;
    return true;
}

bool py_slots_count(struct python *python, psc_addr code, size_t *ret)
{
    int32_t nlocals;
    *ret = 0;
    if (python->layout.offset[PY_CODE_SLOT_NAMES] != PY_NO_OFFSET)
        return add_count(python, code, PY_CODE_SLOT_NAMES, ret);
    if (py_read_i32(python, code, PY_CODE_NLOCALS, &nlocals) != PSC_OK || nlocals < 0 ||
        (uint32_t)nlocals > PY_SLOT_COUNT_LIMIT)
        return false;
    *ret = (size_t)nlocals;
    return add_count(python, code, PY_CODE_CELLVARS, ret) &&
           add_count(python, code, PY_CODE_FREEVARS, ret);
}

void py_slots_deinit(struct py_slots *slots)
{
    free(slots->items);
    *slots = (struct py_slots){0};
}

/* A place in a frame by its name, among those of one tuple of its code. */
struct named_slot {
    psc_addr frame;
    const char *name;
    size_t first; /* Number of the tuple's first place in the frame. */
};

static bool is_cell(struct python *python, psc_addr code, size_t index)
{
    psc_addr kinds;
    uint8_t kind;
    return py_read_u64(python, code, PY_CODE_SLOT_KINDS, &kinds) == PSC_OK &&
           py_has_flags(python, kinds, PY_FLAG_BYTES) &&
           target_read(python->target, py_field_address(python, kinds, PY_BYTES_DATA) + index,
                       &kind, 1) == PSC_OK &&
           (kind & (PY_SLOT_CELL | PY_SLOT_FREE));
}

/* Its value; the first one of this name that has one. `first` goes on behind the tuple. */
static psc_addr find_value(struct python *python, psc_addr code, enum py_field field,
                           struct named_slot *slot)
{
    bool one_tuple = field == PY_CODE_SLOT_NAMES;
    psc_addr at = py_frame_slots(python, slot->frame) + 8 * slot->first;
    psc_addr tuple;
    psc_addr items;
    psc_addr value = 0;
    size_t count;
    if (py_read_u64(python, code, field, &tuple) != PSC_OK ||
        py_read_tuple(python, tuple, &count, &items) != PSC_OK)
        return 0;
    for (size_t i = 0; !value && i < count && i < PY_SLOT_COUNT_LIMIT; i++) {
        psc_addr name;
        if (target_read_u64(python->target, items + 8 * i, &name) != PSC_OK)
            return 0;
        if (!py_string_equals(python, name, slot->name) ||
            target_read_u64(python->target, at + 8 * i, &value) != PSC_OK || !value)
            continue;
        value = py_untag(python, value);
        if (one_tuple ? is_cell(python, code, i) : field != PY_CODE_VARNAMES)
            value = py_follow_cell(python, value);
    }
    slot->first += count;
    return value;
}

psc_addr py_frame_variable(struct python *python, const struct python_frame *frame,
                           const char *name)
{
    static const enum py_field tuples[] = {PY_CODE_VARNAMES, PY_CODE_CELLVARS, PY_CODE_FREEVARS};
    struct named_slot slot = {.frame = frame->address, .name = name};
    psc_addr found = 0;
    // A compiled function has its variables where its compiler wanted them.
    if (frame->compiled)
        return 0;
    if (python->layout.offset[PY_CODE_SLOT_NAMES] != PY_NO_OFFSET)
        found = find_value(python, frame->code, PY_CODE_SLOT_NAMES, &slot);
    else
        for (size_t i = 0; !found && i < PSC_ARRAY_SIZE(tuples); i++)
            found = find_value(python, frame->code, tuples[i], &slot);
    return py_is_object_address(found) ? found : 0;
}

enum psc_status py_frame_dict_open(struct python *python, psc_addr frame, enum py_field field,
                                   enum py_field object_field, struct py_items *ret)
{
    psc_addr dict;
    enum psc_status status = py_read_u64(python, frame, field, &dict);
    if (status == PSC_ERR_UNSUPPORTED)
        status = py_read_u64(python, frame, object_field, &dict);
    if (status != PSC_OK)
        return status;
    return dict ? py_dict_open(python, dict, ret) : PSC_ERR_NOT_FOUND;
}
