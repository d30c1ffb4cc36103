#include "debug_line.h"

#include "byte_cursor.h"

#include <dwarf.h>

/* Section numbers are those of DWARF 5; "6.2" is "Line Number Information". */

/** Forms per entry of a DWARF 5 directory or file table; compilers write at most five. */
#define ENTRY_FORMAT_LIMIT 32

/** A unit's header (6.2.4). */
struct line_header {
    uint16_t version;
    uint8_t offset_size;
    uint8_t address_size;
    uint8_t minimum_instruction_length;
    uint8_t maximum_operations;
    int8_t line_base;
    uint8_t line_range;
    uint8_t opcode_base;
    const uint8_t *opcode_lengths; /**< opcode_base - 1 of them. */
    struct byte_cursor tables;     /**< Directories and files. */
    struct byte_cursor program;
    uint64_t next_unit; /**< 0: this is the last. */
};

/** Finds the end of the unit; what follows does not depend on whether the unit makes sense. */
static bool parse_unit_bounds(const struct section_bytes *section, uint64_t offset,
                              struct byte_cursor *ret, struct line_header *header)
{
    header->next_unit = 0;
    if (!section->data || offset >= section->size)
        return false;
    struct byte_cursor cursor = {section->data + offset, section->data + section->size, false};
    uint64_t length = cursor_unsigned(&cursor, 4);
    header->offset_size = 4;
    if (length == UINT32_MAX) {
        length = cursor_unsigned(&cursor, 8);
        header->offset_size = 8;
    } else if (length >= 0xfffffff0) {
        return false; /* Reserved values, 7.2.2. */
    }
    if (cursor.failed)
        return false;
    if (length < cursor_left(&cursor)) {
        cursor.end = cursor.next + length;
        header->next_unit = (uint64_t)(cursor.end - section->data);
    }
    *ret = cursor;
    return true;
}

static bool parse_line_header(const struct section_bytes *section, uint64_t offset,
                              struct line_header *ret)
{
    struct byte_cursor cursor;
    if (!parse_unit_bounds(section, offset, &cursor, ret))
        return false;
    ret->version = (uint16_t)cursor_unsigned(&cursor, 2);
    if (ret->version < 2 || ret->version > 5)
        return false;
    ret->address_size = 8;
    if (ret->version >= 5) {
        ret->address_size = cursor_u8(&cursor);
        cursor_u8(&cursor); /* segment_selector_size */
    }
    uint64_t header_length = cursor_unsigned(&cursor, ret->offset_size);
    if (header_length > cursor_left(&cursor))
        return false;
    ret->program = (struct byte_cursor){cursor.next + header_length, cursor.end, false};
    cursor.end = ret->program.next;

    ret->minimum_instruction_length = cursor_u8(&cursor);
    ret->maximum_operations = ret->version >= 4 ? cursor_u8(&cursor) : 1;
    cursor_u8(&cursor); /* default_is_stmt: every row counts here. */
    ret->line_base = (int8_t)cursor_u8(&cursor);
    ret->line_range = cursor_u8(&cursor);
    ret->opcode_base = cursor_u8(&cursor);
    if (cursor.failed || ret->opcode_base == 0)
        return false;
    ret->opcode_lengths = cursor_take(&cursor, ret->opcode_base - 1u);
    ret->tables = cursor;
    return !cursor.failed;
}

/** The state machine (6.2.2), and the questions that it answers. */
struct line_machine {
    const struct line_header *header;
    const struct code_range *code;
    size_t code_count;
    struct debug_line_row *rows;
    size_t count;
    uint64_t unit;

    uint64_t address;
    uint64_t operation_index;
    uint32_t file;
    uint32_t line;

    /* The last row, whose extent the next one ends. */
    bool in_sequence;
    bool sequence_counts; /**< It is not the remains of a discarded function. */
    uint64_t row_address;
    uint32_t row_file;
    uint32_t row_line;
    size_t next; /**< The first question at or behind row_address. */
};

static void machine_reset(struct line_machine *machine)
{
    machine->address = 0;
    machine->operation_index = 0;
    machine->file = 1;
    machine->line = 1;
    machine->in_sequence = false;
}

