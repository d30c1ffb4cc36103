/** @file What the files for numpy share: dtypes, and items by their dtypes. */
#ifndef PSC_VALUE_NUMPY_H
#define PSC_VALUE_NUMPY_H

#include "library.h"

#define NUMPY_FIELD_LIMIT 64u /**< Of one structured dtype. */
#define NUMPY_NESTING     8u  /**< Of structured dtypes in each other. */

/** The unit of a datetime64 or timedelta64 (NPY_DATETIMEUNIT), and how many of it are one. */
struct numpy_time {
    int32_t unit;
    int32_t count;
};

struct numpy_dtype {
    const struct numpy_number *number; /**< NULL: of a kind that is not known. */
    char kind;                         /**< 'f', 'U' */
    char order;                        /**< '<' and '=' are native here, '|': it has none. */
    bool aligned;
    uint64_t size; /**< Of an item, in bytes; 0 where the version is not known. */
    uint64_t alignment;
    psc_addr object;
    psc_addr subarray; /**< 0: none. */
    psc_addr fields;   /**< A dict; 0: none. */
    psc_addr names;
    struct numpy_time time; /**< Of datetime64 and timedelta64; unit -1: not known. */
};

/** A dtype of several items of another one. */
struct numpy_subarray {
    psc_addr dtype;
    uint64_t count;
    uint32_t dimension_count;
    uint64_t dimensions[NUMPY_DIMENSIONS];
};

/** A field of a structured dtype. */
struct numpy_field {
    psc_addr name;
    psc_addr dtype;
    uint64_t offset;
};

/* ---- numpy_dtype.c ---- */

/** By numpy.__version__; NULL: not known. */
const struct numpy_layout *numpy_get_layout(struct python *python);
bool numpy_read_dtype(struct python *python, psc_addr object, struct numpy_dtype *ret);
/** The fields in their order; 0 for a dtype without, or with too many. */
size_t numpy_read_fields(struct python *python, const struct numpy_dtype *dtype,
                         struct numpy_field ret[NUMPY_FIELD_LIMIT]);
/** What a subarray is of; false, and nothing, for other dtypes. */
bool numpy_read_subarray(struct python *python, const struct numpy_dtype *dtype,
                         struct numpy_subarray *ret);
/** As str() has it: "float64", "<U2", "[('a', '<i4')]". */
void numpy_add_dtype(struct value_writer *writer, const struct numpy_dtype *dtype);

/** The object that stands for what is missing in an array of StringDType. */
void numpy_add_missing(struct value_writer *writer, const struct numpy_dtype *dtype);

/** "ms", "3D"; nothing for a generic one. */
void numpy_add_unit(const struct numpy_time *time, struct text *text);

/* ---- numpy_item.c ---- */

/** A moment as ISO 8601 has it, "NaT" for none. */
void numpy_add_moment(const struct numpy_time *time, int64_t number, struct text *text);
/** Whether it is what says that there is no time. */
bool numpy_is_no_time(int64_t number);
/** Adds a number of 1 to 32 bytes. */
void numpy_add_number(struct value_writer *writer, const struct numpy_number *number,
                      const uint8_t *bytes, struct text *text);
/** Adds an item of an array; of a structured one, its parts. False, and nothing, when it cannot be
 * read. */
bool numpy_add_item(struct value_writer *writer, const struct numpy_dtype *dtype, psc_addr address);

#endif
