#include "code_abi.h"

static const struct code_abi *const abis[] = {&abi_x86_64};

const struct code_abi *code_abi_find(uint16_t elf_machine)
{
    for (size_t i = 0; i < PSC_ARRAY_SIZE(abis); i++)
        if (abis[i]->elf_machine == elf_machine)
            return abis[i];
    return NULL;
}
