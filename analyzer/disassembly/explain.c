/* One instruction, for a person: what it does to memory, and its text. */
#include "disassembler.h"

#include <string.h>

/* gdb's syntax needs a handle of its own: there the operands stand in another order. */
static bool write_text(const struct disassembler *disassembler, const uint8_t *bytes, size_t size,
                       uint64_t address, struct explained_instruction *ret)
{
    csh handle;
    cs_insn *syntax = NULL;
    const struct decoded_machine *machine = disassembler->machine;
    if (cs_open(machine->arch, machine->mode, &handle) != CS_ERR_OK)
        return false;
    size_t count = 0;
    if (cs_option(handle, CS_OPT_SYNTAX, CS_OPT_SYNTAX_ATT) == CS_ERR_OK)
        count = cs_disasm(handle, bytes, size, address, 1, &syntax);
    if (count)
        machine->write(disassembler->scratch, syntax, ret->text, sizeof(ret->text));
    cs_free(syntax, count);
    cs_close(&handle);
    return count != 0;
}

bool disassembler_explain(struct disassembler *disassembler, const uint8_t *bytes, size_t size,
                          uint64_t address, struct explained_instruction *ret)
{
    const uint8_t *rest = bytes;
    size_t left = size;
    uint64_t at = address;
    *ret = (struct explained_instruction){.alignment = 1};
    if (!cs_disasm_iter(disassembler->handle, &rest, &left, &at, disassembler->scratch))
        return disassembler->machine->explain_unknown(bytes, size, ret);
    ret->size = (uint8_t)disassembler->scratch->size;
    disassembler->machine->explain(disassembler->handle, disassembler->scratch, ret);
    return write_text(disassembler, bytes, size, address, ret);
}

const char *disassembler_register_name(const struct disassembler *disassembler, unsigned number)
{
    const struct decoded_machine *machine = disassembler->machine;
    return number < machine->register_count ? machine->register_names[number] : NULL;
}
