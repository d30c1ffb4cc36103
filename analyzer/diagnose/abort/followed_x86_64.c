/* x86-64: System V ABI, AMD64 supplement, figure 3.4; Intel SDM, volume 2, 2.1 and "ADD", "MOV". */
#include "followed_machine.h"

#include <elf.h>
#include <string.h>

enum { RAX, RDX, RCX, RBX, RSI, RDI, RBP, RSP, R8, R9, R10, R11, R12, R13, R14, R15 };

#define PREFIX_OPERAND_SIZE 0x66
#define PREFIX_FS           0x64
#define OPCODE_ADD          0x03
#define OPCODE_MOVE         0x8b

/* DWARF's numbers of the machine's own. */
static const uint8_t registers[16] = {RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI,
                                      R8,  R9,  R10, R11, R12, R13, R14, R15};

/* `mov` or `add` of 64 bits, from memory to a register. */
static bool decode_other(const uint8_t *bytes, const struct instruction *instruction,
                         struct operand *to, struct operand *from, bool *ret_adds, bool *ret_thread)
{
    size_t at = 0, size = instruction->size;
    *ret_thread = false;
    for (; at < size && (bytes[at] == PREFIX_OPERAND_SIZE || bytes[at] == PREFIX_FS); at++)
        *ret_thread |= bytes[at] == PREFIX_FS;
    if (at + 3 > size || (bytes[at] & 0xf8) != 0x48 || bytes[at] & 2)
        return false;
    uint8_t rex = bytes[at], opcode = bytes[at + 1], mode = bytes[at + 2];
    at += 3;
    if (opcode != OPCODE_ADD && !(opcode == OPCODE_MOVE && *ret_thread))
        return false;
    *ret_adds = opcode == OPCODE_ADD;
    *to = (struct operand){.kind = OPERAND_REGISTER,
                           .register_number = registers[(mode >> 3 & 7) | (rex & 4) << 1],
                           .width = 8};
    *from = (struct operand){.kind = OPERAND_BASED, .width = 8};
    unsigned kind = mode >> 6, base = mode & 7;
    bool has_sib = base == 4;
    if (has_sib && kind == 0 && at < size && bytes[at] == 0x25) {
        from->kind = OPERAND_ABSOLUTE; /* No base, no index: a number of 32 bits. */
        at++;
    } else if (kind == 0 && base == 5) {
        from->kind = OPERAND_ABSOLUTE; /* From the next instruction on. */
    } else if (has_sib || kind == 3) {
        return false;
    }
    from->register_number = registers[base | (rex & 1) << 3];
    int32_t number = 0;
    if (from->kind == OPERAND_ABSOLUTE || kind == 2) {
        if (at + sizeof(number) != size)
            return false;
        memcpy(&number, bytes + at, sizeof(number));
    } else if (kind == 1) {
        if (at + 1 != size)
            return false;
        number = bytes[at] < 0x80 ? bytes[at] : bytes[at] - 0x100;
    }
    from->number = number;
    if (kind == 0 && base == 5)
        from->number += (int64_t)(instruction->address + size);
    // What is relative to the thread pointer has to be a plain number here.
    return !*ret_thread || (from->kind == OPERAND_ABSOLUTE && has_sib);
}

static const struct followed_machine x86_64 = {
    .elf_machine = EM_X86_64,
    .arguments = {RDI, RSI, RDX, RCX},
    .result = RAX,
    .sp = RSP,
    .frame_pointer = RBP,
    .saved = 1u << RBX | 1u << RBP | 1u << R12 | 1u << R13 | 1u << R14 | 1u << R15,
    .decode_other = decode_other,
};

const struct followed_machine *followed_machine_find(uint16_t elf_machine)
{
    return elf_machine == x86_64.elf_machine ? &x86_64 : NULL;
}
