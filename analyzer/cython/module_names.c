#include "cython_private.h"

/* Packages in packages; deeper ones are not looked for. */
#define PACKAGE_DEPTH 16

/** Every Cython module makes a module of this name for its tracebacks (Cython/Compiler/Naming.py).
 */
static const char runtime_name[] = "cython_runtime";

/** The last directory of a path's directory part, which is shortened by it. */
static struct slice pop_directory(struct slice *directory)
{
    size_t begin = directory->size;
    while (begin && directory->data[begin - 1] != '/')
        begin--;
    struct slice name = slice_from(*directory, begin);
    directory->size = begin ? begin - 1 : 0;
    return name;
}

/** `_als` of `/x/implicit/cpu/_als.cpython-311-x86_64-linux-gnu.so`, `pkg` of `pkg/__init__.so`. */
static struct slice module_last_name(const struct module *module, struct slice *ret_directory)
{
    const char *base = path_base(module->path);
    struct slice name = {base, strcspn(base, ".")};
    *ret_directory = path_directory(module->path);
    if (slice_equals(name, "__init__"))
        name = pop_directory(ret_directory);
    return name;
}

static bool has_symbol(struct module *module, const char *prefix, struct slice name)
{
    struct module_symbol symbol;
    struct text text = {0};
    text_printf(&text, "%s%.*s", prefix, (int)name.size, name.data);
    bool found = !text.failed && module_find_symbol_named(module, text.data, &symbol);
    text_deinit(&text);
    return found;
}

/* ---- names ---- */

static bool visit_symbol(void *context, const struct module_symbol *symbol)
{
    return cython_names_add(context, symbol->name);
}

static struct cython_names *module_names(struct cython_module *known)
{
    if (!known->names_read) {
        module_each_symbol(known->module, visit_symbol, &known->names);
        cython_names_sort(&known->names);
        known->names.complete = true;
        known->names_read = true;
    }
    return &known->names;
}

void cython_module_deinit(struct cython_module *known)
{
    cython_names_deinit(&known->names);
}

/* ---- the module's name ---- */

/**
 * `__pyx_module_is_main_pkg__mod` is written for every module, dots as `__`; each
 * directory above the file may be one of its packages.
 */
static const char *name_from_main_flag(struct module *module, struct slice last,
                                       struct slice directory, struct arena *arena)
{
    const char *dotted = arena_printf(arena, "%.*s", (int)last.size, last.data);
    const char *flag = dotted;
    for (size_t i = 0; i < PACKAGE_DEPTH && flag; i++) {
        if (has_symbol(module, "__pyx_module_is_main_", slice_of(flag)))
            return dotted;
        struct slice package = pop_directory(&directory);
        if (!package.size)
            break;
        dotted = arena_printf(arena, "%.*s.%s", (int)package.size, package.data, dotted);
        flag = arena_printf(arena, "%.*s__%s", (int)package.size, package.data, flag);
        if (!dotted)
            break;
    }
    return NULL;
}

/** Directories below site-packages or dist-packages are packages; others only might be. */
static const char *name_from_path(struct slice last, struct slice directory, struct arena *arena)
{
    const char *bare = arena_strndup(arena, last.data, last.size);
    const char *dotted = bare;
    for (size_t i = 0; i < PACKAGE_DEPTH && dotted && directory.size; i++) {
        struct slice package = pop_directory(&directory);
        if (slice_equals(package, "site-packages") || slice_equals(package, "dist-packages"))
            return dotted;
        dotted = arena_printf(arena, "%.*s.%s", (int)package.size, package.data, dotted);
    }
    return bare;
}

static const char *find_module_name(struct cython_module *known, struct arena *arena)
{
    struct module *module = known->module;
    struct slice directory;
    struct slice last = module_last_name(module, &directory);
    if (!module->path || !last.size || last.size > 1024 ||
        (!has_symbol(module, "PyInit_", last) && !has_symbol(module, "init", last)))
        return NULL;
    const char *name = name_from_main_flag(module, last, directory, arena);
    if (name)
        return name;
    if (!has_symbol(module, "__pyx_pymod_exec_", last) &&
        !(module->image &&
          memmem(module->image, module->image_size, runtime_name, sizeof(runtime_name))))
        return NULL;
    name = cython_names_find_module(module_names(known), last, arena);
    return name ? name : name_from_path(last, directory, arena);
}

/* ---- names of functions ---- */

static bool lazy_has(void *context, const char *name)
{
    struct cython_context asked;
    cython_names_bind(module_names(context), &asked);
    return asked.has_symbol(asked.context, name);
}

static const char *lazy_find(void *context, const char *prefix, size_t index)
{
    struct cython_context asked;
    cython_names_bind(module_names(context), &asked);
    return asked.find_symbol(asked.context, prefix, index);
}

static bool may_be_cython(const char *symbol)
{
    return strstr(symbol, "__pyx_") || strstr(symbol, "__Pyx_") ||
           strncmp(symbol, "PyInit", strlen("PyInit")) == 0 ||
           strncmp(symbol, "init", strlen("init")) == 0;
}

const char *cython_module_get_name(struct cython_module *known, struct arena *keep)
{
    if (!known->module_name_known) {
        known->module_name = find_module_name(known, keep);
        known->module_name_known = true;
    }
    return known->module_name;
}

bool cython_module_name_of(struct cython_module *known, const char *symbol, struct arena *arena,
                           struct arena *keep, struct cython_name *ret)
{
    *ret = (struct cython_name){.number = -1};
    if (!may_be_cython(symbol))
        return false;
    struct cython_context context = {
        .has_symbol = lazy_has,
        .find_symbol = lazy_find,
        .context = known,
        .complete = true,
        .module_name = cython_module_get_name(known, keep),
    };
    return cython_parse_symbol(symbol, &context, arena, ret);
}

bool cython_name_of(struct module *module, const char *symbol, struct arena *arena,
                    struct cython_name *ret)
{
    struct cython_module known = {.module = module};
    bool named = cython_module_name_of(&known, symbol, arena, arena, ret);
    cython_module_deinit(&known);
    return named;
}
