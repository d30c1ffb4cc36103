#include "disassembler.h"

#include <stdlib.h>

static const struct decoded_machine *const machines[] = {
    &decoded_x86_64,
};

enum psc_status disassembler_open(uint16_t machine, struct disassembler **ret)
{
    const struct decoded_machine *known = NULL;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(machines) && !known; i++)
        known = machines[i]->machine == machine ? machines[i] : NULL;
    if (!known)
        return PSC_ERR_UNSUPPORTED;
    struct disassembler *disassembler = calloc(1, sizeof(*disassembler));
    if (!disassembler)
        return PSC_ERR_MEMORY;
    disassembler->machine = known;
    cs_err status = cs_open(known->arch, known->mode, &disassembler->handle);
    if (status != CS_ERR_OK) {
        free(disassembler);
        return status == CS_ERR_MEM ? PSC_ERR_MEMORY : PSC_ERR_UNSUPPORTED;
    }
    if (cs_option(disassembler->handle, CS_OPT_DETAIL, CS_OPT_ON) == CS_ERR_OK)
        disassembler->scratch = cs_malloc(disassembler->handle);
    if (!disassembler->scratch) {
        disassembler_close(disassembler);
        return PSC_ERR_MEMORY;
    }
    *ret = disassembler;
    return PSC_OK;
}

void disassembler_close(struct disassembler *disassembler)
{
    if (!disassembler)
        return;
    if (disassembler->scratch)
        cs_free(disassembler->scratch, 1);
    cs_close(&disassembler->handle);
    free(disassembler);
}

bool disassembler_decode_any(struct disassembler *disassembler, const uint8_t *bytes, size_t size,
                             uint64_t address, struct instruction *ret)
{
    uint64_t at = address;
    *ret = (struct instruction){.address = address};
    if (!cs_disasm_iter(disassembler->handle, &bytes, &size, &at, disassembler->scratch))
        return false;
    ret->size = (uint8_t)disassembler->scratch->size;
    disassembler->machine->convert(disassembler->handle, disassembler->scratch, ret);
    return true;
}

bool disassembler_decode(struct disassembler *disassembler, const uint8_t *bytes, size_t size,
                         uint64_t address, struct instruction *ret)
{
    *ret = (struct instruction){.address = address};
    return disassembler->machine->decode_common(bytes, size, ret) ||
           disassembler_decode_any(disassembler, bytes, size, address, ret);
}
