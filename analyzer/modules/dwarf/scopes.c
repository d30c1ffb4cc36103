/* Arguments, variables and call sites of functions, by libdw. */
#include "dwarf_private.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

/* Variables of one function, and the children of one DIE that are looked at. */
#define VARIABLE_LIMIT  ((size_t)256)
#define CHILD_LIMIT     ((size_t)1 << 16)
#define PARAMETER_LIMIT ((size_t)32)

/* ---- answers, kept by address ---- */

struct answer {
    psc_addr address;
    const void *found;
};

struct variable_cache {
    struct hash_table scopes;
    struct hash_table call_sites;
};

void variable_cache_destroy(struct variable_cache *cache)
{
    if (!cache)
        return;
    hash_table_deinit(&cache->scopes);
    hash_table_deinit(&cache->call_sites);
    free(cache);
}

static struct variable_cache *variable_cache_of(struct module *module)
{
    struct module_dwarf *dwarf = dwarf_of(module);
    if (!dwarf || dwarf->variables)
        return dwarf ? dwarf->variables : NULL;
    dwarf->variables = calloc(1, sizeof(*dwarf->variables));
    if (dwarf->variables)
        *dwarf->variables =
            (struct variable_cache){HASH_TABLE_OF(struct answer), HASH_TABLE_OF(struct answer)};
    return dwarf->variables;
}

/* The answer for an address; one that is looked for with `read` when it was not asked for yet. */
static const void *find_answer(struct module *module, struct hash_table *table, psc_addr address,
                               const void *(*read)(struct module *module, psc_addr address))
{
    struct answer *answer = address ? hash_table_find(table, address) : NULL;
    if (answer || !address || !hash_table_reserve(table, table->count + 1))
        return answer ? answer->found : NULL;
    const void *found = read(module, address);
    answer = hash_table_add(table, address);
    if (answer)
        answer->found = found;
    return found;
}

/* ---- variables ---- */

/* A constant that stands in the place of a location. */
static void take_constant(struct module *module, Dwarf_Die *die, struct debug_variable *variable)
{
    Dwarf_Attribute attribute;
    Dwarf_Block block;
    Dwarf_Word number;
    const uint8_t *bytes = (const uint8_t *)&number;
    size_t size = sizeof(number);
    if (!dwarf_attr_integrate(die, DW_AT_const_value, &attribute))
        return;
    const char *string = dwarf_formstring(&attribute);
    if (string) {
        bytes = (const uint8_t *)string;
        size = strlen(string) + 1;
    } else if (dwarf_formblock(&attribute, &block) == 0) {
        bytes = block.data;
        size = block.length;
    } else if (dwarf_formudata(&attribute, &number) != 0) {
        return;
    }
    variable->constant =
        (const uint8_t *)arena_strndup(module->owner->arena, (const char *)bytes, size);
    variable->constant_size = size;
}

static bool read_variable(struct module *module, Dwarf_Die *die, uint64_t address,
                          struct debug_variable *ret)
{
    Dwarf_Attribute attribute;
    uint64_t line = 0;
    int tag = dwarf_tag(die);
    if (tag != DW_TAG_formal_parameter && tag != DW_TAG_variable)
        return false;
    *ret =
        (struct debug_variable){.argument = tag == DW_TAG_formal_parameter, .position = UINT32_MAX};
    ret->name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &attribute));
    if (!ret->name || dwarf_hasattr_integrate(die, DW_AT_declaration))
        return false;
    // __func__ and the like.
    if (!ret->argument && dwarf_hasattr_integrate(die, DW_AT_artificial))
        return false;
    ret->type = module_type_of(module, die);
    if (die_get_number(die, DW_AT_decl_line, &line) && line <= UINT32_MAX)
        ret->line = (uint32_t)line;
    if (dwarf_attr_integrate(die, DW_AT_location, &attribute))
        ret->location = module_copy_expression(module, &attribute, address);
    if (!ret->location)
        take_constant(module, die, ret);
    return true;
}

struct variable_list {
    struct debug_variable items[VARIABLE_LIMIT];
    Dwarf_Off declared[VARIABLE_LIMIT]; /* The DIE that declares it: they stand in order. */
    size_t count;
};

static Dwarf_Off declaration_of(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    Dwarf_Die origin;
    if (dwarf_attr(die, DW_AT_abstract_origin, &attribute) &&
        dwarf_formref_die(&attribute, &origin))
        return dwarf_dieoffset(&origin);
    return dwarf_dieoffset(die);
}

/* gcc does not keep the order of a function's variables where that is inlined. */
static void put_in_order(struct variable_list *list, size_t first)
{
    for (size_t i = list->count - 1; i > first && list->declared[i] < list->declared[i - 1]; i--) {
        struct debug_variable variable = list->items[i];
        Dwarf_Off declared = list->declared[i];
        list->items[i] = list->items[i - 1];
        list->declared[i] = list->declared[i - 1];
        list->items[i - 1] = variable;
        list->declared[i - 1] = declared;
    }
}

