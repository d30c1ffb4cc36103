/* An instruction of x86-64 as gdb writes it, from how capstone does. */
#include "disassembly_private.h"

#include <ctype.h>
#include <string.h>

/*
 * gdb leaves the letter for the width off where a register or the instruction itself tells it:
 * "mov", not "movq"; "call", "ret" and "push" always have 64 bits.
 */
static bool drops_suffix(const cs_insn *plain, const char *operands)
{
    static const uint16_t wide[] = {X86_INS_CALL, X86_INS_JMP, X86_INS_RET,
                                    X86_INS_PUSH, X86_INS_POP, X86_INS_LEAVE};
    static const char *const kept[] = {"cvtsi2s", "vcvtsi2s", "crc32"};
    if (X86_BEGINS_WITH(plain->mnemonic, kept))
        return false;
    if (X86_IS_AMONG(plain->id, wide))
        return true;
    for (unsigned depth = 0; *operands; operands++) {
        depth += *operands == '(';
        depth -= *operands == ')';
        // A segment is no register that has a width.
        if (*operands == '%' && !depth && strncmp(operands + 2, "s:", 2) != 0)
            return true;
    }
    return false;
}

static bool is_suffixed(const char *name, const char *syntax)
{
    size_t size = strlen(name);
    return !strncmp(name, syntax, size) && syntax[size] && strchr("bwlq", syntax[size]) &&
           !syntax[size + 1];
}

/* Whether a number begins that is written in decimals: capstone does so up to 9. */
static bool is_decimal(const char *text, const char *at, unsigned depth)
{
    char before = at > text ? at[-1] : ' ';
    return !depth && isdigit((unsigned char)*at) && at[1] != 'x' &&
           !isalnum((unsigned char)before) && before != '%' && before != '_';
}

struct writer {
    char *buffer;
    size_t size;
    size_t at;
};

/* Leaves off what has no room; the rest stays terminated. */
static void add_part(struct writer *writer, const char *part, size_t size)
{
    if (writer->at + size >= writer->size)
        return;
    memcpy(writer->buffer + writer->at, part, size);
    writer->at += size;
    writer->buffer[writer->at] = 0;
}

/* "rep stos", "repnz scas": what a register's name tells, and what gdb calls the prefix. */
static void write_mnemonic(const cs_insn *plain, const cs_insn *syntax, struct writer *writer)
{
    static const char *const lettered[] = {"stos", "lods", "scas"};
    const char *name = syntax->mnemonic;
    bool drop = is_suffixed(plain->mnemonic, name) && drops_suffix(plain, syntax->op_str);
    if (!strncmp(name, "repne ", 6)) {
        add_part(writer, "repnz ", 6);
        name += 6;
    } else if (!strncmp(name, "rep ", 4) || !strncmp(name, "repe ", 5)) {
        size_t size = (size_t)(strchr(name, ' ') + 1 - name);
        add_part(writer, name[3] == 'e' ? "repz " : "rep ", name[3] == 'e' ? 5 : 4);
        name += size;
    }
    if (x86_is_string(plain->id) && X86_BEGINS_WITH(name, lettered))
        add_part(writer, name, 4);
    else
        add_part(writer, name, strlen(name) - drop);
}

void x86_write(const cs_insn *plain, const cs_insn *syntax, char *buffer, size_t size)
{
    const char *operands = syntax->op_str;
    struct writer writer = {.buffer = buffer, .size = size};
    bool string = x86_is_string(plain->id) && !x86_uses_vectors(&plain->detail->x86);
    write_mnemonic(plain, syntax, &writer);
    add_part(&writer, " ", *operands ? 1 : 0);
    unsigned depth = 0;
    for (const char *from = operands; *from; from++) {
        if (*from == ' ' && ((from > operands && from[-1] == ',') || from[1] == '{'))
            continue;
        if (string && *from == '(' && from[1] == '%')
            add_part(&writer, from[3] == 'd' ? "%es:" : "%ds:", 4);
        depth += *from == '(';
        depth -= *from == ')';
        if (is_decimal(operands, from, depth))
            add_part(&writer, "0x", 2);
        add_part(&writer, from, 1);
    }
}
