/* A stack, and the registers of each of its frames, for those who look for variables there. */
#include "native_private.h"

#include <stdlib.h>
#include <string.h>

void native_stack_deinit(struct native_stack *stack)
{
    free(stack->frames);
    free(stack->saved);
    free(stack->exact);
    *stack = (struct native_stack){0};
}

void native_stack_cut(struct native_stack *stack, size_t count)
{
    if (!count || count >= stack->count)
        return;
    stack->count = count;
    if (stack->saved_count > count)
        stack->saved_count = count;
    while (stack->exact_count && stack->exact[stack->exact_count - 1].frame >= count)
        stack->exact_count--;
    struct native_frame *last = &stack->frames[count - 1];
    last->cfa = 0;
    stack->end = NATIVE_END_NO_RULE;
    stack->end_address = last->pc;
}

enum psc_status contexts_keep(struct native_stack *stack, const struct target_registers *registers,
                              const struct native_saved *saved)
{
    void *items = stack->saved;
    if (stack->saved_count >= NATIVE_SAVED_LIMIT || stack->saved_count + 1 != stack->count)
        return PSC_OK;
    if (!array_reserve(&items, &stack->saved_capacity, stack->saved_count + 1,
                       sizeof(*stack->saved)))
        return PSC_ERR_MEMORY;
    stack->saved = items;
    stack->saved[stack->saved_count++] = *saved;
    if (!registers)
        return PSC_OK;
    items = stack->exact;
    if (!array_reserve(&items, &stack->exact_capacity, stack->exact_count + 1,
                       sizeof(*stack->exact)))
        return PSC_ERR_MEMORY;
    stack->exact = items;
    stack->exact[stack->exact_count++] =
        (struct native_exact){.frame = stack->count - 1, .registers = *registers};
    return PSC_OK;
}

static const struct native_exact *find_exact(const struct native_stack *stack, size_t frame)
{
    size_t at = SORTED_BELOW(stack->exact, frame, stack->exact_count, frame);
    return at < stack->exact_count && stack->exact[at].frame == frame ? &stack->exact[at] : NULL;
}

void native_get_context(const struct target *target, const struct native_stack *stack, size_t index,
                        struct native_context *ret)
{
    const struct target_machine *machine = target->machine;
    const struct native_frame *frame = &stack->frames[index];
    const struct native_exact *exact = find_exact(stack, index);
    *ret = (struct native_context){.cfa = frame->cfa};
    if (exact) {
        ret->registers = exact->registers;
        ret->known = (UINT64_C(1) << machine->register_count) - 1;
        return;
    }
    ret->registers.value[machine->pc] = frame->pc;
    ret->registers.value[machine->sp] = frame->sp;
    ret->known = UINT64_C(1) << machine->pc | UINT64_C(1) << machine->sp;
    if (index >= stack->saved_count)
        return;
    for (size_t i = 0; i < machine->saved_count; i++) {
        if (!(stack->saved[index].known >> i & 1))
            continue;
        ret->registers.value[machine->saved[i]] = stack->saved[index].value[i];
        ret->known |= UINT64_C(1) << machine->saved[i];
    }
}

void native_read_context(struct target *target, const struct native_stack *stack, size_t index,
                         struct native_context *ret)
{
    psc_addr state;
    native_get_context(target, stack, index, ret);
    if (!find_exact(stack, index))
        return;
    if (!index && stack->vectors) {
        memcpy(ret->vectors, stack->vectors, target->machine->vectors_size);
        ret->has_vectors = true;
    } else if (index && stack->frames[index - 1].signal) {
        ret->has_vectors =
            target_read_u64(target, stack->frames[index - 1].sp + target->machine->signal_vectors,
                            &state) == PSC_OK &&
            state &&
            target_read(target, state, ret->vectors, target->machine->vectors_size) == PSC_OK;
    }
}
