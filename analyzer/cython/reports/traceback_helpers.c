/* The functions that report errors: found by the one import that all of them call. */
#include "reports_private.h"

#include <stdlib.h>
#include <string.h>

/** Copies that compilers make of the helper: a handful. */
#define HELPER_LIMIT 64
#define STUB_LIMIT   64
#define CALL_LIMIT   256

static const char reporting_import[] = "PyTraceBack_Here";

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

static void find_slots(const struct flow_image *image, struct ways_in *ways)
{
    for (size_t i = 0; i < image->pointer_count && ways->slot_count < STUB_LIMIT; i++) {
        const struct flow_pointer *pointer = &image->pointers[i];
        if (pointer->import && strcmp(pointer->import, reporting_import) == 0)
            ways->slots[ways->slot_count++] = pointer->address;
    }
}

/** `jmp *slot(%rip)`, maybe behind `endbr64`, and `bnd` or `mov $index,%r11d`. */
static void find_stubs(const struct flow_segment *segment, const uint8_t *code,
                       struct ways_in *ways)
{
    static const uint8_t before[] = {0, 4, 5, 6, 10}; /* Where they begin. */
    for (size_t i = 0;
         i + 6 <= segment->size && ways->stub_count + PSC_ARRAY_SIZE(before) <= STUB_LIMIT; i++) {
        const uint8_t *found = memchr(code + i, 0xff, (size_t)segment->size - 5 - i);
        if (!found)
            return;
        i = (size_t)(found - code);
        uint64_t address = segment->address + i;
        if (code[i + 1] != 0x25 ||
            !holds(ways->slots, ways->slot_count, relative_target(code + i + 2, address + 6)))
            continue;
        for (size_t k = 0; k < PSC_ARRAY_SIZE(before); k++)
            ways->stubs[ways->stub_count++] = address - before[k];
    }
}

static bool add_helper(struct flow *flow, uint64_t address)
{
    const struct flow_function *function = flow_find_function(&flow->image, address);
    struct traceback_helper helper;
    if (!function || flow_find_traceback_helper(flow, function->start) ||
        flow->helper_count == HELPER_LIMIT ||
        !reports_find_helper_arguments(flow, function->start, &helper))
        return true;
    return flow_add_traceback_helper(flow, helper);
}

static void add_call(struct ways_in *ways, uint64_t address)
{
    if (ways->call_count < CALL_LIMIT)
        ways->calls[ways->call_count++] = address;
}

/** Functions that are called, and the calls of the import. */
static void scan_calls(struct flow_image *image, const struct flow_segment *segment,
                       struct ways_in *ways)
{
    const uint8_t *code = image->bytes + segment->offset;
    for (size_t i = 0; i + 6 <= segment->size; i++) {
        uint64_t address = segment->address + i;
        if (code[i] == 0xe8) {
            uint64_t target = relative_target(code + i + 1, address + 5);
            struct flow_function *function = flow_find_function(image, target);
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
static void mark_pointed(struct flow_image *image)
{
    for (size_t i = 0; i < image->pointer_count; i++) {
        struct flow_function *function = flow_find_function(image, image->pointers[i].value);
        if (function && function->start == image->pointers[i].value)
            function->pointed = true;
    }
}

/**
 * Whether a file that reports nothing is Cython's: a module that only holds helpers for others
 * (cython --shared). All make the module of this name.
 */
static bool is_cython(const struct flow_image *image)
{
    static const char runtime_name[] = "cython_runtime";
    bool adds_module = false;
    for (size_t i = 0; i < image->pointer_count && !adds_module; i++)
        adds_module =
            image->pointers[i].import && strncmp(image->pointers[i].import, "PyImport_AddModule",
                                                 strlen("PyImport_AddModule")) == 0;
    return adds_module && memmem(image->bytes, image->size, runtime_name, sizeof(runtime_name));
}

bool reports_find_traceback_helpers(struct flow *flow, bool *ret_mypyc)
{
    struct ways_in ways = {0};
    struct flow_image *image = &flow->image;
    find_slots(image, &ways);
    if (!ways.slot_count && !is_cython(image))
        return false;
    mark_pointed(image);
    for (size_t i = 0; i < image->segment_count; i++)
        if (image->segments[i].executable)
            find_stubs(&image->segments[i], image->bytes + image->segments[i].offset, &ways);
    for (size_t i = 0; i < image->segment_count; i++)
        if (image->segments[i].executable)
            scan_calls(image, &image->segments[i], &ways);
    for (size_t i = 0; i < ways.call_count; i++)
        if (!add_helper(flow, ways.calls[i]))
            return false;
    /* What was judged before all helpers were known may be wrong. */
    flow_forget_traits(flow);
    *ret_mypyc = !is_cython(image);
    return flow->helper_count > 0 || !*ret_mypyc;
}
