/*
 * The instructions that most code is made of, read from their bytes: twenty times as fast as with
 * all that capstone tells of each. Whatever has a prefix other than REX, or is not here, is its;
 * but for the `nopw` that compilers fill gaps with. The same comes out of both, which
 * test_decode_common compares.
 */
#include "disassembly_private.h"

#include <string.h>

/* Intel's manual, volume 2, chapter 2 and appendix A: encodings. */
enum { REX_B = 1, REX_X = 2, REX_R = 4, REX_W = 8 };
enum { MODE_REGISTER = 3, BASE_SCALED = 4, BASE_NEXT = 5, INDEX_NONE = 4 };

/** DWARF's numbers in the order of the encodings. */
static const uint8_t registers[16] = {0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15};

/** An instruction that is read; `bad` when its bytes end or it is for capstone. */
struct encoded {
    const uint8_t *bytes;
    size_t size;
    size_t at;
    uint8_t rex;
    uint8_t width;      /**< Of the operands: 1, 4 or 8. */
    uint8_t field;      /**< The register's in ModRM, without REX: also more of the opcode. */
    struct operand *ip; /**< The one that is relative to the next instruction. */
    bool bad;
};

static uint8_t read_byte(struct encoded *code)
{
    if (code->at >= code->size) {
        code->bad = true;
        return 0;
    }
    return code->bytes[code->at++];
}

/** A number of 1 or 4 bytes, with its sign. */
static int64_t read_signed(struct encoded *code, size_t size)
{
    if (size == 1)
        return (int8_t)read_byte(code);
    if (code->size - code->at < 4) {
        code->bad = true;
        return 0;
    }
    code->at += 4;
    return (int32_t)load_u32(code->bytes + code->at - 4);
}

static struct operand general(const struct encoded *code, unsigned number, unsigned extension)
{
    struct operand operand = {.kind = OPERAND_REGISTER, .width = code->width};
    /* Without REX these are the second bytes of the first four. */
    operand.high = code->width == 1 && !code->rex && number >= 4;
    operand.register_number =
        registers[operand.high ? number - 4 : number + (code->rex & extension ? 8 : 0)];
    return operand;
}

/** As wide as what it is used with, without a sign where that is narrower than an address. */
static struct operand immediate(const struct encoded *code, int64_t number)
{
    if (code->width < 8)
        number = (int64_t)((uint64_t)number & ((1ull << code->width * 8) - 1));
    return (struct operand){.kind = OPERAND_IMMEDIATE, .width = code->width, .number = number};
}

/** ModRM, and SIB and displacement behind it: the operand that may be memory. */
static void read_operand(struct encoded *code, struct operand *ret)
{
    const uint8_t byte = read_byte(code);
    const unsigned mode = byte >> 6;
    unsigned base = byte & 7, index = INDEX_NONE;
    code->field = byte >> 3 & 7;
    if (mode == MODE_REGISTER) {
        *ret = general(code, base, REX_B);
        return;
    }
    *ret = (struct operand){.kind = OPERAND_BASED, .width = code->width};
    const bool scaled = base == BASE_SCALED;
    if (scaled) {
        const uint8_t scale = read_byte(code);
        base = scale & 7;
        index = (scale >> 3 & 7) | (code->rex & REX_X ? 8 : 0);
    }
    if (mode == 0 && base == BASE_NEXT) {
        ret->kind = OPERAND_ABSOLUTE;
        ret->number = read_signed(code, 4);
        if (!scaled)
            code->ip = ret;
    } else {
        ret->register_number = registers[base | (code->rex & REX_B ? 8 : 0)];
        ret->number = mode ? read_signed(code, mode == 1 ? 1 : 4) : 0;
    }
    if (index != INDEX_NONE) {
        ret->kind = OPERAND_SOMEWHERE;
        ret->register_number = 0;
    }
}

static struct operand field_register(const struct encoded *code)
{
    return general(code, code->field, REX_R);
}

/* ---- groups of opcodes ---- */

static void read_jump(struct encoded *code, enum instruction_verb verb, size_t size,
                      struct instruction *ret)
{
    ret->verb = (uint8_t)verb;
    ret->to =
        (struct operand){.kind = OPERAND_IMMEDIATE, .width = 8, .number = read_signed(code, size)};
    code->ip = &ret->to;
}

