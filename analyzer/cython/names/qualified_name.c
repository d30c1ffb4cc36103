#include "names_private.h"

/* Questions to the context about one symbol; a module has some ten thousand symbols. */
#define QUESTION_LIMIT 100000

#define VIEW_MODULE "View.MemoryView"

/** One symbol on its way to a name. */
struct naming {
    const struct cython_context *context;
    struct arena *arena;
    struct cython_symbol symbol;
    struct cython_name *name;
};

static const char *copy_slice(const struct naming *naming, struct slice slice)
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
static void set_function(struct naming *naming, const struct cython_path *path, const char *suffix)
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

/** The function with this entry number in the same scope. */
static bool find_sibling(struct naming *naming, const struct cython_path *path, const char *kind,
                         enum cython_numbering numbering, int32_t number, struct slice *ret)
{
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
        parse_cython_path(slice_of(candidate + strlen(kind)), numbering, naming->context, &other);
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
static void name_generator(struct naming *naming, struct cython_path *path)
{
    struct slice leaf;
    int32_t number = path->number;
    naming->name->kind = CYTHON_GENERATOR;
    bool wrapped = number >= 2 && find_sibling(naming, path, "__pyx_pw_", CYTHON_NUMBERED_WRAPPER,
                                               number - 1, &leaf);
    if (!wrapped && number >= 2 &&
        find_sibling(naming, path, "__pyx_pf_", CYTHON_NUMBERED_BODY, number - 2, &leaf)) {
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
    set_function(naming, path, NULL);
}

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

static void name_lambda_body(struct naming *naming, struct slice rest)
{
    struct cython_path path;
    naming->name->kind = CYTHON_BODY;
    parse_cython_path(rest, CYTHON_UNNUMBERED, naming->context, &path);
    if (!path.count && find_lambda_wrapper(naming, path.leaf, &path))
        path.number = -1;
    path.leaf = slice_of("<lambda>");
    set_function(naming, &path, NULL);
    if (!naming->name->module && naming->context && naming->context->module_name)
        naming->name->module = arena_strdup(naming->arena, naming->context->module_name);
}

/* ---- what is not a function of the user's ---- */

static bool name_view_function(struct naming *naming, struct slice text, enum cython_kind kind)
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

static bool name_slot(struct naming *naming, struct slice text)
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
    set_function(naming, &path, methods);
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
static bool name_module(struct naming *naming, struct slice text)
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
static bool name_cpp_method(struct naming *naming, const char *symbol)
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
    const char *method = copy_slice(naming, names[1]);
    naming->name->kind = CYTHON_C_FUNCTION;
    set_function(naming, &path, method);
    return true;
}

/* ---- all kinds ---- */

static const struct {
    const char *prefix;
    enum cython_kind kind;
    enum cython_numbering numbering;
} function_kinds[] = {
    {"__pyx_pw_", CYTHON_WRAPPER, CYTHON_NUMBERED_WRAPPER},
    {"__pyx_pf_", CYTHON_BODY, CYTHON_NUMBERED_BODY},
    {"__pyx_f_", CYTHON_C_FUNCTION, CYTHON_UNNUMBERED},
    {"__pyx_gb_", CYTHON_GENERATOR, CYTHON_NUMBERED_GENERATOR},
};

static bool name_function(struct naming *naming, struct slice text)
{
    struct slice inner = text;
    if (cython_view_class_skip(&inner) &&
        (slice_starts(inner, "__pyx_pf_") || slice_starts(inner, "__pyx_pw_")))
        text = inner;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(function_kinds); i++) {
        struct slice rest = text;
        struct cython_path path;
        if (!slice_skip(&rest, function_kinds[i].prefix) || !rest.size)
            continue;
        if (name_view_function(naming, rest, function_kinds[i].kind))
            return true;
        parse_cython_path(rest, function_kinds[i].numbering, naming->context, &path);
        naming->name->kind = function_kinds[i].kind;
        if (function_kinds[i].kind == CYTHON_GENERATOR)
            name_generator(naming, &path);
        else
            set_function(naming, &path, NULL);
        return true;
    }
    return false;
}

static bool name_symbol(struct naming *naming)
{
    struct slice text = naming->symbol.name;
    if (name_module(naming, text))
        return true;
    bool special = slice_skip(&text, "__pyx_specialmethod_");
    struct slice lambda = text;
    if (slice_skip(&lambda, "__pyx_lambda_funcdef_") && lambda.size) {
        name_lambda_body(naming, lambda);
    } else if (!name_function(naming, text) && !name_slot(naming, text) &&
               !name_view_function(naming, text, CYTHON_NONE)) {
        if (!slice_starts(text, "__pyx_") && !slice_starts(text, "__Pyx_"))
            return false;
        naming->name->kind = CYTHON_PLUMBING;
        naming->name->function = copy_slice(naming, text);
    }
    if (special)
        naming->name->kind = CYTHON_PLUMBING;
    return true;
}

/** A context that stops answering after so many questions. */
struct patience {
    const struct cython_context *context;
    size_t left;
};

static bool patient_has(void *context, const char *name)
{
    struct patience *patience = context;
    return patience->left && patience->left-- && cython_context_has(patience->context, "%s", name);
}

static const char *patient_find(void *context, const char *prefix, size_t index)
{
    struct patience *patience = context;
    return patience->left && patience->left--
               ? cython_context_find(patience->context, prefix, index)
               : NULL;
}

bool cython_parse_symbol(const char *symbol, const struct cython_context *context,
                         struct arena *arena, struct cython_name *ret)
{
    struct text buffer = {0};
    struct patience patience = {.context = context, .left = QUESTION_LIMIT};
    struct cython_context asked = {
        .has_symbol = context && context->has_symbol ? patient_has : NULL,
        .find_symbol = context && context->find_symbol ? patient_find : NULL,
        .context = &patience,
        .complete = context && context->complete,
        .module_name = context ? context->module_name : NULL,
    };
    struct naming naming = {.context = &asked, .arena = arena, .name = ret};
    *ret = (struct cython_name){.number = -1};
    bool named = name_cpp_method(&naming, symbol) ||
                 (parse_cython_symbol(symbol, &buffer, &naming.symbol) && name_symbol(&naming));
    if (named) {
        ret->parallel = naming.symbol.parallel;
        if (naming.symbol.specialization.size)
            ret->specialization = copy_slice(&naming, naming.symbol.specialization);
        named = ret->function != NULL;
    }
    text_deinit(&buffer);
    if (!named)
        *ret = (struct cython_name){.number = -1};
    return named;
}
