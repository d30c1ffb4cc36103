/* The functions that report errors: found by the one import that all of them call. */
#include "reports.h"

#include <stdlib.h>

/** Copies that compilers make of the helper: a handful. */
#define ANCHOR_LIMIT 64
#define STUB_LIMIT   64
#define CALL_LIMIT   256

static const char anchor_import[] = "PyTraceBack_Here";

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

/** `jmp *slot(%rip)`, maybe behind `endbr64`, and `bnd` or `mov $index,%r11d`. */
static void find_stubs(const struct machine_segment *segment, const uint8_t *code,
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

/**
 * Whether a file that reports nothing is Cython's: a module that only holds helpers for others
 * (cython --shared). All make the module of this name.
 */
static bool is_cython(const struct machine_image *image)
{
    static const char runtime_name[] = "cython_runtime";
    bool adds_module = false;
    for (size_t i = 0; i < image->pointer_count && !adds_module; i++)
        adds_module =
            image->pointers[i].import && strncmp(image->pointers[i].import, "PyImport_AddModule",
                                                 strlen("PyImport_AddModule")) == 0;
    return adds_module && memmem(image->bytes, image->size, runtime_name, sizeof(runtime_name));
}

static bool find_anchors(struct machine *machine)
{
    struct ways_in ways = {0};
    struct machine_image *image = &machine->image;
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
        if (!add_anchor(machine, ways.calls[i]))
            return false;
    /* What was judged before all anchors were known may be wrong. */
    machine->clean_count = 0;
    machine->mypyc = !is_cython(image);
    return machine->anchor_count > 0 || !machine->mypyc;
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
    free(machine->entries);
    free(machine->identities);
    free(machine->blocks);
    free(machine);
}