/** Two operands, one of which may be memory; bit 1 of the opcode says which. */
static void read_pair(struct encoded *code, uint8_t opcode, enum instruction_verb verb,
                      struct instruction *ret)
{
    const bool to_field = opcode & 2;
    code->width = opcode & 1 ? code->width : 1;
    ret->verb = (uint8_t)verb;
    read_operand(code, to_field ? &ret->from : &ret->to);
    *(to_field ? &ret->to : &ret->from) = field_register(code);
}

/** `xor r, r`: a move of 0. */
static void read_zeroing(struct encoded *code, uint8_t opcode, struct instruction *ret)
{
    read_pair(code, opcode, INSTRUCTION_MOVE, ret);
    code->bad |= ret->from.kind != OPERAND_REGISTER || ret->to.kind != OPERAND_REGISTER ||
                 ret->from.register_number != ret->to.register_number ||
                 ret->from.high != ret->to.high;
    ret->from = (struct operand){.kind = OPERAND_IMMEDIATE, .width = code->width};
    ret->change = 1;
}

/** 80, 81, 83: arithmetic with a constant. */
static void read_arithmetic(struct encoded *code, uint8_t opcode, struct instruction *ret)
{
    static const uint8_t verbs[8] = {[0] = INSTRUCTION_ADD,
                                     [4] = INSTRUCTION_AND,
                                     [5] = INSTRUCTION_ADD,
                                     [6] = INSTRUCTION_XOR,
                                     [7] = INSTRUCTION_COMPARE};
    code->width = opcode == 0x80 ? 1 : code->width;
    read_operand(code, &ret->to);
    ret->verb = verbs[code->field];
    const int64_t number = read_signed(code, opcode == 0x81 ? 4 : 1);
    const bool logical = ret->verb == INSTRUCTION_AND || ret->verb == INSTRUCTION_XOR;
    ret->from = immediate(code, number);
    /* A short constant of what is no set of bits keeps its sign. */
    if (opcode == 0x83 && !logical)
        ret->from.number = number;
    ret->change = ret->verb != INSTRUCTION_COMPARE;
    if (code->field == 5)
        ret->from.number = (int64_t)(0 - (uint64_t)ret->from.number);
    const bool only_register = ret->verb == INSTRUCTION_AND || ret->verb == INSTRUCTION_XOR;
    code->bad |=
        ret->verb == INSTRUCTION_BAD || (only_register && ret->to.kind != OPERAND_REGISTER);
}

/** What is not followed but for the register that it changes, and the flags. */
static void make_other(struct encoded *code, struct instruction *ret)
{
    code->bad |= ret->to.kind != OPERAND_REGISTER;
    ret->verb = INSTRUCTION_OTHER;
    ret->change = 1;
    ret->written = (uint32_t)(1u << ret->to.register_number);
    ret->from = ret->to = (struct operand){0};
}

/** 00 to 03, 28 to 2b: the sum, or difference, of two registers. */
static void read_sum(struct encoded *code, uint8_t opcode, struct instruction *ret)
{
    read_pair(code, opcode, INSTRUCTION_OTHER, ret);
    code->bad |= ret->from.kind != OPERAND_REGISTER;
    make_other(code, ret);
}

/** c1, d1: shl and sar by a constant. */
static void read_shift(struct encoded *code, uint8_t opcode, struct instruction *ret)
{
    read_operand(code, &ret->to);
    if (opcode == 0xc1)
        code->bad |= !read_byte(code);
    code->bad |= code->field != 4 && code->field != 7;
    make_other(code, ret);
}

/** More of the opcode, in ModRM; 0 as well where the bytes end. */
static uint8_t next_field(const struct encoded *code)
{
    return code->at < code->size ? code->bytes[code->at] >> 3 & 7 : 0;
}

/** f6, f7: neg. */
static void read_negation(struct encoded *code, uint8_t opcode, struct instruction *ret)
{
    code->width = opcode & 1 ? code->width : 1;
    read_operand(code, &ret->to);
    make_other(code, ret);
}

/** `nop`, and 0f 1f: the operand is none. */
static void read_nothing(struct encoded *code, uint8_t opcode, struct instruction *ret)
{
    ret->verb = INSTRUCTION_NOP;
    code->bad |= code->rex;
    if (opcode == 0x90)
        return;
    read_operand(code, &ret->to);
    code->bad |= code->field != 0 || ret->to.kind == OPERAND_REGISTER;
}

