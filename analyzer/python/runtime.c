/* A runtime whose place is known: its version, its layout, the addresses of its types. */
#include "runtime.h"

#include "frames.h"

#include <string.h>

/* ---- the version, when the runtime does not say it ---- */

void runtime_set_version(struct python *python, uint32_t hex, const char *text)
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
void runtime_set_short_version(struct python *python, uint32_t hex)
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
    runtime_set_version(python, (uint32_t)hex, NULL);
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
        runtime_set_short_version(python, layout_version_of(rules));
        return true;
    }
    return false;
}

bool runtime_find_version(struct python *python, struct module *module, uint64_t runtime_size)
{
    struct py_version_text text;
    if (read_version_symbol(python, module))
        return true;
    if (version_scan_find(python, module, &text)) {
        runtime_set_version(python, text.hex, text.text);
        return true;
    }
    uint32_t hex = parse_version_name(module->name);
    if (hex) {
        runtime_set_short_version(python, hex);
        return true;
    }
    if (version_from_size(python, runtime_size))
        return true;
    if (!version_scan_find(python, NULL, &text))
        return false;
    runtime_set_version(python, text.hex, text.text);
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

void runtime_adopt(struct python *python, struct module *module)
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

bool runtime_take_self_described(struct python *python, psc_addr runtime, const uint8_t *head_bytes,
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
    runtime_set_version(python, head.hex, NULL);
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
void runtime_settle_header(struct python *python, uint64_t runtime_size)
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
bool runtime_use_table(struct python *python, struct module *module, uint64_t runtime_size,
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

bool runtime_take_by_table(struct python *python, struct module *module, psc_addr runtime,
                           uint64_t runtime_size, struct psc_error *err)
{
    psc_addr interpreters;
    if (!runtime_find_version(python, module, runtime_size)) {
        (void)psc_fail(err, PSC_ERR_UNSUPPORTED, "%s: a Python whose version can not be found",
                       module->path);
        return false;
    }
    if (!runtime_use_table(python, module, runtime_size, err))
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
    runtime_settle_header(python, runtime_size);
    return true;
}
