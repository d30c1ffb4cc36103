/* x86-64's instructions from capstone's names. */
#include "disassembly_private.h"

#include <elf.h>

/* System V ABI, AMD64 supplement, figure 3.36: DWARF's numbers. */
enum { RAX, RDX, RCX, RBX, RSI, RDI, RBP, RSP };

/* ---- verbs ---- */

static bool find_condition(unsigned id, enum instruction_verb *ret_verb, uint8_t *ret_condition)
{
    static const struct {
        unsigned jump, set, move;
    } conditions[16] = {
        {X86_INS_JO, X86_INS_SETO, X86_INS_CMOVO},    {X86_INS_JNO, X86_INS_SETNO, X86_INS_CMOVNO},
        {X86_INS_JB, X86_INS_SETB, X86_INS_CMOVB},    {X86_INS_JAE, X86_INS_SETAE, X86_INS_CMOVAE},
        {X86_INS_JE, X86_INS_SETE, X86_INS_CMOVE},    {X86_INS_JNE, X86_INS_SETNE, X86_INS_CMOVNE},
        {X86_INS_JBE, X86_INS_SETBE, X86_INS_CMOVBE}, {X86_INS_JA, X86_INS_SETA, X86_INS_CMOVA},
        {X86_INS_JS, X86_INS_SETS, X86_INS_CMOVS},    {X86_INS_JNS, X86_INS_SETNS, X86_INS_CMOVNS},
        {X86_INS_JP, X86_INS_SETP, X86_INS_CMOVP},    {X86_INS_JNP, X86_INS_SETNP, X86_INS_CMOVNP},
        {X86_INS_JL, X86_INS_SETL, X86_INS_CMOVL},    {X86_INS_JGE, X86_INS_SETGE, X86_INS_CMOVGE},
        {X86_INS_JLE, X86_INS_SETLE, X86_INS_CMOVLE}, {X86_INS_JG, X86_INS_SETG, X86_INS_CMOVG},
    };
    for (size_t i = 0; i < PSC_ARRAY_SIZE(conditions); i++) {
        if (id == conditions[i].jump)
            *ret_verb = INSTRUCTION_BRANCH;
        else if (id == conditions[i].set)
            *ret_verb = INSTRUCTION_SET;
        else if (id == conditions[i].move)
            *ret_verb = INSTRUCTION_CONDITIONAL_MOVE;
        else
            continue;
        *ret_condition = (uint8_t)i;
        return true;
    }
    return false;
}

static enum instruction_verb find_verb(unsigned id, uint8_t *ret_condition)
{
    enum instruction_verb verb;
    switch (id) {
    case X86_INS_NOP:
        return INSTRUCTION_NOP;
    case X86_INS_ENDBR64:
    case X86_INS_PREFETCHT0:
    case X86_INS_PAUSE:
        return INSTRUCTION_HINT;
    case X86_INS_MOV:
    case X86_INS_MOVABS:
    case X86_INS_MOVZX:
        return INSTRUCTION_MOVE;
    case X86_INS_MOVSX:
    case X86_INS_MOVSXD:
    case X86_INS_CDQE:
        return INSTRUCTION_MOVE_SIGNED;
    case X86_INS_LEA:
        return INSTRUCTION_ADDRESS;
    case X86_INS_ADD:
    case X86_INS_SUB:
    case X86_INS_INC:
    case X86_INS_DEC:
        return INSTRUCTION_ADD;
    case X86_INS_SHR:
        return INSTRUCTION_SHIFT_RIGHT;
    case X86_INS_AND:
        return INSTRUCTION_AND;
    case X86_INS_XOR:
        return INSTRUCTION_XOR;
    case X86_INS_CMP:
        return INSTRUCTION_COMPARE;
    case X86_INS_TEST:
        return INSTRUCTION_TEST;
    case X86_INS_CALL:
        return INSTRUCTION_CALL;
    case X86_INS_JMP:
        return INSTRUCTION_JUMP;
    case X86_INS_RET:
        return INSTRUCTION_RETURN;
    case X86_INS_UD2:
    case X86_INS_HLT:
    case X86_INS_INT3:
    case X86_INS_LJMP:
        return INSTRUCTION_STOP;
    case X86_INS_PUSH:
        return INSTRUCTION_PUSH;
    case X86_INS_POP:
        return INSTRUCTION_POP;
    case X86_INS_LEAVE:
        return INSTRUCTION_LEAVE;
    default:
        return find_condition(id, &verb, ret_condition) ? verb : INSTRUCTION_OTHER;
    }
}

