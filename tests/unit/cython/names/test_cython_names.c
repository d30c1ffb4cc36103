/* Names of Cython functions: one vector per kind of symbol that Cython 0.29 to 3.3 writes. */
#include "cython_vectors.h"
#include "names_private.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <stdlib.h>

static struct cython_names names_of(const char *const *symbols, size_t count)
{
    struct cython_names names = {0};
    for (size_t i = 0; i < count; i++)
        assert_true(cython_names_add(&names, symbols[i]));
    cython_names_sort(&names);
    return names;
}

static void check_string(const char *symbol, const char *what, const char *got, const char *want)
{
    if (got == want || (got && want && strcmp(got, want) == 0))
        return;
    fail_msg("%s: %s is %s, not %s", symbol, what, got ? got : "NULL", want ? want : "NULL");
}

static void check_vector(const struct vector *vector, const struct cython_context *context)
{
    struct arena *arena = arena_create();
    struct cython_name name;
    if (!cython_parse_symbol(vector->symbol, context, arena, &name))
        fail_msg("%s: not taken for a Cython symbol", vector->symbol);
    check_string(vector->symbol, "module", name.module, vector->module);
    check_string(vector->symbol, "function", name.function, vector->function);
    check_string(vector->symbol, "specialization", name.specialization, vector->specialization);
    if (name.kind != vector->kind)
        fail_msg("%s: kind is %d, not %d", vector->symbol, name.kind, vector->kind);
    if (name.parallel != vector->parallel)
        fail_msg("%s: parallel is %d", vector->symbol, name.parallel);
    if (name.boilerplate != vector->boilerplate)
        fail_msg("%s: boilerplate is %d", vector->symbol, name.boilerplate);
    arena_destroy(arena);
}

/** The module whose file holds the vector's symbol. */
static const char *file_module(const char *module)
{
    bool kern = module && (strcmp(module, "View.MemoryView") == 0 ||
                           strncmp(module, "pkg.sub.", strlen("pkg.sub.")) == 0);
    return kern ? "pkg.sub._kern" : module;
}

static void test_vectors(void **state)
{
    (void)state;
    struct cython_names names = names_of(siblings, PSC_ARRAY_SIZE(siblings));
    for (size_t i = 0; i < PSC_ARRAY_SIZE(vectors); i++)
        assert_true(cython_names_add(&names, vectors[i].symbol));
    cython_names_sort(&names);
    for (size_t i = 0; i < PSC_ARRAY_SIZE(vectors); i++) {
        struct cython_context context = {.module_name = file_module(vectors[i].module)};
        cython_names_bind(&names, &context);
        context.complete = true;
        check_vector(&vectors[i], &context);
    }
    cython_names_deinit(&names);
}

static void check_shown(const char *symbol, const struct cython_context *context,
                        const char *module, const char *function, int32_t number)
{
    struct arena *arena = arena_create();
    struct cython_name name;
    if (!cython_parse_symbol(symbol, context, arena, &name))
        fail_msg("%s: not taken for a Cython symbol", symbol);
    check_string(symbol, "module", name.module, module);
    check_string(symbol, "function", name.function, function);
    if (name.number != number)
        fail_msg("%s: number is %d, not %d", symbol, name.number, number);
    arena_destroy(arena);
}

static void test_without_symbols(void **state)
{
    (void)state;
    check_shown("__pyx_pw_7sklearn_4tree_5_tree_11_check_node_ndarray", NULL, "sklearn.tree._tree",
                "_check_node_ndarray", 11);
    check_shown("__pyx_pf_8implicit_4_als_30_least_squares_cg", NULL, "implicit._als",
                "_least_squares_cg", 30);
    check_shown("__pyx_pf_1m_4free_list", NULL, "m", "free_list", 4);
    check_shown("__pyx_pf_1m_4Free_list", NULL, "m", "Free.list", 0);
    check_shown("__pyx_pf_1m_4Free___init__", NULL, "m", "Free.__init__", 0);
    check_shown("__pyx_pw_1m_5Outer_5Inner_1f", NULL, "m", "Outer.Inner.f", 1);
    check_shown("__pyx_gb_1m_2generator", NULL, "m", "<generator>", 2);
    check_shown("__pyx_gb_1m_3Cls_1generator", NULL, "m", "Cls.<lambda>", 1);
    check_shown("__pyx_lambda_funcdef_lambda3", NULL, NULL, "<lambda>", -1);
    check_shown("__pyx_f_6Cython_8Compiler_7Parsing_p", NULL, "Cython.Compiler.Parsing", "p", -1);
}

