/* What a native function is called, and in which language it was written. */
#include "symbolizer_private.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of one symbol; of the symbols and functions of a report; and of one behind that. */
#define SYMBOL_SIZE_LIMIT  ((size_t)8192)
#define NAME_BYTES_LIMIT   ((size_t)64 << 20)
#define SHORT_SYMBOL_LIMIT ((size_t)40)
/* Nanoseconds of processor time for C++ and Rust names of many parts. */
#define NAME_TIME_LIMIT UINT64_C(1000000000)

/* gcc and clang add these to clones of a function; the clone is still that function. */
static const char *const clone_suffixes[] = {".cold",      ".part.",      ".constprop.", ".isra.",
                                             ".lto_priv.", ".localalias", ".llvm."};

static size_t length_without_clones(const char *symbol)
{
    size_t length = strlen(symbol);
    for (size_t i = 0; i < PSC_ARRAY_SIZE(clone_suffixes); i++) {
        const char *found = strstr(symbol, clone_suffixes[i]);
        if (found && found != symbol && (size_t)(found - symbol) < length)
            length = (size_t)(found - symbol);
    }
    return length;
}

/* Rust's legacy mangling ends in "17h" + 16 hexadecimal digits + "E"; v0 begins with "_R". */
static bool is_rust_symbol(const char *symbol)
{
    if (!strncmp(symbol, "_R", 2))
        return true;
    const char *hash = strstr(symbol, "17h");
    return !strncmp(symbol, "_ZN", 3) && hash && strspn(hash + 3, "0123456789abcdef") == 16 &&
           hash[19] == 'E';
}

static bool may_be_cython(const char *symbol)
{
    return strstr(symbol, "__pyx") || strstr(symbol, "__Pyx") || c_api_is_module_entry(symbol);
}

/* A public cdef function has its plain name. Names of the C API are none of the extension's. */
static bool may_be_public(const struct address_info *info, const struct trace_location *location)
{
    const char *function = location->function;
    return info->extension && function && !strpbrk(function, ":(<.") && !c_api_is_symbol(function);
}

static bool find_cython_name(struct symbolizer *symbolizer, const struct address_info *info,
                             const struct trace_location *location, const char *symbol,
                             struct cython_name *ret)
{
    struct arena *arena = symbolizer->trace->arena;
    if (mypyc_is_symbol(symbol))
        return mypyc_name_of(info->module, symbol, arena, ret);
    if (may_be_cython(symbol))
        return cython_cache_name_of(symbolizer->cython, info->module, symbol, arena, ret);
    return may_be_public(info, location) &&
           cython_cache_public_name(symbolizer->cython, info->module, location->function, arena,
                                    ret);
}

/* main() of a program; no public cdef function, though one of Cython may have that name as well. */
static bool is_program_entry(const struct address_info *info, const char *symbol)
{
    return info->module->is_executable_file && !strcmp(symbol, "main");
}

static void name_cython_level(struct symbolizer *symbolizer, const struct address_info *info,
                              struct address_level *level, const char *symbol)
{
    struct cython_name *name = &level->cython;
    struct trace_location *location = level->location;
    struct module_symbol entry;
    if (info->extension && is_program_entry(info, symbol)) {
        *name = (struct cython_name){.kind = CYTHON_NONE};
        // Cython/Compiler/Code.py, Utility/Embed.c: what `cython --embed` adds, main() as well.
        level->plumbing = module_find_symbol_named(info->module, "__Pyx_main", &entry);
        return;
    }
    bool named = find_cython_name(symbolizer, info, location, symbol, name);
    if (!named) {
        *name = (struct cython_name){.kind = CYTHON_NONE};
        return;
    }
    if (name->kind == CYTHON_PLUMBING || name->boilerplate || !name->function) {
        level->plumbing = true;
        return;
    }
    location->kind = TRACE_CYTHON;
    location->language = mypyc_is_symbol(symbol) ? "mypyc" : "Cython";
    location->function =
        name->parallel ? arena_printf(symbolizer->trace->arena, "%s [parallel]", name->function)
                       : name->function;
    location->name = last_part_of(name->function);
}

/* Helpers from Python's headers that the compiler put into a Cython function. */
static bool is_header_helper(const char *symbol)
{
    return !strncmp(symbol, "Py", 2) || !strncmp(symbol, "_Py", 3);
}

/* Whether names are to be cut; it is said once. */
static bool is_named_out(struct symbolizer *symbolizer)
{
    if (symbolizer->name_time >= NAME_TIME_LIMIT)
        target_warn(symbolizer->input.target, "symbol-names",
                    "names of native functions are cut: to find them takes too long");
    else if (symbolizer->name_bytes >= NAME_BYTES_LIMIT)
        target_warn(symbolizer->input.target, "symbol-names",
                    "names of native functions are cut: there are more than %zu MB of them",
                    NAME_BYTES_LIMIT >> 20);
    else
        return false;
    return true;
}

/* As a symbol table has them; those of debug information may be longer. */
static const char *keep_symbol(struct symbolizer *symbolizer, const char *symbol)
{
    size_t limit = is_named_out(symbolizer) ? SHORT_SYMBOL_LIMIT : SYMBOL_SIZE_LIMIT;
    size_t size = strnlen(symbol, limit);
    symbolizer->name_bytes += size;
    return arena_strndup(symbolizer->trace->arena, symbol, size);
}

void symbolizer_name_level(struct symbolizer *symbolizer, const struct address_info *info,
                           struct address_level *level, const char *found)
{
    struct trace_location *location = level->location;
    struct arena *arena = symbolizer->trace->arena;
    const char *symbol = keep_symbol(symbolizer, found);
    if (!symbol)
        return;
    location->symbol = symbol;
    char *demangled = demangle_symbol(symbol, DEMANGLED_LIMIT, &symbolizer->name_time);
    if (demangled) {
        symbolizer->name_bytes += strlen(demangled);
        location->function = arena_strdup(arena, demangled);
        location->language = is_rust_symbol(symbol) ? "Rust" : "C++";
        free(demangled);
    } else {
        location->function = arena_strndup(arena, symbol, length_without_clones(symbol));
    }
    if (info->module->made_at_run_time)
        location->language = "JIT";
    else if (info->interpreter)
        level->python_function = python_classify_function(symbolizer->input.python, symbol);
    else
        name_cython_level(symbolizer, info, level, symbol);
    bool inside_cython = level != info->levels + (info->level_count - 1) && !info->interpreter &&
                         info->levels[info->level_count - 1].cython.kind != CYTHON_NONE;
    if (inside_cython && is_header_helper(symbol))
        level->plumbing = true;
}
