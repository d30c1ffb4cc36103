/*
 * The C types of a fused function's specialisation. Its symbol has only a number for each fused
 * type, `__pyx_fuse_0_1`; debug information tells the type: that of the first argument which has
 * another type in the specialisation with another number.
 */
#include "symbolizer_private.h"

#include <stdlib.h>
#include <string.h>

/* Fused types of one function that are looked for. */
#define TYPE_LIMIT 8

static const char prefix[] = "__pyx_fuse_";

static bool is_number(const struct debug_type *type)
{
    return type &&
           (type->kind == DEBUG_KIND_SIGNED || type->kind == DEBUG_KIND_UNSIGNED ||
            type->kind == DEBUG_KIND_CHARACTER || type->kind == DEBUG_KIND_UNSIGNED_CHARACTER ||
            type->kind == DEBUG_KIND_FLOAT || type->kind == DEBUG_KIND_COMPLEX);
}

/* As a .pyx has it: gcc writes "long int" into its DWARF. */
static const char *written_name(const struct debug_type *type)
{
    static const char *const names[][2] = {
        {"long int", "long"},           {"long unsigned int", "unsigned long"},
        {"long long int", "long long"}, {"long long unsigned int", "unsigned long long"},
        {"short int", "short"},         {"short unsigned int", "unsigned short"},
    };
    const char *name = strncmp(type->name, "__pyx_", 6) == 0 && type->tag ? type->tag : type->name;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(names); i++)
        if (!strcmp(name, names[i][0]))
            return names[i][1];
    return name;
}

/* The name that Cython gave: in C++ it stands in `_ZL<size><name><parameters>`. */
static const char *bare_name(const char *symbol, size_t *ret_size)
{
    char *name = NULL;
    size_t size = strncmp(symbol, "_ZL", 3) == 0 ? strtoul(symbol + 3, &name, 10) : 0;
    bool mangled = size && strnlen(name, size) == size;
    *ret_size = mangled ? size : strlen(symbol);
    return mangled ? name : symbol;
}

static bool same_name(const char *left, const char *right)
{
    size_t left_size, right_size;
    const char *a = bare_name(left, &left_size), *b = bare_name(right, &right_size);
    return left_size == right_size && memcmp(a, b, left_size) == 0;
}

static const struct debug_scope *find_scope(const struct debug_scopes *scopes, const char *symbol)
{
    for (size_t i = 0; scopes && i < scopes->count; i++)
        if (scopes->items[i].function && same_name(scopes->items[i].function, symbol))
            return &scopes->items[i];
    return NULL;
}

static const struct debug_variable *find_variable(const struct debug_scope *scope, const char *name)
{
    for (size_t i = 0; i < scope->count; i++)
        if (scope->variables[i].name && !strcmp(scope->variables[i].name, name))
            return &scope->variables[i];
    return NULL;
}

struct search {
    struct symbolizer *symbolizer;
    struct module *module;
    const char *name;     /* As Cython gave it; NULL: to be found by its prefix. */
    const char *prefix;   /* "__pyx_fuse_1_0__pyx_pw_" */
    const char *function; /* As __qualname__. */
    struct module_symbol found;
};

static bool visit_function(void *context, const struct module_symbol *symbol)
{
    struct search *search = context;
    struct cython_name name;
    size_t size;
    if (search->name) {
        if (same_name(symbol->name, search->name))
            search->found = *symbol;
        return !search->found.name;
    }
    if (strncmp(bare_name(symbol->name, &size), search->prefix, strlen(search->prefix)) != 0 ||
        strchr(symbol->name, '.') ||
        !cython_cache_name_of(search->symbolizer->cython, search->module, symbol->name,
                              search->symbolizer->trace->arena, &name) ||
        !name.function || strcmp(name.function, search->function) != 0)
        return true;
    search->found = *symbol;
    return false;
}

