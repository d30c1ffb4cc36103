/* What is asked of any DIE. */
#include "dwarf_private.h"

#include <dwarf.h>

/*
 * Steps of all walks over a target's DIEs, and those that a byte of a unit adds to them: a large
 * file takes many, and 20 MB no more than a few seconds. A step takes 0.1 to 0.3 microseconds; the
 * report of a large program takes 100,000.
 */
#define WALK_LIMIT     ((uint64_t)1 << 22)
#define BYTES_FOR_STEP 2
/* Bytes of DIEs without DW_AT_sibling that libdw skips in the time of a step. */
#define BYTES_SKIPPED 8
/* Attributes of a DIE: compilers have up to 30. libdw reads all before the one that is wanted. */
#define ATTRIBUTE_LIMIT   64
#define ATTRIBUTES_A_STEP 32
/* libdw keeps the abbreviations of each unit, also of a table that thousands of them share. */
#define ABBREVIATION_STEPS 4

bool module_walk_step(struct module *module, uint64_t steps)
{
    struct modules *modules = module->owner;
    uint64_t before = modules->walked;
    uint64_t limit = WALK_LIMIT + modules->walk_bytes / BYTES_FOR_STEP;
    modules->walked += steps;
    if (before <= limit && modules->walked > limit)
        target_warn(modules->target, "debug-info-limit",
                    "%s: no more of the debug information is looked at: it is damaged, or too "
                    "large; inlined calls and variables may be missing",
                    module->name);
    return modules->walked <= limit;
}

/* Where a unit ends; false: its header is damaged. */
static bool find_end(Dwarf_Die *unit, Dwarf_Off *ret_start, Dwarf_Off *ret_end)
{
    size_t header;
    *ret_start = dwarf_dieoffset(unit) - dwarf_cuoffset(unit);
    return dwarf_next_unit(dwarf_cu_getdwarf(unit->cu), *ret_start, ret_end, &header, NULL, NULL,
                           NULL, NULL, NULL, NULL) == 0;
}

bool unit_is_read_soon(struct module *module, Dwarf_Die *unit)
{
    Dwarf_Off start, end, at = dwarf_dieoffset(unit);
    if (!find_end(unit, &start, &end) || end <= at)
        return false;
    struct byte_cursor cursor = cursor_over(unit->addr, end - at < 10 ? end - at : 10);
    uint64_t code = cursor_uleb(&cursor);
    Dwarf_Abbrev *abbreviation;
    size_t size;
    for (Dwarf_Off offset = 0;
         (abbreviation = dwarf_getabbrev(unit, offset, &size)) != NULL &&
         abbreviation != DWARF_END_ABBREV && dwarf_getabbrevcode(abbreviation) != code;
         offset += size)
        if (!module_walk_step(module, ABBREVIATION_STEPS))
            return false;
    return true;
}

uint64_t unit_open_walk(struct module *module, Dwarf_Die *unit, Dwarf_Off *ret_end)
{
    Dwarf_Off start;
    Dwarf_Abbrev *abbreviation;
    size_t size, most = 0;
    if (!find_end(unit, &start, ret_end))
        return 0;
    module->owner->walk_bytes += *ret_end - start;
    for (Dwarf_Off offset = 0; module_walk_step(module, 1) &&
                               (abbreviation = dwarf_getabbrev(unit, offset, &size)) != NULL &&
                               abbreviation != DWARF_END_ABBREV;
         offset += size) {
        size_t count;
        if (dwarf_getattrcnt(abbreviation, &count) == 0 && count > most)
            most = count;
    }
    if (most <= ATTRIBUTE_LIMIT)
        return 1 + most / ATTRIBUTES_A_STEP;
    target_warn(module->owner->target, "debug-info-limit",
                "%s: debug information with %zu attributes of one entry is not looked at: it is "
                "damaged; inlined calls and variables may be missing",
                module->name, most);
    return 0;
}

uint64_t die_skip_steps(Dwarf_Die *die, Dwarf_Off next)
{
    Dwarf_Off size = next - dwarf_dieoffset(die);
    return size < BYTES_SKIPPED || dwarf_haschildren(die) <= 0 || dwarf_hasattr(die, DW_AT_sibling)
               ? 0
               : size / BYTES_SKIPPED;
}

bool die_next_sibling(Dwarf_Die *die)
{
    Dwarf_Die next;
    if (dwarf_siblingof(die, &next) != 0 || dwarf_dieoffset(&next) <= dwarf_dieoffset(die))
        return false;
    *die = next;
    return true;
}

bool die_get_number(Dwarf_Die *die, unsigned int name, uint64_t *ret)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value;
    if (!dwarf_attr_integrate(die, name, &attribute) || dwarf_formudata(&attribute, &value) != 0)
        return false;
    *ret = value;
    return true;
}

const char *die_name(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    return dwarf_formstring(dwarf_attr(die, DW_AT_name, &attribute));
}

const char *die_function_name(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    const char *name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute));
    if (!name)
        name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute));
    if (!name)
        name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &attribute));
    return name;
}

bool unit_statement_list(Dwarf_Die *unit, uint64_t *ret)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value;
    if (dwarf_formudata(dwarf_attr(unit, DW_AT_stmt_list, &attribute), &value) != 0)
        return false;
    *ret = value;
    return true;
}
