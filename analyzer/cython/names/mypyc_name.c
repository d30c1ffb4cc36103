/*
 * Names of functions that mypyc compiled: mypyc/namegen.py (exported_name()), mypyc/common.py
 * (prefixes) and mypyc/irbuild/context.py (namespaced_name()), 0.910 to 1.19. A symbol is CPyDef_
 * or CPyPy_ (the wrapper that Python calls), the module, and the name, with "___" for each dot and
 * "___3_" for three underscores.
 */
#include "names_private.h"

#define PART_LIMIT  16
#define DEPTH_LIMIT 3
/* Longer names are shown as they are. */
#define SCOPED_SIZE_LIMIT 160

struct parts {
    struct slice items[PART_LIMIT];
    size_t count;
};

struct lookup {
    struct module *module;
    struct slice prefix; /**< "pkg___mod": of the symbols of one module; empty for the only one. */
};

static bool has_symbol(struct lookup *lookup, struct slice name)
{
    struct module_symbol symbol;
    struct text text = {0};
    text_printf(&text, "CPyDef_%.*s%s%.*s", (int)lookup->prefix.size, lookup->prefix.data,
                lookup->prefix.size ? "___" : "", (int)name.size, name.data);
    bool found = !text.failed && module_find_symbol_named(lookup->module, text.data, &symbol);
    text_deinit(&text);
    return found;
}

/** Splits at each "___" but that of "___3_". */
static bool split(struct slice text, struct parts *ret)
{
    size_t begin = 0;
    ret->count = 0;
    for (size_t i = 0; i + 3 <= text.size;) {
        if (memcmp(text.data + i, "___", 3) != 0 || i == begin) {
            i++;
            continue;
        }
        if (i + 5 <= text.size && memcmp(text.data + i, "___3_", 5) == 0) {
            i += 5;
            continue;
        }
        if (ret->count + 1 == PART_LIMIT)
            return false;
        ret->items[ret->count++] = (struct slice){text.data + begin, i - begin};
        begin = i += 3;
    }
    ret->items[ret->count++] = slice_from(text, begin);
    return ret->items[ret->count - 1].size > 0;
}

/**
 * How many parts are the module: each has a function of this name for its own statements. None
 * where it is the only one of its library.
 */
static size_t module_parts(struct module *module, struct slice text, const struct parts *parts)
{
    struct lookup bare = {.module = module};
    if (has_symbol(&bare, slice_of("__top_level__")))
        return 0;
    for (size_t i = parts->count - 1; i > 0; i--) {
        const struct slice *last = &parts->items[i - 1];
        struct lookup lookup = {module, {text.data, (size_t)(last->data + last->size - text.data)}};
        if (has_symbol(&lookup, slice_of("__top_level__")))
            return i;
    }
    return 1;
}

static void add_name(struct text *text, struct slice name)
{
    struct slice rest = name;
    slice_skip(&rest, "__mypyc_setter__");
    if (slice_starts(rest, "__mypyc_lambda__")) {
        text_add_string(text, "<lambda>");
        return;
    }
    for (size_t i = 0; i < rest.size;) {
        bool escaped = rest.size - i >= 5 && memcmp(rest.data + i, "___3_", 5) == 0;
        text_add(text, escaped ? "___" : rest.data + i, escaped ? 3 : 1);
        i += escaped ? 5 : 1;
    }
}

static bool is_method(struct lookup *lookup, struct slice name, struct slice class_name)
{
    struct text method = {0};
    text_printf(&method, "%.*s___%.*s", (int)class_name.size, class_name.data, (int)name.size,
                name.data);
    bool found = !method.failed && has_symbol(lookup, slice_of(method.data));
    text_deinit(&method);
    return found;
}

/** A function of the module, or "method_Class". */
static bool add_outermost(struct lookup *lookup, struct slice name, struct text *text)
{
    for (size_t i = name.size - 1; i > 0; i--) {
        struct slice left = {name.data, i}, right = slice_from(name, i + 1);
        if (name.data[i] != '_' || !right.size || !is_method(lookup, left, right))
            continue;
        add_name(text, right);
        text_add_char(text, '.');
        add_name(text, left);
        return true;
    }
    if (!has_symbol(lookup, name))
        return false;
    add_name(text, name);
    return true;
}

/** A name with `depth` functions around it, each written behind what is in it. */
static bool add_scoped(struct lookup *lookup, struct slice name, unsigned depth, struct text *text)
{
    if (!depth)
        return add_outermost(lookup, name, text);
    for (size_t i = 1; i + 1 < name.size; i++) {
        if (name.data[i] != '_' || !add_scoped(lookup, slice_from(name, i + 1), depth - 1, text))
            continue;
        text_add_char(text, '.');
        add_name(text, (struct slice){name.data, i});
        return true;
    }
    return false;
}

