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
        return true;
    case HEAP_KIND_OTHER:
    case HEAP_KIND_ODICT:
    case HEAP_KIND_DEQUE:
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

/* Types made in C all of whose members are objects that they hold, or numbers. */
static const char *const exact_names[] = {"cell",
                                          "method",
                                          "builtin_function_or_method",
                                          "property",
                                          "staticmethod",
                                          "classmethod",
                                          "slice",
                                          "object",
                                          "types.SimpleNamespace",
                                          "function",
                                          "list_iterator",
                                          "tuple_iterator",
                                          "NoneType",
                                          "float",
                                          "complex",
                                          "bool",
                                          "wrapper_descriptor",
                                          "method_descriptor",
                                          "getset_descriptor",
                                          "member_descriptor",
                                          "method-wrapper",
                                          "mappingproxy",
                                          "BaseException",
                                          "range",
                                          "enumerate",
                                          "map",
                                          "zip",
                                          "filter",
                                          "reversed"};

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

static bool is_exact_name(const char *name)
{
    for (size_t i = 0; i < PSC_ARRAY_SIZE(exact_names); i++)
        if (!strcmp(name, exact_names[i]))
            return true;
    return false;
}

static void set_kind(struct heap *heap, uint32_t type)
{
    struct heap_type_facts *facts = &heap->facts[type];
    uint32_t at = type;
    facts->cut = is_of_c(heap, type) && !strcmp(heap->types[type].name, CUT_TYPE) ? CUT_SIZE : 0;
    for (unsigned depth = 0; at != HEAP_NONE && depth < BASE_LIMIT; depth++) {
        if (is_of_c(heap, at) && find_kind(heap, at, &facts->kind)) {
            facts->own = at == type;
            facts->exact = is_exact_kind(facts->kind);
            return;
        }
        at = heap->facts[at].base;
    }
    at = type;
    for (unsigned depth = 0; at != HEAP_NONE && depth < BASE_LIMIT; depth++) {
        if (is_of_c(heap, at)) {
            facts->exact = is_exact_name(heap->types[at].name);
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
