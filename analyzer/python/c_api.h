/**
 * @file
 * Part of the door of python/: CPython's C API as machine code that calls it shows it: what its
 * functions do, and the structs that extensions fill in their own data.
 */
#ifndef PSC_C_API_H
#define PSC_C_API_H

#include "base.h"

/* ---- functions ---- */

enum c_api_trait {
    /** It cannot fail on an error path: it releases, counts, locks or asks. */
    C_API_CLEANUP = 1 << 0,
    C_API_MATCHES_ERROR = 1 << 1, /**< Tells whether an exception is of a type. */
    C_API_ASKS_ERROR = 1 << 2,    /**< Tells whether an exception is set. */
    C_API_CLEARS_ERROR = 1 << 3,
    C_API_TAKES_ERROR = 1 << 4,    /**< Takes the exception that is set. */
    C_API_RESTORES_ERROR = 1 << 5, /**< Sets one that was taken. */
    C_API_RAISES = 1 << 6,         /**< Only sets an exception. */
    C_API_SETS_ERROR = 1 << 7,     /**< All that are called as if they set one. */
    C_API_UNRAISABLE = 1 << 8,     /**< Hands the exception to sys.unraisablehook. */
    C_API_NO_ERROR = 1 << 9,       /**< Its NULL, 0 or -1 is no exception: up to the caller. */
    C_API_NEVER_RETURNS = 1 << 10,
    C_API_THREAD_STATE = 1 << 11, /**< Returns the thread's state. */
    C_API_GIL = 1 << 12,          /**< Takes or releases the GIL. */
    C_API_TAKES_GIL = 1 << 13,    /**< From a thread that the interpreter may not know. */
    C_API_HANDS_ON = 1 << 14,     /**< Returns its argument C_API_HANDED_ON. */
    C_API_MAKES_TEXT = 1 << 15,   /**< Makes a string of one in C. */
    C_API_REPORTS = 1 << 16,      /**< Adds an entry to the traceback: PyTraceBack_Here(). */
    C_API_ADDS_MODULE = 1 << 17,
    C_API_COMPILES = 1 << 18,  /**< Text of the file that argument C_API_COMPILED_FILE names. */
    C_API_MAKES_INT = 1 << 19, /**< Of its first argument. */
    C_API_MAKES_CODE = 1 << 20 /**< PyCode_NewEmpty(), of name, file and line alone. */
};

/** What is known of a function by its symbol: a set of enum c_api_trait. */
uint32_t c_api_traits(const char *symbol);
/** Whether a symbol is one of the interpreter's, by its name alone. */
bool c_api_is_symbol(const char *symbol);

/** Of C_API_HANDS_ON and C_API_COMPILES; arguments count from 0. */
#define C_API_HANDED_ON     1
#define C_API_COMPILED_FILE 1

/** Which arguments tell of a code object that is made. */
struct c_api_code_maker {
    const char *symbol;
    bool python2; /**< As of CPython 2.7; a symbol may have two rows. */
    uint8_t name;
    uint8_t line;
    uint8_t file;
};

/** NULL: it makes none. */
const struct c_api_code_maker *c_api_find_code_maker(const char *symbol, bool python2);

/** Which argument is the text of a string object that is made. */
struct c_api_text_maker {
    const char *symbol;
    uint8_t text;
    bool python2; /**< Only CPython 2.7 has it. */
};

/** NULL: it makes none. */
const struct c_api_text_maker *c_api_find_text_maker(const char *symbol);

/** A function that calls abort(), and what that says. */
struct c_api_abort {
    const char *symbol;
    const char *words;
};

/** The interpreter's own ones, the most telling first. */
const struct c_api_abort *c_api_aborts(size_t *ret_count);

/** A function that prints a text and calls abort(); arguments count from 0. */
struct c_api_fatal {
    const char *symbol;
    uint8_t text;
    bool has_function;
    uint8_t function; /**< The name of the function that gave up, with has_function. */
    bool is_format;   /**< The text has places for further arguments in it, as printf(3) has. */
    const char *more; /**< What it prints behind the text; NULL: nothing. */
};

