#include "signal_frame.h"

static const struct signal_frame_machine *const machines[] = {
    &signal_frame_x86_64,
};

static const struct signal_frame_machine *find_machine(const struct target *target)
{
    for (size_t i = 0; i < PSC_ARRAY_SIZE(machines); i++)
        if (machines[i]->elf_machine == target->machine->elf_machine)
            return machines[i];
    return NULL;
}

void signal_frame_take_arguments(const struct target *target,
                                 const struct target_registers *registers, struct signal_frame *ret)
{
    const struct signal_frame_machine *machine = find_machine(target);
    for (size_t i = 0; machine && i < PSC_ARRAY_SIZE(ret->arguments); i++)
        ret->arguments[i] = registers->value[machine->arguments[i]];
}

bool signal_frame_read(struct target *target, psc_addr sp, struct signal_frame *ret)
{
    const struct signal_frame_machine *machine = find_machine(target);
    *ret = (struct signal_frame){0};
    if (!machine || !machine->read(target, sp, ret))
        return false;
    ret->call_size = machine->call_size;
    signal_frame_take_arguments(target, &ret->registers, ret);
    return true;
}
