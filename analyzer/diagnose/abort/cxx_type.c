/* Types of C++ by their std::type_info: Itanium C++ ABI, 2.9.5; libsupc++'s cxxabi.h. */
#include "abort_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TYPE_NAME_LIMIT 1024u
#define CLASS_LIMIT     64u /* Base classes that are looked at. */
#define VTABLE_HEAD     16  /* From its symbol to where objects point: offset to top, type. */
#define TITLE_MARK      "typeinfo name for "
/* abi::__base_class_type_info::__offset_flags_masks */
#define BASE_IS_VIRTUAL   1
#define BASE_OFFSET_SHIFT 8

enum class_kind { CLASS_OTHER, CLASS_ONE_BASE, CLASS_BASES };

bool cxx_type_read(const struct abort_stack *stack, psc_addr info, struct cxx_type *ret)
{
    struct target *target = stack->input->target;
    char name[TYPE_NAME_LIMIT];
    psc_addr text;
    *ret = (struct cxx_type){.info = info};
    if (target_read_pointer(target, info + 8, &text) != PSC_OK ||
        target_read_string(target, text, name, sizeof(name)) != PSC_OK)
        return false;
    // GCC marks names that are compared by their address.
    size_t mark = name[0] == '*';
    for (const char *at = name + mark; *at; at++)
        if (*at <= ' ' || *at > '~')
            return false;
    ret->name = name[mark] ? arena_strdup(stack->input->arena, name + mark) : NULL;
    return ret->name;
}

const char *cxx_type_title(const struct abort_stack *stack, const struct cxx_type *type)
{
    char symbol[TYPE_NAME_LIMIT + 8];
    snprintf(symbol, sizeof(symbol), "_ZTS%s", type->name);
    char *title PSC_CLEANUP(cleanup_free) = demangle_symbol(symbol, DEMANGLED_LIMIT, NULL);
    if (!title || strncmp(title, TITLE_MARK, strlen(TITLE_MARK)) != 0)
        return type->name;
    return arena_strdup(stack->input->arena, title + strlen(TITLE_MARK));
}

/* By the vtable of the type_info itself, wherever libstdc++ was linked to. */
static enum class_kind kind_of(const struct abort_stack *stack, psc_addr info)
{
    static const struct {
        const char *symbol;
        enum class_kind kind;
    } kinds[] = {{"_ZTVN10__cxxabiv120__si_class_type_infoE", CLASS_ONE_BASE},
                 {"_ZTVN10__cxxabiv121__vmi_class_type_infoE", CLASS_BASES}};
    psc_addr vtable;
    if (target_read_pointer(stack->input->target, info, &vtable) != PSC_OK)
        return CLASS_OTHER;
    struct module *module = modules_find(stack->input->modules, vtable);
    struct module_symbol symbol;
    for (size_t i = 0; module && i < PSC_ARRAY_SIZE(kinds); i++)
        if (module_find_symbol_named(module, kinds[i].symbol, &symbol) &&
            symbol.address + VTABLE_HEAD == vtable)
            return kinds[i].kind;
    return CLASS_OTHER;
}

struct search {
    const struct abort_stack *stack;
    struct {
        psc_addr info, object;
    } work[CLASS_LIMIT];
    size_t count;
};

static bool add(struct search *search, psc_addr info, psc_addr object)
{
    if (search->count == CLASS_LIMIT)
        return false;
    search->work[search->count].info = info;
    search->work[search->count++].object = object;
    return true;
}

/* One of the bases of a class with several: where it is in the object. */
static bool add_base(struct search *search, psc_addr entry, psc_addr object)
{
    struct target *target = search->stack->input->target;
    psc_addr info, vtable;
    uint64_t flags, offset;
    if (target_read_pointer(target, entry, &info) != PSC_OK ||
        target_read_u64(target, entry + 8, &flags) != PSC_OK)
        return false;
    offset = (uint64_t)((int64_t)flags >> BASE_OFFSET_SHIFT);
    if (!(flags & BASE_IS_VIRTUAL))
        return add(search, info, object + offset);
    return target_read_pointer(target, object, &vtable) == PSC_OK &&
           target_read_u64(target, vtable + offset, &offset) == PSC_OK &&
           add(search, info, object + offset);
}

static bool add_bases(struct search *search, psc_addr info, psc_addr object)
{
    struct target *target = search->stack->input->target;
    psc_addr base;
    uint32_t count;
    switch (kind_of(search->stack, info)) {
    case CLASS_ONE_BASE:
        return target_read_pointer(target, info + 16, &base) == PSC_OK && add(search, base, object);
    case CLASS_BASES:
        if (target_read_u32(target, info + 20, &count) != PSC_OK || count > CLASS_LIMIT)
            return false;
        for (uint32_t i = 0; i < count; i++)
            if (!add_base(search, info + 24 + (psc_addr)16 * i, object))
                return false;
        return true;
    case CLASS_OTHER:
        break;
    }
    return true;
}

bool cxx_type_find_base(const struct abort_stack *stack, const struct cxx_type *type,
                        psc_addr object, const char *base, psc_addr *ret)
{
    struct search search = {.stack = stack};
    bool found = false;
    add(&search, type->info, object);
    for (size_t i = 0; i < search.count; i++) {
        struct cxx_type one;
        psc_addr at = search.work[i].object;
        if (!cxx_type_read(stack, search.work[i].info, &one))
            return false;
        if (strcmp(one.name, base) == 0) {
            if (found && *ret != at)
                return false;
            *ret = at;
            found = true;
        } else if (!add_bases(&search, search.work[i].info, at)) {
            return false;
        }
    }
    return found;
}
