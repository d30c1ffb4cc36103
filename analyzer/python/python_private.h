/**
 * @file
 * What the files of python/ share: the handle, reads by field, objects, code objects.
 */
#ifndef PSC_PYTHON_PRIVATE_H
#define PSC_PYTHON_PRIVATE_H

#include "layout.h"
#include "line_table.h"

/* ---- cycles ---- */

/** Brent's cycle detection: a mark that is set further and further along. Zero-initialise. */
struct py_cycle {
    psc_addr mark;
    size_t since; /**< Steps since the mark; the cycle's length once it was met. */
    size_t limit;
};

/** True when the walk came to where it was before. */
static inline bool py_cycle_met(struct py_cycle *cycle, psc_addr address)
{
    if (cycle->limit && address == cycle->mark)
        return true;
    if (cycle->since == cycle->limit) {
        cycle->mark = address;
        cycle->limit = cycle->limit ? 2 * cycle->limit : 1;
        cycle->since = 0;
    }
    cycle->since++;
    return false;
}

/* ---- the handle ---- */

struct py_code;
struct py_position_entry;

/** Types are told apart by address; 0: not known. */
struct py_types {
    psc_addr code;
    psc_addr frame;
    psc_addr function;
    psc_addr classmethod_;
    psc_addr staticmethod_;
    psc_addr property;
    psc_addr member;
    psc_addr instance; /**< Of 2.7's classes without a type, and those. */
    psc_addr class;
};

struct py_type_flags {
    psc_addr type;
    uint64_t flags;
};

#define PY_TYPE_CACHE 64u

/** What reading values may cost in all, in words or so; and how much text locals may have. */
#define PY_VALUE_WORK_LIMIT  (UINT64_C(200) << 20)
#define PY_VALUE_BYTES_LIMIT ((size_t)64 << 20)

struct py_type;

/** Memory that was copied elsewhere while something else uses its place; size 0: none. */
struct py_moved {
    psc_addr start;
    uint64_t size;
    psc_addr copy;
};

struct python {
    struct target *target;
    struct modules *modules;
    struct arena *arena;
    struct python_info info;
    struct py_layout layout;
    struct py_moved moved;
    psc_addr interpreters;   /**< The newest interpreter: head of their list. */
    psc_addr current_thread; /**< &_PyThreadState_Current, before 3.7. */
    struct py_types types;
    struct py_types opened_types; /**< As they were when it was opened. */
    uint32_t unicode_width; /**< Bytes of a character of 2.7's unicode: 2 or 4; 0: not known. */
    size_t frame_window;    /**< Bytes at the start of a frame that hold all we read of it. */
    struct py_type_flags type_flags[PY_TYPE_CACHE];

    struct py_code **codes; /**< Open addressing by address. */
    size_t code_count;
    size_t code_capacity;
    struct py_position_entry *positions; /**< Open addressing by (code, lasti). */
    size_t position_count;
    size_t position_capacity;

    struct py_type **known_types; /**< Open addressing by address. */
    size_t known_type_count;
    size_t known_type_capacity;
    uint64_t value_work; /**< Steps that values may still take. */
    size_t value_bytes;  /**< Text that locals may still have. */
};

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

/** True for Python 2, whose objects are others. */
static inline bool py_is_2(const struct python *python)
{
    return python->layout.rules->objects == PY_OBJECTS_2;
}

/* CPython, Include/object.h; in 2.7 INT is long, BYTES is str, and STR is unicode. */
#define PY_FLAG_INLINE_VALUES (UINT64_C(1) << 2)
#define PY_FLAG_MANAGED_DICT  (UINT64_C(1) << 4)
#define PY_FLAG_HEAPTYPE      (UINT64_C(1) << 9)
#define PY_FLAG_PLAIN_INT     (UINT64_C(1) << 23) /* 2.7 only; later something else. */
#define PY_FLAG_INT           (UINT64_C(1) << 24)
#define PY_FLAG_LIST          (UINT64_C(1) << 25)
#define PY_FLAG_TUPLE         (UINT64_C(1) << 26)
#define PY_FLAG_BYTES         (UINT64_C(1) << 27)
#define PY_FLAG_STR           (UINT64_C(1) << 28)
#define PY_FLAG_DICT          (UINT64_C(1) << 29)
#define PY_FLAG_EXCEPTION     (UINT64_C(1) << 30)
#define PY_FLAG_TYPE          (UINT64_C(1) << 31)

