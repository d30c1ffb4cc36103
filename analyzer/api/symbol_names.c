/* The public calls that take linkers' symbols apart. */
#include "api.h"
#include "cython.h"

#include <stdlib.h>
#include <string.h>

struct psc_symbols {
    struct cython_symbol_set *symbol_set;
};

/* The Python name; utility code of Cython's has none. */
static bool demangle_cython(struct cython_symbol_set *symbol_set, const char *symbol,
                            struct text *text)
{
    struct arena *arena = arena_create();
    struct cython_name name = {0};
    bool named = arena && cython_symbol_set_parse(symbol_set, symbol, arena, &name) &&
                 name.function && strcmp(name.function, symbol) != 0;
    if (named) {
        text_add_string(text, name.function);
        if (name.parallel)
            text_add_string(text, " [parallel]");
    }
    arena_destroy(arena);
    return named;
}

static size_t demangle(struct cython_symbol_set *symbol_set, const char *symbol, char *buffer,
                       size_t size)
{
    struct text text = {0};
    if (buffer && size)
        *buffer = '\0';
    if (!symbol)
        return 0;
    if (!demangle_cython(symbol_set, symbol, &text)) {
        char *demangled PSC_CLEANUP(cleanup_free) = demangle_symbol(symbol, DEMANGLED_LIMIT, NULL);
        if (demangled)
            text_add_string(&text, demangled);
    }
    size_t length = text.failed ? 0 : text.size;
    if (buffer && size && length) {
        size_t kept = length < size ? length : size - 1;
        memcpy(buffer, text.data, kept);
        buffer[kept] = '\0';
    }
    text_deinit(&text);
    return length;
}

size_t psc_demangle(const char *symbol, char *buffer, size_t size)
{
    return demangle(NULL, symbol, buffer, size);
}

struct psc_symbols *psc_symbols_create(void)
{
    struct psc_symbols *symbols = calloc(1, sizeof(*symbols));
    if (symbols && !(symbols->symbol_set = cython_symbol_set_create())) {
        free(symbols);
        return NULL;
    }
    return symbols;
}

void psc_symbols_destroy(struct psc_symbols *symbols)
{
    if (!symbols)
        return;
    cython_symbol_set_destroy(symbols->symbol_set);
    free(symbols);
}

enum psc_status psc_symbols_add(struct psc_symbols *symbols, const char *symbol)
{
    if (!symbols || !symbol)
        return PSC_ERR_ARGUMENT;
    return cython_symbol_set_add(symbols->symbol_set, symbol) ? PSC_OK : PSC_ERR_MEMORY;
}

size_t psc_symbols_demangle(struct psc_symbols *symbols, const char *symbol, char *buffer,
                            size_t size)
{
    return demangle(symbols ? symbols->symbol_set : NULL, symbol, buffer, size);
}
