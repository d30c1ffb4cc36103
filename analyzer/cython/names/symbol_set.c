#include "names_private.h"

#include <stdlib.h>

/* So many new names are put in order at once. */
#define UNSORTED_LIMIT 256
/*
 * Questions about other symbols: so many, and so many more for each symbol that is asked for.
 * Symbols of forty parts ask some thousand each, those of compiled modules a few dozens.
 */
#define QUESTIONS_AT_FIRST ((uint64_t)1 << 22)
#define QUESTIONS_EACH     256

struct cython_symbol_set {
    struct cython_names names;
    size_t sorted; /**< How many of them are in order. */
    uint64_t questions_left;
};

struct cython_symbol_set *cython_symbol_set_create(void)
{
    struct cython_symbol_set *symbols = calloc(1, sizeof(*symbols));
    if (symbols)
        symbols->questions_left = QUESTIONS_AT_FIRST;
    return symbols;
}

void cython_symbol_set_destroy(struct cython_symbol_set *symbols)
{
    if (!symbols)
        return;
    cython_names_deinit(&symbols->names);
    free(symbols);
}

/** Puts all in order, each once. */
static void sort_names(struct cython_symbol_set *symbols)
{
    struct cython_names *names = &symbols->names;
    size_t kept = 0;
    if (symbols->sorted == names->count)
        return;
    cython_names_sort(names);
    for (size_t i = 0; i < names->count; i++) {
        if (!kept || strcmp(names->items[kept - 1], names->items[i]) != 0)
            names->items[kept++] = names->items[i];
    }
    names->count = symbols->sorted = kept;
}

static bool is_known(struct cython_symbol_set *symbols, const char *symbol)
{
    struct cython_names sorted = {.items = symbols->names.items, .count = symbols->sorted};
    struct cython_context context = {0};
    struct cython_symbol parsed;
    struct text buffer = {0};
    bool known = false;
    cython_names_bind(&sorted, &context);
    if (sorted.count && parse_cython_symbol(symbol, &buffer, &parsed))
        known = cython_context_has(&context, "%.*s", (int)parsed.name.size, parsed.name.data);
    text_deinit(&buffer);
    return known;
}

bool cython_symbol_set_add(struct cython_symbol_set *symbols, const char *symbol)
{
    /* A text may repeat a few symbols for ever. */
    if (is_known(symbols, symbol))
        return true;
    bool done = cython_names_add(&symbols->names, symbol);
    if (symbols->names.count - symbols->sorted > symbols->sorted / 2 + UNSORTED_LIMIT)
        sort_names(symbols);
    return done;
}

bool cython_symbol_set_parse(struct cython_symbol_set *symbols, const char *symbol,
                             struct arena *arena, struct cython_name *ret)
{
    struct cython_context context = {0};
    if (!symbols)
        return cython_parse_symbol(symbol, NULL, arena, ret);
    sort_names(symbols);
    cython_names_bind(&symbols->names, &context);
    symbols->questions_left += QUESTIONS_EACH;
    context.questions_left = &symbols->questions_left;
    return cython_parse_symbol(symbol, &context, arena, ret);
}
