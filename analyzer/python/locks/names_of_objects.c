/* The names by which the code that waits has the thing that it waits for. */
#include "locks.h"

#define GLOBALS_LIMIT    2000u
#define ATTRIBUTES_LIMIT 200u
#define NAME_LIMIT       100u

static const char *find_item(struct python *python, struct py_items *items, size_t limit,
                             psc_addr object)
{
    psc_addr key;
    psc_addr value;
    const char *name = NULL;
    for (size_t i = 0; i < limit && py_items_next(python, items, &key, &value) == PSC_OK; i++)
        if (value == object && py_read_string(python, key, NAME_LIMIT, &name) == PSC_OK)
            return name;
    return NULL;
}

/* "self.lock" */
static const char *find_attribute(struct python *python, psc_addr self, const char *variable,
                                  psc_addr object)
{
    struct py_items items;
    struct text text PSC_CLEANUP(text_deinit) = {0};
    if (py_attributes_open(python, self, &items) != PSC_OK)
        return NULL;
    const char *name = find_item(python, &items, ATTRIBUTES_LIMIT, object);
    if (!name)
        return NULL;
    text_printf(&text, "%s.%s", variable, name);
    return text.failed ? NULL : arena_strdup(python->arena, text.data);
}

static const char *find_in_slots(struct python *python, const struct py_slots *slots,
                                 psc_addr object)
{
    const char *name = NULL;
    for (size_t i = 0; i < slots->count; i++) {
        psc_addr value = py_untag(python, slots->items[i].value);
        if (value && slots->items[i].cell)
            value = py_follow_cell(python, value);
        if (value == object &&
            py_read_string(python, slots->items[i].name, NAME_LIMIT, &name) == PSC_OK)
            return name;
    }
    return NULL;
}

/* In the globals of the frame. */
static const char *find_global(struct python *python, const struct python_frame *frame,
                               psc_addr object)
{
    struct py_items items;
    psc_addr globals;
    bool found;
    if (locks_find_globals(python, frame, &globals) != PSC_OK)
        return NULL;
    struct locks_known *known = locks_recall(python, LOCKS_GLOBAL_NAME, globals, object, &found);
    if (known && !found && py_dict_open(python, globals, &items) == PSC_OK)
        known->name = find_item(python, &items, GLOBALS_LIMIT, object);
    return known ? known->name : NULL;
}

const char *locks_name_of(struct python *python, const struct python_frame *frame, psc_addr object)
{
    struct py_slots slots PSC_CLEANUP(py_slots_deinit) = {0};
    bool readable = false;
    const char *name = NULL;
    if (!object)
        return NULL;
    if (py_slots_read(python, frame, &slots, &readable) == PSC_OK && readable)
        name = find_in_slots(python, &slots, object);
    psc_addr self = name || frame->compiled ? 0 : py_frame_self(python, frame);
    if (self)
        name = find_attribute(python, self, "self", object);
    return name ? name : find_global(python, frame, object);
}
