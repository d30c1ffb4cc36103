/*
 * The room seen from a module: its name, the names of its functions, and where generated C and
 * .pyx are looked for. The doors below (symbols of a module, files of a target) are played here.
 */
#include "cython_private.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- a module and its target ---- */

static const char *const *symbols;
static size_t symbol_count;
static size_t symbol_walks;
static struct target target;
static char root[] = "/tmp/test_cython_module.XXXXXX";

void module_each_symbol(struct module *module,
                        bool (*visit)(void *context, const struct module_symbol *symbol),
                        void *context)
{
    (void)module;
    symbol_walks++;
    for (size_t i = 0; i < symbol_count; i++) {
        struct module_symbol symbol = {.name = symbols[i], .address = i, .size = 1};
        if (!visit(context, &symbol))
            return;
    }
}

bool module_find_symbol_named(struct module *module, const char *name, struct module_symbol *ret)
{
    (void)module;
    for (size_t i = 0; i < symbol_count; i++) {
        if (strcmp(symbols[i], name) == 0) {
            *ret = (struct module_symbol){.name = symbols[i]};
            return true;
        }
    }
    return false;
}

/** Function i is at address i, and begins at line function_lines[i] of the C file. */
static const char *const *function_names;
static const char *function_file;
static const uint32_t *function_lines;

void module_find_lines(struct module *module, const psc_addr *addresses, size_t count,
                       struct module_line *ret)
{
    (void)module;
    (void)addresses;
    for (size_t i = 0; i < count; i++)
        ret[i] = (struct module_line){NULL, 0};
}

bool module_inlines_are_cheap(struct module *module)
{
    (void)module;
    return true;
}

bool module_find_function(struct module *module, psc_addr address, struct module_function *ret)
{
    (void)module;
    if (!function_lines)
        return false;
    *ret =
        (struct module_function){function_names[address], function_file, function_lines[address]};
    return true;
}

void module_open(struct module *module)
{
    (void)module;
}

struct target *modules_target(struct modules *modules)
{
    (void)modules;
    return &target;
}

/** The target's `/T/x` is `<root>/sysroot/T/x`; nothing else of it is here. */
const char *target_find_local_path(struct target *of, const char *path)
{
    struct stat status;
    const char *local = arena_printf(of->arena, "%s/sysroot/%s", root, path);
    return stat(local, &status) == 0 && S_ISREG(status.st_mode) ? local : NULL;
}

int target_open_local(const struct target *of, const char *path)
{
    (void)of;
    return open(path, O_RDONLY | O_CLOEXEC);
}

const char *target_fetch(struct target *of, enum psc_fetched what, const struct target_build_id *id,
                         const char *path)
{
    (void)of;
    (void)what;
    (void)id;
    (void)path;
    return NULL;
}

static void use_symbols(const char *const *list, size_t count)
{
    symbols = list;
    symbol_count = count;
    symbol_walks = 0;
}

static struct module module_at(const char *path)
{
    return (struct module){.path = path, .name = strrchr(path, '/') + 1};
}

/* What cython/ keeps of a module that modules_destroy() does not know. */
static void forget_code(struct module *module)
{
    if (module->destroy_code)
        module->destroy_code(module->code);
    module->code = NULL;
}

static void check_module_name(const char *path, const char *image, const char *want)
{
    struct arena *arena = arena_create();
    struct module module = module_at(path);
    module.image = (const uint8_t *)image;
    module.image_size = image ? strlen(image) + 1 : 0;
    struct cython_module known = {.module = &module};
    const char *got = cython_module_get_name(&known, arena);
    if (got != want && (!got || !want || strcmp(got, want) != 0))
        fail_msg("%s: %s, not %s", path, got ? got : "NULL", want ? want : "NULL");
    cython_module_deinit(&known);
    arena_destroy(arena);
}

#define USE(...)                                     \
    static const char *const used[] = {__VA_ARGS__}; \
    use_symbols(used, PSC_ARRAY_SIZE(used))

#define SUFFIX ".cpython-311-x86_64-linux-gnu.so"

static void test_name_from_main_flag(void **state)
{
    (void)state;
    USE("PyInit__als", "__pyx_module_is_main_implicit__cpu___als");
    check_module_name("/opt/x/implicit/cpu/_als" SUFFIX, NULL, "implicit.cpu._als");
    check_module_name("/_als.so", NULL, NULL); /* No package, no trace of Cython. */
}

