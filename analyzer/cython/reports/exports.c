/*
 * Functions that a module exports to other Cython modules: of those without a report, it may be the
 * only name that the file has.
 *
 * Cython up to 3.1 calls __Pyx_ExportFunction("name", function, "int (double *, int)") for each
 * (ModuleNode.py, generate_c_function_export_code()); later ones have the names in one string.
 */
#include "names.h"
#include "reports_private.h"

#include <string.h>

/** Bytes from the first of the three instructions to the end of the call. */
#define WINDOW 96
/** Bytes of `lea number(%rip), register`. */
#define LOAD_SIZE 7

/** The ModRM byte of `lea` with RIP, by register. */
#define LOAD_NAME      0x3d /* rdi */
#define LOAD_FUNCTION  0x35 /* rsi */
#define LOAD_SIGNATURE 0x15 /* rdx */

/** What such an instruction loads; 0: it is another. */
static uint64_t loaded(const uint8_t *code, uint64_t address, uint8_t which)
{
    if (code[0] != 0x48 || code[1] != 0x8d || code[2] != which)
        return 0;
    return address + LOAD_SIZE + (uint64_t)(int64_t)(int32_t)load_u32(code + 3);
}

/** Whether a call of a function here follows; what is made ready for others may stand between. */
static bool is_called(const struct flow_image *image, const uint8_t *code, size_t size,
                      uint64_t address)
{
    for (size_t i = 3 * LOAD_SIZE; i + 5 <= size; i++) {
        uint64_t to = address + i + 5 + (uint64_t)(int64_t)(int32_t)load_u32(code + i + 1);
        const struct flow_function *callee = code[i] == 0xe8 ? flow_find_function(image, to) : NULL;
        if (callee && callee->start == to)
            return true;
    }
    return false;
}

/** The three of them in any order, then a call. */
static bool read_export(const struct flow_image *image, const uint8_t *code, size_t size,
                        uint64_t address, struct table_entry *ret)
{
    static const uint8_t order[] = {LOAD_NAME, LOAD_FUNCTION, LOAD_SIGNATURE};
    uint64_t values[PSC_ARRAY_SIZE(order)] = {0};
    for (size_t i = 0; i < PSC_ARRAY_SIZE(order); i++)
        for (size_t k = 0; k < PSC_ARRAY_SIZE(order); k++)
            if (!values[k])
                values[k] = loaded(code + i * LOAD_SIZE, address + i * LOAD_SIZE, order[k]);
    if (!values[0] || !values[1] || !values[2] || !is_called(image, code, size, address))
        return false;
    const struct flow_function *function = flow_find_function(image, values[1]);
    const char *name = flow_string(image, values[0]);
    const char *signature = flow_string(image, values[2]);
    if (!function || function->start != values[1] || !name || !signature ||
        !strchr(signature, '(') || strpbrk(name, " .(/"))
        return false;
    *ret = (struct table_entry){
        .function = function->start, .name = cython_unfused_name(name), .kind = ENTRY_EXPORT};
    return true;
}

void reports_each_export(const struct flow_image *image, void *context,
                         void (*visit)(void *context, struct table_entry entry))
{
    for (size_t k = 0; k < image->segment_count; k++) {
        const struct flow_segment *segment = &image->segments[k];
        const uint8_t *code = image->bytes + segment->offset;
        for (size_t i = 0; segment->executable && i + 3 * LOAD_SIZE <= segment->size; i++) {
            size_t size = segment->size - i < WINDOW ? segment->size - i : WINDOW;
            struct table_entry entry;
            if (code[i] == 0x48 && code[i + 1] == 0x8d && code[i + LOAD_SIZE] == 0x48 &&
                read_export(image, code + i, size, segment->address + i, &entry))
                visit(context, entry);
        }
    }
}
