/* CPython's C API, 2.7 to 3.15. To add a function or a slot: a row here. */
#include "c_api.h"

#include <stdio.h>
#include <string.h>

/* ---- functions ---- */

/*
 * By symbol, sorted. Py_DECREF() itself calls _Py_Dealloc(), in free-threaded CPython
 * _Py_DecRefShared() and _Py_MergeZeroLocalRefcount(), and with Py_REF_DEBUG those that count
 * (Include/refcount.h, 3.14).
 */
static const struct {
    const char *symbol;
    uint32_t traits;
} functions[] = {
    {"PyBuffer_Release", C_API_CLEANUP},
    {"PyCallable_Check", C_API_NO_ERROR},
    {"PyCapsule_IsValid", C_API_NO_ERROR},
    {"PyCode_NewEmpty", C_API_MAKES_CODE},
    {"PyCriticalSection2_Begin", C_API_CLEANUP},
    {"PyCriticalSection2_End", C_API_CLEANUP},
    {"PyCriticalSection_Begin", C_API_CLEANUP},
    {"PyCriticalSection_End", C_API_CLEANUP},
    {"PyDict_GetItem", C_API_NO_ERROR},
    {"PyDict_GetItemString", C_API_NO_ERROR},
    {"PyDict_Next", C_API_NO_ERROR},
    {"PyDict_Size", C_API_NO_ERROR},
    {"PyErr_Clear", C_API_CLEANUP | C_API_CLEARS_ERROR},
    {"PyErr_ExceptionMatches", C_API_MATCHES_ERROR},
    {"PyErr_Fetch", C_API_CLEANUP | C_API_TAKES_ERROR},
    {"PyErr_Format", C_API_RAISES},
    {"PyErr_GetExcInfo", C_API_CLEANUP},
    {"PyErr_GetRaisedException", C_API_CLEANUP | C_API_TAKES_ERROR},
    {"PyErr_GivenExceptionMatches", C_API_MATCHES_ERROR},
    {"PyErr_Occurred", C_API_CLEANUP | C_API_ASKS_ERROR},
    {"PyErr_Restore", C_API_CLEANUP | C_API_RESTORES_ERROR},
    {"PyErr_SetExcInfo", C_API_CLEANUP},
    {"PyErr_SetNone", C_API_RAISES},
    {"PyErr_SetObject", C_API_RAISES},
    {"PyErr_SetRaisedException", C_API_CLEANUP | C_API_RESTORES_ERROR},
    {"PyErr_SetString", C_API_RAISES},
    {"PyErr_WriteUnraisable", C_API_UNRAISABLE},
    {"PyEval_RestoreThread", C_API_CLEANUP | C_API_GIL},
    {"PyEval_SaveThread", C_API_CLEANUP | C_API_GIL},
    {"PyException_GetTraceback", C_API_CLEANUP | C_API_TAKES_ERROR},
    {"PyException_SetTraceback", C_API_CLEANUP},
    {"PyGILState_Ensure", C_API_CLEANUP | C_API_GIL | C_API_TAKES_GIL},
    {"PyGILState_Release", C_API_CLEANUP | C_API_GIL},
    {"PyIndex_Check", C_API_NO_ERROR},
    {"PyLong_FromLong", C_API_MAKES_INT},
    {"PyMapping_Check", C_API_NO_ERROR},
    {"PyMem_Calloc", C_API_NO_ERROR},
    {"PyMem_Free", C_API_CLEANUP},
    {"PyMem_Malloc", C_API_NO_ERROR},
    {"PyMem_RawCalloc", C_API_NO_ERROR},
    {"PyMem_RawMalloc", C_API_NO_ERROR},
    {"PyMem_RawRealloc", C_API_NO_ERROR},
    {"PyMem_Realloc", C_API_NO_ERROR},
    {"PyMutex_Lock", C_API_CLEANUP},
    {"PyMutex_Unlock", C_API_CLEANUP},
    {"PyNumber_Check", C_API_NO_ERROR},
    {"PyObject_Calloc", C_API_NO_ERROR},
    {"PyObject_Free", C_API_CLEANUP},
    {"PyObject_GC_Del", C_API_CLEANUP},
    {"PyObject_GC_UnTrack", C_API_CLEANUP},
    {"PyObject_HasAttr", C_API_NO_ERROR},
    {"PyObject_HasAttrString", C_API_NO_ERROR},
    {"PyObject_Malloc", C_API_NO_ERROR},
    {"PyObject_Realloc", C_API_NO_ERROR},
    {"PySequence_Check", C_API_NO_ERROR},
    {"PyString_FromString", C_API_MAKES_TEXT},
    {"PyThreadState_Get", C_API_CLEANUP | C_API_THREAD_STATE},
    {"PyThreadState_GetUnchecked", C_API_CLEANUP | C_API_THREAD_STATE},
    {"PyThread_acquire_lock", C_API_CLEANUP},
    {"PyThread_allocate_lock", C_API_CLEANUP},
    {"PyThread_release_lock", C_API_CLEANUP},
    {"PyTraceBack_Here", C_API_REPORTS},
    {"PyType_GetSlot", C_API_NO_ERROR},
    {"PyType_IsSubtype", C_API_MATCHES_ERROR},
    {"PyType_Modified", C_API_NO_ERROR},
    {"PyUnicode_Compare", C_API_NO_ERROR},
    {"PyUnicode_Find", C_API_NO_ERROR},
    {"PyUnicode_FindChar", C_API_NO_ERROR},
    {"PyUnicode_FromString", C_API_MAKES_TEXT},
    {"Py_CompileString", C_API_COMPILES},
    {"Py_DecRef", C_API_CLEANUP},
    {"Py_FatalError", C_API_NEVER_RETURNS},
    {"Py_IncRef", C_API_CLEANUP},
    {"Py_LeaveRecursiveCall", C_API_CLEANUP},
    {"_PyObject_GetDictPtr", C_API_NO_ERROR},
    {"_PyThreadState_UncheckedGet", C_API_CLEANUP | C_API_THREAD_STATE},
    {"_Py_CheckFunctionResult", C_API_CLEANUP | C_API_HANDS_ON},
    {"_Py_DECREF_DecRefTotal", C_API_CLEANUP},
    {"_Py_Dealloc", C_API_CLEANUP},
    {"_Py_DecRef", C_API_CLEANUP},
    {"_Py_DecRefShared", C_API_CLEANUP},
    {"_Py_DecRefSharedDebug", C_API_CLEANUP},
    {"_Py_FatalErrorFunc", C_API_NEVER_RETURNS},
    {"_Py_INCREF_IncRefTotal", C_API_CLEANUP},
    {"_Py_IncRef", C_API_CLEANUP},
    {"_Py_LeaveRecursiveCall", C_API_CLEANUP},
    {"_Py_MergeZeroLocalRefcount", C_API_CLEANUP},
    {"_Py_NegativeRefcount", C_API_NEVER_RETURNS},
};

