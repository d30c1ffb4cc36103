/* parse_debug_line*() on line tables written by hand. */
#include "debug_line.h"

#include <dwarf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/** A unit being written. */
struct writer {
    uint8_t bytes[1024];
    size_t size;
};

static void put(struct writer *writer, const void *bytes, size_t size)
{
    assert_true(writer->size + size <= sizeof(writer->bytes));
    memcpy(writer->bytes + writer->size, bytes, size);
    writer->size += size;
}

static void put_number(struct writer *writer, uint64_t value, size_t size)
{
    put(writer, &value, size);
}

static void put_u8(struct writer *writer, unsigned int value)
{
    put_number(writer, value, 1);
}

static void put_string(struct writer *writer, const char *string)
{
    put(writer, string, strlen(string) + 1);
}

static void set_u32(struct writer *writer, size_t at, size_t value)
{
    uint32_t number = (uint32_t)value;
    memcpy(writer->bytes + at, &number, sizeof(number));
}

/** Where the two lengths of a unit stand, to be filled in. */
struct open_unit {
    size_t length_at;
    size_t header_length_at;
    bool wide;
};

static void put_standard_lengths(struct writer *writer)
{
    static const uint8_t lengths[] = {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1};
    put(writer, lengths, sizeof(lengths));
}

static struct open_unit begin_unit(struct writer *writer, unsigned int version, bool wide)
{
    struct open_unit unit = {.wide = wide};
    if (wide)
        put_number(writer, UINT32_MAX, 4);
    unit.length_at = writer->size;
    put_number(writer, 0, wide ? 8 : 4);
    put_number(writer, version, 2);
    if (version >= 5) {
        put_u8(writer, 8);
        put_u8(writer, 0);
    }
    unit.header_length_at = writer->size;
    put_number(writer, 0, wide ? 8 : 4);
    put_u8(writer, 1); /* minimum_instruction_length */
    if (version >= 4)
        put_u8(writer, 1); /* maximum_operations */
    put_u8(writer, 1);     /* default_is_stmt */
    put_u8(writer, (unsigned int)(uint8_t)-5);
    put_u8(writer, 14);
    put_u8(writer, 13);
    put_standard_lengths(writer);
    return unit;
}

static void end_header(struct writer *writer, const struct open_unit *unit)
{
    set_u32(writer, unit->header_length_at,
            writer->size - unit->header_length_at - (unit->wide ? 8 : 4));
}

static void end_unit(struct writer *writer, const struct open_unit *unit)
{
    set_u32(writer, unit->length_at, writer->size - unit->length_at - (unit->wide ? 8 : 4));
}

static void put_set_address(struct writer *writer, uint64_t address)
{
    put_u8(writer, 0);
    put_u8(writer, 9);
    put_u8(writer, DW_LNE_set_address);
    put_number(writer, address, 8);
}

static void put_end_sequence(struct writer *writer)
{
    put_u8(writer, 0);
    put_u8(writer, 1);
    put_u8(writer, DW_LNE_end_sequence);
}

/** [base, base+4) line 3; [base+4, base+0x104) line 5 file 2; [base+0x104, base+0x110) line 1. */
static void put_program(struct writer *writer, uint64_t base)
{
    put_set_address(writer, base);
    put_u8(writer, DW_LNS_advance_line);
    put_u8(writer, 2);
    put_u8(writer, DW_LNS_copy);
    put_u8(writer, DW_LNS_set_file);
    put_u8(writer, 2);
    put_u8(writer, 13 + 4 * 14 + 5 + 2); /* special: address + 4, line + 2 */
    put_u8(writer, DW_LNS_fixed_advance_pc);
    put_number(writer, 0x100, 2);
    put_u8(writer, DW_LNS_advance_line);
    put_u8(writer, 0x7c); /* -4 */
    put_u8(writer, DW_LNS_set_file);
    put_u8(writer, 1);
    put_u8(writer, DW_LNS_copy);
    put_u8(writer, DW_LNS_advance_pc);
    put_u8(writer, 12);
    put_end_sequence(writer);
}

