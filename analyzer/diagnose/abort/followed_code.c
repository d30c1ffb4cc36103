/* Code of the target, followed by its instructions with values that memory gives. */
#include "abort_private.h"
#include "followed_machine.h"

#include <string.h>

#define INSTRUCTION_SIZE 16u
#define STEP_LIMIT       256u
#define CALL_LIMIT       8u
#define STACK_WORDS      128u
#define REGISTER_LIMIT   16u
/* Where no process has memory: the stack that the code is followed with. */
#define STACK_TOP UINT64_C(0xffff800000000000)

struct follower {
    const struct abort_stack *stack;
    const struct followed_machine *machine;
    uint64_t value[REGISTER_LIMIT];
    uint32_t known;
    uint64_t words[STACK_WORDS]; /**< Below STACK_TOP, the highest last. */
    bool word_known[STACK_WORDS];
    psc_addr returns[CALL_LIMIT];
    size_t depth;
    psc_addr pc;
};

static struct target *target_of(const struct follower *follower)
{
    return follower->stack->input->target;
}

static void set(struct follower *follower, unsigned number, uint64_t value)
{
    follower->value[number] = value;
    follower->known |= 1u << number;
}

static bool get(const struct follower *follower, unsigned number, uint64_t *ret)
{
    *ret = follower->value[number];
    return follower->known >> number & 1;
}

/* NULL: it is not in the stack of this walk, or not a whole word. */
static uint64_t *own_word(struct follower *follower, psc_addr address, size_t *ret_index)
{
    psc_addr bottom = STACK_TOP - STACK_WORDS * sizeof(uint64_t);
    if (address < bottom || address >= STACK_TOP || address % sizeof(uint64_t))
        return NULL;
    *ret_index = (size_t)((address - bottom) / sizeof(uint64_t));
    return &follower->words[*ret_index];
}

static bool address_of(const struct follower *follower, const struct operand *operand,
                       psc_addr *ret)
{
    uint64_t base = 0;
    if (operand->kind == OPERAND_BASED && !get(follower, operand->register_number, &base))
        return false;
    *ret = base + (uint64_t)operand->number;
    return operand->kind == OPERAND_BASED || operand->kind == OPERAND_ABSOLUTE;
}

static bool load(struct follower *follower, psc_addr address, unsigned width, uint64_t *ret)
{
    size_t index;
    const uint64_t *own = own_word(follower, address, &index);
    *ret = 0;
    if (own) {
        *ret = width < 8 ? *own & ((UINT64_C(1) << width * 8) - 1) : *own;
        return follower->word_known[index];
    }
    return width <= sizeof(*ret) && target_read(target_of(follower), address, ret, width) == PSC_OK;
}

static bool store(struct follower *follower, const struct operand *to, uint64_t value)
{
    psc_addr address;
    size_t index;
    if (to->width != 8 || !address_of(follower, to, &address))
        return false;
    uint64_t *own = own_word(follower, address, &index);
    if (!own)
        return false;
    *own = value;
    follower->word_known[index] = true;
    return true;
}

static bool read_operand(struct follower *follower, const struct operand *from, uint64_t *ret)
{
    psc_addr address;
    switch (from->kind) {
    case OPERAND_REGISTER:
        if (from->high || !get(follower, from->register_number, ret))
            return false;
        break;
    case OPERAND_IMMEDIATE:
        *ret = (uint64_t)from->number;
        return true;
    case OPERAND_BASED:
    case OPERAND_ABSOLUTE:
        return address_of(follower, from, &address) && load(follower, address, from->width, ret);
    default:
        return false;
    }
    if (from->width < 8)
        *ret &= (UINT64_C(1) << from->width * 8) - 1;
    return true;
}

static bool write_operand(struct follower *follower, const struct operand *to, uint64_t value)
{
    if (to->kind != OPERAND_REGISTER)
        return store(follower, to, value);
    // Writing 32 bits of a register clears the others.
    if (to->width < 4)
        return false;
    set(follower, to->register_number, to->width == 4 ? (uint32_t)value : value);
    return true;
}

static bool push(struct follower *follower, uint64_t value, bool known)
{
    uint64_t sp;
    size_t index;
    if (!get(follower, follower->machine->sp, &sp))
        return false;
    set(follower, follower->machine->sp, sp - sizeof(value));
    uint64_t *own = own_word(follower, sp - sizeof(value), &index);
    if (!own)
        return false;
    *own = value;
    follower->word_known[index] = known;
    return true;
}

static bool pop(struct follower *follower, unsigned number)
{
    uint64_t sp;
    size_t index;
    if (!get(follower, follower->machine->sp, &sp))
        return false;
    const uint64_t *own = own_word(follower, sp, &index);
    if (!own)
        return false;
    set(follower, follower->machine->sp, sp + sizeof(*own));
    set(follower, number, *own);
    if (!follower->word_known[index])
        follower->known &= ~(1u << number);
    return true;
}

/*
 * What __tls_get_addr() gives: the module's block by the thread's vector, and the offset in it
 * (glibc, sysdeps/x86_64/dl-tls.h and nptl/tls.h: tcbhead_t.dtv, dtv_t of two words).
 */
static bool find_thread_variable(struct follower *follower)
{
    struct target *target = target_of(follower);
    psc_addr slot, vector, block;
    uint64_t module, offset, count;
    if (!get(follower, follower->machine->arguments[0], &slot) ||
        target_read_u64(target, slot, &module) != PSC_OK ||
        target_read_u64(target, slot + 8, &offset) != PSC_OK ||
        target_read_pointer(target, follower->stack->input->thread->thread_pointer + 8, &vector) !=
            PSC_OK ||
        target_read_u64(target, vector - 16, &count) != PSC_OK || !module || module > count ||
        target_read_pointer(target, vector + 16 * module, &block) != PSC_OK || !block ||
        block == UINT64_MAX)
        return false;
    set(follower, follower->machine->result, block + offset);
    return true;
}