/* Of all whose symbol begins so. */
static const struct {
    const char *beginning;
    uint32_t traits;
} families[] = {
    {"PyErr_Format", C_API_SETS_ERROR},
    {"PyErr_Set", C_API_SETS_ERROR},
    {"PyImport_AddModule", C_API_ADDS_MODULE},
};

uint32_t c_api_traits(const char *symbol)
{
    if (!c_api_is_symbol(symbol))
        return 0;
    size_t at = SORTED_COUNT(i, PSC_ARRAY_SIZE(functions), strcmp(functions[i].symbol, symbol) < 0);
    bool found = at < PSC_ARRAY_SIZE(functions) && strcmp(functions[at].symbol, symbol) == 0;
    uint32_t traits = found ? functions[at].traits : 0;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(families); i++)
        if (strncmp(symbol, families[i].beginning, strlen(families[i].beginning)) == 0)
            traits |= families[i].traits;
    return traits;
}

bool c_api_is_symbol(const char *symbol)
{
    return strncmp(symbol, "Py", 2) == 0 || strncmp(symbol, "_Py", 3) == 0;
}

/*
 * PyCode_NewEmpty(const char *filename, const char *funcname, int firstlineno).
 * PyCode_New(argcount, kwonlyargcount, nlocals, stacksize, flags, code, consts, names, varnames,
 * freevars, cellvars, filename, name, firstlineno, lnotab); CPython 2 has no kwonlyargcount.
 */
