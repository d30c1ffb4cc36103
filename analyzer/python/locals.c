#include "py_value.h"

#include <stdlib.h>
#include <string.h>

#define SLOT_LIMIT    4096u /* Of one code object. */
#define LOCAL_LIMIT   256u  /* That are shown of one frame. */
#define NAME_LIMIT    256u
#define GLOBALS_LIMIT 65536u

/* co_flags */
#define CODE_OPTIMIZED 0x1u
#define CODE_VARARGS   0x4u
#define CODE_VARKW     0x8u

/* CPython 3.11, Include/internal/pycore_code.h: co_localspluskinds. */
#define SLOT_CELL 0x40u
#define SLOT_FREE 0x80u

/* A place in a frame that has a name. */
struct slot {
    psc_addr name;
    psc_addr value; /* 0: no value. */
    bool cell;
    bool done;
};

struct slots {
    struct slot *items;
    size_t count;
    size_t nlocals; /* The first ones: arguments and plain names. */
};

struct local_list {
    struct python *python;
    struct python_local *items;
    size_t count;
    uint64_t more;
};

/* ---- values of slots ---- */

/* 3.14 tags what a slot holds: 3 is a small int in place, the other bits say who owns it. */
static bool add_tagged_int(const struct python *python, psc_addr slot, struct text *text)
{
    uint64_t tag = python->layout.rules->pointer_tag;
    if (!tag || (slot & tag) != 3)
        return false;
    text_printf(text, "%lld", (long long)((int64_t)slot >> 2));
    return true;
}

static psc_addr untag(const struct python *python, psc_addr slot)
{
    return slot & ~python->layout.rules->pointer_tag;
}

/* What a cell holds; the slot of a cell variable holds no cell before it is made. */
static psc_addr follow_cell(struct python *python, psc_addr object)
{
    const struct py_type *type;
    psc_addr value;
    if (py_type_of(python, object, &type) != PSC_OK || type->kind != PY_KIND_CELL)
        return object;
    return py_read_u64(python, object, PY_CELL_REF, &value) == PSC_OK ? value : object;
}

static void add_local(struct local_list *list, psc_addr name, psc_addr slot)
{
    struct python *python = list->python;
    const char *name_text = NULL;
    struct text text = {0};
    if (list->count == LOCAL_LIMIT) {
        list->more++;
        return;
    }
    if (py_read_string(python, name, NAME_LIMIT, &name_text) != PSC_OK)
        name_text = "?";
    if (!add_tagged_int(python, slot, &text))
        value_add(python, untag(python, slot), &text);
    python->value_bytes -= text.size < python->value_bytes ? text.size : python->value_bytes;
    const char *value = value_keep(python, &text);
    list->items[list->count++] = (struct python_local){name_text, value ? value : "?"};
}

static void add_slot(struct local_list *list, struct slot *slot)
{
    psc_addr value = slot->value;
    if (slot->done)
        return;
    slot->done = true;
    if (slot->cell)
        value = follow_cell(list->python, untag(list->python, value));
    if (untag(list->python, value))
        add_local(list, slot->name, value);
}

/* ---- slots ---- */

/* The names of one tuple of a code object, at slots->items[at...]. */
static size_t take_names(struct python *python, psc_addr code, enum py_field field,
                         struct slots *slots, size_t at, bool cell)
{
    psc_addr tuple;
    psc_addr items;
    size_t count;
    if (py_read_u64(python, code, field, &tuple) != PSC_OK ||
        py_read_tuple(python, tuple, &count, &items) != PSC_OK)
        return at;
    for (size_t i = 0; i < count && at < SLOT_LIMIT; i++) {
        struct slot slot = {.cell = cell};
        if (target_read_u64(python->target, items + 8 * i, &slot.name) != PSC_OK)
            break;
        slots->items[at++] = slot;
    }
    return at;
}

/* From 3.11: one tuple for all, and a byte each on what it is. */
static void take_kinds(struct python *python, psc_addr code, struct slots *slots)
{
    psc_addr kinds;
    uint8_t bytes[SLOT_LIMIT];
    if (py_read_u64(python, code, PY_CODE_SLOT_KINDS, &kinds) != PSC_OK ||
        !py_has_flags(python, kinds, PY_FLAG_BYTES) ||
        target_read(python->target, py_field_address(python, kinds, PY_BYTES_DATA), bytes,
                    slots->count) != PSC_OK)
        return;
    for (size_t i = 0; i < slots->count; i++)
        slots->items[i].cell = bytes[i] & (SLOT_CELL | SLOT_FREE);
}

static void list_slots(struct python *python, psc_addr code, struct slots *slots)
{
    int32_t nlocals = 0;
    if (python->layout.offset[PY_CODE_SLOT_NAMES] != PY_NO_OFFSET) {
        slots->count = take_names(python, code, PY_CODE_SLOT_NAMES, slots, 0, false);
        take_kinds(python, code, slots);
    } else {
        slots->count = take_names(python, code, PY_CODE_VARNAMES, slots, 0, false);
        nlocals = (int32_t)slots->count;
        slots->count = take_names(python, code, PY_CODE_CELLVARS, slots, slots->count, true);
        slots->count = take_names(python, code, PY_CODE_FREEVARS, slots, slots->count, true);
    }
    if (py_read_i32(python, code, PY_CODE_NLOCALS, &nlocals) != PSC_OK || nlocals < 0)
        nlocals = 0;
    slots->nlocals = (size_t)nlocals < slots->count ? (size_t)nlocals : slots->count;
}