/** Flags are left alone by moves between registers and memory. */
static bool changes_flags(const cs_insn *from)
{
    const uint64_t changed = X86_EFLAGS_MODIFY_ZF | X86_EFLAGS_RESET_ZF | X86_EFLAGS_SET_ZF |
                             X86_EFLAGS_UNDEFINED_ZF | X86_EFLAGS_MODIFY_CF | X86_EFLAGS_RESET_CF |
                             X86_EFLAGS_SET_CF | X86_EFLAGS_MODIFY_SF;
    return (from->detail->x86.eflags & changed) != 0;
}

static void find_written(csh handle, const cs_insn *from, struct instruction *ret)
{
    cs_regs read, written;
    uint8_t read_count = 0, written_count = 0;
    if (cs_regs_access(handle, from, read, &read_count, written, &written_count) != CS_ERR_OK) {
        ret->written = ret->written_vectors = UINT32_MAX;
        return;
    }
    for (uint8_t i = 0; i < written_count; i++) {
        int number = x86_register_number(written[i]), vector = x86_vector_number(written[i]);
        if (number >= 0)
            ret->written |= (uint32_t)(1u << number);
        if (vector >= 0)
            ret->written_vectors |= (uint32_t)(1u << vector);
    }
}

/** What goes on somewhere else, but not by the flags. */
static bool is_other_branch(unsigned id)
{
    static const unsigned branches[] = {X86_INS_JCXZ, X86_INS_JECXZ, X86_INS_JRCXZ,
                                        X86_INS_LOOP, X86_INS_LOOPE, X86_INS_LOOPNE};
    for (size_t i = 0; i < PSC_ARRAY_SIZE(branches); i++)
        if (branches[i] == id)
            return true;
    return false;
}

/** Everything that is not followed: what it writes is not known any more. */
static void make_other(csh handle, const cs_insn *from, struct instruction *ret)
{
    const cs_x86 *x86 = &from->detail->x86;
    uint64_t next = ret->address + ret->size;
    ret->verb = INSTRUCTION_OTHER;
    ret->from = ret->to = (struct operand){0};
    if (is_other_branch(from->id))
        ret->from = x86_convert_operand(&x86->operands[0], next);
    ret->change = changes_flags(from);
    find_written(handle, from, ret);
    if (x86->op_count && x86->operands[0].type == X86_OP_REG &&
        x86_vector_number(x86->operands[0].reg) >= 0)
        ret->written_vectors |= (uint32_t)(1u << x86_vector_number(x86->operands[0].reg));
    for (uint8_t i = 0; i < x86->op_count; i++) {
        const cs_x86_op *operand = &x86->operands[i];
        if (operand->type == X86_OP_MEM && (i == 0 || operand->access & CS_AC_WRITE)) {
            ret->to = x86_convert_operand(operand, next);
            return;
        }
    }
}

/** `add r, 5`, `sub r, 5`, `inc r`: one constant to add. */
static bool make_add(unsigned id, const cs_x86 *x86, struct instruction *ret)
{
    bool down = id == X86_INS_SUB || id == X86_INS_DEC;
    ret->change = 1;
    if (id == X86_INS_INC || id == X86_INS_DEC)
        ret->from = (struct operand){.kind = OPERAND_IMMEDIATE, .number = 1};
    else if (x86->op_count != 2 || ret->from.kind != OPERAND_IMMEDIATE)
        return false;
    if (down)
        ret->from.number = (int64_t)(0 - (uint64_t)ret->from.number);
    return true;
}

