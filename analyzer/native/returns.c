/* The way out of a function without call frame information, from its code. */
#include "native_private.h"

#include "disassembly.h"

#include <stdlib.h>
#include <string.h>

#define RETURN_RULES 256u
/* Instructions. */
#define SEARCH_LIMIT 2048u
/* Of all searches together: about a second. */
#define SEARCH_TOTAL ((size_t)1 << 20)
#define BRANCH_LIMIT 128u
#define WINDOW       64u
/* No instruction of x86-64 is longer than 15 bytes (Intel SDM volume 2, 2.3.11). */
#define INSTRUCTION_SIZE_MAX 16
/* Nothing keeps more than this on the stack between a call and its return. */
#define OFFSET_LIMIT ((int64_t)16 * 1024 * 1024)

/* A place on the stack by the registers at the pc that the search began at. */
struct spot {
    bool by_frame_pointer;
    int64_t offset;
};

struct way {
    const struct target_machine *machine;
    psc_addr at;
    struct spot sp;
    bool called;             /* Behind a call on the way, which may be one that does not return. */
    bool frame_pointer_kept; /* The frame pointer is what it was at the beginning. */
    uint16_t saved;          /* A bit for each register that has been fetched. */
    struct spot spots[TARGET_SAVED_LIMIT];
};

struct return_rule {
    psc_addr pc;
    bool exact;
    bool known;
    struct way way;
};

struct returns {
    struct disassembler *disassembler;
    size_t budget;
    struct return_rule cache[RETURN_RULES];
};

struct search {
    struct native *native;
    struct returns *returns;
    struct way branches[BRANCH_LIMIT];
    size_t count;
    size_t budget;
    struct way found;
    bool any, contradicted;
};

static struct returns *create(uint16_t elf_machine)
{
    struct returns *returns = calloc(1, sizeof(*returns));
    if (!returns)
        return NULL;
    returns->budget = SEARCH_TOTAL;
    if (disassembler_open(elf_machine, &returns->disassembler) != PSC_OK) {
        free(returns);
        return NULL;
    }
    return returns;
}

void returns_destroy(struct returns *returns)
{
    if (!returns)
        return;
    disassembler_close(returns->disassembler);
    free(returns);
}

/* ---- instructions ---- */

/* The index in struct native_saved; -1 for registers that a call does not preserve. */
static int saved_index(const struct target_machine *machine, unsigned number)
{
    for (int i = 0; i < machine->saved_count; i++)
        if (machine->saved[i] == number)
            return i;
    return -1;
}

/* Where `disp(%rsp)` or `disp(%rbp)` is; false for other operands. */
static bool find_spot(const struct way *way, const struct operand *operand, struct spot *ret)
{
    if (operand->kind != OPERAND_BASED)
        return false;
    if (operand->register_number == way->machine->sp)
        *ret = way->sp;
    else if (operand->register_number == way->machine->frame_pointer && way->frame_pointer_kept)
        *ret = (struct spot){.by_frame_pointer = true};
    else
        return false;
    ret->offset += operand->number;
    return true;
}

/* A register gets what was on the stack before; what the way itself has pushed is not there. */
static void fetch(struct way *way, unsigned number, struct spot spot)
{
    int index = saved_index(way->machine, number);
    if (index < 0)
        return;
    way->saved &= (uint16_t) ~(1u << index);
    if (spot.by_frame_pointer || spot.offset >= 0) {
        way->saved |= (uint16_t)(1u << index);
        way->spots[index] = spot;
    }
}

/* What an instruction does to the stack pointer. False when that is not known. */
static bool move_stack_pointer(struct way *way, const struct instruction *instruction)
{
    if (instruction->to.width != 8)
        return false;
    if (instruction->verb == INSTRUCTION_ADD)
        way->sp.offset += instruction->from.number;
    else if (instruction->verb == INSTRUCTION_ADDRESS)
        return find_spot(way, &instruction->from, &way->sp);
    else if (instruction->verb == INSTRUCTION_MOVE &&
             operand_is_register(&instruction->from, way->machine->frame_pointer) &&
             way->frame_pointer_kept)
        way->sp = (struct spot){.by_frame_pointer = true};
    else
        return false;
    return true;
}

