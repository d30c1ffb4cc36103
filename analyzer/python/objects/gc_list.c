/* The lists of all objects that an interpreter's collector tracks. */
#include "objects.h"

#define NAME_OF_LISTS "_PyGC_generation0"

static psc_addr find_lists(struct python *python, psc_addr interpreter)
{
    struct module_symbol symbol;
    psc_addr state = py_field_address(python, interpreter, PY_INTERP_GC);
    psc_addr lists;
    if (python->info.free_threaded)
        return 0;
    if (!state && python->info.runtime)
        state = py_field_address(python, python->info.runtime, PY_RUNTIME_GC);
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

static enum psc_status walk_list(struct python *python, psc_addr head, uint64_t *left,
                                 py_object_visit *visit, void *context, bool *ret_stopped)
{
    uint64_t header = python->layout.offset[PY_GC_HEAD_SIZE];
    struct py_cycle cycle = {0};
    psc_addr at = head;
    for (;;) {
        enum psc_status status = target_read_u64(python->target, at, &at);
        if (status != PSC_OK)
            return status;
        at &= ~PY_GC_LINK_FLAGS;
        if (at == head)
            return PSC_OK;
        if (!py_is_object_address(at) || py_cycle_met(&cycle, at))
            return PSC_ERR_FAULT;
        if (!*left)
            return PSC_ERR_LIMIT;
        --*left;
        if (!visit(context, at + header)) {
            *ret_stopped = true;
            return PSC_OK;
        }
    }
}

enum psc_status py_each_object(struct python *python, psc_addr interpreter, py_object_visit *visit,
                               void *context)
{
    psc_addr lists = find_lists(python, interpreter);
    uint64_t size = python->layout.offset[PY_GC_GENERATION_SIZE];
    uint64_t left = PY_OBJECT_LIMIT;
    bool stopped = false;
    enum psc_status worst = PSC_OK;
    if (!lists || python->layout.offset[PY_GC_HEAD_SIZE] == PY_NO_OFFSET ||
        python->layout.offset[PY_GC_GENERATION_SIZE] == PY_NO_OFFSET)
        return PSC_ERR_UNSUPPORTED;
    /* Behind them come the objects that gc.freeze() has set aside. */
    for (size_t i = 0; !stopped && i <= PY_GC_GENERATION_COUNT; i++) {
        psc_addr head = lists + i * size;
        bool known = is_list(python, head);
        if (!known && i == PY_GC_GENERATION_COUNT)
            break;
        enum psc_status status =
            known ? walk_list(python, head, &left, visit, context, &stopped) : PSC_ERR_FAULT;
        worst = status == PSC_OK ? worst : status;
    }
    return worst;
}