static bool machine_holds_code(const struct line_machine *machine, uint64_t address)
{
    if (address == 0)
        return false;
    for (size_t i = 0; i < machine->code_count; i++) {
        if (address >= machine->code[i].start && address < machine->code[i].end)
            return true;
    }
    return machine->code_count == 0;
}

/** The first question at or behind `address`. */
static size_t machine_search(const struct line_machine *machine, uint64_t address)
{
    return SORTED_BELOW(machine->rows, address, machine->count, address);
}

/** Gives the last row's line to the questions up to `end`. */
static void machine_answer(struct line_machine *machine, uint64_t end)
{
    while (machine->next < machine->count && machine->rows[machine->next].address < end) {
        struct debug_line_row *row = &machine->rows[machine->next++];
        if (row->found)
            continue;
        row->found = true;
        row->unit = machine->unit;
        row->file = machine->row_file;
        row->line = machine->row_line;
    }
}

static void machine_append_row(struct line_machine *machine)
{
    if (!machine->in_sequence) {
        machine->in_sequence = true;
        machine->sequence_counts = machine_holds_code(machine, machine->address);
        if (machine->sequence_counts)
            machine->next = machine_search(machine, machine->address);
    } else if (machine->sequence_counts) {
        if (machine->address > machine->row_address)
            machine_answer(machine, machine->address);
        else if (machine->address < machine->row_address)
            machine->next = machine_search(machine, machine->address);
    }
    machine->row_address = machine->address;
    machine->row_file = machine->file;
    machine->row_line = machine->line;
}

static void machine_end_sequence(struct line_machine *machine)
{
    if (machine->in_sequence && machine->sequence_counts && machine->address > machine->row_address)
        machine_answer(machine, machine->address);
    machine_reset(machine);
}

/** 6.2.5.1: VLIW machines count operations within an instruction; others have one. */
static void machine_advance(struct line_machine *machine, uint64_t operations)
{
    const struct line_header *header = machine->header;
    if (header->maximum_operations <= 1) {
        machine->address += operations * header->minimum_instruction_length;
        return;
    }
    uint64_t sum = machine->operation_index + operations;
    machine->address += sum / header->maximum_operations * header->minimum_instruction_length;
    machine->operation_index = sum % header->maximum_operations;
}

static void machine_special(struct line_machine *machine, uint8_t opcode)
{
    const struct line_header *header = machine->header;
    unsigned int adjusted = opcode - header->opcode_base;
    unsigned int range = header->line_range;
    if (range == 0) {
        machine->line += (uint32_t)header->line_base;
    } else {
        machine_advance(machine, adjusted / range);
        machine->line += (uint32_t)(header->line_base + (int)(adjusted % range));
    }
    machine_append_row(machine);
}

static void machine_extended(struct line_machine *machine, struct byte_cursor *program)
{
    uint64_t length = cursor_uleb(program);
    const uint8_t *bytes = cursor_take(program, length);
    if (!bytes || length == 0)
        return;
    struct byte_cursor operands = {bytes + 1, bytes + length, false};
    switch (bytes[0]) {
    case DW_LNE_end_sequence:
        machine_end_sequence(machine);
        break;
    case DW_LNE_set_address:
        machine->address = cursor_unsigned(&operands, length - 1);
        machine->operation_index = 0;
        break;
    default: /* define_file (no compiler writes it), set_discriminator, vendors' own. */
        break;
    }
}

/** A standard opcode whose number of operands is not the usual one is not the usual one. */
static bool is_usual_opcode(const struct line_header *header, uint8_t opcode)
{
    static const uint8_t usual[] = {0, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1};
    return opcode < PSC_ARRAY_SIZE(usual) && header->opcode_lengths[opcode - 1] == usual[opcode];
}

static void machine_standard(struct line_machine *machine, struct byte_cursor *program,
                             uint8_t opcode)
{
    const struct line_header *header = machine->header;
    if (!is_usual_opcode(header, opcode)) {
        for (unsigned int i = 0; i < header->opcode_lengths[opcode - 1]; i++)
            cursor_uleb(program);
        return;
    }
    switch (opcode) {
    case DW_LNS_copy:
        machine_append_row(machine);
        break;
    case DW_LNS_advance_pc:
        machine_advance(machine, cursor_uleb(program));
        break;
    case DW_LNS_advance_line:
        machine->line += (uint32_t)cursor_sleb(program);
        break;
    case DW_LNS_set_file:
        machine->file = (uint32_t)cursor_uleb(program);
        break;
    case DW_LNS_const_add_pc:
        if (header->line_range)
            machine_advance(machine, (255u - header->opcode_base) / header->line_range);
        break;
    case DW_LNS_fixed_advance_pc:
        /* The one operand that is not a LEB128: a uhalf. */
        machine->address += cursor_unsigned(program, 2);
        machine->operation_index = 0;
        break;
    case DW_LNS_set_column:
    case DW_LNS_set_isa:
        cursor_uleb(program);
        break;
    default: /* negate_stmt, set_basic_block, set_prologue_end, set_epilogue_begin */
        break;
    }
}