/** a8, a9: a test of the first register with a constant. */
static void read_short_test(struct encoded *code, uint8_t opcode, struct instruction *ret)
{
    code->width = opcode & 1 ? code->width : 1;
    ret->verb = INSTRUCTION_TEST;
    ret->to = general(code, 0, 0);
    ret->from = immediate(code, read_signed(code, code->width == 1 ? 1 : 4));
}

/** c6, c7; f6, f7: a move of, or a test with, a constant. */
static void read_constant(struct encoded *code, uint8_t opcode, enum instruction_verb verb,
                          struct instruction *ret)
{
    code->width = opcode & 1 ? code->width : 1;
    read_operand(code, &ret->to);
    ret->verb = (uint8_t)verb;
    ret->from = immediate(code, read_signed(code, code->width == 1 ? 1 : 4));
    code->bad |= code->field != 0;
}

/** b0 to bf: a move of a constant to a register. */
static void read_load(struct encoded *code, uint8_t opcode, struct instruction *ret)
{
    code->width = opcode & 8 ? code->width : 1;
    ret->verb = INSTRUCTION_MOVE;
    ret->to = general(code, opcode & 7, REX_B);
    if (code->width < 8) {
        ret->from = immediate(code, read_signed(code, code->width));
        return;
    }
    ret->from = (struct operand){.kind = OPERAND_IMMEDIATE, .width = 8};
    if (code->size - code->at < 8) {
        code->bad = true;
        return;
    }
    ret->from.number = (int64_t)load_u64(code->bytes + code->at);
    code->at += 8;
}

/** A move from something narrower. */
static void read_extension(struct encoded *code, enum instruction_verb verb, uint8_t from_width,
                           struct instruction *ret)
{
    const uint8_t width = code->width;
    ret->verb = (uint8_t)verb;
    code->width = from_width;
    read_operand(code, &ret->from);
    code->width = width;
    ret->to = field_register(code);
}

/** ff: calls and jumps through a pointer. */
static void read_through_pointer(struct encoded *code, struct instruction *ret)
{
    code->width = 8;
    read_operand(code, &ret->to);
    ret->verb = code->field == 2   ? INSTRUCTION_CALL
                : code->field == 4 ? INSTRUCTION_JUMP
                                   : INSTRUCTION_BAD;
    code->bad |= ret->verb == INSTRUCTION_BAD;
}

/** Those behind 0f. */
static void read_second(struct encoded *code, struct instruction *ret)
{
    const uint8_t opcode = read_byte(code);
    if ((opcode & 0xf0) == 0x80) {
        read_jump(code, INSTRUCTION_BRANCH, 4, ret);
        ret->condition = opcode & 15;
        code->bad |= code->rex;
    } else if ((opcode & 0xf0) == 0x90) {
        code->width = 1;
        read_operand(code, &ret->to);
        ret->verb = INSTRUCTION_SET;
        ret->condition = opcode & 15;
        code->bad |= ret->to.kind == OPERAND_SOMEWHERE;
    } else if (opcode == 0x1f) {
        read_nothing(code, opcode, ret);
    } else if (opcode == 0xb6 || opcode == 0xb7) {
        read_extension(code, INSTRUCTION_MOVE, opcode == 0xb6 ? 1 : 2, ret);
    } else if (opcode == 0xbe || opcode == 0xbf) {
        read_extension(code, INSTRUCTION_MOVE_SIGNED, opcode == 0xbe ? 1 : 2, ret);
    } else {
        code->bad = true;
    }
}

