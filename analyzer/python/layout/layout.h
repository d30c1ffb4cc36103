/**
 * @file
 * Room `python/layout`: what is where in an interpreter (layout.def), and how its version behaves
 * (the rules). All knowledge of versions is here, as data.
 *
 * Reads no memory: bytes and numbers in, plain data out; strings are static. A version that is not
 * known is PSC_ERR_UNSUPPORTED, or NULL.
 */
#ifndef PSC_PYTHON_LAYOUT_H
#define PSC_PYTHON_LAYOUT_H

#include "constants.h"
#include "line_table.h"
#include "other_projects.h"
#include "python.h"

enum py_field {
#define ROW(name, ...) PY_##name,
#include "layout.def"
#undef ROW
    PY_FIELD_COUNT
};

/** An offset that this version does not have. */
#define PY_NO_OFFSET UINT32_MAX

/** What the newest frame hangs on. */
enum py_top {
    PY_TOP_FRAME_OBJECT, /**< tstate.frame, a PyFrameObject. */
    PY_TOP_CFRAME,       /**< tstate.cframe -> current_frame. */
    PY_TOP_FRAME         /**< tstate.current_frame, a _PyInterpreterFrame. */
};

enum py_lines { PY_LINES_LNOTAB_UNSIGNED, PY_LINES_LNOTAB, PY_LINES_310, PY_LINES_LOCATIONS };

/** What a frame's instruction field means. */
enum py_instruction {
    PY_INSTRUCTION_BYTES,  /**< f_lasti, a byte offset. */
    PY_INSTRUCTION_UNITS,  /**< f_lasti, counted in 2-byte units. */
    PY_INSTRUCTION_POINTER /**< A pointer into co_code_adaptive. */
};

/** Frames in the chain that run nothing a person wrote. */
enum py_shims {
    PY_SHIMS_NONE,
    PY_SHIMS_OWNER,     /**< owner says that it is an evaluator's entry. */
    PY_SHIMS_OWNER_INIT /**< And code objects that the interpreter made, named __init__. */
};

enum py_gil {
    PY_GIL_CURRENT,    /**< _PyThreadState_Current is the holder. */
    PY_GIL_RUNTIME,    /**< One, in _PyRuntime. */
    PY_GIL_INTERPRETER /**< One for each interpreter, behind a pointer. */
};

enum py_collecting { PY_COLLECTING_HIDDEN, PY_COLLECTING_RUNTIME, PY_COLLECTING_INTERPRETER };

enum py_dicts { PY_DICTS_TABLE, PY_DICTS_COMPACT, PY_DICTS_KINDS };

/** Where instance attributes are, when not in a dict at tp_dictoffset. */
enum py_attributes {
    PY_ATTRIBUTES_DICT,
    PY_ATTRIBUTES_VALUES_POINTER, /**< 3.11: values pointer and dict pointer before the object. */
    PY_ATTRIBUTES_TAGGED_POINTER, /**< 3.12: one word for both; odd: values. */
    PY_ATTRIBUTES_INLINE          /**< 3.13: values behind the object, dict pointer before it. */
};

enum py_ints {
    PY_INTS_PLAIN_AND_LONG, /**< 2.7: int is a C long, long has a signed size. */
    PY_INTS_SIGNED_SIZE,    /**< The sign is that of the number of digits. */
    PY_INTS_TAG             /**< 3.12: sign and size in one word. */
};

/** How a generator says what it is doing. */
enum py_generator_states {
    PY_GENERATORS_RUNNING,   /**< A flag; gi_frame is NULL when it has ended. */
    PY_GENERATORS_FRAME,     /**< 3.10: f_state of its frame. */
    PY_GENERATORS_SUSPENDED, /**< 3.11: gi_frame_state, one for each way to be suspended. */
    PY_GENERATORS_AWAITING,  /**< 3.13: and another for "in yield from". */
    PY_GENERATORS_COUNTED    /**< 3.15: from 0 on. */
};

/** Where the tasks of asyncio are listed. */
enum py_task_lists {
    PY_TASKS_STATIC, /**< 3.6: a WeakSet in a static variable of _asyncio. */
    PY_TASKS_SETS,   /**< Sets in the module asyncio.tasks. */
    PY_TASKS_LINKED  /**< 3.14: linked lists that _asyncio describes, and these sets. */
};

enum py_texts {
    PY_TEXTS_BYTES_AND_UNICODE, /**< 2.7: str is bytes, unicode a thing of its own. */
    PY_TEXTS_STR
};

enum py_classes {
    PY_CLASSES_OLD_AND_NEW, /**< 2.7: classes without a type as well; functions know no class. */
    PY_CLASSES_NEW
};

enum py_ranges {
    PY_RANGES_NUMBERS, /**< 2.7's xrange: C longs, and a count in place of the end. */
    PY_RANGES_OBJECTS
};

