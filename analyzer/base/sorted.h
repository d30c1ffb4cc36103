/**
 * @file
 * The binary search, and comparing for qsort().
 */
#ifndef PSC_SORTED_H
#define PSC_SORTED_H

#include <stddef.h>
#include <stdint.h>

/**
 * How many of `count` indices come first for which `condition`, an expression of `index`, is true;
 * after the first one that it is not true for, it must stay so:
 *
 *     size_t below = SORTED_COUNT(i, count, strcmp(names[i], name) < 0);
 *     bool found = below < count && !strcmp(names[below], name);
 */
#define SORTED_COUNT(index, count, condition)                              \
    __extension__({                                                        \
        size_t sorted_low_ = 0, sorted_high_ = (count);                    \
        while (sorted_low_ < sorted_high_) {                               \
            size_t index = sorted_low_ + (sorted_high_ - sorted_low_) / 2; \
            if (condition)                                                 \
                sorted_low_ = index + 1;                                   \
            else                                                           \
                sorted_high_ = index;                                      \
        }                                                                  \
        sorted_low_;                                                       \
    })

/**
 * Of items that are sorted by a member, a number: how many have one below the key, and how many
 * one that is not above it. `items` may be NULL when there are none.
 */
#define SORTED_BELOW(items, member, count, key)                                          \
    __extension__({                                                                      \
        __typeof__((items)->member) sorted_key_ = (key);                                 \
        SORTED_COUNT(sorted_index_, count, (items)[sorted_index_].member < sorted_key_); \
    })
#define SORTED_UP_TO(items, member, count, key)                                           \
    __extension__({                                                                       \
        __typeof__((items)->member) sorted_key_ = (key);                                  \
        SORTED_COUNT(sorted_index_, count, (items)[sorted_index_].member <= sorted_key_); \
    })

/** The first item whose member is the key, or NULL. */
#define SORTED_FIND(items, member, count, key)                                          \
    __extension__({                                                                     \
        __typeof__((items)->member) sorted_wanted_ = (key);                             \
        size_t sorted_count_ = (count);                                                 \
        size_t sorted_at_ = SORTED_BELOW(items, member, sorted_count_, sorted_wanted_); \
        sorted_at_ < sorted_count_ && (items)[sorted_at_].member == sorted_wanted_      \
            ? &(items)[sorted_at_]                                                      \
            : NULL;                                                                     \
    })

/** -1, 0 or 1, as qsort() asks for. */
#define COMPARE(left, right) (((left) > (right)) - ((left) < (right)))

#endif
