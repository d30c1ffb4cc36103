#include "runtime.h"

#include "frames.h"

#include <stdlib.h>
#include <string.h>

#define NAME_OF_RUNTIME "_PyRuntime"
#define NAME_OF_CURRENT "_PyThreadState_Current" /* Up to 3.6. */

/* ---- where to look first ---- */

enum { RANK_EXECUTABLE, RANK_PYTHON, RANK_OTHER, RANK_COUNT };

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
            /* The first that says more than "not here" is what the user reads. */
            if (reason.status != PSC_OK && err->status == PSC_ERR_NOT_FOUND)
                *err = reason;
        }
    return false;
}

/* ---- the version, when the runtime does not say it ---- */

static void set_version(struct python *python, uint32_t hex, const char *text)
{
    char buffer[24];
    if (!text) {
        layout_format_version(hex, buffer, sizeof(buffer));
        text = buffer;
    }
    python->info.hex = hex;
    python->info.version = arena_strdup(python->arena, text);
}

/* A version of which only the first two numbers are known, "3.8". */
static void set_short_version(struct python *python, uint32_t hex)
{
    char buffer[24];
    layout_format_short_version(hex, buffer, sizeof(buffer));
    python->info.hex = hex;
    python->info.version = arena_strdup(python->arena, buffer);
}

static bool read_version_symbol(struct python *python, struct module *module)
{
    struct module_symbol symbol;
    uint64_t hex;
    if (!module_find_symbol_named(module, "Py_Version", &symbol) ||
        target_read_u64(python->target, symbol.address, &hex) != PSC_OK || !layout_is_version(hex))
        return false;
    set_version(python, (uint32_t)hex, NULL);
    return true;
}

static bool version_from_size(struct python *python, uint64_t runtime_size)
{
    const struct py_rules *rules;
    struct py_layout layout;
    for (size_t i = 0; (rules = layout_get_rules(i)); i++) {
        if (!runtime_size || layout_is_self_described(rules) ||
            layout_from_table(rules, PY_HEADER_PLAIN, runtime_size, &layout) != PSC_OK ||
            layout.offset[PY_RUNTIME_SIZE] != runtime_size)
            continue;
        set_short_version(python, layout_version_of(rules));
        return true;
    }
    return false;
}

static bool find_version(struct python *python, struct module *module, uint64_t runtime_size)
{
    struct py_version_text text;
    if (read_version_symbol(python, module))
        return true;
    if (version_scan_find(python, module, &text)) {
        set_version(python, text.hex, text.text);
        return true;
    }
    uint32_t hex = parse_version_name(module->name);
    if (hex) {
        set_short_version(python, hex);
        return true;
    }
    if (version_from_size(python, runtime_size))
        return true;
    if (!version_scan_find(python, NULL, &text))
        return false;
    set_version(python, text.hex, text.text);
    return true;
}

/* ---- what a module tells of its objects ---- */

static psc_addr type_address(struct module *module, const char *name)
{
    struct module_symbol symbol;
    return module_find_symbol_named(module, name, &symbol) ? symbol.address : 0;
}

/* type(type) is type: where PyType_Type points to itself is ob_type. */
static uint32_t find_header_size(struct python *python, struct module *module)
{
    psc_addr type = type_address(module, "PyType_Type");
    psc_addr value;
    if (type && target_read_u64(python->target, type + PY_HEADER_TRACED_TYPE, &value) == PSC_OK &&
        value == type)
        return PY_HEADER_TRACED;
    return PY_HEADER_PLAIN;
}

static void adopt_old_classes(struct python *python, struct module *module)
{
    struct module_symbol symbol;
    python->types.instance = type_address(module, "PyInstance_Type");
    python->types.class = type_address(module, "PyClass_Type");
    python->layout.unicode_width =
        module_find_symbol_named(module, "PyUnicodeUCS4_FromUnicode", &symbol)   ? 4
        : module_find_symbol_named(module, "PyUnicodeUCS2_FromUnicode", &symbol) ? 2
                                                                                 : 0;
}

static void adopt(struct python *python, struct module *module)
{
    struct module_symbol symbol;
    python->info.module = module;
    python->info.implementation = "CPython";
    frame_use_layout(python);
    if (!module)
        return;
    python->types = (struct py_types){
        .code = type_address(module, "PyCode_Type"),
        .frame = type_address(module, "PyFrame_Type"),
        .function = type_address(module, "PyFunction_Type"),
        .classmethod_ = type_address(module, "PyClassMethod_Type"),
        .staticmethod_ = type_address(module, "PyStaticMethod_Type"),
        .property = type_address(module, "PyProperty_Type"),
        .member = type_address(module, "PyMemberDescr_Type"),
    };
    switch (python->layout.rules->classes) {
    case PY_CLASSES_OLD_AND_NEW:
        adopt_old_classes(python, module);
        break;
    case PY_CLASSES_NEW:
        break;
    }
    /* Compiled with Py_REF_DEBUG only, which Py_DEBUG implies. */
    python->info.debug = module_find_symbol_named(module, "_Py_NegativeRefcount", &symbol);
}

