#include "modules.h"

#include <libiberty/demangle.h>
#include <stdlib.h>
#include <string.h>

/** Longer names than this are not names. */
#define MANGLED_LIMIT 8192
/** A mangled name can stand for an exponentially longer one; this much of it is enough. */
#define DEMANGLED_LIMIT 65536

/** True for "cold", "part.0", "constprop.12" and their like: what compilers hang on. */
static bool is_compiler_suffix(const char *word, size_t size)
{
    static const char *const words[] = {"cold",  "part", "constprop",  "isra", "lto_priv",
                                        "clone", "llvm", "localalias", "ipa",  "simdclone"};
    for (size_t i = 0; i < PSC_ARRAY_SIZE(words); i++) {
        if (strlen(words[i]) == size && memcmp(words[i], word, size) == 0)
            return true;
    }
    return false;
}

/** Cuts one suffix (".word" or ".word.digits") off; false when there is none. */
static bool cut_suffix(char *symbol)
{
    char *dot = strrchr(symbol, '.');
    if (!dot || dot == symbol)
        return false;
    size_t size = strlen(dot + 1);
    if (size > 0 && strspn(dot + 1, "0123456789") == size) {
        char *number = dot;
        *number = '\0';
        dot = strrchr(symbol, '.');
        if (!dot || !is_compiler_suffix(dot + 1, (size_t)(number - dot - 1))) {
            *number = '.';
            return false;
        }
    } else if (!is_compiler_suffix(dot + 1, size)) {
        return false;
    }
    *dot = '\0';
    return true;
}

static void append_piece(const char *piece, size_t size, void *context)
{
    struct text *text = context;
    if (text->size < DEMANGLED_LIMIT)
        text_add(text, piece, size);
}

char *demangle_symbol(const char *symbol)
{
    bool rust = strncmp(symbol, "_R", 2) == 0;
    if (!rust && strncmp(symbol, "_Z", 2) != 0 && strncmp(symbol, "_GLOBAL_", 8) != 0)
        return NULL;
    if (strlen(symbol) > MANGLED_LIMIT)
        return NULL;
    char *copy PSC_CLEANUP(cleanup_free) = strdup(symbol);
    if (!copy)
        return NULL;
    while (cut_suffix(copy))
        continue;

    struct text text = {0};
    /* Rust's older scheme looks like C++: it has to be asked first. */
    if (!rust_demangle_callback(copy, DMGL_NO_OPTS, append_piece, &text)) {
        text_deinit(&text);
        text = (struct text){0};
        if (rust || !cplus_demangle_v3_callback(copy, DMGL_ANSI, append_piece, &text)) {
            text_deinit(&text);
            return NULL;
        }
    }
    if (text.failed || !text.data) {
        text_deinit(&text);
        return NULL;
    }
    return text.data;
}
