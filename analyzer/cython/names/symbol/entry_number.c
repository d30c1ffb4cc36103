/* Whether digits in a symbol are the length of a component or an entry number. */
#include "symbol.h"

static bool is_underscores(struct slice name)
{
    size_t size = 0;
    while (size < name.size && name.data[size] == '_')
        size++;
    return size == name.size;
}

static bool has_named(const struct cython_ambiguity *at, const char *kind, struct slice name)
{
    return cython_context_has(at->context, "%s%.*s%.*s", kind, SLICE_ARGS(at->path),
                              SLICE_ARGS(name));
}

/** A function read with this number instead. */
static bool has_numbered(const struct cython_ambiguity *at, const char *kind, int32_t number)
{
    if (number < 0)
        return false;
    if (number == 0)
        return has_named(at, kind, at->leaf);
    return cython_context_has(at->context, "%s%.*s%d%.*s", kind, SLICE_ARGS(at->path), number,
                              SLICE_ARGS(at->leaf));
}

/** Whether some wrapper `<path><number><component>` owns the scope. */
static bool has_owner(const struct cython_ambiguity *at)
{
    struct text prefix = {0};
    text_printf(&prefix, "__pyx_pw_%.*s", SLICE_ARGS(at->path));
    bool found = false;
    for (size_t i = 0; !found && !prefix.failed; i++) {
        const char *name = cython_context_find(at->context, prefix.data, i);
        if (!name)
            break;
        struct slice rest = slice_of(name + prefix.size);
        size_t digits = slice_digits(rest);
        rest = slice_from(rest, digits);
        found = digits && rest.size == at->component.size &&
                memcmp(rest.data, at->component.data, rest.size) == 0;
    }
    text_deinit(&prefix);
    return found;
}

/** Whether the scope holds another function: numbers are unique in the scope around it. */
static bool has_neighbour(const struct cython_ambiguity *at)
{
    struct text prefix = {0};
    text_printf(&prefix, "__pyx_pw_%.*s%.*s", SLICE_ARGS(at->path), SLICE_ARGS(at->scope));
    bool found = false;
    for (size_t i = 0; !found && !prefix.failed; i++) {
        const char *name = cython_context_find(at->context, prefix.data, i);
        if (!name)
            break;
        found = !slice_equals(at->rest, name + prefix.size);
    }
    text_deinit(&prefix);
    return found;
}

/** `vec_3d` with number 3 looks like entry 3 `d` in a scope `vec`: look for traces of the scope. */
static bool is_known_scope(const struct cython_ambiguity *at)
{
    struct cython_component component;
    int32_t number;
    if (cython_take_component(at->rest, &component) && !is_underscores(component.name))
        return true;
    size_t digits = cython_take_number(at->rest, &number);
    if (number == 1 || slice_is_dunder(slice_from(at->rest, digits)))
        return true;
    if (!at->context || !at->context->complete || !has_numbered(at, "__pyx_pw_", at->number))
        return true; /* The symbols at hand are not those of this file. */
    return has_named(at, "__pyx_tp_new_", at->component) ||
           has_named(at, "__pyx_tp_dealloc_", at->component) ||
           has_named(at, "__pyx_getprop_", at->component) ||
           has_named(at, "__pyx_f_", at->component) || cython_is_capitalised(at->component) ||
           has_neighbour(at) || has_owner(at);
}

/** Inside a scope a wrapper always has a number, but for the first lambda. */
static bool is_wrapper_scope(const struct cython_ambiguity *at)
{
    if (has_numbered(at, "__pyx_pf_", at->number - 1))
        return false;
    if (slice_starts(at->rest, "__pyx_lambda_funcdef_"))
        return true;
    if (slice_is_counted(at->rest, "lambda"))
        return at->rest.size > strlen("lambda") || is_known_scope(at);
    return slice_digits(at->rest) > 0 && is_known_scope(at);
}

/** A body's number 0 is not written; its wrapper's number is one more and always is. */
static bool is_body_scope(const struct cython_ambiguity *at)
{
    if (has_numbered(at, "__pyx_pw_", at->number + 1))
        return false;
    if (slice_digits(at->rest))
        return true;
    if (cython_context_has(at->context, "__pyx_pw_%.*s%.*s1%.*s", SLICE_ARGS(at->path),
                           SLICE_ARGS(at->scope), SLICE_ARGS(at->rest)))
        return true;
    if (slice_is_dunder(at->leaf))
        return false;
    return slice_is_dunder(at->rest) || slice_equals(at->rest, "genexpr") ||
           cython_is_capitalised(at->component);
}

bool cython_is_scope(const struct cython_ambiguity *at, enum cython_numbering numbering)
{
    /* `1__init__` is entry 1; a function may be called `_`, too. */
    if (is_underscores(at->component) && !has_owner(at))
        return false;
    switch (numbering) {
    case CYTHON_NUMBERED_WRAPPER:
        return is_wrapper_scope(at);
    case CYTHON_NUMBERED_BODY:
        return is_body_scope(at);
    case CYTHON_NUMBERED_GENERATOR:
        return slice_digits(at->rest) > 0;
    case CYTHON_UNNUMBERED:
        break;
    }
    return true;
}
