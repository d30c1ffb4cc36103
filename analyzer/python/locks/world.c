/* What threads of a free-threaded interpreter keep each other from: stops of all, and sections. */
#include "locks.h"

#include <stdlib.h>

/** struct _stoptheworld_state, while threads are stopped or get stopped. */
struct world {
    psc_addr requester; /**< A thread state; 0: none. */
    bool global;
    bool stopped; /**< All are. */
};

/*
 * With no more than a request to go by it is checked as a whole: locked, nothing but truth values,
 * and a count of threads that can be.
 */
static bool take_world(const uint8_t *bytes, struct world *ret)
{
    ret->requester = load_u64(bytes + PY_WORLD_REQUESTER);
    ret->global = bytes[PY_WORLD_GLOBAL] == 1;
    ret->stopped = bytes[PY_WORLD_STOPPED] == 1;
    return (bytes[PY_WORLD_MUTEX] & 1) && bytes[PY_WORLD_MUTEX] <= 3 &&
           bytes[PY_WORLD_REQUESTED] == 1 && bytes[PY_WORLD_STOPPED] <= 1 &&
           bytes[PY_WORLD_GLOBAL] <= 1 && bytes[PY_WORLD_EVENT] <= 2 &&
           load_u64(bytes + PY_WORLD_COUNT) < PY_WORLD_THREADS;
}

/* That the requester is a thread state, of that interpreter where all of one are stopped. */
static bool is_requested(struct python *python, psc_addr interpreter, const struct world *world)
{
    psc_addr own;
    return world->requester && world->requester % 8 == 0 &&
           py_read_u64(python, world->requester, PY_THREAD_INTERP, &own) == PSC_OK && own &&
           (world->global || own == interpreter);
}

static bool read_world(struct python *python, psc_addr interpreter, psc_addr address,
                       struct world *ret)
{
    uint8_t bytes[PY_WORLD_SIZE];
    return address % 8 == 0 &&
           target_read(python->target, address, bytes, sizeof(bytes)) == PSC_OK &&
           take_world(bytes, ret) && is_requested(python, interpreter, ret);
}

/* Where it lies in the runtime and in interpreters is no offset that these tell. */
static bool search_world(struct python *python, psc_addr interpreter, bool global,
                         struct world *ret)
{
    psc_addr start = global ? python->info.runtime : interpreter;
    uint8_t *bytes = start ? malloc(PY_WORLD_REACH) : NULL;
    bool found = false;
    size_t size = bytes ? target_read_some(python->target, start, bytes, PY_WORLD_REACH) : 0;
    for (size_t i = 0; !found && i + PY_WORLD_SIZE <= size; i += 8)
        found = take_world(bytes + i, ret) && ret->global == global &&
                is_requested(python, interpreter, ret);
    free(bytes);
    return found;
}

static void describe(enum python_world_part part, const struct world *world,
                     struct python_wait *ret)
{
    ret->kind = PYTHON_WAIT_WORLD;
    ret->world = part;
    ret->type = part == PYTHON_WORLD_STOPS ? "the other threads to stop"
                                           : "the end of a stop of all threads";
    ret->requester = world->requester;
    ret->all_interpreters = world->global;
}

bool locks_find_world(struct python *python, const struct python_wait_place *place, psc_addr key,
                      struct python_wait *ret)
{
    struct world world = {0};
    uint32_t state = python->layout.offset[PY_THREAD_ATTACHMENT];
    if (!python->info.free_threaded || !place->tstate || state == PY_NO_OFFSET)
        return false;
    if (key == place->tstate + state) {
        if (!search_world(python, place->interpreter, false, &world) &&
            !search_world(python, place->interpreter, true, &world))
            world = (struct world){0};
        describe(PYTHON_WORLD_STOPPED, &world, ret);
        return true;
    }
    if (!read_world(python, place->interpreter, key - PY_WORLD_EVENT, &world) ||
        world.requester != place->tstate)
        return false;
    describe(PYTHON_WORLD_STOPS, &world, ret);
    return true;
}

bool python_find_stop(struct python *python, psc_addr interpreter, struct python_wait *ret)
{
    struct world world;
    *ret = (struct python_wait){.kind = PYTHON_WAIT_NONE};
    if (!python->info.free_threaded ||
        (!search_world(python, interpreter, false, &world) &&
         !search_world(python, interpreter, true, &world)) ||
        world.stopped)
        return false;
    describe(PYTHON_WORLD_STOPS, &world, ret);
    ret->known_by = "the interpreter's note of who stops all threads";
    return true;
}

/* Python/critical_section.c: above one that is suspended all are. */
static void list_sections(struct python *python, psc_addr tag, struct python_attachment *ret)
{
    for (size_t i = 0; i < PYTHON_SECTION_LIMIT && tag && !(tag & PY_SECTION_INACTIVE); i++) {
        uint64_t words[PY_SECTION_WORDS] = {0};
        size_t count = tag & PY_SECTION_TWO ? PY_SECTION_WORDS : PY_SECTION_WORDS - 1;
        if (target_read(python->target, tag & ~(psc_addr)PY_SECTION_MASK, words, 8 * count) !=
            PSC_OK)
            return;
        for (size_t k = PY_SECTION_MUTEX; k < count; k++)
            if (words[k] && ret->count < PYTHON_SECTION_LIMIT)
                ret->mutexes[ret->count++] = words[k];
        tag = words[PY_SECTION_BEFORE];
    }
}

bool python_read_attachment(struct python *python, psc_addr tstate, struct python_attachment *ret)
{
    uint64_t sections;
    uint32_t state;
    *ret = (struct python_attachment){0};
    if (!python->info.free_threaded || !tstate ||
        python->layout.offset[PY_THREAD_ATTACHMENT] == PY_NO_OFFSET ||
        target_read_u32(python->target, tstate + python->layout.offset[PY_THREAD_ATTACHMENT],
                        &state) != PSC_OK ||
        py_read_u64(python, tstate, PY_THREAD_SECTIONS, &sections) != PSC_OK)
        return false;
    ret->attached = state == PY_STATE_ATTACHED;
    list_sections(python, sections, ret);
    return true;
}
