/** @file What is known of a greenlet and of the module that made it. */
#ifndef PSC_GREENLETS_H
#define PSC_GREENLETS_H

#include "frames.h"

/** The greenlet module of one interpreter. */
struct greenlet_module {
    psc_addr type;   /**< greenlet.greenlet */
    bool has_struct; /**< It is of version 1 or before. */
    struct greenlet_layout layout;
};

/** Where the stacks of a greenlet are (greenlet.h of 1.x; TStackState.cpp of 2.0 and later). */
struct greenlet_state {
    psc_addr stack_start; /**< Where its C stack ended when it was switched from; 0: it has none. */
    psc_addr stack_stop;  /**< Where it begins; all ones: the main greenlet's. */
    psc_addr previous;    /**< State of the one whose C stack lies further out; 0: none. */
    psc_addr top;         /**< Its newest frame; 0: it runs, or has none. */
    psc_addr cframe;      /**< Its newest CFrame, where this version of CPython has such. */
    struct py_moved moved; /**< The part of its C stack that was copied elsewhere. */
};

/** False where that interpreter has not imported it. */
bool greenlet_find_module(struct python *python, psc_addr interpreter, struct greenlet_module *ret);
/** Whether a type is greenlet.greenlet or derived from it. */
bool greenlet_is_type(struct python *python, const struct greenlet_module *module, psc_addr type);
/** Where the state of a greenlet is, from its object. */
bool greenlet_find_state(struct python *python, const struct greenlet_module *module,
                         psc_addr object, psc_addr *ret);
/** False when it cannot be read, or its newest frame is not found. */
bool greenlet_read_state(struct python *python, const struct greenlet_module *module,
                         psc_addr state, struct greenlet_state *ret);

#endif
