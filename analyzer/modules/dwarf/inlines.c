/* Inlined calls, by libdw: a unit's functions are listed when it is first touched. */
#include "dwarf_private.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

/** Depth of namespaces and classes around a function. */
#define NAMESPACE_DEPTH_LIMIT 32
/** Units of a file. */
#define UNIT_LIMIT 1000000

/** [start, end) belongs to the DIE at an offset. */
struct die_range {
    uint64_t start;
    uint64_t end;
    Dwarf_Off die;
};

struct die_ranges {
    struct die_range *items;
    size_t count;
    size_t capacity;
};

/** The functions of one unit. */
struct unit_functions {
    Dwarf_Off unit;
    Dwarf_Die dies; /**< The unit, or its other part. */
    Dwarf_Off end;  /**< Of `dies`. */
    uint64_t steps; /**< That a DIE of it counts for; 0: it is not walked. */
    bool split;
    struct die_ranges functions;
    struct die_ranges nested; /**< Those inside of others; listed when they are asked for. */
    bool nested_listed;
};

struct inline_index {
    bool units_listed;
    struct die_ranges units; /**< For what .debug_aranges leaves out. */
    struct unit_functions *touched;
    size_t touched_count;
    size_t touched_capacity;
    struct hash_table asked; /**< Addresses of the file that module_find_inlines() was given. */
};

void inline_index_destroy(struct inline_index *index)
{
    if (!index)
        return;
    for (size_t i = 0; i < index->touched_count; i++) {
        free(index->touched[i].functions.items);
        free(index->touched[i].nested.items);
    }
    free(index->touched);
    free(index->units.items);
    hash_table_deinit(&index->asked);
    free(index);
}

/* ---- ranges ---- */

static void add_die_ranges(struct module *module, struct die_ranges *ranges, Dwarf_Die *die)
{
    Dwarf_Addr base;
    Dwarf_Addr start;
    Dwarf_Addr end;
    ptrdiff_t state = 0;
    while (module_walk_step(module, 1) &&
           (state = dwarf_ranges(die, state, &base, &start, &end)) > 0) {
        /* A function that the linker discarded begins at 0. */
        if (start == 0 || end <= start)
            continue;
        if (!array_reserve(&ranges->items, &ranges->capacity, ranges->count + 1,
                           sizeof(*ranges->items)))
            return;
        ranges->items[ranges->count++] = (struct die_range){start, end, dwarf_dieoffset(die)};
    }
}

static int compare_ranges(const void *left, const void *right)
{
    const struct die_range *a = left;
    const struct die_range *b = right;
    return COMPARE(a->start, b->start);
}

static void sort_ranges(struct die_ranges *ranges)
{
    if (ranges->count)
        qsort(ranges->items, ranges->count, sizeof(*ranges->items), compare_ranges);
}

/** The DIE of the range that begins last before the address and covers it. */
static bool find_range(const struct die_ranges *ranges, uint64_t address, Dwarf_Off *ret)
{
    size_t behind = SORTED_UP_TO(ranges->items, start, ranges->count, address);
    if (!behind || address >= ranges->items[behind - 1].end)
        return false;
    *ret = ranges->items[behind - 1].die;
    return true;
}

/* ---- units ---- */

static bool find_unit(struct module *module, struct inline_index *index, Dwarf *dwarf,
                      uint64_t address, Dwarf_Die *ret)
{
    if (module_find_unit_by_aranges(module, dwarf, address, ret))
        return true;
    if (!index->units_listed) {
        index->units_listed = true;
        Dwarf_CU *unit = NULL;
        Dwarf_Die die;
        for (size_t i = 0;
             i < UNIT_LIMIT && dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0;
             i++) {
            if (!unit_is_read_soon(module, &die))
                break;
            add_die_ranges(module, &index->units, &die);
        }
        sort_ranges(&index->units);
    }
    Dwarf_Off offset;
    return find_range(&index->units, address, &offset) && dwarf_offdie(dwarf, offset, ret);
}

/** True for what functions are defined in, besides a unit. */
static bool holds_functions(int tag)
{
    return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_class_type ||
           tag == DW_TAG_structure_type || tag == DW_TAG_union_type;
}

/** True for what may hold inlined calls, or is one. */
static bool is_scope(int tag)
{
    return tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block ||
           tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
}

