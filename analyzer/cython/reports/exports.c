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
/** The indices of the three arguments. */
enum { ARGUMENT_NAME, ARGUMENT_FUNCTION, ARGUMENT_SIGNATURE, ARGUMENT_COUNT };

/** Whether a call of a function of this module follows; arguments of other calls may be set in
 * between. */
static bool is_called(const struct code_image *image, const struct code_range *window, size_t from)
{
    struct code_reference call;
    for (; image->abi->find_reference(window, from, REFERENCE_CALL, &call);
         from = call.offset + 1) {
        const struct code_function *callee = code_find_function(image, call.target);
        if (callee && callee->start == call.target)
            return true;
    }
    return false;
}

/** Of the instructions that load an address, one behind the other, in any order. */
static size_t read_arguments(const struct code_abi *abi, const struct code_range *window,
                             uint64_t values[ARGUMENT_COUNT])
{
    size_t at = 0;
    for (unsigned i = 0; i < ARGUMENT_COUNT; i++) {
        struct code_reference load;
        if (!abi->find_reference(window, at, REFERENCE_ADDRESS, &load) || load.offset != at)
            return 0;
        for (unsigned k = 0; k < ARGUMENT_COUNT; k++)
            if (!values[k] && load.register_number == abi->arguments[k])
                values[k] = load.target;
        at += load.size;
    }
    return at;
}

/** The three instructions, then a call. */
static bool read_export(const struct code_image *image, const struct code_range *window,
                        struct table_entry *ret)
{
    uint64_t values[ARGUMENT_COUNT] = {0};
    size_t behind = read_arguments(image->abi, window, values);
    uint64_t start = values[ARGUMENT_FUNCTION];
    if (!values[ARGUMENT_NAME] || !start || !values[ARGUMENT_SIGNATURE] ||
        !is_called(image, window, behind))
        return false;
    const struct code_function *function = code_find_function(image, start);
    const char *name = code_string(image, values[ARGUMENT_NAME]);
    const char *signature = code_string(image, values[ARGUMENT_SIGNATURE]);
    if (!function || function->start != start || !name || !signature || !strchr(signature, '(') ||
        strpbrk(name, " .(/"))
        return false;
    *ret = (struct table_entry){
        .function = start, .name = cython_unfused_name(name), .kind = ENTRY_EXPORT};
    return true;
}

/** __Pyx_ExportFunction() puts them into the module's attribute of this name (ImportExport.c). */
static bool exports_any(const struct code_image *image)
{
    static const char attribute[] = "__pyx_capi__", runtime_name[] = "cython_runtime";
    const size_t size = strlen(attribute);
    /* Both are literals of a Cython module: both stand with the code, or neither. */
    return code_constants_hold(image, attribute, size) ||
           (!code_constants_hold(image, runtime_name, sizeof(runtime_name)) &&
            memmem(image->elf.bytes, image->elf.size, attribute, size));
}

void reports_each_export(const struct code_image *image, void *context,
                         void (*visit)(void *context, struct table_entry entry))
{
    if (!exports_any(image))
        return;
    for (size_t k = 0; k < image->elf.load_count; k++) {
        const struct elf_load *segment = &image->elf.loads[k];
        struct code_range code = code_of_segment(image, segment);
        struct code_reference load;
        for (size_t at = 0;
             segment->executable && image->abi->find_reference(&code, at, REFERENCE_ADDRESS, &load);
             at = load.offset + 1) {
            size_t left = code.size - load.offset;
            struct code_range window = {code.bytes + load.offset, left < WINDOW ? left : WINDOW,
                                        code.address + load.offset};
            struct table_entry entry;
            if (read_export(image, &window, &entry))
                visit(context, entry);
        }
    }
}
