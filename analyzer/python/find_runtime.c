/* Where in a process an interpreter is: by symbols, by its own description, by a scan of memory. */
#include "runtime.h"

#include <string.h>

#define NAME_OF_RUNTIME "_PyRuntime"
#define NAME_OF_CURRENT "_PyThreadState_Current" /* Up to 3.6. */

/* ---- where to look first ---- */

enum { RANK_EXECUTABLE, RANK_PYTHON, RANK_OTHER };

static int module_rank(const struct module *module)
{
    if (module->is_executable_file)
        return RANK_EXECUTABLE;
    return strstr(module->name, "libpython") ? RANK_PYTHON : RANK_OTHER;
}

/* Asks `attempt` module by module, the likely ones first, until it says true. */
static bool each_module(struct python *python, int last_rank,
                        bool (*attempt)(struct python *python, struct module *module,
                                        struct psc_error *err),
                        struct psc_error *err)
{
    size_t count = modules_count(python->modules);
    for (int rank = 0; rank <= last_rank; rank++)
        for (size_t i = 0; i < count; i++) {
            struct module *module = modules_get(python->modules, i);
            struct psc_error reason = {.status = PSC_OK};
            if (module_rank(module) != rank)
                continue;
            if (attempt(python, module, &reason))
                return true;
            /* The first error but "not here" is the one that is reported. */
            if (reason.status != PSC_OK && err->status == PSC_ERR_NOT_FOUND)
                *err = reason;
        }
    return false;
}

/* ---- ways to find one ---- */

static bool try_runtime_symbol(struct python *python, struct module *module, struct psc_error *err)
{
    struct module_symbol symbol;
    uint8_t head[PY_DEBUG_OFFSETS_HEAD];
    const char *what = "symbol " NAME_OF_RUNTIME;
    if (!module_find_symbol_named(module, NAME_OF_RUNTIME, &symbol)) {
        what = "section .PyRuntime";
        if (!module_find_section(module, ".PyRuntime", &symbol.address, &symbol.size) ||
            !symbol.address)
            return false;
    }
    if (target_read(python->target, symbol.address, head, sizeof(head)) != PSC_OK) {
        (void)psc_fail(err, PSC_ERR_NOT_FOUND, "%s: " NAME_OF_RUNTIME " at 0x%llx is not readable",
                       module->path, (unsigned long long)symbol.address);
        return false;
    }
    bool taken = memcmp(head, PY_DEBUG_COOKIE, 8) == 0
                     ? runtime_take_self_described(python, symbol.address, head, err)
                     : runtime_take_by_table(python, module, symbol.address, symbol.size, err);
    if (!taken)
        return false;
    python->info.found_by = arena_printf(python->arena, "%s in %s", what, module->path);
    runtime_adopt(python, module);
    return true;
}

static bool accept_cookie(struct python *python, psc_addr runtime)
{
    uint8_t head[PY_DEBUG_OFFSETS_HEAD];
    struct psc_error ignored;
    if (target_read(python->target, runtime, head, sizeof(head)) != PSC_OK ||
        !runtime_take_self_described(python, runtime, head, &ignored))
        return false;
    struct module *module = modules_find(python->modules, runtime);
    python->info.found_by =
        arena_printf(python->arena, "cookie at 0x%llx%s%s", (unsigned long long)runtime,
                     module ? " in " : "", module ? module->path : "");
    runtime_adopt(python, module);
    return true;
}

static bool try_cookie(struct python *python, struct module *module, struct psc_error *err)
{
    (void)err;
    return scan_find_cookie(python, module, accept_cookie);
}

/* The scan meets &_PyRuntime.interpreters.head or .main, which are side by side. */
static void guess_runtime(struct python *python, psc_addr pointer)
{
    const uint32_t *offset = python->layout.offset;
    psc_addr other;
    if (offset[PY_RUNTIME_HEAD] == PY_NO_OFFSET || offset[PY_RUNTIME_MAIN] == PY_NO_OFFSET ||
        target_read_u64(python->target,
                        pointer + (offset[PY_RUNTIME_MAIN] - offset[PY_RUNTIME_HEAD]),
                        &other) != PSC_OK ||
        other != python->interpreters)
        return;
    python->info.runtime = pointer - offset[PY_RUNTIME_HEAD];
}

static bool scan_with_layout(struct python *python, struct module *module, struct psc_error *err)
{
    psc_addr pointer;
    const struct py_rules *rules = layout_find_rules(python->info.hex);
    if (rules && layout_is_self_described(rules))
        return false;
    if (!runtime_use_table(python, module, 0, err) ||
        !scan_find_interpreter(python, module, &python->interpreters, &pointer))
        return false;
    runtime_settle_header(python, 0);
    if (python->layout.offset[PY_RUNTIME_HEAD] == PY_NO_OFFSET)
        python->interpreters = scan_find_newest(python, module, python->interpreters);
    guess_runtime(python, pointer);
    python->info.found_by = arena_printf(python->arena,
                                         "scan: a pointer at 0x%llx in %s to an interpreter whose "
                                         "thread is one of the process",
                                         (unsigned long long)pointer, module->path);
    runtime_adopt(python, module);
    return true;
}

static bool try_scan(struct python *python, struct module *module, struct psc_error *err)
{
    struct py_version_text text;
    const struct py_rules *rules;
    if (version_scan_find(python, module, &text)) {
        runtime_set_version(python, text.hex, text.text);
        return scan_with_layout(python, module, err);
    }
    uint32_t hex = parse_version_name(module->name);
    if (hex) {
        runtime_set_short_version(python, hex);
        return scan_with_layout(python, module, err);
    }
    if (!module->is_executable_file)
        return false;
    for (size_t i = 0; (rules = layout_get_rules(i)); i++) {
        if (layout_is_self_described(rules))
            continue;
        runtime_set_short_version(python, layout_version_of(rules));
        if (scan_with_layout(python, module, NULL))
            return true;
    }
    return false;
}

/* Up to 3.6 there is no _PyRuntime; the current thread is known while someone has the GIL. */
static bool try_current_symbol(struct python *python, struct module *module, struct psc_error *err)
{
    struct module_symbol symbol;
    psc_addr thread;
    psc_addr interpreter;
    psc_addr newest;
    if (!module_find_symbol_named(module, NAME_OF_CURRENT, &symbol))
        return false;
    if (!runtime_find_version(python, module, 0) || !runtime_use_table(python, module, 0, err))
        return false;
    python->current_thread = symbol.address;
    if (target_read_u64(python->target, symbol.address, &thread) != PSC_OK || !thread ||
        py_read_u64(python, thread, PY_THREAD_INTERP, &interpreter) != PSC_OK ||
        !thread_check_interpreter(python, interpreter) ||
        // Of a living process, where the thread has ended by now, this is anything.
        py_read_u64(python, interpreter, PY_INTERP_THREADS, &newest) != PSC_OK || !newest)
        return scan_with_layout(python, module, err);
    python->interpreters = scan_find_newest(python, module, interpreter);
    python->info.found_by =
        arena_printf(python->arena, "symbol " NAME_OF_CURRENT " in %s", module->path);
    runtime_adopt(python, module);
    return true;
}

bool find_runtime(struct python *python, struct psc_error *err)
{
    return each_module(python, RANK_OTHER, try_runtime_symbol, err) ||
           each_module(python, RANK_PYTHON, try_current_symbol, err) ||
           each_module(python, RANK_PYTHON, try_cookie, err) ||
           scan_find_cookie(python, NULL, accept_cookie) ||
           each_module(python, RANK_PYTHON, try_scan, err);
}