static bool is_listed(const struct variable_list *list, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(list->items[i].name, name))
            return true;
    return false;
}

/* Of one DIE; names of blocks further in hide those further out. */
static void list_variables(struct module *module, Dwarf_Die *scope, uint64_t address,
                           bool arguments, struct variable_list *list)
{
    Dwarf_Die child;
    size_t before = list->count;
    if (dwarf_child(scope, &child) != 0)
        return;
    for (size_t i = 0; i < CHILD_LIMIT && list->count < VARIABLE_LIMIT; i++) {
        struct debug_variable *variable = &list->items[list->count];
        if ((dwarf_tag(&child) == DW_TAG_formal_parameter) == arguments &&
            read_variable(module, &child, address, variable) &&
            !is_listed(list, before, variable->name)) {
            list->declared[list->count++] = declaration_of(&child);
            put_in_order(list, before);
        }
        if (!die_next_sibling(&child))
            break;
    }
}

/* The places of arguments in the declaration, of which the compiler may have left some out. */
static size_t count_arguments(Dwarf_Die *scope, struct variable_list *list)
{
    Dwarf_Attribute attribute;
    Dwarf_Die declaration = *scope;
    Dwarf_Die child;
    size_t count = 0;
    if (dwarf_attr(scope, DW_AT_abstract_origin, &attribute) &&
        !dwarf_formref_die(&attribute, &declaration))
        return 0;
    if (dwarf_child(&declaration, &child) != 0)
        return 0;
    for (size_t i = 0; i < CHILD_LIMIT && count < VARIABLE_LIMIT; i++) {
        if (dwarf_tag(&child) == DW_TAG_formal_parameter) {
            for (size_t v = 0; v < list->count; v++)
                if (list->declared[v] == dwarf_dieoffset(&child))
                    list->items[v].position = (uint32_t)count;
            count++;
        }
        if (!die_next_sibling(&child))
            break;
    }
    return count;
}

/* The function at scopes[0] and the blocks in it that hold the address: scopes[1 ... count). */
static bool fill_scope(struct module *module, Dwarf_Die *scopes, size_t count, uint64_t address,
                       struct debug_scope *ret)
{
    struct variable_list list = {.count = 0};
    ret->function = die_function_name(&scopes[0]);
    list_variables(module, &scopes[0], address, true, &list);
    ret->argument_count = count_arguments(&scopes[0], &list);
    for (size_t i = count; i-- > 0;)
        list_variables(module, &scopes[i], address, false, &list);
    ret->count = list.count;
    ret->variables =
        arena_array(module->owner->arena, list.count ? list.count : 1, sizeof(*ret->variables));
    if (!ret->variables)
        return false;
    memcpy(ret->variables, list.items, list.count * sizeof(*ret->variables));
    return true;
}

static const void *read_scopes(struct module *module, psc_addr address)
{
    Dwarf_Die unit;
    Dwarf_Die dies[SCOPE_DEPTH_LIMIT];
    uint64_t file_address = address - module->bias;
    size_t depth = module_find_scope_dies(module, file_address, &unit, dies);
    if (!depth)
        module_warn_split(module);
    struct arena *arena = module->owner->arena;
    struct debug_scopes *scopes = depth ? arena_alloc(arena, sizeof(*scopes)) : NULL;
    struct debug_scope *items = depth ? arena_array(arena, depth, sizeof(*items)) : NULL;
    if (!scopes || !items)
        return NULL;
    scopes->items = items;
    for (size_t end = depth, i = depth; i-- > 0;) {
        if (i && dwarf_tag(&dies[i]) != DW_TAG_inlined_subroutine)
            continue;
        if (!fill_scope(module, &dies[i], end - i, file_address, &items[scopes->count++]))
            return NULL;
        end = i;
    }
    Dwarf_Attribute attribute;
    Dwarf_Addr entry;
    if (dwarf_attr_integrate(&dies[0], DW_AT_frame_base, &attribute))
        scopes->frame_base = module_copy_expression(module, &attribute, file_address);
    if (dwarf_entrypc(&dies[0], &entry) == 0)
        scopes->entry = entry + module->bias;
    return scopes;
}

const struct debug_scopes *module_find_variables(struct module *module, psc_addr address)
{
    struct variable_cache *cache = variable_cache_of(module);
    return cache ? find_answer(module, &cache->scopes, address, read_scopes) : NULL;
}

/* ---- call sites ---- */

static bool is_call_site(Dwarf_Die *die, uint64_t return_address)
{
    Dwarf_Attribute attribute;
    Dwarf_Addr address;
    switch (dwarf_tag(die)) {
    case DW_TAG_call_site:
        return dwarf_formaddr(dwarf_attr(die, DW_AT_call_return_pc, &attribute), &address) == 0 &&
               address == return_address;
    case DW_TAG_GNU_call_site:
        return dwarf_formaddr(dwarf_attr(die, DW_AT_low_pc, &attribute), &address) == 0 &&
               address == return_address;
    default:
        return false;
    }
}