/** Takes a zeroing `xor r, r` as a move of 0. */
static bool make_zero(const cs_x86 *x86, struct instruction *ret)
{
    const cs_x86_op *operands = x86->operands;
    if (x86->op_count != 2 || operands[0].type != X86_OP_REG || operands[1].type != X86_OP_REG ||
        operands[0].reg != operands[1].reg || ret->to.kind != OPERAND_REGISTER)
        return false;
    ret->verb = INSTRUCTION_MOVE;
    ret->change = 1;
    ret->from = (struct operand){.kind = OPERAND_IMMEDIATE, .width = ret->to.width};
    return true;
}

/** `cltq`: %eax to %rax. */
static void make_extension(struct instruction *ret)
{
    ret->to = (struct operand){.kind = OPERAND_REGISTER, .register_number = RAX, .width = 8};
    ret->from = (struct operand){.kind = OPERAND_REGISTER, .register_number = RAX, .width = 4};
}

/** Takes `lock orq $0x0, (%rsp)`, a barrier of gcc's, as what leaves all but the flags alone. */
static bool make_barrier(const cs_x86 *x86, struct instruction *ret)
{
    if (x86->op_count != 2 || ret->from.kind != OPERAND_IMMEDIATE || ret->from.number)
        return false;
    ret->verb = INSTRUCTION_HINT;
    ret->change = 1;
    ret->from = ret->to = (struct operand){0};
    return true;
}

/** Bytes of the number that an instruction of floating point handles; 0: it is none of those. */
static uint8_t real_width(unsigned id, bool *ret_compares)
{
    *ret_compares = true;
    switch (id) {
    case X86_INS_UCOMISD:
    case X86_INS_COMISD:
    case X86_INS_VUCOMISD:
    case X86_INS_VCOMISD:
        return 8;
    case X86_INS_UCOMISS:
    case X86_INS_COMISS:
    case X86_INS_VUCOMISS:
    case X86_INS_VCOMISS:
        return 4;
    default:
        break;
    }
    *ret_compares = false;
    switch (id) {
    case X86_INS_MOVSD: /* Also that of strings, which has no vector register. */
    case X86_INS_VMOVSD:
    case X86_INS_MOVQ:
    case X86_INS_VMOVQ:
        return 8;
    case X86_INS_MOVSS:
    case X86_INS_VMOVSS:
    case X86_INS_MOVD:
    case X86_INS_VMOVD:
        return 4;
    default:
        return 0;
    }
}

/** From one vector register to another, all of it. */
static bool is_whole_move(unsigned id)
{
    static const unsigned moves[] = {
        X86_INS_MOVAPD,  X86_INS_MOVAPS,  X86_INS_MOVUPD,  X86_INS_MOVUPS,
        X86_INS_MOVDQA,  X86_INS_MOVDQU,  X86_INS_VMOVAPD, X86_INS_VMOVAPS,
        X86_INS_VMOVUPD, X86_INS_VMOVUPS, X86_INS_VMOVDQA, X86_INS_VMOVDQU,
    };
    for (size_t i = 0; i < PSC_ARRAY_SIZE(moves); i++)
        if (moves[i] == id)
            return true;
    return false;
}

static bool is_zeroing(unsigned id)
{
    return id == X86_INS_PXOR || id == X86_INS_XORPS || id == X86_INS_XORPD ||
           id == X86_INS_VPXOR || id == X86_INS_VXORPS || id == X86_INS_VXORPD;
}

