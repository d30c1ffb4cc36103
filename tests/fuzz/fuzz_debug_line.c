/* The .debug_line parser: the input is the section, and its own string sections. */
#include "debug_line.h"
#include "line_header.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
    struct debug_line_row rows[64] = {0};
    for (size_t i = 0; i < PSC_ARRAY_SIZE(rows); i++)
        rows[i].address = i < 32 ? i * 0x100 : 0x40000000 + i * 0x1000;
    struct line_header header;
    for (uint64_t at = 0; at < size; at = header.next_unit) {
        bool good = parse_line_header(&sections.line, at, &header);
        uint64_t next = parse_debug_line_unit(
            &sections, at,
            &(struct debug_line_query){rows, PSC_ARRAY_SIZE(rows), code, PSC_ARRAY_SIZE(code)});
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
