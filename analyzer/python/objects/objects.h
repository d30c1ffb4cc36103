/** @file What an object's type says of how to show it. */
#ifndef PSC_PY_TYPE_H
#define PSC_PY_TYPE_H

#include "python_private.h"

/** How the objects of a type, or of one derived from it, are laid out. */
enum py_kind {
    PY_KIND_OBJECT, /**< Nothing more is known than that it may have attributes. */
    PY_KIND_NONE,
    PY_KIND_ELLIPSIS,
    PY_KIND_NOT_IMPLEMENTED,
    PY_KIND_BOOL,
    PY_KIND_INT,       /**< 2.7: long. */
    PY_KIND_PLAIN_INT, /**< 2.7: int. */
    PY_KIND_FLOAT,
    PY_KIND_COMPLEX,
    PY_KIND_STR,   /**< 2.7: unicode. */
    PY_KIND_BYTES, /**< 2.7: str. */
    PY_KIND_BYTEARRAY,
    PY_KIND_TUPLE,
    PY_KIND_LIST,
    PY_KIND_DICT,
    PY_KIND_SET,
    PY_KIND_FROZENSET,
    PY_KIND_DEQUE,
    PY_KIND_SLICE,
    PY_KIND_RANGE,
    PY_KIND_FUNCTION,
    PY_KIND_METHOD,
    PY_KIND_BUILTIN,
    PY_KIND_TYPE,
    PY_KIND_MODULE,
    PY_KIND_GENERATOR,
    PY_KIND_CELL,
    PY_KIND_MEMBER, /**< The descriptor of a slot. */
    PY_KIND_EXCEPTION,
    PY_KIND_OLD_INSTANCE, /**< 2.7: of a class without a type. */
    PY_KIND_OLD_CLASS,
    PY_KIND_DATE,
    PY_KIND_DATETIME,
    PY_KIND_TIME,
    PY_KIND_TIMEDELTA,
    PY_KIND_TIMEZONE,
    PY_KIND_MAPPINGPROXY,
    PY_KIND_DICTVIEW,
    PY_KIND_WEAKREF,
    PY_KIND_MEMORYVIEW,
    PY_KIND_DECIMAL,
    PY_KIND_UUID,
    PY_KIND_PATTERN, /**< Of a regular expression. */
    PY_KIND_PATH,    /**< pathlib's own, of POSIX. */
    PY_KIND_CYFUNCTION,
    PY_KIND_CLOSURE, /**< Of a Cython function. */
    PY_KIND_NUMPY_ARRAY,
    PY_KIND_NUMPY_SCALAR
};

/** A name in __slots__ and where its value is in an object. */
struct py_slot {
    psc_addr name;
    uint64_t offset;
};

#define PY_SLOT_LIMIT 32u

/** Cython/Compiler/Naming.py, closure_class_prefix; a number, and the function's name follow. */
#define PY_CLOSURE_PREFIX "__pyx_scope_struct_"

/** One for each type that was met; in the arena. */
struct py_type {
    psc_addr address;
    uint64_t flags;
    enum py_kind kind;
    bool exact;         /**< The kind's own type, not one derived from it. */
    bool enumeration;   /**< Its metatype is that of enum. */
    bool ordered;       /**< A dict with an order of its own: collections.OrderedDict, made in C. */
    psc_addr members;   /**< The dict of an enumeration's members by their values, or 0. */
    psc_addr data;      /**< The dict of a dataclass's fields, or 0. */
    psc_addr fields;    /**< The tuple of names of a named tuple, or 0. */
    const char *name;   /**< Qualified; "?" when it is not known. */
    const char *module; /**< NULL: of builtins, or not known. */
    struct py_slot *slots;
    size_t slot_count;
};

/** The type of an object; PSC_ERR_FORMAT when no object is there. */
PSC_MUST_CHECK enum psc_status py_type_of(struct python *python, psc_addr object,
                                          const struct py_type **ret);
/** What is known of a type object. */
PSC_MUST_CHECK enum psc_status py_type_find(struct python *python, psc_addr type,
                                            const struct py_type **ret);
/** Adds "module.Name", or "Name" for builtins. */
void py_type_add_name(const struct py_type *type, struct text *text);
/** __name__: the last part of the qualified name. */
const char *py_type_short_name(const struct py_type *type);
/** The name in builtins of an object there ("float", "None"), or NULL. */
const char *py_builtin_name(struct python *python, psc_addr object);
void py_type_deinit(struct python *python);

/** Takes steps from what reading values may cost in all; false when nothing is left. */
bool py_value_spend(struct python *python, uint64_t steps);

#endif
