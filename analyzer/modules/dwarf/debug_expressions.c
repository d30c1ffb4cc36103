/* DWARF expressions as plain data: what libdw knows of each operation is asked for here. */
#include "dwarf_private.h"

#include <dwarf.h>
#include <string.h>

#define OPERATION_LIMIT ((size_t)512)
#define BLOCK_LIMIT     ((size_t)4096)
/* DW_OP_entry_value in DW_OP_entry_value. */
#define NESTING_LIMIT 3u

static const struct debug_expression *copy_operations(struct module *module,
                                                      Dwarf_Attribute *attribute,
                                                      const Dwarf_Op *operations, size_t count,
                                                      unsigned depth);

static bool copy_block(struct module *module, Dwarf_Attribute *attribute, const Dwarf_Op *from,
                       struct debug_operation *ret)
{
    Dwarf_Attribute block;
    Dwarf_Block bytes;
    if (dwarf_getlocation_attr(attribute, from, &block) != 0 ||
        dwarf_formblock(&block, &bytes) != 0 || bytes.length > BLOCK_LIMIT)
        return false;
    uint8_t *copy = arena_alloc(module->owner->arena, bytes.length + 1);
    if (!copy)
        return false;
    memcpy(copy, bytes.data, bytes.length);
    ret->bytes = copy;
    ret->number = bytes.length;
    return true;
}

static bool copy_inner(struct module *module, Dwarf_Attribute *attribute, const Dwarf_Op *from,
                       unsigned depth, struct debug_operation *ret)
{
    Dwarf_Attribute inner;
    Dwarf_Op *operations;
    size_t count;
    if (depth >= NESTING_LIMIT || dwarf_getlocation_attr(attribute, from, &inner) != 0 ||
        dwarf_getlocation(&inner, &operations, &count) != 0)
        return false;
    // Of a location list libdw names a unit that has no types (0.188, dwarf_getlocation_attr.c).
    inner.cu = attribute->cu;
    ret->inner = copy_operations(module, &inner, operations, count, depth + 1);
    return ret->inner;
}

static bool copy_type(Dwarf_Attribute *attribute, const Dwarf_Op *from, struct debug_operation *ret)
{
    Dwarf_Die type;
    return dwarf_getlocation_die(attribute, from, &type) == 0 &&
           debug_base_type(&type, &ret->encoding, &ret->number2);
}

/* DW_OP_GNU_parameter_ref: a parameter that the compiler removed from the function. */
static bool copy_parameter(Dwarf_Attribute *attribute, const Dwarf_Op *from,
                           struct debug_operation *ret)
{
    Dwarf_Die parameter;
    if (dwarf_getlocation_die(attribute, from, &parameter) != 0)
        return false;
    ret->number = (uintptr_t)parameter.addr;
    return true;
}

static bool copy_address(struct module *module, Dwarf_Attribute *attribute, const Dwarf_Op *from,
                         bool constant, struct debug_operation *ret)
{
    Dwarf_Attribute value;
    Dwarf_Addr address;
    if (dwarf_getlocation_attr(attribute, from, &value) != 0 ||
        dwarf_formaddr(&value, &address) != 0)
        return false;
    ret->number = address + (constant ? 0 : module->bias);
    return true;
}

/* What an operand needs besides the numbers that libdw has read. */
static bool copy_operand(struct module *module, Dwarf_Attribute *attribute, const Dwarf_Op *from,
                         enum debug_operand operand, struct debug_operation *ret)
{
    switch (operand) {
    case DEBUG_OPERAND_ADDRESS:
        ret->number += module->bias;
        return true;
    case DEBUG_OPERAND_ADDRESS_INDEX:
    case DEBUG_OPERAND_CONSTANT_INDEX:
        return copy_address(module, attribute, from, operand == DEBUG_OPERAND_CONSTANT_INDEX, ret);
    case DEBUG_OPERAND_BLOCK:
        return copy_block(module, attribute, from, ret);
    case DEBUG_OPERAND_TYPE:
        return copy_type(attribute, from, ret);
    case DEBUG_OPERAND_TYPE_OR_ADDRESS:
        ret->encoding = DW_ATE_unsigned;
        ret->number2 = 8;
        return !from->number || copy_type(attribute, from, ret);
    case DEBUG_OPERAND_PARAMETER:
        return copy_parameter(attribute, from, ret);
    case DEBUG_OPERAND_NONE:
    case DEBUG_OPERAND_1:
    case DEBUG_OPERAND_2:
    case DEBUG_OPERAND_4:
    case DEBUG_OPERAND_8:
    case DEBUG_OPERAND_LEB:
    case DEBUG_OPERAND_NUMBER:
    case DEBUG_OPERAND_EXPRESSION:
        break;
    }
    return true;
}

