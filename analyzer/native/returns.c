/* The way out of a function without call frame information, from its code. */
#include "native_private.h"

#include <capstone/capstone.h>
#include <stdlib.h>
#include <string.h>

#define RETURN_RULES      256u
#define INSTRUCTION_LIMIT 2048u
/* Of all searches together: about a second. */
#define INSTRUCTION_TOTAL ((size_t)1 << 20)
#define BRANCH_LIMIT      128u
#define WINDOW            64u
/* Nothing keeps more than this on the stack between a call and its return. */
#define OFFSET_LIMIT ((int64_t)16 * 1024 * 1024)

/* A place on the stack by the registers at the pc that the search began at. */
struct spot {
    bool by_rbp;
    int64_t offset;
};

struct way {
    psc_addr at;
    struct spot sp;
    bool called;   /* Behind a call on the way, which may be one that does not return. */
    bool rbp_kept; /* rbp is what it was at the beginning. */
    uint8_t saved; /* A bit for each register that has been fetched. */
    struct spot spots[NATIVE_SAVED_COUNT];
};

struct return_rule {
    psc_addr pc;
    bool exact;
    bool known;
    struct way way;
};

struct returns {
    csh handle;
    cs_insn *instruction;
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

static struct returns *create(void)
{
    struct returns *returns = calloc(1, sizeof(*returns));
    if (!returns)
        return NULL;
    if (cs_open(CS_ARCH_X86, CS_MODE_64, &returns->handle) != CS_ERR_OK) {
        free(returns);
        return NULL;
    }
    returns->budget = INSTRUCTION_TOTAL;
    if (cs_option(returns->handle, CS_OPT_DETAIL, CS_OPT_ON) == CS_ERR_OK)
        returns->instruction = cs_malloc(returns->handle);
    if (!returns->instruction) {
        returns_destroy(returns);
        return NULL;
    }
    return returns;
}

void returns_destroy(struct returns *returns)
{
    if (!returns)
        return;
    if (returns->instruction)
        cs_free(returns->instruction, 1);
    cs_close(&returns->handle);
    free(returns);
}

/* ---- instructions ---- */

/* The index in struct native_saved; -1 for registers that a call does not preserve. */
static int saved_index(unsigned name)
{
    switch (name) {
    case X86_REG_RBX:
        return 0;
    case X86_REG_RBP:
        return 1;
    case X86_REG_R12:
        return 2;
    case X86_REG_R13:
        return 3;
    case X86_REG_R14:
        return 4;
    case X86_REG_R15:
        return 5;
    default:
        return -1;
    }
}

static bool is_register(const cs_x86 *x86, unsigned index, unsigned name)
{
    return x86->op_count > index && x86->operands[index].type == X86_OP_REG &&
           x86->operands[index].reg == name;
}

static bool is_stack_pointer(const cs_x86 *x86, unsigned index)
{
    return is_register(x86, index, X86_REG_RSP) || is_register(x86, index, X86_REG_ESP) ||
           is_register(x86, index, X86_REG_SP) || is_register(x86, index, X86_REG_SPL);
}

static bool is_immediate(const cs_x86 *x86, unsigned index)
{
    return x86->op_count > index && x86->operands[index].type == X86_OP_IMM;
}

/* Where `disp(%rsp)` or `disp(%rbp)` is; false for other operands. */
static bool find_spot(const struct way *way, const cs_x86 *x86, unsigned index, struct spot *ret)
{
    if (x86->op_count <= index || x86->operands[index].type != X86_OP_MEM)
        return false;
    const x86_op_mem *memory = &x86->operands[index].mem;
    if (memory->segment != X86_REG_INVALID || memory->index != X86_REG_INVALID)
        return false;
    if (memory->base == X86_REG_RSP)
        *ret = way->sp;
    else if (memory->base == X86_REG_RBP && way->rbp_kept)
        *ret = (struct spot){.by_rbp = true};
    else
        return false;
    ret->offset += memory->disp;
    return true;
}

/* A register gets what was on the stack before; what the way itself has pushed is not there. */
static void fetch(struct way *way, unsigned name, struct spot spot)
{
    int index = saved_index(name);
    if (index < 0)
        return;
    way->saved &= (uint8_t) ~(1u << index);
    if (spot.by_rbp || spot.offset >= 0) {
        way->saved |= (uint8_t)(1u << index);
        way->spots[index] = spot;
    }
}

/* What an instruction does to rsp. False when that is not known. */
static bool move_stack_pointer(struct way *way, unsigned id, const cs_x86 *x86)
{
    if (id == X86_INS_ADD && is_immediate(x86, 1))
        way->sp.offset += x86->operands[1].imm;
    else if (id == X86_INS_SUB && is_immediate(x86, 1))
        way->sp.offset -= x86->operands[1].imm;
    else if (id == X86_INS_LEA && is_register(x86, 0, X86_REG_RSP))
        return find_spot(way, x86, 1, &way->sp);
    else if (id == X86_INS_MOV && is_register(x86, 1, X86_REG_RBP) && way->rbp_kept)
        way->sp = (struct spot){.by_rbp = true};
    else
        return false;
    return is_register(x86, 0, X86_REG_RSP);
}

/* Instructions that only go on. False ends the way. */
static bool run_plain(struct way *way, const struct returns *returns)
{
    const cs_insn *instruction = returns->instruction;
    const cs_x86 *x86 = &instruction->detail->x86;
    unsigned id = instruction->id;
    struct spot spot;
    if (id == X86_INS_CMP || id == X86_INS_TEST)
        return true;
    if (id == X86_INS_PUSH && x86->operands[0].size == 8) {
        way->sp.offset -= 8;
        return true;
    }
    if (id == X86_INS_LEAVE && way->rbp_kept) {
        fetch(way, X86_REG_RBP, (struct spot){.by_rbp = true});
        way->sp = (struct spot){.by_rbp = true, .offset = 8};
        way->rbp_kept = false;
        return true;
    }
    if (is_stack_pointer(x86, 0))
        return move_stack_pointer(way, id, x86);
    bool pops =
        id == X86_INS_POP && x86->operands[0].type == X86_OP_REG && x86->operands[0].size == 8;
    if (pops)
        fetch(way, x86->operands[0].reg, way->sp);
    else if (id == X86_INS_MOV && x86->operands[0].type == X86_OP_REG &&
             find_spot(way, x86, 1, &spot))
        fetch(way, x86->operands[0].reg, spot);
    if (is_register(x86, 0, X86_REG_RBP) || is_register(x86, 0, X86_REG_EBP))
        way->rbp_kept = false;
    if (pops) {
        way->sp.offset += 8;
        return true;
    }
    // Pushes of flags, enter, exchanges with rsp, returns of the kernel.
    return !cs_reg_write(returns->handle, instruction, X86_REG_RSP) &&
           !(id == X86_INS_XCHG && is_stack_pointer(x86, 1)) && id != X86_INS_HLT &&
           id != X86_INS_UD2 && id != X86_INS_INT3 && id != X86_INS_INVALID;
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
    else if (search->found.sp.by_rbp != way->sp.by_rbp || search->found.sp.offset != way->sp.offset)
        search->contradicted = true;
    else if (search->found.called)
        search->found = *way;
    search->any = true;
}

/*
 * Nothing comes back from a function that begins with hlt, as musl's __stack_chk_fail, nor
 * from a call that another function follows.
 */
static bool call_returns(struct search *search, const cs_x86 *x86, psc_addr next)
{
    struct native *native = search->native;
    struct module *module = modules_find(native->modules, next);
    struct module_symbol symbol;
    uint8_t first;
    if (module && module_find_symbol(module, next, &symbol) && symbol.address == next)
        return false;
    return !is_immediate(x86, 0) ||
           target_read(native->target, (psc_addr)x86->operands[0].imm, &first, 1) != PSC_OK ||
           first != 0xf4;
}

/* Runs the instruction at way->at; false where the way ends. */
static bool run_instruction(struct search *search, struct way *way, bool *after_call)
{
    const struct returns *returns = search->returns;
    const cs_insn *instruction = returns->instruction;
    const cs_x86 *x86 = &instruction->detail->x86;
    unsigned id = instruction->id;
    psc_addr next = way->at + instruction->size;
    // What compilers fill up with behind a call that does not return.
    if (*after_call && id == X86_INS_NOP)
        return false;
    *after_call = id == X86_INS_CALL;
    if (id == X86_INS_RET) {
        found_return(search, way);
        return false;
    }
    if (id == X86_INS_CALL) {
        way->at = next;
        way->called = true;
        return call_returns(search, x86, next);
    }
    if (cs_insn_group(returns->handle, instruction, X86_GRP_JUMP)) {
        if (is_immediate(x86, 0))
            take_branch(search, way, (psc_addr)x86->operands[0].imm);
        way->at = next;
        return id != X86_INS_JMP && id != X86_INS_LJMP;
    }
    way->at = next;
    return run_plain(way, returns) && way->sp.offset < OFFSET_LIMIT &&
           way->sp.offset > -OFFSET_LIMIT;
}

static void follow(struct search *search, struct way way, bool after_call)
{
    uint8_t bytes[WINDOW];
    size_t have = 0, used = 0;
    do {
        if (have - used < 16) {
            have = target_read_some(search->native->target, way.at, bytes, sizeof(bytes));
            used = 0;
        }
        const uint8_t *code = bytes + used;
        size_t left = have - used;
        uint64_t address = way.at;
        if (!search->budget || !cs_disasm_iter(search->returns->handle, &code, &left, &address,
                                               search->returns->instruction))
            return;
        search->budget--;
        used = have - left;
        if (search->returns->instruction->id == X86_INS_INVALID)
            return;
    } while (run_instruction(search, &way, &after_call));
}

static void make_rule(struct native *native, bool exact, struct return_rule *rule)
{
    struct search *search = calloc(1, sizeof(*search));
    if (!search)
        return;
    search->native = native;
    search->returns = native->returns;
    search->budget =
        native->returns->budget < INSTRUCTION_LIMIT ? native->returns->budget : INSTRUCTION_LIMIT;
    native->returns->budget -= search->budget;
    follow(search, (struct way){.at = rule->pc, .called = !exact, .rbp_kept = true}, !exact);
    for (size_t i = 0; i < search->count && !search->contradicted; i++)
        follow(search, search->branches[i], false);
    native->returns->budget += search->budget;
    rule->known = search->any && !search->contradicted;
    rule->way = search->found;
    free(search);
}

static psc_addr resolve(const struct spot *spot, const struct target_registers *registers)
{
    return registers->value[spot->by_rbp ? X86_RBP : X86_RSP] + (uint64_t)spot->offset;
}

bool returns_run(struct native *native, const struct target_registers *registers, bool exact,
                 struct target_registers *ret, bool *ret_sure)
{
    if (!native->returns && !(native->returns = create()))
        return false;
    psc_addr pc = registers->value[X86_RIP];
    struct return_rule *rule =
        &native->returns->cache[(pc ^ pc >> 8 ^ (exact ? 1u : 0u)) % RETURN_RULES];
    if (rule->pc != pc || rule->exact != exact) {
        *rule = (struct return_rule){.pc = pc, .exact = exact};
        make_rule(native, exact, rule);
    }
    if (!rule->known)
        return false;
    psc_addr slot = resolve(&rule->way.sp, registers);
    uint64_t caller;
    if (slot % 8 || slot < registers->value[X86_RSP] || !native_read_word(native, slot, &caller) ||
        code_follows_call(native, caller) != CODE_CALL_YES)
        return false;
    *ret = *registers;
    for (unsigned i = 0; i < NATIVE_SAVED_COUNT; i++)
        if (rule->way.saved & 1u << i &&
            !native_read_word(native, resolve(&rule->way.spots[i], registers),
                              &ret->value[native_saved_numbers[i]]))
            return false;
    *ret_sure = !rule->way.called;
    ret->value[X86_RIP] = caller;
    ret->value[X86_RSP] = slot + 8;
    return true;
}