static void leave(struct way *way)
{
    fetch(way, way->machine->frame_pointer, (struct spot){.by_frame_pointer = true});
    way->sp = (struct spot){.by_frame_pointer = true, .offset = 8};
    way->frame_pointer_kept = false;
}

static void write_register(struct way *way, const struct instruction *instruction)
{
    const struct operand *to = &instruction->to;
    struct spot spot;
    if (instruction->verb == INSTRUCTION_POP)
        fetch(way, to->register_number, way->sp);
    else if (instruction->verb == INSTRUCTION_MOVE && to->width == 8 &&
             instruction->from.width == 8 && find_spot(way, &instruction->from, &spot))
        fetch(way, to->register_number, spot);
    if (to->register_number == way->machine->frame_pointer)
        way->frame_pointer_kept = false;
}

/* Instructions that only go on. False ends the way. */
static bool run_plain(struct way *way, const struct instruction *instruction)
{
    const struct operand *to = &instruction->to;
    enum instruction_verb verb = (enum instruction_verb)instruction->verb;
    if (verb == INSTRUCTION_COMPARE || verb == INSTRUCTION_TEST)
        return true;
    if ((verb == INSTRUCTION_PUSH || verb == INSTRUCTION_POP) && to->width != 8)
        return false;
    if (verb == INSTRUCTION_PUSH) {
        way->sp.offset -= 8;
        return true;
    }
    if (verb == INSTRUCTION_LEAVE && way->frame_pointer_kept) {
        leave(way);
        return true;
    }
    if (verb == INSTRUCTION_OTHER) {
        if (instruction->written >> way->machine->frame_pointer & 1)
            way->frame_pointer_kept = false;
        // Pushes of flags, enter, exchanges with rsp, returns of the kernel.
        return !(instruction->written >> way->machine->sp & 1);
    }
    if (operand_is_register(to, way->machine->sp))
        return move_stack_pointer(way, instruction);
    if (to->kind == OPERAND_REGISTER)
        write_register(way, instruction);
    if (verb == INSTRUCTION_POP)
        way->sp.offset += 8;
    return verb != INSTRUCTION_LEAVE && verb != INSTRUCTION_STOP && verb != INSTRUCTION_BAD;
}

/* ---- ways ---- */

static void take_branch(struct search *search, const struct way *way, psc_addr target)
{
    for (size_t i = 0; i < search->count; i++)
        if (search->branches[i].at == target)
            return;
    if (search->count == BRANCH_LIMIT || !target_is_executable(search->native->target, target))
        return;
    search->branches[search->count] = *way;
    search->branches[search->count++].at = target;
}

static void found_return(struct search *search, const struct way *way)
{
    if (!search->any)
        search->found = *way;
    else if (search->found.sp.by_frame_pointer != way->sp.by_frame_pointer ||
             search->found.sp.offset != way->sp.offset)
        search->contradicted = true;
    else if (search->found.called)
        search->found = *way;
    search->any = true;
}

/*
 * A function that begins with what stops the process does not return, nor does a call behind which
 * another function begins.
 */
static bool call_returns(struct search *search, const struct operand *callee, psc_addr next)
{
    struct native *native = search->native;
    struct module *module = modules_find(native->modules, next);
    struct module_symbol symbol;
    if (module && module_find_symbol(module, next, &symbol) && symbol.address == next)
        return false;
    return callee->kind != OPERAND_IMMEDIATE ||
           !native->code->begins_with_stop(native, (psc_addr)callee->number);
}