/** The same bytes, told apart by what else the file defines. */
static void test_length_or_number(void **state)
{
    (void)state;
    static const char *const free_list[] = {"__pyx_pw_1m_5free_list", "__pyx_pf_1m_4free_list"};
    static const char *const free_class[] = {"__pyx_pw_1m_4free_1list", "__pyx_pf_1m_4free_list"};
    static const char *const vec_3d[] = {"__pyx_pw_1m_1f", "__pyx_pw_1m_3vec_3d"};
    static const char *const vec_class[] = {"__pyx_pw_1m_3vec_1c", "__pyx_pw_1m_3vec_3d"};
    static const char *const vec_type[] = {"__pyx_tp_new_1m_3vec", "__pyx_tp_new_1m_vec",
                                           "__pyx_pw_1m_3vec_3d"};
    static const char *const vec_owner[] = {"__pyx_pw_1m_9vec", "__pyx_pw_1m_3vec_3d"};
    static const char *const lambda[] = {"__pyx_pw_1m_3lam", "__pyx_pw_1m_3lam_lambda"};
    static const char *const make_lambda[] = {"__pyx_pf_1m_4maker_lambda",
                                              "__pyx_pw_1m_5maker_lambda"};
    /* Functions whose author gave them the names that Cython gives to its own. */
    static const char *const lambda_called[] = {"__pyx_pf_1m_2lambda1", "__pyx_pw_1m_3lambda1",
                                                "__pyx_pw_1m_7lambda1_lambda1",
                                                "__pyx_lambda_funcdef_lambda1"};
    static const char *const genexpr_called[] = {"__pyx_pf_1m_genexpr", "__pyx_pw_1m_1genexpr",
                                                 "__pyx_gb_1m_2generator"};
    static const char *const genexpr1_called[] = {"__pyx_pw_1m_7genexpr1",
                                                  "__pyx_pf_1m_8genexpr1_genexpr",
                                                  "__pyx_gb_1m_8genexpr1_2generator"};
    static const char *const underscores[] = {"__pyx_pw_1m_3__", "__pyx_pf_1m_2___3genexpr",
                                              "__pyx_gb_1m_2___5generator1"};
    static const char *const nested[] = {"__pyx_pw_1m_3lambda5", "__pyx_pw_1m_7lambda5_lambda6",
                                         "__pyx_gb_1m_7lambda5_7genexpr_2generator"};
    static const char *const since_3_3[] = {"__pyx_pw_1m_3__pyx_lambda_funcdef_1m_lambda5",
                                            "__pyx_pw_1m_7lambda5___pyx_lambda_funcdef_lambda6",
                                            "__pyx_lambda_funcdef_lambda6"};
    struct {
        const char *const *symbols;
        size_t count;
        const char *symbol;
        const char *function;
        int32_t number;
    } cases[] = {
        {free_list, 2, free_list[1], "free_list", 4},
        {free_class, 2, free_class[1], "free.list", 0},
        {vec_3d, 2, vec_3d[1], "vec_3d", 3},
        {vec_class, 2, vec_class[1], "vec.d", 3},
        {vec_type, 3, vec_type[2], "vec.d", 3},
        {vec_owner, 2, vec_owner[1], "vec.d", 3},
        {lambda, 2, lambda[1], "lam.<lambda>", 0},
        {make_lambda, 2, make_lambda[1], "maker_lambda", 5},
        {lambda_called, 4, lambda_called[0], "lambda1", 2},
        {lambda_called, 4, lambda_called[1], "lambda1", 3},
        {lambda_called, 4, lambda_called[2], "lambda1.<lambda>", 0},
        {lambda_called, 4, lambda_called[3], "lambda1.<lambda>", -1},
        {genexpr_called, 3, genexpr_called[0], "genexpr", 0},
        {genexpr_called, 3, genexpr_called[2], "genexpr", 2},
        {genexpr1_called, 3, genexpr1_called[1], "genexpr1.<genexpr>", 0},
        {genexpr1_called, 3, genexpr1_called[2], "genexpr1.<genexpr>", 2},
        {underscores, 3, underscores[1], "__.<genexpr>", 3},
        {underscores, 3, underscores[2], "__.<genexpr>", 5},
        {nested, 3, nested[1], "<lambda>.<lambda>", 0},
        {nested, 3, nested[2], "<lambda>.<genexpr>.<genexpr>", 2},
        {since_3_3, 3, since_3_3[1], "<lambda>.<lambda>", 0},
        {since_3_3, 3, since_3_3[2], "<lambda>.<lambda>", -1},
    };
    for (size_t i = 0; i < PSC_ARRAY_SIZE(cases); i++) {
        struct cython_names names = names_of(cases[i].symbols, cases[i].count);
        struct cython_context context = {.module_name = "m"};
        cython_names_bind(&names, &context);
        context.complete = true;
        check_shown(cases[i].symbol, &context, "m", cases[i].function, cases[i].number);
        cython_names_deinit(&names);
    }
}

