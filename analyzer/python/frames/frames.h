/**
 * @file
 * Room `python/frames`: frames and code: the chain of frames of a thread, what each runs and where
 * in it, the places for its names, and computations that are suspended (generators, coroutines).
 * Knows nothing of values.
 */
#ifndef PSC_PYTHON_FRAMES_H
#define PSC_PYTHON_FRAMES_H

#include "objects.h"

/* ---- code.c ---- */

enum py_code_state {
    PY_CODE_VALID,
    PY_CODE_FAULT, /**< Its memory can not be read. */
    PY_CODE_OTHER  /**< Something else is there. */
};

/** Whether a function's first argument is named as that of a method is. */
enum py_first_argument {
    PY_FIRST_UNKNOWN, /**< Not asked yet. */
    PY_FIRST_OTHER,
    PY_FIRST_SELF,
    PY_FIRST_CLS
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
    enum py_first_argument first_argument;
    const char *named_class; /**< In `function`, of named_size; with first_argument. */
    size_t named_size;
    psc_addr self_class;               /**< The last one that it ran for; 0: none yet. */
    const char *self_class_name;       /**< Of that, or NULL. */
    enum py_first_argument first_name; /**< As first_argument, of any function. */
    uint8_t future_call; /**< For the room `leaves`, which alone looks at it; 0 at first. */
    bool shape_read;     /**< The members below, see frame_kept_values(). */
    int32_t stack_size;  /**< Values at most; 0: not known. */
    size_t slot_count;
    const uint8_t *handlers; /**< co_exceptiontable, from 3.11 on; NULL: none, or too large. */
    size_t handlers_size;
    /* Of code that is kept, see python_keep_code(). */
    bool met;             /**< In this moment. */
    uint8_t proven;       /**< How often it was found unchanged. */
    uint32_t verified_at; /**< The moment in which it was so last. */
    uint64_t identity;    /**< What is compared. */
};

/** Never NULL but when memory is out. */
struct py_code *code_find(struct python *python, psc_addr address);
/** One whose name and file could be read, or NULL. */
const struct py_code *code_find_named(struct python *python, psc_addr address);
/** Whether it is a function of a file whose path ends so: "asyncio/locks.py", "acquire". */
bool code_is(const struct py_code *code, const char *file, const char *name);
PSC_MUST_CHECK enum psc_status python_codes_create(struct python *python);
void python_codes_forget(struct python *python);
/** Begins a moment, see python_begin_moment(). */
void python_codes_check(struct python *python);
void python_codes_destroy(struct python *python);

/* ---- frame.c ---- */

/** Reads one frame of either kind and the address of its caller's. */
PSC_MUST_CHECK enum psc_status frame_read(struct python *python, psc_addr address,
                                          struct python_frame *ret, psc_addr *ret_previous);
/** Whether a frame object is that of a function that Nuitka has compiled. */
bool frame_is_compiled(struct python *python, psc_addr object);
/** To be called once python->layout is known, and again when it is another. */
void frame_use_layout(struct python *python);

/** Memory that was copied elsewhere while something else uses its place; size 0: none. */
struct py_moved {
    psc_addr start;
    uint64_t size;
    psc_addr copy;
};

/** Frames within that memory are read from its copy, until this is called again. */
void frame_set_moved(struct python *python, struct py_moved moved);
/** Where a word of that memory is now; the address itself for all other. */
psc_addr frame_moved_to(const struct python *python, psc_addr address);

PSC_MUST_CHECK enum psc_status frame_reader_create(struct python *python);
void frame_reader_forget(struct python *python);
void frame_reader_destroy(struct python *python);

/* ---- chain.c: the frames from one address on ---- */

PSC_MUST_CHECK enum psc_status chain_walk(struct python *python, psc_addr first,
                                          struct python_stack *ret);

/** Frames that hang on no thread state now. */
struct py_suspended {
    psc_addr top;          /**< The newest of them. */
    psc_addr cframe;       /**< The newest CFrame, where this version has such; 0: none. */
    struct py_moved moved; /**< The part of their C stack that lies elsewhere now. */
};

