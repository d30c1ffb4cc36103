/**
 * @file
 * Room `python/objects`: members of objects, text, dicts, sets, modules, types, and the collector's
 * lists of all. Knows no frames. Strings and types are the arena's of the handle. Memory that is
 * not what it is taken for is PSC_ERR_FAULT or PSC_ERR_FORMAT.
 *
 * To add a kind of type: enum py_kind, a row in type_kind.c.
 */
#ifndef PSC_PYTHON_OBJECTS_H
#define PSC_PYTHON_OBJECTS_H

#include "python_private.h"

/* ---- budget.c ---- */

/** What reading values may cost in all, in words or so; and how much text locals may have. */
#define BUDGET_WORK  (UINT64_C(200) << 20)
#define BUDGET_BYTES ((size_t)64 << 20)
/** What an address costs that cannot be read: of a living process that is a system call each time.
 */
#define BUDGET_UNREADABLE UINT64_C(8192)

PSC_MUST_CHECK enum psc_status budget_create(struct python *python);
/** Gives all of it again. */
void budget_renew(struct python *python);
void budget_destroy(struct python *python);
/** Takes steps from what reading values may cost; false when nothing is left. */
bool budget_spend(struct python *python, uint64_t steps);
/** Takes bytes from what text locals may have. */
void budget_spend_bytes(struct python *python, size_t bytes);
/** Steps that were taken since it was given the last time. */
uint64_t budget_count_steps(const struct python *python);
/** Whether nothing is left of one of them. */
bool budget_is_spent(const struct python *python);

/* ---- object.c: reads by field ---- */

/** PSC_ERR_UNSUPPORTED when this version has no such field. */
PSC_MUST_CHECK enum psc_status py_read_u64(struct python *python, psc_addr base,
                                           enum py_field field, uint64_t *ret);
PSC_MUST_CHECK enum psc_status py_read_i32(struct python *python, psc_addr base,
                                           enum py_field field, int32_t *ret);
PSC_MUST_CHECK enum psc_status py_read_u8(struct python *python, psc_addr base, enum py_field field,
                                          uint8_t *ret);
/** base + offset, or 0 when this version has no such field. */
psc_addr py_field_address(const struct python *python, psc_addr base, enum py_field field);

/** No object lies at 0 or at an odd place. */
static inline bool py_is_object_address(psc_addr address)
{
    return address && !(address & 7);
}

/** ob_type and its tp_flags. */
PSC_MUST_CHECK enum psc_status py_read_type(struct python *python, psc_addr object, psc_addr *ret,
                                            uint64_t *ret_flags);
PSC_MUST_CHECK enum psc_status type_flags_create(struct python *python);
void type_flags_forget(struct python *python);
void type_flags_destroy(struct python *python);
/** True when the object's type has all of the flags. */
bool py_has_flags(struct python *python, psc_addr object, uint64_t flags);
/** An int that fits 64 bits without sign; others: PSC_ERR_LIMIT. */
PSC_MUST_CHECK enum psc_status py_read_int(struct python *python, psc_addr object, uint64_t *ret);
/** Where in an object the member is that a descriptor is for; false: it holds no object. */
bool py_member_offset(struct python *python, psc_addr descriptor, uint64_t *ret);
/** Number and first item's address of a tuple. */
PSC_MUST_CHECK enum psc_status py_read_tuple(struct python *python, psc_addr object,
                                             size_t *ret_count, psc_addr *ret_items);

/* ---- string.c ---- */

/** Characters of a function's name: each of its frames repeats it. */
#define PY_NAME_LIMIT 1024u
#define PY_PATH_LIMIT 4096u /**< Of a source file's: PATH_MAX of linux/limits.h. */

/** Where the characters of a str are, and how many bytes each has: 1, 2 or 4. */
struct py_characters {
    psc_addr data;
    uint64_t length;
    uint32_t width;
    bool encoded; /**< 2.7's str: bytes, most often UTF-8. */
};

/** Of a str; in 2.7 of a str or a unicode. */
PSC_MUST_CHECK enum psc_status py_string_open(struct python *python, psc_addr object,
                                              struct py_characters *ret);
