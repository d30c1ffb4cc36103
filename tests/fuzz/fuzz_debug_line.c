/* The .debug_line parser: the input is the section, and its own string sections. */
#include "debug_line.h"
#include "line_header.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ROWS 64

/** The answers that the first extents of a unit give, beside those of its rows. */
struct answers {
    const struct debug_line_row *rows;
    bool met[ROWS];
};

static bool take_extent(void *context, const struct debug_line_extent *extent)
{
    struct answers *answers = context;
    if (extent->start >= extent->end)
        abort();
    for (size_t i = 0; i < ROWS; i++) {
        const struct debug_line_row *row = &answers->rows[i];
        if (answers->met[i] || row->address < extent->start || row->address >= extent->end)
            continue;
        answers->met[i] = true;
        if (!row->found || row->file != extent->file || row->line != extent->line)
            abort();
    }
    return true;
}

static void compare_extents(const struct debug_line_sections *sections, uint64_t unit,
                            const struct debug_line_query *query)
{
    struct debug_line_row rows[ROWS];
    for (size_t i = 0; i < ROWS; i++)
        rows[i] = (struct debug_line_row){.address = query->rows[i].address};
    (void)parse_debug_line_unit(
        sections, unit, &(struct debug_line_query){rows, ROWS, query->code, query->code_count});
    struct answers answers = {.rows = rows};
    const struct debug_line_taker taker = {take_extent, &answers};
    parse_debug_line_extents(sections, unit, query->code, query->code_count, &taker);
    for (size_t i = 0; i < ROWS; i++)
        if (rows[i].found != answers.met[i])
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const struct debug_line_sections sections = {
        .line = {data, size},
        .line_strings = {data, size},
        .strings = {data, size},
    };
    static const struct elf_range code[] = {{0, 0x100000}, {0x40000000, 0x50000000}};
    struct debug_line_row rows[ROWS] = {0};
    for (size_t i = 0; i < PSC_ARRAY_SIZE(rows); i++)
        rows[i].address = i < 32 ? i * 0x100 : 0x40000000 + i * 0x1000;
    struct line_header header;
    for (uint64_t at = 0; at < size; at = header.next_unit) {
        bool good = parse_line_header(&sections.line, at, &header);
        const struct debug_line_query query = {rows, ROWS, code, PSC_ARRAY_SIZE(code)};
        compare_extents(&sections, at, &query);
        uint64_t next = parse_debug_line_unit(&sections, at, &query);
        if (next != header.next_unit || (good && !header.opcode_lengths && header.opcode_base > 1))
            abort();
        if (header.next_unit <= at)
            break;
    }
    for (size_t ranges = 0; ranges <= PSC_ARRAY_SIZE(code); ranges += 2) {
        parse_debug_line(&sections,
                         &(struct debug_line_query){rows, PSC_ARRAY_SIZE(rows), code, ranges});
        for (size_t i = 0; i < PSC_ARRAY_SIZE(rows); i++) {
            struct debug_line_file file;
            if (rows[i].found && rows[i].unit >= size)
                abort();
            if (rows[i].found &&
                parse_debug_line_file(&sections, rows[i].unit, rows[i].file, &file) && !file.name)
                abort();
        }
    }
    return 0;
}
