/* What an instruction of x86-64 does to memory (Intel SDM, volume 2), and its text as gdb has it.
 */
#include "disassembly_private.h"

#include <ctype.h>
#include <string.h>

enum { RCX_NUMBER = 2, RBP_NUMBER = 6, RSP_NUMBER = 7 };

/* ---- kinds ---- */

static enum explained_kind find_kind(csh handle, const cs_insn *from)
{
    switch (from->id) {
    case X86_INS_DIV:
    case X86_INS_IDIV:
        return EXPLAINED_DIVISION;
    case X86_INS_UD0:
    case X86_INS_UD2:
    case X86_INS_UD2B:
        return EXPLAINED_UNDEFINED;
    case X86_INS_INT3:
    case X86_INS_INT1:
        return EXPLAINED_TRAP;
    case X86_INS_SYSCALL:
        return EXPLAINED_SYSTEM_CALL;
    case X86_INS_IN:
    case X86_INS_OUT:
    case X86_INS_INSB:
    case X86_INS_INSD:
    case X86_INS_INSW:
    case X86_INS_OUTSB:
    case X86_INS_OUTSD:
    case X86_INS_OUTSW:
    case X86_INS_INT:
    case X86_INS_CLI:
    case X86_INS_STI:
        return EXPLAINED_PRIVILEGED;
    default:
        break;
    }
    if (cs_insn_group(handle, from, X86_GRP_CALL))
        return EXPLAINED_CALL;
    if (from->id == X86_INS_JMP)
        return EXPLAINED_JUMP;
    if (from->id == X86_INS_RET)
        return EXPLAINED_RETURN;
    return cs_insn_group(handle, from, X86_GRP_PRIVILEGE) ? EXPLAINED_PRIVILEGED : EXPLAINED_PLAIN;
}

/* Their memory operand is an address that nothing is done with. */
static bool only_names_memory(unsigned id)
{
    static const uint16_t names[] = {X86_INS_LEA,        X86_INS_NOP,         X86_INS_PREFETCH,
                                     X86_INS_PREFETCHW,  X86_INS_PREFETCHNTA, X86_INS_PREFETCHT0,
                                     X86_INS_PREFETCHT1, X86_INS_PREFETCHT2,  X86_INS_ENDBR64,
                                     X86_INS_ENDBR32};
    return X86_IS_AMONG(id, names);
}

/* Masked and gathering ones, and those whose memory depends on more than their operands. */
static bool is_opaque(const cs_insn *from)
{
    static const uint16_t opaque[] = {
        X86_INS_ENTER,      X86_INS_IRET,       X86_INS_IRETD,       X86_INS_IRETQ,
        X86_INS_XLATB,      X86_INS_MASKMOVDQU, X86_INS_VMASKMOVDQU, X86_INS_MASKMOVQ,
        X86_INS_VMASKMOVPD, X86_INS_VMASKMOVPS, X86_INS_VPMASKMOVD,  X86_INS_VPMASKMOVQ,
        X86_INS_BT,         X86_INS_BTC,        X86_INS_BTR,         X86_INS_BTS};
    const cs_x86 *x86 = &from->detail->x86;
    bool bits = from->id == X86_INS_BT || from->id == X86_INS_BTC || from->id == X86_INS_BTR ||
                from->id == X86_INS_BTS;
    // A bit's number in a register reaches beyond the operand; a constant one does not.
    if (X86_IS_AMONG(from->id, opaque) &&
        !(bits && x86->op_count == 2 && x86->operands[1].type == X86_OP_IMM))
        return true;
    if (!strncmp(from->mnemonic, "xsave", 5) || !strncmp(from->mnemonic, "xrstor", 6))
        return true;
    for (uint8_t i = 0; i < x86->op_count; i++) {
        const cs_x86_op *operand = &x86->operands[i];
        if (operand->type == X86_OP_REG && operand->reg >= X86_REG_K0 && operand->reg <= X86_REG_K7)
            return true;
        if (operand->type == X86_OP_MEM && operand->mem.index != X86_REG_INVALID &&
            operand->mem.index != X86_REG_RIZ && x86_register_number(operand->mem.index) < 0)
            return true;
    }
    return false;
}

/* ---- memory ---- */

