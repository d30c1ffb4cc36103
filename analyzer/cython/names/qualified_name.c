/* How a path inside a symbol becomes the name of a module and of a function. */
#include "names_private.h"

const char *naming_copy(const struct naming *naming, struct slice slice)
{
    return arena_strndup(naming->arena, slice.data, slice.size);
}

static const char *copy_text(const struct naming *naming, struct text *text)
{
    const char *copy = text->failed ? NULL : arena_strndup(naming->arena, text->data, text->size);
    text_deinit(text);
    return copy;
}

/* ---- the leaf ---- */

/** "_Cls__x" as "__x": Cython 3 mangles private names of cdef classes as Python does. */
static void unmangle_private(struct slice *leaf, struct slice class_name)
{
    while (class_name.size && *class_name.data == '_')
        class_name = slice_from(class_name, 1);
    size_t size = class_name.size;
    if (size && leaf->size > size + 3 && leaf->data[0] == '_' &&
        memcmp(leaf->data + 1, class_name.data, size) == 0 &&
        memcmp(leaf->data + 1 + size, "__", 2) == 0)
        *leaf = slice_from(*leaf, size + 1);
}

/** `__pyx_fuse_0name`, in 3.3 `__pyx_fuse_0__pyx_f_<path>name`: of a fused cpdef function. */
static void take_fused_leaf(struct naming *naming, struct slice *leaf)
{
    struct slice rest = *leaf;
    struct slice specialization;
    if (!slice_skip(&rest, "__pyx_fuse_") || !parse_cython_specialization(&rest, &specialization))
        return;
    if (slice_skip(&rest, "__pyx_f_")) {
        struct cython_path path;
        parse_cython_path(rest, CYTHON_UNNUMBERED, naming->context, &path);
        rest = path.leaf;
    }
    naming->symbol.specialization = specialization;
    *leaf = rest;
}

static bool is_boilerplate(struct slice leaf)
{
    return slice_equals(leaf, "__reduce_cython__") || slice_equals(leaf, "__setstate_cython__") ||
           slice_equals(leaf, "__defaults__") || slice_starts(leaf, "__pyx_unpickle_") ||
           slice_starts(leaf, "__pyx_scope_struct_") || slice_starts(leaf, "__pyx_defaults") ||
           slice_starts(leaf, "__Pyx_");
}

/** Bodies of lambdas are no `__pyx_pf_`. */
static bool is_lambda(const struct naming *naming, const struct cython_path *path)
{
    if (slice_starts(path->leaf, "__pyx_lambda_funcdef_"))
        return true;
    int32_t body = path->number - (naming->name->kind == CYTHON_GENERATOR ? 2 : 1);
    return slice_is_counted(path->leaf, "lambda") && naming->name->kind != CYTHON_BODY &&
           naming->name->kind != CYTHON_C_FUNCTION &&
           !cython_path_has_sibling(naming->context, path, "__pyx_pf_", body);
}

/** Generator expressions have no wrapper. */
static bool is_genexpr(const struct naming *naming, const struct cython_path *path)
{
    return slice_equals(path->leaf, "genexpr") && naming->name->kind == CYTHON_BODY &&
           !cython_path_has_sibling(naming->context, path, "__pyx_pw_", path->number + 1);
}

static void add_leaf(struct naming *naming, struct text *text, const struct cython_path *path)
{
    struct slice leaf = path->leaf;
    if (path->count)
        unmangle_private(&leaf, path->components[path->count - 1].name);
    take_fused_leaf(naming, &leaf);
    naming->name->boilerplate |= is_boilerplate(leaf);
    if (is_lambda(naming, path))
        text_add_string(text, "<lambda>");
    else if (is_genexpr(naming, path))
        text_add_string(text, "<genexpr>");
    else
        text_add(text, leaf.data, leaf.size);
}

/* ---- module and function ---- */

/** Fills module and function. `suffix` may be NULL; a number keeps its own leaf out of slots. */
void naming_set_function(struct naming *naming, const struct cython_path *path, const char *suffix)
{
    struct text module = {0};
    struct text function = {0};
    size_t split = cython_path_module_size(path, naming->context);
    for (size_t i = 0; i < path->count; i++) {
        const struct cython_component *component = &path->components[i];
        struct text *text = i < split ? &module : &function;
        const char *own = i >= split ? cython_scope_name(naming->context, path, i) : NULL;
        if (own) {
            text_printf(text, *own ? "%s." : "%s", own);
            continue;
        }
        if (text == &module && module.size)
            text_add_char(text, '.');
        cython_component_add(text, component);
        if (text == &function)
            text_add_char(text, '.');
    }
    add_leaf(naming, &function, path);
    if (suffix && *suffix)
        text_printf(&function, ".%s", suffix);
    if (module.size)
        naming->name->module = copy_text(naming, &module);
    naming->name->boilerplate |= cython_path_is_utility(path);
    naming->name->function = copy_text(naming, &function);
    naming->name->number = path->number;
}

/** Which function of a path's scope is meant. */
struct sibling {
    const char *kind; /**< "__pyx_pw_" */
    enum cython_numbering numbering;
    int32_t number;
};

/** The name of a function with some entry number in the same scope. */
static bool find_sibling(struct naming *naming, const struct cython_path *path,
                         const struct sibling *sibling, struct slice *ret)
{
    const char *kind = sibling->kind;
    int32_t number = sibling->number;
    struct text prefix = {0};
    bool found = false;
    text_printf(&prefix, "%s%.*s", kind, (int)path->text.size, path->text.data);
    if (number > 0)
        text_printf(&prefix, "%d", number);
    for (size_t i = 0; !found && !prefix.failed; i++) {
        const char *candidate = cython_context_find(naming->context, prefix.data, i);
        struct cython_path other;
        if (!candidate)
            break;
        parse_cython_path(slice_of(candidate + strlen(kind)), sibling->numbering, naming->context,
                          &other);
        found = other.number == number && slice_is(other.text, path->text) && other.leaf.size;
        if (found)
            *ret = other.leaf;
    }
    text_deinit(&prefix);
    return found;
}

/**
 * A generator's body has no name of its own: the function that makes the generator
 * was declared just before it, body with number - 2, wrapper with number - 1. Only the first
 * lambda of a scope has a wrapper with number 0, since its body has none.
 */
void naming_set_generator(struct naming *naming, struct cython_path *path)
{
    struct slice leaf;
    int32_t number = path->number;
    naming->name->kind = CYTHON_GENERATOR;
    struct sibling wrapper = {"__pyx_pw_", CYTHON_NUMBERED_WRAPPER, number - 1};
    struct sibling body = {"__pyx_pf_", CYTHON_NUMBERED_BODY, number - 2};
    bool wrapped = number >= 2 && find_sibling(naming, path, &wrapper, &leaf);
    if (!wrapped && number >= 2 && find_sibling(naming, path, &body, &leaf)) {
        if (slice_equals(leaf, "genexpr"))
            leaf = slice_of("<genexpr>");
    } else if (number == 1) {
        leaf = slice_of("<lambda>");
    } else if (!wrapped) {
        /* A function's wrapper is in a method table; that of a genexpr is optimised away. */
        bool complete = naming->context && naming->context->complete &&
                        cython_context_has(naming->context, "%.*s", (int)naming->symbol.name.size,
                                           naming->symbol.name.data);
        leaf = slice_of(complete ? "<genexpr>" : "<generator>");
    }
    path->leaf = leaf;
    naming_set_function(naming, path, NULL);
}
