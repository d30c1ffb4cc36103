/* Linux's system calls by name, and their arguments as text. */
#include "system_calls.h"

#include <elf.h>
#include <inttypes.h>
#include <string.h>

/* Bytes of a path that are shown. */
#define PATH_LIMIT 128
/* AT_FDCWD of uapi/linux/fcntl.h. */
#define CURRENT_DIRECTORY (-100)

struct system_call {
    uint32_t number;
    const char *name;
    /**
     * A letter for each argument: i, I a signed number, of 32 bits or 64; u, U an unsigned one;
     * x, X bits; o a file's mode; a a folder's descriptor; p an address; s a path or name.
     * NULL: not known.
     */
    const char *arguments;
};

struct machine_calls {
    uint16_t elf_machine;
    const struct system_call *calls; /**< Sorted by number. */
    size_t count;
    /** DWARF's numbers of the registers with the arguments. */
    uint8_t registers[SYSTEM_CALL_ARGUMENTS];
};

#define SYSTEM_CALL(number, name, arguments) {number, name, arguments},
static const struct system_call x86_64_calls[] = {
#include "x86_64.def"
};
#undef SYSTEM_CALL

static const struct machine_calls machines[] = {
    /* rdi, rsi, rdx, r10, r8, r9: System V ABI, AMD64 supplement, A.2.1. */
    {EM_X86_64, x86_64_calls, PSC_ARRAY_SIZE(x86_64_calls), {5, 4, 1, 10, 8, 9}},
};

static const struct machine_calls *find_machine(const struct target_machine *machine)
{
    for (size_t i = 0; i < PSC_ARRAY_SIZE(machines); i++)
        if (machines[i].elf_machine == machine->elf_machine)
            return &machines[i];
    return NULL;
}

static const struct system_call *find_call(const struct target_machine *machine, uint32_t number)
{
    const struct machine_calls *calls = find_machine(machine);
    // As they are sorted, a call is behind none that has a higher number.
    for (size_t i = calls ? (number < calls->count ? number : calls->count - 1) + 1 : 0; i; i--)
        if (calls->calls[i - 1].number <= number)
            return calls->calls[i - 1].number == number ? &calls->calls[i - 1] : NULL;
    return NULL;
}

const char *system_call_name(const struct target_machine *machine, uint32_t number)
{
    const struct system_call *call = find_call(machine, number);
    return call ? call->name : NULL;
}

bool system_call_get_arguments(const struct target_machine *machine,
                               const struct target_registers *registers,
                               uint64_t ret[SYSTEM_CALL_ARGUMENTS])
{
    const struct machine_calls *calls = find_machine(machine);
    for (size_t i = 0; calls && i < SYSTEM_CALL_ARGUMENTS; i++)
        ret[i] = registers->value[calls->registers[i]];
    return calls;
}

/* As printf() would; of each thread there are six. */
static void add_number(uint64_t value, unsigned base, struct text *ret)
{
    char digits[24];
    size_t at = sizeof(digits);
    do {
        digits[--at] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value);
    text_add(ret, digits + at, sizeof(digits) - at);
}

static void add_hexadecimal(uint64_t value, struct text *ret)
{
    text_add_string(ret, "0x");
    add_number(value, 16, ret);
}

static void add_signed(int64_t value, struct text *ret)
{
    text_add_string(ret, value < 0 ? "-" : "");
    add_number(value < 0 ? -(uint64_t)value : (uint64_t)value, 10, ret);
}

static void add_address(uint64_t address, struct text *ret)
{
    if (address)
        add_hexadecimal(address, ret);
    else
        text_add_string(ret, "NULL");
}

static void add_path(struct target *target, uint64_t address, struct text *ret)
{
    char path[PATH_LIMIT];
    enum psc_status status = target_read_string(target, address, path, sizeof(path));
    if (status != PSC_OK && status != PSC_ERR_LIMIT) {
        add_address(address, ret);
        return;
    }
    text_add_char(ret, '"');
    text_add_escaped(ret, path);
    text_add_string(ret, status == PSC_OK ? "\"" : "\"...");
}

static void add_argument(struct target *target, char kind, uint64_t value, struct text *ret)
{
    switch (kind) {
    case 'a':
        if ((int32_t)value == CURRENT_DIRECTORY)
            text_add_string(ret, "AT_FDCWD");
        else
            add_signed((int32_t)value, ret);
        break;
    case 'i':
        add_signed((int32_t)value, ret);
        break;
    case 'I':
        add_signed((int64_t)value, ret);
        break;
    case 'u':
        add_number((uint32_t)value, 10, ret);
        break;
    case 'U':
        add_number(value, 10, ret);
        break;
    case 'x':
        add_hexadecimal((uint32_t)value, ret);
        break;
    case 'o':
        text_printf(ret, "0%" PRIo32, (uint32_t)value);
        break;
    case 's':
        add_path(target, value, ret);
        break;
    case 'p':
        add_address(value, ret);
        break;
    default:
        add_hexadecimal(value, ret);
        break;
    }
}

void system_call_add_text(struct target *target, uint32_t number,
                          const uint64_t arguments[SYSTEM_CALL_ARGUMENTS], struct text *ret)
{
    const struct system_call *call = find_call(target->machine, number);
    if (!call) {
        text_printf(ret, "system call %" PRIu32, number);
        return;
    }
    text_add_string(ret, call->name);
    if (!call->arguments)
        return;
    text_add_char(ret, '(');
    for (size_t i = 0; i < SYSTEM_CALL_ARGUMENTS && call->arguments[i]; i++) {
        text_add_string(ret, i ? ", " : "");
        add_argument(target, call->arguments[i], arguments[i], ret);
    }
    text_add_char(ret, ')');
}
