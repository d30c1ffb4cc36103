#include "code_machine.h"

static const struct code_machine *const machines[] = {&code_x86_64};

const struct code_machine *code_machine_find(uint16_t elf_machine)
{
    for (size_t i = 0; i < PSC_ARRAY_SIZE(machines); i++)
        if (machines[i]->elf_machine == elf_machine)
            return machines[i];
    return NULL;
}
