/* DWARF's numbers of x86-64's registers, for tests of what lies in them. */
#ifndef X86_64_REGISTERS_H
#define X86_64_REGISTERS_H

enum x86_64_register {
    X86_RAX = 0,
    X86_RDX = 1,
    X86_RCX = 2,
    X86_RBX = 3,
    X86_RSI = 4,
    X86_RDI = 5,
    X86_RBP = 6,
    X86_RSP = 7,
    X86_R8 = 8,
    X86_R9 = 9,
    X86_R10 = 10,
    X86_R12 = 12,
    X86_R15 = 15,
    X86_RIP = 16,
    X86_COUNT = 17
};

#endif
