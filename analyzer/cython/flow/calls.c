/* What kind of call an address stands behind. */
#include "explore.h"

/** Instructions that are swept in the time of one that is followed. */
#define SWEPT_A_STEP 2

/** The length of `ff /2` with this second byte and SIB, 0 when it is no call of 8 bytes' address.
 */
static size_t indirect_call_size(uint8_t mode, uint8_t scale)
{
    if ((mode & 0x38) != 0x10)
        return 0;
    bool has_scale = (mode & 7) == 4 && mode >> 6 != 3;
    switch (mode >> 6) {
    case 0:
        return (mode & 7) == 5 || (has_scale && (scale & 7) == 5) ? 6 + has_scale : 2 + has_scale;
    case 1:
        return 3 + (size_t)has_scale;
    case 2:
        return 6 + (size_t)has_scale;
    default:
        return 2;
    }
}

static bool is_python_name(const char *name)
{
    return strncmp(name, "Py", 2) == 0 || strncmp(name, "_Py", 3) == 0;
}

/** Of imports whose NULL, 0 or -1 is no exception: what follows is up to the caller. */
static bool is_plain(const char *name)
{
    static const char *const plain[] = {
        "PyCallable_Check",     "PyCapsule_IsValid",  "PyDict_GetItem",
        "PyDict_GetItemString", "PyDict_Next",        "PyDict_Size",
        "PyIndex_Check",        "PyMapping_Check",    "PyMem_Calloc",
        "PyMem_Malloc",         "PyMem_RawCalloc",    "PyMem_RawMalloc",
        "PyMem_RawRealloc",     "PyMem_Realloc",      "PyNumber_Check",
        "PyObject_Calloc",      "PyObject_HasAttr",   "PyObject_HasAttrString",
        "PyObject_Malloc",      "PyObject_Realloc",   "PySequence_Check",
        "PyType_GetSlot",       "PyType_Modified",    "PyUnicode_Compare",
        "PyUnicode_Find",       "PyUnicode_FindChar", "_PyObject_GetDictPtr",
    };
    for (size_t i = 0; i < PSC_ARRAY_SIZE(plain); i++)
        if (strcmp(name, plain[i]) == 0)
            return true;
    return false;
}

static enum machine_call_kind judge_call(struct machine *machine, struct machine_target target)
{
    if (machine_is_end(machine, target))
        return MACHINE_CALL_ENDS;
    if (target.import)
        return is_python_name(target.import) && !is_plain(target.import) &&
                       !machine_is_clean(machine, target)
                   ? MACHINE_CALL_MAY_FAIL
                   : MACHINE_CALL_CANNOT_FAIL;
    /* The report itself: the error is there already. */
    if (machine_find_anchor(machine, target.address))
        return MACHINE_CALL_CANNOT_FAIL;
    return machine_is_clean(machine, target) ? MACHINE_CALL_HARMLESS : MACHINE_CALL_MAY_FAIL;
}

enum machine_call_kind machine_find_call(struct machine *machine, uint64_t pc,
                                         struct machine_target *ret_target)
{
    *ret_target = (struct machine_target){0};
    const struct machine_image *image = &machine->image;
    const struct machine_function *function = machine_find_function(image, pc - 1);
    size_t have;
    const uint8_t *code = function ? machine_bytes(image, function->start, &have) : NULL;
    size_t before = code ? (size_t)(pc - function->start) : 0;
    if (!code || before > have)
        return MACHINE_CALL_NONE;
    const uint8_t *end = code + before;
    if (before >= 5 && end[-5] == 0xe8) {
        uint64_t to = pc + (uint64_t)(int64_t)(int32_t)load_u32(end - 4);
        struct machine_target target = machine_target_of(image, to);
        const struct machine_function *callee =
            target.import ? NULL : machine_find_function(image, target.address);
        if (target.import || (callee && callee->start == target.address)) {
            *ret_target = target;
            return judge_call(machine, target);
        }
    }
    for (size_t size = 7; size >= 2; size--) {
        if (before < size || end[-(ptrdiff_t)size] != 0xff)
            continue;
        uint8_t mode = end[1 - (ptrdiff_t)size];
        uint8_t scale = size > 2 ? end[2 - (ptrdiff_t)size] : 0;
        if (indirect_call_size(mode, scale) != size)
            continue;
        if (mode != 0x15)
            return MACHINE_CALL_MAY_FAIL;
        uint64_t slot = pc + (uint64_t)(int64_t)(int32_t)load_u32(end - 4);
        *ret_target = machine_slot_target(image, slot);
        return judge_call(machine, *ret_target);
    }
    return MACHINE_CALL_NONE;
}

void machine_sweep(struct machine *machine, const struct machine_function *function, uint64_t limit,
                   machine_call_visit *visit, void *context)
{
    struct machine_state state;
    size_t swept = 0;
    machine_state_init(&state, function->start);
    for (uint64_t at = function->start; at < function->end && at - function->start < limit;) {
        if (swept++ % SWEPT_A_STEP == 0 && !machine_spend_steps(machine, 1))
            return;
        struct instruction instruction = *machine_decode(machine->decoder, &machine->image, at);
        if (instruction.verb == INSTRUCTION_BAD)
            return;
        at += instruction.size;
        switch (instruction.verb) {
        case INSTRUCTION_CALL:
            if (!visit(context, machine, &state, &instruction))
                return;
            machine_state_return(&state, (struct value){VALUE_UNKNOWN, 0});
            break;
        case INSTRUCTION_JUMP:
        case INSTRUCTION_RETURN:
        case INSTRUCTION_STOP:
            machine_state_init(&state, at);
            break;
        default:
            machine_state_step(&state, &machine->image, &instruction);
            break;
        }
    }
}

/** Local functions that are looked into for a call back. */
#define CALLEE_LIMIT 256
/** As many bytes are looked through for calls in the time of an instruction that is followed. */
#define BYTES_A_STEP 64

/** Whether some call or jump in a function leads to `start`; of each byte that may begin one. */
static bool reaches(struct machine *machine, const struct machine_function *function,
                    uint64_t start, unsigned depth)
{
    const struct machine_image *image = &machine->image;
    size_t have, size = (size_t)(function->end - function->start);
    const uint8_t *code = machine_bytes(image, function->start, &have);
    unsigned looked = 0;
    if (!machine_spend_steps(machine, 1 + size / BYTES_A_STEP))
        return true;
    for (size_t i = 0; code && i + 5 <= size && i + 5 <= have; i++) {
        if (code[i] != 0xe8 && code[i] != 0xe9)
            continue;
        uint64_t next = function->start + i + 5;
        struct machine_target target =
            machine_target_of(image, next + (uint64_t)(int64_t)(int32_t)load_u32(code + i + 1));
        if (target.import)
            continue;
        if (target.address == start)
            return true;
        const struct machine_function *callee =
            depth ? machine_find_function(image, target.address) : NULL;
        if (callee && callee != function && callee->start == target.address &&
            (++looked > CALLEE_LIMIT || reaches(machine, callee, start, depth - 1)))
            return true;
    }
    return !code;
}

bool machine_calls_itself(struct machine *machine, uint64_t address)
{
    const struct machine_function *function = machine_find_function(&machine->image, address);
    /* Of a cold part the rest is not seen here. */
    return !function || machine_find_jumping(machine, function) ||
           reaches(machine, function, function->start, 1);
}
