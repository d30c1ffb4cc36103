/* x86-64: System V ABI, AMD64 supplement (the register numbers: figure 3.36), and Linux. */
#include "target_private.h"

#include <elf.h>

enum {
    RAX,
    RDX,
    RCX,
    RBX,
    RSI,
    RDI,
    RBP,
    RSP,
    R8,
    R9,
    R12 = 12,
    R13,
    R14,
    R15,
    RIP,
    REGISTER_COUNT
};

/* Index into struct user_regs_struct (arch/x86/include/asm/user_64.h) for each DWARF number. */
static const uint8_t user_regs_index[REGISTER_COUNT] = {
    10, /* rax */ 12, /* rdx */ 11, /* rcx */ 5, /* rbx */ 13, /* rsi */ 14, /* rdi */
    4,  /* rbp */ 19, /* rsp */ 9,  /* r8 */ 8,  /* r9 */ 7,   /* r10 */ 6,  /* r11 */
    3,  /* r12 */ 2,  /* r13 */ 1,  /* r14 */ 0, /* r15 */ 16,               /* rip */
};

/* gregset_t (sys/ucontext.h). */
static const uint8_t signal_order[REGISTER_COUNT] = {8,   9,   10,  11,  12,  13,  14,  15, RDI,
                                                     RSI, RBP, RBX, RDX, RAX, RCX, RSP, RIP};

#define USER_REGS_COUNT    27
#define USER_REGS_ORIG_RAX 15
#define USER_REGS_FS_BASE  21

/* arch/x86/entry/syscalls/syscall_64.tbl */
static const uint16_t waiting_calls[] = {
    0,   /* read */
    7,   /* poll */
    23,  /* select */
    34,  /* pause */
    35,  /* nanosleep */
    43,  /* accept */
    45,  /* recvfrom */
    47,  /* recvmsg */
    61,  /* wait4 */
    65,  /* semop */
    70,  /* msgrcv */
    73,  /* flock */
    128, /* rt_sigtimedwait */
    130, /* rt_sigsuspend */
    202, /* futex */
    208, /* io_getevents */
    219, /* restart_syscall */
    220, /* semtimedop */
    230, /* clock_nanosleep */
    232, /* epoll_wait */
    243, /* mq_timedreceive */
    247, /* waitid */
    270, /* pselect6 */
    271, /* ppoll */
    281, /* epoll_pwait */
    288, /* accept4 */
    299, /* recvmmsg */
    426, /* io_uring_enter */
    441, /* epoll_pwait2 */
    449, /* futex_waitv */
    455, /* futex_wait */
};

/* mov $number,%eax; syscall: as the C libraries have it. */
static bool find_call_before(struct target *target, psc_addr pc, uint32_t *ret)
{
    uint8_t code[7];
    if (target_read(target, pc - sizeof(code), code, sizeof(code)) != PSC_OK || code[0] != 0xb8 ||
        code[5] != 0x0f || code[6] != 0x05)
        return false;
    *ret = load_u32(code + 1);
    return true;
}

/* The last byte of int3, of int $3 and of icebp; the pc is behind them. */
static bool ran_trap(struct target *target, psc_addr pc)
{
    uint8_t last;
    if (target_read_u8(target, pc - 1, &last) != PSC_OK)
        return true;
    return last == 0xcc || last == 0x03 || last == 0xf1;
}

const struct target_machine target_x86_64 = {
    .elf_machine = EM_X86_64,
    .name = "x86_64",
    .title = "x86-64",
    .register_count = REGISTER_COUNT,
    .pc = RIP,
    .sp = RSP,
    .frame_pointer = RBP,
    .return_column = RIP,
    .saved = {RBX, RBP, R12, R13, R14, R15}, /* Figure 3.4. */
    .saved_count = 6,
    /* xmm0 to xmm15 and st0 to st7; Intel SDM, volume 1, table 10-2. */
    .vectors = {{.first = 17, .count = 16, .size = 16, .offset = 160, .whole = true},
                {.first = 33, .count = 8, .size = 10, .offset = 32}},
    .call_pushes = true,
    .red_zone = 128, /* 3.2.2 */
    /* glibc, sysdeps/x86_64/nptl/tls.h, tcbhead_t; musl, src/internal/pthread_impl.h. */
    .long_double = TARGET_LONG_DOUBLE_X87,
    .thread_pointer_is_self = true,
    /* glibc, nptl/descr.h: tcb, self, tid. */
    .pthread_self = 16,
    .pthread_tid = 720,
    .pthread_end = 724,
    /* musl, src/internal/pthread_impl.h: tid; with one canary (1.2), with two (1.1). */
    .musl_tid = {48, 56},
    .status_size = 336, /* include/uapi/linux/elfcore.h */
    .user_size = USER_REGS_COUNT * 8,
    .user_index = user_regs_index,
    .user_system_call = USER_REGS_ORIG_RAX,
    .user_thread_pointer = USER_REGS_FS_BASE,
    .user_syscall_words = {USER_REGS_ORIG_RAX, 14, 13, 12, 7, 9, 8, 19, 16},
    .vectors_size = 512, /* struct user_i387_struct is FXSAVE's (arch/x86/include/asm/user_64.h). */
    .extended_note = NT_X86_XSTATE,
    /*
     * arch/x86/include/uapi/asm/sigcontext.h, struct ucontext, which the stack pointer is at when
     * the handler has returned: flags, link and stack, 23 registers, struct _fpstate's address.
     */
    .signal_registers = 40,
    .signal_order = signal_order,
    .signal_vectors = 224,
    .call_result = RAX,
    .restart_call = 219,
    .find_call_before = find_call_before,
    .waiting_calls = waiting_calls,
    .waiting_call_count = PSC_ARRAY_SIZE(waiting_calls),
    .ran_trap = ran_trap,
};
