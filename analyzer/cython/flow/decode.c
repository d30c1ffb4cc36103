/* Instructions as the rest needs them. The only file of the room that knows the disassembler. */
#include "code_state.h"

#include <capstone/capstone.h>
#include <stdlib.h>

/** Decoded instructions kept; a power of two. When full, all are forgotten. */
#define CACHE_SIZE ((size_t)1 << 15)

struct machine_decoder {
    csh handle;
    cs_insn *scratch;
    struct machine_instruction
        *cache; /**< By address; open addressing; size 0 and verb 0: empty. */
    bool *used;
    size_t count;
};

struct machine_decoder *machine_decoder_create(void)
{
    struct machine_decoder *decoder = calloc(1, sizeof(*decoder));
    if (!decoder)
        return NULL;
    if (cs_open(CS_ARCH_X86, CS_MODE_64, &decoder->handle) != CS_ERR_OK) {
        free(decoder);
        return NULL;
    }
    decoder->cache = calloc(CACHE_SIZE, sizeof(*decoder->cache));
    decoder->used = calloc(CACHE_SIZE, sizeof(*decoder->used));
    if (cs_option(decoder->handle, CS_OPT_DETAIL, CS_OPT_ON) == CS_ERR_OK)
        decoder->scratch = cs_malloc(decoder->handle);
    if (!decoder->cache || !decoder->used || !decoder->scratch) {
        machine_decoder_destroy(decoder);
        return NULL;
    }
    return decoder;
}

void machine_decoder_destroy(struct machine_decoder *decoder)
{
    if (!decoder)
        return;
    if (decoder->scratch)
        cs_free(decoder->scratch, 1);
    cs_close(&decoder->handle);
    free(decoder->cache);
    free(decoder->used);
    free(decoder);
}

/* ---- operands ---- */

#define REGISTER_CASE(number, eight, four, two, one) \
    case X86_REG_##eight:                            \
    case X86_REG_##four:                             \
    case X86_REG_##two:                              \
    case X86_REG_##one:                              \
        return number

/** The number of a general register or of a part of one; -1 for others. */
static int register_number(unsigned name)
{
    switch (name) {
        REGISTER_CASE(MACHINE_RAX, RAX, EAX, AX, AL);
        REGISTER_CASE(MACHINE_RCX, RCX, ECX, CX, CL);
        REGISTER_CASE(MACHINE_RDX, RDX, EDX, DX, DL);
        REGISTER_CASE(MACHINE_RBX, RBX, EBX, BX, BL);
        REGISTER_CASE(MACHINE_RSP, RSP, ESP, SP, SPL);
        REGISTER_CASE(MACHINE_RBP, RBP, EBP, BP, BPL);
        REGISTER_CASE(MACHINE_RSI, RSI, ESI, SI, SIL);
        REGISTER_CASE(MACHINE_RDI, RDI, EDI, DI, DIL);
        REGISTER_CASE(8, R8, R8D, R8W, R8B);
        REGISTER_CASE(9, R9, R9D, R9W, R9B);
        REGISTER_CASE(10, R10, R10D, R10W, R10B);
        REGISTER_CASE(11, R11, R11D, R11W, R11B);
        REGISTER_CASE(12, R12, R12D, R12W, R12B);
        REGISTER_CASE(13, R13, R13D, R13W, R13B);
        REGISTER_CASE(14, R14, R14D, R14W, R14B);
        REGISTER_CASE(15, R15, R15D, R15W, R15B);
    case X86_REG_AH:
        return MACHINE_RAX;
    case X86_REG_CH:
        return MACHINE_RCX;
    case X86_REG_DH:
        return MACHINE_RDX;
    case X86_REG_BH:
        return MACHINE_RBX;
    default:
        return -1;
    }
}

static bool is_high(unsigned name)
{
    return name == X86_REG_AH || name == X86_REG_CH || name == X86_REG_DH || name == X86_REG_BH;
}

/** The same of a vector register, whatever its width. */
static int vector_number(unsigned name)
{
    static const unsigned first[] = {X86_REG_XMM0, X86_REG_YMM0, X86_REG_ZMM0};
    for (size_t i = 0; i < PSC_ARRAY_SIZE(first); i++)
        if (name >= first[i] && name < first[i] + MACHINE_VECTORS)
            return (int)(name - first[i]);
    return -1;
}