/** A str as UTF-8 in the arena; at most `limit` characters, then "...". */
PSC_MUST_CHECK enum psc_status py_read_string(struct python *python, psc_addr object, size_t limit,
                                              const char **ret);
/** True for a str; in 2.7 for a unicode, too. */
bool py_is_text(struct python *python, psc_addr object);
/** True when the object is a str of just this ASCII text. */
bool py_string_equals(struct python *python, psc_addr object, const char *ascii);

/* ---- dict.c ---- */

#define PY_DICT_LIMIT (UINT64_C(1) << 24) /**< Entries of a table that is walked. */

/** The items of a dict, or the attributes of an instance. */
struct py_items {
    psc_addr entries;
    psc_addr values; /**< Split: an array beside the entries; else 0. */
    uint64_t count;
    uint64_t next;
    uint32_t entry_size;
    uint32_t key_at;
    uint32_t value_at;
};

PSC_MUST_CHECK enum psc_status py_dict_open(struct python *python, psc_addr dict,
                                            struct py_items *ret);
/** The same for what is laid out as a dict, whatever its type says. */
PSC_MUST_CHECK enum psc_status py_dict_open_unchecked(struct python *python, psc_addr dict,
                                                      struct py_items *ret);
/** Of an instance, or of one of 2.7's classes without a type. */
PSC_MUST_CHECK enum psc_status py_attributes_open(struct python *python, psc_addr object,
                                                  struct py_items *ret);
/** PSC_ERR_NOT_FOUND after the last. */
PSC_MUST_CHECK enum psc_status py_items_next(struct python *python, struct py_items *items,
                                             psc_addr *ret_key, psc_addr *ret_value);
/** The value of an ASCII key, among the first `limit` entries. */
PSC_MUST_CHECK enum psc_status py_items_find(struct python *python, struct py_items *items,
                                             const char *key, size_t limit, psc_addr *ret);

/* ---- module_object.c ---- */

/** The globals of a module of an interpreter, by its name in sys.modules. */
PSC_MUST_CHECK enum psc_status py_module_open(struct python *python, psc_addr interpreter,
                                              const char *name, struct py_items *ret);
/** One of them. */
PSC_MUST_CHECK enum psc_status py_module_find(struct python *python, psc_addr interpreter,
                                              const char *module, const char *name, psc_addr *ret);
/** An attribute in an instance's own dict. */
PSC_MUST_CHECK enum psc_status py_attribute_find(struct python *python, psc_addr object,
                                                 const char *name, psc_addr *ret);

/* ---- set.c ---- */

#define PY_SET_LIMIT (UINT64_C(1) << 24) /**< Entries of a table that is walked. */

/** The items of a set. */
struct py_set_items {
    psc_addr table;
    uint64_t count;
    uint64_t next;
};

/** PSC_ERR_FORMAT when the object can be no set. */
PSC_MUST_CHECK enum psc_status py_set_open(struct python *python, psc_addr set,
                                           struct py_set_items *ret);
/** PSC_ERR_NOT_FOUND after the last. */
PSC_MUST_CHECK enum psc_status py_set_next(struct python *python, struct py_set_items *items,
                                           psc_addr *ret);

/* ---- deque.c ---- */

#define PY_DEQUE_LIMIT (UINT64_C(1) << 24) /**< Items of a deque that is walked. */

/** The items of a collections.deque, from the left. */
struct py_deque_items {
    psc_addr block;
    uint64_t index;
    uint64_t left;
};

/** PSC_ERR_FORMAT when the object is none. */
PSC_MUST_CHECK enum psc_status py_deque_open(struct python *python, psc_addr deque,
                                             struct py_deque_items *ret);
/** PSC_ERR_NOT_FOUND after the last. */
PSC_MUST_CHECK enum psc_status py_deque_next(struct python *python, struct py_deque_items *items,
                                             psc_addr *ret);

