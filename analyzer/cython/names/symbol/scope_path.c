/* The path of module, classes and functions inside a symbol. */
#include "symbol.h"

/** Dotted components are those of utility code: no user's module is written so. */
static bool component_equals(const struct cython_component *component, struct slice name)
{
    return !component->dotted && component->name.size == name.size &&
           memcmp(component->name.data, name.data, name.size) == 0;
}

/** The next name of a dotted one. */
static struct slice next_dotted(struct slice *dotted)
{
    const char *dot = memchr(dotted->data, '.', dotted->size);
    struct slice name = {dotted->data, dot ? (size_t)(dot - dotted->data) : dotted->size};
    *dotted = slice_from(*dotted, dot ? name.size + 1 : name.size);
    return name;
}

/** How many leading components spell the beginning of a dotted name; whether all of it. */
static size_t count_common(const struct cython_path *path, struct slice dotted, bool *ret_all)
{
    size_t common = 0;
    while (dotted.size && common < path->count) {
        struct slice left = dotted;
        if (!component_equals(&path->components[common], next_dotted(&left)))
            break;
        dotted = left;
        common++;
    }
    *ret_all = dotted.size == 0;
    return common;
}

bool cython_path_is_utility(const struct cython_path *path)
{
    return path->count &&
           (path->components[0].dotted || slice_equals(path->components[0].name, "EnumBase") ||
            slice_equals(path->components[0].name, "FromPyStructUtility"));
}

/** Whether the first components are a whole dotted module name, or the packages of one. */
static bool is_main_flag(const struct cython_path *path, size_t count,
                         const struct cython_context *context, bool packages)
{
    struct text flag = {0};
    if (!context || !context->has_symbol)
        return false;
    text_add_string(&flag, "__pyx_module_is_main_");
    for (size_t i = 0; i < count; i++) {
        if (i)
            text_add_string(&flag, "__");
        text_add(&flag, path->components[i].name.data, path->components[i].name.size);
    }
    if (packages)
        text_add_string(&flag, "__");
    bool found = !flag.failed && (packages ? cython_context_find(context, flag.data, 0) != NULL
                                           : cython_context_has(context, "%s", flag.data));
    text_deinit(&flag);
    return found;
}

static bool is_init_function(const struct cython_component *component,
                             const struct cython_context *context)
{
    return cython_context_has(context, "PyInit_%.*s", SLICE_ARGS(component->name)) ||
           cython_context_has(context, "__pyx_pymod_exec_%.*s", SLICE_ARGS(component->name));
}

size_t cython_path_module_size(const struct cython_path *path, const struct cython_context *context)
{
    size_t common = 0;
    if (cython_path_is_utility(path))
        return 1;
    if (context && context->module_name) {
        struct slice name = slice_of(context->module_name);
        bool all;
        common = count_common(path, name, &all);
        if (all)
            return common;
        /* Known by a part of its name only: the last one ends the module. */
        struct slice last = name;
        while (name.size)
            last = next_dotted(&name);
        for (size_t i = 0; i < path->count; i++) {
            if (component_equals(&path->components[i], last))
                return i + 1;
        }
    }
    for (size_t i = path->count; i; i--) {
        if (is_main_flag(path, i, context, false))
            return i;
    }
    for (size_t i = 0; i < path->count; i++) {
        if (is_init_function(&path->components[i], context))
            return i + 1;
    }
    /* Another module's function, or nothing known: classes are those with a capital. */
    for (size_t i = common > 1 ? common : 1; i < path->count; i++) {
        if (cython_is_capitalised(path->components[i].name) &&
            (common || !cython_is_capitalised(path->components[0].name)))
            return i;
    }
    return path->count;
}

/** Whether the path up to its last component is the module's, or a package's that holds it. */
static bool spells_module(const struct cython_path *path, const struct cython_context *context)
{
    if (!context || !path->count)
        return false;
    if (!context->module_name) {
        for (size_t i = 0; i + 1 < path->count; i++) {
            if (is_init_function(&path->components[i], context))
                return is_main_flag(path, path->count, context, false);
        }
        return is_init_function(&path->components[path->count - 1], context) ||
               is_main_flag(path, path->count, context, false) ||
               is_main_flag(path, path->count, context, true);
    }
    struct slice name = slice_of(context->module_name);
    bool all;
    size_t common = count_common(path, name, &all);
    if (common == path->count || all)
        return common == path->count;
    struct slice last = name;
    while (name.size)
        last = next_dotted(&name);
    for (size_t i = 0; i + 1 < path->count; i++) {
        if (component_equals(&path->components[i], last))
            return false;
    }
    return component_equals(&path->components[path->count - 1], last);
}

/* ---- the whole path ---- */

void parse_cython_path(struct slice text, enum cython_numbering numbering,
                       const struct cython_context *context, struct cython_path *ret)
{
    *ret = (struct cython_path){.number = -1};
    struct slice rest = text;
    while (ret->count < CYTHON_COMPONENT_LIMIT) {
        struct cython_component component;
        size_t used = cython_take_component(rest, &component);
        if (!used)
            break;
        struct cython_ambiguity at = {
            .context = context,
            .path = {text.data, (size_t)(rest.data - text.data)},
            .scope = {rest.data, used},
            .component = component.name,
            .rest = slice_from(rest, used),
        };
        size_t digits = cython_take_number(rest, &at.number);
        at.leaf = slice_from(rest, digits);
        ret->components[ret->count++] = component;
        if (ret->count > 1 && !spells_module(ret, context) && !cython_is_scope(&at, numbering)) {
            ret->count--;
            break;
        }
        rest = at.rest;
    }
    ret->text = (struct slice){text.data, (size_t)(rest.data - text.data)};
    if (numbering != CYTHON_UNNUMBERED)
        rest = slice_from(rest, cython_take_number(rest, &ret->number));
    ret->leaf = rest;
}
