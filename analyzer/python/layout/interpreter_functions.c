/*
 * What the interpreter's own functions are, by name: CPython's sources, 2.7 to 3.15
 * (Objects/call.c, Objects/typeobject.c, Objects/genobject.c, Python/ceval.c, Python/pythonrun.c,
 * Modules/main.c, Modules/gcmodule.c, Python/ceval_gil.h). Only asked for functions inside the
 * interpreter's module: a user's function of the same name elsewhere stays visible.
 */
#include "layout.h"

#include <string.h>

struct name_rule {
    const char *name; /* A '*' at the end matches any rest. */
    enum python_function is;
};

static const struct name_rule names[] = {
    {"_PyEval_EvalFrameDefault", PYTHON_FUNCTION_EVALUATOR},
    {"_TAIL_CALL_*", PYTHON_FUNCTION_EVALUATOR_STEP},

    {"take_gil*", PYTHON_FUNCTION_TAKE_GIL},
    {"drop_gil*", PYTHON_FUNCTION_TAKE_GIL},
    {"PyEval_RestoreThread", PYTHON_FUNCTION_TAKE_GIL},
    {"PyEval_AcquireThread", PYTHON_FUNCTION_TAKE_GIL},
    {"_PyThreadState_Attach", PYTHON_FUNCTION_TAKE_GIL},
    {"PyGILState_Ensure", PYTHON_FUNCTION_TAKE_GIL},
    {"gc_collect_main", PYTHON_FUNCTION_COLLECT},
    {"gc_collect_region", PYTHON_FUNCTION_COLLECT},
    {"collect", PYTHON_FUNCTION_COLLECT},
    {"main", PYTHON_FUNCTION_MAIN},

    /* Calls: from the evaluator to a callable and back into it. */
    {"PyEval_Eval*", PYTHON_FUNCTION_CALL},
    {"_PyEval_Eval*", PYTHON_FUNCTION_CALL},
    {"_PyEval_Vector", PYTHON_FUNCTION_CALL},
    {"_PyEval_CallTracing", PYTHON_FUNCTION_CALL},
    {"PyEval_Call*", PYTHON_FUNCTION_CALL},
    {"_PyFunction_*", PYTHON_FUNCTION_CALL},
    {"function_call", PYTHON_FUNCTION_CALL},
    {"function_code_fastcall", PYTHON_FUNCTION_CALL},
    {"fast_function", PYTHON_FUNCTION_CALL},
    {"call_function", PYTHON_FUNCTION_CALL},
    {"trace_call_function", PYTHON_FUNCTION_CALL},
    {"do_call_core", PYTHON_FUNCTION_CALL},
    {"do_call", PYTHON_FUNCTION_CALL},
    {"ext_do_call", PYTHON_FUNCTION_CALL},
    {"PyObject_Call*", PYTHON_FUNCTION_CALL},
    {"PyObject_Vectorcall*", PYTHON_FUNCTION_CALL},
    {"_PyObject_Call*", PYTHON_FUNCTION_CALL},
    {"_PyObject_FastCall*", PYTHON_FUNCTION_CALL},
    {"_PyObject_MakeTpCall", PYTHON_FUNCTION_CALL},
    {"_PyObject_Vectorcall*", PYTHON_FUNCTION_CALL},
    {"_PyStack_AsDict", PYTHON_FUNCTION_CALL},
    {"PyVectorcall_*", PYTHON_FUNCTION_CALL},
    {"_PyVectorcall_*", PYTHON_FUNCTION_CALL},
    {"_Py_VectorCall*", PYTHON_FUNCTION_CALL},
    {"object_vacall", PYTHON_FUNCTION_CALL},
    {"callmethod*", PYTHON_FUNCTION_CALL},
    {"_PyCFunction_*", PYTHON_FUNCTION_CALL},
    {"PyCFunction_*", PYTHON_FUNCTION_CALL},
    {"cfunction_*", PYTHON_FUNCTION_CALL},
    {"cfunction_call*", PYTHON_FUNCTION_CALL},
    {"PyMethod_*", PYTHON_FUNCTION_CALL},
    {"method_vectorcall*", PYTHON_FUNCTION_CALL},
    {"method_call", PYTHON_FUNCTION_CALL},
    {"instancemethod_call", PYTHON_FUNCTION_CALL},
    {"classmethoddescr_call", PYTHON_FUNCTION_CALL},
    {"methoddescr_call", PYTHON_FUNCTION_CALL},
    {"_PyMethodDef_*", PYTHON_FUNCTION_CALL},
    {"_PyMethodDescr_*", PYTHON_FUNCTION_CALL},
    {"wrapperdescr_*", PYTHON_FUNCTION_CALL},
    {"wrapper_call", PYTHON_FUNCTION_CALL},
    {"wrap_*", PYTHON_FUNCTION_CALL},
    {"type_call", PYTHON_FUNCTION_CALL},
    {"type_vectorcall", PYTHON_FUNCTION_CALL},
    {"slot_*", PYTHON_FUNCTION_CALL},
    {"call_method*", PYTHON_FUNCTION_CALL},
    {"call_maybe", PYTHON_FUNCTION_CALL},
    {"call_unbound*", PYTHON_FUNCTION_CALL},
    {"call_attribute", PYTHON_FUNCTION_CALL},
    {"vectorcall_*", PYTHON_FUNCTION_CALL},
    {"_Py_CheckFunctionResult", PYTHON_FUNCTION_CALL},
    {"py_trampoline_evaluator", PYTHON_FUNCTION_CALL},

    /* Generators: resuming one. */
    {"gen_send_ex*", PYTHON_FUNCTION_CALL},
    {"gen_send", PYTHON_FUNCTION_CALL},
    {"gen_iternext", PYTHON_FUNCTION_CALL},
    {"gen_throw", PYTHON_FUNCTION_CALL},
    {"_gen_throw", PYTHON_FUNCTION_CALL},
    {"gen_close*", PYTHON_FUNCTION_CALL},
    {"_PyGen_*", PYTHON_FUNCTION_CALL},
    {"PyGen_*", PYTHON_FUNCTION_CALL},
    {"coro_*", PYTHON_FUNCTION_CALL},
    {"async_gen_*", PYTHON_FUNCTION_CALL},
    {"PyIter_*", PYTHON_FUNCTION_CALL},

    /* Start of the program and of its threads. */
    {"Py_Main", PYTHON_FUNCTION_CALL},
    {"Py_BytesMain", PYTHON_FUNCTION_CALL},
    {"Py_RunMain", PYTHON_FUNCTION_CALL},
    {"_Py_UnixMain", PYTHON_FUNCTION_CALL},
    {"pymain_*", PYTHON_FUNCTION_CALL},
    {"PyRun_*", PYTHON_FUNCTION_CALL},
    {"_PyRun_*", PYTHON_FUNCTION_CALL},
    {"pyrun_*", PYTHON_FUNCTION_CALL},
    {"run_mod", PYTHON_FUNCTION_CALL},
    {"run_eval_code_obj", PYTHON_FUNCTION_CALL},
    {"run_file", PYTHON_FUNCTION_CALL},
    {"thread_run", PYTHON_FUNCTION_CALL},
    {"t_bootstrap", PYTHON_FUNCTION_CALL},
    {"pythread_wrapper", PYTHON_FUNCTION_CALL},

    /* The import statement. */
    {"PyImport_*", PYTHON_FUNCTION_DISPATCH},
    {"_PyImport_*", PYTHON_FUNCTION_DISPATCH},
    {"import_name", PYTHON_FUNCTION_DISPATCH},
    {"import_from", PYTHON_FUNCTION_DISPATCH},
    {"import_find_and_load", PYTHON_FUNCTION_DISPATCH},
    {"import_ensure_initialized", PYTHON_FUNCTION_DISPATCH},

    /* Operators and attributes on their way to a slot. */
    {"PyObject_GenericGetAttr*", PYTHON_FUNCTION_ATTRIBUTE},
    {"_PyObject_GenericGetAttr*", PYTHON_FUNCTION_ATTRIBUTE},
    {"PyObject_*", PYTHON_FUNCTION_DISPATCH},
    {"_PyObject_*", PYTHON_FUNCTION_DISPATCH},
    {"PyNumber_*", PYTHON_FUNCTION_DISPATCH},
    {"PySequence_*", PYTHON_FUNCTION_DISPATCH},
    {"PyMapping_*", PYTHON_FUNCTION_DISPATCH},
    {"_PyType_*", PYTHON_FUNCTION_DISPATCH},
    {"PyType_*", PYTHON_FUNCTION_DISPATCH},
    {"binary_op*", PYTHON_FUNCTION_DISPATCH},
    {"binary_iop*", PYTHON_FUNCTION_DISPATCH},
    {"ternary_op*", PYTHON_FUNCTION_DISPATCH},
    {"ternary_iop*", PYTHON_FUNCTION_DISPATCH},
    {"sequence_repeat", PYTHON_FUNCTION_DISPATCH},
    {"do_richcompare", PYTHON_FUNCTION_DISPATCH},
    {"cmp_outcome", PYTHON_FUNCTION_DISPATCH},
    {"object_richcompare", PYTHON_FUNCTION_DISPATCH},
    {"property_descr_*", PYTHON_FUNCTION_DISPATCH},
    {"lookup_maybe_method", PYTHON_FUNCTION_DISPATCH},
    {"lookup_method", PYTHON_FUNCTION_DISPATCH},
    {"builtin___build_class__", PYTHON_FUNCTION_DISPATCH},
    {"type_new*", PYTHON_FUNCTION_DISPATCH},
    {"type_getattro", PYTHON_FUNCTION_DISPATCH},
    {"super_getattro", PYTHON_FUNCTION_DISPATCH},
    {"module_getattro", PYTHON_FUNCTION_DISPATCH},
    {"special_lookup", PYTHON_FUNCTION_DISPATCH},
    {"_PyEval_*", PYTHON_FUNCTION_DISPATCH},
    {"unpack_iterable", PYTHON_FUNCTION_DISPATCH},

    /* Signal handlers and pending calls. */
    {"PyErr_CheckSignals*", PYTHON_FUNCTION_DISPATCH},
    {"_PyErr_CheckSignals*", PYTHON_FUNCTION_DISPATCH},
    {"eval_frame_handle_pending", PYTHON_FUNCTION_DISPATCH},
    {"handle_signals", PYTHON_FUNCTION_DISPATCH},
    {"handle_eval_breaker", PYTHON_FUNCTION_DISPATCH},
    {"_Py_HandlePending", PYTHON_FUNCTION_DISPATCH},
    {"Py_MakePendingCalls", PYTHON_FUNCTION_DISPATCH},
    {"make_pending_calls", PYTHON_FUNCTION_DISPATCH},

    /* Destruction on the way to a finalizer. */
    {"_Py_Dealloc", PYTHON_FUNCTION_DISPATCH},
    {"subtype_dealloc", PYTHON_FUNCTION_DISPATCH},
    {"finalize_garbage", PYTHON_FUNCTION_DISPATCH},
    {"delete_garbage", PYTHON_FUNCTION_DISPATCH},
    {"handle_weakrefs", PYTHON_FUNCTION_DISPATCH},
    {"handle_callback", PYTHON_FUNCTION_DISPATCH},
    {"collect_with_callback", PYTHON_FUNCTION_DISPATCH},
    {"collect_generations", PYTHON_FUNCTION_DISPATCH},
    {"gc_collect_generations", PYTHON_FUNCTION_DISPATCH},
    {"gc_collect_with_callback", PYTHON_FUNCTION_DISPATCH},
    {"_Py_RunGC", PYTHON_FUNCTION_DISPATCH},
    {"dict_dealloc", PYTHON_FUNCTION_DISPATCH},
    {"list_dealloc", PYTHON_FUNCTION_DISPATCH},
    {"tupledealloc", PYTHON_FUNCTION_DISPATCH},
    {"frame_dealloc", PYTHON_FUNCTION_DISPATCH},
    {"_PyFrame_Clear*", PYTHON_FUNCTION_DISPATCH},
};

