/* A module's machine code: its life, its traceback helpers, and how long questions may take. */
#include "flow.h"
#include "python.h"

#include <stdlib.h>

/** For all questions about one module: a hostile file costs a second or two, not hours. */
#define TOTAL_STEP_LIMIT ((uint64_t)4 << 20)

bool flow_init(struct flow *flow, const uint8_t *bytes, size_t size)
{
    *flow = (struct flow){.traits = HASH_TABLE_OF(struct known_traits),
                          .imports = HASH_TABLE_OF(struct known_import),
                          .failures = HASH_TABLE_OF(struct known_failure)};
    if (!code_image_init(&flow->image, bytes, size))
        return false;
    flow->decoder = flow_decoder_create(flow->image.abi->elf_machine);
    return flow->decoder;
}

void flow_deinit(struct flow *flow)
{
    code_image_deinit(&flow->image);
    flow_decoder_destroy(flow->decoder);
    free(flow->helpers);
    hash_table_deinit(&flow->traits);
    hash_table_deinit(&flow->imports);
    hash_table_deinit(&flow->failures);
    *flow = (struct flow){.steps = 0};
}

bool flow_spend_steps(struct flow *flow, size_t count)
{
    flow->steps += count;
    return flow->steps <= TOTAL_STEP_LIMIT;
}

bool flow_add_traceback_helper(struct flow *flow, struct traceback_helper helper)
{
    if (!array_reserve((void **)&flow->helpers, &flow->helper_capacity, flow->helper_count + 1,
                       sizeof(*flow->helpers)))
        return false;
    flow->helpers[flow->helper_count++] = helper;
    return true;
}

const struct traceback_helper *flow_find_traceback_helper(const struct flow *flow, uint64_t start)
{
    for (size_t i = 0; start && i < flow->helper_count; i++)
        if (flow->helpers[i].start == start)
            return &flow->helpers[i];
    return NULL;
}

struct code_target flow_operand_target(const struct flow *flow, const struct operand *operand)
{
    if (operand->kind == OPERAND_IMMEDIATE)
        return code_target_of(&flow->image, (uint64_t)operand->number);
    if (operand->kind == OPERAND_ABSOLUTE)
        return code_slot_target(&flow->image, (uint64_t)operand->number);
    return (struct code_target){0};
}

bool flow_is_deallocation(const struct operand *operand)
{
    return operand->kind == OPERAND_BASED && operand->number == C_API_TYPE_DEALLOC;
}
