/* A thread that runs, and waits all the same. */
#include "spins.h"

#include <string.h>

static const struct spin_machine *const machines[] = {&spin_x86_64};

/* Not where it has just got the lock, or tries for the first time. */
static bool is_in_loop(struct target *target, psc_addr pc)
{
    uint8_t byte;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(machines); i++)
        if (machines[i]->elf_machine == target->machine->elf_machine)
            return target_read_u8(target, pc, &byte) == PSC_OK &&
                   memchr(machines[i]->looping, byte, machines[i]->looping_count);
    return false;
}

bool waits_describe_spin(struct wait_maker *maker)
{
    const struct trace_thread *thread = maker->thread;
    const struct wait_facts *facts = maker->facts;
    struct target *target = maker->waits->input.target;
    uint32_t word;
    if (!facts || facts->sleeps || !thread->frame_count ||
        thread->frames[0].location->kind != TRACE_NATIVE)
        return false;
    const char *symbol = thread->frames[0].location->symbol;
    if (!symbol ||
        (strcmp(symbol, "pthread_spin_lock") != 0 && strcmp(symbol, "__pthread_spin_lock") != 0) ||
        !is_in_loop(target, facts->pc))
        return false;
    maker->wait.kind = TRACE_WAIT_SPIN;
    maker->wait.object = "a pthread spin lock";
    maker->wait.known_by = "the loop that it runs in";
    // The function keeps its argument where it got it.
    maker->wait.address = facts->arguments[0];
    maker->wait.has_address = target_read_u32(target, facts->arguments[0], &word) == PSC_OK;
    return true;
}
