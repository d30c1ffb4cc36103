/* What a name means in a frame. */
#include "frames.h"
#include "values.h"
#include "lookup.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NAME_COUNT_LIMIT 65536u

/* A name's value; `slot` is as a frame's slot has it. */
struct found {
    psc_addr slot;
    enum python_scope scope;
};

/* ---- the frame ---- */

/* A frame that names are looked for in. */
struct scope {
    struct python_frame frame;
    uint32_t flags; /* co_flags of what it runs. */
};

static enum psc_status open_frame(struct python *python, psc_addr address, struct scope *ret,
                                  struct psc_error *err)
{
    psc_addr previous;
    enum psc_status status = frame_read(python, address, &ret->frame, &previous);
    if (status == PSC_ERR_MEMORY)
        return psc_fail_memory(err);
    if (status != PSC_OK || ret->frame.kind != PYTHON_FRAME_CODE)
        return psc_fail(err, PSC_ERR_FAULT, "there is no Python frame at 0x%" PRIx64, address);
    const struct py_code *code = code_find(python, ret->frame.code);
    if (!code)
        return psc_fail_memory(err);
    ret->flags = code->flags;
    return PSC_OK;
}

/* The value that a slot gives, cells followed; 0: none. */
static psc_addr value_of(struct python *python, const struct py_slot_value *slot)
{
    psc_addr value = slot->value;
    if (slot->cell)
        value = py_follow_cell(python, py_untag(python, value));
    return py_untag(python, value) ? value : 0;
}

static bool is_named(struct python *python, psc_addr object, const char *name)
{
    const char *text = NULL;
    return py_string_equals(python, object, name) ||
           (py_read_string(python, object, VALUE_PATH_SIZE, &text) == PSC_OK &&
            !strcmp(text, name));
}

/* ---- a name ---- */

static enum psc_status find_in_slots(struct python *python, const struct python_frame *frame,
                                     const char *name, bool *ret_declared, struct found *ret)
{
    struct py_slots slots;
    bool readable;
    bool found = false;
    enum psc_status status = py_slots_read(python, frame, &slots, &readable);
    if (status != PSC_OK)
        return status;
    for (size_t i = 0; i < slots.count && !found; i++) {
        const struct py_slot_value *slot = &slots.items[i];
        if (!is_named(python, slot->name, name))
            continue;
        *ret_declared = true;
        psc_addr value = readable ? value_of(python, slot) : 0;
        if (!value)
            continue;
        *ret = (struct found){value, slot->cell ? PYTHON_SCOPE_CLOSURE : PYTHON_SCOPE_LOCAL};
        found = true;
    }
    py_slots_deinit(&slots);
    return found ? PSC_OK : PSC_ERR_NOT_FOUND;
}

static const struct {
    enum python_scope scope;
    enum py_field field;
    enum py_field object_field;
} dicts[] = {
    {PYTHON_SCOPE_LOCAL, PY_FRAME_LOCALS, PY_FRAMEOBJ_LOCALS},
    {PYTHON_SCOPE_GLOBAL, PY_FRAME_GLOBALS, PY_FRAMEOBJ_GLOBALS},
    {PYTHON_SCOPE_BUILTIN, PY_FRAME_BUILTINS, PY_FRAMEOBJ_BUILTINS},
};

/* A module's names are in its globals: f_locals is the same dict there. */
static bool is_module_frame(struct python *python, psc_addr frame)
{
    struct py_items locals;
    struct py_items globals;
    return py_frame_dict_open(python, frame, PY_FRAME_LOCALS, PY_FRAMEOBJ_LOCALS, &locals) ==
               PSC_OK &&
           py_frame_dict_open(python, frame, PY_FRAME_GLOBALS, PY_FRAMEOBJ_GLOBALS, &globals) ==
               PSC_OK &&
           locals.entries == globals.entries;
}

/* f_locals of a function is only a copy that somebody has asked for. */
static bool has_dict(struct python *python, const struct scope *scope, size_t at)
{
    return dicts[at].scope != PYTHON_SCOPE_LOCAL ||
           (!(scope->flags & PY_CODE_OPTIMIZED) && !is_module_frame(python, scope->frame.address));
}

static enum psc_status find_name(struct python *python, const struct scope *scope, const char *name,
                                 struct found *ret, struct psc_error *err)
{
    bool declared = false;
    enum psc_status status = find_in_slots(python, &scope->frame, name, &declared, ret);
    if (status == PSC_ERR_MEMORY)
        return psc_fail_memory(err);
    if (status == PSC_OK)
        return PSC_OK;
    if (declared && scope->flags & PY_CODE_OPTIMIZED)
        return psc_fail(err, PSC_ERR_NOT_FOUND,
                        "'%s' has no value here: not yet, or it was deleted", name);
    for (size_t i = 0; i < PSC_ARRAY_SIZE(dicts); i++) {
        struct py_items items;
        if (!has_dict(python, scope, i) ||
            py_frame_dict_open(python, scope->frame.address, dicts[i].field, dicts[i].object_field,
                               &items) != PSC_OK ||
            lookup_find_key(python, &items, name, &ret->slot) != PSC_OK)
            continue;
        ret->scope = dicts[i].scope;
        return PSC_OK;
    }
    return psc_fail(err, PSC_ERR_NOT_FOUND,
                    "there is no '%s' among the locals, globals and builtins of this frame", name);
}

