/* The functions that report errors: found by the one import that all of them call. */
#include "python.h"
#include "reports_private.h"

#include <stdlib.h>
#include <string.h>

/** Copies of the helper that compilers make; there are a few at most. */
#define HELPER_LIMIT 64
#define STUB_LIMIT   64
#define CALL_LIMIT   256
/** Calls of any kind that are listed at once. */
#define LISTED_CALLS 256

/** The stubs and slots that lead to the import. */
struct import_uses {
    uint64_t stubs[STUB_LIMIT];
    size_t stub_count;
    uint64_t first_stub; /**< The lowest, */
    uint64_t last_stub;  /**< and the highest. */
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

static void find_slots(const struct code_image *image, struct import_uses *uses)
{
    for (size_t i = 0; i < image->pointer_count && uses->slot_count < STUB_LIMIT; i++) {
        const struct code_pointer *pointer = &image->pointers[i];
        if (pointer->import && c_api_traits(pointer->import) & C_API_REPORTS)
            uses->slots[uses->slot_count++] = pointer->address;
    }
}

static void add_stub(struct import_uses *uses, uint64_t address)
{
    if (!uses->stub_count || address < uses->first_stub)
        uses->first_stub = address;
    if (!uses->stub_count || address > uses->last_stub)
        uses->last_stub = address;
    uses->stubs[uses->stub_count++] = address;
}

/** Most of what is called is none, and far from them. */
static bool is_stub(const struct import_uses *uses, uint64_t address)
{
    return address >= uses->first_stub && address <= uses->last_stub &&
           holds(uses->stubs, uses->stub_count, address);
}

/** Where the stubs begin that jump through the slots. */
static void find_stubs(const struct code_image *image, const struct elf_load *segment,
                       struct import_uses *uses)
{
    const struct code_abi *abi = image->abi;
    struct code_range code = code_of_segment(image, segment);
    struct code_reference jump;
    for (size_t at = 0; uses->stub_count + abi->stub_lead_count <= STUB_LIMIT &&
                        abi->find_reference(&code, at, REFERENCE_JUMP_SLOT, &jump);
         at = jump.offset + 1) {
        if (!holds(uses->slots, uses->slot_count, jump.target))
            continue;
        for (size_t k = 0; k < abi->stub_lead_count; k++)
            add_stub(uses, code.address + jump.offset - abi->stub_leads[k]);
    }
}

static bool add_helper(struct flow *flow, uint64_t address)
{
    const struct code_function *function = code_find_function(&flow->image, address);
    struct traceback_helper helper;
    if (!function || flow_find_traceback_helper(flow, function->start) ||
        flow->helper_count == HELPER_LIMIT ||
        !reports_find_helper_arguments(flow, function->start, &helper))
        return true;
    return flow_add_traceback_helper(flow, helper);
}

static void add_call(struct import_uses *uses, uint64_t address)
{
    if (uses->call_count < CALL_LIMIT)
        uses->calls[uses->call_count++] = address;
}

/** Functions that are called, and the calls of the import. */
static void scan_calls(struct code_image *image, const struct elf_load *segment,
                       struct import_uses *uses)
{
    struct code_range code = code_of_segment(image, segment);
    struct code_call calls[LISTED_CALLS];
    struct code_reference call;
    size_t count, from = 0;
    do {
        count = image->abi->list_calls(&code, &from, calls, LISTED_CALLS);
        for (size_t i = 0; i < count; i++) {
            struct code_function *function = code_function_from(image, calls[i].target);
            if (function)
                function->called = true;
            if (is_stub(uses, calls[i].target))
                add_call(uses, calls[i].address);
        }
    } while (count == LISTED_CALLS);
    for (size_t at = 0; image->abi->find_reference(&code, at, REFERENCE_CALL_SLOT, &call);
         at = call.offset + 1)
        if (holds(uses->slots, uses->slot_count, call.target))
            add_call(uses, code.address + call.offset);
}

/** Functions whose address stands in data. */
static void mark_pointed(struct code_image *image)
{
    for (size_t i = 0; i < image->pointer_count; i++) {
        struct code_function *function = code_function_from(image, image->pointers[i].value);
        if (function)
            function->pointed = true;
    }
}

/**
 * Whether a file that reports nothing is Cython's: a module that only holds helpers for others
 * (cython --shared). All make the module of this name.
 */
static bool is_cython(const struct code_image *image)
{
    static const char runtime_name[] = "cython_runtime";
    bool adds_module = false;
    for (size_t i = 0; i < image->pointer_count && !adds_module; i++)
        adds_module = image->pointers[i].import &&
                      c_api_traits(image->pointers[i].import) & C_API_ADDS_MODULE;
    return adds_module &&
           (code_constants_hold(image, runtime_name, sizeof(runtime_name)) ||
            memmem(image->elf.bytes, image->elf.size, runtime_name, sizeof(runtime_name)));
}

bool reports_find_traceback_helpers(struct flow *flow, bool *ret_mypyc)
{
    struct import_uses uses = {0};
    struct code_image *image = &flow->image;
    find_slots(image, &uses);
    if (!uses.slot_count && !is_cython(image))
        return false;
    mark_pointed(image);
    for (size_t i = 0; i < image->elf.load_count; i++)
        if (image->elf.loads[i].executable)
            find_stubs(image, &image->elf.loads[i], &uses);
    for (size_t i = 0; i < image->elf.load_count; i++)
        if (image->elf.loads[i].executable)
            scan_calls(image, &image->elf.loads[i], &uses);
    for (size_t i = 0; i < uses.call_count; i++)
        if (!add_helper(flow, uses.calls[i]))
            return false;
    /* What was judged before all helpers were known may be wrong. */
    flow_forget_traits(flow);
    *ret_mypyc = !is_cython(image);
    return flow->helper_count > 0 || !*ret_mypyc;
}