static void test_module_known_in_part(void **state)
{
    (void)state;
    struct cython_context context = {.module_name = "_kern"};
    check_shown("__pyx_f_3pkg_3sub_5_kern_4ccls_m", &context, "pkg.sub._kern", "ccls.m", -1);
    static const char *const symbols[] = {"__pyx_pymod_exec__kern"};
    struct cython_names names = names_of(symbols, 1);
    context.module_name = NULL;
    cython_names_bind(&names, &context);
    check_shown("__pyx_f_3pkg_3sub_5_kern_4ccls_m", &context, "pkg.sub._kern", "ccls.m", -1);
    cython_names_deinit(&names);
}

/** Only some symbols, and no module's name: what somebody copied from a stack or symbol table. */
static void test_symbol_set(void **state)
{
    (void)state;
    static const char *const symbols[] = {
        "__pyx_pf_3pkg_6Solver_4free_list", "__pyx_pw_3pkg_6Solver_4free_1list",
        "__pyx_f_3pkg_6Solver_6Solver_run", "__pyx_gb_3pkg_6Solver_6generator",
        "__pyx_pw_3pkg_6Solver_5gen",       "__pyx_pw_3pkg_6Solver_3vec_3d",
        "__pyx_module_is_main_pkg__Solver", "__pyx_pw_1n_1f_lambda1",
        "__pyx_pw_1n_1g_lambda1",
    };
    static const char lambda[] = "__pyx_lambda_funcdef_lambda1"; /* Two modules have one. */
    struct cython_symbol_set *symbol_set = cython_symbol_set_create();
    struct arena *arena = arena_create();
    struct cython_name name;
    assert_true(cython_symbol_set_parse(symbol_set, symbols[0], arena, &name));
    assert_string_equal(name.function, "Solver.free_list");
    for (size_t pass = 0; pass < 1000; pass++)
        for (size_t i = 0; i < PSC_ARRAY_SIZE(symbols); i++)
            assert_true(cython_symbol_set_add(symbol_set, symbols[i]));
    assert_true(cython_symbol_set_parse(symbol_set, symbols[0], arena, &name));
    assert_string_equal(name.function, "free.list");
    assert_string_equal(name.module, "pkg.Solver");
    assert_true(cython_symbol_set_parse(symbol_set, symbols[2], arena, &name));
    assert_string_equal(name.function, "Solver.run");
    assert_true(cython_symbol_set_parse(symbol_set, symbols[3], arena, &name));
    assert_string_equal(name.function, "gen");
    assert_true(cython_symbol_set_parse(symbol_set, lambda, arena, &name));
    assert_string_equal(name.function, "<lambda>");
    arena_destroy(arena);
    cython_symbol_set_destroy(symbol_set);
}