static void put_old_unit(struct writer *writer, unsigned int version, bool wide, uint64_t base)
{
    struct open_unit unit = begin_unit(writer, version, wide);
    put_string(writer, "inc");
    put_string(writer, "/usr/include");
    put_string(writer, "");
    put_string(writer, "main.c");
    put(writer, "\0\0\0", 3);
    put_string(writer, "head.h");
    put(writer, "\2\0\0", 3);
    put_string(writer, "own.h");
    put(writer, "\1\0\0", 3);
    put_string(writer, "");
    end_header(writer, &unit);
    put_program(writer, base);
    end_unit(writer, &unit);
}

static const char line_strings[] = "/build\0inc\0main.c";

static void put_unit_5(struct writer *writer, bool wide, uint64_t base)
{
    struct open_unit unit = begin_unit(writer, 5, wide);
    put_u8(writer, 1);
    put_u8(writer, DW_LNCT_path);
    put_u8(writer, DW_FORM_line_strp);
    put_u8(writer, 2);
    put_number(writer, 0, wide ? 8 : 4);
    put_number(writer, 7, wide ? 8 : 4);
    put_u8(writer, 3);
    put_u8(writer, DW_LNCT_path);
    put_u8(writer, DW_FORM_string);
    put_u8(writer, DW_LNCT_directory_index);
    put_u8(writer, DW_FORM_udata);
    put_u8(writer, DW_LNCT_MD5);
    put_u8(writer, DW_FORM_data16);
    put_u8(writer, 3);
    for (unsigned int i = 0; i < 3; i++) {
        put_string(writer, i == 2 ? "other.c" : "main.c");
        put_u8(writer, i == 2);
        put(writer, "0123456789abcdef", 16);
    }
    end_header(writer, &unit);
    put_program(writer, base);
    end_unit(writer, &unit);
}

static struct debug_line_sections sections_of(const struct writer *writer)
{
    return (struct debug_line_sections){
        .line = {writer->bytes, writer->size},
        .line_strings = {(const uint8_t *)line_strings, sizeof(line_strings)},
    };
}

static void check_rows(const struct debug_line_sections *sections, uint64_t base, uint64_t unit)
{
    struct debug_line_row rows[] = {
        {.address = base - 1},     {.address = base},         {.address = base + 3},
        {.address = base + 4},     {.address = base + 0x103}, {.address = base + 0x104},
        {.address = base + 0x10f}, {.address = base + 0x110},
    };
    static const uint32_t lines[] = {0, 3, 3, 5, 5, 1, 1, 0};
    static const uint32_t files[] = {0, 1, 1, 2, 2, 1, 1, 0};
    parse_debug_line(sections, &(struct debug_line_query){rows, PSC_ARRAY_SIZE(rows), NULL, 0});
    for (size_t i = 0; i < PSC_ARRAY_SIZE(rows); i++) {
        assert_int_equal(rows[i].found, lines[i] != 0);
        assert_int_equal(rows[i].line, lines[i]);
        assert_int_equal(rows[i].file, files[i]);
        assert_int_equal(rows[i].unit, rows[i].found ? unit : 0);
    }
}

struct taken {
    struct debug_line_extent extents[8];
    size_t count;
    size_t limit;
};

static bool take_extent(void *context, const struct debug_line_extent *extent)
{
    struct taken *taken = context;
    assert_true(taken->count < taken->limit);
    taken->extents[taken->count++] = *extent;
    return taken->count < taken->limit;
}

