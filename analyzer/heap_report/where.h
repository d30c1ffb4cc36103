/** @file An expression on each object: `len(items) > 100 and name == 'x'`. */
#ifndef PSC_HEAP_WHERE_H
#define PSC_HEAP_WHERE_H

#include "heap.h"

#define WHERE_TERMS 16u
#define WHERE_SIZE  1024u /**< Bytes of what was typed. */
/** Steps of all objects together: half a minute or so. */
#define WHERE_STEP_LIMIT (UINT64_C(1) << 28)

enum where_operator {
    WHERE_IS_SET, /**< No operator: it is there, and neither None, False, 0 nor empty. */
    WHERE_EQUAL,
    WHERE_UNEQUAL,
    WHERE_LESS,
    WHERE_LESS_OR_EQUAL,
    WHERE_MORE,
    WHERE_MORE_OR_EQUAL,
    WHERE_CONTAINS /**< 'x' in name */
};

/** One comparison; all of them have to hold. */
struct where_term {
    enum where_operator operation;
    bool is_length; /**< len() of it. */
    bool is_number; /**< What it is compared with. */
    bool is_text;   /**< The same, a text; else a word: None, True, False. */
    double number;
    const char *path;  /**< In where.text. */
    const char *value; /**< The text or word. */
};

struct where {
    struct where_term terms[WHERE_TERMS];
    size_t count;
    uint64_t steps; /**< What where_holds() has cost so far, see python_count_steps(). */
    char text[2 * WHERE_SIZE];
};

/** @return PSC_ERR_ARGUMENT, and a sentence, for what is no such expression. */
PSC_MUST_CHECK enum psc_status parse_where(const char *typed, struct where *ret,
                                           struct psc_error *err);
/** What an object does not have is not so. */
bool where_holds(struct heap *heap, uint32_t object, struct where *where);

#endif
