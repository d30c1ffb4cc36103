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

/* ---- where a list is broken, for a death in the collector ---- */

/* Objects that are looked at: 0.1 s of time. */
#define LOOK_LIMIT (UINT64_C(1) << 20)
/* Below this a previous link may be a count (Python/gc.c, update_refs()). */
#define COUNT_MOST (UINT64_C(1) << 40)

struct broken_search {
    struct python *python;
    psc_addr before; /* The object that was visited last. */
    uint64_t left;
    struct python_broken_object *found;
};

static bool has_type(struct python *python, psc_addr object)
{
    psc_addr type;
    uint64_t flags;
    return py_read_type(python, object, &type, &flags) == PSC_OK;
}

static void take_object(struct broken_search *search, psc_addr object, uint64_t link)
{
    struct python_object_facts facts;
    struct python_broken_object *found = search->found;
    *found = (struct python_broken_object){.object = object, .link = link};
    if (target_read_u64(search->python->target, object + sizeof(uint64_t), &found->type) != PSC_OK)
        found->type = 0;
    if (python_read_object_facts(search->python, object, &facts))
        found->type_name = facts.type_name;
}

/* False: it is found, or enough. */
static bool look_at(void *context, psc_addr object)
{
    struct broken_search *search = context;
    struct target *target = search->python->target;
    const uint64_t header = search->python->layout.offset[PY_GC_HEAD_SIZE];
    psc_addr back = 0;
    if (!search->left--)
        return false;
    // Whether this is an object is told by who leads here.
    if (target_read_u64(target, object - header + PY_GC_PREVIOUS, &back) != PSC_OK)
        return false;
    back &= ~PY_GC_LINK_FLAGS;
    if (search->before && back >= COUNT_MOST && back != search->before - header) {
        if (has_type(search->python, object) && !target_find_mapping(target, back))
            take_object(search, object, back);
        else
            take_object(search, search->before, object - header);
        return false;
    }
    if (!has_type(search->python, object)) {
        take_object(search, object, 0);
        return false;
    }
    search->before = object;
    return true;
}

static void follow(struct broken_search *search, psc_addr head)
{
    struct target *target = search->python->target;
    const uint64_t header = search->python->layout.offset[PY_GC_HEAD_SIZE];
    psc_addr next;
    search->before = 0;
    for (psc_addr at = head; target_read_u64(target, at, &next) == PSC_OK; at = next) {
        next &= ~PY_GC_LINK_FLAGS;
        if (next == head)
            return;
        psc_addr unused;
        if (!py_is_object_address(next) || target_read_u64(target, next, &unused) != PSC_OK) {
            if (search->before && !target_find_mapping(target, next))
                take_object(search, search->before, next);
            return;
        }
        if (!look_at(search, next + header))
            return;
    }
}

bool python_find_broken_object(struct python *python, psc_addr interpreter,
                               struct python_broken_object *ret)
{
    const uint32_t *offset = python->layout.offset;
    struct broken_search search = {.python = python, .left = LOOK_LIMIT, .found = ret};
    psc_addr permanent;
    const psc_addr lists = find_lists(python, interpreter, &permanent);
    *ret = (struct python_broken_object){0};
    if (!lists || offset[PY_GC_HEAD_SIZE] == PY_NO_OFFSET ||
        offset[PY_GC_GENERATION_SIZE] == PY_NO_OFFSET)
        return false;
    for (size_t i = 0; i < PY_GC_GENERATION_COUNT && !ret->object && search.left; i++)
        follow(&search, lists + i * (uint64_t)offset[PY_GC_GENERATION_SIZE]);
    return ret->object != 0;
}
