/* x86-64: struct rt_sigframe of Linux (arch/x86/include/asm/sigframe.h), behind its first word. */
#include "signal_frame.h"

#include <elf.h>

/* struct ucontext (asm-generic/ucontext.h) and struct sigcontext_64 (asm/sigcontext.h) in it. */
enum {
    FRAME_LINK = 8,
    FRAME_SEGMENTS = 184, /* cs is the first of them. */
    FRAME_ERROR = 192,
    FRAME_TRAP = 200,
    FRAME_ADDRESS = 216,
    FRAME_EXTENDED = 224, /* Where the floating point registers are. */
    FRAME_BLOCKED = 296,
    FRAME_INFO = 304,
    INFO_SIZE = 128,
    FRAME_SIZE = FRAME_INFO + INFO_SIZE,
    CODE_SEGMENT = 0x33 /* __USER_CS: 64-bit code. */
};
/* By DWARF's numbers. */
enum { RDX = 1, RSI = 4, RDI = 5 };
#define EXTENDED_DISTANCE ((psc_addr)64 * 1024)

/* arch/x86/include/asm/trapnr.h */
static enum signal_trap find_trap(uint64_t number)
{
    switch (number) {
    case 0:
        return SIGNAL_TRAP_DIVISION;
    case 3:
        return SIGNAL_TRAP_BREAKPOINT;
    case 6:
        return SIGNAL_TRAP_ILLEGAL;
    case 12: // The stack's segment: a non-canonical address that the stack pointer is in.
    case 13:
        return SIGNAL_TRAP_PROTECTION;
    case 14:
        return SIGNAL_TRAP_PAGE_FAULT;
    case 16:
        return SIGNAL_TRAP_REAL;
    case 17:
        return SIGNAL_TRAP_ALIGNMENT;
    case 19:
        return SIGNAL_TRAP_VECTOR;
    default:
        return SIGNAL_TRAP_UNKNOWN;
    }
}

static bool read_frame(struct target *target, psc_addr sp, struct signal_frame *ret)
{
    uint8_t bytes[FRAME_SIZE];
    const struct target_machine *machine = target->machine;
    if (target_read(target, sp, bytes, sizeof(bytes)) != PSC_OK)
        return false;
    psc_addr extended = load_u64(bytes + FRAME_EXTENDED);
    if (load_u16(bytes + FRAME_SEGMENTS) != CODE_SEGMENT || load_u64(bytes + FRAME_LINK) ||
        (extended && (extended % 64 || extended < sp || extended - sp > EXTENDED_DISTANCE)))
        return false;
    for (unsigned i = 0; i < machine->register_count; i++)
        ret->registers.value[machine->signal_order[i]] =
            load_u64(bytes + machine->signal_registers + (size_t)i * 8);
    ret->trap = find_trap(load_u64(bytes + FRAME_TRAP));
    ret->error = load_u64(bytes + FRAME_ERROR);
    ret->address = load_u64(bytes + FRAME_ADDRESS);
    ret->blocked = load_u64(bytes + FRAME_BLOCKED);
    target_signal_take(&ret->info, bytes + FRAME_INFO, INFO_SIZE);
    return true;
}

const struct signal_frame_machine signal_frame_x86_64 = {.elf_machine = EM_X86_64,
                                                         .read = read_frame,
                                                         .arguments = {RDI, RSI, RDX},
                                                         .call_size = 2 /* syscall */};
