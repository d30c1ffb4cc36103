/* What is asked of any DIE. */
#include "dwarf_private.h"

#include <dwarf.h>

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