/** Drops an ending. */
static bool cut(struct slice *name, const char *ending)
{
    size_t size = strlen(ending);
    if (name->size <= size || memcmp(name->data + name->size - size, ending, size) != 0)
        return false;
    name->size -= size;
    return true;
}

static bool is_generator_method(struct slice name)
{
    static const char *const names[] = {"__mypyc_generator_helper__",
                                        "__next__",
                                        "__iter__",
                                        "__await__",
                                        "send",
                                        "throw",
                                        "close"};
    for (size_t i = 0; i < PSC_ARRAY_SIZE(names); i++)
        if (slice_equals(name, names[i]))
            return true;
    return false;
}

/**
 * The classes that mypyc makes for inner functions (_obj), generators (_gen) and what they share
 * (_env). @return false for other classes.
 */
static bool name_made_class(struct lookup *lookup, struct slice class_name, struct slice method,
                            struct text *text, enum cython_kind *kind)
{
    struct slice name = class_name;
    if (cut(&name, "_env")) {
        *kind = CYTHON_PLUMBING;
        return has_symbol(lookup, name);
    }
    if (cut(&name, "_obj") &&
        (slice_equals(method, "__call__") || slice_equals(method, "__get__"))) {
        if (slice_equals(method, "__get__"))
            *kind = CYTHON_PLUMBING;
    } else if ((name = class_name, cut(&name, "_gen")) && is_generator_method(method)) {
        *kind =
            slice_equals(method, "__mypyc_generator_helper__") ? CYTHON_GENERATOR : CYTHON_WRAPPER;
    } else {
        return false;
    }
    bool done = false;
    /* The fewest scopes that exist are the right ones. */
    for (unsigned depth = 0; !done && depth < DEPTH_LIMIT && name.size < SCOPED_SIZE_LIMIT; depth++)
        done = add_scoped(lookup, name, depth, text);
    if (!done)
        add_name(text, name);
    return true;
}

static const char *name_function(struct lookup *lookup, const struct parts *parts, size_t first,
                                 struct arena *arena, enum cython_kind *kind)
{
    struct text text = {0};
    size_t count = parts->count - first;
    const struct slice *items = parts->items + first;
    if (slice_equals(items[0], "__top_level__")) {
        *kind = CYTHON_MODULE;
        return "<module>";
    }
    /* What prepares an object's defaults. */
    if (slice_starts(items[count - 1], "__mypyc_") &&
        !slice_starts(items[count - 1], "__mypyc_setter__") &&
        !slice_starts(items[count - 1], "__mypyc_generator_helper__"))
        *kind = CYTHON_PLUMBING;
    if (count != 2 || !name_made_class(lookup, items[0], items[1], &text, kind)) {
        for (size_t i = 0; i < count; i++) {
            if (i)
                text_add_char(&text, '.');
            add_name(&text, items[i]);
        }
    }
    const char *function =
        text.failed || !text.size ? NULL : arena_strndup(arena, text.data, text.size);
    text_deinit(&text);
    return function;
}

bool mypyc_is_symbol(const char *symbol)
{
    return strncmp(symbol, "CPy", 3) == 0;
}

bool mypyc_name_of(struct module *module, const char *symbol, struct arena *arena,
                   struct cython_name *ret)
{
    static const char helper[] = "CPy_AddTraceback";
    struct slice text = {symbol, strcspn(symbol, ".")};
    struct module_symbol found;
    struct parts parts;
    *ret = (struct cython_name){.number = -1};
    bool body = slice_skip(&text, "CPyDef_");
    if (!body && !slice_skip(&text, "CPyPy_")) {
        /* The runtime library, which is compiled into each. */
        if (!mypyc_is_symbol(symbol) || !module_find_symbol_named(module, helper, &found))
            return false;
        ret->kind = CYTHON_PLUMBING;
        ret->function = arena_strdup(arena, symbol);
        return ret->function != NULL;
    }
    if (!split(text, &parts))
        return false;
    size_t first = module_parts(module, text, &parts);
    if (first >= parts.count)
        return false;
    struct lookup lookup = {.module = module};
    if (first) {
        const struct slice *last = &parts.items[first - 1];
        lookup.prefix = (struct slice){text.data, (size_t)(last->data + last->size - text.data)};
    }
    ret->kind = body ? CYTHON_C_FUNCTION : CYTHON_WRAPPER;
    ret->function = name_function(&lookup, &parts, first, arena, &ret->kind);
    if (!body && ret->kind == CYTHON_GENERATOR)
        ret->kind = CYTHON_WRAPPER;
    return ret->function != NULL;
}