/**
 * A DIE comes before its children, and these before its next sibling (DWARF 5, 2.3): one that does
 * not is what DW_AT_sibling of a broken file leads to, and would be walked again and again.
 * @param nested  also those inside of functions: gcc's bodies of parallel blocks, and Fortran's.
 */
static void list_functions(struct module *module, const struct unit_functions *unit, bool nested,
                           struct die_ranges *ret)
{
    Dwarf_Die stack[NAMESPACE_DEPTH_LIMIT];
    Dwarf_Die unit_die = unit->dies;
    Dwarf_Off last = 0;
    size_t depth = 0;
    if (unit->steps && dwarf_child(&unit_die, &stack[depth]) == 0)
        depth = 1;
    while (depth > 0) {
        Dwarf_Die die = stack[depth - 1];
        if (dwarf_dieoffset(&die) <= last) {
            depth--;
            continue;
        }
        last = dwarf_dieoffset(&die);
        if (!die_next_sibling(&stack[depth - 1]))
            depth--;
        Dwarf_Off next = depth > 0 ? dwarf_dieoffset(&stack[depth - 1]) : unit->end;
        if (!module_walk_step(module, unit->steps + die_skip_steps(&die, next)))
            break;
        int tag = dwarf_tag(&die);
        if (tag == DW_TAG_subprogram)
            add_die_ranges(module, ret, &die);
        bool enters =
            holds_functions(tag) || (nested && (tag == DW_TAG_subprogram || is_scope(tag)));
        if (enters && depth < NAMESPACE_DEPTH_LIMIT && dwarf_child(&die, &stack[depth]) == 0)
            depth++;
    }
    sort_ranges(ret);
}

/* Where a unit is split, all but its lines is in the other part. */
static struct unit_functions *unit_functions(struct module *module, struct inline_index *index,
                                             Dwarf_Die *unit)
{
    Dwarf_Off offset = dwarf_dieoffset(unit);
    for (size_t i = 0; i < index->touched_count; i++) {
        if (index->touched[i].unit == offset)
            return &index->touched[i];
    }
    if (!array_reserve(&index->touched, &index->touched_capacity, index->touched_count + 1,
                       sizeof(*index->touched)))
        return NULL;
    struct unit_functions *functions = &index->touched[index->touched_count++];
    *functions = (struct unit_functions){.unit = offset};
    functions->split = unit_find_split(module, unit, &functions->dies);
    if (!functions->split)
        functions->dies = *unit;
    functions->steps = unit_open_walk(module, &functions->dies, &functions->end);
    list_functions(module, functions, false, &functions->functions);
    return functions;
}

static bool find_function(struct module *module, struct unit_functions *functions, uint64_t address,
                          Dwarf_Off *ret)
{
    if (find_range(&functions->functions, address, ret))
        return true;
    if (!functions->nested_listed) {
        functions->nested_listed = true;
        list_functions(module, functions, true, &functions->nested);
    }
    return find_range(&functions->nested, address, ret);
}

/* ---- within a function ---- */

/* As dwarf_haspc(), which does not end before all ranges were read. */
static bool covers(struct module *module, Dwarf_Die *die, uint64_t address)
{
    Dwarf_Addr base, start, end;
    ptrdiff_t state = 0;
    while (module_walk_step(module, 1) &&
           (state = dwarf_ranges(die, state, &base, &start, &end)) > 0)
        if (address >= start && address < end)
            return true;
    return false;
}

/** The child that covers the address and may hold inlined calls, or is one. */
static bool find_scope(struct module *module, const struct unit_functions *unit, Dwarf_Die *parent,
                       uint64_t address, Dwarf_Die *ret)
{
    Dwarf_Die die;
    if (dwarf_child(parent, ret) != 0)
        return false;
    do {
        die = *ret;
        if (is_scope(dwarf_tag(&die)) && covers(module, &die, address))
            return true;
        if (!die_next_sibling(ret))
            return false;
    } while (module_walk_step(module, unit->steps + die_skip_steps(&die, dwarf_dieoffset(ret))));
    return false;
}

static bool get_number(Dwarf_Die *die, unsigned int name, uint32_t *ret)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value;
    if (dwarf_formudata(dwarf_attr(die, name, &attribute), &value) != 0 || value > UINT32_MAX)
        return false;
    *ret = (uint32_t)value;
    return true;
}

