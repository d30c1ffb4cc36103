/*
 * A function as Cython 3 writes it: the wrapper that Python calls keeps the arguments in `values`,
 * the body, which is inlined, has none of them any more when it dies.
 * Made by: cc -g -O2 -shared -fPIC passed.c
 */
#include <Python.h>

static volatile int total;

static __attribute__((noinline)) int die(int *place)
{
    *place = 1;
    return total;
}

static inline PyObject *__pyx_pf_6passed_area(PyObject *__pyx_self, PyObject *__pyx_v_width,
                                              PyObject *__pyx_v_height, int __pyx_v_depth)
{
    (void)__pyx_self;
    total = (int)PyLong_AsLong(__pyx_v_width) + (int)PyLong_AsLong(__pyx_v_height) + __pyx_v_depth;
    return PyLong_FromLong(die(NULL) + total);
}

static PyObject *__pyx_pw_6passed_1area(PyObject *__pyx_self, PyObject *const *__pyx_args,
                                        Py_ssize_t __pyx_nargs)
{
    PyObject *values[3] = {NULL, NULL, NULL};
    for (Py_ssize_t i = 0; i < 3 && i < __pyx_nargs; i++) {
        Py_INCREF(__pyx_args[i]);
        values[i] = __pyx_args[i];
    }
    __asm__ volatile("" : : "r"(values) : "memory");
    PyObject *result =
        __pyx_pf_6passed_area(__pyx_self, values[0], values[1], (int)PyLong_AsLong(values[2]));
    for (int i = 0; i < 3; i++)
        Py_XDECREF(values[i]);
    return result;
}

static PyMethodDef methods[] = {
    {"area", (PyCFunction)(void (*)(void))__pyx_pw_6passed_1area, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "passed", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_passed(void)
{
    return PyModule_Create(&module);
}