static enum psc_status follow(struct python *python, const struct value_path *path,
                              struct found *found, struct psc_error *err)
{
    for (size_t i = 1; i < path->count; i++) {
        const struct value_step *step = &path->steps[i];
        struct text number = {0};
        psc_addr object = py_untag(python, found->slot);
        if (py_add_tagged_int(python, found->slot, &number)) {
            text_deinit(&number);
            return psc_fail(err, PSC_ERR_UNSUPPORTED, "an int has nothing of that kind to show");
        }
        enum psc_status status =
            step->kind == VALUE_STEP_ATTRIBUTE
                ? lookup_attribute(python, object, step->text, &found->slot, err)
                : lookup_item(python, object, step, &found->slot, err);
        if (status != PSC_OK)
            return status;
    }
    return PSC_OK;
}

static enum psc_status find_value(struct python *python, const struct scope *scope,
                                  const char *typed, struct found *ret, struct psc_error *err)
{
    struct value_path path;
    enum psc_status status = parse_value_path(typed, &path, err);
    if (status == PSC_OK)
        status = find_name(python, scope, path.steps[0].text, ret, err);
    return status == PSC_OK ? follow(python, &path, ret, err) : status;
}

enum psc_status python_read_value(struct python *python, psc_addr frame, const char *typed,
                                  struct python_value *ret, struct psc_error *err)
{
    struct scope scope;
    struct found found;
    struct text text = {0};
    enum psc_status status = open_frame(python, frame, &scope, err);
    if (status == PSC_OK)
        status = find_value(python, &scope, typed, &found, err);
    if (status != PSC_OK)
        return status;
    if (!py_add_tagged_int(python, found.slot, &text))
        value_add(python, py_untag(python, found.slot), &text);
    ret->text = value_keep(python, &text);
    ret->scope = found.scope;
    return ret->text ? PSC_OK : psc_fail_memory(err);
}

/* ---- all names ---- */

struct name_list {
    struct python *python;
    const char **items;
    size_t count;
    size_t capacity;
    bool failed;
};

static bool take_name(void *context, psc_addr name)
{
    struct name_list *list = context;
    const char *text = NULL;
    if (list->count == NAME_COUNT_LIMIT)
        return false;
    if (py_read_string(list->python, name, LOOKUP_NAME_LIMIT, &text) != PSC_OK)
        return true;
    list->failed = !array_reserve((void **)&list->items, &list->capacity, list->count + 1,
                                  sizeof(*list->items));
    if (!list->failed)
        list->items[list->count++] = text;
    return !list->failed;
}

static void take_keys(struct name_list *list, struct py_items *items)
{
    psc_addr key;
    psc_addr value;
    while (budget_spend(list->python, 1) &&
           py_items_next(list->python, items, &key, &value) == PSC_OK)
        if (!take_name(list, key))
            return;
}

static enum psc_status list_frame(struct name_list *list, const struct scope *scope)
{
    struct py_slots slots;
    bool readable;
    enum psc_status status = py_slots_read(list->python, &scope->frame, &slots, &readable);
    if (status != PSC_OK)
        return status;
    for (size_t i = 0; readable && i < slots.count; i++)
        if (value_of(list->python, &slots.items[i]) && !take_name(list, slots.items[i].name))
            break;
    py_slots_deinit(&slots);
    for (size_t i = 0; i < PSC_ARRAY_SIZE(dicts); i++) {
        struct py_items items;
        if (has_dict(list->python, scope, i) &&
            py_frame_dict_open(list->python, scope->frame.address, dicts[i].field,
                               dicts[i].object_field, &items) == PSC_OK)
            take_keys(list, &items);
    }
    return PSC_OK;
}

enum psc_status python_list_names(struct python *python, psc_addr frame, const char *typed,
                                  struct python_names *ret, struct psc_error *err)
{
    struct name_list list = {.python = python};
    struct scope scope;
    struct found found;
    enum psc_status status = open_frame(python, frame, &scope, err);
    if (status == PSC_OK && typed)
        status = find_value(python, &scope, typed, &found, err);
    if (status != PSC_OK)
        return status;
    if (typed)
        lookup_list_attributes(python, py_untag(python, found.slot), take_name, &list);
    else
        status = list_frame(&list, &scope);
    if (list.failed || status != PSC_OK) {
        free(list.items);
        return psc_fail_status(err, list.failed ? PSC_ERR_MEMORY : status);
    }
    *ret = (struct python_names){list.items, list.count};
    return PSC_OK;
}
