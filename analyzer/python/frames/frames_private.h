/** @file What the files of frames/ share. */
#ifndef PSC_PYTHON_FRAMES_PRIVATE_H
#define PSC_PYTHON_FRAMES_PRIVATE_H

#include "frames.h"

/* ---- function_name.c ---- */

/**
 * The qualified name of the function that a frame up to 3.10 runs, when its function object
 * or its generator is found; NULL when it is not certain.
 */
const char *function_name_read(struct python *python, psc_addr frame, psc_addr code);
/** The name of a class without its module, in the arena; NULL when it cannot be read. */
const char *function_name_of_class(struct python *python, psc_addr class);

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

/* ---- compiled_frame.c ---- */

/** Types of frame objects that were met; all zero at first. */
struct py_frame_types {
    psc_addr compiled;
    psc_addr other; /**< The last one that is not Nuitka's. */
};

/** Whether frame objects of a type are those of functions that Nuitka has compiled. */
bool compiled_frame_is_type(struct python *python, struct py_frame_types *types, psc_addr type);
/** Makes of a frame, whose code is known, that of a compiled function. */
void compiled_frame_take(struct python *python, psc_addr object, struct python_frame *frame);

#endif
