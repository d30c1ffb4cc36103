#include "names_private.h"

#include <stdarg.h>
#include <stdio.h>

/* Names longer than this are not Cython's: lengths have at most so many digits. */
#define LENGTH_DIGITS 4
#define NUMBER_DIGITS 9

bool cython_context_has(const struct cython_context *context, const char *format, ...)
{
    if (!context || !context->has_symbol)
        return false;
    char small[1024];
    va_list args;
    va_start(args, format);
    int size = vsnprintf(small, sizeof(small), format, args);
    va_end(args);
    return size > 0 && (size_t)size < sizeof(small) && context->has_symbol(context->context, small);
}

const char *cython_context_find(const struct cython_context *context, const char *prefix,
                                size_t index)
{
    return context && context->find_symbol ? context->find_symbol(context->context, prefix, index)
                                           : NULL;
}

/** Bytes of the character at `offset`; lengths count code points (Cython 3). */
static size_t character_size(struct slice text, size_t offset)
{
    size_t size = 1;
    while (offset + size < text.size && ((uint8_t)text.data[offset + size] & 0xc0) == 0x80)
        size++;
    return size;
}

/** Where `count` characters end; with `dots`, each "_dot_" counts as one. 0: too short. */
static size_t characters_end(struct slice text, size_t count, bool dots)
{
    size_t end = 0;
    for (; count && end < text.size; count--)
        end += dots && slice_starts(slice_from(text, end), "_dot_") ? 5 : character_size(text, end);
    return count ? 0 : end;
}

static bool is_component_at(struct slice text, size_t end)
{
    return end && end + 1 < text.size && text.data[end] == '_' && !slice_digits(text);
}

static bool is_underscores(struct slice name)
{
    size_t size = 0;
    while (size < name.size && name.data[size] == '_')
        size++;
    return size == name.size;
}

/** `<length><name>_`, with something after it. @return the bytes used, or 0. */
static size_t parse_component(struct slice text, struct cython_component *ret)
{
    size_t digits = slice_digits(text);
    if (!digits || digits > LENGTH_DIGITS || text.data[0] == '0')
        return 0;
    size_t length = 0;
    for (size_t i = 0; i < digits; i++)
        length = length * 10 + (size_t)(text.data[i] - '0');
    struct slice name = slice_from(text, digits);
    if (length > name.size)
        return 0;
    size_t end = characters_end(name, length, false);
    ret->dotted = false;
    if (!is_component_at(name, end)) {
        end = characters_end(name, length, true);
        ret->dotted = true;
        if (!is_component_at(name, end))
            return 0;
    }
    ret->name = (struct slice){name.data, end};
    return digits + end + 1;
}

/** An entry number, which something that is not a digit must follow. */
static size_t parse_number(struct slice text, int32_t *ret)
{
    size_t digits = slice_digits(text);
    *ret = 0;
    if (!digits || digits > NUMBER_DIGITS || digits == text.size || text.data[0] == '0')
        return 0;
    for (size_t i = 0; i < digits; i++)
        *ret = *ret * 10 + (text.data[i] - '0');
    return digits;
}

/* ---- length or entry number? ---- */

/** Digits that may be either: `path` before them, and both ways to read on. */
struct crossroads {
    const struct cython_context *context;
    struct slice path;      /**< What came before the digits. */
    struct slice scope;     /**< Read as length: "4free_" ... */
    struct slice component; /**< ... "free" ... */
    struct slice rest;      /**< ... and what follows then. */
    int32_t number;         /**< Read as number ... */
    struct slice leaf;      /**< ... and the function's name then. */
};

#define SLICE_ARGS(slice) (int)(slice).size, (slice).data

static bool has_named(const struct crossroads *at, const char *kind, struct slice name)
{
    return cython_context_has(at->context, "%s%.*s%.*s", kind, SLICE_ARGS(at->path),
                              SLICE_ARGS(name));
}

/** A function read with this number instead. */
static bool has_numbered(const struct crossroads *at, const char *kind, int32_t number)
{
    if (number < 0)
        return false;
    if (number == 0)
        return has_named(at, kind, at->leaf);
    return cython_context_has(at->context, "%s%.*s%d%.*s", kind, SLICE_ARGS(at->path), number,
                              SLICE_ARGS(at->leaf));
}

/** Whether some wrapper `<path><number><component>` owns the scope. */
static bool has_owner(const struct crossroads *at)
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
static bool has_neighbour(const struct crossroads *at)
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

static bool is_capitalised(struct slice name)
{
    while (name.size && *name.data == '_')
        name = slice_from(name, 1);
    return name.size && *name.data >= 'A' && *name.data <= 'Z';
}

/** `vec_3d` with number 3 looks like entry 3 `d` in a scope `vec`: look for traces of the scope. */
static bool is_known_scope(const struct crossroads *at)
{
    struct cython_component component;
    int32_t number;
    if (parse_component(at->rest, &component) && !is_underscores(component.name))
        return true;
    size_t digits = parse_number(at->rest, &number);
    if (number == 1 || slice_is_dunder(slice_from(at->rest, digits)))
        return true;
    if (!at->context || !at->context->complete || !has_numbered(at, "__pyx_pw_", at->number))
        return true; /* The symbols at hand are not those of this file. */
    return has_named(at, "__pyx_tp_new_", at->component) ||
           has_named(at, "__pyx_tp_dealloc_", at->component) ||
           has_named(at, "__pyx_getprop_", at->component) ||
           has_named(at, "__pyx_f_", at->component) || is_capitalised(at->component) ||
           has_neighbour(at) || has_owner(at);
}

/** Inside a scope a wrapper always has a number, but for the first lambda. */
static bool is_wrapper_scope(const struct crossroads *at)
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
static bool is_body_scope(const struct crossroads *at)
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
           is_capitalised(at->component);
}

static bool is_scope(const struct crossroads *at, enum cython_numbering numbering)
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

/* ---- module ---- */

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
    text_add_string(&flag, "__pyx_module_is_main_");
    for (size_t i = 0; i < count; i++)
        text_printf(&flag, i ? "__%.*s" : "%.*s", SLICE_ARGS(path->components[i].name));
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
        if (is_capitalised(path->components[i].name) &&
            (common || !is_capitalised(path->components[0].name)))
            return i;
    }
    return path->count;
}

void cython_component_add(struct text *text, const struct cython_component *component)
{
    struct slice rest = component->name;
    while (rest.size) {
        if (component->dotted && slice_skip(&rest, "_dot_")) {
            text_add_char(text, '.');
        } else {
            text_add_char(text, *rest.data);
            rest = slice_from(rest, 1);
        }
    }
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
        size_t used = parse_component(rest, &component);
        if (!used)
            break;
        struct crossroads at = {
            .context = context,
            .path = {text.data, (size_t)(rest.data - text.data)},
            .scope = {rest.data, used},
            .component = component.name,
            .rest = slice_from(rest, used),
        };
        size_t digits = parse_number(rest, &at.number);
        at.leaf = slice_from(rest, digits);
        ret->components[ret->count++] = component;
        if (ret->count > 1 && !spells_module(ret, context) && !is_scope(&at, numbering)) {
            ret->count--;
            break;
        }
        rest = at.rest;
    }
    ret->text = (struct slice){text.data, (size_t)(rest.data - text.data)};
    if (numbering != CYTHON_UNNUMBERED)
        rest = slice_from(rest, parse_number(rest, &ret->number));
    ret->leaf = rest;
}
