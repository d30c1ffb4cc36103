/* What is x86-64 of spin locks. */
#include "spins.h"

#include <elf.h>

/*
 * glibc 2.2 to 2.43, sysdeps/x86_64/nptl/pthread_spin_lock.S: lock decl (%rdi); jne 2f; xor
 * %eax,%eax; ret; 2: pause; cmpl $0,(%rdi); jg 1b; jmp 2b. The bytes are those of the last four.
 */
static const uint8_t looping[] = {0xf3, 0x83, 0x7f, 0xeb};

const struct spin_machine spin_x86_64 = {
    .elf_machine = EM_X86_64, .looping = looping, .looping_count = PSC_ARRAY_SIZE(looping)};
