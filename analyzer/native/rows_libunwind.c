#include "native_private.h"

#include <elf.h>
#include <libunwind-coredump.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* This libunwind knows one machine; its numbers of registers are DWARF's. */
#define LIBUNWIND_MACHINE EM_X86_64

/*
 * Exported by every libunwind-x86_64 but declared in none of its headers, and the public
 * function that replaces it from 1.7 on. Weak: either may be missing.
 */
int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t space, unw_word_t ip, unw_dyn_info_t *table,
                                       unw_proc_info_t *ret, int need_info, void *context)
    __attribute__((__weak__));
int UNW_OBJ(get_proc_info_in_range)(unw_word_t start, unw_word_t end, unw_word_t eh_frame_hdr,
                                    unw_word_t eh_frame_hdr_size, unw_word_t exidx,
                                    unw_word_t exidx_size, unw_addr_space_t space, unw_word_t ip,
                                    unw_proc_info_t *ret, int need_info, void *context)
    __attribute__((__weak__));

/* What libunwind's callbacks are given. */
struct access {
    struct native *native;
    struct UCD_info *threads; /* Registers come from its selected thread, else from here. */
    struct target_registers registers;
    uint32_t reads_left;
    psc_addr fault; /* The last address that could not be read; with `faulted`. */
    bool faulted;
    bool signal; /* The information found is of a signal trampoline. */
};

struct libunwind_cursor {
    struct libunwind_engine *engine;
    struct access access;
    unw_cursor_t cursors[2]; /* A step is tried on a copy: a failed one spoils the cursor. */
    unsigned current;
};

struct libunwind_engine {
    struct native *native;
    struct UCD_info *threads;
    unw_addr_space_t space;
    /*
     * unw_accessors_t has grown between releases: the library may read more members
     * than the header we were built with has.
     */
    union {
        unw_accessors_t members;
        uint8_t room[1024];
    } accessors;
    struct libunwind_cursor walk;
    struct libunwind_cursor probe;
};

/* ---- callbacks ---- */

static int find_proc_info(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t *ret,
                          int need_info, void *context)
{
    struct access *access = context;
    struct cfi_common common;
    const struct module *module = modules_find(access->native->modules, ip);
    // The search trusts the table and what it points to (array indices, lengths, jumps).
    if (!module || ip < module->start || ip >= module->end ||
        !cfi_check_address(access->native, module, ip, &common))
        return -UNW_ENOINFO;
    // In a signal frame the rule for the stack pointer says what the CFA says.
    if (common.value_offsets || (common.stack_pointer_rule && !common.signal))
        return -UNW_ENOINFO;
    access->signal = common.signal;
    if (!UNW_OBJ(dwarf_search_unwind_table))
        return UNW_OBJ(get_proc_info_in_range)(module->start, module->end, module->eh_frame_hdr,
                                               module->eh_frame_table - module->eh_frame_hdr +
                                                   module->eh_frame_entries * 8,
                                               0, 0, space, ip, ret, need_info, context);
    unw_dyn_info_t table;
    memset(&table, 0, sizeof(table));
    table.format = UNW_INFO_FORMAT_REMOTE_TABLE;
    table.start_ip = module->start;
    table.end_ip = module->end;
    table.u.rti.segbase = module->eh_frame_hdr;
    table.u.rti.table_data = module->eh_frame_table;
    table.u.rti.table_len = module->eh_frame_entries * 8 / sizeof(unw_word_t);
    return UNW_OBJ(dwarf_search_unwind_table)(space, ip, &table, ret, need_info, context);
}

static void put_unwind_info(unw_addr_space_t space, unw_proc_info_t *info, void *context)
{
    (void)space;
    (void)info;
    (void)context;
}

static int get_dyn_info_list_addr(unw_addr_space_t space, unw_word_t *ret, void *context)
{
    (void)space;
    (void)ret;
    (void)context;
    return -UNW_ENOINFO;
}

static int access_mem(unw_addr_space_t space, unw_word_t address, unw_word_t *value, int write,
                      void *context)
{
    struct access *access = context;
    (void)space;
    // The budget ends what would not end by itself.
    if (write || !access->reads_left)
        return -UNW_EINVAL;
    access->reads_left--;
    if (native_read_word(access->native, address, value))
        return 0;
    access->fault = address;
    access->faulted = true;
    *value = 0;
    return -UNW_EINVAL;
}

