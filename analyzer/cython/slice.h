/**
 * @file
 * Common to the rooms of cython/: a part of a text, and of a path.
 */
#ifndef PSC_SLICE_H
#define PSC_SLICE_H

#include "base.h"

#include <string.h>

/** Bytes of someone else's string. */
struct slice {
    const char *data;
    size_t size;
};

static inline struct slice slice_of(const char *string)
{
    return (struct slice){string, strlen(string)};
}

static inline struct slice slice_from(struct slice slice, size_t offset)
{
    return (struct slice){slice.data + offset, slice.size - offset};
}

static inline bool slice_equals(struct slice slice, const char *string)
{
    return slice.size == strlen(string) && memcmp(slice.data, string, slice.size) == 0;
}

static inline bool slice_is(struct slice left, struct slice right)
{
    return left.size == right.size && memcmp(left.data, right.data, left.size) == 0;
}

static inline bool slice_starts(struct slice slice, const char *prefix)
{
    size_t size = strlen(prefix);
    return slice.size >= size && memcmp(slice.data, prefix, size) == 0;
}

/** Drops a prefix; false, and nothing done, when it is not there. */
static inline bool slice_skip(struct slice *slice, const char *prefix)
{
    if (!slice_starts(*slice, prefix))
        return false;
    *slice = slice_from(*slice, strlen(prefix));
    return true;
}

/** How many decimal digits a slice begins with. */
static inline size_t slice_digits(struct slice slice)
{
    size_t count = 0;
    while (count < slice.size && slice.data[count] >= '0' && slice.data[count] <= '9')
        count++;
    return count;
}

/** True for `word` followed by nothing but digits: "lambda", "genexpr1". */
static inline bool slice_is_counted(struct slice slice, const char *word)
{
    return slice_skip(&slice, word) && slice_digits(slice) == slice.size;
}

/** True for "__x__". */
static inline bool slice_is_dunder(struct slice slice)
{
    return slice.size > 4 && memcmp(slice.data, "__", 2) == 0 &&
           memcmp(slice.data + slice.size - 2, "__", 2) == 0;
}

/** What follows the last slash of a path. */
static inline const char *path_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/** The directory part of a path, without its last slash; "" for a bare name, "/" for the root. */
static inline struct slice path_directory(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return (struct slice){path, 0};
    return (struct slice){path, slash == path ? 1 : (size_t)(slash - path)};
}

#endif
