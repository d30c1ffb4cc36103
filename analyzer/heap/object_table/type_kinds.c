/* How the objects of a type are laid out, by the name of the type or of one that it is derived
 * from. */
#include "object_table.h"

#include <string.h>

#define BASE_LIMIT 256u

static const struct {
    const char *name; /* tp_name of the type in C. */
    enum heap_kind kind;
} kinds[] = {
    {"dict", HEAP_KIND_DICT},
    {"frozendict", HEAP_KIND_DICT},
    {"collections.OrderedDict", HEAP_KIND_ODICT},
    {"list", HEAP_KIND_LIST},
    {"tuple", HEAP_KIND_TUPLE},
    {"set", HEAP_KIND_SET},
    {"frozenset", HEAP_KIND_SET},
    {"str", HEAP_KIND_STR},
    {"bytes", HEAP_KIND_BYTES},
    {"int", HEAP_KIND_INT},
    {"type", HEAP_KIND_TYPE},
    {"bytearray", HEAP_KIND_BYTEARRAY},
    {"weakref", HEAP_KIND_WEAKREF},
    {"weakproxy", HEAP_KIND_WEAKREF},
    {"weakcallableproxy", HEAP_KIND_WEAKREF},
    {"weakref.ReferenceType", HEAP_KIND_WEAKREF},
    {"weakref.ProxyType", HEAP_KIND_WEAKREF},
    {"weakref.CallableProxyType", HEAP_KIND_WEAKREF},
    {"collections.deque", HEAP_KIND_DEQUE},
    {"code", HEAP_KIND_CODE},
    {"generator", HEAP_KIND_GENERATOR},
    {"coroutine", HEAP_KIND_GENERATOR},
    {"async_generator", HEAP_KIND_GENERATOR},
    {"frame", HEAP_KIND_FRAME},
    {"array.array", HEAP_KIND_ARRAY},
    {"numpy.ndarray", HEAP_KIND_NDARRAY},
    {"function", HEAP_KIND_FUNCTION},
    {"memoryview", HEAP_KIND_MEMORYVIEW},
    {"module", HEAP_KIND_MODULE},
};

/* Kinds of which nothing but what their layout names is a reference that counts. */
static bool is_exact_kind(enum heap_kind kind)
{
    switch (kind) {
    case HEAP_KIND_DICT:
    case HEAP_KIND_LIST:
    case HEAP_KIND_TUPLE:
    case HEAP_KIND_SET:
    case HEAP_KIND_STR:
    case HEAP_KIND_BYTES:
    case HEAP_KIND_INT:
    case HEAP_KIND_BYTEARRAY:
    case HEAP_KIND_WEAKREF:
    case HEAP_KIND_TYPE:
    case HEAP_KIND_FUNCTION:
    case HEAP_KIND_MEMORYVIEW:
    case HEAP_KIND_DEQUE:
        return true;
    case HEAP_KIND_OTHER:
    case HEAP_KIND_ODICT:
    case HEAP_KIND_CODE:
    case HEAP_KIND_GENERATOR:
    case HEAP_KIND_FRAME:
    case HEAP_KIND_ARRAY:
    case HEAP_KIND_NDARRAY:
    case HEAP_KIND_MODULE:
        return false;
    }
    return false;
}

/* Types made in C all of whose members are objects that they hold, or numbers, and how many of
 * these members come first and are objects or NULL in all versions from 3.8 on (CPython,
 * Include/cpython/cellobject.h, classobject.h, funcobject.h, Include/sliceobject.h,
 * Objects/descrobject.c, Objects/namespaceobject.c). */
