/* Greenlets that wait to be switched to. */
#include "frames.h"

#include <stdlib.h>

#define BASE_LIMIT 32u

#define STACK_SAVE_LIMIT (UINT64_C(1) << 30)

/* Whether a type is greenlet.greenlet or derived from it. */
struct known_type {
    psc_addr type;
    bool greenlet;
};

#define KNOWN_COUNT 512u

struct greenlets {
    struct python *python;
    psc_addr type; /* greenlet.greenlet of the interpreter at hand. */
    int64_t interpreter_id;
    bool has_struct; /* The module is of version 1 or before. */
    struct greenlet_layout layout;
    struct python_greenlet *items;
    size_t count;
    size_t capacity;
    bool cut;
    enum psc_status status;
    struct known_type known[KNOWN_COUNT];
};

/* Where the stacks of a suspended greenlet are. */
struct suspended {
    psc_addr stack_start;
    psc_addr stack_stop;
    psc_addr top; /* Its newest frame; 0: it runs, or has none. */
    struct py_moved moved;
};

/* ---- its layout ---- */

static bool read_word(struct greenlets *greenlets, psc_addr address, psc_addr *ret)
{
    return target_read_u64(greenlets->python->target, address, ret) == PSC_OK;
}

static bool has_frame_objects(const struct python *python)
{
    return python->layout.offset[PY_FRAMEOBJ_CODE] != PY_NO_OFFSET;
}

static bool read_struct(struct greenlets *greenlets, psc_addr object, struct suspended *ret)
{
    const struct greenlet_layout *layout = &greenlets->layout;
    psc_addr start =
        object + greenlets->python->layout.offset[PY_OBJECT_SIZE] + layout->stack_start;
    return read_word(greenlets, start, &ret->stack_start) &&
           read_word(greenlets, start + layout->stack_stop, &ret->stack_stop) &&
           read_word(greenlets, start + layout->top_frame, &ret->top);
}

static bool is_code_frame(struct python *python, psc_addr address)
{
    struct python_frame frame;
    psc_addr previous;
    return frame_read(python, address, &frame, &previous) == PSC_OK &&
           (frame.kind == PYTHON_FRAME_CODE || frame.kind == PYTHON_FRAME_TRAMPOLINE);
}

/* The saved part of its C stack lies elsewhere, with what evaluators keep there (3.12). */
static void read_moved(struct greenlets *greenlets, psc_addr start, struct suspended *ret)
{
    uint64_t saved;
    psc_addr copy;
    if (read_word(greenlets, start + greenlets->layout.stack_copy, &copy) &&
        read_word(greenlets, start + greenlets->layout.stack_saved, &saved) && copy &&
        saved <= STACK_SAVE_LIMIT)
        ret->moved = (struct py_moved){ret->stack_start, saved, copy};
}

static bool read_object(struct greenlets *greenlets, psc_addr object, struct suspended *ret)
{
    struct python *python = greenlets->python;
    psc_addr at;
    psc_addr own;
    psc_addr top;
    const struct greenlet_layout *layout = &greenlets->layout;
    if (!read_word(greenlets, object + python->layout.offset[PY_OBJECT_SIZE] + layout->pointer,
                   &at) ||
        !py_is_object_address(at) || !read_word(greenlets, at + layout->own_pointer, &own))
        return false;
    psc_addr start = at + (own == object ? layout->own_size : 0) + layout->stack_start;
    if (!read_word(greenlets, start, &ret->stack_start) ||
        !read_word(greenlets, start + layout->stack_stop, &ret->stack_stop) ||
        !read_word(greenlets, start + layout->top_frame, &top))
        return false;
    if (has_frame_objects(python) || !top) {
        ret->top = top;
        return true;
    }
    read_moved(greenlets, start, ret);
    /* The frame object is made for the greenlet; the frame itself is another member. */
    frame_set_moved(python, ret->moved);
    psc_addr last = start + layout->frames_last;
    for (psc_addr word = start + layout->frames_first; !ret->top && word <= last; word += 8)
        if (read_word(greenlets, word, &top) && is_code_frame(python, top))
            ret->top = top;
    frame_set_moved(python, (struct py_moved){0});
    return ret->top != 0;
}

/* ---- one of them ---- */

static enum psc_status keep_frames(struct python *python, const struct suspended *suspended,
                                   struct python_greenlet *ret)
{
    struct python_stack stack = {0};
    frame_set_moved(python, suspended->moved);
    enum psc_status status = chain_walk(python, suspended->top, &stack);
    frame_set_moved(python, (struct py_moved){0});
    if (status == PSC_OK)
        ret->frames =
            arena_array(python->arena, stack.count ? stack.count : 1, sizeof(*ret->frames));
    for (size_t i = 0; ret->frames && i < stack.count; i++)
        if (stack.frames[i].kind == PYTHON_FRAME_CODE)
            ret->frames[ret->frame_count++] = stack.frames[i];
    ret->frames_cut = stack.end != PYTHON_END_COMPLETE;
    python_stack_deinit(&stack);
    return status == PSC_OK && !ret->frames ? PSC_ERR_MEMORY : status;
}