static const struct c_api_code_maker code_makers[] = {
    {.symbol = "PyCode_NewEmpty", .python2 = false, .file = 0, .name = 1, .line = 2},
    {.symbol = "PyCode_NewEmpty", .python2 = true, .file = 0, .name = 1, .line = 2},
    {.symbol = "PyCode_New", .python2 = false, .file = 11, .name = 12, .line = 13},
    {.symbol = "PyCode_New", .python2 = true, .file = 10, .name = 11, .line = 12},
};

const struct c_api_code_maker *c_api_find_code_maker(const char *symbol, bool python2)
{
    for (size_t i = 0; i < PSC_ARRAY_SIZE(code_makers); i++)
        if (code_makers[i].python2 == python2 && strcmp(code_makers[i].symbol, symbol) == 0)
            return &code_makers[i];
    return NULL;
}

static const struct c_api_text_maker text_makers[] = {
    {"PyUnicode_FromString", 0, false},
    {"PyUnicode_FromFormat", 1, false}, /* Of "%s ...". */
    {"PyString_FromString", 0, true},
    {"PyString_FromFormat", 1, true},
};

const struct c_api_text_maker *c_api_find_text_maker(const char *symbol)
{
    for (size_t i = 0; i < PSC_ARRAY_SIZE(text_makers); i++)
        if (strcmp(text_makers[i].symbol, symbol) == 0)
            return &text_makers[i];
    return NULL;
}

/* ---- slots of types ---- */

/** The part of a PyTypeObject that a slot is in. */
enum part { PART_TYPE, PART_ASYNC, PART_NUMBER, PART_SEQUENCE, PART_MAPPING, PART_BUFFER };

/* tp_as_async to tp_as_buffer of cpython/object.h. */
static const uint16_t part_offsets[] = {
    [PART_TYPE] = 0,       [PART_ASYNC] = 80,    [PART_NUMBER] = 96,
    [PART_SEQUENCE] = 104, [PART_MAPPING] = 112, [PART_BUFFER] = 160,
};

