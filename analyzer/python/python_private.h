/**
 * @file
 * The handle, as the rooms within python/ see it. What one of them keeps between two reads is a
 * struct of the file that owns it, opaque to all others.
 */
#ifndef PSC_PYTHON_PRIVATE_H
#define PSC_PYTHON_PRIVATE_H

#include "layout.h"

/** Types that are told apart by address, where the symbols have it; 0: not known. */
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

struct type_flags_cache;
struct python_types;
struct budget;
struct python_codes;
struct frame_reader;

struct python {
    struct target *target;
    struct modules *modules;
    struct arena *arena;
    struct python_info info;
    struct py_layout layout;
    struct py_types types;
    psc_addr interpreters;             /**< The newest interpreter: head of their list. */
    psc_addr current_thread;           /**< &_PyThreadState_Current, before 3.7. */
    struct python_value_limits limits; /**< None is 0. */
    const struct numpy_layout *numpy;  /**< Of its version; NULL: not asked for, or not known. */

    struct type_flags_cache *type_flags; /**< objects/object.c */
    struct python_types *type_table;     /**< objects/type.c */
    struct budget *budget;               /**< objects/budget.c */
    struct python_codes *code_table;     /**< frames/code.c */
    struct frame_reader *frame_reader;   /**< frames/frame.c */
    struct locks_cache *locks_cache;     /**< locks/lock_cache.c */
    size_t frame_count;                  /**< Of all stacks that were walked. */
    bool keeps_code;                     /**< See python_keep_code(). */
};

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

#endif
