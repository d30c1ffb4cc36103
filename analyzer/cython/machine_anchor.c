/* The functions that report errors: found by the one import that all of them call. */
#include "machine.h"

#include <stdlib.h>

/** Copies that compilers make of the helper: a handful. */
#define ANCHOR_LIMIT 64
#define STUB_LIMIT   64
#define CALL_LIMIT   256
/** A function that lets go of things is small. */
#define CLEAN_SIZE_LIMIT  768
#define CLEAN_DEPTH_LIMIT 3

static const char anchor_import[] = "PyTraceBack_Here";

/* ---- what may stand on the way out ---- */

/* They free, count, lock or look; none begins anything that can fail. */
static const char *const clean_imports[] = {
    "PyBuffer_Release",
    "PyErr_Clear",
    "PyErr_Fetch",
    "PyErr_GetRaisedException",
    "PyErr_Occurred",
    "PyErr_Restore",
    "PyErr_SetRaisedException",
    "PyEval_RestoreThread",
    "PyEval_SaveThread",
    "PyException_GetTraceback",
    "PyException_SetTraceback",
    "PyGILState_Ensure",
    "PyGILState_Release",
    "PyMem_Free",
    "PyObject_Free",
    "PyObject_GC_Del",
    "PyObject_GC_UnTrack",
    "PyThreadState_Get",
    "PyThreadState_GetUnchecked",
    "PyThread_acquire_lock",
    "PyThread_allocate_lock",
    "PyThread_release_lock",
    "Py_LeaveRecursiveCall",
    "_PyThreadState_UncheckedGet",
    "_Py_Dealloc",
    "_Py_LeaveRecursiveCall",
    "_ZdlPv",
    "_ZdlPvm",
    "__vsnprintf_chk",
    "free",
    "vsnprintf",
};

/* Likewise; they tell whether an exception is of a type. */
static const char *const match_imports[] = {
    "PyErr_ExceptionMatches",
    "PyErr_GivenExceptionMatches",
};

static const char *const end_imports[] = {
    "Py_FatalError", "_Py_FatalErrorFunc", "_Unwind_Resume", "__assert_fail", "__cxa_rethrow",
    "__cxa_throw",   "__stack_chk_fail",   "abort",          "exit",
};

/** What is known of a function or import that is passed. */
enum trait {
    TRAIT_CLEAN = 1,
    TRAIT_MATCHES = 2, /**< Calls one of match_imports. */
    TRAIT_CLEARS = 4   /**< Calls PyErr_Clear(): what it returns is no answer to a question. */
};

struct clean_function {
    uint64_t start;
    uint8_t traits; /**< enum trait; 0: it may fail. */
};

static bool is_listed(const char *const *list, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i], name) == 0)
            return true;
    return false;
}

bool machine_is_end(struct machine_target target)
{
    return target.import && is_listed(end_imports, PSC_ARRAY_SIZE(end_imports), target.import);
}

static struct clean_function *find_clean(const struct machine *machine, uint64_t start,
                                         size_t *ret_at)
{
    size_t low = 0, high = machine->clean_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (machine->clean[middle].start < start)
            low = middle + 1;
        else
            high = middle;
    }
    *ret_at = low;
    return low < machine->clean_count && machine->clean[low].start == start ? &machine->clean[low]
                                                                            : NULL;
}

static void keep_clean(struct machine *machine, uint64_t start, uint8_t traits)
{
    size_t at;
    struct clean_function *known = find_clean(machine, start, &at);
    if (known) {
        known->traits = traits;
        return;
    }
    if (!array_reserve((void **)&machine->clean, &machine->clean_capacity, machine->clean_count + 1,
                       sizeof(*machine->clean)))
        return;
    memmove(machine->clean + at + 1, machine->clean + at,
            (machine->clean_count - at) * sizeof(*machine->clean));
    machine->clean[at] = (struct clean_function){start, traits};
    machine->clean_count++;
}

static uint8_t traits_of(struct machine *machine, struct machine_target target, unsigned depth);