static void test_name_from_functions(void **state)
{
    (void)state;
    USE("PyInit__kern", "__pyx_pymod_exec__kern", "__pyx_pw_15View_dot_MemoryView_1x",
        "__pyx_pw_3pkg_3sub_5_kern_3plain_def");
    check_module_name("/build/lib/_kern" SUFFIX, NULL, "pkg.sub._kern");
}

static void test_name_from_path(void **state)
{
    (void)state;
    USE("PyInit_groupby");
    check_module_name("/usr/lib/python3/dist-packages/pandas/_libs/groupby" SUFFIX,
                      "..cython_runtime", "pandas._libs.groupby");
    check_module_name("/v/lib/python3.11/site-packages/groupby.abi3.so", "..cython_runtime",
                      "groupby");
    check_module_name("/home/u/build/groupby.so", "..cython_runtime", "groupby");
    check_module_name("/v/site-packages/pandas/groupby.so", "not one of Cython's", NULL);
    check_module_name("/v/site-packages/pandas/groupby.so", NULL, NULL);
    check_module_name("/usr/lib/libgroupby.so", "..cython_runtime", NULL);
}

static void test_name_of_package(void **state)
{
    (void)state;
    USE("PyInit_pkg", "__pyx_module_is_main_top__pkg");
    check_module_name("/x/top/pkg/__init__" SUFFIX, NULL, "top.pkg");
}

static void check_function(struct cython_cache *cache, struct module *module, const char *symbol,
                           const char *want_module, const char *want)
{
    struct arena *arena = arena_create();
    struct cython_name name;
    bool named = cache ? cython_cache_name_of(cache, module, symbol, arena, &name)
                       : cython_name_of(module, symbol, arena, &name);
    if (!named)
        fail_msg("%s: no name", symbol);
    assert_string_equal(name.function, want);
    assert_non_null(name.module);
    assert_string_equal(name.module, want_module);
    arena_destroy(arena);
}

static void test_names_of_functions(void **state)
{
    (void)state;
    USE("PyInit_m", "__pyx_module_is_main_pkg__m", "_ZL24__pyx_pw_3pkg_1m_1gen_fnP7_object",
        "_ZL27__pyx_gb_3pkg_1m_2generatorP7_object", "__pyx_fuse_0__pyx_pw_3pkg_1m_5free_list");
    struct module module = module_at("/s/pkg/m" SUFFIX);
    struct cython_cache *cache = cython_cache_create();
    for (int i = 0; i < 3; i++) {
        check_function(cache, &module, "_ZL27__pyx_gb_3pkg_1m_2generatorP7_object", "pkg.m",
                       "gen_fn");
        check_function(cache, &module, "__pyx_pf_3pkg_1m_4free_list", "pkg.m", "free_list");
        check_function(cache, &module, "PyInit_m", "pkg.m", "<module>");
    }
    assert_int_equal(symbol_walks, 1);
    check_function(NULL, &module, "__pyx_pf_3pkg_1m_4free_list", "pkg.m", "free_list");
    struct cython_name name;
    struct arena *arena = arena_create();
    assert_false(cython_name_of(&module, "main", arena, &name));
    arena_destroy(arena);
    cython_cache_destroy(cache);
}

/* ---- files ---- */

static const char generated[] = "/* Generated by Cython 3.1.8 */\n"
                                "/* \"pkg/m.pyx\":7\n"
                                " * x             # <<<<<<<<<<<<<<\n"
                                "*/\n"
                                "x();\n";

static void write_file(const char *path, const char *text)
{
    char full[512];
    snprintf(full, sizeof(full), "%s/%s", root, path);
    for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(full, 0700);
        *slash = '/';
    }
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int remove_one(const char *path, const struct stat *status, int flag, struct FTW *where)
{
    (void)status;
    (void)flag;
    (void)where;
    return remove(path);
}