/** Adds them behind those of a stack, with the anchors that are still in their place. */
PSC_MUST_CHECK enum psc_status chain_append(struct python *python, psc_addr tstate,
                                            const struct py_suspended *suspended,
                                            struct python_stack *stack);

/* ---- slots.c: the places in a frame that have names ---- */

#define PY_SLOT_COUNT_LIMIT 4096u /**< Of one code object. */

struct py_slot_value {
    psc_addr name;
    psc_addr value; /**< As the slot has it, see py_untag() and py_add_tagged_int(); 0: none. */
    bool cell;      /**< Of this function for others, or of an outer one. */
    bool done;      /**< For the caller. */
};

struct py_slots {
    struct py_slot_value *items; /**< malloc'd, see py_slots_deinit(). */
    size_t count;
    size_t nlocals; /**< The first ones: arguments and plain names. */
};

/** All slots of a frame; `ret_readable` is false when there are only names. */
PSC_MUST_CHECK enum psc_status py_slots_read(struct python *python,
                                             const struct python_frame *frame, struct py_slots *ret,
                                             bool *ret_readable);
/** The slots of a code object's frames, without values. */
PSC_MUST_CHECK enum psc_status py_slots_list(struct python *python, psc_addr code,
                                             struct py_slots *ret);
/** How many slots a code object's frames have; its stack of values is behind them. */
bool py_slots_count(struct python *python, psc_addr code, size_t *ret);
void py_slots_deinit(struct py_slots *slots);

/** Adds the text of an int that lies in the slot itself (3.14+); false when none does. */
bool py_add_tagged_int(const struct python *python, psc_addr slot, struct text *text);
/** The object that a slot points to. */
psc_addr py_untag(const struct python *python, psc_addr slot);
/** Where the slots of a frame begin, its arguments first. */
psc_addr py_frame_slots(const struct python *python, psc_addr frame);
/** What a cell holds; the slot of a cell variable holds no cell before it is made. */
psc_addr py_follow_cell(struct python *python, psc_addr object);

/** The object that a local name of a frame has, cells followed; 0: none, or not readable. */
psc_addr py_frame_variable(struct python *python, const struct python_frame *frame,
                           const char *name);

/** A dict that hangs on a frame, by its field in either kind of frame. */
PSC_MUST_CHECK enum psc_status py_frame_dict_open(struct python *python, psc_addr frame,
                                                  enum py_field field, enum py_field object_field,
                                                  struct py_items *ret);

/* ---- self_class.c ---- */

/** As py_frame_variable() of "self", which is quick where that is the first argument. */
psc_addr py_frame_self(struct python *python, const struct python_frame *frame);

/* ---- kept_values.c ---- */

/**
 * How many values are on a frame's stack for certain: those that its handlers keep. Above them may
 * be what is left of others.
 * @param ret  where they begin.
 */
size_t frame_kept_values(struct python *python, const struct python_frame *frame, psc_addr *ret);

/* ---- generator.c ---- */

/** Objects that only pass an await on, one inside the other. */
#define PY_WRAPPER_DEPTH 4u

struct py_generator {
    enum py_generator_state state;
    struct python_frame frame; /**< Not of one that has ended. */
    psc_addr awaited;          /**< What it awaits or yields from; 0: nothing, or not known. */
};

/** What a generator, coroutine or async generator is doing. */
PSC_MUST_CHECK enum psc_status py_generator_read(struct python *python, psc_addr object,
                                                 struct py_generator *ret);
/**
 * Where the value stack of a frame begins, and the place behind its topmost value. False where the
 * frame does not tell: it is being run, and no call of Python code has saved it.
 */
bool py_value_stack_find(struct python *python, psc_addr frame, psc_addr *ret_bottom,
                         psc_addr *ret_top);
/** True for generators, coroutines and async generators. */
bool py_is_generator(struct python *python, psc_addr object);
/** What is behind the wrappers of an await: the object itself when it is none, 0 on a fault. */
psc_addr py_awaited_target(struct python *python, psc_addr object);
/** The same; `ret_begun` is false where one of them is a step of an async generator (`asend()`,
    `athrow()`, `aclose()`) that nobody has awaited yet. */
psc_addr py_awaited_begun(struct python *python, psc_addr object, bool *ret_begun);

#endif