/* Runs the instruction at way->at; false where the way ends. */
static bool run_instruction(struct search *search, struct way *way,
                            const struct instruction *instruction, bool *after_call)
{
    enum instruction_verb verb = (enum instruction_verb)instruction->verb;
    psc_addr next = way->at + instruction->size;
    // What compilers fill up with behind a call that does not return.
    if (*after_call && verb == INSTRUCTION_NOP)
        return false;
    *after_call = verb == INSTRUCTION_CALL;
    if (verb == INSTRUCTION_RETURN) {
        found_return(search, way);
        return false;
    }
    way->at = next;
    if (verb == INSTRUCTION_CALL) {
        way->called = true;
        return call_returns(search, &instruction->to, next);
    }
    if (verb == INSTRUCTION_JUMP || verb == INSTRUCTION_BRANCH) {
        if (instruction->to.kind == OPERAND_IMMEDIATE)
            take_branch(search, way, (psc_addr)instruction->to.number);
        return verb == INSTRUCTION_BRANCH;
    }
    if (verb == INSTRUCTION_OTHER && instruction->from.kind == OPERAND_IMMEDIATE)
        take_branch(search, way, (psc_addr)instruction->from.number);
    return run_plain(way, instruction) && way->sp.offset < OFFSET_LIMIT &&
           way->sp.offset > -OFFSET_LIMIT;
}

static void follow(struct search *search, struct way way, bool after_call)
{
    uint8_t bytes[WINDOW];
    struct instruction instruction;
    size_t have = 0, used = 0;
    do {
        if (have - used < INSTRUCTION_SIZE_MAX) {
            have = target_read_some(search->native->target, way.at, bytes, sizeof(bytes));
            used = 0;
        }
        if (!search->budget || !disassembler_decode(search->returns->disassembler, bytes + used,
                                                    have - used, way.at, &instruction))
            return;
        search->budget--;
        used += instruction.size;
    } while (run_instruction(search, &way, &instruction, &after_call));
}

static void make_rule(struct native *native, bool exact, struct return_rule *rule)
{
    struct search *search = calloc(1, sizeof(*search));
    if (!search)
        return;
    search->native = native;
    search->returns = native->returns;
    search->budget =
        native->returns->budget < SEARCH_LIMIT ? native->returns->budget : SEARCH_LIMIT;
    native->returns->budget -= search->budget;
    follow(search,
           (struct way){.machine = native->machine,
                        .at = rule->pc,
                        .called = !exact,
                        .frame_pointer_kept = true},
           !exact);
    for (size_t i = 0; i < search->count && !search->contradicted; i++)
        follow(search, search->branches[i], false);
    native->returns->budget += search->budget;
    rule->known = search->any && !search->contradicted;
    rule->way = search->found;
    free(search);
}

static psc_addr resolve(const struct native *native, const struct spot *spot,
                        const struct target_registers *registers)
{
    const struct target_machine *machine = native->machine;
    return registers->value[spot->by_frame_pointer ? machine->frame_pointer : machine->sp] +
           (uint64_t)spot->offset;
}

bool returns_run(struct native *native, const struct target_registers *registers, bool exact,
                 struct target_registers *ret, bool *ret_sure)
{
    if (!native->returns && !(native->returns = create(native->machine->elf_machine)))
        return false;
    psc_addr pc = registers->value[native->machine->pc];
    struct return_rule *rule =
        &native->returns->cache[(pc ^ pc >> 8 ^ (exact ? 1u : 0u)) % RETURN_RULES];
    if (rule->pc != pc || rule->exact != exact) {
        *rule = (struct return_rule){.pc = pc, .exact = exact};
        make_rule(native, exact, rule);
    }
    if (!rule->known)
        return false;
    psc_addr slot = resolve(native, &rule->way.sp, registers);
    uint64_t caller;
    if (slot % 8 || slot < registers->value[native->machine->sp] ||
        !native_read_word(native, slot, &caller))
        return false;
    caller = target_return_address(native->target, caller);
    if (native->code->follows_call(native, caller) != CODE_CALL_YES)
        return false;
    *ret = *registers;
    for (unsigned i = 0; i < native->machine->saved_count; i++)
        if (rule->way.saved & 1u << i &&
            !native_read_word(native, resolve(native, &rule->way.spots[i], registers),
                              &ret->value[native->machine->saved[i]]))
            return false;
    *ret_sure = !rule->way.called;
    ret->value[native->machine->pc] = caller;
    ret->value[native->machine->sp] = slot + 8;
    return true;
}
