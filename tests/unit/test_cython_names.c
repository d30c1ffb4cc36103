/* Names of Cython functions: one vector per kind of symbol that Cython 0.29 to 3.3 writes. */
#include "cython_private.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <stdlib.h>

struct vector {
    const char *symbol;
    enum cython_kind kind;
    const char *module;
    const char *function;
    const char *specialization;
    bool parallel;
    bool boilerplate;
};

static const struct vector vectors[] = {
    {"__pyx_f_8implicit_4_als_axpy", CYTHON_C_FUNCTION, "implicit._als", "axpy", NULL, false,
     false},
    {"__pyx_fuse_0__pyx_f_8implicit_4_als_axpy", CYTHON_C_FUNCTION, "implicit._als", "axpy", "0",
     false, false},
    {"__pyx_fuse_1__pyx_f_8implicit_3bpr_has_non_zero", CYTHON_C_FUNCTION, "implicit.bpr",
     "has_non_zero", "1", false, false},
    {"__pyx_pf_8implicit_4_als_30_least_squares_cg", CYTHON_BODY, "implicit._als",
     "_least_squares_cg", NULL, false, false},
    {"__pyx_fuse_1_0__pyx_pw_8implicit_4_als_31_least_squares_cg", CYTHON_WRAPPER, "implicit._als",
     "_least_squares_cg", "1_0", false, false},
    {"__pyx_pw_8implicit_4_als_5least_squares_cg", CYTHON_WRAPPER, "implicit._als",
     "least_squares_cg", NULL, false, false},
    {"_ZL46__pyx_pf_8implicit_3cpu_4_als_18_least_squaresP7_objectS0_18__Pyx_memviewsliceS1_S1_S1_"
     "S1_di._omp_fn.0",
     CYTHON_BODY, "implicit.cpu._als", "_least_squares", NULL, true, false},
    {"__pyx_f_6mtrand_cont0_array", CYTHON_C_FUNCTION, "mtrand", "cont0_array", NULL, false, false},
    {"__pyx_pw_3pkg_3sub_5_kern_1inc_def", CYTHON_WRAPPER, "pkg.sub._kern", "inc_def", NULL, false,
     false},
    {"__pyx_pf_3pkg_3sub_5_kern_inc_def", CYTHON_BODY, "pkg.sub._kern", "inc_def", NULL, false,
     false},
    {"__pyx_pf_3pkg_3sub_5_kern_2plain_def", CYTHON_BODY, "pkg.sub._kern", "plain_def", NULL, false,
     false},
    {"__pyx_pw_3pkg_3sub_5_kern_3plain_def", CYTHON_WRAPPER, "pkg.sub._kern", "plain_def", NULL,
     false, false},
    {"__pyx_f_3pkg_3sub_5_kern_plain_cdef", CYTHON_C_FUNCTION, "pkg.sub._kern", "plain_cdef", NULL,
     false, false},
    {"__pyx_f_3pkg_3sub_5_kern_plain_cdef.part.0", CYTHON_C_FUNCTION, "pkg.sub._kern", "plain_cdef",
     NULL, false, false},
    {"__pyx_f_3pkg_3sub_5_kern_plain_cdef.part.0.lto_priv.0", CYTHON_C_FUNCTION, "pkg.sub._kern",
     "plain_cdef", NULL, false, false},
    {"__pyx_f_3pkg_3sub_5_kern_plain_cpdef", CYTHON_C_FUNCTION, "pkg.sub._kern", "plain_cpdef",
     NULL, false, false},
    {"__pyx_pf_3pkg_3sub_5_kern_8plain_cpdef", CYTHON_BODY, "pkg.sub._kern", "plain_cpdef", NULL,
     false, false},
    {"__pyx_pw_3pkg_3sub_5_kern_9plain_cpdef", CYTHON_WRAPPER, "pkg.sub._kern", "plain_cpdef", NULL,
     false, false},
    {"__pyx_f_3pkg_3sub_4_inl_inl_sq", CYTHON_C_FUNCTION, "pkg.sub._inl", "inl_sq", NULL, false,
     false},
    {"__pyx_f_3pkg_3sub_5_kern_inc_cdef", CYTHON_C_FUNCTION, "pkg.sub._kern", "inc_cdef", NULL,
     false, false},
    {"__pyx_fuse_0_1__pyx_pw_3pkg_3sub_5_kern_58fused_def", CYTHON_WRAPPER, "pkg.sub._kern",
     "fused_def", "0_1", false, false},
    {"__pyx_pf_3pkg_3sub_5_kern_57fused_def", CYTHON_BODY, "pkg.sub._kern", "fused_def", NULL,
     false, false},
    {"__pyx_pw_3pkg_3sub_5_kern_17fused_def", CYTHON_WRAPPER, "pkg.sub._kern", "fused_def", NULL,
     false, false},
    {"__pyx_pw_3pkg_3sub_5_kern_50__pyx_fuse_0fused_cpdef", CYTHON_WRAPPER, "pkg.sub._kern",
     "fused_cpdef", "0", false, false},
    {"__pyx_pw_3pkg_3sub_5_kern_50__pyx_fuse_0__pyx_f_3pkg_3sub_5_kern_fused_cpdef", CYTHON_WRAPPER,
     "pkg.sub._kern", "fused_cpdef", "0", false, false},
    {"__pyx_pf_3pkg_3sub_5_kern_49__pyx_fuse_0fused_cpdef", CYTHON_BODY, "pkg.sub._kern",
     "fused_cpdef", "0", false, false},
    {"__pyx_fuse_0__pyx_pw_3pkg_3sub_5_kern_4CCls_56fused_meth", CYTHON_WRAPPER, "pkg.sub._kern",
     "CCls.fused_meth", "0", false, false},
    {"__pyx_pf_3pkg_3sub_5_kern_5outer_inner", CYTHON_BODY, "pkg.sub._kern", "outer.inner", NULL,
     false, false},
    {"__pyx_pw_3pkg_3sub_5_kern_5outer_1inner", CYTHON_WRAPPER, "pkg.sub._kern", "outer.inner",
     NULL, false, false},
    {"__pyx_pf_3pkg_3sub_5_kern_5outer_5inner_inner2", CYTHON_BODY, "pkg.sub._kern",
     "outer.inner.inner2", NULL, false, false},
    {"__pyx_gb_3pkg_3sub_5_kern_22generator", CYTHON_GENERATOR, "pkg.sub._kern", "gen_fn", NULL,
     false, false},
    {"__pyx_gb_3pkg_3sub_5_kern_25generator1", CYTHON_GENERATOR, "pkg.sub._kern", "coro_fn", NULL,
     false, false},
    {"__pyx_gb_3pkg_3sub_5_kern_28generator2", CYTHON_GENERATOR, "pkg.sub._kern", "agen_fn", NULL,
     false, false},
    {"__pyx_gb_3pkg_3sub_5_kern_5PyCls_14generator3", CYTHON_GENERATOR, "pkg.sub._kern",
     "PyCls.gen_meth", NULL, false, false},
    {"__pyx_gb_3pkg_3sub_5_kern_8genexprs_2generator5", CYTHON_GENERATOR, "pkg.sub._kern",
     "genexprs.<genexpr>", NULL, false, false},
    {"__pyx_gb_3pkg_3sub_5_kern_8genexprs_8genexpr1_2generator6", CYTHON_GENERATOR, "pkg.sub._kern",
     "genexprs.<genexpr>", NULL, false, false},
    {"__pyx_pf_3pkg_3sub_5_kern_8genexprs_genexpr", CYTHON_BODY, "pkg.sub._kern",
     "genexprs.<genexpr>", NULL, false, false},
    {"__pyx_pw_3pkg_3sub_5_kern_7lambdas_lambda", CYTHON_WRAPPER, "pkg.sub._kern",
     "lambdas.<lambda>", NULL, false, false},
    {"__pyx_pw_3pkg_3sub_5_kern_7lambdas_1lambda1", CYTHON_WRAPPER, "pkg.sub._kern",
     "lambdas.<lambda>", NULL, false, false},
    {"__pyx_pw_3pkg_3sub_5_kern_7lambdas___pyx_lambda_funcdef_lambda", CYTHON_WRAPPER,
     "pkg.sub._kern", "lambdas.<lambda>", NULL, false, false},
    {"__pyx_pw_3pkg_3sub_5_kern_7lambdas_1__pyx_lambda_funcdef_lambda1", CYTHON_WRAPPER,
     "pkg.sub._kern", "lambdas.<lambda>", NULL, false, false},
    {"__pyx_pw_3pkg_3sub_5_kern_65lambda4", CYTHON_WRAPPER, "pkg.sub._kern", "<lambda>", NULL,
     false, false},
    {"__pyx_lambda_funcdef_lambda1", CYTHON_BODY, "pkg.sub._kern", "lambdas.<lambda>", NULL, false,
     false},
    {"__pyx_lambda_funcdef_3pkg_3sub_5_kern_lambda4", CYTHON_BODY, "pkg.sub._kern", "<lambda>",
     NULL, false, false},
    {"__pyx_pw_3pkg_3sub_5_kern_8if_class_5Local_2lm_lambda5", CYTHON_WRAPPER, "pkg.sub._kern",
     "if_class.Local.lm.<lambda>", NULL, false, false},
    {"__pyx_pf_3pkg_3sub_5_kern_5PyCls___init__", CYTHON_BODY, "pkg.sub._kern", "PyCls.__init__",
     NULL, false, false},
    {"__pyx_pw_3pkg_3sub_5_kern_5PyCls_1__init__", CYTHON_WRAPPER, "pkg.sub._kern",
     "PyCls.__init__", NULL, false, false},
    {"__pyx_pf_3pkg_3sub_5_kern_5PyCls_4prop", CYTHON_BODY, "pkg.sub._kern", "PyCls.prop", NULL,
     false, false},
    {"__pyx_pf_3pkg_3sub_5_kern_5PyCls_6prop", CYTHON_BODY, "pkg.sub._kern", "PyCls.prop", NULL,
     false, false},
    {"__pyx_pf_3pkg_3sub_5_kern_6Nested_nmeth", CYTHON_BODY, "pkg.sub._kern", "Nested.nmeth", NULL,
     false, false},
    {"__pyx_pf_3pkg_3sub_5_kern_4CCls___cinit__", CYTHON_BODY, "pkg.sub._kern", "CCls.__cinit__",
     NULL, false, false},
    {"__pyx_pw_3pkg_3sub_5_kern_4CCls_1__cinit__", CYTHON_WRAPPER, "pkg.sub._kern",
     "CCls.__cinit__", NULL, false, false},
    {"__pyx_pw_3pkg_3sub_5_kern_4CCls_5__dealloc__", CYTHON_WRAPPER, "pkg.sub._kern",
     "CCls.__dealloc__", NULL, false, false},
    {"__pyx_pf_3pkg_3sub_5_kern_4CCls_4prop_2__set__", CYTHON_BODY, "pkg.sub._kern",
     "CCls.prop.__set__", NULL, false, false},
    {"__pyx_pw_3pkg_3sub_5_kern_4CCls_4prop_5__del__", CYTHON_WRAPPER, "pkg.sub._kern",
     "CCls.prop.__del__", NULL, false, false},
    {"__pyx_getprop_3pkg_3sub_5_kern_4CCls_prop", CYTHON_SLOT, "pkg.sub._kern", "CCls.prop", NULL,
     false, false},
    {"__pyx_setprop_3pkg_3sub_5_kern_4CCls_pubattr", CYTHON_SLOT, "pkg.sub._kern", "CCls.pubattr",
     NULL, false, false},
    {"__pyx_pf_3pkg_3sub_5_kern_4CCls_7oldprop___get__", CYTHON_BODY, "pkg.sub._kern",
     "CCls.oldprop.__get__", NULL, false, false},
    {"__pyx_specialmethod___pyx_pw_3pkg_3sub_5_kern_4CCls_29__repr__", CYTHON_PLUMBING,
     "pkg.sub._kern", "CCls.__repr__", NULL, false, false},
    {"__pyx_f_3pkg_3sub_5_kern_4CSub_cpmethod", CYTHON_C_FUNCTION, "pkg.sub._kern", "CSub.cpmethod",
     NULL, false, false},
    {"__pyx_pf_3pkg_3sub_5_kern_12Outer_123abc__under_", CYTHON_BODY, "pkg.sub._kern",
     "Outer_123abc._under_", NULL, false, false},
    {"__pyx_pw_3pkg_3sub_5_kern_12Outer_123abc_3_Outer_123abc__private", CYTHON_WRAPPER,
     "pkg.sub._kern", "Outer_123abc.__private", NULL, false, false},
    {"__pyx_pf_3pkg_3sub_5_kern_48_1lead", CYTHON_BODY, "pkg.sub._kern", "_1lead", NULL, false,
     false},
    {"__pyx_pf_3pkg_3sub_5_kern_35prange_fn._omp_fn.0", CYTHON_BODY, "pkg.sub._kern", "prange_fn",
     NULL, true, false},
    {"__pyx_f_3pkg_3sub_5_kern_prange_cdef._omp_fn.0.lto_priv.0", CYTHON_C_FUNCTION,
     "pkg.sub._kern", "prange_cdef", NULL, true, false},
    {"__pyx_tp_new_3pkg_3sub_5_kern_CCls", CYTHON_SLOT, "pkg.sub._kern", "CCls.__new__/__cinit__",
     NULL, false, false},
    {"__pyx_tp_dealloc_3pkg_3sub_5_kern___pyx_scope_struct_12_closure_meth", CYTHON_SLOT,
     "pkg.sub._kern", "__pyx_scope_struct_12_closure_meth.__dealloc__", NULL, false, true},
    {"__pyx_tp_new_vectorcall_3pkg_3sub_5_kern_CCls", CYTHON_SLOT, "pkg.sub._kern", "CCls.__new__",
     NULL, false, false},
    {"__pyx_tp_new__initialisation_3pkg_6cppmod_Holder", CYTHON_SLOT, "pkg.cppmod",
     "Holder.__new__", NULL, false, false},
    {"__pyx_sq_item_3pkg_3sub_5_kern_CCls", CYTHON_SLOT, "pkg.sub._kern", "CCls.__getitem__ (int)",
     NULL, false, false},
    {"__pyx_mp_ass_subscript_3pkg_3sub_5_kern_CCls", CYTHON_SLOT, "pkg.sub._kern",
     "CCls.__setitem__/__delitem__", NULL, false, false},
    {"__pyx_nb_add_3pkg_3sub_5_kern_CCls", CYTHON_SLOT, "pkg.sub._kern", "CCls.__add__", NULL,
     false, false},
    {"__pyx_pymod_exec__kern", CYTHON_MODULE, NULL, "<module>", NULL, false, false},
    {"__Pyx_modinit_type_init_code", CYTHON_MODULE, NULL, "<module>", NULL, false, false},
    {"__Pyx_modinit_Exttype___pyx_obj_3pkg_3sub_5_kern_CCls", CYTHON_MODULE, NULL, "<module>", NULL,
     false, false},
    {"PyInit__kern", CYTHON_MODULE, NULL, "<module>", NULL, false, false},
    {"__pyx_Upf_6unimod_berfn_8lc", CYTHON_BODY, "unimod", "überfn", NULL, false, false},
    {"__pyx_Uf_6unimod_1_gre_lxb6ey5a", CYTHON_C_FUNCTION, "unimod", "Ü.größe", NULL, false, false},
    {"__pyx_Upw_6unimod_1_1m_mxb", CYTHON_WRAPPER, "unimod", "Ü.m", NULL, false, false},
    {"_ZL29__pyx_f_3pkg_6cppmod_vec_cdefi", CYTHON_C_FUNCTION, "pkg.cppmod", "vec_cdef", NULL,
     false, false},
    {"_ZL42__pyx_fuse_0__pyx_f_3pkg_6cppmod_fused_cppi", CYTHON_C_FUNCTION, "pkg.cppmod",
     "fused_cpp", "0", false, false},
    {"_ZL39__pyx_pf_3pkg_6cppmod_6Holder___cinit__P29__pyx_obj_3pkg_6cppmod_Holder", CYTHON_BODY,
     "pkg.cppmod", "Holder.__cinit__", NULL, false, false},
    {"_ZL32__pyx_gb_3pkg_6cppmod_6generatorP21__pyx_CoroutineObjectP3_tsP7_object",
     CYTHON_GENERATOR, "pkg.cppmod", "gen", NULL, false, false},
    {"_ZL54__pyx_pw_3pkg_6cppmod_3lam___pyx_lambda_funcdef_lambdaP7_objectPKS0_lS0_",
     CYTHON_WRAPPER, "pkg.cppmod", "lam.<lambda>", NULL, false, false},
    {"_ZL23__pyx_pymod_exec_cppmodP7_object", CYTHON_MODULE, NULL, "<module>", NULL, false, false},
    {"__pyx_memoryview___pyx_pf_15View_dot_MemoryView_10memoryview_12__repr__", CYTHON_BODY,
     "View.MemoryView", "memoryview.__repr__", NULL, false, true},
    {"__pyx_pw_15View_dot_MemoryView_5array_7memview_1__get__", CYTHON_WRAPPER, "View.MemoryView",
     "array.memview.__get__", NULL, false, true},
    {"__pyx_pf___pyx_memoryviewslice___reduce_cython__", CYTHON_BODY, "View.MemoryView",
     "_memoryviewslice.__reduce_cython__", NULL, false, true},
    {"__pyx_pw_7sklearn_4tree_5_tree_11_check_node_ndarray", CYTHON_WRAPPER, "sklearn.tree._tree",
     "_check_node_ndarray", NULL, false, false},
    {"__pyx_f_7sklearn_4tree_12_partitioner_16DensePartitioner_sort_samples_and_feature_values",
     CYTHON_C_FUNCTION, "sklearn.tree._partitioner",
     "DensePartitioner.sort_samples_and_feature_values", NULL, false, false},
    {"__pyx_pf_6Cython_8Compiler_7Parsing_7p_c_arg_list", CYTHON_BODY, "Cython.Compiler.Parsing",
     "p_c_arg_list", NULL, false, false},
    {"__pyx_f_3pkg_3sub_5_kern___pyx_unpickle_Pub__set_state", CYTHON_C_FUNCTION, "pkg.sub._kern",
     "__pyx_unpickle_Pub__set_state", NULL, false, true},
    {"__pyx_f_3pkg_3sub_5_kern_api_fn.constprop.0.isra.0", CYTHON_C_FUNCTION, "pkg.sub._kern",
     "api_fn", NULL, false, false},
    {"__pyx_pw_3pkg_3sub_5_kern_4CCls_41method.cold", CYTHON_WRAPPER, "pkg.sub._kern",
     "CCls.method", NULL, false, false},
    {"__pyx_pw_8EnumBase_14__Pyx_EnumBase_1__new__", CYTHON_WRAPPER, "EnumBase",
     "__Pyx_EnumBase.__new__", NULL, false, true},
    {"__pyx_pw_11cfunc_dot_to_py_1wrap", CYTHON_WRAPPER, "cfunc.to_py", "wrap", NULL, false, true},
    {"__pyx_fuse_0_0__pyx_pw_8implicit_3cpu_3bpr_3bpr_update", CYTHON_WRAPPER, "implicit.cpu.bpr",
     "bpr_update", "0_0", false, false},
    {"__pyx_f_5numpy_import_array", CYTHON_C_FUNCTION, "numpy", "import_array", NULL, false, false},
};

