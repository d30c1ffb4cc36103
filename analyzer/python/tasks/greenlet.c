/* Greenlets that wait to be switched to. */
#include "greenlets.h"

#include <stdlib.h>

/* Whether a type is greenlet.greenlet or derived from it. */
struct known_type {
    psc_addr type;
    bool greenlet;
};

#define KNOWN_COUNT 512u

struct greenlets {
    struct python *python;
    struct greenlet_module module; /* Of the interpreter at hand. */
    int64_t interpreter_id;
    struct python_greenlet *items;
    size_t count;
    size_t capacity;
    bool cut;
    enum psc_status status;
    struct known_type known[KNOWN_COUNT];
};

/* ---- one of them ---- */

static enum psc_status keep_frames(struct python *python, const struct greenlet_state *state,
                                   struct python_greenlet *ret)
{
    struct python_stack stack = {0};
    frame_set_moved(python, state->moved);
    enum psc_status status = chain_walk(python, state->top, &stack);
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
    struct greenlet_state state = {0};
    psc_addr at;
    struct python_greenlet found = {.address = object, .interpreter_id = greenlets->interpreter_id};
    const struct py_type *type;
    struct text name = {0};
    void *items = greenlets->items;
    bool known = greenlet_find_state(python, &greenlets->module, object, &at) &&
                 greenlet_read_state(python, &greenlets->module, at, &state);
    /* One that runs has no newest frame, one that has ended no stack. */
    if (known && !state.top && (state.stack_start || state.stack_stop))
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
    found.stack = state.stack_start;
    found.work = !known      ? PYTHON_WORK_UNKNOWN
                 : state.top ? PYTHON_WORK_SUSPENDED
                             : PYTHON_WORK_CREATED;
    found.frames_cut = !known;
    enum psc_status status = known && state.top ? keep_frames(python, &state, &found) : PSC_OK;
    if (status == PSC_OK)
        greenlets->items[greenlets->count++] = found;
    return status;
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
        *known = (struct known_type){type,
                                     greenlet_is_type(greenlets->python, &greenlets->module, type)};
    if (known->greenlet)
        greenlets->status = add_greenlet(greenlets, object);
    return greenlets->status == PSC_OK;
}

/* ---- all ---- */

static enum psc_status read_interpreter(struct greenlets *greenlets, psc_addr interpreter)
{
    struct python *python = greenlets->python;
    if (!greenlet_find_module(python, interpreter, &greenlets->module))
        return PSC_OK;
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
