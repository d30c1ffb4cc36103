# Python gives up (argument): with a text of C, with one of ours, in its debugging allocator.
import ctypes
import sys

way = sys.argv[1]
api = ctypes.CDLL(ctypes.pythonapi._name)
if way == "own_text":
    api.Py_FatalError(b"the end, as asked")
elif way == "own_function":
    api._Py_FatalErrorFunc(b"my_function", b"the end, as asked")
elif way == "no_thread_state":
    api.PyThreadState_Get()
elif way == "none":
    for _ in range(10 ** 6):
        ctypes.pythonapi.Py_DecRef(ctypes.py_object(None))
elif way == "overrun":
    gil = ctypes.PyDLL(ctypes.pythonapi._name)
    gil.PyMem_Malloc.restype = ctypes.c_void_p
    gil.PyMem_Free.argtypes = [ctypes.c_void_p]
    memory = gil.PyMem_Malloc(16)
    ctypes.memset(memory + 16, 120, 1)
    gil.PyMem_Free(memory)
