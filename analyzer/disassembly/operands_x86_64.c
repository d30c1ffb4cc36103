/* Operands of x86-64 from capstone's names, and which instructions are alike. */
#include "disassembly_private.h"

#include <string.h>

/* System V ABI, AMD64 supplement, figure 3.36: DWARF's numbers. */
enum { RAX, RDX, RCX, RBX, RSI, RDI, RBP, RSP };

const char *const x86_register_names[X86_NAMED_REGISTERS] = {
    "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8",
    "r9",  "r10", "r11", "r12", "r13", "r14", "r15", "rip"};

#define VECTORS 16

#define REGISTER_CASE(number, eight, four, two, one) \
    case X86_REG_##eight:                            \
    case X86_REG_##four:                             \
    case X86_REG_##two:                              \
    case X86_REG_##one:                              \
        return number

int x86_register_number(unsigned name)
{
    switch (name) {
        REGISTER_CASE(RAX, RAX, EAX, AX, AL);
        REGISTER_CASE(RCX, RCX, ECX, CX, CL);
        REGISTER_CASE(RDX, RDX, EDX, DX, DL);
        REGISTER_CASE(RBX, RBX, EBX, BX, BL);
        REGISTER_CASE(RSP, RSP, ESP, SP, SPL);
        REGISTER_CASE(RBP, RBP, EBP, BP, BPL);
        REGISTER_CASE(RSI, RSI, ESI, SI, SIL);
        REGISTER_CASE(RDI, RDI, EDI, DI, DIL);
        REGISTER_CASE(8, R8, R8D, R8W, R8B);
        REGISTER_CASE(9, R9, R9D, R9W, R9B);
        REGISTER_CASE(10, R10, R10D, R10W, R10B);
        REGISTER_CASE(11, R11, R11D, R11W, R11B);
        REGISTER_CASE(12, R12, R12D, R12W, R12B);
        REGISTER_CASE(13, R13, R13D, R13W, R13B);
        REGISTER_CASE(14, R14, R14D, R14W, R14B);
        REGISTER_CASE(15, R15, R15D, R15W, R15B);
    case X86_REG_AH:
        return RAX;
    case X86_REG_CH:
        return RCX;
    case X86_REG_DH:
        return RDX;
    case X86_REG_BH:
        return RBX;
    default:
        return -1;
    }
}

static bool is_high(unsigned name)
{
    return name == X86_REG_AH || name == X86_REG_CH || name == X86_REG_DH || name == X86_REG_BH;
}

int x86_vector_number(unsigned name)
{
    static const unsigned first[] = {X86_REG_XMM0, X86_REG_YMM0, X86_REG_ZMM0};
    for (size_t i = 0; i < PSC_ARRAY_SIZE(first); i++)
        if (name >= first[i] && name < first[i] + VECTORS)
            return (int)(name - first[i]);
    return -1;
}

static struct operand convert_memory(const x86_op_mem *memory, uint64_t next)
{
    struct operand operand = {.kind = OPERAND_SOMEWHERE, .number = memory->disp};
    int base = x86_register_number(memory->base);
    if (memory->segment != X86_REG_INVALID || memory->index != X86_REG_INVALID)
        return operand;
    if (memory->base == X86_REG_RIP) {
        operand.kind = OPERAND_ABSOLUTE;
        operand.number = (int64_t)(next + (uint64_t)memory->disp);
    } else if (memory->base == X86_REG_INVALID) {
        operand.kind = OPERAND_ABSOLUTE;
    } else if (base >= 0) {
        operand.kind = OPERAND_BASED;
        operand.register_number = (uint8_t)base;
    }
    return operand;
}

struct operand x86_convert_operand(const cs_x86_op *from, uint64_t next)
{
    struct operand operand = {.kind = OPERAND_SOMEWHERE};
    if (from->type == X86_OP_REG && x86_register_number(from->reg) >= 0) {
        operand.kind = OPERAND_REGISTER;
        operand.register_number = (uint8_t)x86_register_number(from->reg);
        operand.high = is_high(from->reg);
    } else if (from->type == X86_OP_REG && x86_vector_number(from->reg) >= 0) {
        operand.kind = OPERAND_VECTOR;
        operand.register_number = (uint8_t)x86_vector_number(from->reg);
    } else if (from->type == X86_OP_IMM) {
        operand.kind = OPERAND_IMMEDIATE;
        operand.number = from->imm;
    } else if (from->type == X86_OP_MEM) {
        operand = convert_memory(&from->mem, next);
    }
    operand.width = from->size;
    return operand;
}

/* ---- kinds ---- */

bool x86_is_among(unsigned id, const uint16_t *ids, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (ids[i] == id)
            return true;
    return false;
}

bool x86_begins_with(const char *name, const char *const *beginnings, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!strncmp(name, beginnings[i], strlen(beginnings[i])))
            return true;
    return false;
}

bool x86_is_string(unsigned id)
{
    static const uint16_t strings[] = {X86_INS_MOVSB, X86_INS_MOVSW, X86_INS_MOVSD, X86_INS_MOVSQ,
                                       X86_INS_STOSB, X86_INS_STOSW, X86_INS_STOSD, X86_INS_STOSQ,
                                       X86_INS_LODSB, X86_INS_LODSW, X86_INS_LODSD, X86_INS_LODSQ,
                                       X86_INS_SCASB, X86_INS_SCASW, X86_INS_SCASD, X86_INS_SCASQ,
                                       X86_INS_CMPSB, X86_INS_CMPSW, X86_INS_CMPSD, X86_INS_CMPSQ};
    return X86_IS_AMONG(id, strings);
}

bool x86_uses_vectors(const cs_x86 *x86)
{
    for (uint8_t i = 0; i < x86->op_count; i++) {
        unsigned name = x86->operands[i].reg;
        if (x86->operands[i].type == X86_OP_REG &&
            ((name >= X86_REG_XMM0 && name <= X86_REG_ZMM31) ||
             (name >= X86_REG_MM0 && name <= X86_REG_MM7)))
            return true;
    }
    return false;
}
