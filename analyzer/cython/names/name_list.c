#include "names_private.h"

#include <stdlib.h>

/* More symbols than any extension module has. */
#define NAMES_LIMIT ((size_t)1 << 21)

/** What a module has once, as data or as a function. */
static bool begins_module(struct slice name)
{
    return slice_starts(name, "PyInit_") || slice_starts(name, "__pyx_pymod_exec_") ||
           slice_starts(name, "__pyx_module_is_main_");
}

bool cython_names_add(struct cython_names *names, const char *symbol)
{
    struct text buffer = {0};
    struct cython_symbol parsed;
    bool done = true;
    if (names->count < NAMES_LIMIT && parse_cython_symbol(symbol, &buffer, &parsed) &&
        (slice_starts(parsed.name, "__pyx_") || slice_starts(parsed.name, "PyInit_"))) {
        if (!names->arena)
            names->arena = arena_create();
        done = names->arena && array_reserve((void **)&names->items, &names->capacity,
                                             names->count + 1, sizeof(*names->items));
        char *copy = done ? arena_strndup(names->arena, parsed.name.data, parsed.name.size) : NULL;
        done = copy != NULL;
        if (done)
            names->items[names->count++] = copy;
        names->complete |= begins_module(parsed.name);
    }
    text_deinit(&buffer);
    return done;
}

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

void cython_names_sort(struct cython_names *names)
{
    if (names->count)
        qsort(names->items, names->count, sizeof(*names->items), compare_names);
}

void cython_names_deinit(struct cython_names *names)
{
    free(names->items);
    arena_destroy(names->arena);
    *names = (struct cython_names){0};
}

static size_t first_not_below(const struct cython_names *names, const char *text)
{
    return SORTED_COUNT(i, names->count, strcmp(names->items[i], text) < 0);
}

static bool names_has(void *context, const char *name)
{
    const struct cython_names *names = context;
    size_t index = first_not_below(names, name);
    return index < names->count && strcmp(names->items[index], name) == 0;
}

static const char *names_find(void *context, const char *prefix, size_t index)
{
    const struct cython_names *names = context;
    size_t first = first_not_below(names, prefix);
    if (index >= names->count - first)
        return NULL;
    const char *name = names->items[first + index];
    return strncmp(name, prefix, strlen(prefix)) == 0 ? name : NULL;
}

void cython_names_bind(struct cython_names *names, struct cython_context *ret)
{
    ret->has_symbol = names_has;
    ret->find_symbol = names_find;
    ret->context = names;
    ret->complete = names->complete;
}

const char *cython_names_find_module(struct cython_names *names, struct slice last,
                                     struct arena *arena)
{
    struct cython_context context = {0};
    const char *found;
    cython_names_bind(names, &context);
    for (size_t i = 0; (found = cython_context_find(&context, "__pyx_pw_", i)); i++) {
        struct cython_path path;
        struct text text = {0};
        parse_cython_path(slice_of(found + strlen("__pyx_pw_")), CYTHON_UNNUMBERED, NULL, &path);
        for (size_t k = 0; k < path.count; k++) {
            if (k)
                text_add_char(&text, '.');
            cython_component_add(&text, &path.components[k]);
            struct slice name = path.components[k].name;
            if (name.size != last.size || memcmp(name.data, last.data, last.size) != 0)
                continue;
            const char *copy = text.failed ? NULL : arena_strdup(arena, text.data);
            text_deinit(&text);
            return copy;
        }
        text_deinit(&text);
    }
    return NULL;
}
