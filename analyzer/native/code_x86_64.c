/* x86-64's code: calls, the beginnings and ends of functions, clone and the signal trampoline. */
#include "native_private.h"

#include <elf.h>
#include <string.h>

/* By DWARF's numbers. */
enum { RAX = 0, RBP = 6, RSP = 7, RIP = 16 };

#define EPILOGUE_LIMIT  16u
#define CALL_LENGTH_MAX 8u

static bool is_signal_return(struct native *native, psc_addr pc)
{
    // mov $15,%rax; syscall: __restore_rt of glibc and musl, the same bytes that gdb looks for.
    static const uint8_t trampoline[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
    uint8_t bytes[sizeof(trampoline)];
    return target_read(native->target, pc, bytes, sizeof(bytes)) == PSC_OK &&
           memcmp(bytes, trampoline, sizeof(bytes)) == 0;
}

/* Length of `call *operand` with its prefix at bytes[0], or 0. Intel SDM volume 2, tables 2-1 to
   2-3: FF /2 */
static size_t indirect_call_length(const uint8_t *bytes, size_t size)
{
    size_t length = (bytes[0] & 0xf0) == 0x40 ? 1 : 0;
    if (size < length + 2 || bytes[length] != 0xff)
        return 0;
    uint8_t operand = bytes[length + 1];
    uint8_t mode = operand >> 6, base = operand & 7;
    if ((operand >> 3 & 7) != 2)
        return 0;
    length += 2;
    if (mode == 3)
        return length;
    if (base == 4) {
        if (size <= length)
            return 0;
        if (mode == 0 && (bytes[length] & 7) == 5)
            length += 4;
        length++;
    } else if (base == 5 && mode == 0) {
        length += 4;
    }
    return mode == 1 ? length + 1 : mode == 2 ? length + 4 : length;
}

static enum code_call follows_call(struct native *native, psc_addr address)
{
    uint8_t before[CALL_LENGTH_MAX];
    if (!code_is_possible(native, address - 1))
        return CODE_CALL_NO;
    size_t size = CALL_LENGTH_MAX;
    while (size >= 2 && target_read(native->target, address - size, before, size) != PSC_OK)
        size--;
    if (size < 2)
        return CODE_CALL_UNKNOWN;
    if (is_signal_return(native, address))
        return CODE_CALL_YES;
    if (size >= 5 && before[size - 5] == 0xe8) {
        psc_addr callee = address + (uint64_t)(int64_t)(int32_t)load_u32(before + size - 4);
        if (target_is_executable(native->target, callee))
            return CODE_CALL_YES;
    }
    for (size_t length = 2; length <= size; length++)
        if (indirect_call_length(before + size - length, length) == length)
            return CODE_CALL_YES;
    return CODE_CALL_NO;
}

/* System V ABI, AMD64 supplement, 5.2: `jmp *slot(%rip)`, perhaps behind endbr64 or with bnd. */
static psc_addr follow_linkage(struct native *native, psc_addr function)
{
    uint8_t bytes[12];
    psc_addr found;
    size_t at = 0;
    if (target_read(native->target, function, bytes, sizeof(bytes)) != PSC_OK)
        return function;
    if (!memcmp(bytes, "\xf3\x0f\x1e\xfa", 4))
        at = 4;
    if (bytes[at] == 0xf2)
        at++;
    if (bytes[at] != 0xff || bytes[at + 1] != 0x25)
        return function;
    uint64_t offset = (uint64_t)(int64_t)(int32_t)load_u32(bytes + at + 2);
    return target_read_pointer(native->target, function + at + 6 + offset, &found) == PSC_OK
               ? found
               : function;
}

static bool find_callee(struct native *native, psc_addr address, psc_addr *ret)
{
    uint8_t before[6];
    if (target_read(native->target, address - sizeof(before), before, sizeof(before)) != PSC_OK)
        return false;
    psc_addr named = address + (uint64_t)(int64_t)(int32_t)load_u32(before + 2);
    // call *slot(%rip), as code for no linkage table has it.
    if (before[0] == 0xff && before[1] == 0x15)
        return target_read_pointer(native->target, named, ret) == PSC_OK;
    if (before[1] != 0xe8 || !code_is_possible(native, named))
        return false;
    *ret = follow_linkage(native, named);
    return true;
}

/* ---- ends of functions ---- */

struct epilogue {
    struct native *native;
    struct target_registers registers;
    const uint8_t *at;
    size_t left;
    bool returned;
};

static bool starts_with(const struct epilogue *run, const void *bytes, size_t size, size_t length)
{
    return run->left >= length && memcmp(run->at, bytes, size) == 0;
}

static bool pop(struct epilogue *run, unsigned number)
{
    // The machine's register numbers in DWARF's.
    static const uint8_t dwarf[16] = {0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15};
    uint64_t *sp = &run->registers.value[RSP];
    uint64_t value;
    if (number == 4 || !native_read_word(run->native, *sp, &value))
        return false;
    run->registers.value[dwarf[number]] = value;
    *sp += 8;
    return true;
}

/* @return the length of the instruction that was run, 0 for one that ends no function. */
static size_t run_instruction(struct epilogue *run)
{
    uint64_t *value = run->registers.value;
    const uint8_t *at = run->at;
    if (starts_with(run, "\x48\x83\xc4", 3, 4)) { // add $imm8,%rsp
        value[RSP] += (uint64_t)(int64_t)(int8_t)at[3];
        return 4;
    }
    if (starts_with(run, "\x48\x81\xc4", 3, 7)) { // add $imm32,%rsp
        value[RSP] += (uint64_t)(int64_t)(int32_t)load_u32(at + 3);
        return 7;
    }
    if (starts_with(run, "\x48\x8d\x65", 3, 4)) { // lea disp8(%rbp),%rsp
        value[RSP] = value[RBP] + (uint64_t)(int64_t)(int8_t)at[3];
        return 4;
    }
    if (run->left >= 1 && (at[0] & 0xf8) == 0x58) // pop
        return pop(run, at[0] & 7) ? 1 : 0;
    if (run->left >= 2 && at[0] == 0x41 && (at[1] & 0xf8) == 0x58)
        return pop(run, 8 + (at[1] & 7)) ? 2 : 0;
    if (run->left >= 1 && at[0] == 0xc9) { // leave
        value[RSP] = value[RBP];
        return pop(run, 5) ? 1 : 0;
    }
    size_t repeat = run->left >= 2 && at[0] == 0xf3 ? 1 : 0;
    if (run->left > repeat && (at[repeat] == 0xc3 || at[repeat] == 0xc2)) { // ret
        run->returned = native_read_word(run->native, value[RSP], &value[RIP]);
        value[RSP] += 8;
        return run->returned ? repeat + 1 : 0;
    }
    return 0;
}

static bool run_epilogue(struct native *native, const struct target_registers *registers,
                         struct target_registers *ret)
{
    uint8_t bytes[48];
    struct epilogue run = {.native = native, .registers = *registers, .at = bytes};
    run.left = target_read_some(native->target, registers->value[RIP], bytes, sizeof(bytes));
    for (unsigned i = 0; i < EPILOGUE_LIMIT && !run.returned; i++) {
        size_t length = run_instruction(&run);
        if (!length)
            return false;
        run.at += length;
        run.left -= length;
    }
    if (!run.returned || run.registers.value[RSP] <= registers->value[RSP])
        return false;
    *ret = run.registers;
    return true;
}

/* ---- beginnings ---- */

static bool at_entry(struct native *native, const struct target_registers *registers,
                     psc_addr *ret_return_slot)
{
    uint8_t bytes[6];
    psc_addr pc = registers->value[RIP];
    *ret_return_slot = registers->value[RSP];
    // One byte before pc, for a push that has been done.
    if (target_read(native->target, pc - 1, bytes, sizeof(bytes)) != PSC_OK)
        return false;
    static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
    if (bytes[1] == 0x55 || (memcmp(bytes + 1, endbr64, 4) == 0 && bytes[5] == 0x55))
        return true;
    *ret_return_slot += 8;
    return bytes[0] == 0x55 && memcmp(bytes + 1, "\x48\x89\xe5", 3) == 0;
}

static bool surely_ends_thread(struct native *native, psc_addr pc)
{
    // mov $60,%al or %eax (exit), then syscall: musl's clone.
    uint8_t bytes[16];
    psc_addr entry = native->target->auxv.entry;
    if (entry && pc > entry && pc - entry <= 64)
        return true;
    size_t size = target_read_some(native->target, pc, bytes, sizeof(bytes));
    for (size_t i = 2; i + 2 <= size; i++) {
        if (bytes[i] != 0x0f || bytes[i + 1] != 0x05)
            continue;
        return (bytes[i - 2] == 0xb0 && bytes[i - 1] == 60) ||
               (i >= 5 && bytes[i - 5] == 0xb8 && load_u32(bytes + i - 4) == 60);
    }
    return false;
}

static bool ends_thread(struct native *native, psc_addr pc)
{
    uint8_t first;
    return surely_ends_thread(native, pc) ||
           (target_read(native->target, pc, &first, 1) == PSC_OK && first == 0xf4); // hlt
}

static bool begins_thread(struct native *native, const struct target_registers *registers)
{
    // mov $SYS_clone or $SYS_clone3,%eax; syscall; test; two jumps (glibc
    // sysdeps/unix/sysv/linux/x86_64/clone.S and clone3.S); the kernel gives the child 0.
    static const uint8_t clone[] = {0xb8, 0x38, 0, 0, 0, 0x0f, 0x05};
    static const uint8_t clone3[] = {0xb8, 0xb3, 0x01, 0, 0, 0x0f, 0x05};
    uint8_t bytes[24];
    psc_addr pc = registers->value[RIP];
    if (registers->value[RAX] ||
        target_read(native->target, pc - sizeof(bytes), bytes, sizeof(bytes)) != PSC_OK)
        return false;
    for (size_t i = 0; i + sizeof(clone) <= sizeof(bytes); i++)
        if (!memcmp(bytes + i, clone, sizeof(clone)) || !memcmp(bytes + i, clone3, sizeof(clone3)))
            return true;
    return false;
}

/* musl's __stack_chk_fail. */
static bool begins_with_stop(struct native *native, psc_addr pc)
{
    uint8_t first;
    return target_read(native->target, pc, &first, 1) == PSC_OK && first == 0xf4; // hlt
}

const struct code_machine code_x86_64 = {
    .elf_machine = EM_X86_64,
    .is_signal_return = is_signal_return,
    .follows_call = follows_call,
    .find_callee = find_callee,
    .begins_with_stop = begins_with_stop,
    .run_epilogue = run_epilogue,
    .at_entry = at_entry,
    .ends_thread = ends_thread,
    .surely_ends_thread = surely_ends_thread,
    .begins_thread = begins_thread,
};