/* The compiler's clones (".cold", ".part.0", ".lto_priv.1") are the same function. */
static size_t base_length(const char *name)
{
    const char *dot = strchr(name + (*name == '.'), '.');
    return dot ? (size_t)(dot - name) : strlen(name);
}

enum python_function layout_classify_function(const struct py_rules *rules, const char *name)
{
    size_t length = base_length(name);
    /* 2.7's evaluator is in later versions a function that calls the evaluator (Python/ceval.c). */
    const char *evaluator = rules ? rules->spelling->evaluator : "";
    if (length == strlen(evaluator) && !strncmp(name, evaluator, length))
        return PYTHON_FUNCTION_EVALUATOR;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(names); i++) {
        size_t rule = strlen(names[i].name);
        bool prefix = names[i].name[rule - 1] == '*';
        if (prefix ? length >= rule - 1 && !strncmp(name, names[i].name, rule - 1)
                   : length == rule && !strncmp(name, names[i].name, rule))
            return names[i].is;
    }
    return PYTHON_FUNCTION_OTHER;
}

bool layout_is_gil_wait(const char *name, bool caller)
{
    /* The GIL of 2.7 is a lock like others, which the evaluator itself takes (Python/ceval.c),
       sometimes with all that leads to sem_wait() in it. */
    return strstr(name, "pthread_cond_timedwait") || strstr(name, "pthread_cond_clockwait") ||
           (caller && (!strcmp(name, "PyThread_acquire_lock") || strstr(name, "sem_wait")));
}

/* Python/import.c; it may be inlined into the function that Python code calls. */
bool layout_is_import_lock(const char *name)
{
    return !strcmp(name, "_PyImport_AcquireLock") || !strcmp(name, "_imp_acquire_lock");
}