static bool find_call_site(Dwarf_Die *scope, uint64_t return_address, Dwarf_Die *ret)
{
    if (dwarf_child(scope, ret) != 0)
        return false;
    for (size_t i = 0; i < CHILD_LIMIT; i++) {
        if (is_call_site(ret, return_address))
            return true;
        if (!die_next_sibling(ret))
            break;
    }
    return false;
}

/* Either's DWARF 5 attribute, or GNU's forerunner. */
static Dwarf_Attribute *find_either(Dwarf_Die *die, unsigned int name, unsigned int gnu_name,
                                    Dwarf_Attribute *ret)
{
    Dwarf_Attribute *found = dwarf_attr(die, name, ret);
    return found ? found : dwarf_attr(die, gnu_name, ret);
}

static void take_target(struct module *module, Dwarf_Die *site, struct debug_call_site *ret)
{
    Dwarf_Attribute attribute;
    Dwarf_Die origin;
    Dwarf_Addr entry;
    Dwarf_Attribute *found =
        find_either(site, DW_AT_call_origin, DW_AT_abstract_origin, &attribute);
    if (found && dwarf_formref_die(found, &origin)) {
        ret->name = die_function_name(&origin);
        if (dwarf_entrypc(&origin, &entry) == 0 && entry)
            ret->target = entry + module->bias;
    }
    found = find_either(site, DW_AT_call_target, DW_AT_GNU_call_site_target, &attribute);
    if (found)
        ret->target_value = module_copy_expression(module, found, 0);
}

static bool take_register(struct module *module, Dwarf_Die *die, struct debug_call_parameter *ret)
{
    Dwarf_Attribute attribute;
    const struct debug_expression *expression =
        module_copy_expression(module, dwarf_attr(die, DW_AT_location, &attribute), 0);
    if (!expression || expression->count != 1)
        return false;
    const struct debug_operation *operation = &expression->operations[0];
    if (operation->code >= DW_OP_reg0 && operation->code <= DW_OP_reg31)
        ret->register_number = (uint8_t)(operation->code - DW_OP_reg0);
    else if (operation->code == DW_OP_regx && operation->number <= UINT8_MAX)
        ret->register_number = (uint8_t)operation->number;
    else
        return false;
    return true;
}

/* Of a function from which the compiler removed a parameter: its value is described all the same.
 */
static bool take_declaration(Dwarf_Die *die, struct debug_call_parameter *ret)
{
    Dwarf_Attribute attribute;
    Dwarf_Die declaration;
    Dwarf_Attribute *found =
        find_either(die, DW_AT_call_parameter, DW_AT_abstract_origin, &attribute);
    if (!found || !dwarf_formref_die(found, &declaration))
        return false;
    ret->register_number = UINT8_MAX;
    ret->parameter = (uintptr_t)declaration.addr;
    return true;
}

static bool take_parameter(struct module *module, Dwarf_Die *die, struct debug_call_parameter *ret)
{
    Dwarf_Attribute attribute;
    int tag = dwarf_tag(die);
    if (tag != DW_TAG_call_site_parameter && tag != DW_TAG_GNU_call_site_parameter)
        return false;
    if (!take_register(module, die, ret) && !take_declaration(die, ret))
        return false;
    ret->value = module_copy_expression(
        module, find_either(die, DW_AT_call_value, DW_AT_GNU_call_site_value, &attribute), 0);
    return ret->value;
}

static void take_parameters(struct module *module, Dwarf_Die *site, struct debug_call_site *ret)
{
    Dwarf_Die child;
    if (!ret->parameters || dwarf_child(site, &child) != 0)
        return;
    do {
        ret->count += take_parameter(module, &child, &ret->parameters[ret->count]);
    } while (ret->count < PARAMETER_LIMIT && die_next_sibling(&child));
}

static const void *read_call_site(struct module *module, psc_addr return_address)
{
    Dwarf_Die unit;
    Dwarf_Die dies[SCOPE_DEPTH_LIMIT];
    Dwarf_Die site;
    uint64_t file_address = return_address - module->bias;
    size_t depth = module_find_scope_dies(module, file_address - 1, &unit, dies);
    for (size_t i = depth; i-- > 0;) {
        if (!find_call_site(&dies[i], file_address, &site))
            continue;
        struct arena *arena = module->owner->arena;
        struct debug_call_site *found = arena_alloc(arena, sizeof(*found));
        if (!found)
            return NULL;
        found->parameters = arena_array(arena, PARAMETER_LIMIT, sizeof(*found->parameters));
        take_target(module, &site, found);
        take_parameters(module, &site, found);
        return found;
    }
    return NULL;
}

const struct debug_call_site *module_find_call_site(struct module *module, psc_addr return_address)
{
    struct variable_cache *cache = variable_cache_of(module);
    return cache ? find_answer(module, &cache->call_sites, return_address, read_call_site) : NULL;
}