static int access_reg(unw_addr_space_t space, unw_regnum_t number, unw_word_t *value, int write,
                      void *context)
{
    struct access *access = context;
    if (write || number < 0 || number >= access->native->machine->register_count)
        return -UNW_EBADREG;
    // All releases of libunwind-coredump answer r8 to r15 with r15 (_UCD_access_reg_linux.c).
    if (access->threads && (number < UNW_X86_64_R8 || number > UNW_X86_64_R15))
        return _UCD_access_reg(space, number, value, 0, access->threads);
    *value = access->registers.value[number];
    return 0;
}

static int access_fpreg(unw_addr_space_t space, unw_regnum_t number, unw_fpreg_t *value, int write,
                        void *context)
{
    (void)space;
    (void)number;
    (void)value;
    (void)write;
    (void)context;
    return -UNW_EBADREG;
}

static int resume(unw_addr_space_t space, unw_cursor_t *cursor, void *context)
{
    (void)space;
    (void)cursor;
    (void)context;
    return -UNW_EINVAL;
}

static int get_proc_name(unw_addr_space_t space, unw_word_t address, char *buffer, size_t size,
                         unw_word_t *offset, void *context)
{
    (void)space;
    (void)address;
    (void)buffer;
    (void)size;
    (void)offset;
    (void)context;
    return -UNW_ENOINFO;
}

/* ---- life ---- */

static struct UCD_info *open_threads(const struct target *target)
{
    char path[64];
    int fd = mini_core_create(target);
    if (fd < 0)
        return NULL;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    struct UCD_info *threads = _UCD_create(path);
    close(fd);
    if (threads && (size_t)_UCD_get_num_threads(threads) != target->thread_count) {
        _UCD_destroy(threads);
        return NULL;
    }
    return threads;
}

static void init_cursor(struct libunwind_engine *engine, struct libunwind_cursor *cursor)
{
    cursor->engine = engine;
    cursor->access.native = engine->native;
}

struct libunwind_engine *libunwind_create(struct native *native)
{
    if (native->machine->elf_machine != LIBUNWIND_MACHINE ||
        (!UNW_OBJ(dwarf_search_unwind_table) && !UNW_OBJ(get_proc_info_in_range)))
        return NULL;
    struct libunwind_engine *engine = calloc(1, sizeof(*engine));
    if (!engine)
        return NULL;
    engine->native = native;
    engine->accessors.members = (unw_accessors_t){
        .find_proc_info = find_proc_info,
        .put_unwind_info = put_unwind_info,
        .get_dyn_info_list_addr = get_dyn_info_list_addr,
        .access_mem = access_mem,
        .access_reg = access_reg,
        .access_fpreg = access_fpreg,
        .resume = resume,
        .get_proc_name = get_proc_name,
    };
    init_cursor(engine, &engine->walk);
    init_cursor(engine, &engine->probe);
    engine->threads = open_threads(native->target);
    engine->space = unw_create_addr_space(&engine->accessors.members, 0);
    if (!engine->threads || !engine->space) {
        libunwind_destroy(engine);
        return NULL;
    }
    // Its cache costs two system calls a step; the row table stands in for it.
    unw_set_caching_policy(engine->space, UNW_CACHE_NONE);
    return engine;
}

void libunwind_destroy(struct libunwind_engine *engine)
{
    if (!engine)
        return;
    if (engine->space)
        unw_destroy_addr_space(engine->space);
    if (engine->threads)
        _UCD_destroy(engine->threads);
    free(engine);
}

void libunwind_reload_threads(struct libunwind_engine *engine)
{
    if (engine->threads)
        _UCD_destroy(engine->threads);
    engine->threads = open_threads(engine->native->target);
}

void libunwind_forget_threads(struct libunwind_engine *engine)
{
    if (engine->threads)
        _UCD_destroy(engine->threads);
    engine->threads = NULL;
}

/* ---- rows ---- */

struct rule_request {
    struct arena *arena;
    psc_addr pc;
    void *rule;
};

static int take_rule(void *token, void *state, size_t size, unw_word_t start, unw_word_t end)
{
    struct rule_request *request = token;
    if (request->pc < start || request->pc >= end)
        return 0;
    request->rule = arena_alloc(request->arena, size);
    if (request->rule)
        memcpy(request->rule, state, size);
    return -UNW_ESTOPUNWIND;
}

