#include "frames.h"
#include "values.h"

#include <string.h>

#define LOCAL_LIMIT   256u /* That are shown of one frame. */
#define NAME_LIMIT    256u
#define GLOBALS_LIMIT 65536u

struct local_list {
    struct python *python;
    struct python_local *items;
    size_t count;
    uint64_t more;
    bool arguments; /* What is added now is one. */
};

/* ---- values of slots ---- */

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
    if (!py_add_tagged_int(python, slot, &text))
        value_add(python, py_untag(python, slot), &text);
    budget_spend_bytes(python, text.size);
    const char *value = value_keep(python, &text);
    list->items[list->count++] =
        (struct python_local){name_text, value ? value : "?", list->arguments};
}

static void add_slot(struct local_list *list, struct py_slot_value *slot)
{
    psc_addr value = slot->value;
    if (slot->done)
        return;
    slot->done = true;
    if (slot->cell)
        value = py_follow_cell(list->python, py_untag(list->python, value));
    if (py_untag(list->python, value))
        add_local(list, slot->name, value);
}

/* ---- arguments ---- */

/* Up to 3.10 an argument that is a cell as well has its value there, under the same name. */
static struct py_slot_value *find_holder(const struct python *python, const struct py_slots *slots,
                                         size_t index)
{
    struct py_slot_value *slot = &slots->items[index];
    if (py_untag(python, slot->value))
        return slot;
    for (size_t i = slots->nlocals; i < slots->count; i++)
        if (slots->items[i].name == slot->name)
            return &slots->items[i];
    return slot;
}

/* def f(a, *args, b, **more) has the slots a, b, args, more: their numbers as they were declared.
 */
static size_t order_arguments(struct python *python, const struct py_slots *slots, psc_addr code,
                              uint32_t flags, size_t ret[PY_SLOT_COUNT_LIMIT])
{
    int32_t positional = 0;
    int32_t keyword = 0;
    size_t count = 0;
    if (py_read_i32(python, code, PY_CODE_ARGCOUNT, &positional) != PSC_OK || positional < 0 ||
        (size_t)positional > slots->nlocals)
        return 0;
    if (py_read_i32(python, code, PY_CODE_KWONLYCOUNT, &keyword) != PSC_OK || keyword < 0 ||
        (size_t)keyword > slots->nlocals - (size_t)positional)
        keyword = 0;
    size_t first_keyword = (size_t)positional;
    size_t next = first_keyword + (size_t)keyword;
    for (size_t i = 0; i < first_keyword; i++)
        ret[count++] = i;
    if (flags & PY_CODE_VARARGS && next < slots->nlocals)
        ret[count++] = next++;
    for (size_t i = first_keyword; i < first_keyword + (size_t)keyword; i++)
        ret[count++] = i;
    if (flags & PY_CODE_VARKW && next < slots->nlocals)
        ret[count++] = next;
    return count;
}

static void add_arguments(struct local_list *list, const struct py_slots *slots, psc_addr code,
                          uint32_t flags)
{
    size_t order[PY_SLOT_COUNT_LIMIT];
    size_t count = order_arguments(list->python, slots, code, flags, order);
    list->arguments = true;
    for (size_t i = 0; i < count; i++)
        add_slot(list, find_holder(list->python, slots, order[i]));
    list->arguments = false;
}

size_t python_list_arguments(struct python *python, psc_addr address, const char **ret,
                             size_t limit)
{
    size_t order[PY_SLOT_COUNT_LIMIT];
    const struct py_code *code = address ? code_find(python, address) : NULL;
    if (!code || code->state != PY_CODE_VALID)
        return 0;
    struct py_slots slots;
    if (py_slots_list(python, address, &slots) != PSC_OK)
        return 0;
    size_t count = order_arguments(python, &slots, address, code->flags, order);
    count = count < limit ? count : limit;
    for (size_t i = 0; i < count; i++)
        if (py_read_string(python, slots.items[order[i]].name, NAME_LIMIT, &ret[i]) != PSC_OK)
            ret[i] = "?";
    py_slots_deinit(&slots);
    return count;
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
           type->kind == PY_KIND_TYPE || type->kind == PY_KIND_OLD_CLASS ||
           type->kind == PY_KIND_BUILTIN;
}

static void add_dict(struct local_list *list, psc_addr frame)
{
    struct python *python = list->python;
    struct py_items items;
    psc_addr key;
    psc_addr value;
    if (py_frame_dict_open(python, frame, PY_FRAME_LOCALS, PY_FRAMEOBJ_LOCALS, &items) != PSC_OK)
        return;
    if (items.count > GLOBALS_LIMIT)
        items.count = GLOBALS_LIMIT;
    while (budget_spend(python, 1) && py_items_next(python, &items, &key, &value) == PSC_OK) {
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
    struct py_slots slots;
    bool readable = false;
    enum psc_status status = py_slots_read(python, frame, &slots, &readable);
    if (status != PSC_OK)
        return status;
    if (!(flags & PY_CODE_OPTIMIZED))
        add_dict(list, frame->address);
    if (readable) {
        add_arguments(list, &slots, frame->code, flags);
        for (size_t i = 0; i < slots.count; i++)
            add_slot(list, &slots.items[i]);
    }
    py_slots_deinit(&slots);
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
    if (budget_is_spent(python)) {
        target_warn(python->target, "values-limit",
                    "not all values are shown: what they may take in all is used up");
        return PSC_OK;
    }
    enum psc_status status = read_frame(python, frame, code->flags, &list);
    if (status != PSC_OK)
        return status;
    if (list.more)
        items[list.count++] = (struct python_local){
            .name = "\u2026",
            .value = arena_printf(python->arena, "%llu more", (unsigned long long)list.more)};
    if (!list.count)
        return PSC_OK;
    *ret = arena_array(python->arena, list.count, sizeof(**ret));
    if (!*ret)
        return PSC_ERR_MEMORY;
    memcpy(*ret, items, list.count * sizeof(*items));
    *ret_count = list.count;
    return PSC_OK;
}