/* ---- type.c ---- */

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
    PY_KIND_NUMPY_SCALAR,
    PY_KIND_NUMPY_TEXT, /**< numpy.str_ and bytes_. */
    PY_KIND_NUMPY_DTYPE,
    PY_KIND_CODE,
    PY_KIND_FRAME,
    PY_KIND_SUPER,
    PY_KIND_METHOD_WRAPPER,
    PY_KIND_SLOT_WRAPPER,
    PY_KIND_METHOD_DESCRIPTOR, /**< Of a class's methods, too. */
    PY_KIND_ATTRIBUTE,         /**< getset_descriptor */
    PY_KIND_STATIC_METHOD,
    PY_KIND_CLASS_METHOD,
    PY_KIND_CAPSULE,
    PY_KIND_ALIAS, /**< list[int] */
    PY_KIND_UNION, /**< int | str */
    PY_KIND_PARTIAL,
    PY_KIND_OPERATOR, /**< itemgetter and so on. */
    PY_KIND_COUNT,
    PY_KIND_REPEAT,
    PY_KIND_NAMESPACE,
    PY_KIND_DEFAULTDICT,
    PY_KIND_ARRAY,
    PY_KIND_STRUCT,
    PY_KIND_TEXTIO,
    PY_KIND_BUFFERED,
    PY_KIND_FILEIO,
    PY_KIND_OLD_FILE, /**< 2.7 */
    PY_KIND_LOCK,
    PY_KIND_RLOCK,
    PY_KIND_CONTEXT_VARIABLE,
    PY_KIND_CONTEXT_TOKEN,
    PY_KIND_MATCH
};

/** A name in __slots__ and where its value is in an object. */
struct py_slot {
    psc_addr name;
    uint64_t offset;
};

#define PY_SLOT_LIMIT 32u

/** One for each type that was met; in the arena. */
struct py_type {
    psc_addr address;
    uint64_t flags;
    enum py_kind kind;
    bool exact;         /**< The kind's own type, not one derived from it. */
    bool enumeration;   /**< Its metatype is that of enum. */
    bool flags_of_enum; /**< It is derived from enum.Flag. */
    psc_addr origin;    /**< The type that the kind was known by; 0: it was by flags. */
    bool own_repr;      /**< Its __repr__ is not that of the kind: what it says is not known. */
    bool ordered;       /**< A dict with an order of its own: collections.OrderedDict, made in C. */
    psc_addr members;   /**< The dict of an enumeration's members by their values, or 0. */
    psc_addr data;      /**< The dict of a dataclass's fields, or 0. */
    psc_addr fields;    /**< The tuple of names of a named tuple, or 0. */
    psc_addr structure; /**< The names of what time.struct_time and the like are made of, or 0. */
    const char *c_name; /**< tp_name; "?" when it is not known. */
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

/* ---- part.c ---- */

/** An attribute in the dict of an instance, or in one of its slots. */
bool py_part_find(struct python *python, psc_addr object, const char *name, psc_addr *ret);

PSC_MUST_CHECK enum psc_status python_types_create(struct python *python);
void python_types_forget(struct python *python);
void python_types_destroy(struct python *python);

/* ---- gc_list.c ---- */

#define PY_OBJECT_LIMIT (UINT64_C(1) << 26) /**< Objects of an interpreter that are looked at. */

/** Looks at an object of the collector's lists; false ends the walk. */
typedef bool py_object_visit(void *context, psc_addr object);

/**
 * Visits every object that the collector of an interpreter tracks.
 * @return PSC_ERR_UNSUPPORTED: it keeps no lists, or where they are is not known; PSC_ERR_FAULT,
 *         PSC_ERR_LIMIT: a list could not be followed to its end.
 */
PSC_MUST_CHECK enum psc_status py_each_object(struct python *python, psc_addr interpreter,
                                              py_object_visit *visit, void *context);

/* ---- writable_memory.c ---- */

/** A visitor of bytes of the target; false ends the scan. */
typedef bool py_scan_visit(void *context, psc_addr address, const uint8_t *bytes, size_t size);

/**
 * Shows writable memory in pieces that overlap a little: of a module and the memory that
 * follows it, or, with NULL, of all that has a file and what follows that; all there is where no
 * file is known. Without memory for a piece it ends, with the arena exhausted.
 */
void scan_writable(struct python *python, const struct module *module, py_scan_visit *visit,
                   void *context);

#endif
