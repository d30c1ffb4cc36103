/* The header of a unit of .debug_line (DWARF 5, 6.2.4), written by hand as version 4. */
#include "line_header.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { LENGTH = 30, STANDARD_LENGTHS_AT = 16, UNIT_SIZE = 34 };

static void make_unit(uint8_t bytes[UNIT_SIZE])
{
    static const uint8_t unit[UNIT_SIZE] = {
        LENGTH, 0, 0, 0,    4,  0,  /* length, version */
        20,     0, 0, 0,            /* header length */
        1,      1, 1, 0xfb, 14, 13, /* instructions, operations, is_stmt, line base, range, opcodes
                                     */
        0,      1, 1, 1,    1,  0,  0, 0, 1, 0, 0, 1, /* lengths of standard opcodes */
        0,      0,                                    /* no directories, no files */
        0,      1, 1, 0x20,                           /* the program */
    };
    memcpy(bytes, unit, UNIT_SIZE);
}

static void header_is_read(void **state)
{
    (void)state;
    uint8_t bytes[UNIT_SIZE];
    struct line_header header;
    make_unit(bytes);
    assert_true(parse_line_header(&(struct elf_bytes){bytes, UNIT_SIZE}, 0, &header));
    assert_int_equal(header.version, 4);
    assert_int_equal(header.offset_size, 4);
    assert_int_equal(header.line_base, -5);
    assert_int_equal(header.line_range, 14);
    assert_int_equal(header.opcode_base, 13);
    assert_ptr_equal(header.opcode_lengths, bytes + STANDARD_LENGTHS_AT);
    assert_int_equal(header.program.end - header.program.next, 4);
    assert_ptr_equal(header.program.end, bytes + UNIT_SIZE);
}

static void what_makes_no_sense_is_refused(void **state)
{
    (void)state;
    uint8_t bytes[2 * UNIT_SIZE];
    struct line_header header;
    const struct elf_bytes section = {bytes, sizeof(bytes)};
    make_unit(bytes);
    make_unit(bytes + UNIT_SIZE);
    assert_true(parse_line_header(&section, 0, &header));
    assert_int_equal(header.next_unit, UNIT_SIZE);
    assert_true(parse_line_header(&section, UNIT_SIZE, &header));
    assert_int_equal(header.next_unit, 0);
    bytes[4] = 6; /* No such version yet: the next unit is found all the same. */
    assert_false(parse_line_header(&section, 0, &header));
    assert_int_equal(header.next_unit, UNIT_SIZE);
    make_unit(bytes);
    bytes[15] = 0; /* Opcodes begin with 1. */
    assert_false(parse_line_header(&section, 0, &header));
    make_unit(bytes);
    bytes[6] = 200; /* A header that is longer than its unit. */
    assert_false(parse_line_header(&section, 0, &header));
    for (size_t size = 0; size < UNIT_SIZE - 4; size++)
        assert_false(parse_line_header(&(struct elf_bytes){bytes, size}, 0, &header));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(header_is_read),
        cmocka_unit_test(what_makes_no_sense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