static int make_root(void **state)
{
    (void)state;
    target.arena = arena_create();
    target.warnings.arena = target.arena;
    return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
    (void)state;
    free(target.warnings.items);
    arena_destroy(target.arena);
    return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void check_lines_found(struct module *module, const char *c_file, bool want)
{
    struct cython_cache *cache = cython_cache_create();
    bool xml = true;
    const struct cython_lines *lines = cython_lines_find(cache, module, c_file, &xml);
    assert_false(xml);
    struct cython_line line;
    if (!lines != !want)
        fail_msg("%s: %s", c_file, lines ? "found" : "not found");
    assert_ptr_equal(cython_lines_find(cache, module, c_file, &xml), lines);
    if (lines) {
        assert_true(cython_lines_get(lines, 5, &line));
        assert_string_equal(line.file, "pkg/m.pyx");
        assert_int_equal(line.line, 7);
    }
    cython_cache_destroy(cache);
    forget_code(module);
}

static void test_lines_find(void **state)
{
    (void)state;
    write_file("sysroot/build/pkg/m.c", generated);
    write_file("sysroot/site/pkg/beside.c", generated);
    write_file("sysroot/site/pkg/deep/er.cpp", generated);
    write_file("sysroot/site/pkg/hand.c", "int main(void) {}\n");
    write_file("sysroot/site/pkg/empty.c", "");
    write_file("sysroot/site/pkg/m.txt", generated);
    struct module module = module_at("/site/pkg/m.so");
    check_lines_found(&module, "/build/pkg/m.c", true);
    check_lines_found(&module, "/gone/src/beside.c", true);
    check_lines_found(&module, "beside.c", true);
    check_lines_found(&module, "/project/pkg/deep/er.cpp", true);
    check_lines_found(&module, "/project/pkg/hand.c", false);
    check_lines_found(&module, "/project/pkg/empty.c", false);
    check_lines_found(&module, "/project/pkg/m.txt", false);
    check_lines_found(&module, "/project/pkg/absent.c", false);
    check_lines_found(&module, "/project/pkg/", false);
    check_lines_found(&module, "", false);
}

/** The module's file was found under another path (--lib-dir). */
static void test_lines_beside_local_file(void **state)
{
    (void)state;
    write_file("libs/pkg/local.c", generated);
    struct module module = module_at("/away/pkg/m.so");
    char local[512];
    snprintf(local, sizeof(local), "%s/libs/pkg/m.so", root);
    struct target_file file = {.local_path = local};
    module.file = &file;
    check_lines_found(&module, "/project/pkg/local.c", true);
    check_lines_found(&module, "local.c", true);
}

/** The XML of 0.29 does not tell what is a line of an included file: it is passed over then. */
static void test_xml_without_files(void **state)
{
    (void)state;
    USE("PyInit_m", "__pyx_module_is_main_x__m");
    static const char including[] = "x/m.pyx\0x/inc.pxi\0";
    struct module module = module_at("/x/m.so");
    write_file("sysroot/x/cython_debug/cython_debug_info_x.m",
               "<Module module_name=\"x.m\" filename=\"/b/m.pyx\">"
               "<LineNumber c_linenos=\"5 6\" cython_lineno=\"2\" />");
    for (unsigned i = 0; i < 2; i++) {
        module.image = (const uint8_t *)including;
        module.image_size = i ? sizeof(including) : strlen(including) + 1;
        struct cython_cache *cache = cython_cache_create();
        bool xml;
        assert_int_equal(cython_lines_find(cache, &module, "m.c", &xml) == NULL, i);
        assert_int_equal(xml, !i);
        cython_cache_destroy(cache);
        forget_code(&module);
    }
}

/** Of the C files at hand those are taken in which functions stand where they were compiled. */
static void test_lines_of_another_build(void **state)
{
    (void)state;
    static const char tail[] = "static int __pyx_f_1m_f(int x); /*proto*/\n"
                               "static PyObject *__pyx_pw_1m_1g(PyObject *self,\n"
                               "  int nargs\n"
                               ") {\n"
                               "}\n"
                               "static int __pyx_f_1m_f(int x) {\n"
                               "  return __pyx_pf_1m_g(x);\n"
                               "}\n"
                               "static int __pyx_pf_1m_g(int x) {\n"
                               "template<class T> void unused(const T &) { }\n";
    USE("__pyx_f_1m_f", "__pyx_pw_1m_1g", "_ZL13__pyx_pf_1m_gi", "__pyx_f_1m_f.cold", "main",
        "_Z6unusedIP7__pyx_sEvRKT_");
    static const struct {
        uint32_t lines[6];
        bool fits;
    } cases[] = {
        {{11, 7, 14, 1, 1, 15}, true},   {{12, 8, 15, 1, 1, 16}, false}, /* A line more. */
        {{10, 6, 13, 1, 1, 14}, false},                                  /* A line less. */
        {{11, 7, 13, 1, 1, 15}, false},                              /* Only the last one moved. */
        {{11, 7, 999, 1, 1, 15}, false}, {{0, 0, 0, 0, 0, 0}, true}, /* Nothing is known. */
    };
    static const char *const names[] = {"__pyx_f_1m_f", "__pyx_pw_1m_1g",  "__pyx_pf_1m_g", "x",
                                        "main",         "unused<__pyx_s*>"};
    function_names = names;
    char text[1024];
    snprintf(text, sizeof(text), "%s%s", generated, tail);
    write_file("sysroot/fit/m.c", text);
    struct module module = module_at("/fit/m.so");
    function_file = "/built/m.c";
    for (size_t i = 0; i < PSC_ARRAY_SIZE(cases); i++) {
        target.warnings.count = 0;
        function_lines = cases[i].lines;
        check_lines_found(&module, "/built/m.c", cases[i].fits);
        assert_int_equal(target.warnings.count, !cases[i].fits);
    }
    /* Where DWARF says there is another one by now; the right one lies beside the module. */
    write_file("sysroot/built/m.c", generated);
    function_lines = cases[0].lines;
    check_lines_found(&module, "/built/m.c", true);
    function_file = "/built/other.c";
    function_lines = cases[2].lines;
    check_lines_found(&module, "/built/m.c", true);
    function_lines = NULL;
}

/** Debug information may have no name for a function, or none that is in the text: a lambda's. */
static void test_functions_without_names(void **state)
{
    (void)state;
    USE("__pyx_f_1m_f", "__pyx_f_1m_g");
    static const char *const names[] = {"", "<lambda(int)>"};
    static const uint32_t lines[] = {1, 2};
    write_file("sysroot/unnamed/m.c", generated);
    struct module module = module_at("/unnamed/m.so");
    function_names = names;
    function_lines = lines;
    function_file = "/built/m.c";
    check_lines_found(&module, "/built/m.c", true);
    function_lines = NULL;
}

static void check_source(struct module *module, const char *c_file, const char *pyx,
                         const char *want)
{
    struct arena *arena = arena_create();
    char full[512];
    snprintf(full, sizeof(full), "%s/sysroot/", root);
    struct cython_cache *cache = cython_cache_create();
    const struct cython_source source = {module, c_file, pyx};
    const char *got = cython_cache_source_path(cache, &source, arena);
    assert_string_equal(cython_cache_source_path(cache, &source, arena), got);
    cython_cache_destroy(cache);
    if (strncmp(got, full, strlen(full)) == 0) {
        got += strlen(full);
        while (*got == '/')
            got++;
    }
    assert_string_equal(got, want);
    arena_destroy(arena);
}

static void test_source_path(void **state)
{
    (void)state;
    write_file("sysroot/sp/lxml/ext.pxi", "x\n");
    write_file("sysroot/sp/uvloop/handles/stream.pyx", "x\n");
    write_file("sysroot/build2/tree/only_here.pyx", "x\n");
    struct module module = module_at("/sp/uvloop/loop.so");
    check_source(&module, NULL, "uvloop/handles/stream.pyx", "sp/uvloop/handles/stream.pyx");
    check_source(&module, NULL, "handles/stream.pyx", "sp/uvloop/handles/stream.pyx");
    check_source(&module, NULL, "src/lxml/ext.pxi", "sp/lxml/ext.pxi");
    check_source(&module, "/build2/out/gen.c", "tree/only_here.pyx", "build2/tree/only_here.pyx");
    check_source(&module, NULL, "/build2/tree/only_here.pyx", "build2/tree/only_here.pyx");
    check_source(&module, NULL, "/project/uvloop/handles/stream.pyx",
                 "sp/uvloop/handles/stream.pyx");
    check_source(&module, "rel.c", "nowhere.pyx", "nowhere.pyx");
    check_source(&module, NULL, "/nowhere.pyx", "/nowhere.pyx");
    check_source(&module, NULL, "", "");
    check_source(&module, NULL, "src/", "src/");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_name_from_main_flag),
        cmocka_unit_test(test_name_from_functions),
        cmocka_unit_test(test_name_from_path),
        cmocka_unit_test(test_name_of_package),
        cmocka_unit_test(test_names_of_functions),
        cmocka_unit_test(test_lines_find),
        cmocka_unit_test(test_lines_beside_local_file),
        cmocka_unit_test(test_source_path),
        cmocka_unit_test(test_lines_of_another_build),
        cmocka_unit_test(test_functions_without_names),
        cmocka_unit_test(test_xml_without_files),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