static void test_punycode_modules(void **state)
{
    (void)state;
    static const struct {
        const char *symbol;
        const char *name;
    } cases[] = {
        {"PyInitU_n_nga1b", "PyInit_\u00fcn\u00ef"},
        {"__pyx_pymod_execU_n_nga1b", "__pyx_pymod_exec_\u00fcn\u00ef"},
        {"__pyx_module_is_mainU_80aapf6b", "__pyx_module_is_main_"},
        {"PyInitU_", "PyInitU_"},
        {"PyInitU_!", "PyInitU_!"},
    };
    for (size_t i = 0; i < PSC_ARRAY_SIZE(cases); i++) {
        struct text buffer = {0};
        struct cython_symbol parsed;
        assert_true(parse_cython_symbol(cases[i].symbol, &buffer, &parsed));
        assert_true(parsed.name.size >= strlen(cases[i].name));
        assert_memory_equal(parsed.name.data, cases[i].name, strlen(cases[i].name));
        text_deinit(&buffer);
    }
}

static void check_foreign(const char *symbol, const struct cython_context *context)
{
    struct arena *arena = arena_create();
    struct cython_name name;
    if (cython_parse_symbol(symbol, context, arena, &name))
        fail_msg("%s: taken for the Cython function %s", symbol, name.function);
    assert_int_equal(name.kind, CYTHON_NONE);
    assert_null(name.function);
    arena_destroy(arena);
}

static void test_foreign_symbols(void **state)
{
    (void)state;
    static const char *const symbols[] = {
        "",
        "_",
        "main",
        "_PyEval_EvalFrameDefault",
        "_ZN3foo3barEv",
        "_ZL3fooi",
        "_ZL99x",
        "_ZL0",
        "__pyx",
        "PyInit__ssl",
        "init_ssl",
        "_ZN",
        ".cold",
        "_Z4__p",
        "_ZL999999a",
    };
    for (size_t i = 0; i < PSC_ARRAY_SIZE(symbols); i++)
        check_foreign(symbols[i], NULL);
    struct cython_context context = {.module_name = "pkg._other"};
    check_foreign("PyInit__ssl", &context);
    check_shown("PyInit__other", &context, "pkg._other", "<module>", -1);
    check_shown("init_other", &context, "pkg._other", "<module>", -1);
}

static void check_plumbing(const char *symbol)
{
    struct arena *arena = arena_create();
    struct cython_name name;
    assert_true(cython_parse_symbol(symbol, NULL, arena, &name));
    assert_int_equal(name.kind, CYTHON_PLUMBING);
    arena_destroy(arena);
}

static void test_plumbing(void **state)
{
    (void)state;
    static const char *const symbols[] = {
        "__Pyx_PyObject_Call",
        "__Pyx__PyObject_CallOneArg",
        "__Pyx_CyFunction_Vectorcall_FASTCALL_KEYWORDS.part.0",
        "__Pyx_Coroutine_SendEx.isra.0",
        "_ZL19__Pyx_PyObject_CallP7_objectS0_S0_",
        "_ZL19__Pyx_PyObject_CallP7_objectS0_S0_.constprop.0.isra.0",
        "__pyx_FusedFunction_call",
        "__pyx_find_code_object",
        "__pyx_ff_match_signatures_single",
        "__pyx_lzss_decompress",
        "__pyx_convert_vector_from_py_int",
        "__pyx_pymod_create",
        "__pyx_fatalerror",
    };
    for (size_t i = 0; i < PSC_ARRAY_SIZE(symbols); i++)
        check_plumbing(symbols[i]);
}