/** No object lies at 0 or at an odd place. */
static inline bool py_is_object_address(psc_addr address)
{
    return address && !(address & 7);
}

/** ob_type and its tp_flags. */
PSC_MUST_CHECK enum psc_status py_read_type(struct python *python, psc_addr object, psc_addr *ret,
                                            uint64_t *ret_flags);
/** True when the object's type has all of the flags. */
bool py_has_flags(struct python *python, psc_addr object, uint64_t flags);
/** An int that fits 64 bits without sign; others: PSC_ERR_LIMIT. */
PSC_MUST_CHECK enum psc_status py_read_int(struct python *python, psc_addr object, uint64_t *ret);
/** Number and first item's address of a tuple. */
PSC_MUST_CHECK enum psc_status py_read_tuple(struct python *python, psc_addr object,
                                             size_t *ret_count, psc_addr *ret_items);

/* ---- py_string.c ---- */

#define PY_NAME_LIMIT 16384u /**< Characters of a name or path. */

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
/** True when the object is a str of just this ASCII text. */
bool py_string_equals(struct python *python, psc_addr object, const char *ascii);

/* ---- py_dict.c ---- */

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

/* ---- py_module.c ---- */

/** The globals of a module of an interpreter, by its name in sys.modules. */
PSC_MUST_CHECK enum psc_status py_module_open(struct python *python, psc_addr interpreter,
                                              const char *name, struct py_items *ret);
/** One of them. */
PSC_MUST_CHECK enum psc_status py_module_find(struct python *python, psc_addr interpreter,
                                              const char *module, const char *name, psc_addr *ret);
/** An attribute in an instance's own dict. */
PSC_MUST_CHECK enum psc_status py_attribute_find(struct python *python, psc_addr object,
                                                 const char *name, psc_addr *ret);

/* ---- py_set.c ---- */

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

/* ---- code.c ---- */

enum py_code_state {
    PY_CODE_VALID,
    PY_CODE_FAULT, /**< Its memory can not be read. */
    PY_CODE_OTHER  /**< Something else is there. */
};

/** What is known of a code object; one for each address, in the arena. */
struct py_code {
    psc_addr address;
    enum py_code_state state;
    bool interpreter_made; /**< Not from any source: 3.13's __init__ cleanup. */
    bool names_read;
    bool table_read;
    uint8_t function_attempts;
    uint32_t flags; /**< co_flags */
    int32_t first_line;
    psc_addr start;           /**< Of the instructions that instr_ptr points into; from 3.11. */
    uint32_t first_traceable; /**< Offset of the first instruction after the prologue; from 3.11. */
    const char *name;
    const char *file;
    const char *function;
    const uint8_t *table;
    size_t table_size;
};

/* co_flags: generator, coroutine, iterable coroutine, async generator. */
#define PY_CODE_GENERATORS UINT32_C(0x3a0)

/** Never NULL but when memory is out. */
struct py_code *code_find(struct python *python, psc_addr address);
void code_deinit(struct python *python);

/* ---- function_name.c ---- */

/**
 * The qualified name of the function that a frame up to 3.10 runs, when its function object
 * or its generator is found; NULL when it is not certain.
 */
const char *function_name_read(struct python *python, psc_addr frame, psc_addr code);

/* ---- frame.c ---- */

/** Reads one frame of either kind and the address of its caller's. */
PSC_MUST_CHECK enum psc_status frame_read(struct python *python, psc_addr address,
                                          struct python_frame *ret, psc_addr *ret_previous);
/** Sets python->frame_window. */
void frame_init(struct python *python);

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

