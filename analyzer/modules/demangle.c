#include "modules.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/** Longer names than this are not names. */
#define MANGLED_LIMIT 8192
/** Nanoseconds of processor time of one name; that of real ones is below a thousandth of it. */
#define NAME_TIME UINT64_C(20000000)
/** Pieces of a name that are not timed, and those between two looks at the clock. */
#define PIECES_UNTIMED 32

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

/** What is taken of one name. */
struct demangled {
    struct text text;
    size_t limit;
    size_t pieces;
    uint64_t since; /**< When so many pieces were there as are not timed. */
    jmp_buf enough;
};

static uint64_t spent(void)
{
    struct timespec time = {0};
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* Parts that print nothing cost time as well. */
static bool takes_long(struct demangled *name)
{
    if (++name->pieces % PIECES_UNTIMED)
        return false;
    uint64_t now = spent();
    name->since = name->since ? name->since : now;
    return now - name->since > NAME_TIME;
}

static bool is_ascii(const char *piece, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)piece[i] >= 0x80)
            return false;
    return true;
}

/*
 * Parts of a name that refer to one another make a hundred bytes stand for more than any time
 * would do for, and libiberty goes on to the end: so it is left. It holds no memory then but for a
 * part of a Rust name that is not ASCII, which it has unpacked.
 */
static void append_piece(const char *piece, size_t size, void *context)
{
    struct demangled *name = context;
    if (name->text.size < name->limit)
        text_add(&name->text, piece, size);
    bool full = takes_long(name) || name->text.size >= name->limit || name->text.failed;
    if (full && is_ascii(piece, size))
        longjmp(name->enough, 1);
}

/* Into a new text; whether the scheme is that of the symbol, or there was enough of it. */
static bool demangle_by(int (*scheme)(const char *, int, demangle_callbackref, void *),
                        const char *symbol, int flags, struct demangled *name)
{
    text_deinit(&name->text);
    name->text = (struct text){0};
    if (setjmp(name->enough))
        return true;
    return scheme(symbol, flags, append_piece, name) != 0;
}

char *demangle_symbol(const char *symbol, size_t limit, uint64_t *time)
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

    struct demangled name = {.limit = limit};
    /* Rust's older scheme looks like C++: it has to be asked first. */
    bool found = demangle_by(rust_demangle_callback, copy, DMGL_NO_OPTS, &name) ||
                 (!rust && demangle_by(cplus_demangle_v3_callback, copy, DMGL_ANSI, &name));
    if (time && name.since)
        *time += spent() - name.since;
    if (found && !name.text.failed && name.text.data)
        return name.text.data;
    text_deinit(&name.text);
    return NULL;
}
