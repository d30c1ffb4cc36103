/* Hostile DWARF expressions: 4 bytes an operation, the first byte says what the frame is like. */
#include "native.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define OPERATIONS 64u

static enum psc_status read_some(struct target *target, psc_addr address, void *buffer, size_t size)
{
    (void)target;
    memset(buffer, (int)address, size);
    return address & 0x80 ? PSC_ERR_FAULT : PSC_OK;
}

static const struct target_ops ops = {.read = read_some};

static bool enter(void *entry, const struct debug_expression *expression, uint64_t *ret)
{
    (void)entry;
    *ret = expression->count;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t block[32] = "0123456789abcdef0123456789abcde";
    struct target target = {.ops = &ops, .machine = target_machine_here()};
    struct debug_operation operations[OPERATIONS] = {{.code = 0}};
    struct debug_expression whole = {operations, 0};
    if (size < 5)
        return 0;
    struct debug_operation base_operation = {.code = data[1]};
    struct debug_expression base = {&base_operation, 1};
    for (size_t at = 2; at + 4 <= size && whole.count < OPERATIONS; at += 4) {
        struct debug_operation *operation = &operations[whole.count++];
        operation->code = data[at];
        operation->number = data[at + 1] == 0xff ? UINT64_MAX : data[at + 1];
        operation->number2 = data[at + 2];
        operation->encoding = data[at + 3];
        // What modules/ promises of blocks.
        if (operation->number <= sizeof(block))
            operation->bytes = block;
        operation->inner = data[at + 2] & 1 ? &base : NULL;
    }
    struct native_context context = {
        .known = data[0] * UINT32_C(0x0101), .cfa = data[0] & 0xf0, .has_vectors = data[0] & 2};
    memset(context.vectors, data[1], sizeof(context.vectors));
    struct native_evaluation evaluation = {
        .context = &context, .frame_base = data[0] & 1 ? &base : NULL, .enter = enter};
    struct native_value value;
    uint64_t number;
    if (native_locate(&target, &evaluation, &whole, data[0], &value) == NATIVE_LOCATION_FOUND &&
        value.size > NATIVE_VALUE_LIMIT)
        abort();
    if (native_evaluate(&target, &evaluation, &whole, &number) > NATIVE_LOCATION_UNSUPPORTED)
        abort();
    return 0;
}