static void test_cpp_class(void **state)
{
    (void)state;
    struct cython_context context = {.module_name = "pkg.cppmod"};
    check_shown("_ZN25__pyx_t_3pkg_6cppmod_CppK3getEv", &context, "pkg.cppmod", "CppK.get", -1);
    check_shown("_ZN25__pyx_t_3pkg_6cppmod_CppK20__pyx_f___init__CppKEv", &context, "pkg.cppmod",
                "CppK.__init__", -1);
    check_shown("_ZN25__pyx_t_3pkg_6cppmod_CppKD0Ev", &context, "pkg.cppmod", "CppK.__dealloc__",
                -1);
}

static void check_slot(const char *slot, const char *inner, bool want)
{
    struct arena *arena = arena_create();
    struct cython_name outer_name;
    struct cython_name inner_name;
    assert_true(cython_parse_symbol(slot, NULL, arena, &outer_name));
    assert_true(cython_parse_symbol(inner, NULL, arena, &inner_name));
    if (cython_slot_calls(&outer_name, &inner_name) != want)
        fail_msg("%s around %s: %d", slot, inner, !want);
    arena_destroy(arena);
}

/** What is left of a slot without symbols: one method of it, and another that it calls. */
static void test_slot_shares(void **state)
{
    (void)state;
    struct cython_name slot = {.kind = CYTHON_SLOT, .function = "C.__lt__"};
    struct cython_name inner = {.kind = CYTHON_BODY, .function = "C.__eq__"};
    assert_true(cython_slot_shares(&slot, &inner));
    inner.function = "D.__eq__";
    assert_false(cython_slot_shares(&slot, &inner));
    inner.function = "C.__hash__";
    assert_false(cython_slot_shares(&slot, &inner));
    slot.function = "C.__setitem__";
    inner.function = "C.__delitem__";
    assert_true(cython_slot_shares(&slot, &inner));
    inner.function = "C.__getitem__";
    assert_false(cython_slot_shares(&slot, &inner));
    slot.kind = CYTHON_BODY;
    inner.function = "C.__delitem__";
    assert_false(cython_slot_shares(&slot, &inner));
}

static void test_slot_calls(void **state)
{
    (void)state;
    check_slot("__pyx_getprop_1m_1C_prop", "__pyx_pw_1m_1C_4prop_1__get__", true);
    check_slot("__pyx_setprop_1m_1C_prop", "__pyx_pw_1m_1C_4prop_3__set__", true);
    check_slot("__pyx_getprop_1m_1C_prop", "__pyx_pw_1m_1C_5other_1__get__", false);
    check_slot("__pyx_getprop_1m_1C_prop", "__pyx_pw_1m_1C_1prop", true);
    check_slot("__pyx_tp_new_1m_C", "__pyx_pf_1m_1C___cinit__", true);
    check_slot("__pyx_tp_new_1m_C", "__pyx_pf_1m_1D___cinit__", false);
    check_slot("__pyx_tp_new_vectorcall_1m_C", "__pyx_tp_new_1m_C", true);
    check_slot("__pyx_tp_vectorcall_1m_C", "__pyx_pw_1m_1C_3__init__", true);
    check_slot("__pyx_sq_item_1m_C", "__pyx_mp_subscript_1m_C", true);
    check_slot("__pyx_mp_ass_subscript_1m_C", "__pyx_pw_1m_1C_3__delitem__", true);
    check_slot("__pyx_mp_ass_subscript_1m_C", "__pyx_pw_1m_1C_3__getitem__", false);
    check_slot("__pyx_nb_add_1m_C", "__pyx_pw_1m_1C_3__add__", true);
    check_slot("__pyx_nb_add_1m_C", "__pyx_pw_1m_1C_3__radd__", true);
    check_slot("__pyx_nb_add_1m_C_maybe_call_slot", "__pyx_pw_1m_1C_3__sub__", false);
    check_slot("__pyx_tp_richcompare_1m_C", "__pyx_pw_1m_1C_3__lt__", true);
    check_slot("__pyx_pw_1m_1C_1prop", "__pyx_pf_1m_1C_prop", false);
}