static bool read_values(struct python *python, psc_addr frame, struct slots *slots)
{
    psc_addr at = py_field_address(python, frame, PY_FRAME_LOCALSPLUS);
    if (!at)
        at = py_field_address(python, frame, PY_FRAMEOBJ_LOCALSPLUS);
    for (size_t i = 0; i < slots->count; i++)
        if (target_read_u64(python->target, at + 8 * i, &slots->items[i].value) != PSC_OK)
            return false;
    return true;
}

/* Up to 3.10 an argument that is a cell as well has its value there, under the same name. */
static struct slot *find_holder(const struct python *python, const struct slots *slots,
                                size_t index)
{
    struct slot *slot = &slots->items[index];
    if (untag(python, slot->value))
        return slot;
    for (size_t i = slots->nlocals; i < slots->count; i++)
        if (slots->items[i].name == slot->name)
            return &slots->items[i];
    return slot;
}

/* def f(a, *args, b, **more) has the slots a, b, args, more. */
static void add_arguments(struct local_list *list, const struct slots *slots, psc_addr code,
                          uint32_t flags)
{
    struct python *python = list->python;
    int32_t positional = 0;
    int32_t keyword = 0;
    if (py_read_i32(python, code, PY_CODE_ARGCOUNT, &positional) != PSC_OK || positional < 0 ||
        (size_t)positional > slots->nlocals)
        return;
    if (py_read_i32(python, code, PY_CODE_KWONLYCOUNT, &keyword) != PSC_OK || keyword < 0 ||
        (size_t)keyword > slots->nlocals - (size_t)positional)
        keyword = 0;
    size_t first_keyword = (size_t)positional;
    size_t next = first_keyword + (size_t)keyword;
    for (size_t i = 0; i < first_keyword; i++)
        add_slot(list, find_holder(python, slots, i));
    if (flags & CODE_VARARGS && next < slots->nlocals)
        add_slot(list, find_holder(python, slots, next++));
    for (size_t i = first_keyword; i < first_keyword + (size_t)keyword; i++)
        add_slot(list, find_holder(python, slots, i));
    if (flags & CODE_VARKW && next < slots->nlocals)
        add_slot(list, find_holder(python, slots, next));
}

/* ---- names of modules and classes ---- */

static bool is_dunder(const char *name)
{
    size_t size = strlen(name);
    return size > 4 && !memcmp(name, "__", 2) && !memcmp(name + size - 2, "__", 2);
}

/* Code rather than data. */
static bool is_definition(struct python *python, psc_addr value)
{
    const struct py_type *type;
    if (py_type_of(python, value, &type) != PSC_OK)
        return false;
    return type->kind == PY_KIND_MODULE || type->kind == PY_KIND_FUNCTION ||
           type->kind == PY_KIND_TYPE || type->kind == PY_KIND_BUILTIN;
}

static void add_dict(struct local_list *list, psc_addr frame)
{
    struct python *python = list->python;
    struct py_items items;
    psc_addr dict;
    psc_addr key;
    psc_addr value;
    enum psc_status status = py_read_u64(python, frame, PY_FRAME_LOCALS, &dict);
    if (status == PSC_ERR_UNSUPPORTED)
        status = py_read_u64(python, frame, PY_FRAMEOBJ_LOCALS, &dict);
    if (status != PSC_OK || !dict || py_dict_open(python, dict, &items) != PSC_OK)
        return;
    if (items.count > GLOBALS_LIMIT)
        items.count = GLOBALS_LIMIT;
    while (py_value_spend(python, 1) && py_items_next(python, &items, &key, &value) == PSC_OK) {
        const char *name = NULL;
        if (py_read_string(python, key, NAME_LIMIT, &name) != PSC_OK || is_dunder(name) ||
            is_definition(python, value))
            continue;
        add_local(list, key, value);
    }
}

/* ---- a frame ---- */

static enum psc_status read_frame(struct python *python, const struct python_frame *frame,
                                  uint32_t flags, struct local_list *list)
{
    struct slots slots = {.items = calloc(SLOT_LIMIT, sizeof(*slots.items))};
    if (!slots.items)
        return PSC_ERR_MEMORY;
    list_slots(python, frame->code, &slots);
    if (!(flags & CODE_OPTIMIZED))
        add_dict(list, frame->address);
    if (read_values(python, frame->address, &slots)) {
        add_arguments(list, &slots, frame->code, flags);
        for (size_t i = 0; i < slots.count; i++)
            add_slot(list, &slots.items[i]);
    }
    free(slots.items);
    return PSC_OK;
}

enum psc_status python_read_locals(struct python *python, const struct python_frame *frame,
                                   struct python_local **ret, size_t *ret_count)
{
    struct python_local items[LOCAL_LIMIT + 1];
    struct local_list list = {.python = python, .items = items};
    *ret = NULL;
    *ret_count = 0;
    const struct py_code *code = frame->code ? code_find(python, frame->code) : NULL;
    if (!code || code->state != PY_CODE_VALID)
        return PSC_OK;
    if (!python->value_bytes || !python->value_work) {
        target_warn(python->target, "values-limit",
                    "not all values are shown: what they may take in all is used up");
        return PSC_OK;
    }
    enum psc_status status = read_frame(python, frame, code->flags, &list);
    if (status != PSC_OK)
        return status;
    if (list.more)
        items[list.count++] = (struct python_local){
            "\u2026", arena_printf(python->arena, "%llu more", (unsigned long long)list.more)};
    if (!list.count)
        return PSC_OK;
    *ret = arena_array(python->arena, list.count, sizeof(**ret));
    if (!*ret)
        return PSC_ERR_MEMORY;
    memcpy(*ret, items, list.count * sizeof(*items));
    *ret_count = list.count;
    return PSC_OK;
}
