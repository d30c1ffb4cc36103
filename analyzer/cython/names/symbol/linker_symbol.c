#include "symbol.h"

/* Names in C++ files carry their parameters; nothing sensible is longer. */
#define SYMBOL_SIZE_LIMIT ((size_t)64 * 1024)

/** The name in `_ZL<size><name><parameters>`, which is how g++ and clang++ write statics. */
static bool unmangle(struct slice *symbol, struct slice *ret_rest)
{
    struct slice text = *symbol;
    if (!slice_skip(&text, "_Z"))
        return false;
    slice_skip(&text, "L");
    size_t digits = slice_digits(text);
    size_t size = 0;
    if (!digits || digits > 5)
        return false;
    for (size_t i = 0; i < digits; i++)
        size = size * 10 + (size_t)(text.data[i] - '0');
    text = slice_from(text, digits);
    if (!size || size > text.size)
        return false;
    *symbol = (struct slice){text.data, size};
    *ret_rest = slice_from(text, size);
    return true;
}

/** Puts `__pyx_` back and decodes, as Symtab.punycodify_name() of Cython 3 encodes. */
static bool decode_name(struct slice name, struct text *buffer)
{
    struct slice basic = {name.data, 0};
    for (size_t i = name.size; i; i--) {
        if (name.data[i - 1] == '_') {
            basic.size = i - 1;
            break;
        }
    }
    struct text whole = {0};
    text_add_string(&whole, "__pyx_");
    text_add(&whole, basic.data, basic.size);
    bool done = !whole.failed && basic.size &&
                parse_punycode((struct slice){whole.data, whole.size},
                               slice_from(name, basic.size + 1), buffer);
    text_deinit(&whole);
    return done;
}

/**
 * `PyInitU_n_nga1b` as `PyInit_\u00fcn\u00ef` (PEP 489), and what Cython calls after it:
 * Cython/Compiler/ModuleNode.py, mod_init_func_cname().
 */
static bool decode_module(struct slice name, struct text *buffer)
{
    static const char *const kinds[] = {"PyInit", "__pyx_pymod_exec", "__pyx_module_is_main"};
    bool done = false;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(kinds) && !done; i++) {
        struct slice rest = name;
        if (!slice_skip(&rest, kinds[i]) || !slice_skip(&rest, "U_"))
            continue;
        const char *last = rest.size ? memrchr(rest.data, '_', rest.size) : NULL;
        struct slice basic = {rest.data, last ? (size_t)(last - rest.data) : 0};
        struct text decoded = {0};
        done = parse_punycode(basic, slice_from(rest, last ? basic.size + 1 : 0), &decoded) &&
               !decoded.failed && decoded.size;
        if (done)
            text_printf(buffer, "%s_%.*s", kinds[i], (int)decoded.size, decoded.data);
        text_deinit(&decoded);
    }
    return done && !buffer->failed;
}

bool parse_cython_specialization(struct slice *text, struct slice *ret)
{
    size_t size = slice_digits(*text);
    if (!size)
        return false;
    while (size + 1 < text->size && text->data[size] == '_') {
        size_t digits = slice_digits(slice_from(*text, size + 1));
        if (!digits)
            break;
        size += 1 + digits;
    }
    *ret = (struct slice){text->data, size};
    *text = slice_from(*text, size);
    return true;
}

static void take_fused_prefix(struct cython_symbol *symbol)
{
    struct slice rest = symbol->name;
    struct slice specialization;
    if (slice_skip(&rest, "__pyx_fuse_") && parse_cython_specialization(&rest, &specialization) &&
        slice_starts(rest, "__pyx_")) {
        symbol->specialization = specialization;
        symbol->name = rest;
    }
}

bool parse_cython_symbol(const char *symbol, struct text *buffer, struct cython_symbol *ret)
{
    struct slice name = {symbol, strnlen(symbol, SYMBOL_SIZE_LIMIT)};
    struct slice rest = name;
    if (name.size < 5 || name.size == SYMBOL_SIZE_LIMIT)
        return false;
    bool mangled = unmangle(&name, &rest);
    /* No C identifier has a dot: it begins what the compiler appended. */
    const char *dot = memchr(rest.data, '.', rest.size);
    *ret = (struct cython_symbol){.name = name};
    if (dot) {
        if (!mangled)
            ret->name.size = (size_t)(dot - name.data);
        ret->parallel = strstr(dot, "._omp_fn") || strstr(dot, ".omp_outlined");
    }
    text_clear(buffer);
    take_fused_prefix(ret);
    struct slice encoded = ret->name;
    if (slice_skip(&encoded, "__pyx_U") && decode_name(encoded, buffer)) {
        ret->name = (struct slice){buffer->data, buffer->size};
        take_fused_prefix(ret);
    } else if (decode_module(ret->name, buffer)) {
        ret->name = (struct slice){buffer->data, buffer->size};
    }
    return ret->name.size > 0;
}
