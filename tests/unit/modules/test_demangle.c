/* psc_demangle(): what it gives, and what it does with a buffer that is too small. */
#include <pystack_core.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static void check(const char *symbol, const char *want)
{
    char buffer[64];
    assert_int_equal(psc_demangle(symbol, buffer, sizeof(buffer)), strlen(want));
    assert_string_equal(buffer, want);
}

static void test_names(void **state)
{
    (void)state;
    check("__pyx_pw_3pkg_3sub_5_kern_4CCls_41method.cold", "CCls.method");
    check("__pyx_f_3pkg_3sub_5_kern_prange_cdef._omp_fn.0", "prange_cdef [parallel]");
    check("_ZL42__pyx_fuse_0__pyx_f_3pkg_6cppmod_fused_cppi", "fused_cpp");
    check("_ZN3foo3Bar3runEi", "foo::Bar::run");
    check("_RNvCskwGfYPst2Cb_7mycrate3foo", "mycrate::foo");
}

static void test_others(void **state)
{
    (void)state;
    check("main", "");
    check("", "");
    check("__Pyx_PyObject_Call", "");
    check("_Z", "");
    assert_int_equal(psc_demangle(NULL, NULL, 0), 0);
}

static void test_symbols_together(void **state)
{
    static const char body[] = "__pyx_pf_1m_4free_list", wrapper[] = "__pyx_pw_1m_4free_1list";
    char buffer[64];
    (void)state;
    struct psc_symbols *symbols = psc_symbols_create();
    assert_non_null(symbols);
    assert_int_equal(psc_symbols_add(symbols, "main"), PSC_OK);
    assert_int_equal(psc_symbols_add(symbols, NULL), PSC_ERR_ARGUMENT);
    assert_int_equal(psc_symbols_add(NULL, "main"), PSC_ERR_ARGUMENT);
    assert_int_equal(psc_symbols_demangle(symbols, body, buffer, sizeof(buffer)), 9);
    assert_string_equal(buffer, "free_list");
    assert_int_equal(psc_symbols_add(symbols, "PyInit_m"), PSC_OK);
    assert_int_equal(psc_symbols_add(symbols, wrapper), PSC_OK);
    assert_int_equal(psc_symbols_demangle(symbols, body, buffer, sizeof(buffer)), 9);
    assert_string_equal(buffer, "free.list");
    assert_int_equal(psc_symbols_demangle(NULL, body, buffer, sizeof(buffer)), 9);
    assert_string_equal(buffer, "free_list");
    assert_int_equal(psc_symbols_demangle(symbols, "_ZN3foo3Bar3runEi", buffer, 64), 13);
    psc_symbols_destroy(symbols);
    psc_symbols_destroy(NULL);
}

static void test_buffers(void **state)
{
    static const char symbol[] = "__pyx_pw_8implicit_4_als_5least_squares_cg";
    static const char want[] = "least_squares_cg";
    char buffer[sizeof(want) + 1];
    (void)state;
    assert_int_equal(psc_demangle(symbol, NULL, 0), strlen(want));
    for (size_t size = 1; size <= sizeof(want); size++) {
        memset(buffer, '#', sizeof(buffer));
        assert_int_equal(psc_demangle(symbol, buffer, size), strlen(want));
        assert_int_equal(strlen(buffer), size - 1);
        assert_memory_equal(buffer, want, size - 1);
        assert_int_equal(buffer[size], '#');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_others),
        cmocka_unit_test(test_symbols_together),
        cmocka_unit_test(test_buffers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