uint64_t parse_debug_line_unit(const struct debug_line_sections *sections, uint64_t offset,
                               const struct code_range *code, size_t code_count,
                               struct debug_line_row *rows, size_t count)
{
    struct line_header header;
    if (!parse_line_header(&sections->line, offset, &header))
        return header.next_unit;
    struct line_machine machine = {
        .header = &header,
        .code = code,
        .code_count = code_count,
        .rows = rows,
        .count = count,
        .unit = offset,
    };
    machine_reset(&machine);
    struct byte_cursor program = header.program;
    while (program.next < program.end) {
        uint8_t opcode = *program.next++;
        if (opcode >= header.opcode_base)
            machine_special(&machine, opcode);
        else if (opcode == 0)
            machine_extended(&machine, &program);
        else
            machine_standard(&machine, &program, opcode);
    }
    return header.next_unit;
}

void parse_debug_line(const struct debug_line_sections *sections, const struct code_range *code,
                      size_t code_count, struct debug_line_row *rows, size_t count)
{
    uint64_t offset = 0;
    size_t missing = 0;
    do {
        offset = parse_debug_line_unit(sections, offset, code, code_count, rows, count);
        while (missing < count && rows[missing].found)
            missing++;
    } while (offset != 0 && missing < count);
}

/* ---- directory and file tables ---- */

static const char *string_at(const struct section_bytes *section, uint64_t offset)
{
    if (!section->data || offset >= section->size)
        return NULL;
    const uint8_t *start = section->data + offset;
    return memchr(start, 0, section->size - offset) ? (const char *)start : NULL;
}

/** DWARF 2 to 4 (6.2.4 there): strings up to an empty one, numbered from 1; NULL: not there. */
static const char *find_old_directory(struct byte_cursor tables, uint64_t number)
{
    for (uint64_t i = 1; !tables.failed; i++) {
        const char *directory = cursor_string(&tables);
        if (!directory || !*directory)
            break;
        if (i == number)
            return directory;
    }
    return NULL;
}

static bool find_old_file(struct byte_cursor tables, uint64_t number, struct debug_line_file *ret)
{
    struct byte_cursor files = tables;
    const char *string;
    do {
        string = cursor_string(&files);
    } while (string && *string);

    for (uint64_t i = 1; !files.failed; i++) {
        const char *name = cursor_string(&files);
        if (!name || !*name)
            break;
        uint64_t directory = cursor_uleb(&files);
        cursor_uleb(&files); /* time of modification */
        cursor_uleb(&files); /* size */
        if (i == number && !files.failed) {
            ret->name = name;
            ret->directory = directory ? find_old_directory(tables, directory) : NULL;
            ret->base = NULL;
            return true;
        }
    }
    return false;
}

struct entry_format {
    uint64_t content;
    uint64_t form;
};

/** One DWARF 5 table: how an entry is made up, and how many follow (6.2.4.1). */
struct entry_table {
    struct entry_format formats[ENTRY_FORMAT_LIMIT];
    size_t format_count;
    uint64_t count;
};

struct entry {
    const char *path;
    uint64_t directory;
};

static bool parse_entry_table(struct byte_cursor *cursor, struct entry_table *ret)
{
    ret->format_count = cursor_u8(cursor);
    if (ret->format_count > ENTRY_FORMAT_LIMIT)
        return false;
    for (size_t i = 0; i < ret->format_count; i++) {
        ret->formats[i].content = cursor_uleb(cursor);
        ret->formats[i].form = cursor_uleb(cursor);
    }
    ret->count = cursor_uleb(cursor);
    /* Each entry takes at least a byte, else the table could be endless. */
    return !cursor->failed && (ret->format_count > 0 || ret->count == 0);
}

