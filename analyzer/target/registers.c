#include "target_private.h"

/* Index into struct user_regs_struct (arch/x86/include/asm/user_64.h) for each DWARF number. */
static const uint8_t user_regs_index[X86_COUNT] = {
    10, /* rax */ 12, /* rdx */ 11, /* rcx */ 5, /* rbx */ 13, /* rsi */ 14, /* rdi */
    4,  /* rbp */ 19, /* rsp */ 9,  /* r8 */ 8,  /* r9 */ 7,   /* r10 */ 6,  /* r11 */
    3,  /* r12 */ 2,  /* r13 */ 1,  /* r14 */ 0, /* r15 */ 16,               /* rip */
};

#define USER_REGS_ORIG_RAX 15
#define USER_REGS_FS_BASE  21

void parse_user_registers(const uint8_t *bytes, struct target_registers *ret,
                          psc_addr *ret_thread_pointer)
{
    for (size_t i = 0; i < X86_COUNT; i++)
        ret->value[i] = load_u64(bytes + 8 * (size_t)user_regs_index[i]);
    /* -1 when the kernel was entered by anything else than a system call. */
    uint64_t call = load_u64(bytes + 8 * USER_REGS_ORIG_RAX);
    ret->in_system_call = call < UINT32_MAX;
    ret->system_call = ret->in_system_call ? (uint32_t)call : 0;
    *ret_thread_pointer = load_u64(bytes + 8 * USER_REGS_FS_BASE);
}

void store_thread_pointer(psc_addr thread_pointer, uint8_t *bytes)
{
    __builtin_memcpy(bytes + 8 * USER_REGS_FS_BASE, &thread_pointer, sizeof(thread_pointer));
}