static const struct c_api_slot slots[] = {
    {1, PART_BUFFER, 0, "bf_getbuffer"},
    {2, PART_BUFFER, 8, "bf_releasebuffer"},
    {3, PART_MAPPING, 16, "mp_ass_subscript"},
    {4, PART_MAPPING, 0, "mp_length"},
    {5, PART_MAPPING, 8, "mp_subscript"},
    {6, PART_NUMBER, 64, "nb_absolute"},
    {7, PART_NUMBER, 0, "nb_add"},
    {8, PART_NUMBER, 104, "nb_and"},
    {9, PART_NUMBER, 72, "nb_bool"},
    {10, PART_NUMBER, 32, "nb_divmod"},
    {11, PART_NUMBER, 144, "nb_float"},
    {12, PART_NUMBER, 232, "nb_floor_divide"},
    {13, PART_NUMBER, 264, "nb_index"},
    {14, PART_NUMBER, 152, "nb_inplace_add"},
    {15, PART_NUMBER, 208, "nb_inplace_and"},
    {16, PART_NUMBER, 248, "nb_inplace_floor_divide"},
    {17, PART_NUMBER, 192, "nb_inplace_lshift"},
    {18, PART_NUMBER, 168, "nb_inplace_multiply"},
    {19, PART_NUMBER, 224, "nb_inplace_or"},
    {20, PART_NUMBER, 184, "nb_inplace_power"},
    {21, PART_NUMBER, 176, "nb_inplace_remainder"},
    {22, PART_NUMBER, 200, "nb_inplace_rshift"},
    {23, PART_NUMBER, 160, "nb_inplace_subtract"},
    {24, PART_NUMBER, 256, "nb_inplace_true_divide"},
    {25, PART_NUMBER, 216, "nb_inplace_xor"},
    {26, PART_NUMBER, 128, "nb_int"},
    {27, PART_NUMBER, 80, "nb_invert"},
    {28, PART_NUMBER, 88, "nb_lshift"},
    {29, PART_NUMBER, 16, "nb_multiply"},
    {30, PART_NUMBER, 48, "nb_negative"},
    {31, PART_NUMBER, 120, "nb_or"},
    {32, PART_NUMBER, 56, "nb_positive"},
    {33, PART_NUMBER, 40, "nb_power"},
    {34, PART_NUMBER, 24, "nb_remainder"},
    {35, PART_NUMBER, 96, "nb_rshift"},
    {36, PART_NUMBER, 8, "nb_subtract"},
    {37, PART_NUMBER, 240, "nb_true_divide"},
    {38, PART_NUMBER, 112, "nb_xor"},
    {39, PART_SEQUENCE, 40, "sq_ass_item"},
    {41, PART_SEQUENCE, 56, "sq_contains"},
    {44, PART_SEQUENCE, 24, "sq_item"},
    {45, PART_SEQUENCE, 0, "sq_length"},
    {50, PART_TYPE, 128, "tp_call"},
    {51, PART_TYPE, 192, "tp_clear"},
    {52, PART_TYPE, C_API_TYPE_DEALLOC, "tp_dealloc"},
    {54, PART_TYPE, 272, "tp_descr_get"},
    {55, PART_TYPE, 280, "tp_descr_set"},
    {58, PART_TYPE, 144, "tp_getattro"},
    {59, PART_TYPE, 120, "tp_hash"},
    {60, PART_TYPE, 296, "tp_init"},
    {62, PART_TYPE, 216, "tp_iter"},
    {63, PART_TYPE, 224, "tp_iternext"},
    {65, PART_TYPE, 312, "tp_new"},
    {66, PART_TYPE, 88, "tp_repr"},
    {67, PART_TYPE, 200, "tp_richcompare"},
    {69, PART_TYPE, 152, "tp_setattro"},
    {70, PART_TYPE, 136, "tp_str"},
    {71, PART_TYPE, 184, "tp_traverse"},
    {75, PART_NUMBER, 272, "nb_matrix_multiply"},
    {76, PART_NUMBER, 280, "nb_inplace_matrix_multiply"},
    {77, PART_ASYNC, 0, "am_await"},
    {78, PART_ASYNC, 8, "am_aiter"},
    {79, PART_ASYNC, 16, "am_anext"},
    {80, PART_TYPE, 392, "tp_finalize"},
};

const struct c_api_slot *c_api_slots(size_t *ret_count)
{
    *ret_count = PSC_ARRAY_SIZE(slots);
    return slots;
}

uint16_t c_api_part_offset(uint8_t part)
{
    return part < PSC_ARRAY_SIZE(part_offsets) ? part_offsets[part] : 0;
}

/* ---- names of symbols, types and files ---- */

/* Python/importdl.c, ascii_only_prefix. */
#define MODULE_ENTRY "PyInit_"

/* Python/traceback.c */
const char c_api_traceback_symbol[] = "PyTraceBack_Here";

/* Python/pylifecycle.c, fatal_error(); Objects/object.c. */
static const struct c_api_abort aborts[] = {
    {"_PyObject_AssertFailed", "an assertion of Python about an object failed"},
    {"Py_FatalError", "Python gave up (Py_FatalError)"},
    {"_Py_FatalErrorFunc", "Python gave up (Py_FatalError)"},
    {"_Py_FatalErrorFormat", "Python gave up (Py_FatalError)"},
};