static struct memory_operand *add_memory(struct explained_instruction *ret)
{
    if (ret->memory_count == EXPLAINED_MEMORY_LIMIT) {
        ret->opaque = true;
        return NULL;
    }
    struct memory_operand *memory = &ret->memory[ret->memory_count++];
    *memory = (struct memory_operand){.base = -1, .index = -1, .scale = 1, .counter = -1};
    return memory;
}

static void add_implied(struct explained_instruction *ret, int8_t base, int64_t displacement,
                        uint16_t width, enum memory_access access)
{
    struct memory_operand *memory = add_memory(ret);
    if (!memory)
        return;
    memory->base = base;
    memory->displacement = displacement;
    memory->width = width;
    memory->access = (uint8_t)access;
    memory->implied = true;
}

static uint16_t stack_width(const cs_x86 *x86)
{
    return x86->prefix[2] == X86_PREFIX_OPSIZE ? 2 : 8;
}

static void add_stack(const cs_insn *from, struct explained_instruction *ret)
{
    uint16_t width = stack_width(&from->detail->x86);
    switch (from->id) {
    case X86_INS_PUSH:
    case X86_INS_PUSHF:
    case X86_INS_PUSHFQ:
        add_implied(ret, RSP_NUMBER, -(int64_t)width, width, MEMORY_ACCESS_WRITE);
        return;
    case X86_INS_POP:
    case X86_INS_POPF:
    case X86_INS_POPFQ:
        add_implied(ret, RSP_NUMBER, 0, width, MEMORY_ACCESS_READ);
        return;
    case X86_INS_CALL:
        add_implied(ret, RSP_NUMBER, -8, 8, MEMORY_ACCESS_WRITE);
        return;
    case X86_INS_RET:
        add_implied(ret, RSP_NUMBER, 0, 8, MEMORY_ACCESS_READ);
        return;
    case X86_INS_LEAVE:
        add_implied(ret, RBP_NUMBER, 0, 8, MEMORY_ACCESS_READ);
        return;
    default:
        return;
    }
}

static enum memory_segment find_segment(unsigned segment)
{
    switch (segment) {
    case X86_REG_FS:
        return MEMORY_SEGMENT_THREAD;
    case X86_REG_GS:
        return MEMORY_SEGMENT_OTHER;
    default: // The others begin at 0 in 64-bit mode.
        return MEMORY_SEGMENT_FLAT;
    }
}

static void add_explicit(const cs_insn *from, const cs_x86_op *operand,
                         struct explained_instruction *ret)
{
    const x86_op_mem *mem = &operand->mem;
    struct memory_operand *memory = add_memory(ret);
    if (!memory)
        return;
    memory->base = (int8_t)x86_register_number(mem->base);
    memory->index = (int8_t)x86_register_number(mem->index);
    memory->scale = (uint8_t)mem->scale;
    memory->segment = (uint8_t)find_segment(mem->segment);
    memory->width = operand->size;
    memory->displacement = mem->disp;
    memory->access = (uint8_t)((operand->access & CS_AC_READ ? MEMORY_ACCESS_READ : 0) |
                               (operand->access & CS_AC_WRITE ? MEMORY_ACCESS_WRITE : 0));
    memory->narrow = from->detail->x86.addr_size == 4;
    if (mem->base == X86_REG_RIP)
        memory->displacement = (int64_t)(from->address + from->size + (uint64_t)mem->disp);
    if (from->id == X86_INS_POP && memory->base == RSP_NUMBER)
        memory->displacement += 8; // Its address is taken after the stack pointer has moved.
    if (x86_is_string(from->id) && (from->detail->x86.prefix[0] == X86_PREFIX_REP ||
                                    from->detail->x86.prefix[0] == X86_PREFIX_REPNE)) {
        memory->repeated = true;
        memory->counter = RCX_NUMBER;
    }
}

static bool is_exchange(unsigned id)
{
    return id == X86_INS_CMPXCHG || id == X86_INS_CMPXCHG8B || id == X86_INS_CMPXCHG16B;
}

/*
 * capstone 4 has stores of vectors, of the floating point unit and some others as reads, and
 * `test` as a write. What has vectors in it and names memory first stores there.
 */
