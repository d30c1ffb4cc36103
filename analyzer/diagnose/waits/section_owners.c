/* Who keeps threads of a free-threaded interpreter waiting. */
#include "waits_private.h"

static bool has_mutex(const struct wait_facts *facts, psc_addr mutex)
{
    for (size_t i = 0; i < facts->attachment.count; i++)
        if (facts->attachment.mutexes[i] == mutex)
            return true;
    return false;
}

/*
 * Python/critical_section.c: a section has its mutex from when it says so until it gives it back,
 * a few instructions before it is taken from the list. One that sleeps is not in between.
 */
void waits_take_section_owner(struct wait_maker *maker)
{
    const struct waits *waits = maker->waits;
    const struct wait_facts *found = NULL;
    for (size_t i = 0; i < waits->facts.count; i++) {
        const struct wait_facts *facts = hash_table_at(&waits->facts, i);
        if (facts == maker->facts || !has_mutex(facts, maker->facts->python.lock))
            continue;
        if (found)
            return;
        found = facts;
    }
    if (!found)
        return;
    maker->wait.owner_tid = (int32_t)found->tid;
    maker->wait.owner_certain = found->sleeps;
    maker->wait.known_by =
        "the key that the thread is parked on; the owner has it in a critical section";
}

/* Python/pystate.c, stop_the_world(): it waits for all that are attached. */
static void take_attached(struct wait_maker *maker, const struct python_wait *python)
{
    const struct waits *waits = maker->waits;
    const struct wait_facts *found = NULL;
    size_t count = 0;
    for (size_t i = 0; i < waits->facts.count; i++) {
        const struct wait_facts *facts = hash_table_at(&waits->facts, i);
        if (facts == maker->facts || !facts->attachment.attached ||
            (facts->interpreter != maker->facts->interpreter && !python->all_interpreters))
            continue;
        count++;
        // One that runs is going to see that it has to stop.
        if (!found || (facts->sleeps && !found->sleeps))
            found = facts;
    }
    if (!found)
        return;
    maker->wait.owner_tid = (int32_t)found->tid;
    maker->wait.owner_certain = true;
    if (count > 1)
        maker->wait.object =
            arena_printf(maker->trace->arena, "%s, of which %zu do not", python->type, count);
}

void waits_take_world_owner(struct wait_maker *maker, const struct python_wait *python)
{
    struct trace_wait *wait = &maker->wait;
    if (maker->facts->sleeps)
        wait->known_by = "the key that the thread is parked on, which is of a stop of all threads";
    if (python->world == PYTHON_WORLD_STOPS) {
        // It looks each millisecond whether they have; it does not go on by itself.
        wait->timed = wait->has_time_left = false;
        take_attached(maker, python);
        return;
    }
    const struct wait_facts *owner = waits_find_tstate(maker->waits, python->requester);
    if (!owner || owner == maker->facts)
        return;
    wait->owner_tid = (int32_t)owner->tid;
    wait->owner_certain = true;
}