static void read_first(struct encoded *code, uint8_t opcode, struct instruction *ret)
{
    switch (opcode) {
    case 0x00:
    case 0x01:
    case 0x02:
    case 0x03:
    case 0x28:
    case 0x29:
    case 0x2a:
    case 0x2b:
        read_sum(code, opcode, ret);
        break;
    case 0x0f:
        read_second(code, ret);
        break;
    case 0x30:
    case 0x31:
    case 0x32:
    case 0x33:
        read_zeroing(code, opcode, ret);
        break;
    case 0x38:
    case 0x39:
    case 0x3a:
    case 0x3b:
        read_pair(code, opcode, INSTRUCTION_COMPARE, ret);
        break;
    case 0x63:
        read_extension(code, INSTRUCTION_MOVE_SIGNED, 4, ret);
        code->bad |= !(code->rex & REX_W);
        break;
    case 0x80:
    case 0x81:
    case 0x83:
        read_arithmetic(code, opcode, ret);
        break;
    case 0x84:
    case 0x85:
        read_pair(code, opcode, INSTRUCTION_TEST, ret);
        break;
    case 0x88:
    case 0x89:
    case 0x8a:
    case 0x8b:
        read_pair(code, opcode, INSTRUCTION_MOVE, ret);
        break;
    case 0x8d:
        read_pair(code, 0x8b, INSTRUCTION_ADDRESS, ret);
        code->bad |= ret->from.kind == OPERAND_REGISTER;
        break;
    case 0x90:
        read_nothing(code, opcode, ret);
        break;
    case 0x98:
        ret->verb = INSTRUCTION_MOVE_SIGNED;
        ret->to = (struct operand){.kind = OPERAND_REGISTER, .width = 8};
        ret->from = (struct operand){.kind = OPERAND_REGISTER, .width = 4};
        code->bad |= !(code->rex & REX_W);
        break;
    case 0xa8:
    case 0xa9:
        read_short_test(code, opcode, ret);
        break;
    case 0xc1:
    case 0xd1:
        read_shift(code, opcode, ret);
        break;
    case 0xc3:
        ret->verb = INSTRUCTION_RETURN;
        code->bad |= code->rex;
        break;
    case 0xc6:
    case 0xc7:
        read_constant(code, opcode, INSTRUCTION_MOVE, ret);
        break;
    case 0xe8:
        read_jump(code, INSTRUCTION_CALL, 4, ret);
        code->bad |= code->rex;
        break;
    case 0xe9:
    case 0xeb:
        read_jump(code, INSTRUCTION_JUMP, opcode == 0xe9 ? 4 : 1, ret);
        code->bad |= code->rex;
        break;
    case 0xf6:
    case 0xf7:
        if (next_field(code) == 3)
            read_negation(code, opcode, ret);
        else
            read_constant(code, opcode, INSTRUCTION_TEST, ret);
        break;
    case 0xff:
        read_through_pointer(code, ret);
        break;
    default:
        code->bad = true;
        break;
    }
}

/** Those that have a register, or a condition, in the opcode; then all others. */
static void read_any(struct encoded *code, uint8_t opcode, struct instruction *ret)
{
    if ((opcode & 0xf0) == 0x50) {
        code->width = 8;
        ret->verb = opcode & 8 ? INSTRUCTION_POP : INSTRUCTION_PUSH;
        ret->to = general(code, opcode & 7, REX_B);
    } else if ((opcode & 0xf0) == 0x70) {
        read_jump(code, INSTRUCTION_BRANCH, 1, ret);
        ret->condition = opcode & 15;
        code->bad |= code->rex;
    } else if ((opcode & 0xf0) == 0xb0) {
        read_load(code, opcode, ret);
    } else {
        read_first(code, opcode, ret);
    }
}

static bool begins_with(const struct encoded *code, const char *bytes, size_t size)
{
    return code->size - code->at >= size && memcmp(code->bytes + code->at, bytes, size) == 0;
}

bool x86_decode_common(const uint8_t *bytes, size_t size, struct instruction *ret)
{
    struct encoded code = {.bytes = bytes, .size = size, .width = 4};
    struct instruction found = {.address = ret->address};
    uint8_t opcode = read_byte(&code);
    if (opcode == 0x66 && (begins_with(&code, "\x90", 1) || begins_with(&code, "\x0f\x1f", 2))) {
        code.width = 2;
        opcode = read_byte(&code);
    } else if ((opcode & 0xf0) == 0x40) {
        code.rex = opcode;
        code.width = opcode & REX_W ? 8 : 4;
        opcode = read_byte(&code);
    }
    read_any(&code, opcode, &found);
    /* Capstone's part tells what a write to memory at an unknown place may change. */
    if (code.bad || (found.verb == INSTRUCTION_MOVE && found.to.kind == OPERAND_SOMEWHERE))
        return false;
    found.size = (uint8_t)code.at;
    if (code.ip)
        code.ip->number = (int64_t)((uint64_t)code.ip->number + found.address + found.size);
    *ret = found;
    return true;
}
