/* What a thread is doing, by what its registers and its stack prove. */
#include "capture_private.h"

#include <string.h>

/*
 * A thread that died in a system call that waits for something from outside was waiting, unless
 * data came in that very moment.
 */
static bool is_waiting_call(const struct target_machine *machine, uint32_t number)
{
    for (size_t i = 0; i < machine->waiting_call_count; i++)
        if (machine->waiting_calls[i] == number)
            return true;
    return false;
}

uint32_t states_of_registers(const struct target_machine *machine,
                             const struct target_thread *native, uint32_t known)
{
    uint32_t busy = TRACE_STATE_CRASHED | TRACE_STATE_HOLDS_GIL | TRACE_STATE_WAITS_FOR_GIL |
                    TRACE_STATE_COLLECTING;
    if (!native)
        return TRACE_STATE_TERMINATED;
    if (known & busy || !native->registers.in_system_call ||
        !is_waiting_call(machine, native->registers.system_call))
        return 0;
    return TRACE_STATE_IDLE;
}

bool states_waits_for_gil(const char *inner, const struct address_info *info, bool evaluator)
{
    if (!info->interpreter)
        return false;
    bool takes = evaluator ||
                 info->levels[info->level_count - 1].python_function == PYTHON_FUNCTION_TAKE_GIL;
    return python_waits_for_gil(inner, takes);
}