/* What else the files of the vectors define, where a name can only be told from it. */
static const char *const siblings[] = {
    "__pyx_pw_3pkg_3sub_5_kern_21gen_fn",
    "__pyx_pw_3pkg_3sub_5_kern_24coro_fn",
    "__pyx_pw_3pkg_3sub_5_kern_27agen_fn",
    "__pyx_pw_3pkg_3sub_5_kern_5PyCls_13gen_meth",
    "__pyx_pw_3pkg_3sub_5_kern_8genexprs_1genexpr",
    "__pyx_pw_3pkg_3sub_5_kern_8genexprs_8genexpr1_1genexpr",
    "__pyx_pw_3pkg_3sub_5_kern_8if_class_5Local_1lm",
    "__pyx_pw_3pkg_3sub_5_kern_5outer_5inner_1inner2",
    "__pyx_pw_3pkg_3sub_5_kern_36prange_fn",
    "__pyx_pw_3pkg_3sub_5_kern_49_1lead",
    "_ZL26__pyx_pw_3pkg_6cppmod_5genP7_objectPKS0_lS0_",
    "_ZL46__pyx_pw_8implicit_3cpu_4_als_19_least_squaresP7_objectPKS0_lS0_",
    "__pyx_pw_6Cython_8Compiler_7Parsing_8p_c_arg_list",
};

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
    };
    for (size_t i = 0; i < PSC_ARRAY_SIZE(cases); i++) {
        struct cython_names names = names_of(cases[i].symbols, cases[i].count);
        struct cython_context context = {.module_name = "m"};
        cython_names_bind(&names, &context);
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
        cmocka_unit_test(test_punycode),         cmocka_unit_test(test_endless_context),
        cmocka_unit_test(test_long_symbols),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