/* Of a unit that is split: its other part has the names in .debug_line.dwo. */
static const char *split_file(Dwarf_Die *unit, uint32_t file)
{
    Dwarf_Files *files;
    size_t count;
    if (dwarf_getsrcfiles(unit, &files, &count) != 0 || file >= count)
        return NULL;
    return dwarf_filesrc(files, file, NULL, NULL);
}

static void describe_call(struct module *module, Dwarf_Die *unit, Dwarf_Die *call,
                          struct module_inline *ret)
{
    uint64_t lines;
    uint32_t file;
    *ret = (struct module_inline){.function = die_function_name(call)};
    if (!get_number(call, DW_AT_call_line, &ret->call_line))
        ret->call_line = 0;
    if (!get_number(call, DW_AT_call_file, &file))
        return;
    if (unit_statement_list(unit, &lines))
        ret->call_file = module_line_file(module, lines, file);
    else
        ret->call_file = split_file(unit, file);
}

size_t module_find_scope_dies(struct module *module, uint64_t file_address, Dwarf_Die *ret_unit,
                              Dwarf_Die ret[SCOPE_DEPTH_LIMIT])
{
    struct module_dwarf *owner = dwarf_of(module);
    Dwarf *dwarf = module_dwarf(module);
    if (owner && !owner->inlines) {
        owner->inlines = calloc(1, sizeof(*owner->inlines));
        if (owner->inlines)
            hash_table_init(&owner->inlines->asked, sizeof(uint64_t));
    }
    Dwarf_Off function;
    if (!dwarf || !owner || !owner->inlines ||
        !find_unit(module, owner->inlines, dwarf, file_address, ret_unit))
        return 0;
    struct unit_functions *unit = unit_functions(module, owner->inlines, ret_unit);
    if (!unit || !find_function(module, unit, file_address, &function) ||
        !dwarf_offdie(dwarf_cu_getdwarf(unit->dies.cu), function, &ret[0]))
        return 0;
    if (unit->split)
        *ret_unit = unit->dies;
    size_t count = 1;
    while (count < SCOPE_DEPTH_LIMIT &&
           find_scope(module, unit, &ret[count - 1], file_address, &ret[count]))
        count++;
    return count;
}

/* The first time, in this target or in the one from which all this was taken over. */
static void note_asked(struct module *module, uint64_t file_address)
{
    struct inline_index *index = module->dwarf ? module->dwarf->inlines : NULL;
    if (!index || hash_table_find(&index->asked, file_address))
        return;
    hash_table_add(&index->asked, file_address);
    if (module->asked)
        asked_add(&module->asked->inlines, file_address);
}

size_t module_find_inlines(struct module *module, psc_addr address, struct module_inline *ret,
                           size_t limit)
{
    Dwarf_Die unit;
    Dwarf_Die scopes[SCOPE_DEPTH_LIMIT];
    size_t count = 0;
    size_t depth = module_find_scope_dies(module, address - module->bias, &unit, scopes);
    note_asked(module, address - module->bias);
    for (size_t i = depth; i > 1 && count < limit; i--)
        if (dwarf_tag(&scopes[i - 1]) == DW_TAG_inlined_subroutine)
            describe_call(module, &unit, &scopes[i - 1], &ret[count++]);
    return count;
}

bool module_find_function(struct module *module, psc_addr address, struct module_function *ret)
{
    Dwarf_Die unit, dies[SCOPE_DEPTH_LIMIT];
    Dwarf_Attribute attribute;
    Dwarf_Word line, file;
    uint64_t lines;
    if (!module_find_scope_dies(module, address - module->bias, &unit, dies))
        return false;
    *ret = (struct module_function){
        .name = dwarf_formstring(dwarf_attr_integrate(&dies[0], DW_AT_name, &attribute))};
    if (!ret->name ||
        dwarf_formudata(dwarf_attr_integrate(&dies[0], DW_AT_decl_line, &attribute), &line) != 0 ||
        line > UINT32_MAX)
        return false;
    ret->line = (uint32_t)line;
    if (dwarf_formudata(dwarf_attr_integrate(&dies[0], DW_AT_decl_file, &attribute), &file) == 0 &&
        file <= UINT32_MAX &&
        dwarf_cu_die(attribute.cu, &unit, NULL, NULL, NULL, NULL, NULL, NULL) &&
        unit_statement_list(&unit, &lines)) /* With LTO the name is another unit's. */
        ret->file = module_line_file(module, lines, (uint32_t)file);
    return true;
}