/* ---- a runtime that was found ---- */

static bool take_self_described(struct python *python, psc_addr runtime, const uint8_t *head_bytes,
                                struct psc_error *err)
{
    uint8_t bytes[PY_DEBUG_OFFSETS_MAX];
    struct py_debug_offsets head;
    psc_addr interpreters;
    if (parse_debug_offsets_head(head_bytes, PY_DEBUG_OFFSETS_HEAD, &head) != PSC_OK)
        return false;
    size_t size = target_read_some(python->target, runtime, bytes,
                                   head.size && head.size <= sizeof(bytes) ? head.size
                                                                           : PY_DEBUG_OFFSETS_HEAD);
    if (parse_debug_offsets(bytes, size, &python->layout, err) != PSC_OK)
        return false;
    set_version(python, head.hex, NULL);
    python->info.free_threaded = head.free_threaded;
    python->info.layout_from =
        arena_printf(python->arena, "_Py_DebugOffsets %s", python->layout.rules->name);
    if (py_read_u64(python, runtime, PY_RUNTIME_HEAD, &interpreters) != PSC_OK || !interpreters ||
        !thread_check_interpreter(python, interpreters)) {
        (void)psc_fail(err, PSC_ERR_NOT_FOUND,
                       "CPython %s at 0x%llx has no interpreter that can be read",
                       python->info.version, (unsigned long long)runtime);
        return false;
    }
    python->interpreters = interpreters;
    python->info.runtime = runtime;
    return true;
}

/* The type of sys.modules is that of dicts, and its type is type, whose type is type. */
static bool has_modules(struct python *python)
{
    psc_addr modules;
    psc_addr type;
    psc_addr metatype;
    psc_addr again;
    uint64_t flags;
    return py_read_u64(python, python->interpreters, PY_INTERP_MODULES, &modules) == PSC_OK &&
           py_read_type(python, modules, &type, &flags) == PSC_OK && flags & PY_FLAG_DICT &&
           py_read_u64(python, type, PY_OBJECT_TYPE, &metatype) == PSC_OK &&
           py_read_u64(python, metatype, PY_OBJECT_TYPE, &again) == PSC_OK && again == metatype;
}

/* Without PyType_Type's address: the longer header is there when sys.modules is a dict only so. */
static void settle_header(struct python *python, uint64_t runtime_size)
{
    struct py_layout plain = python->layout;
    if (has_modules(python) ||
        layout_from_table(plain.rules, PY_HEADER_TRACED, runtime_size, &python->layout) != PSC_OK)
        return;
    type_flags_forget(python);
    if (!has_modules(python))
        python->layout = plain;
    type_flags_forget(python);
}

/* The layout for a version that was found out; false: not one we have in the table. */
static bool use_table(struct python *python, struct module *module, uint64_t runtime_size,
                      struct psc_error *err)
{
    const struct py_rules *rules = layout_find_rules(python->info.hex);
    if (!rules || layout_is_self_described(rules)) {
        (void)psc_fail(err, PSC_ERR_UNSUPPORTED,
                       rules ? "CPython %s, but its _Py_DebugOffsets is not there"
                             : "CPython %s: this version is not supported",
                       python->info.version);
        return false;
    }
    uint32_t header = module ? find_header_size(python, module) : PY_HEADER_PLAIN;
    if (layout_from_table(rules, header, runtime_size, &python->layout) != PSC_OK)
        return false;
    uint32_t expected = python->layout.offset[PY_RUNTIME_SIZE];
    bool as_expected = !runtime_size || expected == PY_NO_OFFSET || runtime_size == expected;
    python->info.layout_from =
        as_expected ? arena_printf(python->arena, "table %s", rules->name)
                    : arena_printf(python->arena, "table %s (_PyRuntime has %llu bytes, not %u)",
                                   rules->name, (unsigned long long)runtime_size, expected);
    return true;
}