static void check_punycode(const char *basic, const char *extended, const char *want)
{
    struct text text = {0};
    bool done = parse_punycode(slice_of(basic), slice_of(extended), &text);
    assert_int_equal(done, want != NULL);
    if (want)
        assert_string_equal(text.data, want);
    text_deinit(&text);
}

static void test_punycode(void **state)
{
    (void)state;
    /* RFC 3492 section 7.1, and what must not be taken. */
    check_punycode("", "egbpdaj6bu4bxfgehfvwxn",
                   "\u0644\u064a\u0647\u0645\u0627\u0628\u062a\u0643\u0644"
                   "\u0645\u0648\u0634\u0639\u0631\u0628\u064a\u061f");
    check_punycode("", "ihqwcrb4cv8a8dqg056pqjye",
                   "\u4ed6\u4eec\u4e3a\u4ec0\u4e48\u4e0d\u8bf4\u4e2d\u6587");
    check_punycode("3B", "ww4c5e180e575a65lsy2b", "3\u5e74B\u7d44\u91d1\u516b\u5148\u751f");
    check_punycode("b", "", NULL);
    check_punycode("b", "-", NULL);
    check_punycode("b", "99999999999", NULL);
    check_punycode("b", "zzzzzzzz", NULL);
    check_punycode("\xff", "kva", NULL);
    /* Not punycode after all: still a Cython symbol, still no crash. */
    check_plumbing("__pyx_Upf_6unimod_berfn_99999999999");
    check_plumbing("__pyx_U");
}

/** A context that answers all, and never the same, must not keep the parser for ever. */
static const char *endless(void *context, const char *prefix, size_t index)
{
    size_t *asked = context;
    (void)prefix;
    (void)index;
    (*asked)++;
    return "__pyx_pw_1m_3a_b_7nothing_of_that_number";
}

static bool yes(void *context, const char *name)
{
    (void)context;
    (void)name;
    return true;
}

static void test_endless_context(void **state)
{
    (void)state;
    size_t asked = 0;
    struct cython_context context = {.find_symbol = endless, .context = &asked};
    struct arena *arena = arena_create();
    struct cython_name name;
    assert_true(cython_parse_symbol("__pyx_gb_1m_2generator", &context, arena, &name));
    assert_in_range(asked, 1, 1000000);
    assert_true(cython_parse_symbol("__pyx_lambda_funcdef_lambda", &context, arena, &name));
    context.has_symbol = yes;
    assert_true(cython_parse_symbol("__pyx_pw_1m_3vec_3d", &context, arena, &name));
    assert_true(cython_parse_symbol("__pyx_pf_1m_3vec_3d", &context, arena, &name));
    arena_destroy(arena);
}

static void test_long_symbols(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    struct text text = {0};
    struct cython_name name;
    text_add_string(&text, "__pyx_pw_");
    for (int i = 0; i < 2000; i++)
        text_add_string(&text, "1a_");
    assert_true(cython_parse_symbol(text.data, NULL, arena, &name));
    for (int i = 0; i < 100000; i++)
        text_add_string(&text, "1a_");
    assert_false(cython_parse_symbol(text.data, NULL, arena, &name));
    text_deinit(&text);
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),          cmocka_unit_test(test_without_symbols),
        cmocka_unit_test(test_length_or_number), cmocka_unit_test(test_module_known_in_part),
        cmocka_unit_test(test_foreign_symbols),  cmocka_unit_test(test_plumbing),
        cmocka_unit_test(test_cpp_class),        cmocka_unit_test(test_slot_calls),
        cmocka_unit_test(test_slot_shares),      cmocka_unit_test(test_punycode),
        cmocka_unit_test(test_endless_context),  cmocka_unit_test(test_long_symbols),
        cmocka_unit_test(test_symbol_set),       cmocka_unit_test(test_punycode_modules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