static struct machine_operand convert_memory(const x86_op_mem *memory, uint64_t next)
{
    struct machine_operand operand = {.kind = MACHINE_SOMEWHERE, .number = memory->disp};
    int base = register_number(memory->base);
    if (memory->segment != X86_REG_INVALID || memory->index != X86_REG_INVALID)
        return operand;
    if (memory->base == X86_REG_RIP) {
        operand.kind = MACHINE_ABSOLUTE;
        operand.number = (int64_t)(next + (uint64_t)memory->disp);
    } else if (memory->base == X86_REG_INVALID) {
        operand.kind = MACHINE_ABSOLUTE;
    } else if (base >= 0) {
        operand.kind = MACHINE_BASED;
        operand.register_number = (uint8_t)base;
    }
    return operand;
}

static struct machine_operand convert_operand(const cs_x86_op *from, uint64_t next)
{
    struct machine_operand operand = {.kind = MACHINE_SOMEWHERE};
    if (from->type == X86_OP_REG && register_number(from->reg) >= 0) {
        operand.kind = MACHINE_REGISTER;
        operand.register_number = (uint8_t)register_number(from->reg);
        operand.high = is_high(from->reg);
    } else if (from->type == X86_OP_REG && vector_number(from->reg) >= 0) {
        operand.kind = MACHINE_VECTOR;
        operand.register_number = (uint8_t)vector_number(from->reg);
    } else if (from->type == X86_OP_IMM) {
        operand.kind = MACHINE_IMMEDIATE;
        operand.number = from->imm;
    } else if (from->type == X86_OP_MEM) {
        operand = convert_memory(&from->mem, next);
    }
    operand.width = from->size;
    return operand;
}

/* ---- verbs ---- */

static bool find_condition(unsigned id, enum machine_verb *ret_verb, uint8_t *ret_condition)
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
    for (uint8_t i = 0; i < PSC_ARRAY_SIZE(conditions); i++) {
        *ret_condition = i;
        if (id == conditions[i].jump)
            *ret_verb = MACHINE_BRANCH;
        else if (id == conditions[i].set)
            *ret_verb = MACHINE_SET;
        else if (id == conditions[i].move)
            *ret_verb = MACHINE_CONDITIONAL_MOVE;
        else
            continue;
        return true;
    }
    return false;
}

