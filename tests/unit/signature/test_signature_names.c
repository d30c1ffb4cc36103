#include "signature_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef void name_fn(const char *given, struct text *ret);

static void expect(name_fn *name, const char *given, const char *expected)
{
    struct text text = {0};
    name(given, &text);
    assert_false(text.failed);
    assert_string_equal(text.data, expected);
    text_deinit(&text);
}

static void test_functions(void **state)
{
    (void)state;
    expect(signature_name_function, "string_at.lto_priv.0", "string_at");
    expect(signature_name_function, "f.constprop.0.isra.2.cold", "f");
    expect(signature_name_function, "gemm_kernel.part.3", "gemm_kernel");
    expect(signature_name_function, "f.llvm.1234567", "f");
    expect(signature_name_function, "memcpy@@GLIBC_2.14", "memcpy");
    expect(signature_name_function, "__GI_abort", "abort");
    expect(signature_name_function, "__memcpy_avx_unaligned_erms", "memcpy");
    expect(signature_name_function, "__strlen_evex", "strlen");
    expect(signature_name_function, "DOUBLE_add_AVX512_SKX", "DOUBLE_add");
    expect(signature_name_function, "np::qsort_simd::QSort_X86_V4<double>",
           "np::qsort_simd::QSort<T>");
    expect(signature_name_function, "dgemm_kernel_SKYLAKEX", "dgemm_kernel");
    expect(signature_name_function, "set_AVX2_mode", "set_AVX2_mode");
    expect(signature_name_function, "_AVX2", "_AVX2");
    expect(signature_name_function, "__memory_of_mine", "__memory_of_mine");
    expect(signature_name_function, "__strange", "__strange");
    expect(signature_name_function, "f", "f");
    expect(signature_name_function, "", "");
}

static void test_qualified_functions(void **state)
{
    (void)state;
    expect(signature_name_function, "a::f(int, std::string const&) const [clone .cold]", "a::f");
    expect(signature_name_function, "(anonymous namespace)::f(int)", "(anonymous namespace)::f");
    expect(signature_name_function, "a::b<int, c<d> >::f<e>(int)", "a::b<T>::f<T>");
    expect(signature_name_function, "a::operator()(int)::g(int)", "a::operator()::g");
    expect(signature_name_function, "bool operator< (a const&, a const&)", "bool operator< ");
    expect(signature_name_function, "polars::f::{{closure}}::h0123456789abcdef",
           "polars::f::{{closure}}");
    expect(signature_name_function, "<alloc::vec::Vec<T> as core::ops::Drop>::drop",
           "<alloc::vec::Vec<T> as core::ops::Drop>::drop");
    expect(signature_name_function, "f<(", "f<T>");
}

static void test_modules(void **state)
{
    (void)state;
    expect(signature_name_module, "libc.so.6", "libc");
    expect(signature_name_module, "libpython3.11.so.1.0", "libpython");
    expect(signature_name_module, "python3.11", "python");
    expect(signature_name_module, "_als.cpython-311-x86_64-linux-gnu.so", "_als");
    expect(signature_name_module, "_rust.abi3.so", "_rust");
    expect(signature_name_module, "libopenblas64_p-r0-15028c96.3.21.so", "libopenblas64_p-r");
    expect(signature_name_module, "libgfortran-040039e1.so.5.0.0", "libgfortran");
    expect(signature_name_module, "7", "7");
}

static void test_files(void **state)
{
    (void)state;
    expect(signature_name_file, "/srv/app/a.py", "a");
    expect(signature_name_file, "/srv/app/__init__.py", "app");
    expect(signature_name_file, "__init__.py", "__init__");
    expect(signature_name_file, "implicit/cpu/_als.pyx", "_als");
    expect(signature_name_file, "<string>", "<string>");
    expect(signature_name_file, "/x/.hidden", ".hidden");
}

