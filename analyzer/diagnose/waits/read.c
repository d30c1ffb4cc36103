/* What has to be read while a living process stands still. */
#include "waits_private.h"

#include <stdlib.h>
#include <string.h>

struct waits *waits_create(const struct diagnose_wait_input *input)
{
    struct waits *waits = calloc(1, sizeof(*waits));
    if (!waits)
        return NULL;
    waits->input = *input;
    waits->facts = HASH_TABLE_OF(struct wait_facts);
    waits->arena = arena_create();
    if (waits->arena)
        return waits;
    free(waits);
    return NULL;
}

void waits_destroy(struct waits *waits)
{
    if (!waits)
        return;
    hash_table_deinit(&waits->facts);
    arena_destroy(waits->arena);
    free(waits);
}

static bool is_futex(const struct wait_facts *facts)
{
    return facts->sleeps && facts->call && !strncmp(facts->call, "futex", 5);
}

/*
 * A stop, as a signal, ends a write to a pipe or socket of which a part was written with the number
 * of these bytes (fs/pipe.c, pipe_write()): it slept, and will be called for the rest.
 */
static bool has_written_a_part(const struct target_machine *machine,
                               const struct target_registers *registers,
                               const struct wait_facts *facts)
{
    uint64_t result = registers->value[machine->call_result];
    return facts->call && (!strcmp(facts->call, "write") || !strcmp(facts->call, "sendto")) &&
           result && result < facts->arguments[2];
}

static void read_call(struct waits *waits, const struct target_thread *native,
                      struct wait_facts *facts)
{
    struct target *target = waits->input.target;
    const struct target_registers *registers = &native->registers;
    struct text text PSC_CLEANUP(text_deinit) = {0};
    bool known = system_call_get_arguments(target->machine, registers, facts->arguments);
    facts->sleeps = target_find_waiting_call(target, registers, &facts->number);
    if (!facts->sleeps && registers->in_system_call)
        facts->number = registers->system_call;
    else if (!facts->sleeps)
        return;
    facts->call = system_call_name(target->machine, facts->number);
    facts->sleeps |= known && has_written_a_part(target->machine, registers, facts);
    if (!known || !facts->sleeps)
        return;
    system_call_add_text(target, facts->number, facts->arguments, &text);
    const char *open = text.data ? strchr(text.data, '(') : NULL;
    if (open && text.size > 1 && text.data[text.size - 1] == ')')
        facts->arguments_text =
            arena_strndup(waits->arena, open + 1, text.size - (size_t)(open + 1 - text.data) - 1);
    waits_read_details(waits, facts);
    if (is_futex(facts))
        facts->has_window = target_read(target, facts->arguments[0] - WINDOW_BEFORE, facts->window,
                                        sizeof(facts->window)) == PSC_OK;
}

/* glibc, nptl/descr.h; elsewhere the ids are taken to be the same. */
static void read_inner_tid(struct target *target, struct wait_facts *facts)
{
    const struct target_machine *machine = target->machine;
    psc_addr self;
    facts->inner_tid = (uint32_t)facts->tid;
    if (facts->thread_pointer &&
        target_read_u64(target, facts->thread_pointer + machine->pthread_self, &self) == PSC_OK &&
        self == facts->thread_pointer &&
        target_read_u32(target, facts->thread_pointer + machine->pthread_tid, &facts->inner_tid) !=
            PSC_OK)
        facts->inner_tid = (uint32_t)facts->tid;
}

static bool is_gil(const struct waits *waits, psc_addr address)
{
    for (size_t i = 0; i < waits->input.interpreter_count; i++)
        if (address >= waits->input.interpreters[i].gil_waits_start &&
            address < waits->input.interpreters[i].gil_waits_end)
            return true;
    return false;
}

/*
 * Who waits for the GIL looks every few milliseconds whether it may ask for it
 * (Python/ceval_gil.c): on a busy machine it is often met with the result of a sleep that is over,
 * still in the kernel.
 */
static bool is_about_to_sleep(const struct waits *waits, const struct target_registers *registers,
                              const struct wait_facts *facts)
{
    return registers->in_system_call && facts->call && !strncmp(facts->call, "futex", 5) &&
           is_gil(waits, facts->arguments[0]);
}

/* Whether a thread that was met awake stops all threads, and waits for that. */
static void read_stop(struct waits *waits, struct wait_facts *facts)
{
    if (!facts->attachment.attached || !facts->interpreter)
        return;
    if (waits->stop_of != facts->interpreter)
        python_find_stop(waits->input.python, facts->interpreter, &waits->stop);
    waits->stop_of = facts->interpreter;
    if (waits->stop.kind != PYTHON_WAIT_NONE && waits->stop.requester == facts->tstate)
        facts->python = waits->stop;
}

