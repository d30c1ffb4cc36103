/* The symbols are this program's own: they are looked up in its own file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cython.h"
#include "test_modules_self.h"

#define MADE_BY_MYPYC(name)                          \
    __attribute__((used, noinline)) void name(void); \
    void name(void)                                  \
    {                                                \
        __asm__ volatile("" ::: "memory");           \
    }

MADE_BY_MYPYC(CPyDef_driver_____top_level__)
MADE_BY_MYPYC(CPyDef_black___concurrency_____top_level__)
MADE_BY_MYPYC(CPyDef_driver___tokenize)
MADE_BY_MYPYC(CPyDef_driver___tokenize_gen)
MADE_BY_MYPYC(CPyDef_driver___Visitor___visit_default)
MADE_BY_MYPYC(CPyDef_driver___outer)
MADE_BY_MYPYC(CPy_AddTraceback)

static struct module *module;
static struct arena *arena;

static void check(const char *symbol, const char *function, enum cython_kind kind)
{
    struct cython_name name;
    assert_true(mypyc_is_symbol(symbol));
    if (!mypyc_name_of(module, symbol, arena, &name))
        fail_msg("%s: not known", symbol);
    assert_string_equal(name.function, function);
    if (name.kind != kind)
        fail_msg("%s: kind %d", symbol, name.kind);
}

static void functions_and_methods(void **state)
{
    (void)state;
    check("CPyDef_driver___tokenize", "tokenize", CYTHON_C_FUNCTION);
    check("CPyPy_driver___tokenize", "tokenize", CYTHON_WRAPPER);
    check("CPyDef_driver___Driver___parse_tokens.part.0", "Driver.parse_tokens", CYTHON_C_FUNCTION);
    check("CPyDef_driver___Driver_____init__", "Driver.__init__", CYTHON_C_FUNCTION);
    check("CPyDef_driver____private", "_private", CYTHON_C_FUNCTION);
    check("CPyDef_driver___three___3_lines", "three___lines", CYTHON_C_FUNCTION);
    check("CPyDef_black___concurrency___cancel", "cancel", CYTHON_C_FUNCTION);
    check("CPyDef_black___concurrency_____top_level__", "<module>", CYTHON_MODULE);
    check("CPyDef_unknown___Cls___method", "Cls.method", CYTHON_C_FUNCTION);
    check("CPyDef_driver___Driver_____mypyc_setter__name", "Driver.name", CYTHON_C_FUNCTION);
}

static void inner_functions_and_generators(void **state)
{
    (void)state;
    check("CPyDef_driver___tokenize_gen_____mypyc_generator_helper__", "tokenize",
          CYTHON_GENERATOR);
    check("CPyPy_driver___tokenize_gen___send", "tokenize", CYTHON_WRAPPER);
    check("CPyDef_driver___visit_default_Visitor_gen_____mypyc_generator_helper__",
          "Visitor.visit_default", CYTHON_GENERATOR);
    check("CPyDef_driver___inner_outer_obj_____call__", "outer.inner", CYTHON_C_FUNCTION);
    check("CPyDef_driver___inner_visit_default_Visitor_obj_____call__",
          "Visitor.visit_default.inner", CYTHON_C_FUNCTION);
    check("CPyDef_driver_____mypyc_lambda__0_outer_obj_____call__", "outer.<lambda>",
          CYTHON_C_FUNCTION);
    check("CPyDef_driver___inner_outer_obj_____get__", "outer.inner", CYTHON_PLUMBING);
    check("CPyDef_driver___get_it_outer_obj_____call__", "outer.get_it", CYTHON_C_FUNCTION);
    check("CPyDef_driver___Visitor_____mypyc_defaults_setup", "Visitor.__mypyc_defaults_setup",
          CYTHON_PLUMBING);
    /* Of a class that somebody called so. */
    check("CPyDef_driver___my_gen___start", "my_gen.start", CYTHON_C_FUNCTION);
}

static void the_rest_is_the_runtime_library(void **state)
{
    (void)state;
    struct cython_name name;
    check("CPyTagged_Add", "CPyTagged_Add", CYTHON_PLUMBING);
    check("CPyDict_GetItem.cold", "CPyDict_GetItem.cold", CYTHON_PLUMBING);
    assert_false(mypyc_is_symbol("PyDict_GetItem"));
    static const char *const broken[] = {"CPyDef_", "CPyDef_x", "CPyDef____", "CPyPy_a___"};
    for (size_t i = 0; i < sizeof(broken) / sizeof(*broken); i++)
        assert_false(mypyc_name_of(module, broken[i], arena, &name));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_and_methods),
        cmocka_unit_test(inner_functions_and_generators),
        cmocka_unit_test(the_rest_is_the_runtime_library),
    };
    struct target *target = self_open();
    struct modules *modules = target ? self_modules(target) : NULL;
    if (!modules)
        return 1;
    module = modules_find(modules, (psc_addr)(uintptr_t)&CPy_AddTraceback);
    arena = arena_create();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    arena_destroy(arena);
    modules_destroy(modules);
    target_close(target);
    return failed;
}