static void correct_access(const cs_insn *from, struct memory_operand *memory, bool first)
{
    static const char *const stores[] = {"fst",    "fist",    "fnst",     "fbstp",  "fnsave",
                                         "fxsave", "stmxcsr", "vstmxcsr", "movnti", "movdiri"};
    const cs_x86 *x86 = &from->detail->x86;
    if (from->id == X86_INS_TEST)
        memory->access = MEMORY_ACCESS_READ;
    else if (is_exchange(from->id))
        memory->access = MEMORY_ACCESS_READ | MEMORY_ACCESS_WRITE;
    else if (X86_BEGINS_WITH(from->mnemonic, stores) ||
             (first && x86->op_count >= 2 &&
              (x86_uses_vectors(x86) || !strncmp(from->mnemonic, "movbe", 5))))
        memory->access = MEMORY_ACCESS_WRITE;
}

/* Intel SDM, volume 1, 11.4.4 and 14.9: legacy SSE needs 16 bytes, AVX only where it says so. */
static uint8_t find_alignment(const cs_insn *from, const struct explained_instruction *ret)
{
    static const char *const aligned[] = {"movaps",  "movapd",  "movdqa",
                                          "movntps", "movntpd", "movntdq"};
    static const char *const unaligned[] = {"movup", "movdqu", "lddqu", "pcmpestr", "pcmpistr"};
    const char *name = from->mnemonic;
    bool vector = *name == 'v';
    uint16_t width = ret->memory_count ? ret->memory[0].width : 0;
    if (width != 16 && width != 32 && width != 64)
        return 1;
    if (X86_BEGINS_WITH(name + vector, aligned))
        return (uint8_t)width;
    if (X86_BEGINS_WITH(name, unaligned))
        return 1;
    if (from->id == X86_INS_CMPXCHG16B)
        return 16;
    return !vector && x86_uses_vectors(&from->detail->x86) && width == 16 ? 16 : 1;
}

/* ---- registers ---- */

static void add_register(struct explained_instruction *ret, int number)
{
    for (uint8_t i = 0; i < ret->register_count; i++)
        if (ret->registers[i] == number)
            return;
    if (number >= 0 && ret->register_count < EXPLAINED_REGISTER_LIMIT)
        ret->registers[ret->register_count++] = (uint8_t)number;
}

static void add_registers(const cs_x86 *x86, struct explained_instruction *ret)
{
    for (uint8_t i = 0; i < x86->op_count; i++) {
        if (x86->operands[i].type != X86_OP_MEM)
            continue;
        add_register(ret, x86_register_number(x86->operands[i].mem.base));
        add_register(ret, x86_register_number(x86->operands[i].mem.index));
    }
    for (uint8_t i = 0; i < x86->op_count; i++)
        if (x86->operands[i].type == X86_OP_REG &&
            (x86->operands[i].access & CS_AC_READ || (i && !x86->operands[i].access)))
            add_register(ret, x86_register_number(x86->operands[i].reg));
    ret->named_count = ret->register_count;
    for (uint8_t i = 0; i < ret->memory_count; i++)
        if (ret->memory[i].implied)
            add_register(ret, ret->memory[i].base);
    for (uint8_t i = 0; i < ret->memory_count; i++)
        if (ret->memory[i].repeated)
            add_register(ret, ret->memory[i].counter);
}

void x86_explain(csh handle, const cs_insn *from, struct explained_instruction *ret)
{
    const cs_x86 *x86 = &from->detail->x86;
    ret->kind = (uint8_t)find_kind(handle, from);
    ret->opaque = is_opaque(from);
    ret->uses_vectors = x86_uses_vectors(x86);
    for (uint8_t i = 0; i < x86->op_count && !only_names_memory(from->id); i++) {
        uint8_t count = ret->memory_count;
        if (x86->operands[i].type != X86_OP_MEM)
            continue;
        add_explicit(from, &x86->operands[i], ret);
        if (ret->memory_count > count)
            correct_access(from, &ret->memory[count], i == 0);
    }
    add_stack(from, ret);
    ret->alignment = find_alignment(from, ret);
    add_registers(x86, ret);
    bool has_operand = ret->kind == EXPLAINED_DIVISION || ret->kind == EXPLAINED_CALL ||
                       ret->kind == EXPLAINED_JUMP;
    if (has_operand && x86->op_count && x86->operands[0].type != X86_OP_MEM)
        ret->operand = x86_convert_operand(&x86->operands[0], from->address + from->size);
}
