#include "target_private.h"

#include <string.h>

static const struct target_machine *const machines[] = {
    &target_x86_64,
};

const struct target_machine *target_machine_find(uint16_t elf_machine)
{
    for (size_t i = 0; i < PSC_ARRAY_SIZE(machines); i++)
        if (machines[i]->elf_machine == elf_machine)
            return machines[i];
    return NULL;
}

const struct target_machine *target_machine_here(void)
{
    return &target_x86_64;
}

const char *target_machine_titles(void)
{
    return "x86-64";
}

void parse_user_registers(const struct target_machine *machine, const uint8_t *bytes,
                          struct target_registers *ret, psc_addr *ret_thread_pointer)
{
    for (size_t i = 0; i < machine->register_count; i++)
        ret->value[i] = load_u64(bytes + 8 * (size_t)machine->user_index[i]);
    /* -1 when the kernel was entered by anything else than a system call. */
    uint64_t call = load_u64(bytes + 8 * (size_t)machine->user_system_call);
    ret->in_system_call = call < UINT32_MAX;
    ret->system_call = ret->in_system_call ? (uint32_t)call : 0;
    *ret_thread_pointer = load_u64(bytes + 8 * (size_t)machine->user_thread_pointer);
}

void store_thread_pointer(const struct target_machine *machine, psc_addr thread_pointer,
                          uint8_t *bytes)
{
    memcpy(bytes + 8 * (size_t)machine->user_thread_pointer, &thread_pointer,
           sizeof(thread_pointer));
}

/*
 * What the kernel leaves in the place of a result that is not there yet (include/linux/errno.h:
 * ERESTARTSYS, ERESTARTNOINTR, ERESTARTNOHAND, ERESTART_RESTARTBLOCK), and EINTR of calls that are
 * not begun again.
 */
static bool is_pending(int64_t result)
{
    return (result <= -512 && result >= -514) || result == -516 || result == -4;
}

bool target_find_waiting_call(struct target *target, const struct target_registers *registers,
                              uint32_t *ret)
{
    const struct target_machine *machine = target->machine;
    if (!registers->in_system_call || !is_pending((int64_t)registers->value[machine->call_result]))
        return false;
    *ret = registers->system_call;
    // Begun again after a stop: the code tells what it was.
    if (*ret == machine->restart_call)
        (void)machine->find_call_before(target, registers->value[machine->pc], ret);
    return true;
}