const struct c_api_abort *c_api_aborts(size_t *ret_count)
{
    *ret_count = PSC_ARRAY_SIZE(aborts);
    return aborts;
}

/* Python/pylifecycle.c; from 3.9 on Py_FatalError() is a macro for _Py_FatalErrorFunc() as well. */
static const struct c_api_fatal fatals[] = {
    {.symbol = "Py_FatalError"},
    {.symbol = "_Py_FatalErrorFunc", .text = 1, .has_function = true},
    {.symbol = "_Py_FatalErrorFormat", .text = 1, .has_function = true, .is_format = true},
    /* Objects/object.c, from 3.10 on. */
    {.symbol = "_Py_FatalRefcountErrorFunc",
     .text = 1,
     .has_function = true,
     .more = ": bug likely caused by a refcount error in a C extension"},
};

const struct c_api_fatal *c_api_find_fatal(const char *symbol)
{
    for (size_t i = 0; i < PSC_ARRAY_SIZE(fatals); i++)
        if (strcmp(fatals[i].symbol, symbol) == 0)
            return &fatals[i];
    return NULL;
}

/* Objects/typeobject.c, object.c, weakrefobject.c, moduleobject.c, Python/pylifecycle.c, of 2.7 to
 * 3.15; libffi's src/x86/unix64.S. */
static const struct {
    const char *symbol;
    enum c_api_phase phase;
} phases[] = {
    {"slot_tp_finalize", C_API_PHASE_FINALIZER},
    {"slot_tp_del", C_API_PHASE_FINALIZER},
    {"PyObject_CallFinalizer", C_API_PHASE_FINALIZER},
    {"PyObject_CallFinalizerFromDealloc", C_API_PHASE_FINALIZER},
    {"PyObject_ClearWeakRefs", C_API_PHASE_WEAK_REFERENCE},
    {"handle_weakrefs", C_API_PHASE_WEAK_REFERENCE},
    {"ffi_closure_unix64", C_API_PHASE_CALLBACK},
    {"ffi_closure_unix64_sse", C_API_PHASE_CALLBACK},
    {"ffi_closure_unix64_inner", C_API_PHASE_CALLBACK},
    {"closure_fcn", C_API_PHASE_CALLBACK},
    {"PyModule_ExecDef", C_API_PHASE_MODULE},
    {"Py_Finalize", C_API_PHASE_END},
    {"Py_FinalizeEx", C_API_PHASE_END},
    {"_Py_Finalize", C_API_PHASE_END}, // 3.13, of which the others are made
};

enum c_api_phase c_api_find_phase(const char *symbol, const char **ret_name)
{
    // GCC adds ".part.0", ".constprop.0" and the like to what it has made of a function.
    size_t size = strcspn(symbol, ".");
    *ret_name = "";
    for (size_t i = 0; i < PSC_ARRAY_SIZE(phases); i++)
        if (strlen(phases[i].symbol) == size && strncmp(phases[i].symbol, symbol, size) == 0)
            return phases[i].phase;
    if (!c_api_is_module_entry(symbol))
        return C_API_PHASE_NONE;
    *ret_name = symbol + strlen(MODULE_ENTRY);
    return C_API_PHASE_MODULE;
}

bool c_api_is_module_entry(const char *symbol)
{
    return strncmp(symbol, MODULE_ENTRY, strlen(MODULE_ENTRY)) == 0;
}

void c_api_format_module_entry(const char *file_name, char *ret, size_t size)
{
    snprintf(ret, size, MODULE_ENTRY "%.*s", (int)strcspn(file_name, "."), file_name);
}

bool c_api_is_character_type(const char *name)
{
    return strcmp(name, "Py_UCS4") == 0 || strcmp(name, "Py_UNICODE") == 0;
}

bool c_api_is_interpreter_file(const char *name)
{
    return strncmp(name, "python", strlen("python")) == 0;
}