static bool copy_operation(struct module *module, Dwarf_Attribute *attribute, const Dwarf_Op *from,
                           unsigned depth, struct debug_operation *ret)
{
    const struct debug_operation_kind *kind = debug_find_operation(from->atom);
    *ret = (struct debug_operation){.code = kind->standard ? kind->standard : from->atom,
                                    .number = from->number,
                                    .number2 = from->number2,
                                    .offset = (uint16_t)from->offset};
    if (from->offset > UINT16_MAX)
        return false;
    kind = debug_find_operation(ret->code);
    if (kind->operands[0] == DEBUG_OPERAND_EXPRESSION)
        return copy_inner(module, attribute, from, depth, ret);
    for (size_t i = 0; i < PSC_ARRAY_SIZE(kind->operands); i++)
        if (!copy_operand(module, attribute, from, (enum debug_operand)kind->operands[i], ret))
            return false;
    return true;
}

/* Jumps lead to an operation, or behind the last. */
static bool set_jumps(struct debug_operation *operations, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct debug_operation *jump = &operations[i];
        if (jump->code != DW_OP_bra && jump->code != DW_OP_skip)
            continue;
        int64_t target = (int64_t)jump->offset + 3 + (int16_t)jump->number;
        size_t to = 0;
        while (to < count && operations[to].offset != target)
            to++;
        if (to == count && target <= operations[count - 1].offset)
            return false;
        jump->number = to;
    }
    return true;
}

/* An operation that cannot be copied makes the whole one that nobody can evaluate. */
static const struct debug_expression *copy_operations(struct module *module,
                                                      Dwarf_Attribute *attribute,
                                                      const Dwarf_Op *operations, size_t count,
                                                      unsigned depth)
{
    struct arena *arena = module->owner->arena;
    struct debug_expression *expression = arena_alloc(arena, sizeof(*expression));
    bool whole = count <= OPERATION_LIMIT;
    size_t room = whole && count ? count : 1;
    struct debug_operation *copy = arena_array(arena, room, sizeof(*copy));
    if (!expression || !copy)
        return NULL;
    for (size_t i = 0; whole && i < count; i++)
        whole = copy_operation(module, attribute, &operations[i], depth, &copy[i]);
    if (whole)
        whole = set_jumps(copy, count);
    if (!whole)
        copy[0] = (struct debug_operation){.code = 0};
    *expression = (struct debug_expression){copy, whole ? count : 1};
    return expression;
}

const struct debug_expression *module_copy_expression(struct module *module,
                                                      Dwarf_Attribute *attribute, uint64_t address)
{
    Dwarf_Op *operations;
    size_t count;
    if (!attribute || dwarf_getlocation_addr(attribute, address, &operations, &count, 1) != 1 ||
        !count)
        return NULL;
    return copy_operations(module, attribute, operations, count, 0);
}

static bool is_register(const struct debug_expression *expression, uint64_t *ret)
{
    const struct debug_operation *operation = &expression->operations[0];
    if (expression->count != 1)
        return false;
    if (operation->code >= DW_OP_reg0 && operation->code <= DW_OP_reg31)
        *ret = (uint64_t)operation->code - DW_OP_reg0;
    else if (operation->code == DW_OP_regx || operation->code == DW_OP_regval_type)
        *ret = operation->number;
    else
        return false;
    return true;
}

const struct debug_call_parameter *debug_call_site_find(const struct debug_call_site *site,
                                                        const struct debug_expression *wanted)
{
    const struct debug_operation *operation = &wanted->operations[0];
    /* The DIE of a parameter that the function does not have any more. */
    uint64_t parameter = operation->code == DW_OP_GNU_parameter_ref ? operation->number : 0;
    uint64_t number = 0;
    if (!parameter && !is_register(wanted, &number))
        return NULL;
    for (size_t i = 0; i < site->count; i++)
        if (parameter ? site->parameters[i].parameter == parameter
                      : site->parameters[i].register_number == number)
            return &site->parameters[i];
    return NULL;
}