static enum psc_status read_python(struct waits *waits, const struct diagnose_wait_thread *thread,
                                   struct wait_facts *facts)
{
    struct target *target = waits->input.target;
    const struct target_thread *native = thread->native;
    if (!waits->input.python || !thread->has_python || facts->for_gil)
        return PSC_OK;
    if (!facts->sleeps) {
        read_stop(waits, facts);
        return PSC_OK;
    }
    psc_addr sp = target_sp(target, &native->registers);
    const struct python_wait_place place = {
        .futex = is_futex(facts) ? facts->arguments[0] : 0,
        .sp = sp,
        .stack_end = target_find_stack_end(target, sp, native->thread_pointer),
        .frames = thread->frames,
        .count = thread->frame_count,
        .tstate = facts->tstate,
        .interpreter = facts->interpreter};
    return python_find_wait(waits->input.python, &place, &facts->python);
}

enum psc_status waits_read(struct waits *waits, const struct diagnose_wait_thread *thread)
{
    const struct target_thread *native = thread->native;
    if (native->tid <= 0 || native->unreadable ||
        hash_table_find(&waits->facts, (uint64_t)native->tid))
        return PSC_OK;
    struct wait_facts facts = {.tid = (uint64_t)native->tid,
                               .thread_pointer = native->thread_pointer,
                               .pc = target_pc(waits->input.target, &native->registers)};
    if (thread->python && waits->input.python) {
        facts.tstate = thread->python->tstate;
        facts.interpreter = thread->python->interpreter;
        python_read_attachment(waits->input.python, facts.tstate, &facts.attachment);
    }
    read_call(waits, native, &facts);
    read_inner_tid(waits->input.target, &facts);
    facts.for_gil = is_futex(&facts) ? is_gil(waits, facts.arguments[0])
                                     : is_about_to_sleep(waits, &native->registers, &facts);
    enum psc_status status = read_python(waits, thread, &facts);
    if (status != PSC_OK)
        return status;
    if (is_futex(&facts) && !facts.for_gil && facts.python.kind == PYTHON_WAIT_NONE)
        facts.condition = waits_find_condition(waits->input.target, &native->registers, &facts);
    struct wait_facts *kept = hash_table_add(&waits->facts, facts.tid);
    if (!kept)
        return PSC_ERR_MEMORY;
    *kept = facts;
    bool wants_held = facts.sleeps && waits_has_likely_owner(&facts.python);
    waits->want_held |= wants_held;
    // Of a living process while it stands, where there is little to read: what fork() leaves is one
    // thread.
    if (wants_held && waits->input.target->kind == TARGET_PROCESS &&
        waits->input.target->thread_count == 1)
        waits_read_lost(waits);
    return PSC_OK;
}

bool waits_want_held(const struct waits *waits)
{
    return waits->want_held;
}

enum psc_status waits_read_held(struct waits *waits, const struct diagnose_wait_thread *thread)
{
    psc_addr held[PYTHON_HELD_LIMIT];
    struct wait_facts *facts = hash_table_find(&waits->facts, (uint64_t)thread->native->tid);
    if (!facts || !waits->input.python || !thread->has_python)
        return PSC_OK;
    size_t count = python_list_held(waits->input.python, thread->frames, thread->frame_count, held);
    psc_addr *copy = arena_array(waits->arena, count + 1, sizeof(*copy));
    if (!copy)
        return PSC_ERR_MEMORY;
    memcpy(copy, held, count * sizeof(*copy));
    facts->held = copy;
    facts->held_count = count;
    return PSC_OK;
}

bool waits_is_for_gil(const struct waits *waits, int32_t tid)
{
    const struct wait_facts *facts = tid > 0 ? hash_table_find(&waits->facts, (uint64_t)tid) : NULL;
    return facts && facts->for_gil;
}

const struct wait_facts *waits_find_pointer(const struct waits *waits, psc_addr thread_pointer)
{
    for (size_t i = 0; thread_pointer && i < waits->facts.count; i++) {
        const struct wait_facts *facts = hash_table_at(&waits->facts, i);
        if (facts->thread_pointer == thread_pointer)
            return facts;
    }
    return NULL;
}

const struct wait_facts *waits_find_tstate(const struct waits *waits, psc_addr tstate)
{
    for (size_t i = 0; tstate && i < waits->facts.count; i++) {
        const struct wait_facts *facts = hash_table_at(&waits->facts, i);
        if (facts->tstate == tstate)
            return facts;
    }
    return NULL;
}

const struct wait_facts *waits_find_inner(const struct waits *waits, uint32_t inner_tid)
{
    for (size_t i = 0; inner_tid && i < waits->facts.count; i++) {
        const struct wait_facts *facts = hash_table_at(&waits->facts, i);
        if (facts->inner_tid == inner_tid)
            return facts;
    }
    return NULL;
}

uint32_t waits_word(const struct wait_facts *facts, int offset)
{
    int at = WINDOW_BEFORE + offset;
    return facts->has_window && at >= 0 && at + 4 <= (int)sizeof(facts->window)
               ? load_u32(facts->window + at)
               : 0;
}

uint64_t waits_long(const struct wait_facts *facts, int offset)
{
    return waits_word(facts, offset) | (uint64_t)waits_word(facts, offset + 4) << 32;
}
