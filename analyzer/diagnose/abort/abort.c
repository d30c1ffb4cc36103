/* Asks each who may have called abort(). */
#include "abort_private.h"

/* Where several are on one stack, the first one is the inner one: it called. */
static abort_reader *const readers[] = {libc_message_read,     python_fatal_read,
                                        cxx_terminate_read,    cxx_missing_method_read,
                                        sanitizer_report_read, rust_panic_read};

enum psc_status abort_read(const struct abort_input *input, struct abort_finding *ret)
{
    struct abort_stack stack PSC_CLEANUP(abort_stack_deinit) = {0};
    *ret = (struct abort_finding){0};
    if (!abort_stack_init(input, &stack))
        return PSC_OK;
    // Without it, what needs no instructions is told all the same.
    if (disassembler_open(input->target->machine->elf_machine, &stack.disassembler) ==
        PSC_ERR_MEMORY)
        return PSC_ERR_MEMORY;
    enum psc_status status = PSC_OK;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(readers) && status == PSC_OK && !ret->cause; i++)
        status = readers[i](&stack, ret);
    return arena_is_exhausted(input->arena) ? PSC_ERR_MEMORY : status;
}
