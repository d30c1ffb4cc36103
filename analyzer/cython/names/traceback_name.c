/* Names as Cython's tracebacks and its tables in data spell them. */
#include "names_private.h"

const char *cython_unfused_name(const char *name)
{
    struct slice bare = slice_of(name), specialization;
    bool fused = slice_skip(&bare, "__pyx_fuse_") &&
                 parse_cython_specialization(&bare, &specialization) && bare.size;
    return fused ? bare.data : name;
}

static bool is_lambda(struct slice part)
{
    slice_skip(&part, "__pyx_lambda_funcdef_");
    return slice_is_counted(part, "lambda");
}

/** One component of a traceback's name as __qualname__ has it. */
static void add_component(struct text *text, struct slice part, struct slice outer)
{
    struct slice rest = part, specialization;
    if (slice_skip(&rest, "__pyx_fuse_") && parse_cython_specialization(&rest, &specialization) &&
        rest.size)
        part = rest;
    /* Cython 3.3 reports specialised cpdef functions by their C names. */
    rest = part;
    if (slice_skip(&rest, "__pyx_f_")) {
        struct cython_path path;
        parse_cython_path(rest, CYTHON_UNNUMBERED, NULL, &path);
        if (path.leaf.size)
            part = path.leaf;
    }
    if (is_lambda(part)) {
        text_add_string(text, "<lambda>");
        return;
    }
    if (slice_equals(part, "genexpr")) {
        text_add_string(text, "<genexpr>");
        return;
    }
    /* Private names are written with their class: _Cls__x. */
    while (outer.size && *outer.data == '_')
        outer = slice_from(outer, 1);
    if (outer.size && part.size > outer.size + 3 && part.data[0] == '_' &&
        memcmp(part.data + 1, outer.data, outer.size) == 0 &&
        memcmp(part.data + 1 + outer.size, "__", 2) == 0 && !slice_is_dunder(part))
        part = slice_from(part, 1 + outer.size);
    text_add(text, part.data, part.size);
}

/** Whole components of `name` that spell the module, by its dotted name or only by its last. */
static size_t module_prefix(struct slice name, const char *module)
{
    size_t size = module ? strlen(module) : 0;
    if (!size)
        return 0;
    if (name.size > size && name.data[size] == '.' && memcmp(name.data, module, size) == 0)
        return size + 1;
    const char *dot = strrchr(module, '.');
    struct slice last = slice_of(dot ? dot + 1 : module);
    for (size_t at = 0; at + last.size < name.size; at++)
        if ((at == 0 || name.data[at - 1] == '.') && name.data[at + last.size] == '.' &&
            memcmp(name.data + at, last.data, last.size) == 0)
            return at + last.size + 1;
    return 0;
}

/**
 * The same where another module's .pxd lies beside the file ("other.f" of "other.pxd"), or where
 * the module has no name of its own (`cython --embed`).
 */
static size_t stem_prefix(struct slice name, const char *file, bool own)
{
    const char *base = file ? path_base(file) : "", *dot = strrchr(base, '.');
    size_t size = dot && (own || strcmp(dot, ".pxd") == 0) ? (size_t)(dot - base) : 0;
    return size && size < name.size && name.data[size] == '.' && memcmp(name.data, base, size) == 0
               ? size + 1
               : 0;
}

/**
 * The same where a .pxd of another module was inlined: its packages are folders of the file, and
 * one more component is that module ("pkg.other.Cls.f" of "src/pkg/buffer.pxd").
 */
static size_t file_prefix(struct slice name, const char *file, bool own)
{
    struct slice folder = file ? path_directory(file) : (struct slice){0};
    size_t best = 0;
    for (size_t at = 0; at < folder.size; at++) {
        size_t size = folder.size - at;
        if ((at && folder.data[at - 1] != '/') || size >= name.size || name.data[size] != '.')
            continue;
        bool same = true;
        for (size_t i = 0; same && i < size; i++)
            same = name.data[i] == (folder.data[at + i] == '/' ? '.' : folder.data[at + i]);
        if (same) {
            best = size + 1;
            break;
        }
    }
    if (!best)
        return stem_prefix(name, file, own);
    if (strncmp(path_base(file), "__init__.", strlen("__init__.")) == 0)
        return best;
    const char *dot = memchr(name.data + best, '.', name.size - best);
    return dot ? (size_t)(dot + 1 - name.data) : 0;
}

const char *cython_traceback_function(const char *name, const char *module, const char *file,
                                      struct arena *arena)
{
    struct slice rest = slice_of(name);
    if (slice_starts(rest, "init "))
        return "<module>";
    size_t prefix = module_prefix(rest, module);
    rest = slice_from(rest, prefix ? prefix : file_prefix(rest, file, !module));
    struct text text = {0};
    struct slice outer = {0};
    while (rest.size) {
        const char *dot = memchr(rest.data, '.', rest.size);
        struct slice part = {rest.data, dot ? (size_t)(dot - rest.data) : rest.size};
        rest = slice_from(rest, dot ? part.size + 1 : part.size);
        /* The scopes of generator expressions are not Python's. */
        if (rest.size && slice_is_counted(part, "genexpr"))
            continue;
        if (text.size)
            text_add_char(&text, '.');
        add_component(&text, part, outer);
        outer = part;
    }
    const char *function = text.size && !text.failed ? arena_strdup(arena, text.data) : NULL;
    text_deinit(&text);
    return function;
}
