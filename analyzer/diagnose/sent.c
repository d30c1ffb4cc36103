/* Who sent a signal, and which system call was refused. */
#include "diagnose_private.h"
#include "system_calls.h"

#include <string.h>

/* Of AUDIT_ARCH_* (uapi/linux/audit.h): 64 bits, little-endian; the rest is e_machine. */
#define AUDIT_ARCH_FLAGS 0xc0000000u

/* The name of the call that a thread sends a signal with; NULL: it is in none of them. */
static const char *find_sending_call(const struct target *target,
                                     const struct target_registers *registers)
{
    static const char *const names[] = {
        "kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal"};
    const char *name = registers && registers->in_system_call
                           ? system_call_name(target->machine, registers->system_call)
                           : NULL;
    for (size_t i = 0; name && i < PSC_ARRAY_SIZE(names); i++)
        if (strcmp(name, names[i]) == 0)
            return name;
    return NULL;
}

void diagnose_describe_sender(const struct target *target, const struct target_signal *signal,
                              const struct target_registers *registers, struct text *ret)
{
    const struct target_process *process = &target->process;
    int32_t sender = signal->sender_pid;
    if (sender == process->pid) {
        const char *call = find_sending_call(target, registers);
        text_add_string(ret, "sent by itself");
        if (call)
            text_printf(ret, " with %s()", call);
    } else if (sender > 0) {
        text_printf(ret, "sent by pid %d", sender);
        if (signal->sender_name)
            text_printf(ret, " %s", signal->sender_name);
        if (sender == process->parent_pid)
            text_add_string(ret, ", its parent process");
    } else {
        text_add_string(ret, "sent from outside its pid namespace");
    }
}

void diagnose_describe_system_call(struct target *target, const struct target_signal *signal,
                                   const struct target_registers *registers, struct text *ret)
{
    uint64_t arguments[SYSTEM_CALL_ARGUMENTS];
    bool in_call = registers && registers->in_system_call;
    bool foreign = signal->has_system_call &&
                   signal->system_call_arch != (target->machine->elf_machine | AUDIT_ARCH_FLAGS);
    text_add_string(ret, signal->code == CODE_SYS_SECCOMP ? "system call refused by seccomp"
                                                          : "bad system call");
    if (foreign) {
        text_printf(ret, ": number %d of another architecture", signal->system_call);
    } else if ((signal->has_system_call || in_call) && registers &&
               system_call_get_arguments(target->machine, registers, arguments)) {
        text_add_string(ret, ": ");
        system_call_add_text(target,
                             signal->has_system_call ? (uint32_t)signal->system_call
                                                     : registers->system_call,
                             arguments, ret);
    }
}
