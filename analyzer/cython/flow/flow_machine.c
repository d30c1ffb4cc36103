#include "flow_machine.h"

static const struct flow_machine *const machines[] = {&flow_x86_64};

const struct flow_machine *flow_machine_find(uint16_t elf_machine)
{
    for (size_t i = 0; i < PSC_ARRAY_SIZE(machines); i++)
        if (machines[i]->elf_machine == elf_machine)
            return machines[i];
    return NULL;
}
