#include "frames_private.h"

#include <stdlib.h>

/* C stacks are smaller than this many evaluator calls. */
#define CFRAME_LIMIT (1u << 20)

static enum psc_status add_anchor(struct python_stack *stack, psc_addr address, size_t first,
                                  size_t count)
{
    void *anchors = stack->anchors;
    if (!array_reserve(&anchors, &stack->anchor_capacity, stack->anchor_count + 1,
                       sizeof(*stack->anchors)))
        return PSC_ERR_MEMORY;
    stack->anchors = anchors;
    stack->anchors[stack->anchor_count++] =
        (struct python_anchor){.address = address, .first = first, .count = count};
    return PSC_OK;
}

/* current_frame of a CFrame; 0 in 3.10, which has none there. */
static bool read_cframe(struct python *python, psc_addr address, struct py_cframe *ret,
                        psc_addr *ret_previous)
{
    ret->address = address;
    ret->current = 0;
    psc_addr at = frame_moved_to(python, address);
    if (!py_is_object_address(address) ||
        py_read_u64(python, at, PY_CFRAME_PREVIOUS, ret_previous) != PSC_OK)
        return false;
    enum psc_status status = py_read_u64(python, at, PY_CFRAME_CURRENT, &ret->current);
    return status == PSC_OK || status == PSC_ERR_UNSUPPORTED;
}

void cframes_deinit(struct py_cframes *cframes)
{
    free(cframes->items);
    *cframes = (struct py_cframes){0};
}

enum psc_status anchors_list_cframes(struct python *python, psc_addr tstate, psc_addr first,
                                     struct py_cframes *ret)
{
    psc_addr root = py_field_address(python, tstate, PY_THREAD_ROOT_CFRAME);
    psc_addr address = first;
    *ret = (struct py_cframes){.root.address = root};
    struct py_cycle cycle = {0};
    while (address) {
        struct py_cframe cframe;
        psc_addr previous;
        if (ret->count >= CFRAME_LIMIT || py_cycle_met(&cycle, address) ||
            !read_cframe(python, address, &cframe, &previous))
            break;
        if (address == root) {
            ret->root = cframe;
            ret->whole = true;
            break;
        }
        void *items = ret->items;
        if (!array_reserve(&items, &ret->capacity, ret->count + 1, sizeof(cframe)))
            return PSC_ERR_MEMORY;
        ret->items = items;
        ret->items[ret->count++] = cframe;
        address = previous;
    }
    ret->end = address;
    return PSC_OK;
}

enum psc_status anchors_from_shims(struct python *python, psc_addr tstate,
                                   struct python_stack *stack)
{
    size_t first = 0;
    psc_addr base = 0;
    stack->anchor_count = 0;
    /* 3.15 ends each chain with a shim in the thread state, not on the C stack. */
    if (py_read_u64(python, tstate, PY_THREAD_BASE_FRAME, &base) != PSC_OK)
        base = 0;
    for (size_t i = 0; i < stack->count; i++) {
        if (stack->frames[i].kind != PYTHON_FRAME_SHIM)
            continue;
        psc_addr address = stack->frames[i].address;
        enum psc_status status =
            address == base ? PSC_OK : add_anchor(stack, address, first, i - first);
        if (status != PSC_OK)
            return status;
        first = i + 1;
    }
    return PSC_OK;
}

/* The frames from a CFrame's current_frame down to the next older CFrame's are its own. */
enum psc_status anchors_from_cframes(const struct py_cframe *cframes, size_t count,
                                     struct python_stack *stack)
{
    size_t at = 0;
    size_t last = SIZE_MAX; /* The newest anchor so far that has frames. */
    stack->anchor_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (cframes[i].current) {
            size_t found = at;
            while (found < stack->count && stack->frames[found].address != cframes[i].current)
                found++;
            if (found == stack->count)
                break;
            if (last != SIZE_MAX)
                stack->anchors[last].count = found - at;
            at = found;
            last = stack->anchor_count;
        }
        enum psc_status status = add_anchor(stack, cframes[i].address, at, 0);
        if (status != PSC_OK)
            return status;
    }
    if (last != SIZE_MAX)
        stack->anchors[last].count = stack->count - at;
    return PSC_OK;
}

enum psc_status anchors_in_order(const struct py_cframe *cframes, size_t count,
                                 struct python_stack *stack)
{
    stack->anchor_count = 0;
    for (size_t i = 0; i < count && i < stack->count; i++) {
        enum psc_status status = add_anchor(stack, cframes[i].address, i, 1);
        if (status != PSC_OK)
            return status;
    }
    return PSC_OK;
}