static void whole_units_are_taken(void **state)
{
    (void)state;
    struct writer writer = {.size = 0};
    put_old_unit(&writer, 4, false, 0x20); /* Of a discarded function. */
    size_t second = writer.size;
    put_old_unit(&writer, 4, true, 0x1000);
    struct debug_line_sections sections = sections_of(&writer);
    static const struct elf_range code = {0x1000, 0x2000};
    static const struct debug_line_extent wanted[] = {
        {0x1000, 0x1004, 1, 3}, {0x1004, 0x1104, 2, 5}, {0x1104, 0x1110, 1, 1}};
    struct taken taken = {.limit = 8};
    const struct debug_line_taker taker = {take_extent, &taken};
    parse_debug_line_extents(&sections, 0, &code, 1, &taker);
    assert_int_equal(taken.count, 0);
    parse_debug_line_extents(&sections, second, &code, 1, &taker);
    assert_int_equal(taken.count, 3);
    assert_memory_equal(taken.extents, wanted, sizeof(wanted));
    taken = (struct taken){.limit = 2};
    parse_debug_line_extents(&sections, second, &code, 1, &taker);
    assert_int_equal(taken.count, 2);
    parse_debug_line_extents(&sections, writer.size, &code, 1, &taker);
    assert_int_equal(taken.count, 2);
}

static void every_version_gives_the_same_rows(void **state)
{
    (void)state;
    for (unsigned int version = 2; version <= 5; version++) {
        for (int wide = 0; wide < 2; wide++) {
            struct writer writer = {.size = 0};
            if (version < 5)
                put_old_unit(&writer, version, wide, 0x1000);
            else
                put_unit_5(&writer, wide, 0x1000);
            struct debug_line_sections sections = sections_of(&writer);
            check_rows(&sections, 0x1000, 0);
        }
    }
}

static void units_follow_each_other(void **state)
{
    (void)state;
    struct writer writer = {.size = 0};
    put_old_unit(&writer, 3, false, 0x1000);
    size_t unknown = writer.size;
    put_number(&writer, 6, 4); /* A unit of a version that does not exist. */
    put_number(&writer, 77, 2);
    put_number(&writer, 0, 4);
    size_t second = writer.size;
    put_unit_5(&writer, true, 0x8000);
    struct debug_line_sections sections = sections_of(&writer);
    check_rows(&sections, 0x1000, 0);
    check_rows(&sections, 0x8000, second);
    assert_int_equal(
        parse_debug_line_unit(&sections, 0, &(struct debug_line_query){NULL, 0, NULL, 0}), unknown);
    assert_int_equal(
        parse_debug_line_unit(&sections, second, &(struct debug_line_query){NULL, 0, NULL, 0}), 0);
}

static void files_have_their_directories(void **state)
{
    (void)state;
    struct writer writer = {.size = 0};
    put_old_unit(&writer, 4, false, 0x1000);
    struct debug_line_sections sections = sections_of(&writer);
    struct debug_line_file file;
    assert_true(parse_debug_line_file(&sections, 0, 1, &file));
    assert_string_equal(file.name, "main.c");
    assert_null(file.directory);
    assert_null(file.base);
    assert_true(parse_debug_line_file(&sections, 0, 2, &file));
    assert_string_equal(file.directory, "/usr/include");
    assert_true(parse_debug_line_file(&sections, 0, 3, &file));
    assert_string_equal(file.name, "own.h");
    assert_string_equal(file.directory, "inc");
    assert_false(parse_debug_line_file(&sections, 0, 0, &file));
    assert_false(parse_debug_line_file(&sections, 0, 4, &file));

    size_t second = writer.size;
    put_unit_5(&writer, false, 0x2000);
    sections = sections_of(&writer);
    assert_true(parse_debug_line_file(&sections, second, 0, &file));
    assert_string_equal(file.base, "/build");
    assert_null(file.directory);
    assert_true(parse_debug_line_file(&sections, second, 2, &file));
    assert_string_equal(file.name, "other.c");
    assert_string_equal(file.directory, "inc");
    assert_false(parse_debug_line_file(&sections, second, 3, &file));
}

