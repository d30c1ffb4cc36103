/* The object of Python that a death is about: the one that was deallocated, or visited. */
#include "diagnose_private.h"
#include "fault.h"
#include "native.h"
#include "python.h"

#include <inttypes.h>

/* Frames from the fault outward in which such a function is looked for. */
#define OBJECT_DEPTH ((size_t)12)
/* Frames between an object that the collector visits and the collector's loop. */
#define COLLECTOR_DEPTH ((size_t)3)

struct object_search {
    const struct diagnose_input *input;
    const struct fault *fault;
    psc_addr object;
    struct python_object_facts facts;
    bool visited; /* Else it was being deallocated. */
    bool ambiguous;
};

static void take(struct object_search *search, psc_addr object,
                 const struct python_object_facts *facts, bool visited)
{
    if (search->object && search->object != object)
        search->ambiguous = true;
    search->object = object;
    search->facts = *facts;
    search->visited = visited;
}

/*
 * Objects/object.c, _Py_Dealloc(): (*Py_TYPE(op)->tp_dealloc)(op), which compilers put into its
 * callers, too. The register of the type and that of the object agree: one is what the other
 * points to. Only code of the interpreter's own module does it; extensions call that.
 */
static void search_call(struct object_search *search)
{
    const struct diagnose_input *input = search->input;
    const struct target_machine *machine = input->target->machine;
    const struct target_registers *registers = search->fault->registers;
    uint64_t offset = python_deallocate_offset(input->python);
    uint8_t base;
    int64_t displacement;
    if (!offset || !registers ||
        !fault_find_member(search->fault, input->trace->arena, &base, &displacement) ||
        (uint64_t)displacement != offset || !registers->value[base])
        return; // Many a word is 0: that two of them are alike says nothing.
    for (unsigned i = 0; i < machine->register_count; i++) {
        struct python_object_facts facts;
        psc_addr object = registers->value[i];
        if (i != base && i != machine->pc && i != machine->sp &&
            python_read_object_facts(input->python, object, &facts) &&
            facts.type == registers->value[base] && facts.has_count && facts.count <= 0)
            take(search, object, &facts, false);
    }
}

static bool find_function(const struct diagnose_input *input, const struct native_frame *frame,
                          psc_addr *ret)
{
    struct module_symbol symbol;
    psc_addr at = native_lookup_pc(frame);
    struct module *module = modules_find(input->modules, at);
    if (!module || !module_find_symbol(module, at, &symbol))
        return false;
    *ret = symbol.address;
    return true;
}

/*
 * A frame of a type's own function: of the registers that are known in it, the object is the one of
 * whose type it is the function. What is deallocated has no references; the collector visits what
 * has some.
 */
static void search_frame(struct object_search *search, size_t index)
{
    const struct diagnose_input *input = search->input;
    const struct target_machine *machine = input->target->machine;
    struct native_context context;
    psc_addr function;
    if (!find_function(input, &input->stack->frames[index], &function))
        return;
    native_get_context(input->target, input->stack, index, &context);
    for (unsigned i = 0; i < machine->register_count; i++) {
        struct python_object_facts facts;
        psc_addr object = context.registers.value[i];
        if (!(context.known >> i & 1) || i == machine->pc || i == machine->sp ||
            !python_read_object_facts(input->python, object, &facts) || !facts.type_name ||
            !facts.has_count)
            continue;
        if (facts.deallocate == function && facts.count == 0)
            take(search, object, &facts, false);
        else if (facts.traverse == function && facts.count > 0)
            take(search, object, &facts, true);
    }
}

static bool is_collecting(const struct object_search *search)
{
    const struct psc_trace *trace = search->input->trace;
    for (size_t i = 0; i < trace->thread_count; i++)
        if (search->fault->thread && trace->threads[i].tid == search->fault->thread->tid)
            return trace->threads[i].state & TRACE_STATE_COLLECTING;
    return false;
}

/* A register that is preserved in one of the frames below holds the object's head of a list. */
static bool is_head_in_hand(const struct object_search *search, size_t first, psc_addr head)
{
    const struct diagnose_input *input = search->input;
    const struct target_machine *machine = input->target->machine;
    for (size_t i = first + 1; i < input->stack->count && i <= first + COLLECTOR_DEPTH; i++) {
        struct native_context context;
        native_get_context(input->target, input->stack, i, &context);
        for (unsigned k = 0; k < machine->register_count; k++)
            if (context.known >> k & 1 && k != machine->pc && k != machine->sp &&
                context.registers.value[k] == head)
                return true;
    }
    return false;
}

/*
 * Modules/gcmodule.c (Python/gc.c), subtract_refs() and move_unreachable(): traverse() of each
 * object in a list is given the object, for visit_decref() and visit_reachable(), which compilers
 * let it jump to: the object and its head of the list are both at hand then.
 */
static void search_collector(struct object_search *search, size_t first)
{
    const struct diagnose_input *input = search->input;
    const struct target_registers *registers = search->fault->registers;
    const struct target_machine *machine = input->target->machine;
    uint64_t head = python_collector_head(input->python);
    for (unsigned i = 0; head && registers && i < machine->register_count; i++) {
        struct python_object_facts facts;
        psc_addr object = registers->value[i];
        if (i != machine->pc && i != machine->sp &&
            python_read_object_facts(input->python, object, &facts) && facts.type_name &&
            facts.traverse && facts.has_count && facts.count > 0 &&
            is_head_in_hand(search, first, object - head))
            take(search, object, &facts, true);
    }
}

static void search_stack(struct object_search *search)
{
    const struct diagnose_input *input = search->input;
    size_t first = input->first->found ? input->first->handler_frames : 0;
    for (size_t i = first; !search->object && i < input->stack->count && i < first + OBJECT_DEPTH;
         i++)
        search_frame(search, i);
    if (!search->object && is_collecting(search))
        search_collector(search, first);
}

static const char *describe(const struct object_search *search)
{
    struct arena *arena = search->input->trace->arena;
    const struct python_object_facts *facts = &search->facts;
    const char *what = search->visited ? "the collector visited" : "deallocating";
    const char *type =
        facts->type_name
            ? arena_printf(arena, "%s object", facts->type_name)
            : arena_printf(arena, "an object whose type, 0x%" PRIx64 ", is none,", facts->type);
    return arena_printf(arena, "%s %s%s at 0x%" PRIx64 ", reference count %" PRId64, what,
                        facts->type_name ? "a " : "", type ? type : "", search->object,
                        facts->count);
}

enum psc_status diagnose_object(const struct diagnose_input *input, const struct fault *fault,
                                const char **ret)
{
    struct object_search search = {.input = input, .fault = fault};
    *ret = NULL;
    if (!input->python || !input->modules || !input->stack || !input->stack->count ||
        fault->signal.code <= 0)
        return PSC_OK;
    search_call(&search);
    if (!search.object)
        search_stack(&search);
    if (search.object && !search.ambiguous)
        *ret = describe(&search);
    return arena_is_exhausted(input->trace->arena) ? PSC_ERR_MEMORY : PSC_OK;
}