static const struct {
    const char *name;
    uint32_t leading;
} exact_types[] = {{"cell", 1},
                   {"method", 2},
                   {"builtin_function_or_method", 0},
                   {"property", 4},
                   {"staticmethod", 1},
                   {"classmethod", 1},
                   {"slice", 3},
                   {"object", 0},
                   {"types.SimpleNamespace", 1},
                   {"function", 7},
                   {"list_iterator", 0},
                   {"tuple_iterator", 0},
                   {"NoneType", 0},
                   {"float", 0},
                   {"complex", 0},
                   {"bool", 0},
                   {"wrapper_descriptor", 0},
                   {"method_descriptor", 0},
                   {"getset_descriptor", 0},
                   {"member_descriptor", 0},
                   {"method-wrapper", 0},
                   {"mappingproxy", 1},
                   {"BaseException", 0},
                   {"range", 0},
                   {"enumerate", 0},
                   {"map", 0},
                   {"zip", 0},
                   {"filter", 0},
                   {"reversed", 0}};

/* A class in Python has the last part of its name alone: one that is called "dict" is not dict. */
static bool is_of_c(const struct heap *heap, uint32_t type)
{
    return !(heap->facts[type].flags & PYTHON_TYPE_HEAP) || strchr(heap->types[type].name, '.');
}

static bool find_kind(const struct heap *heap, uint32_t type, enum heap_kind *ret)
{
    for (size_t i = 0; i < PSC_ARRAY_SIZE(kinds); i++)
        if (!strcmp(heap->types[type].name, kinds[i].name)) {
            *ret = kinds[i].kind;
            return true;
        }
    return false;
}

/* Modules/_datetimemodule.c, _PyDateTime_BaseTime: a time without a tzinfo ends before that. */
#define CUT_TYPE "datetime.time"
#define CUT_SIZE 8u

static bool is_exact_type(const char *name, uint32_t *ret_leading)
{
    for (size_t i = 0; i < PSC_ARRAY_SIZE(exact_types); i++)
        if (!strcmp(name, exact_types[i].name)) {
            *ret_leading = exact_types[i].leading;
            return true;
        }
    return false;
}

/* Values of __slots__ lie behind what the base has, those of the base's own before them
 * (type_new_slots(), Objects/typeobject.c). A class without them adds nothing that holds, else it
 * was made by code in C. */
static uint64_t find_slots(struct heap *heap, uint32_t type)
{
    uint64_t from = UINT64_MAX;
    for (unsigned depth = 0; type != HEAP_NONE && depth < BASE_LIMIT; depth++) {
        const struct heap_type_facts *facts = &heap->facts[type];
        const uint32_t base = facts->base;
        if (is_of_c(heap, type) || base == HEAP_NONE ||
            heap->facts[base].basic_size > facts->basic_size)
            break;
        if (heap_u64(heap, heap->types[type].address + heap->layout.heap_name + 8))
            from = heap->facts[base].basic_size;
        else if (heap->facts[base].basic_size != facts->basic_size)
            break;
        type = base;
    }
    return from;
}

static void set_kind(struct heap *heap, uint32_t type)
{
    struct heap_type_facts *facts = &heap->facts[type];
    uint32_t at = type;
    facts->slots_from = find_slots(heap, type);
    facts->cut = is_of_c(heap, type) && !strcmp(heap->types[type].name, CUT_TYPE) ? CUT_SIZE : 0;
    for (unsigned depth = 0; at != HEAP_NONE && depth < BASE_LIMIT; depth++) {
        if (is_of_c(heap, at) && find_kind(heap, at, &facts->kind)) {
            facts->own = at == type;
            facts->exact = is_exact_kind(facts->kind);
            if (facts->exact)
                (void)is_exact_type(heap->types[at].name, &facts->leading);
            return;
        }
        at = heap->facts[at].base;
    }
    at = type;
    for (unsigned depth = 0; at != HEAP_NONE && depth < BASE_LIMIT; depth++) {
        if (is_of_c(heap, at)) {
            facts->exact = is_exact_type(heap->types[at].name, &facts->leading);
            return;
        }
        at = heap->facts[at].base;
    }
}

void heap_types_set_kinds(struct heap *heap)
{
    for (uint32_t i = 0; i < heap->type_count; i++)
        set_kind(heap, i);
    for (uint32_t i = 0; i < heap->type_count; i++)
        if (heap->facts[i].kind == HEAP_KIND_TUPLE && heap->facts[i].own)
            heap->tuple_items = heap->facts[i].basic_size;
}
