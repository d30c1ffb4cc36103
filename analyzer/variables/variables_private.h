/** @file What the files of room `variables` share about the frame whose variables are read. */
#ifndef PSC_VARIABLES_PRIVATE_H
#define PSC_VARIABLES_PRIVATE_H

#include "rendering.h"
#include "variables.h"

#define LOCAL_LIMIT 256u /**< Of one frame. */

struct variables {
    struct variables_input input;
    size_t bytes; /**< Of text that may still be made. */
    const struct native_stack *stack;
    const struct variables_level *level; /**< That is asked for. */
    struct trace_local items[LOCAL_LIMIT];
    size_t count;
    bool arguments;            /**< What is added now is one. */
    struct native_value value; /**< That is being written. */
};

/** A function of a native frame, whose variables are read. */
struct frame_scope {
    size_t frame; /**< Index into the stack. */
    const struct debug_scope *scope;
    bool cython; /**< Values look as Python's do. */
};

/* ---- entry_values.c ---- */

/** What the debug information knows of the code of a native frame; NULL for nothing. */
const struct debug_scopes *variables_find_scopes(const struct variables *variables, size_t frame);
/** Finds a variable of a native frame. What is nowhere has a size of 0 and no memory. */
enum native_location variables_locate(struct variables *variables, size_t frame,
                                      const struct debug_variable *variable, struct c_storage *ret);

/* ---- passed_arguments.c ---- */

/**
 * Writes what an argument of a Cython function was when it was called, as far as its wrapper still
 * has it; false when nothing is known.
 */
bool variables_add_passed(struct variables *variables, const struct frame_scope *body,
                          const struct debug_variable *argument, struct c_writer *writer);

/* ---- variable_list.c ---- */

/** What writes a value of these variables into `text`. */
struct c_writer variables_make_writer(const struct variables *variables, struct text *text,
                                      bool cython);
/** Whether the list has a variable of that name. */
bool variables_has(const struct variables *variables, const char *name);
/** Adds a variable whose value is that text, which is taken over. */
void variables_add_text(struct variables *variables, const char *name, struct text *text);
/** Adds a variable of a frame: its value, or why there is none. */
void variables_add(struct variables *variables, const struct frame_scope *in,
                   const struct debug_variable *variable, const char *name);

/* ---- cython_locals.c ---- */

/** Adds a Cython function's arguments and variables, those in closures too. */
void variables_add_cython(struct variables *variables, const struct frame_scope *in);

/* ---- closure_objects.c: where there is no debug information ---- */

/** Adds the object that holds a closure's variables, when the frame has just one. */
void variables_add_closure_object(struct variables *variables, size_t frame, const char *function);

#endif