/** Moves and comparisons of floating point, and of numbers that pass through its registers. */
static bool make_real(const cs_x86 *x86, unsigned id, struct instruction *ret)
{
    const cs_x86_op *operands = x86->operands;
    bool compares;
    uint8_t width = real_width(id, &compares);
    bool to_vector = ret->to.kind == OPERAND_VECTOR, from_vector = ret->from.kind == OPERAND_VECTOR;
    if (to_vector && is_zeroing(id) && operands[x86->op_count - 1].type == X86_OP_REG &&
        operands[1].type == X86_OP_REG && operands[1].reg == operands[x86->op_count - 1].reg &&
        (x86->op_count == 3 || operands[0].reg == operands[1].reg)) {
        ret->verb = INSTRUCTION_MOVE;
        ret->from = (struct operand){.kind = OPERAND_IMMEDIATE, .width = 8};
        return true;
    }
    if (to_vector && from_vector && is_whole_move(id))
        width = 8;
    if (!width || x86->op_count != 2 || !(to_vector || from_vector) ||
        ret->to.kind == OPERAND_SOMEWHERE || ret->to.kind == OPERAND_ABSOLUTE)
        return false;
    ret->verb = compares ? INSTRUCTION_COMPARE_REAL : INSTRUCTION_MOVE;
    ret->to.width = ret->from.width = width;
    ret->change = compares;
    return true;
}

static bool is_followed(const struct instruction *instruction, const cs_x86 *x86, unsigned id)
{
    enum instruction_verb verb = (enum instruction_verb)instruction->verb;
    if (verb == INSTRUCTION_MOVE || verb == INSTRUCTION_MOVE_SIGNED ||
        verb == INSTRUCTION_CONDITIONAL_MOVE)
        return x86->op_count == 2 && instruction->to.kind != OPERAND_SOMEWHERE &&
               (instruction->to.kind == OPERAND_REGISTER || id == X86_INS_MOV);
    if (verb == INSTRUCTION_ADDRESS || verb == INSTRUCTION_POP)
        return instruction->to.kind == OPERAND_REGISTER;
    if (verb == INSTRUCTION_SET)
        return instruction->to.kind != OPERAND_SOMEWHERE;
    if (verb == INSTRUCTION_SHIFT_RIGHT || verb == INSTRUCTION_AND || verb == INSTRUCTION_XOR)
        return x86->op_count == 2 && instruction->to.kind == OPERAND_REGISTER &&
               instruction->from.kind == OPERAND_IMMEDIATE;
    return verb != INSTRUCTION_OTHER;
}

static void convert(csh handle, const cs_insn *from, struct instruction *ret)
{
    const cs_x86 *x86 = &from->detail->x86;
    uint64_t next = ret->address + ret->size;
    ret->verb = (uint8_t)find_verb(from->id, &ret->condition);
    if (x86->op_count > 0)
        ret->to = x86_convert_operand(&x86->operands[0], next);
    if (x86->op_count > 1)
        ret->from = x86_convert_operand(&x86->operands[1], next);
    if (ret->verb == INSTRUCTION_AND || ret->verb == INSTRUCTION_XOR)
        ret->change = 1;
    bool good = is_followed(ret, x86, from->id);
    if (ret->verb == INSTRUCTION_ADD)
        good = make_add(from->id, x86, ret);
    else if (from->id == X86_INS_XOR)
        good = make_zero(x86, ret) || good;
    else if (from->id == X86_INS_OR)
        good = make_barrier(x86, ret);
    else if (from->id == X86_INS_CDQE) {
        make_extension(ret);
        good = true;
    } else if (ret->verb == INSTRUCTION_OTHER) {
        good = make_real(x86, from->id, ret);
    }
    if (!good)
        make_other(handle, from, ret);
}

const struct decoded_machine decoded_x86_64 = {.machine = EM_X86_64,
                                               .arch = CS_ARCH_X86,
                                               .mode = CS_MODE_64,
                                               .decode_common = x86_decode_common,
                                               .convert = convert,
                                               .explain = x86_explain,
                                               .explain_unknown = x86_explain_unknown,
                                               .write = x86_write,
                                               .register_names = x86_register_names,
                                               .register_count = X86_NAMED_REGISTERS};