/** What --gc-sections leaves: sequences at 0, or at an address that is no code. */
static void discarded_functions_answer_nothing(void **state)
{
    (void)state;
    struct writer writer = {.size = 0};
    put_old_unit(&writer, 4, false, 0);
    put_old_unit(&writer, 4, false, 0x20);
    put_old_unit(&writer, 4, false, UINT64_MAX - 0x7f);
    size_t real = writer.size;
    put_old_unit(&writer, 4, false, 0x100);
    struct debug_line_sections sections = sections_of(&writer);
    struct debug_line_row row = {.address = 0x102};
    static const struct elf_range code = {0x100, 0x1000};
    parse_debug_line(&sections, &(struct debug_line_query){&row, 1, &code, 1});
    assert_true(row.found);
    assert_int_equal(row.unit, real);
    assert_int_equal(row.line, 3);
}

/** minimum_instruction_length and more than one operation per instruction. */
static void long_instructions_advance(void **state)
{
    (void)state;
    struct writer writer = {.size = 0};
    put_old_unit(&writer, 4, false, 0x1000);
    writer.bytes[10] = 4; /* minimum_instruction_length */
    struct debug_line_sections sections = sections_of(&writer);
    struct debug_line_row rows[] = {{.address = 0x100f}, {.address = 0x1010}};
    parse_debug_line(&sections, &(struct debug_line_query){rows, 2, NULL, 0});
    assert_int_equal(rows[0].line, 3);
    assert_int_equal(rows[1].line, 5);

    writer.bytes[11] = 2; /* maximum_operations: 4 operations are 2 instructions. */
    struct debug_line_row again[] = {{.address = 0x1007}, {.address = 0x1008}};
    parse_debug_line(&sections, &(struct debug_line_query){again, 2, NULL, 0});
    assert_int_equal(again[0].line, 3);
    assert_int_equal(again[1].line, 5);
}

/** Cut anywhere, or with any byte turned round: no fault, and an end. */
static void broken_tables_end(void **state)
{
    (void)state;
    struct writer whole = {.size = 0};
    put_old_unit(&whole, 4, false, 0x1000);
    size_t second = whole.size;
    put_unit_5(&whole, true, 0x2000);
    struct debug_line_row rows[2];
    struct debug_line_file file;
    for (size_t size = 0; size <= whole.size; size++) {
        uint8_t *exact = test_malloc(size + 1);
        memcpy(exact, whole.bytes, size);
        struct debug_line_sections sections = sections_of(&whole);
        sections.line = (struct elf_bytes){exact, size};
        memset(rows, 0, sizeof(rows));
        rows[0].address = 0x1002;
        rows[1].address = 0x2002;
        parse_debug_line(&sections, &(struct debug_line_query){rows, 2, NULL, 0});
        parse_debug_line_file(&sections, 0, 3, &file);
        parse_debug_line_file(&sections, second, 2, &file);
        test_free(exact);
    }
    for (size_t i = 0; i < whole.size; i++) {
        for (unsigned int flip = 1; flip < 256; flip <<= 1) {
            struct writer broken = whole;
            broken.bytes[i] ^= (uint8_t)flip;
            struct debug_line_sections sections = sections_of(&broken);
            memset(rows, 0, sizeof(rows));
            rows[0].address = 0x1002;
            rows[1].address = 0x2002;
            parse_debug_line(&sections, &(struct debug_line_query){rows, 2, NULL, 0});
            parse_debug_line_file(&sections, 0, 3, &file);
            parse_debug_line_file(&sections, second, 2, &file);
        }
    }
    assert_true(rows[0].found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_version_gives_the_same_rows),
        cmocka_unit_test(whole_units_are_taken),
        cmocka_unit_test(units_follow_each_other),
        cmocka_unit_test(files_have_their_directories),
        cmocka_unit_test(discarded_functions_answer_nothing),
        cmocka_unit_test(long_instructions_advance),
        cmocka_unit_test(broken_tables_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