/** NULL: it is none. */
const struct c_api_fatal *c_api_find_fatal(const char *symbol);

/** What the interpreter is about while one of its functions is on a stack. */
enum c_api_phase {
    C_API_PHASE_NONE,
    C_API_PHASE_FINALIZER,      /**< Runs tp_finalize or tp_del: __del__(), if Python code. */
    C_API_PHASE_WEAK_REFERENCE, /**< Calls the callbacks of weak references. */
    C_API_PHASE_CALLBACK,       /**< C calls Python, by libffi's closures: ctypes, cffi. */
    C_API_PHASE_MODULE,         /**< Initializes an extension module. */
    C_API_PHASE_COLLECTOR,      /**< Collects garbage; see PYTHON_FUNCTION_COLLECT. */
    C_API_PHASE_END             /**< Py_Finalize() */
};

/** @param ret_name  of the module, where the symbol has it; else "". */
enum c_api_phase c_api_find_phase(const char *symbol, const char **ret_name);

/* ---- names of symbols, types and files ---- */

/** PyTraceBack_Here(), which adds an entry to the traceback: compiled modules import it. */
extern const char c_api_traceback_symbol[];

/** Whether a symbol is the entry of a module whose name is in ASCII: "PyInit_name". */
bool c_api_is_module_entry(const char *symbol);
/**
 * Writes the entry's symbol of an extension module.
 * @param file_name  "name.cpython-311-x86_64-linux-gnu.so"
 */
void c_api_format_module_entry(const char *file_name, char *ret, size_t size);
/** Whether a C type's name is that of a character of a string: Cython shows it as one. */
bool c_api_is_character_type(const char *name);
/** Whether a file's name is that of an interpreter's program: "python3.11". */
bool c_api_is_interpreter_file(const char *name);

/* ---- structs in an extension's data, of 64 bits: the same in CPython 2.7 to 3.15 ---- */

enum c_api_layout {
    /* PyMethodDef */
    C_API_METHOD_NAME = 0,
    C_API_METHOD_FUNCTION = 8,
    C_API_METHOD_FLAGS = 16,
    C_API_METHOD_DOC = 24,
    C_API_METHOD_SIZE = 32,
    C_API_METHOD_ALL_FLAGS = 0x3ff, /**< METH_VARARGS to METH_METHOD of methodobject.h. */
    /* PyGetSetDef */
    C_API_PROPERTY_NAME = 0,
    C_API_PROPERTY_GET = 8,
    C_API_PROPERTY_SET = 16,
    C_API_PROPERTY_SIZE = 40,
    /* PyTypeObject */
    C_API_TYPE_ITEMS = 16, /**< ob_size */
    C_API_TYPE_NAME = 24,
    C_API_TYPE_BASIC_SIZE = 32,
    C_API_TYPE_DEALLOC = 48,
    C_API_TYPE_FLAGS = 168,
    C_API_TYPE_METHODS = 232,
    C_API_TYPE_PROPERTIES = 248,
    /* PyType_Spec */
    C_API_SPEC_BASIC_SIZE = 8,
    C_API_SPEC_FLAGS = 16,
    C_API_SPEC_SLOTS = 24,
    /* PyType_Slot and PyModuleDef_Slot: a number, and a pointer. */
    C_API_SLOT_VALUE = 8,
    C_API_SLOT_SIZE = 16,
    C_API_SLOT_METHODS = 64,    /**< Py_tp_methods */
    C_API_SLOT_PROPERTIES = 73, /**< Py_tp_getset */
    /* PyModuleDef, from m_name. */
    C_API_MODULE_SLOTS = 32,
    C_API_MODULE_EXEC = 2 /**< Py_mod_exec */
};

/** A slot of a type, with its number in typeslots.h. */
struct c_api_slot {
    uint8_t number;
    uint8_t part;    /**< For c_api_part_offset(). */
    uint16_t offset; /**< In that part. */
    const char *name;
};

const struct c_api_slot *c_api_slots(size_t *ret_count);
/** Where a PyTypeObject has the pointer to a part of its slots; 0: they are in the type itself. */
uint16_t c_api_part_offset(uint8_t part);

#endif