/** Reads one value: a string or a number; false for a form that has no place here. */
static bool parse_entry_value(struct byte_cursor *cursor,
                              const struct debug_line_sections *sections, uint8_t offset_size,
                              uint64_t form, const char **ret_string, uint64_t *ret_number)
{
    *ret_string = NULL;
    *ret_number = 0;
    switch (form) {
    case DW_FORM_string:
        *ret_string = cursor_string(cursor);
        break;
    case DW_FORM_line_strp:
        *ret_string = string_at(&sections->line_strings, cursor_unsigned(cursor, offset_size));
        break;
    case DW_FORM_strp:
        *ret_string = string_at(&sections->strings, cursor_unsigned(cursor, offset_size));
        break;
    case DW_FORM_strp_sup: /* In a file shared by several (dwz): not followed. */
        cursor_unsigned(cursor, offset_size);
        break;
    case DW_FORM_udata:
        *ret_number = cursor_uleb(cursor);
        break;
    case DW_FORM_data1:
        *ret_number = cursor_u8(cursor);
        break;
    case DW_FORM_data2:
        *ret_number = cursor_unsigned(cursor, 2);
        break;
    case DW_FORM_data4:
        *ret_number = cursor_unsigned(cursor, 4);
        break;
    case DW_FORM_data8:
        *ret_number = cursor_unsigned(cursor, 8);
        break;
    case DW_FORM_data16: /* MD5 */
        cursor_take(cursor, 16);
        break;
    case DW_FORM_block:
        cursor_take(cursor, cursor_uleb(cursor));
        break;
    default:
        return false;
    }
    return !cursor->failed;
}

static bool parse_entry(struct byte_cursor *cursor, const struct debug_line_sections *sections,
                        uint8_t offset_size, const struct entry_table *table, struct entry *ret)
{
    ret->path = NULL;
    ret->directory = 0;
    for (size_t i = 0; i < table->format_count; i++) {
        const char *string;
        uint64_t number;
        if (!parse_entry_value(cursor, sections, offset_size, table->formats[i].form, &string,
                               &number))
            return false;
        if (table->formats[i].content == DW_LNCT_path)
            ret->path = string;
        else if (table->formats[i].content == DW_LNCT_directory_index)
            ret->directory = number;
    }
    return true;
}

/** Entry `number` of the table at the cursor; the cursor is a copy. */
static bool find_entry(struct byte_cursor cursor, const struct debug_line_sections *sections,
                       uint8_t offset_size, const struct entry_table *table, uint64_t number,
                       struct entry *ret)
{
    if (number >= table->count)
        return false;
    for (uint64_t i = 0; i <= number; i++) {
        if (!parse_entry(&cursor, sections, offset_size, table, ret))
            return false;
    }
    return ret->path != NULL;
}

static bool find_file(const struct line_header *header, const struct debug_line_sections *sections,
                      uint32_t number, struct debug_line_file *ret)
{
    struct byte_cursor cursor = header->tables;
    struct entry_table directories;
    if (!parse_entry_table(&cursor, &directories))
        return false;
    struct byte_cursor first_directory = cursor;
    struct entry entry;
    for (uint64_t i = 0; i < directories.count; i++) {
        if (!parse_entry(&cursor, sections, header->offset_size, &directories, &entry))
            return false;
    }
    struct entry_table files;
    struct entry file;
    if (!parse_entry_table(&cursor, &files) ||
        !find_entry(cursor, sections, header->offset_size, &files, number, &file))
        return false;

    ret->name = file.path;
    ret->directory = NULL;
    ret->base = NULL;
    if (find_entry(first_directory, sections, header->offset_size, &directories, 0, &entry))
        ret->base = entry.path;
    if (file.directory != 0 && find_entry(first_directory, sections, header->offset_size,
                                          &directories, file.directory, &entry))
        ret->directory = entry.path;
    return true;
}

bool parse_debug_line_file(const struct debug_line_sections *sections, uint64_t unit, uint32_t file,
                           struct debug_line_file *ret)
{
    struct line_header header;
    if (!parse_line_header(&sections->line, unit, &header))
        return false;
    return header.version >= 5 ? find_file(&header, sections, file, ret)
                               : find_old_file(header.tables, file, ret);
}