static bool take_by_table(struct python *python, struct module *module, psc_addr runtime,
                          uint64_t runtime_size, struct psc_error *err)
{
    psc_addr interpreters;
    if (!find_version(python, module, runtime_size)) {
        (void)psc_fail(err, PSC_ERR_UNSUPPORTED, "%s: a Python whose version can not be found",
                       module->path);
        return false;
    }
    if (!use_table(python, module, runtime_size, err))
        return false;
    if (py_read_u64(python, runtime, PY_RUNTIME_HEAD, &interpreters) != PSC_OK || !interpreters ||
        !thread_check_interpreter(python, interpreters)) {
        (void)psc_fail(err, PSC_ERR_NOT_FOUND,
                       "CPython %s in %s has no interpreter that can be read", python->info.version,
                       module->path);
        return false;
    }
    python->interpreters = interpreters;
    python->info.runtime = runtime;
    settle_header(python, runtime_size);
    return true;
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
                     ? take_self_described(python, symbol.address, head, err)
                     : take_by_table(python, module, symbol.address, symbol.size, err);
    if (!taken)
        return false;
    python->info.found_by = arena_printf(python->arena, "%s in %s", what, module->path);
    adopt(python, module);
    return true;
}

static bool accept_cookie(struct python *python, psc_addr runtime)
{
    uint8_t head[PY_DEBUG_OFFSETS_HEAD];
    struct psc_error ignored;
    if (target_read(python->target, runtime, head, sizeof(head)) != PSC_OK ||
        !take_self_described(python, runtime, head, &ignored))
        return false;
    struct module *module = modules_find(python->modules, runtime);
    python->info.found_by =
        arena_printf(python->arena, "cookie at 0x%llx%s%s", (unsigned long long)runtime,
                     module ? " in " : "", module ? module->path : "");
    adopt(python, module);
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
    if (!use_table(python, module, 0, err) ||
        !scan_find_interpreter(python, module, &python->interpreters, &pointer))
        return false;
    settle_header(python, 0);
    if (python->layout.offset[PY_RUNTIME_HEAD] == PY_NO_OFFSET)
        python->interpreters = scan_find_newest(python, module, python->interpreters);
    guess_runtime(python, pointer);
    python->info.found_by = arena_printf(python->arena,
                                         "scan: a pointer at 0x%llx in %s to an interpreter whose "
                                         "thread is one of the process",
                                         (unsigned long long)pointer, module->path);
    adopt(python, module);
    return true;
}

static bool try_scan(struct python *python, struct module *module, struct psc_error *err)
{
    struct py_version_text text;
    const struct py_rules *rules;
    if (version_scan_find(python, module, &text)) {
        set_version(python, text.hex, text.text);
        return scan_with_layout(python, module, err);
    }
    uint32_t hex = parse_version_name(module->name);
    if (hex) {
        set_short_version(python, hex);
        return scan_with_layout(python, module, err);
    }
    if (!module->is_executable_file)
        return false;
    for (size_t i = 0; (rules = layout_get_rules(i)); i++) {
        if (layout_is_self_described(rules))
            continue;
        set_short_version(python, layout_version_of(rules));
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
    if (!find_version(python, module, 0) || !use_table(python, module, 0, err))
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
    adopt(python, module);
    return true;
}

static bool find_runtime(struct python *python, struct psc_error *err)
{
    return each_module(python, RANK_OTHER, try_runtime_symbol, err) ||
           each_module(python, RANK_PYTHON, try_current_symbol, err) ||
           each_module(python, RANK_PYTHON, try_cookie, err) ||
           scan_find_cookie(python, NULL, accept_cookie) ||
           each_module(python, RANK_PYTHON, try_scan, err);
}

enum psc_status python_open(struct target *target, struct modules *modules, struct arena *arena,
                            struct python **ret, struct psc_error *err)
{
    struct psc_error reason = {.status = PSC_ERR_NOT_FOUND,
                               .message = "no Python interpreter was found"};
    struct python *python = calloc(1, sizeof(*python));
    if (!python)
        return psc_fail_memory(err);
    python->target = target;
    python->modules = modules;
    python->arena = arena;
    enum psc_status status = handle_init(python);
    if (status == PSC_OK && !find_runtime(python, &reason))
        status = psc_fail(err, reason.status, "%s", reason.message);
    else
        status = psc_fail_status(err, arena_is_exhausted(arena) ? PSC_ERR_MEMORY : status);
    if (status != PSC_OK) {
        python_close(python);
        return status;
    }
    python_forget(python);
    *ret = python;
    return PSC_OK;
}

void python_forget(struct python *python)
{
    handle_forget(python);
}

void python_close(struct python *python)
{
    if (!python)
        return;
    handle_deinit(python);
    free(python);
}

const struct python_info *python_get_info(const struct python *python)
{
    return &python->info;
}

enum python_function python_classify_function(const struct python *python, const char *symbol)
{
    return layout_classify_function(python->layout.rules, symbol);
}

bool python_waits_for_gil(const char *called, bool takes)
{
    return called && layout_is_gil_wait(called, takes);
}

enum python_join python_get_join(const struct python *python)
{
    return python->layout.rules->join;
}