/** Those of everything that an instruction leads to outside of its function. */
static uint8_t traits_of_instruction(struct machine *machine,
                                     const struct machine_function *function,
                                     const struct machine_instruction *instruction, unsigned depth)
{
    const struct machine_operand *to = &instruction->to;
    struct machine_target target = {0};
    if (instruction->verb != MACHINE_CALL && instruction->verb != MACHINE_JUMP)
        return instruction->verb != MACHINE_BAD ? TRAIT_CLEAN : 0;
    if (to->kind == MACHINE_IMMEDIATE)
        target = machine_target_of(&machine->image, (uint64_t)to->number);
    else if (to->kind == MACHINE_ABSOLUTE)
        target = machine_slot_target(&machine->image, (uint64_t)to->number);
    else /* tp_dealloc */
        return to->kind == MACHINE_BASED && to->number == 0x30 ? TRAIT_CLEAN : 0;
    if (!target.import && target.address >= function->start && target.address < function->end)
        return TRAIT_CLEAN;
    return machine_is_end(target) ? TRAIT_CLEAN : traits_of(machine, target, depth + 1);
}

static uint8_t traits_of_function(struct machine *machine, const struct machine_function *function,
                                  unsigned depth)
{
    uint8_t traits = 0;
    if (function->end - function->start > CLEAN_SIZE_LIMIT)
        return 0;
    for (uint64_t at = function->start; at < function->end;) {
        struct machine_instruction instruction =
            *machine_decode(machine->decoder, &machine->image, at);
        uint8_t more = traits_of_instruction(machine, function, &instruction, depth);
        if (!more)
            return 0;
        traits |= more;
        at += instruction.size;
    }
    return traits;
}

static uint8_t traits_of_import(const char *import)
{
    if (is_listed(match_imports, PSC_ARRAY_SIZE(match_imports), import))
        return TRAIT_CLEAN | TRAIT_MATCHES;
    if (!is_listed(clean_imports, PSC_ARRAY_SIZE(clean_imports), import))
        return 0;
    return strcmp(import, "PyErr_Clear") == 0 ? TRAIT_CLEAN | TRAIT_CLEARS : TRAIT_CLEAN;
}

static uint8_t traits_of(struct machine *machine, struct machine_target target, unsigned depth)
{
    size_t at;
    if (target.import)
        return traits_of_import(target.import);
    const struct machine_function *function =
        machine_find_function(&machine->image, target.address);
    if (!function || function->start != target.address ||
        machine_find_anchor(machine, target.address))
        return 0;
    const struct clean_function *known = find_clean(machine, target.address, &at);
    if (known)
        return known->traits;
    if (depth > CLEAN_DEPTH_LIMIT)
        return 0;
    keep_clean(machine, target.address, 0); /* Also while it is looked at: cycles. */
    uint8_t traits = traits_of_function(machine, function, depth);
    keep_clean(machine, target.address, traits);
    return traits;
}

bool machine_is_clean(struct machine *machine, struct machine_target target)
{
    return traits_of(machine, target, 0) != 0;
}

bool machine_is_match(struct machine *machine, struct machine_target target)
{
    uint8_t traits = traits_of(machine, target, 0);
    return traits & TRAIT_MATCHES && !(traits & TRAIT_CLEARS);
}

/* ---- finding them ---- */

/** The stubs and slots that lead to the import. */
struct ways_in {
    uint64_t stubs[STUB_LIMIT];
    size_t stub_count;
    uint64_t slots[STUB_LIMIT];
    size_t slot_count;
    uint64_t calls[CALL_LIMIT];
    size_t call_count;
};

static bool holds(const uint64_t *list, size_t count, uint64_t value)
{
    for (size_t i = 0; i < count; i++)
        if (list[i] == value)
            return true;
    return false;
}

static uint64_t relative_target(const uint8_t *field, uint64_t next)
{
    return next + (uint64_t)(int64_t)(int32_t)load_u32(field);
}

static void find_slots(const struct machine_image *image, struct ways_in *ways)
{
    for (size_t i = 0; i < image->pointer_count && ways->slot_count < STUB_LIMIT; i++) {
        const struct machine_pointer *pointer = &image->pointers[i];
        if (pointer->import && strcmp(pointer->import, anchor_import) == 0)
            ways->slots[ways->slot_count++] = pointer->address;
    }
}

