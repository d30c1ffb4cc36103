/* The lists of all objects that an interpreter's collector tracks. */
#include "objects.h"

#define NAME_OF_LISTS "_PyGC_generation0"

static psc_addr find_lists(struct python *python, psc_addr interpreter, psc_addr *ret_permanent)
{
    struct module_symbol symbol;
    psc_addr state = py_field_address(python, interpreter, PY_INTERP_GC);
    psc_addr lists;
    *ret_permanent = 0;
    if (python->info.free_threaded)
        return 0;
    if (!state && python->info.runtime)
        state = py_field_address(python, python->info.runtime, PY_RUNTIME_GC);
    *ret_permanent = state ? py_field_address(python, state, PY_GC_PERMANENT) : 0;
    if (state)
        return py_field_address(python, state, PY_GC_GENERATIONS);
    /* Up to 3.6 they are static; extension modules need to find the first. */
    return python->info.module &&
                   module_find_symbol_named(python->info.module, NAME_OF_LISTS, &symbol) &&
                   target_read_u64(python->target, symbol.address, &lists) == PSC_OK
               ? lists
               : 0;
}

/* A head links to its first and last object, and these back to it. */
static bool is_list(struct python *python, psc_addr head)
{
    psc_addr next;
    psc_addr last;
    psc_addr back;
    return target_read_u64(python->target, head, &next) == PSC_OK &&
           target_read_u64(python->target, head + PY_GC_PREVIOUS, &last) == PSC_OK &&
           target_read_u64(python->target, (next & ~PY_GC_LINK_FLAGS) + PY_GC_PREVIOUS, &back) ==
               PSC_OK &&
           (back & ~PY_GC_LINK_FLAGS) == head &&
           target_read_u64(python->target, last & ~PY_GC_LINK_FLAGS, &next) == PSC_OK &&
           (next & ~PY_GC_LINK_FLAGS) == head;
}

bool python_is_collector_list(struct python *python, psc_addr head, psc_addr next)
{
    uint64_t header = python->layout.offset[PY_GC_HEAD_SIZE];
    psc_addr type;
    uint64_t flags;
    next &= ~PY_GC_LINK_FLAGS;
    return !python->info.free_threaded && header != PY_NO_OFFSET && next != head &&
           py_is_object_address(next) && is_list(python, head) &&
           py_read_type(python, next + header, &type, &flags) == PSC_OK &&
           py_has_flags(python, type, PY_FLAG_TYPE);
}

struct object_walk {
    struct python *python;
    py_object_visit *visit;
    void *context;
    uint64_t left; /* Objects that may still be visited. */
    bool stopped;  /* By the visitor. */
};

static enum psc_status walk_list(struct object_walk *walk, psc_addr head)
{
    uint64_t header = walk->python->layout.offset[PY_GC_HEAD_SIZE];
    struct py_cycle cycle = {0};
    psc_addr at = head;
    for (;;) {
        enum psc_status status = target_read_u64(walk->python->target, at, &at);
        if (status != PSC_OK)
            return status;
        at &= ~PY_GC_LINK_FLAGS;
        if (at == head)
            return PSC_OK;
        if (!py_is_object_address(at) || py_cycle_met(&cycle, at))
            return PSC_ERR_FAULT;
        if (!walk->left)
            return PSC_ERR_LIMIT;
        walk->left--;
        if (!walk->visit(walk->context, at + header)) {
            walk->stopped = true;
            return PSC_OK;
        }
    }
}

enum psc_status py_each_object(struct python *python, psc_addr interpreter, py_object_visit *visit,
                               void *context)
{
    psc_addr permanent;
    psc_addr lists = find_lists(python, interpreter, &permanent);
    const uint32_t *offset = python->layout.offset;
    struct object_walk walk = {
        .python = python, .visit = visit, .context = context, .left = PY_OBJECT_LIMIT};
    enum psc_status worst = PSC_OK;
    if (!lists || offset[PY_GC_HEAD_SIZE] == PY_NO_OFFSET ||
        offset[PY_GC_GENERATION_SIZE] == PY_NO_OFFSET)
        return PSC_ERR_UNSUPPORTED;
    for (size_t i = 0; !walk.stopped && i < PY_GC_GENERATION_COUNT; i++) {
        psc_addr head = lists + i * (uint64_t)offset[PY_GC_GENERATION_SIZE];
        enum psc_status status = is_list(python, head) ? walk_list(&walk, head) : PSC_ERR_FAULT;
        worst = status == PSC_OK ? worst : status;
    }
    /* What gc.freeze() has set aside. */
    if (!walk.stopped && permanent) {
        enum psc_status status =
            is_list(python, permanent) ? walk_list(&walk, permanent) : PSC_ERR_FAULT;
        worst = status == PSC_OK ? worst : status;
    }
    return worst;
}
