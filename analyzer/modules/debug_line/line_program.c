#include "debug_line.h"

#include "line_header.h"

#include <dwarf.h>

/* Section numbers are those of DWARF 5; "6.2" is "Line Number Information". */

/** What special opcodes do (6.2.5.1), the same in most units of a file: divided once. */
struct special_steps {
    bool known; /**< Of a header with these: */
    uint8_t opcode_base;
    uint8_t line_range;
    int8_t line_base;
    uint8_t operations[256]; /**< By opcode. */
    int16_t lines[256];
};

/** The state machine (6.2.2), and the questions that it answers. */
struct line_machine {
    const struct line_header *header;
    const struct special_steps *steps;
    const struct debug_line_query *query;
    const struct debug_line_taker *taker; /**< NULL: only questions are answered. */
    bool ended;                           /**< It wants no more. */
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
    size_t next;     /**< The first question at or behind row_address. */
    uint64_t wanted; /**< Its address: rows that end before it answer nothing. */
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
    for (size_t i = 0; i < machine->query->code_count; i++) {
        if (address >= machine->query->code[i].start && address < machine->query->code[i].end)
            return true;
    }
    return machine->query->code_count == 0;
}

/** Who takes all rows wants each. */
static void machine_set_next(struct line_machine *machine, size_t next)
{
    machine->next = next;
    machine->wanted = machine->taker                 ? 0
                      : next < machine->query->count ? machine->query->rows[next].address
                                                     : UINT64_MAX;
}

/** Goes on with the first question at or behind `address`. */
static void machine_search(struct line_machine *machine, uint64_t address)
{
    machine_set_next(machine,
                     SORTED_BELOW(machine->query->rows, address, machine->query->count, address));
}

/** Gives the last row's line to the questions up to `end`. */
static void machine_answer(struct line_machine *machine, uint64_t end)
{
    if (machine->taker)
        machine->ended = !machine->taker->take(
            machine->taker->context, &(struct debug_line_extent){.start = machine->row_address,
                                                                 .end = end,
                                                                 .file = machine->row_file,
                                                                 .line = machine->row_line});
    size_t next = machine->next;
    for (; next < machine->query->count && machine->query->rows[next].address < end; next++) {
        struct debug_line_row *row = &machine->query->rows[next];
        if (row->found)
            continue;
        row->found = true;
        row->unit = machine->unit;
        row->file = machine->row_file;
        row->line = machine->row_line;
    }
    machine_set_next(machine, next);
}

static void machine_append_row(struct line_machine *machine)
{
    if (!machine->in_sequence) {
        machine->in_sequence = true;
        machine->sequence_counts = machine_holds_code(machine, machine->address);
        if (machine->sequence_counts)
            machine_search(machine, machine->address);
    } else if (machine->sequence_counts) {
        if (machine->address < machine->row_address)
            machine_search(machine, machine->address);
        else if (machine->address > machine->wanted && machine->address > machine->row_address)
            machine_answer(machine, machine->address);
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

static void steps_divide(const struct line_header *header, struct special_steps *steps)
{
    unsigned int range = header->line_range;
    if (steps->known && steps->opcode_base == header->opcode_base && steps->line_range == range &&
        steps->line_base == header->line_base)
        return;
    *steps = (struct special_steps){.known = true,
                                    .opcode_base = header->opcode_base,
                                    .line_range = header->line_range,
                                    .line_base = header->line_base};
    for (unsigned int opcode = header->opcode_base; opcode < 256; opcode++) {
        unsigned int adjusted = opcode - header->opcode_base;
        steps->operations[opcode] = (uint8_t)(range ? adjusted / range : 0);
        steps->lines[opcode] = (int16_t)(header->line_base + (int)(range ? adjusted % range : 0));
    }
}

static void machine_special(struct line_machine *machine, uint8_t opcode)
{
    machine_advance(machine, machine->steps->operations[opcode]);
    machine->line += (uint32_t)(int32_t)machine->steps->lines[opcode];
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

static void machine_run(struct line_machine *machine)
{
    const struct line_header *header = machine->header;
    struct byte_cursor program = header->program;
    machine_reset(machine);
    while (program.next && program.next < program.end && !machine->ended) {
        uint8_t opcode = *program.next++;
        if (opcode >= header->opcode_base)
            machine_special(machine, opcode);
        else if (opcode == 0)
            machine_extended(machine, &program);
        else
            machine_standard(machine, &program, opcode);
    }
}

static uint64_t parse_unit(const struct debug_line_sections *sections, uint64_t offset,
                           const struct debug_line_query *query, struct special_steps *steps)
{
    struct line_header header;
    if (!parse_line_header(&sections->line, offset, &header))
        return header.next_unit;
    steps_divide(&header, steps);
    struct line_machine machine = {
        .header = &header,
        .steps = steps,
        .query = query,
        .unit = offset,
    };
    machine_run(&machine);
    return header.next_unit;
}

uint64_t parse_debug_line_unit(const struct debug_line_sections *sections, uint64_t offset,
                               const struct debug_line_query *query)
{
    struct special_steps steps = {0};
    return parse_unit(sections, offset, query, &steps);
}

void parse_debug_line_extents(const struct debug_line_sections *sections, uint64_t offset,
                              const struct elf_range *code, size_t code_count,
                              const struct debug_line_taker *taker)
{
    const struct debug_line_query query = {.code = code, .code_count = code_count};
    struct special_steps steps = {0};
    struct line_header header;
    if (!parse_line_header(&sections->line, offset, &header))
        return;
    steps_divide(&header, &steps);
    struct line_machine machine = {
        .header = &header,
        .steps = &steps,
        .query = &query,
        .taker = taker,
        .unit = offset,
    };
    machine_run(&machine);
}

void parse_debug_line(const struct debug_line_sections *sections,
                      const struct debug_line_query *query)
{
    struct special_steps steps = {0};
    uint64_t offset = 0;
    size_t missing = 0;
    do {
        offset = parse_unit(sections, offset, query, &steps);
        while (missing < query->count && query->rows[missing].found)
            missing++;
    } while (offset != 0 && missing < query->count);
}
