/* Questions to the file that a symbol is from, of which one symbol may ask so many. */
#include "symbol.h"

#include <stdarg.h>
#include <stdio.h>

bool cython_context_has(const struct cython_context *context, const char *format, ...)
{
    if (!context || !context->has_symbol)
        return false;
    char small[1024];
    va_list args;
    va_start(args, format);
    int size = vsnprintf(small, sizeof(small), format, args);
    va_end(args);
    return size > 0 && (size_t)size < sizeof(small) && context->has_symbol(context->context, small);
}

const char *cython_context_find(const struct cython_context *context, const char *prefix,
                                size_t index)
{
    return context && context->find_symbol ? context->find_symbol(context->context, prefix, index)
                                           : NULL;
}