/** How a combination of enum.Flag gets its names (Lib/enum.py). */
enum py_flag_names {
    PY_FLAG_NAMES_KEPT,   /**< In the object itself, or there is no such thing. */
    PY_FLAG_NAMES_ALL,    /**< Composed of all members within it. */
    PY_FLAG_NAMES_COVERED /**< 3.9: single bits without a name only where no name has them. */
};

/** Which types have a repr() of their own; each has those before it, too. */
enum py_reprs {
    PY_REPRS_2,
    PY_REPRS_3,              /**< Of functools and operator. */
    PY_REPRS_FRAMES,         /**< 3.7, where exceptions lost the comma behind a single argument. */
    PY_REPRS_NAMESPACES,     /**< 3.9: types.SimpleNamespace in the order of its attributes. */
    PY_REPRS_STATIC_METHODS, /**< 3.10 */
    PY_REPRS_STRUCTS         /**< 3.13: struct.Struct. */
};

/** Whether a pattern of re may have the flag TEMPLATE. */
enum py_pattern_flags { PY_PATTERN_FLAGS_TEMPLATE, PY_PATTERN_FLAGS_PLAIN };

/** What things are called, by the interpreter and by its repr(). */
struct py_spelling {
    const char *evaluator;
    const char *builtin_modules[2]; /**< Whose types go without their module. */
    const char *thread_name;        /**< Attribute of threading.Thread; __name is mangled. */
    const char *bytes_prefix;
    const char *text_prefix;
    const char *long_suffix;
    bool set_braces;      /**< A set itself goes without that name: {1, 2}. */
    const char *set_open; /**< Behind the name of the type. */
    const char *set_close;
    const char *set_empty;
    const char *set_freed;           /**< The text in an entry that was taken out; or NULL. */
    const char *static_type;         /**< What a type made in C is. */
    const char *module_without_file; /**< And without __spec__; or NULL. */
};

/** How a version behaves. */
struct py_rules {
    uint8_t major;
    uint8_t minor;
    const char *name; /**< "3.11" */
    enum py_top top;
    enum py_lines lines;
    enum py_instruction instruction;
    enum python_join join;
    enum py_shims shims;
    uint64_t pointer_tag; /**< Bits to clear in a frame's code pointer. */
    enum py_gil gil;
    enum py_collecting collecting;
    enum py_dicts dicts;
    enum py_attributes attributes;
    enum py_ints ints;
    uint32_t free_threaded_kind_shift; /**< See string_kind_shift. */
    enum py_texts texts;
    enum py_classes classes;
    enum py_ranges ranges;
    enum py_generator_states generators;
    enum py_task_lists tasks;
    enum py_flag_names flag_names;
    uint32_t deque_block; /**< Items of a block (Modules/_collectionsmodule.c, BLOCKLEN). */
    enum py_pattern_flags pattern_flags;
    enum py_reprs reprs;
    const struct py_spelling *spelling;
};

struct py_layout {
    const struct py_rules *rules;
    uint32_t offset[PY_FIELD_COUNT]; /**< PY_NO_OFFSET: this version does not have it. */
    int32_t managed_dict;            /**< From an object to its managed dict pointer; negative. */
    uint32_t string_kind_shift;      /**< Where kind:3 compact:1 ascii:1 begin in the str state. */
    uint32_t unicode_width; /**< Bytes of a character of 2.7's unicode: 2 or 4; 0: not known. */
};

/** The rules for a PY_VERSION_HEX, or NULL when that version is not known. */
const struct py_rules *layout_find_rules(uint32_t hex);
/** The rules at an index, NULL past the last; oldest first. */
const struct py_rules *layout_get_rules(size_t index);
/** PY_VERSION_HEX of them, as far as they say it: "3.8". */
uint32_t layout_version_of(const struct py_rules *rules);
/** True when the version has _Py_DebugOffsets, so that the table alone is not enough. */
bool layout_is_self_described(const struct py_rules *rules);

/**
 * The table's offsets for a version without self-description.
 * @param header_size  of an object: 16, or 32 with Py_TRACE_REFS.
 * @param runtime_size st_size of _PyRuntime, 0 when not known; tells 3.7.0-3.7.3 from 3.7.4.
 */
PSC_MUST_CHECK enum psc_status layout_from_table(const struct py_rules *rules, uint32_t header_size,
                                                 uint64_t runtime_size, struct py_layout *ret);

/** The first words of _Py_DebugOffsets: enough to choose how to read the others. */
struct py_debug_offsets {
    uint32_t hex;
    bool free_threaded;
    size_t size; /**< Of the whole struct in this version; 0: version not known. */
};

#define PY_DEBUG_OFFSETS_HEAD 24u
#define PY_DEBUG_OFFSETS_MAX  1024u
#define PY_DEBUG_COOKIE       "xdebugpy"

/** @return PSC_ERR_FORMAT when the bytes do not begin like a _Py_DebugOffsets. */
PSC_MUST_CHECK enum psc_status parse_debug_offsets_head(const uint8_t *bytes, size_t size,
                                                        struct py_debug_offsets *ret);

