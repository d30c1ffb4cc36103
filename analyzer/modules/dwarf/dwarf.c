/* Frees all that was read of a module's DWARF. */
#include "dwarf_private.h"

#include <stdlib.h>

void module_dwarf_destroy(struct module_dwarf *dwarf)
{
    if (!dwarf)
        return;
    line_cache_destroy(dwarf->lines);
    inline_index_destroy(dwarf->inlines);
    type_table_destroy(dwarf->types);
    type_units_destroy(dwarf->type_units);
    variable_cache_destroy(dwarf->variables);
    dwarf_end(dwarf->dwarf);
    dwarf_end(dwarf->shared);
    elf_file_close(dwarf->shared_elf);
    free(dwarf);
}
