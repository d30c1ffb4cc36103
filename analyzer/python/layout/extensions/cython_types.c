#include "cython_types.h"

#include "base.h"

#include <string.h>

static const struct {
    const char *name;
    enum cython_type type;
} types[] = {
    {"CythonUnboundCMethod", CYTHON_TYPE_HELPER},
    {"async_generator", CYTHON_TYPE_GENERATOR},
    {"async_generator_asend", CYTHON_TYPE_AWAITABLE},
    {"async_generator_athrow", CYTHON_TYPE_AWAITABLE},
    {"async_generator_wrapped_value", CYTHON_TYPE_HELPER},
    {"coroutine", CYTHON_TYPE_GENERATOR},
    {"coroutine_wrapper", CYTHON_TYPE_AWAITABLE},
    {"cython_function_or_method", CYTHON_TYPE_FUNCTION},
    {"fused_cython_function", CYTHON_TYPE_FUNCTION},
    {"generator", CYTHON_TYPE_GENERATOR},
    {"iterable_coroutine", CYTHON_TYPE_GENERATOR},
};

enum cython_type cython_type_find(const char *name)
{
    for (size_t i = 0; i < PSC_ARRAY_SIZE(types); i++)
        if (strcmp(types[i].name, name) == 0)
            return types[i].type;
    return CYTHON_TYPE_NONE;
}
