/* Greenlets on the C stack of a thread, outside of the one that it runs. */
#include "greenlets.h"

#include <string.h>

/* Bytes of the C stack in which the greenlet that runs is looked for. */
#define SEARCH_LIMIT ((uint64_t)64 * 1024)
#define CHAIN_LIMIT  1024u
#define TYPE_COUNT   64u

struct greenlet_search {
    struct python *python;
    struct greenlet_module module;
    psc_addr low; /* Of the C stack. */
    psc_addr high;
    struct {
        psc_addr type;
        bool greenlet;
    } known[TYPE_COUNT];
};

static bool has_module_loaded(const struct python *python)
{
    size_t count = modules_count(python->modules);
    for (size_t i = 0; i < count; i++) {
        const char *name = modules_get(python->modules, i)->name;
        if (!strncmp(name, "_greenlet.", strlen("_greenlet.")) ||
            !strncmp(name, "greenlet.", strlen("greenlet.")))
            return true;
    }
    return false;
}

static bool is_greenlet(struct greenlet_search *search, psc_addr object)
{
    psc_addr type;
    if (!py_is_object_address(object) || (object >= search->low && object < search->high) ||
        py_read_u64(search->python, object, PY_OBJECT_TYPE, &type) != PSC_OK ||
        !py_is_object_address(type))
        return false;
    size_t at = hash_u64(type) % TYPE_COUNT;
    if (search->known[at].type != type) {
        search->known[at].type = type;
        search->known[at].greenlet = greenlet_is_type(search->python, &search->module, type);
    }
    return search->known[at].greenlet;
}

/* A word is a greenlet, or from 3.1 on the C++ object that points to one. */
static bool find_state(struct greenlet_search *search, psc_addr word, psc_addr *ret)
{
    const struct greenlet_module *module = &search->module;
    struct python *python = search->python;
    psc_addr object;
    psc_addr head;
    if (is_greenlet(search, word))
        return greenlet_find_state(python, module, word, ret);
    if (module->has_struct || !py_is_object_address(word) ||
        (word >= search->low && word < search->high) ||
        target_read_u64(python->target, word + module->layout.own_pointer, &object) != PSC_OK ||
        !is_greenlet(search, object))
        return false;
    head = object + python->layout.offset[PY_OBJECT_SIZE] + module->layout.pointer;
    return target_read_u64(python->target, head, &head) == PSC_OK && head == word &&
           greenlet_find_state(python, module, object, ret);
}

static bool is_in(const struct greenlet_search *search, psc_addr address)
{
    return address > search->low && address < search->high;
}

/* Whether a greenlet was switched from, and the rest of its C stack is where it was. */
static bool is_in_place(const struct greenlet_search *search, const struct greenlet_state *state)
{
    psc_addr rest = state->stack_start + state->moved.size;
    return state->top && is_in(search, state->stack_start) && is_in(search, rest) &&
           rest < state->stack_stop;
}

/*
 * The greenlet that a thread runs has a C stack which begins on that of the thread, and no newest
 * frame. It is among what its own C functions and those that switched to it have at hand; or else
 * one is that it was started from: as much of that one's C stack is moved as the other one takes.
 */
static bool find_running(struct greenlet_search *search, struct greenlet_state *ret)
{
    struct python *python = search->python;
    psc_addr word;
    psc_addr at;
    struct greenlet_state found;
    *ret = (struct greenlet_state){.stack_stop = UINT64_MAX};
    for (psc_addr place = search->low; place < search->high && place - search->low < SEARCH_LIMIT &&
                                       target_read_u64(python->target, place, &word) == PSC_OK;
         place += 8) {
        if (!find_state(search, word, &at) ||
            !greenlet_read_state(python, &search->module, at, &found))
            continue;
        if (!found.top && found.stack_start && is_in(search, found.stack_stop)) {
            *ret = found;
            return true;
        }
        psc_addr rest = found.stack_start + found.moved.size;
        if (is_in_place(search, &found) && found.moved.size && rest < ret->stack_stop)
            *ret = (struct greenlet_state){.stack_stop = rest, .previous = at};
    }
    return ret->previous != 0;
}

static enum psc_status add_seam(struct python *python, psc_addr address,
                                const struct py_moved *moved, struct python_stack *stack)
{
    void *seams = stack->seams;
    if (!array_reserve(&seams, &stack->seam_capacity, stack->seam_count + 1, sizeof(*stack->seams)))
        return PSC_ERR_MEMORY;
    stack->seams = seams;
    struct python_seam *seam = &stack->seams[stack->seam_count++];
    *seam = (struct python_seam){.first = stack->count, .address = address};
    uint64_t below = (address & ~(psc_addr)7) - moved->start;
    if (below > moved->size)
        return PSC_OK;
    seam->below = moved->start;
    size_t count = below / 8 < PYTHON_SEAM_WORDS ? (size_t)(below / 8) : PYTHON_SEAM_WORDS;
    if (count && target_read(python->target, moved->copy + below - 8 * count, seam->words,
                             8 * count) == PSC_OK)
        seam->word_count = count;
    return PSC_OK;
}

static enum psc_status add_chain(struct greenlet_search *search, const struct python_thread *thread,
                                 const struct greenlet_state *running, struct python_stack *stack)
{
    struct python *python = search->python;
    struct greenlet_state inner = *running;
    struct greenlet_state state;
    enum psc_status status = PSC_OK;
    for (size_t i = 0; status == PSC_OK && inner.previous && i < CHAIN_LIMIT; i++) {
        if (!greenlet_read_state(python, &search->module, inner.previous, &state) ||
            !is_in_place(search, &state) || state.stack_stop <= inner.stack_stop ||
            stack->end != PYTHON_END_COMPLETE)
            break;
        const struct py_suspended suspended = {state.top, state.cframe, state.moved};
        status = add_seam(python, inner.stack_stop, &state.moved, stack);
        if (status == PSC_OK)
            status = chain_append(python, thread->tstate, &suspended, stack);
        inner = state;
    }
    return status;
}

enum psc_status python_add_greenlets(struct python *python, const struct python_thread *thread,
                                     psc_addr sp, struct python_stack *ret)
{
    struct greenlet_search search = {.python = python, .low = (sp + 7) & ~(psc_addr)7};
    struct greenlet_state running;
    const struct target_mapping *mapping = sp ? target_find_mapping(python->target, sp) : NULL;
    if (!mapping || ret->end != PYTHON_END_COMPLETE || !has_module_loaded(python) ||
        !greenlet_find_module(python, thread->interpreter, &search.module))
        return PSC_OK;
    search.high = mapping->end;
    return find_running(&search, &running) ? add_chain(&search, thread, &running, ret) : PSC_OK;
}