bool libunwind_make_row(struct libunwind_engine *engine, struct module *module, struct row *row)
{
    struct access *access = &engine->probe.access;
    unw_cursor_t *cursor = &engine->probe.cursors[0];
    struct rule_request request = {.arena = engine->native->rules, .pc = row_lookup_pc(row)};
    if (!module->eh_frame_hdr)
        return false;
    // Registers whose rip is the address looked up: the rule then depends on nothing else.
    access->threads = NULL;
    access->registers = (struct target_registers){.value = {0}};
    access->registers.value[UNW_X86_64_RIP] = request.pc;
    access->signal = false;
    access->reads_left = ROW_READ_LIMIT;
    if (unw_init_remote(cursor, engine->space, access) < 0)
        return false;
    unw_reg_states_iterate(cursor, take_rule, &request);
    if (!request.rule)
        return false;
    row->kind = ROW_LIBUNWIND;
    row->rule = request.rule;
    row->signal = access->signal;
    return true;
}

/* ---- cursors ---- */

struct libunwind_cursor *libunwind_walk_cursor(struct libunwind_engine *engine)
{
    return &engine->walk;
}

static bool start_cursor(struct libunwind_cursor *cursor)
{
    cursor->current = 0;
    cursor->access.reads_left = STEP_READ_LIMIT;
    return unw_init_remote(&cursor->cursors[0], cursor->engine->space, &cursor->access) >= 0;
}

bool libunwind_load_thread(struct libunwind_cursor *cursor, size_t index)
{
    struct libunwind_engine *engine = cursor->engine;
    if (!engine->threads)
        return libunwind_load(cursor, &engine->native->target->threads[index].registers);
    _UCD_select_thread(engine->threads, (int)index);
    cursor->access.threads = engine->threads;
    cursor->access.registers = engine->native->target->threads[index].registers;
    return start_cursor(cursor);
}

bool libunwind_load(struct libunwind_cursor *cursor, const struct target_registers *registers)
{
    cursor->access.threads = NULL;
    cursor->access.registers = *registers;
    return start_cursor(cursor);
}

enum step_result libunwind_try(struct libunwind_cursor *cursor, const struct row *row,
                               struct step *ret)
{
    unw_cursor_t *next = &cursor->cursors[cursor->current ^ 1];
    unw_word_t pc = 0, sp = 0;
    memcpy(next, &cursor->cursors[cursor->current], sizeof(*next));
    cursor->access.reads_left = STEP_READ_LIMIT;
    cursor->access.faulted = false;
    int result = unw_apply_reg_state(next, row->rule);
    if (result < 0) {
        if (!cursor->access.faulted)
            return STEP_INVALID;
        ret->fault = cursor->access.fault;
        return STEP_FAULT;
    }
    if (unw_get_reg(next, UNW_REG_IP, &pc) < 0 || unw_get_reg(next, UNW_REG_SP, &sp) < 0)
        return STEP_INVALID;
    ret->pc = pc;
    ret->sp = sp;
    return result == 0 ? STEP_END : STEP_OK;
}

void libunwind_commit(struct libunwind_cursor *cursor)
{
    cursor->current ^= 1;
}

/* A register whose value is lost (undefined, or its page is missing) becomes 0. */
static void get_registers(struct libunwind_cursor *cursor, unw_cursor_t *at,
                          struct target_registers *ret)
{
    cursor->access.reads_left = STEP_READ_LIMIT;
    for (int i = 0; i < cursor->engine->native->machine->register_count; i++) {
        unw_word_t value = 0;
        ret->value[i] = unw_get_reg(at, i, &value) < 0 ? 0 : value;
    }
}

void libunwind_get_registers(struct libunwind_cursor *cursor, struct target_registers *ret)
{
    get_registers(cursor, &cursor->cursors[cursor->current], ret);
}

void libunwind_get_saved(struct libunwind_cursor *cursor, struct native_saved *ret)
{
    const struct target_machine *machine = cursor->engine->native->machine;
    unw_cursor_t *at = &cursor->cursors[cursor->current];
    cursor->access.reads_left = STEP_READ_LIMIT;
    ret->known = 0;
    for (size_t i = 0; i < machine->saved_count; i++) {
        unw_word_t value = 0;
        if (unw_get_reg(at, machine->saved[i], &value) >= 0)
            ret->known |= (uint16_t)(1u << i);
        ret->value[i] = value;
    }
}

enum step_result libunwind_step(struct libunwind_engine *engine, const struct row *row,
                                const struct target_registers *registers,
                                struct target_registers *ret, struct step *ret_step)
{
    struct libunwind_cursor *cursor = &engine->probe;
    if (!libunwind_load(cursor, registers))
        return STEP_INVALID;
    enum step_result result = libunwind_try(cursor, row, ret_step);
    if (result == STEP_OK || result == STEP_END)
        get_registers(cursor, &cursor->cursors[cursor->current ^ 1], ret);
    return result;
}
