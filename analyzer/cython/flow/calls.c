/* What kind of call an address stands behind. */
#include "flow.h"

#include <string.h>

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

static enum flow_call_kind judge_call(struct flow *flow, struct flow_target target)
{
    if (flow_never_returns(flow, target))
        return FLOW_CALL_NEVER_RETURNS;
    if (target.import)
        return is_python_name(target.import) && !is_plain(target.import) &&
                       !flow_is_cleanup(flow, target)
                   ? FLOW_CALL_MAY_FAIL
                   : FLOW_CALL_NO_ERROR;
    /* The report itself: the error is there already. */
    if (flow_find_traceback_helper(flow, target.address))
        return FLOW_CALL_NO_ERROR;
    return flow_is_cleanup(flow, target) ? FLOW_CALL_CLEANUP : FLOW_CALL_MAY_FAIL;
}

enum flow_call_kind flow_find_call(struct flow *flow, uint64_t pc, struct flow_target *ret_target)
{
    *ret_target = (struct flow_target){0};
    const struct flow_image *image = &flow->image;
    const struct flow_function *function = flow_find_function(image, pc - 1);
    size_t have;
    const uint8_t *code = function ? flow_bytes(image, function->start, &have) : NULL;
    size_t before = code ? (size_t)(pc - function->start) : 0;
    if (!code || before > have)
        return FLOW_CALL_NONE;
    const uint8_t *end = code + before;
    if (before >= 5 && end[-5] == 0xe8) {
        uint64_t to = pc + (uint64_t)(int64_t)(int32_t)load_u32(end - 4);
        struct flow_target target = flow_target_of(image, to);
        const struct flow_function *callee =
            target.import ? NULL : flow_find_function(image, target.address);
        if (target.import || (callee && callee->start == target.address)) {
            *ret_target = target;
            return judge_call(flow, target);
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
            return FLOW_CALL_MAY_FAIL;
        uint64_t slot = pc + (uint64_t)(int64_t)(int32_t)load_u32(end - 4);
        *ret_target = flow_slot_target(image, slot);
        return judge_call(flow, *ret_target);
    }
    return FLOW_CALL_NONE;
}

void flow_sweep(struct flow *flow, const struct flow_function *function, uint64_t limit,
                flow_call_visit *visit, void *context)
{
    struct flow_state state;
    size_t swept = 0;
    flow_state_init(&state, function->start);
    for (uint64_t at = function->start; at < function->end && at - function->start < limit;) {
        if (swept++ % SWEPT_A_STEP == 0 && !flow_spend_steps(flow, 1))
            return;
        struct instruction instruction = *flow_decode(flow, at);
        if (instruction.verb == INSTRUCTION_BAD)
            return;
        at += instruction.size;
        switch (instruction.verb) {
        case INSTRUCTION_CALL:
            if (!visit(context, flow, &state, &instruction))
                return;
            flow_state_return(&state, (struct value){VALUE_UNKNOWN, 0});
            break;
        case INSTRUCTION_JUMP:
        case INSTRUCTION_RETURN:
        case INSTRUCTION_STOP:
            flow_state_init(&state, at);
            break;
        default:
            flow_state_step(&state, &flow->image, &instruction);
            break;
        }
    }
}

/** Local functions that are looked into for a call back. */
#define CALLEE_LIMIT 256
/** As many bytes are looked through for calls in the time of an instruction that is followed. */
#define BYTES_A_STEP 64

/** Whether some call or jump in a function leads to `start`; of each byte that may begin one. */
static bool reaches(struct flow *flow, const struct flow_function *function, uint64_t start,
                    unsigned depth)
{
    const struct flow_image *image = &flow->image;
    size_t have, size = (size_t)(function->end - function->start);
    const uint8_t *code = flow_bytes(image, function->start, &have);
    unsigned looked = 0;
    if (!flow_spend_steps(flow, 1 + size / BYTES_A_STEP))
        return true;
    for (size_t i = 0; code && i + 5 <= size && i + 5 <= have; i++) {
        if (code[i] != 0xe8 && code[i] != 0xe9)
            continue;
        uint64_t next = function->start + i + 5;
        struct flow_target target =
            flow_target_of(image, next + (uint64_t)(int64_t)(int32_t)load_u32(code + i + 1));
        if (target.import)
            continue;
        if (target.address == start)
            return true;
        const struct flow_function *callee =
            depth ? flow_find_function(image, target.address) : NULL;
        if (callee && callee != function && callee->start == target.address &&
            (++looked > CALLEE_LIMIT || reaches(flow, callee, start, depth - 1)))
            return true;
    }
    return !code;
}

bool flow_calls_itself(struct flow *flow, uint64_t address)
{
    const struct flow_function *function = flow_find_function(&flow->image, address);
    /* Of a cold part the rest is not seen here. */
    return !function || flow_find_jumping(flow, function) ||
           reaches(flow, function, function->start, 1);
}
