/* Lambdas, slots, accessors, methods of C++ classes, the module itself, View.MemoryView. */
#include "names_private.h"

#define VIEW_MODULE "View.MemoryView"

/* ---- lambdas ---- */

/** The wrapper whose name ends in the same `lambda<k>`; k is counted per module. */
static bool find_lambda_wrapper(struct naming *naming, struct slice lambda, struct cython_path *ret)
{
    const char *candidate;
    size_t found = 0;
    for (size_t i = 0; (candidate = cython_context_find(naming->context, "__pyx_pw_", i)); i++) {
        struct cython_path path;
        struct slice text = slice_of(candidate + strlen("__pyx_pw_"));
        if (text.size < lambda.size || !slice_is(slice_from(text, text.size - lambda.size), lambda))
            continue;
        parse_cython_path(text, CYTHON_NUMBERED_WRAPPER, naming->context, &path);
        struct slice leaf = cython_lambda_leaf(naming->context, path.leaf);
        bool of_user =
            !slice_starts(path.leaf, "__pyx_") &&
            cython_path_has_sibling(naming->context, &path, "__pyx_pf_", path.number - 1);
        if (!slice_is(leaf, lambda) || of_user)
            continue;
        /* Of several modules: nobody knows whose. */
        if (found++)
            return false;
        *ret = path;
    }
    return found == 1;
}

void naming_set_lambda(struct naming *naming, struct slice rest)
{
    struct cython_path path;
    naming->name->kind = CYTHON_BODY;
    parse_cython_path(rest, CYTHON_UNNUMBERED, naming->context, &path);
    if (!path.count && find_lambda_wrapper(naming, path.leaf, &path))
        path.number = -1;
    path.leaf = slice_of("<lambda>");
    naming_set_function(naming, &path, NULL);
    if (!naming->name->module && naming->context && naming->context->module_name)
        naming->name->module = arena_strdup(naming->arena, naming->context->module_name);
}

/* ---- what is not a function of the user's ---- */

bool naming_set_view_function(struct naming *naming, struct slice text, enum cython_kind kind)
{
    const char *free_function = kind == CYTHON_NONE ? cython_view_free_function(text) : NULL;
    const char *class_name = free_function ? NULL : cython_view_class_skip(&text);
    if (!free_function && !class_name)
        return false;
    if (kind == CYTHON_NONE)
        kind = slice_is_dunder(text) || slice_equals(text, "getbuffer") ? CYTHON_WRAPPER
                                                                        : CYTHON_C_FUNCTION;
    struct slice rest = text;
    size_t digits = kind == CYTHON_C_FUNCTION ? 0 : slice_digits(text);
    if (digits && digits < 9)
        rest = slice_from(text, digits);
    naming->name->kind = kind;
    naming->name->module = VIEW_MODULE;
    naming->name->boilerplate = true;
    naming->name->function =
        free_function ? free_function : cython_view_function(class_name, rest, naming->arena);
    return true;
}

bool naming_set_slot(struct naming *naming, struct slice text)
{
    const char *methods = cython_slot_skip(&text);
    if (!methods)
        return false;
    struct slice rest = text;
    const char *view_class = cython_view_class_skip(&rest);
    naming->name->kind = CYTHON_SLOT;
    naming->name->boilerplate = !cython_slot_is_method(methods);
    if (view_class || cython_is_view_type(text)) {
        naming->name->module = VIEW_MODULE;
        naming->name->boilerplate = true;
        naming->name->function =
            view_class
                ? arena_printf(naming->arena, "%s.%.*s", view_class, (int)rest.size, rest.data)
                : arena_printf(naming->arena, "%.*s.%s", (int)text.size, text.data, methods);
        return true;
    }
    /* The slot of the class itself, behind the one that looks for a subclass's (Cython 3). */
    static const char maybe_call[] = "_maybe_call_slot";
    size_t size = strlen(maybe_call);
    if (text.size > size && slice_equals(slice_from(text, text.size - size), maybe_call))
        text.size -= size;
    struct cython_path path;
    parse_cython_path(text, CYTHON_UNNUMBERED, naming->context, &path);
    naming_set_function(naming, &path, methods);
    return true;
}

static bool is_cython_module(const struct cython_context *context, struct slice last)
{
    if (context && context->module_name) {
        const char *dot = strrchr(context->module_name, '.');
        if (slice_equals(last, dot ? dot + 1 : context->module_name))
            return true;
    }
    return cython_context_has(context, "__pyx_pymod_exec_%.*s", (int)last.size, last.data) ||
           cython_context_find(context, "__pyx_", 0);
}

/** Module initialisation: all of it runs, or is called by, the module's own statements. */
bool naming_set_module(struct naming *naming, struct slice text)
{
    const struct cython_context *context = naming->context;
    bool own = slice_starts(text, "__pyx_pymod_exec_") || slice_starts(text, "__Pyx_modinit_");
    struct slice last = text;
    if (!own && (slice_skip(&last, "PyInit_") || slice_skip(&last, "PyInitU_")))
        own = is_cython_module(context, last);
    else if (!own && context && context->module_name && slice_skip(&last, "init"))
        own = last.size &&
              is_cython_module(&(struct cython_context){.module_name = context->module_name}, last);
    if (!own)
        return false;
    naming->name->kind = CYTHON_MODULE;
    naming->name->function = "<module>";
    if (context && context->module_name)
        naming->name->module = arena_strdup(naming->arena, context->module_name);
    return true;
}

/* ---- cdef cppclass ---- */

/** `_ZN<size>__pyx_t_<path><class><size><method>E...`: the class is the first name. */
bool naming_set_cpp_method(struct naming *naming, const char *symbol)
{
    struct slice text = slice_of(symbol);
    struct slice names[2] = {{0}};
    size_t count = 0;
    if (!slice_skip(&text, "_ZN"))
        return false;
    slice_skip(&text, "K");
    while (count < 2 && slice_digits(text)) {
        size_t size = 0;
        for (; slice_digits(text) && size < text.size; text = slice_from(text, 1))
            size = size * 10 + (size_t)(*text.data - '0');
        if (!size || size > text.size)
            return false;
        names[count++] = (struct slice){text.data, size};
        text = slice_from(text, size);
    }
    if (!count || !slice_skip(&names[0], "__pyx_t_"))
        return false;
    if (count == 1)
        names[1] = slice_of(slice_starts(text, "D") ? "__dealloc__" : "__init__");
    else if (slice_skip(&names[1], "__pyx_f___init__"))
        names[1] = slice_of("__init__");
    else if (slice_skip(&names[1], "__pyx_f___dealloc__"))
        names[1] = slice_of("__dealloc__");
    struct cython_path path;
    parse_cython_path(names[0], CYTHON_UNNUMBERED, naming->context, &path);
    const char *method = naming_copy(naming, names[1]);
    naming->name->kind = CYTHON_C_FUNCTION;
    naming_set_function(naming, &path, method);
    return true;
}
