/*
 * What the interpreter's own functions are, by name: CPython's sources, 2.7 to 3.15
 * (Objects/call.c, Objects/typeobject.c, Objects/genobject.c, Python/ceval.c, Python/pythonrun.c,
 * Modules/main.c, Modules/gcmodule.c, Python/ceval_gil.h). Only asked for functions inside the
 * interpreter's module: a user's function of the same name elsewhere stays visible.
 */
#include "symbolize.h"

#include <string.h>

#define EVALUATOR_2 "PyEval_EvalFrameEx"

struct name_rule {
    const char *name; /* A '*' at the end matches any rest. */
    enum function_class is;
};

static const struct name_rule rules[] = {
    {"_PyEval_EvalFrameDefault", FUNCTION_EVALUATOR},
    {"_TAIL_CALL_*", FUNCTION_EVALUATOR_STEP},

    {"take_gil*", FUNCTION_TAKE_GIL},
    {"drop_gil*", FUNCTION_TAKE_GIL},
    {"PyEval_RestoreThread", FUNCTION_TAKE_GIL},
    {"PyEval_AcquireThread", FUNCTION_TAKE_GIL},
    {"_PyThreadState_Attach", FUNCTION_TAKE_GIL},
    {"PyGILState_Ensure", FUNCTION_TAKE_GIL},
    {"gc_collect_main", FUNCTION_COLLECT},
    {"gc_collect_region", FUNCTION_COLLECT},
    {"collect", FUNCTION_COLLECT},
    {"main", FUNCTION_MAIN},

    /* Calls: from the evaluator to a callable and back into it. */
    {"PyEval_Eval*", FUNCTION_CALL},
    {"_PyEval_Eval*", FUNCTION_CALL},
    {"_PyEval_Vector", FUNCTION_CALL},
    {"_PyEval_CallTracing", FUNCTION_CALL},
    {"PyEval_Call*", FUNCTION_CALL},
    {"_PyFunction_*", FUNCTION_CALL},
    {"function_call", FUNCTION_CALL},
    {"function_code_fastcall", FUNCTION_CALL},
    {"fast_function", FUNCTION_CALL},
    {"call_function", FUNCTION_CALL},
    {"trace_call_function", FUNCTION_CALL},
    {"do_call_core", FUNCTION_CALL},
    {"do_call", FUNCTION_CALL},
    {"ext_do_call", FUNCTION_CALL},
    {"PyObject_Call*", FUNCTION_CALL},
    {"PyObject_Vectorcall*", FUNCTION_CALL},
    {"_PyObject_Call*", FUNCTION_CALL},
    {"_PyObject_FastCall*", FUNCTION_CALL},
    {"_PyObject_MakeTpCall", FUNCTION_CALL},
    {"_PyObject_Vectorcall*", FUNCTION_CALL},
    {"_PyStack_AsDict", FUNCTION_CALL},
    {"PyVectorcall_*", FUNCTION_CALL},
    {"_PyVectorcall_*", FUNCTION_CALL},
    {"_Py_VectorCall*", FUNCTION_CALL},
    {"object_vacall", FUNCTION_CALL},
    {"callmethod*", FUNCTION_CALL},
    {"_PyCFunction_*", FUNCTION_CALL},
    {"PyCFunction_*", FUNCTION_CALL},
    {"cfunction_*", FUNCTION_CALL},
    {"cfunction_call*", FUNCTION_CALL},
    {"PyMethod_*", FUNCTION_CALL},
    {"method_vectorcall*", FUNCTION_CALL},
    {"method_call", FUNCTION_CALL},
    {"instancemethod_call", FUNCTION_CALL},
    {"classmethoddescr_call", FUNCTION_CALL},
    {"methoddescr_call", FUNCTION_CALL},
    {"_PyMethodDef_*", FUNCTION_CALL},
    {"_PyMethodDescr_*", FUNCTION_CALL},
    {"wrapperdescr_*", FUNCTION_CALL},
    {"wrapper_call", FUNCTION_CALL},
    {"wrap_*", FUNCTION_CALL},
    {"type_call", FUNCTION_CALL},
    {"type_vectorcall", FUNCTION_CALL},
    {"slot_*", FUNCTION_CALL},
    {"call_method*", FUNCTION_CALL},
    {"call_maybe", FUNCTION_CALL},
    {"call_unbound*", FUNCTION_CALL},
    {"call_attribute", FUNCTION_CALL},
    {"vectorcall_*", FUNCTION_CALL},
    {"_Py_CheckFunctionResult", FUNCTION_CALL},
    {"py_trampoline_evaluator", FUNCTION_CALL},

    /* Generators: resuming one. */
    {"gen_send_ex*", FUNCTION_CALL},
    {"gen_send", FUNCTION_CALL},
    {"gen_iternext", FUNCTION_CALL},
    {"gen_throw", FUNCTION_CALL},
    {"_gen_throw", FUNCTION_CALL},
    {"gen_close*", FUNCTION_CALL},
    {"_PyGen_*", FUNCTION_CALL},
    {"PyGen_*", FUNCTION_CALL},
    {"coro_*", FUNCTION_CALL},
    {"async_gen_*", FUNCTION_CALL},
    {"PyIter_*", FUNCTION_CALL},

    /* Start of the program and of its threads. */
    {"Py_Main", FUNCTION_CALL},
    {"Py_BytesMain", FUNCTION_CALL},
    {"Py_RunMain", FUNCTION_CALL},
    {"_Py_UnixMain", FUNCTION_CALL},
    {"pymain_*", FUNCTION_CALL},
    {"PyRun_*", FUNCTION_CALL},
    {"_PyRun_*", FUNCTION_CALL},
    {"pyrun_*", FUNCTION_CALL},
    {"run_mod", FUNCTION_CALL},
    {"run_eval_code_obj", FUNCTION_CALL},
    {"run_file", FUNCTION_CALL},
    {"thread_run", FUNCTION_CALL},
    {"t_bootstrap", FUNCTION_CALL},
    {"pythread_wrapper", FUNCTION_CALL},

    /* The import statement. */
    {"PyImport_*", FUNCTION_DISPATCH},
    {"_PyImport_*", FUNCTION_DISPATCH},
    {"import_name", FUNCTION_DISPATCH},
    {"import_from", FUNCTION_DISPATCH},
    {"import_find_and_load", FUNCTION_DISPATCH},
    {"import_ensure_initialized", FUNCTION_DISPATCH},

    /* Operators and attributes on their way to a slot. */
    {"PyObject_*", FUNCTION_DISPATCH},
    {"_PyObject_*", FUNCTION_DISPATCH},
    {"PyNumber_*", FUNCTION_DISPATCH},
    {"PySequence_*", FUNCTION_DISPATCH},
    {"PyMapping_*", FUNCTION_DISPATCH},
    {"_PyType_*", FUNCTION_DISPATCH},
    {"PyType_*", FUNCTION_DISPATCH},
    {"binary_op*", FUNCTION_DISPATCH},
    {"binary_iop*", FUNCTION_DISPATCH},
    {"ternary_op*", FUNCTION_DISPATCH},
    {"ternary_iop*", FUNCTION_DISPATCH},
    {"sequence_repeat", FUNCTION_DISPATCH},
    {"do_richcompare", FUNCTION_DISPATCH},
    {"cmp_outcome", FUNCTION_DISPATCH},
    {"object_richcompare", FUNCTION_DISPATCH},
    {"property_descr_*", FUNCTION_DISPATCH},
    {"lookup_maybe_method", FUNCTION_DISPATCH},
    {"lookup_method", FUNCTION_DISPATCH},
    {"builtin___build_class__", FUNCTION_DISPATCH},
    {"type_new*", FUNCTION_DISPATCH},
    {"type_getattro", FUNCTION_DISPATCH},
    {"super_getattro", FUNCTION_DISPATCH},
    {"module_getattro", FUNCTION_DISPATCH},
    {"special_lookup", FUNCTION_DISPATCH},
    {"_PyEval_*", FUNCTION_DISPATCH},
    {"unpack_iterable", FUNCTION_DISPATCH},

    /* Signal handlers and pending calls. */
    {"PyErr_CheckSignals*", FUNCTION_DISPATCH},
    {"_PyErr_CheckSignals*", FUNCTION_DISPATCH},
    {"eval_frame_handle_pending", FUNCTION_DISPATCH},
    {"handle_signals", FUNCTION_DISPATCH},
    {"handle_eval_breaker", FUNCTION_DISPATCH},
    {"_Py_HandlePending", FUNCTION_DISPATCH},
    {"Py_MakePendingCalls", FUNCTION_DISPATCH},
    {"make_pending_calls", FUNCTION_DISPATCH},

    /* Destruction on the way to a finalizer. */
    {"_Py_Dealloc", FUNCTION_DISPATCH},
    {"subtype_dealloc", FUNCTION_DISPATCH},
    {"finalize_garbage", FUNCTION_DISPATCH},
    {"delete_garbage", FUNCTION_DISPATCH},
    {"handle_weakrefs", FUNCTION_DISPATCH},
    {"handle_callback", FUNCTION_DISPATCH},
    {"collect_with_callback", FUNCTION_DISPATCH},
    {"collect_generations", FUNCTION_DISPATCH},
    {"gc_collect_generations", FUNCTION_DISPATCH},
    {"gc_collect_with_callback", FUNCTION_DISPATCH},
    {"_Py_RunGC", FUNCTION_DISPATCH},
    {"dict_dealloc", FUNCTION_DISPATCH},
    {"list_dealloc", FUNCTION_DISPATCH},
    {"tupledealloc", FUNCTION_DISPATCH},
    {"frame_dealloc", FUNCTION_DISPATCH},
    {"_PyFrame_Clear*", FUNCTION_DISPATCH},
};

/* The compiler's clones (".cold", ".part.0", ".lto_priv.1") are the same function. */
static size_t base_length(const char *name)
{
    const char *dot = strchr(name + (*name == '.'), '.');
    return dot ? (size_t)(dot - name) : strlen(name);
}

enum function_class classify_interpreter_function(const char *name, bool python_2)
{
    size_t length = base_length(name);
    /* Python 2.7, Python/ceval.c; later only a way to the evaluator. */
    if (python_2 && length == strlen(EVALUATOR_2) && !strncmp(name, EVALUATOR_2, length))
        return FUNCTION_EVALUATOR;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(rules); i++) {
        size_t rule = strlen(rules[i].name);
        bool prefix = rules[i].name[rule - 1] == '*';
        if (prefix ? length >= rule - 1 && !strncmp(name, rules[i].name, rule - 1)
                   : length == rule && !strncmp(name, rules[i].name, rule))
            return rules[i].is;
    }
    return FUNCTION_OTHER;
}