static bool is_thread_lookup(const struct follower *follower, psc_addr function)
{
    struct module *module = modules_find(follower->stack->input->modules, function);
    struct module_symbol symbol;
    return module && module_find_symbol(module, function, &symbol) && symbol.address == function &&
           strcmp(symbol.name, "__tls_get_addr") == 0;
}

static bool leave_function(struct follower *follower)
{
    uint64_t sp;
    if (!follower->depth || !get(follower, follower->machine->sp, &sp))
        return false;
    follower->pc = follower->returns[--follower->depth];
    set(follower, follower->machine->sp, sp + sizeof(uint64_t));
    return true;
}

/* A jump out of a function is a call that returns to its caller. */
static bool enter(struct follower *follower, psc_addr function)
{
    if (!is_thread_lookup(follower, function)) {
        follower->pc = function;
        return true;
    }
    return find_thread_variable(follower) && leave_function(follower);
}

static bool call(struct follower *follower, psc_addr function)
{
    if (follower->depth == CALL_LIMIT || !push(follower, follower->pc, true))
        return false;
    follower->returns[follower->depth++] = follower->pc;
    return enter(follower, function);
}

static bool add(struct follower *follower, const struct instruction *instruction)
{
    uint64_t value, more;
    return instruction->to.kind == OPERAND_REGISTER && instruction->to.width == 8 &&
           read_operand(follower, &instruction->to, &value) &&
           read_operand(follower, &instruction->from, &more) &&
           write_operand(follower, &instruction->to, value + more);
}

static bool move(struct follower *follower, const struct instruction *instruction)
{
    uint64_t value;
    unsigned bits = instruction->from.width * 8u;
    if (!read_operand(follower, &instruction->from, &value))
        return false;
    if (instruction->verb == INSTRUCTION_MOVE_SIGNED && bits < 64 && value >> (bits - 1) & 1)
        value |= ~UINT64_C(0) << bits;
    return write_operand(follower, &instruction->to, value);
}

/* What the disassembler has no verb for. */
static bool other(struct follower *follower, const uint8_t *bytes,
                  const struct instruction *instruction)
{
    struct operand to, from;
    bool adds, thread;
    uint64_t value, old = 0;
    if (!follower->machine->decode_other(bytes, instruction, &to, &from, &adds, &thread))
        return false;
    if (thread)
        from.number += (int64_t)follower->stack->input->thread->thread_pointer;
    if (!read_operand(follower, &from, &value) || (adds && !read_operand(follower, &to, &old)))
        return false;
    return write_operand(follower, &to, value + old);
}

static bool step(struct follower *follower, const uint8_t *bytes,
                 const struct instruction *instruction)
{
    uint64_t value;
    const struct operand *to = &instruction->to;
    const struct followed_machine *machine = follower->machine;
    switch (instruction->verb) {
    case INSTRUCTION_NOP:
    case INSTRUCTION_HINT:
        return true;
    case INSTRUCTION_MOVE:
    case INSTRUCTION_MOVE_SIGNED:
        return instruction->from.kind == OPERAND_SOMEWHERE ? other(follower, bytes, instruction)
                                                           : move(follower, instruction);
    case INSTRUCTION_ADDRESS:
        return address_of(follower, &instruction->from, &value) &&
               write_operand(follower, to, value);
    case INSTRUCTION_ADD:
        return add(follower, instruction);
    case INSTRUCTION_PUSH:
        if (to->kind == OPERAND_REGISTER) {
            bool known = get(follower, to->register_number, &value);
            return push(follower, value, known);
        }
        return read_operand(follower, to, &value) && push(follower, value, true);
    case INSTRUCTION_POP:
        return to->kind == OPERAND_REGISTER && pop(follower, to->register_number);
    case INSTRUCTION_LEAVE:
        if (!get(follower, machine->frame_pointer, &value))
            return false;
        set(follower, machine->sp, value);
        return pop(follower, machine->frame_pointer);
    case INSTRUCTION_CALL:
        return read_operand(follower, to, &value) && call(follower, value);
    case INSTRUCTION_JUMP:
        return read_operand(follower, to, &value) && enter(follower, value);
    case INSTRUCTION_RETURN:
        return leave_function(follower);
    case INSTRUCTION_OTHER:
        return other(follower, bytes, instruction);
    default:
        return false;
    }
}

bool followed_code_call(const struct abort_stack *stack, psc_addr function, uint64_t argument,
                        uint64_t *ret)
{
    struct follower follower = {
        .stack = stack,
        .machine = followed_machine_find(stack->input->target->machine->elf_machine)};
    if (!stack->disassembler || !follower.machine)
        return false;
    set(&follower, follower.machine->sp, STACK_TOP - 16 * sizeof(uint64_t));
    set(&follower, follower.machine->arguments[0], argument);
    if (!call(&follower, function))
        return false;
    for (size_t i = 0; i < STEP_LIMIT; i++) {
        uint8_t bytes[INSTRUCTION_SIZE];
        struct instruction instruction;
        size_t size = target_read_some(target_of(&follower), follower.pc, bytes, sizeof(bytes));
        if (!follower.depth)
            return get(&follower, follower.machine->result, ret);
        if (!disassembler_decode(stack->disassembler, bytes, size, follower.pc, &instruction))
            return false;
        follower.pc += instruction.size;
        if (!step(&follower, bytes, &instruction))
            return false;
    }
    return false;
}