/**
 * The layout that an interpreter tells of itself. Every offset that is taken is checked,
 * with the width of what is there, against the size of its struct.
 * @return PSC_ERR_UNSUPPORTED for a version that is not known, PSC_ERR_FORMAT for
 *         offsets that can not be; `err` names which.
 */
PSC_MUST_CHECK enum psc_status parse_debug_offsets(const uint8_t *bytes, size_t size,
                                                   struct py_layout *ret, struct psc_error *err);

/* ---- asyncio_offsets.c ---- */

/** What the section .AsyncioDebug of 3.14 tells: offsets, 0 where a section was not found. */
struct py_asyncio {
    uint32_t task_name;
    uint32_t task_awaited_by;
    uint32_t task_coro;
    uint32_t task_node;
    uint32_t interpreter_tasks;
    uint32_t thread_tasks;
};

#define PY_ASYNCIO_DEBUG_SIZE 104u

/**
 * CPython 3.14, Modules/_asynciomodule.c, struct _Py_AsyncioModuleDebugOffsets. Each offset is
 * checked against the size of its struct.
 */
PSC_MUST_CHECK enum psc_status parse_asyncio_debug(const uint8_t *bytes, size_t size,
                                                   struct py_asyncio *ret);

/* ---- layout.c ---- */

/** For messages and tests. */
const char *layout_field_name(enum py_field field);
/** "type.member|...", see layout.def. */
const char *layout_field_path(enum py_field field);
uint32_t layout_field_width(enum py_field field);
/** The word of _Py_DebugOffsets that holds the field, or 0 when the table does. */
size_t layout_field_slot(const struct py_rules *rules, enum py_field field);

/**
 * Attributes of pathlib's paths (Lib/pathlib.py), in the order in which they are to be tried. What
 * an object does not have is not there, or not yet: most are set when they are first needed.
 */
struct py_path_attributes {
    const char *text;      /**< The whole path, once it was asked for. */
    const char *root;      /**< "/", "//" or "". */
    const char *all_parts; /**< Up to 3.11: a list, of which the first is the root once more. */
    const char *tail;      /**< From 3.12 on: without the root. */
    const char *given;     /**< From 3.12 on: what the constructor was given. */
};

const struct py_path_attributes *layout_path_attributes(void);

/* ---- heap_offsets.c ---- */

/** What walks over all objects need; false: of this version, or build, they are not known. */
bool layout_of_heap(const struct py_layout *layout, struct python_heap_layout *ret);

/* ---- frame_state.c ---- */

enum py_generator_state {
    PY_GENERATOR_UNKNOWN,
    PY_GENERATOR_CREATED,   /**< Not begun. */
    PY_GENERATOR_SUSPENDED, /**< At a yield. */
    PY_GENERATOR_AWAITING,  /**< At an await or a yield from. */
    PY_GENERATOR_RUNNING,
    PY_GENERATOR_ENDED
};

/** What a number in gi_frame_state, or in f_state of 3.10, means. */
enum py_generator_state layout_parse_generator_state(enum py_generator_states states,
                                                     int8_t number);
/**
 * Whether a frame object is being run: f_executing up to 3.9; f_state of 3.10, where
 * FRAME_EXECUTING is 0 (cpython/frameobject.h).
 */
bool layout_is_executing(const struct py_rules *rules, uint8_t state);

/* ---- interpreter_functions.c ---- */

/** For functions of the interpreter's own modules; `rules` may be NULL. */
enum python_function layout_classify_function(const struct py_rules *rules, const char *name);
/**
 * Whether what a function of the interpreter calls is a wait for the GIL.
 * @param caller  it takes the GIL, or is an evaluator.
 */
bool layout_is_gil_wait(const char *name, bool caller);
/** Whether it takes the one lock for all imports. */
bool layout_is_import_lock(const char *name);

/* ---- version_text.c ---- */

/** "3.11.2 (main, ...": the text before the blank, and PY_VERSION_HEX made from it. */
struct py_version_text {
    char text[32];
    uint32_t hex;
};

/** Parses the start of sys.version: digits.digits.digits[rest] " (". False when it is not one. */
bool parse_version_text(const char *bytes, size_t size, struct py_version_text *ret);
/** "libpython3.7m.so.1.0", "python3.11": the version, with micro 0, or 0. */
uint32_t parse_version_name(const char *file_name);
/** Whether a number may be the Py_Version of a CPython that has it (3.11+). */
bool layout_is_version(uint64_t hex);
/** "3.11.2", "3.13.0rc1" from PY_VERSION_HEX, into at least 24 bytes. */
void layout_format_version(uint32_t hex, char *ret, size_t size);
/** The same when only the first two numbers are known: "3.8". */
void layout_format_short_version(uint32_t hex, char *ret, size_t size);

#endif