/* ---- chain.c: the frames from one address on ---- */

PSC_MUST_CHECK enum psc_status chain_walk(struct python *python, psc_addr first,
                                          struct python_stack *ret);

/* ---- anchors.c ---- */

/** Where a CFrame chain says that the newest frame is. */
struct py_cframe {
    psc_addr address;
    psc_addr current; /**< 0: none. */
};

struct py_cframes {
    struct py_cframe *items; /**< Newest first, without the root. */
    size_t count;
    size_t capacity;
    struct py_cframe root; /**< In the thread state. */
    bool whole;            /**< The list leads to the root. */
    psc_addr end;          /**< Where it ended. */
};

void cframes_deinit(struct py_cframes *cframes);
/** The CFrames from the one at `first` on. */
PSC_MUST_CHECK enum psc_status anchors_list_cframes(struct python *python, psc_addr tstate,
                                                    psc_addr first, struct py_cframes *ret);
PSC_MUST_CHECK enum psc_status anchors_from_shims(struct python *python, psc_addr tstate,
                                                  struct python_stack *stack);
PSC_MUST_CHECK enum psc_status anchors_from_cframes(const struct py_cframe *cframes, size_t count,
                                                    struct python_stack *stack);
PSC_MUST_CHECK enum psc_status anchors_in_order(const struct py_cframe *cframes, size_t count,
                                                struct python_stack *stack);

/* ---- thread_names.c ---- */

struct py_thread_name {
    uint64_t ident;
    const char *name;
};

/** threading._active of an interpreter, by ident: malloc'd; none when it can not be read. */
size_t thread_names_read(struct python *python, psc_addr interpreter, struct py_thread_name **ret);
/** NULL when there is none. */
const char *thread_names_find(const struct py_thread_name *names, size_t count, uint64_t ident);

/* ---- evidence.c: what version memory tells of ---- */

/** "3.11.2 (main, ...": the text before the blank, and PY_VERSION_HEX made from it. */
struct py_version_text {
    char text[32];
    uint32_t hex;
};

/** Parses the start of sys.version: digits.digits.digits[rest] " (". False when it is not one. */
bool parse_version_text(const char *bytes, size_t size, struct py_version_text *ret);
/** "libpython3.7m.so.1.0", "python3.11": the version, with micro 0, or 0. */
uint32_t parse_version_name(const char *file_name);
/** Looks for the text of Py_GetVersion() in the writable memory of a module; NULL: in all. */
bool evidence_find_version(struct python *python, const struct module *module,
                           struct py_version_text *ret);

/* ---- scan.c: runtimes without a symbol ---- */

/** A visitor of bytes of the target; false ends the scan. */
typedef bool py_scan_visit(void *context, psc_addr address, const uint8_t *bytes, size_t size);

/**
 * Shows writable memory in pieces that overlap a little: of a module and the memory that
 * follows it, or, with NULL, all there is.
 */
void scan_writable(struct python *python, const struct module *module, py_scan_visit *visit,
                   void *context);
/** Asks `accept` at each place of the cookie of _Py_DebugOffsets; true when it did. */
bool scan_find_cookie(struct python *python, const struct module *module,
                      bool (*accept)(struct python *python, psc_addr runtime));
/**
 * Finds an interpreter with the offsets of python->layout: a pointer to something whose
 * newest thread points back and has the thread pointer of one of the target's threads.
 * @param ret_pointer  where the pointer to it is.
 */
bool scan_find_interpreter(struct python *python, const struct module *module, psc_addr *ret,
                           psc_addr *ret_pointer);

/**
 * Up to 3.6, without a _PyRuntime: the interpreter that a module's memory points to from which the
 * list leads furthest to the one that is known; that one itself when there is none.
 */
psc_addr scan_find_newest(struct python *python, const struct module *module, psc_addr interpreter);

/* ---- thread.c ---- */

/** True when a PyInterpreterState of the present layout is at the address. */
bool thread_check_interpreter(struct python *python, psc_addr interpreter);

#endif