/* A function by its bare name; of a wrapper, whose entry number is another, by its prefix. */
static const struct debug_scope *find_function(struct search *search, const char *symbol,
                                               struct arena *arena)
{
    static const char kind[] = "__pyx_pw_";
    const char *wrapper = strstr(symbol, kind);
    if (wrapper) {
        search->prefix = arena_printf(arena, "%.*s%s", (int)(wrapper - symbol), symbol, kind);
        if (search->prefix)
            module_each_symbol(search->module, visit_function, search);
    } else if (!module_find_symbol_named(search->module, symbol, &search->found)) {
        search->name = symbol;
        module_each_symbol(search->module, visit_function, search);
    }
    if (!search->found.name)
        return NULL;
    return find_scope(module_find_variables(search->module, search->found.address),
                      search->found.name);
}

/* Another specialisation, which differs in the number that begins at `digits`. */
static const struct debug_scope *find_other(struct search search, const char *symbol, size_t digits,
                                            struct arena *arena)
{
    size_t size = strspn(symbol + digits, "0123456789");
    bool first = size == 1 && symbol[digits] == '0';
    const char *name = arena_printf(arena, "%.*s%s%s", (int)digits, symbol, first ? "1" : "0",
                                    symbol + digits + size);
    return name ? find_function(&search, name, arena) : NULL;
}

/*
 * The type of the first argument that differs, if it is a number; else NULL. Wrappers have theirs
 * in variables, which they fill from the call's arguments.
 */
static const char *differing_type(const struct debug_scope *own, const struct debug_scope *other,
                                  bool wrapper)
{
    for (size_t i = 0; i < own->count; i++) {
        const struct debug_variable *variable = &own->variables[i];
        if (variable->argument == wrapper || !variable->name ||
            strncmp(variable->name, "__pyx_v_", 8) != 0)
            continue;
        const struct debug_variable *there = find_variable(other, variable->name);
        if (!there || !there->type || !is_number(variable->type) || !variable->type->name ||
            (is_number(there->type) &&
             (!there->type->name || !strcmp(variable->type->name, there->type->name))))
            continue;
        return written_name(variable->type);
    }
    return NULL;
}

/* The level whose symbol has the numbers: of a body inlined into its wrapper, the wrapper. */
static const struct address_level *counted_level(const struct address_info *info, size_t i)
{
    const struct address_level *level = &info->levels[i], *outer = level + 1;
    bool inside = i + 1 < info->level_count && level->cython.kind == CYTHON_BODY &&
                  outer->cython.kind == CYTHON_WRAPPER && level->cython.function &&
                  outer->cython.function && !strcmp(level->cython.function, outer->cython.function);
    return inside ? outer : level;
}

void symbolizer_add_fused_types(struct symbolizer *symbolizer, const struct address_info *info,
                                size_t i)
{
    const struct address_level *level = counted_level(info, i);
    struct trace_location *location = info->levels[i].location;
    struct arena *arena = symbolizer->trace->arena;
    const char *linked = level->location->symbol;
    size_t size = 0;
    const char *bare = linked ? bare_name(linked, &size) : NULL;
    bool wrapper = level->cython.kind == CYTHON_WRAPPER;
    if (location->kind != TRACE_CYTHON || !module_inlines_are_cheap(info->module) ||
        !level->cython.specialization || !bare || strncmp(bare, prefix, strlen(prefix)) != 0 ||
        strchr(linked, '.'))
        return;
    const char *symbol = arena_strndup(arena, bare, size);
    if (!symbol)
        return;
    const struct debug_scope *own =
        find_scope(module_find_variables(info->module, info->pc), symbol);
    const struct search search = {
        .symbolizer = symbolizer, .module = info->module, .function = level->cython.function};
    struct text types = {0};
    size_t at = strlen(prefix);
    bool known = own != NULL;
    for (size_t k = 0; known && k < TYPE_LIMIT && symbol[at] >= '0' && symbol[at] <= '9'; k++) {
        const struct debug_scope *other = find_other(search, symbol, at, arena);
        const char *type = other ? differing_type(own, other, wrapper) : NULL;
        known = type != NULL;
        if (known)
            text_printf(&types, "%s%s", k ? "," : "", type);
        at += strspn(symbol + at, "0123456789");
        if (symbol[at] != '_' || symbol[at + 1] == '_')
            break;
        at++;
    }
    if (known && types.size && !types.failed)
        location->function = arena_printf(arena, "%s[%s]", location->function, types.data);
    text_deinit(&types);
}
