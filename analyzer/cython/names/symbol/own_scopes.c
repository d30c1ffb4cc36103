/* Which scopes and functions in a path are Cython's own, as far as other symbols tell. */
#include "symbol.h"

#include <stdio.h>
#include <stdlib.h>

bool cython_path_has_sibling(const struct cython_context *context, const struct cython_path *path,
                             const char *kind, int32_t number)
{
    char digits[16] = "";
    if (number < 0)
        return false;
    if (number)
        snprintf(digits, sizeof(digits), "%d", number);
    return cython_context_has(context, "%s%.*s%s%.*s", kind, (int)path->text.size, path->text.data,
                              digits, (int)path->leaf.size, path->leaf.data);
}

struct slice cython_lambda_leaf(const struct cython_context *context, struct slice leaf)
{
    struct cython_path inner;
    if (!slice_skip(&leaf, "__pyx_lambda_funcdef_"))
        return leaf;
    parse_cython_path(leaf, CYTHON_UNNUMBERED, context, &inner);
    return inner.leaf;
}

/** The entry number of a wrapper `<scope><number><name>`, 0 without one; -1: it is not there. */
static int32_t find_wrapper(const struct cython_context *context, struct slice scope,
                            struct slice name)
{
    struct text prefix = {0};
    int32_t number = -1;
    text_printf(&prefix, "__pyx_pw_%.*s", (int)scope.size, scope.data);
    for (size_t i = 0; number < 0 && !prefix.failed; i++) {
        const char *candidate = cython_context_find(context, prefix.data, i);
        if (!candidate)
            break;
        struct slice rest = slice_of(candidate + prefix.size);
        size_t digits = slice_digits(rest);
        struct slice leaf = cython_lambda_leaf(context, slice_from(rest, digits));
        if (slice_is(leaf, name) && digits < 9)
            number = (int32_t)strtol(rest.data, NULL, 10);
    }
    text_deinit(&prefix);
    return number;
}

/** Whether a scope holds anything with a wrapper but lambdas: a function or class of the user's. */
static bool has_entries(const struct cython_context *context, struct slice scope)
{
    struct text prefix = {0};
    bool found = false;
    text_printf(&prefix, "__pyx_pw_%.*s", (int)scope.size, scope.data);
    for (size_t i = 0; !found && !prefix.failed; i++) {
        const char *candidate = cython_context_find(context, prefix.data, i);
        if (!candidate)
            break;
        found = !strstr(candidate + prefix.size, "lambda");
    }
    text_deinit(&prefix);
    return found;
}

/** The bytes of a path up to one of its components, and with it. */
static struct slice path_before(const struct cython_path *path, size_t i)
{
    struct slice outer = i ? path->components[i - 1].name : (struct slice){path->text.data, 0};
    const char *end = i ? outer.data + outer.size + 1 : outer.data;
    return (struct slice){path->text.data, (size_t)(end - path->text.data)};
}

const char *cython_scope_name(const struct cython_context *context, const struct cython_path *path,
                              size_t i)
{
    struct slice name = path->components[i].name;
    if (!slice_starts(name, "lambda") && !slice_starts(name, "genexpr"))
        return NULL;
    struct slice around = path_before(path, i);
    int32_t wrapper = find_wrapper(context, around, name);
    if (slice_equals(name, "genexpr"))
        return wrapper < 0 ? "<genexpr>" : NULL;
    if (slice_is_counted(name, "genexpr"))
        return wrapper < 0 && !has_entries(context, path_before(path, i + 1)) ? "" : NULL;
    if (!slice_is_counted(name, "lambda"))
        return NULL;
    bool complete = context && context->complete;
    struct cython_path scope = {.text = around, .leaf = name};
    if (wrapper < 0 ? complete : cython_path_has_sibling(context, &scope, "__pyx_pf_", wrapper - 1))
        return NULL;
    return "<lambda>";
}