/** `jmp *slot(%rip)`, maybe behind `endbr64` and `bnd`. */
static void find_stubs(const struct machine_segment *segment, const uint8_t *code,
                       struct ways_in *ways)
{
    for (size_t i = 0; i + 6 <= segment->size && ways->stub_count + 3 <= STUB_LIMIT; i++) {
        const uint8_t *found = memchr(code + i, 0xff, (size_t)segment->size - 5 - i);
        if (!found)
            return;
        i = (size_t)(found - code);
        uint64_t address = segment->address + i;
        if (code[i + 1] != 0x25 ||
            !holds(ways->slots, ways->slot_count, relative_target(code + i + 2, address + 6)))
            continue;
        ways->stubs[ways->stub_count++] = address;
        ways->stubs[ways->stub_count++] = address - 4;
        ways->stubs[ways->stub_count++] = address - 5;
    }
}

static bool add_anchor(struct machine *machine, uint64_t address)
{
    const struct machine_function *function = machine_find_function(&machine->image, address);
    struct machine_anchor anchor;
    if (!function || machine_find_anchor(machine, function->start) ||
        machine->anchor_count == ANCHOR_LIMIT ||
        !machine_find_convention(machine, function->start, &anchor))
        return true;
    if (!array_reserve((void **)&machine->anchors, &machine->anchor_capacity,
                       machine->anchor_count + 1, sizeof(*machine->anchors)))
        return false;
    machine->anchors[machine->anchor_count++] = anchor;
    return true;
}

static void add_call(struct ways_in *ways, uint64_t address)
{
    if (ways->call_count < CALL_LIMIT)
        ways->calls[ways->call_count++] = address;
}

/** Functions that are called, and the calls of the import. */
static void scan_calls(struct machine_image *image, const struct machine_segment *segment,
                       struct ways_in *ways)
{
    const uint8_t *code = image->bytes + segment->offset;
    for (size_t i = 0; i + 6 <= segment->size; i++) {
        uint64_t address = segment->address + i;
        if (code[i] == 0xe8) {
            uint64_t target = relative_target(code + i + 1, address + 5);
            struct machine_function *function = machine_find_function(image, target);
            if (function && function->start == target)
                function->called = true;
            if (holds(ways->stubs, ways->stub_count, target))
                add_call(ways, address);
        } else if (code[i] == 0xff && code[i + 1] == 0x15) {
            uint64_t slot = relative_target(code + i + 2, address + 6);
            if (holds(ways->slots, ways->slot_count, slot))
                add_call(ways, address);
        }
    }
}

/** Functions whose address stands in data. */
static void mark_pointed(struct machine_image *image)
{
    for (size_t i = 0; i < image->pointer_count; i++) {
        struct machine_function *function = machine_find_function(image, image->pointers[i].value);
        if (function && function->start == image->pointers[i].value)
            function->pointed = true;
    }
}

static bool find_anchors(struct machine *machine)
{
    struct ways_in ways = {0};
    struct machine_image *image = &machine->image;
    find_slots(image, &ways);
    if (!ways.slot_count)
        return false;
    mark_pointed(image);
    for (size_t i = 0; i < image->segment_count; i++)
        if (image->segments[i].executable)
            find_stubs(&image->segments[i], image->bytes + image->segments[i].offset, &ways);
    for (size_t i = 0; i < image->segment_count; i++)
        if (image->segments[i].executable)
            scan_calls(image, &image->segments[i], &ways);
    for (size_t i = 0; i < ways.call_count; i++)
        if (!add_anchor(machine, ways.calls[i]))
            return false;
    /* What was judged before all anchors were known may be wrong. */
    machine->clean_count = 0;
    return machine->anchor_count > 0;
}

struct machine *machine_create(const uint8_t *bytes, size_t size)
{
    struct machine *machine = calloc(1, sizeof(*machine));
    if (!machine)
        return NULL;
    if (!machine_image_init(&machine->image, bytes, size)) {
        free(machine);
        return NULL;
    }
    machine->decoder = machine_decoder_create();
    if (!machine->decoder || !find_anchors(machine)) {
        machine_destroy(machine);
        return NULL;
    }
    return machine;
}

void machine_destroy(struct machine *machine)
{
    if (!machine)
        return;
    machine_image_deinit(&machine->image);
    machine_decoder_destroy(machine->decoder);
    free(machine->anchors);
    free(machine->clean);
    free(machine->methods);
    free(machine);
}