static enum machine_verb find_verb(unsigned id, uint8_t *ret_condition)
{
    enum machine_verb verb;
    switch (id) {
    case X86_INS_NOP:
    case X86_INS_ENDBR64:
    case X86_INS_PREFETCHT0:
    case X86_INS_PAUSE:
        return MACHINE_NOP;
    case X86_INS_MOV:
    case X86_INS_MOVABS:
    case X86_INS_MOVZX:
        return MACHINE_MOVE;
    case X86_INS_MOVSX:
    case X86_INS_MOVSXD:
    case X86_INS_CDQE:
        return MACHINE_MOVE_SIGNED;
    case X86_INS_LEA:
        return MACHINE_ADDRESS;
    case X86_INS_ADD:
    case X86_INS_SUB:
    case X86_INS_INC:
    case X86_INS_DEC:
        return MACHINE_ADD;
    case X86_INS_SHR:
        return MACHINE_SHIFT_RIGHT;
    case X86_INS_AND:
        return MACHINE_AND;
    case X86_INS_XOR:
        return MACHINE_XOR;
    case X86_INS_CMP:
        return MACHINE_COMPARE;
    case X86_INS_TEST:
        return MACHINE_TEST;
    case X86_INS_CALL:
        return MACHINE_CALL;
    case X86_INS_JMP:
        return MACHINE_JUMP;
    case X86_INS_RET:
        return MACHINE_RETURN;
    case X86_INS_UD2:
    case X86_INS_HLT:
    case X86_INS_INT3:
        return MACHINE_STOP;
    case X86_INS_PUSH:
        return MACHINE_PUSH;
    case X86_INS_POP:
        return MACHINE_POP;
    case X86_INS_LEAVE:
        return MACHINE_LEAVE;
    default:
        return find_condition(id, &verb, ret_condition) ? verb : MACHINE_OTHER;
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

static void find_written(csh handle, const cs_insn *from, struct machine_instruction *ret)
{
    cs_regs read, written;
    uint8_t read_count = 0, written_count = 0;
    if (cs_regs_access(handle, from, read, &read_count, written, &written_count) != CS_ERR_OK) {
        ret->written = ret->written_vectors = UINT16_MAX;
        return;
    }
    for (uint8_t i = 0; i < written_count; i++) {
        int number = register_number(written[i]), vector = vector_number(written[i]);
        if (number >= 0)
            ret->written |= (uint16_t)(1u << number);
        if (vector >= 0)
            ret->written_vectors |= (uint16_t)(1u << vector);
    }
}

/** Everything that is not followed: what it writes is not known any more. */
static void make_other(csh handle, const cs_insn *from, struct machine_instruction *ret)
{
    const cs_x86 *x86 = &from->detail->x86;
    uint64_t next = ret->address + ret->size;
    ret->verb = MACHINE_OTHER;
    ret->from = ret->to = (struct machine_operand){0};
    ret->change = changes_flags(from);
    find_written(handle, from, ret);
    if (x86->op_count && x86->operands[0].type == X86_OP_REG &&
        vector_number(x86->operands[0].reg) >= 0)
        ret->written_vectors |= (uint16_t)(1u << vector_number(x86->operands[0].reg));
    for (uint8_t i = 0; i < x86->op_count; i++) {
        const cs_x86_op *operand = &x86->operands[i];
        if (operand->type == X86_OP_MEM && (i == 0 || operand->access & CS_AC_WRITE)) {
            ret->to = convert_operand(operand, next);
            return;
        }
    }
}

/** `add r, 5`, `sub r, 5`, `inc r`: one constant to add. */
static bool make_add(unsigned id, const cs_x86 *x86, struct machine_instruction *ret)
{
    bool down = id == X86_INS_SUB || id == X86_INS_DEC;
    ret->change = 1;
    if (id == X86_INS_INC || id == X86_INS_DEC)
        ret->from = (struct machine_operand){.kind = MACHINE_IMMEDIATE, .number = 1};
    else if (x86->op_count != 2 || ret->from.kind != MACHINE_IMMEDIATE)
        return false;
    if (down)
        ret->from.number = (int64_t)(0 - (uint64_t)ret->from.number);
    return true;
}

/** Takes a zeroing `xor r, r` as a move of 0. */
static bool make_zero(const cs_x86 *x86, struct machine_instruction *ret)
{
    const cs_x86_op *operands = x86->operands;
    if (x86->op_count != 2 || operands[0].type != X86_OP_REG || operands[1].type != X86_OP_REG ||
        operands[0].reg != operands[1].reg || ret->to.kind != MACHINE_REGISTER)
        return false;
    ret->verb = MACHINE_MOVE;
    ret->change = 1;
    ret->from = (struct machine_operand){.kind = MACHINE_IMMEDIATE, .width = ret->to.width};
    return true;
}

/** `cltq`: %eax to %rax. */
static void make_extension(struct machine_instruction *ret)
{
    ret->to = (struct machine_operand){
        .kind = MACHINE_REGISTER, .register_number = MACHINE_RAX, .width = 8};
    ret->from = (struct machine_operand){
        .kind = MACHINE_REGISTER, .register_number = MACHINE_RAX, .width = 4};
}

/** Takes `lock orq $0x0, (%rsp)`, a barrier of gcc's, as what leaves all but the flags alone. */
static bool make_barrier(const cs_x86 *x86, struct machine_instruction *ret)
{
    if (x86->op_count != 2 || ret->from.kind != MACHINE_IMMEDIATE || ret->from.number)
        return false;
    ret->verb = MACHINE_NOP;
    ret->change = 1;
    ret->from = ret->to = (struct machine_operand){0};
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
static bool make_real(const cs_x86 *x86, unsigned id, struct machine_instruction *ret)
{
    const cs_x86_op *operands = x86->operands;
    bool compares;
    uint8_t width = real_width(id, &compares);
    bool to_vector = ret->to.kind == MACHINE_VECTOR, from_vector = ret->from.kind == MACHINE_VECTOR;
    if (to_vector && is_zeroing(id) && operands[x86->op_count - 1].type == X86_OP_REG &&
        operands[1].type == X86_OP_REG && operands[1].reg == operands[x86->op_count - 1].reg &&
        (x86->op_count == 3 || operands[0].reg == operands[1].reg)) {
        ret->verb = MACHINE_MOVE;
        ret->from = (struct machine_operand){.kind = MACHINE_IMMEDIATE, .width = 8};
        return true;
    }
    if (to_vector && from_vector && is_whole_move(id))
        width = 8;
    if (!width || x86->op_count != 2 || !(to_vector || from_vector) ||
        ret->to.kind == MACHINE_SOMEWHERE || ret->to.kind == MACHINE_ABSOLUTE)
        return false;
    ret->verb = compares ? MACHINE_COMPARE_REAL : MACHINE_MOVE;
    ret->to.width = ret->from.width = width;
    ret->change = compares;
    return true;
}

static bool is_followed(const struct machine_instruction *instruction, const cs_x86 *x86,
                        unsigned id)
{
    enum machine_verb verb = (enum machine_verb)instruction->verb;
    if (verb == MACHINE_MOVE || verb == MACHINE_MOVE_SIGNED || verb == MACHINE_CONDITIONAL_MOVE)
        return x86->op_count == 2 && instruction->to.kind != MACHINE_SOMEWHERE &&
               (instruction->to.kind == MACHINE_REGISTER || id == X86_INS_MOV);
    if (verb == MACHINE_ADDRESS || verb == MACHINE_POP)
        return instruction->to.kind == MACHINE_REGISTER;
    if (verb == MACHINE_SET)
        return instruction->to.kind != MACHINE_SOMEWHERE;
    if (verb == MACHINE_SHIFT_RIGHT || verb == MACHINE_AND || verb == MACHINE_XOR)
        return x86->op_count == 2 && instruction->to.kind == MACHINE_REGISTER &&
               instruction->from.kind == MACHINE_IMMEDIATE;
    return verb != MACHINE_OTHER;
}

static void convert(csh handle, const cs_insn *from, struct machine_instruction *ret)
{
    const cs_x86 *x86 = &from->detail->x86;
    uint64_t next = ret->address + ret->size;
    ret->verb = (uint8_t)find_verb(from->id, &ret->condition);
    if (x86->op_count > 0)
        ret->to = convert_operand(&x86->operands[0], next);
    if (x86->op_count > 1)
        ret->from = convert_operand(&x86->operands[1], next);
    if (ret->verb == MACHINE_AND || ret->verb == MACHINE_XOR)
        ret->change = 1;
    bool good = is_followed(ret, x86, from->id);
    if (ret->verb == MACHINE_ADD)
        good = make_add(from->id, x86, ret);
    else if (from->id == X86_INS_XOR)
        good = make_zero(x86, ret) || good;
    else if (from->id == X86_INS_OR)
        good = make_barrier(x86, ret);
    else if (from->id == X86_INS_CDQE) {
        make_extension(ret);
        good = true;
    } else if (ret->verb == MACHINE_OTHER) {
        good = make_real(x86, from->id, ret);
    }
    if (!good)
        make_other(handle, from, ret);
}

/* ---- the cache ---- */

static struct machine_instruction *find_slot(struct machine_decoder *decoder, uint64_t address)
{
    /* Not hashed: what is decoded together lies together. */
    size_t at = (size_t)address & (CACHE_SIZE - 1);
    while (decoder->used[at] && decoder->cache[at].address != address)
        at = (at + 1) & (CACHE_SIZE - 1);
    return &decoder->cache[at];
}

const struct machine_instruction *
machine_decode(struct machine_decoder *decoder, const struct machine_image *image, uint64_t address)
{
    struct machine_instruction *slot = find_slot(decoder, address);
    if (decoder->used[slot - decoder->cache])
        return slot;
    if (decoder->count >= CACHE_SIZE / 4 * 3) {
        memset(decoder->used, 0, CACHE_SIZE * sizeof(*decoder->used));
        decoder->count = 0;
        slot = find_slot(decoder, address);
    }
    decoder->used[slot - decoder->cache] = true;
    decoder->count++;
    *slot = (struct machine_instruction){.address = address};
    const struct machine_function *function = machine_find_function(image, address);
    size_t size;
    const uint8_t *code = machine_bytes(image, address, &size);
    if (!function || !code)
        return slot;
    if (size > function->end - address)
        size = (size_t)(function->end - address);
    uint64_t at = address;
    if (cs_disasm_iter(decoder->handle, &code, &size, &at, decoder->scratch)) {
        slot->size = (uint8_t)decoder->scratch->size;
        convert(decoder->handle, decoder->scratch, slot);
    }
    return slot;
}
