/** @file The way to a value, as a person types it: `self.rows[-1]['name']`. */
#ifndef PSC_VALUE_PATH_H
#define PSC_VALUE_PATH_H

#include "base.h"

#define VALUE_PATH_STEPS 32u
#define VALUE_PATH_SIZE  1024u /**< Bytes of what was typed. */

enum value_step_kind {
    VALUE_STEP_NAME,      /**< The first step: a name of the frame. */
    VALUE_STEP_ATTRIBUTE, /**< .name */
    VALUE_STEP_INDEX,     /**< [3], [-1] */
    VALUE_STEP_KEY        /**< ['name'] */
};

struct value_step {
    enum value_step_kind kind;
    const char *text; /**< Name or key, in the path's own text; of an index its decimal digits. */
    int64_t index;
    size_t end; /**< How many bytes of what was typed lead so far. */
};

struct value_path {
    struct value_step steps[VALUE_PATH_STEPS];
    size_t count;
    char text[2 * VALUE_PATH_SIZE];
    size_t size;
};

/** @return PSC_ERR_ARGUMENT, and a sentence, for what is no such way. */
PSC_MUST_CHECK enum psc_status parse_value_path(const char *typed, struct value_path *ret,
                                                struct psc_error *err);

#endif
