/*
 * What is damaged around a death in the collector, in the allocator or while an object was
 * deallocated: the pools that registers lead into, an object whose type was overwritten, the lists
 * of the collector. Nothing else of the heap is read.
 */
#include "diagnose_private.h"
#include "fault.h"
#include "heap.h"
#include "modules.h"
#include "python.h"

#include <inttypes.h>

/* What may stand before an object in its block. */
#define HEADS_MOST 32u

struct damage_search {
    const struct diagnose_input *input;
    const struct fault *fault;
    struct text text;
};

static bool is_in_interpreter(const struct damage_search *search)
{
    const struct diagnose_input *input = search->input;
    const psc_addr pc = search->fault->registers->value[input->target->machine->pc];
    const struct module *module = modules_find(input->modules, pc);
    return module && module == python_get_info(input->python)->module;
}

static const struct trace_thread *find_thread(const struct damage_search *search)
{
    const struct psc_trace *trace = search->input->trace;
    for (size_t i = 0; search->fault->thread && i < trace->thread_count; i++)
        if (trace->threads[i].tid == search->fault->thread->tid)
            return &trace->threads[i];
    return NULL;
}

/* The free list of a pool that a register leads into. */
static bool search_pools(struct damage_search *search)
{
    const struct diagnose_input *input = search->input;
    const struct target_machine *machine = input->target->machine;
    struct python_heap_layout layout;
    struct psc_error err = {0};
    if (python_get_heap_layout(input->python, &layout, &err) != PSC_OK)
        return false;
    for (unsigned i = 0; i < machine->register_count; i++) {
        struct heap_pool_look look;
        if (i == machine->pc || i == machine->sp ||
            !heap_look_at_pool(input->target, layout.pool_size, search->fault->registers->value[i],
                               &look) ||
            !look.broken_at)
            continue;
        text_printf(&search->text,
                    "the free list of the allocator's pool at 0x%" PRIx64 " is broken at 0x%" PRIx64
                    ": 0x%" PRIx64 " stands there; a free block was written to, or freed twice",
                    look.pool, look.broken_at, look.link);
        return true;
    }
    return false;
}

/* Whether an object may begin there, in a block of the allocator that is in use. */
static bool may_be_object(const struct damage_search *search, psc_addr object, bool collecting)
{
    const struct diagnose_input *input = search->input;
    struct python_heap_layout layout;
    struct python_object_facts facts;
    struct heap_pool_look look;
    struct psc_error err = {0};
    return !(object & 15) && python_get_heap_layout(input->python, &layout, &err) == PSC_OK &&
           heap_look_at_pool(input->target, layout.pool_size, object, &look) && look.block &&
           !look.is_free && object - look.block <= HEADS_MOST &&
           (collecting || (python_read_object_facts(input->python, object, &facts) &&
                           facts.has_count && facts.count > 0));
}

/* A member was read of what is no type, but stands in the place of an object's type. */
static bool search_header(struct damage_search *search, bool collecting)
{
    const struct diagnose_input *input = search->input;
    const struct target_machine *machine = input->target->machine;
    const struct target_registers *registers = search->fault->registers;
    uint8_t base;
    int64_t displacement;
    if (!fault_find_member(search->fault, input->trace->arena, &base, &displacement) ||
        displacement <= 0 || !registers->value[base] ||
        target_find_mapping(input->target, registers->value[base]))
        return false;
    for (unsigned i = 0; i < machine->register_count; i++) {
        const psc_addr object = registers->value[i];
        uint64_t type;
        if (i == base || i == machine->pc || i == machine->sp ||
            target_read_u64(input->target, object + sizeof(uint64_t), &type) != PSC_OK ||
            type != registers->value[base] || !may_be_object(search, object, collecting))
            continue;
        text_printf(&search->text,
                    "the header of the object at 0x%" PRIx64 " was overwritten: its type would be "
                    "0x%" PRIx64,
                    object, type);
        return true;
    }
    return false;
}

static void tell_broken(struct damage_search *search, const struct python_broken_object *broken)
{
    if (!broken->link) {
        text_printf(&search->text,
                    "the header of the object at 0x%" PRIx64 ", in the collector's list, was "
                    "overwritten: its type would be 0x%" PRIx64,
                    broken->object, broken->type);
        return;
    }
    text_printf(&search->text, "the collector's list is broken at ");
    text_add_string(&search->text, broken->type_name ? broken->type_name : "an object");
    text_printf(&search->text, " at 0x%" PRIx64 ": its link to 0x%" PRIx64 " was overwritten",
                broken->object, broken->link);
}

static void search_lists(struct damage_search *search)
{
    struct python_thread_list list = {0};
    struct psc_error err = {0};
    if (python_list_threads(search->input->python, &list, &err) != PSC_OK)
        return;
    for (size_t i = 0; i < list.interpreter_count; i++) {
        struct python_broken_object broken;
        if (list.interpreters[i].collecting != PYTHON_NO &&
            python_find_broken_object(search->input->python, list.interpreters[i].address,
                                      &broken)) {
            tell_broken(search, &broken);
            return;
        }
    }
}

enum psc_status diagnose_damage(const struct diagnose_input *input, const struct fault *fault,
                                const char **ret)
{
    struct damage_search search = {.input = input, .fault = fault};
    *ret = NULL;
    if (!input->python || !input->modules || !fault->registers || fault->signal.code <= 0 ||
        python_get_info(input->python)->free_threaded)
        return PSC_OK;
    const struct trace_thread *thread = find_thread(&search);
    const bool collecting = thread && thread->state & TRACE_STATE_COLLECTING;
    if (!collecting && !is_in_interpreter(&search))
        return PSC_OK;
    if (!search_pools(&search) && !search_header(&search, collecting) && collecting)
        search_lists(&search);
    const bool failed = search.text.failed;
    if (search.text.size && !failed)
        *ret = arena_strndup(input->trace->arena, search.text.data, search.text.size);
    text_deinit(&search.text);
    return failed || arena_is_exhausted(input->trace->arena) ? PSC_ERR_MEMORY : PSC_OK;
}