static enum psc_status add_greenlet(struct greenlets *greenlets, psc_addr object)
{
    struct python *python = greenlets->python;
    struct suspended suspended = {0};
    struct python_greenlet found = {.address = object, .interpreter_id = greenlets->interpreter_id};
    const struct py_type *type;
    struct text name = {0};
    void *items = greenlets->items;
    bool known = greenlets->has_struct ? read_struct(greenlets, object, &suspended)
                                       : read_object(greenlets, object, &suspended);
    /* One that runs has no newest frame, one that has ended no stack. */
    if (known && !suspended.top && (suspended.stack_start || suspended.stack_stop))
        return PSC_OK;
    if (greenlets->count >= PSC_PYTHON_GREENLET_LIMIT) {
        greenlets->cut = true;
        return PSC_OK;
    }
    if (!array_reserve(&items, &greenlets->capacity, greenlets->count + 1, sizeof(found)))
        return PSC_ERR_MEMORY;
    greenlets->items = items;
    if (py_type_of(python, object, &type) == PSC_OK)
        py_type_add_name(type, &name);
    found.type =
        name.data && !name.failed ? arena_strndup(python->arena, name.data, name.size) : "";
    text_deinit(&name);
    found.stack = suspended.stack_start;
    found.work = !known          ? PYTHON_WORK_UNKNOWN
                 : suspended.top ? PYTHON_WORK_SUSPENDED
                                 : PYTHON_WORK_CREATED;
    found.frames_cut = !known;
    enum psc_status status =
        known && suspended.top ? keep_frames(python, &suspended, &found) : PSC_OK;
    if (status == PSC_OK)
        greenlets->items[greenlets->count++] = found;
    return status;
}

static bool is_greenlet_type(struct greenlets *greenlets, psc_addr type)
{
    for (size_t i = 0; i < BASE_LIMIT && py_is_object_address(type); i++) {
        if (type == greenlets->type)
            return true;
        if (py_read_u64(greenlets->python, type, PY_TYPE_BASE, &type) != PSC_OK)
            break;
    }
    return false;
}

/* There are many objects of few types. */
static bool visit(void *context, psc_addr object)
{
    struct greenlets *greenlets = context;
    psc_addr type;
    if (py_read_u64(greenlets->python, object, PY_OBJECT_TYPE, &type) != PSC_OK)
        return true;
    struct known_type *known = &greenlets->known[hash_u64(type) % KNOWN_COUNT];
    if (known->type != type)
        *known = (struct known_type){type, is_greenlet_type(greenlets, type)};
    if (known->greenlet)
        greenlets->status = add_greenlet(greenlets, object);
    return greenlets->status == PSC_OK;
}

/* ---- all ---- */

static enum psc_status read_interpreter(struct greenlets *greenlets, psc_addr interpreter)
{
    struct python *python = greenlets->python;
    psc_addr version;
    const char *text = NULL;
    if (py_module_find(python, interpreter, "greenlet", "greenlet", &greenlets->type) != PSC_OK ||
        !py_has_flags(python, greenlets->type, PY_FLAG_TYPE))
        return PSC_OK;
    greenlets->has_struct =
        py_module_find(python, interpreter, "greenlet", "__version__", &version) == PSC_OK &&
        py_read_string(python, version, 16, &text) == PSC_OK && layout_has_greenlet_struct(text);
    greenlets->layout = layout_of_greenlets(&python->layout, greenlets->has_struct);
    enum psc_status status = py_each_object(python, interpreter, visit, greenlets);
    if (status != PSC_OK)
        target_warn(python->target, "greenlets", "%s",
                    status == PSC_ERR_UNSUPPORTED
                        ? "greenlets are not shown: this interpreter keeps no lists of its objects"
                        : "greenlets are not complete: the collector's lists of objects could not "
                          "be read to their end");
    return greenlets->status;
}

static int compare_greenlets(const void *left, const void *right)
{
    const struct python_greenlet *a = left;
    const struct python_greenlet *b = right;
    if (a->interpreter_id != b->interpreter_id)
        return a->interpreter_id < b->interpreter_id ? -1 : 1;
    return COMPARE(a->address, b->address);
}

static void greenlets_deinit(struct greenlets *greenlets)
{
    free(greenlets->items);
}

enum psc_status python_read_greenlets(struct python *python, const struct python_thread *threads,
                                      size_t thread_count, struct python_greenlet **ret,
                                      size_t *ret_count)
{
    PSC_CLEANUP(greenlets_deinit) struct greenlets greenlets = {.python = python};
    enum psc_status status = PSC_OK;
    for (size_t i = 0; status == PSC_OK && i < thread_count; i++) {
        if (i && threads[i].interpreter == threads[i - 1].interpreter)
            continue;
        greenlets.interpreter_id = threads[i].interpreter_id;
        status = read_interpreter(&greenlets, threads[i].interpreter);
    }
    if (greenlets.cut)
        target_warn(python->target, "greenlets", "more than %u greenlets: the rest is not shown",
                    PSC_PYTHON_GREENLET_LIMIT);
    size_t count = greenlets.count;
    struct python_greenlet *items = NULL;
    if (status == PSC_OK)
        items = arena_array(python->arena, count ? count : 1, sizeof(*items));
    if (items && count) {
        qsort(greenlets.items, count, sizeof(*items), compare_greenlets);
        __builtin_memcpy(items, greenlets.items, count * sizeof(*items));
    }
    if (!items)
        return status == PSC_OK ? PSC_ERR_MEMORY : status;
    *ret = items;
    *ret_count = count;
    return PSC_OK;
}
