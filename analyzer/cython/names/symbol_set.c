#include "cython_private.h"

#include <stdlib.h>

/* So many new names are put in order at once. */
#define UNSORTED_LIMIT 256

struct cython_peers {
    struct cython_names names;
    size_t sorted; /**< How many of them are in order. */
};

struct cython_peers *cython_peers_create(void)
{
    return calloc(1, sizeof(struct cython_peers));
}

void cython_peers_destroy(struct cython_peers *peers)
{
    if (!peers)
        return;
    cython_names_deinit(&peers->names);
    free(peers);
}

/** Puts all in order, each once. */
static void sort_names(struct cython_peers *peers)
{
    struct cython_names *names = &peers->names;
    size_t kept = 0;
    if (peers->sorted == names->count)
        return;
    cython_names_sort(names);
    for (size_t i = 0; i < names->count; i++) {
        if (!kept || strcmp(names->items[kept - 1], names->items[i]) != 0)
            names->items[kept++] = names->items[i];
    }
    names->count = peers->sorted = kept;
}

static bool is_known(struct cython_peers *peers, const char *symbol)
{
    struct cython_names sorted = {.items = peers->names.items, .count = peers->sorted};
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

bool cython_peers_add(struct cython_peers *peers, const char *symbol)
{
    /* A text may repeat a few symbols for ever. */
    if (is_known(peers, symbol))
        return true;
    bool done = cython_names_add(&peers->names, symbol);
    if (peers->names.count - peers->sorted > peers->sorted / 2 + UNSORTED_LIMIT)
        sort_names(peers);
    return done;
}

bool cython_peers_parse(struct cython_peers *peers, const char *symbol, struct arena *arena,
                        struct cython_name *ret)
{
    struct cython_context context = {0};
    if (!peers)
        return cython_parse_symbol(symbol, NULL, arena, ret);
    sort_names(peers);
    cython_names_bind(&peers->names, &context);
    return cython_parse_symbol(symbol, &context, arena, ret);
}