static void test_messages(void **state)
{
    (void)state;
    expect(signature_mask_message, "a.out: /home/me/f.c:12: f: Assertion `x == 0x7f12' failed.\n",
           "a.out: f.c:N: f: Assertion `x == N' failed.");
    expect(signature_mask_message, "free(): double free detected in tcache 2",
           "free(): double free detected in tcache N");
    expect(signature_mask_message, "12 / 7", "N / N");
    expect(signature_mask_message, "", "");
}

static char *copy(const char *line)
{
    char *mine = strdup(line);
    assert_non_null(mine);
    return mine;
}

static void test_rules_are_parsed(void **state)
{
    (void)state;
    struct rule rule;
    char *line = copy("  skip\t libc*!__libc_* \r");
    assert_null(parse_rule(line, &rule));
    assert_int_equal(rule.action, RULE_SKIP);
    assert_string_equal(rule.module, "libc*");
    assert_string_equal(rule.pattern, "__libc_*");
    free(line);
    line = copy("rename a b");
    assert_null(parse_rule(line, &rule));
    assert_string_equal(rule.pattern, "a");
    assert_string_equal(rule.new_name, "b");
    free(line);
    line = copy("in-app */my!app/*");
    assert_null(parse_rule(line, &rule));
    assert_null(rule.module);
    assert_string_equal(rule.pattern, "*/my!app/*");
    free(line);
}

static void test_what_is_no_rule(void **state)
{
    (void)state;
    static const char *const wrong[] = {"skp x", "skip", "rename a", "rename", "x"};
    static const char *const nothing[] = {"", "   ", "# skip x", "\r"};
    struct rule rule;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(wrong); i++) {
        char *line = copy(wrong[i]);
        assert_non_null(parse_rule(line, &rule));
        free(line);
    }
    for (size_t i = 0; i < PSC_ARRAY_SIZE(nothing); i++) {
        char *line = copy(nothing[i]);
        assert_null(parse_rule(line, &rule));
        assert_null(rule.pattern);
        free(line);
    }
}

static void test_first_rule_counts(void **state)
{
    (void)state;
    struct psc_error err = {0};
    struct signature_rules *rules;
    const struct rule_module libc = {.name = "libc", .path = "/lib/libc.so.6"};
    assert_int_equal(
        signature_rules_create("# mine\nkeep abort\nskip */lib/*!x", "mine", &rules, &err), PSC_OK);
    const struct rule *rule = rules_find(rules, ~0u, &libc, "abort");
    assert_int_equal(rule->action, RULE_KEEP);
    assert_int_equal(rule->line, 2);
    assert_string_equal(rule->source, "mine");
    assert_int_equal(rules_find(rules, ~0u, &libc, "x")->action, RULE_SKIP);
    assert_int_equal(rules_find(rules, 1u << RULE_SENTINEL, &libc, "raise")->action, RULE_SENTINEL);
    assert_null(rules_find(rules, 1u << RULE_SKIP, NULL, "x"));
    signature_rules_destroy(rules);
    assert_int_equal(signature_rules_create("skip x\nbad y", "mine", &rules, &err),
                     PSC_ERR_ARGUMENT);
    assert_string_equal(err.message, "mine: line 2: no such action");
}

static void test_digest(void **state)
{
    (void)state;
    // SHA-256 of "abc" and its end: sha256sum of those four bytes.
    static const char *const abc[] = {"abc"};
    struct arena *arena = arena_create();
    assert_string_equal(digest_strings(arena, abc, 1), "dc1114cd074914bd872cc1f9a23ec910ea2203bc");
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions),       cmocka_unit_test(test_qualified_functions),
        cmocka_unit_test(test_modules),         cmocka_unit_test(test_files),
        cmocka_unit_test(test_messages),        cmocka_unit_test(test_rules_are_parsed),
        cmocka_unit_test(test_what_is_no_rule), cmocka_unit_test(test_first_rule_counts),
        cmocka_unit_test(test_digest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
