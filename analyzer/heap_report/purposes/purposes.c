/* Which objects are the program's text (code, modules, classes), and which its data. */
#include "purposes.h"

#include <stdlib.h>
#include <string.h>

/* Constants of code lie in tuples in tuples. */
#define DEPTH_LIMIT 8u

static const struct {
    const char *type;
    enum heap_purpose purpose;
} types[] = {
    {"code", HEAP_PURPOSE_CODE},
    {"function", HEAP_PURPOSE_CODE},
    {"cell", HEAP_PURPOSE_CODE},
    {"builtin_function_or_method", HEAP_PURPOSE_CODE},
    {"method_descriptor", HEAP_PURPOSE_CODE},
    {"classmethod_descriptor", HEAP_PURPOSE_CODE},
    {"wrapper_descriptor", HEAP_PURPOSE_CODE},
    {"getset_descriptor", HEAP_PURPOSE_CODE},
    {"member_descriptor", HEAP_PURPOSE_CODE},
    {"staticmethod", HEAP_PURPOSE_CODE},
    {"classmethod", HEAP_PURPOSE_CODE},
    {"property", HEAP_PURPOSE_CODE},
    {"module", HEAP_PURPOSE_MODULES},
    {"moduledef", HEAP_PURPOSE_MODULES},
    {"_frozen_importlib.ModuleSpec", HEAP_PURPOSE_MODULES},
    {"_frozen_importlib_external.SourceFileLoader", HEAP_PURPOSE_MODULES},
};

/* What only holds text and numbers, and so is part of what it belongs to. */
static bool is_constant(const char *type)
{
    return !strcmp(type, "str") || !strcmp(type, "bytes") || !strcmp(type, "tuple") ||
           !strcmp(type, "int") || !strcmp(type, "float") || !strcmp(type, "frozenset");
}

static enum heap_purpose purpose_of_type(const char *name)
{
    for (size_t i = 0; i < PSC_ARRAY_SIZE(types); i++)
        if (!strcmp(types[i].type, name))
            return types[i].purpose;
    return HEAP_PURPOSE_DATA;
}

/* A namespace or a constant belongs to the first that refers to it. */
static void mark_referents(const struct heap *heap, uint8_t *purposes, const bool *constants,
                           uint32_t dict, uint32_t object)
{
    for (uint32_t i = heap->first_edges[object]; i < heap->first_edges[object + 1]; i++) {
        uint32_t target = heap->edges[i];
        uint32_t type = heap->objects[target].type;
        if (purposes[target] != HEAP_PURPOSE_DATA)
            continue;
        if ((purposes[object] == HEAP_PURPOSE_MODULES && type == dict) ||
            (purposes[object] == HEAP_PURPOSE_CODE && constants[type]))
            purposes[target] = purposes[object];
    }
}

static uint32_t find_type_named(const struct heap *heap, const char *name)
{
    for (uint32_t i = 0; i < heap->type_count; i++)
        if (!strcmp(heap->types[i].name, name))
            return i;
    return HEAP_NONE;
}

bool heap_sum_purposes(struct heap *heap, struct heap_purpose_sum ret[HEAP_PURPOSES])
{
    uint8_t *purposes PSC_CLEANUP(cleanup_free) = calloc((size_t)heap->object_count + 1, 1);
    uint8_t *by_type PSC_CLEANUP(cleanup_free) = calloc((size_t)heap->type_count + 1, 1);
    bool *constants PSC_CLEANUP(cleanup_free) =
        calloc((size_t)heap->type_count + 1, sizeof(*constants));
    memset(ret, 0, HEAP_PURPOSES * sizeof(*ret));
    if (!purposes || !by_type || !constants)
        return false;
    for (uint32_t i = 0; i < heap->type_count; i++) {
        by_type[i] = (uint8_t)purpose_of_type(heap->types[i].name);
        constants[i] = is_constant(heap->types[i].name);
        // Classes are objects whose own objects are the types.
        if (heap->types[i].object != HEAP_NONE)
            purposes[heap->types[i].object] = HEAP_PURPOSE_MODULES;
    }
    for (uint32_t i = 0; i < heap->object_count; i++)
        if (purposes[i] == HEAP_PURPOSE_DATA)
            purposes[i] = by_type[heap->objects[i].type];
    uint32_t dict = find_type_named(heap, "dict");
    for (unsigned depth = 0; depth < DEPTH_LIMIT; depth++)
        for (uint32_t i = 0; i < heap->object_count; i++)
            if (purposes[i] != HEAP_PURPOSE_DATA)
                mark_referents(heap, purposes, constants, dict, i);
    for (uint32_t i = 0; i < heap->object_count; i++) {
        ret[purposes[i]].objects++;
        ret[purposes[i]].bytes += heap_object_bytes(heap, i) + heap_owned_bytes(&heap->objects[i]);
    }
    return true;
}

const char *heap_purpose_name(enum heap_purpose purpose)
{
    switch (purpose) {
    case HEAP_PURPOSE_CODE:
        return "code and its constants";
    case HEAP_PURPOSE_MODULES:
        return "modules and classes";
    case HEAP_PURPOSE_DATA:
        break;
    }
    return "data";
}
