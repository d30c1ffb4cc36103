/**
 * @file
 * Where things lie in the structs of other projects' extension modules: numpy and greenlet.
 */
#ifndef PSC_PYTHON_OTHER_PROJECTS_H
#define PSC_PYTHON_OTHER_PROJECTS_H

#include "base.h"

/*
 * numpy, by the C structs that its ABI promises (numpy/ndarraytypes.h, numpy/arrayscalars.h; the
 * same in 1.x and 2.x as far as they are read here). Offsets count from behind the object header.
 */
enum {
    NUMPY_ARRAY_DATA = 0,
    NUMPY_ARRAY_DIMENSION_COUNT = 8,
    NUMPY_ARRAY_DIMENSIONS = 16,
    NUMPY_ARRAY_STRIDES = 24,
    NUMPY_ARRAY_DTYPE = 40
};
enum { NUMPY_DTYPE_KIND = 8, NUMPY_DTYPE_BYTE_ORDER = 10, NUMPY_DTYPE_NUMBER = 12 };

/** Where versions differ: _PyArray_LegacyDescr, offsets as above; and what repr() says. */
struct numpy_layout {
    uint32_t size; /**< Of an item; of `size_width` bytes. */
    uint32_t size_width;
    uint32_t alignment; /**< As wide as the size. */
    uint32_t flags;     /**< A byte: NUMPY_DTYPE_ALIGNED and others. */
    uint32_t subarray;  /**< To a struct of a dtype and a shape, an object each. */
    uint32_t fields;    /**< A dict of (dtype, offset), and others. */
    uint32_t names;
    uint32_t time;        /**< To what the unit is in, behind NUMPY_TIME_UNIT bytes. */
    bool named_scalars;   /**< np.float64(1.5) */
    bool unit_of_no_time; /**< np.datetime64('NaT','s') */
    int half_most;        /**< The power of ten from which on they have an exponent. */
    int single_most;      /**< The same of 32 bits. */
};

/** @return NULL for a version that is not known. */
const struct numpy_layout *layout_of_numpy(uint64_t major, uint64_t minor);

#define NUMPY_DTYPE_ALIGNED 0x80u /**< NPY_ALIGNED_STRUCT */
#define NUMPY_TIME_UNIT     32u   /**< Behind NpyAuxData: an int for the unit, one for how many. */

/** Of a datetime64 or timedelta64: its number, then unit and how many, an int each. */
enum { NUMPY_SCALAR_TIME_UNIT = 8, NUMPY_SCALAR_TIME_COUNT = 12 };
/** Of a numpy.void: its bytes, its dtype; behind ob_size. */
enum { NUMPY_VOID_DATA = 8, NUMPY_VOID_DTYPE = 16 };

/**
 * numpy/_core/src/multiarray/stringdtype/ of 2.0 and later. PyArray_StringDTypeObject: the object
 * for what is missing (0: none), whether other objects become text, and what texts lie in; there
 * the buffer of its arena.
 */
enum { NUMPY_TEXT_MISSING = 72, NUMPY_TEXT_COERCE = 80, NUMPY_TEXT_ALLOCATOR = 120 };
enum { NUMPY_ALLOCATOR_BUFFER = 40 };
#define NUMPY_TEXT_NUMBER 2056u /**< NPY_VSTRING */
/** static_string.c: an item is a short text, or where one lies and its size; the last byte: */
enum {
    NUMPY_TEXT_WIDTH = 16,
    NUMPY_TEXT_SHORT_SIZE = 0x0f, /**< Of a short one. */
    NUMPY_TEXT_OUTSIDE = 0x20,    /**< With NUMPY_TEXT_SET alone: a short one. */
    NUMPY_TEXT_SET = 0x40,
    NUMPY_TEXT_IS_MISSING = 0x80,
    NUMPY_TEXT_FLAGS = 0xf0
};

#define NUMPY_BIG_ENDIAN '>'
#define NUMPY_DIMENSIONS 64 /**< NPY_MAXDIMS of 2.x. */

enum numpy_form {
    NUMPY_NONE, /**< Not read. */
    NUMPY_BOOL,
    NUMPY_INT,
    NUMPY_UINT,
    NUMPY_FLOAT,
    NUMPY_COMPLEX,
    NUMPY_OBJECT,
    NUMPY_LONG_FLOAT,   /**< x87's extended precision. */
    NUMPY_LONG_COMPLEX, /**< Two of them. */
    NUMPY_BYTES,
    NUMPY_STR, /**< UCS-4. */
    NUMPY_VOID,
    NUMPY_DATETIME,
    NUMPY_TIMEDELTA,
    NUMPY_TEXT /**< StringDType's, each as long as it is. */
};

struct numpy_number {
    const char *name;
    enum numpy_form form;
    uint8_t width; /**< Bytes; 0: the dtype tells. */
};

/** By enum NPY_TYPES; NULL past the last that is known. */
const struct numpy_number *layout_get_numpy_number(uint32_t number);

struct py_layout;

/**
 * The greenlet module: a plain struct up to 1.1 (greenlet.h), a C++ object behind a pointer from
 * 2.0 on (TGreenlet.hpp, TStackState.cpp, TPythonState.cpp), whose members move with the version
 * of either. Offsets count from where stack_start lies.
 */
struct greenlet_layout {
    uint32_t pointer;     /**< From behind the object header to a pointer to it; up to 1.1: none. */
    uint32_t stack_start; /**< From there; of the C++ object without the pointer to itself. */
    uint32_t own_pointer; /**< Where in the C++ object that one is, which 3.1 and later have; */
    uint32_t own_size;    /**< its size. */
    uint32_t stack_stop;
    uint32_t stack_copy; /**< The saved part of its C stack, and how much that is. */
    uint32_t stack_saved;
    uint32_t previous; /**< The greenlet whose C stack lies further out: its stack_start; up to
                            1.1: the object. */
    uint32_t top_frame;
    uint32_t cframe;       /**< Its newest CFrame, with CPython 3.10 to 3.12. */
    uint32_t frames_first; /**< Where a pointer to the newest frame may be, from 3.11 on. */
    uint32_t frames_last;
};

/** @param has_struct  greenlet 1.1 or before. */
struct greenlet_layout layout_of_greenlets(const struct py_layout *layout, bool has_struct);
/** Whether greenlet.__version__ is 1.1 or before. */
bool layout_has_greenlet_struct(const char *version);

#endif
