/**
 * @file
 * Room `python/values/types`: the values of each family of types, and the writer that all of them
 * write with.
 *
 * A function value_add_...() writes all of its object; one that is named value_open_...() writes
 * the beginning and leaves a level with what comes next.
 */
#ifndef PSC_VALUE_TYPES_H
#define PSC_VALUE_TYPES_H

#include "objects.h"

#define VALUE_ARRAY_ITEMS     16u  /**< Of arrays of numbers, unless another number is asked for. */
#define VALUE_NAME_CHARACTERS 400u /**< Of the name of a function, an attribute, an origin. */

struct value_writer;

/** A container that is being written: what of it is shown, collected when it was met. */
struct value_level {
    psc_addr object;
    size_t count;
    size_t next;
    uint64_t more;  /**< Items that are not shown. */
    psc_addr *keys; /**< With has_keys; both are the writer's. */
    psc_addr *values;
    size_t capacity; /**< Of both. */
    bool has_keys;
    bool attributes;    /**< Keys are names: "name=value", else "key: value". */
    bool value_next;    /**< The key was written. */
    bool words;         /**< Keys are strings of this program: see value_take_word(). */
    bool types_by_name; /**< Classes are written as annotations have them. */
    bool lost;          /**< What is not shown could not be read. */
    size_t own;         /**< Number, from 1, of the one that is the object itself; 0: none. */
    /** What writes that one; NULL: what writes its kind. */
    void (*own_add)(struct value_writer *writer, const struct py_type *type, psc_addr object);
    const char *separator; /**< ", " */
    char close[88];        /**< What is written behind the last. */
};

/** What is being written, and the way there from the object that was asked for. */
struct value_writer {
    struct python *python;
    struct text *text;
    size_t start;   /**< Where in the text its own begins. */
    uint8_t *bytes; /**< See value_buffer(). */
    size_t byte_count;
    size_t depth;
    struct value_level levels[PSC_VALUE_DEPTH_MAX];
};

/* ---- writer.c ---- */

/** A new level, or NULL when it is too deep; `open` is written first either way. */
struct value_level *value_push(struct value_writer *writer, psc_addr object, const char *open,
                               const char *close);
/** Adds `count` pointers that lie in a row; what can not be read ends them. */
void value_take_array(struct value_writer *writer, struct value_level *level, psc_addr items,
                      uint64_t count);
/** Adds one; with keys where the level has them. */
void value_take(struct value_writer *writer, struct value_level *level, psc_addr key,
                psc_addr value);
/** Adds "word=value"; the word is static. Nothing for 0. */
void value_take_word(struct value_writer *writer, struct value_level *level, const char *word,
                     psc_addr value);
/** Whether no more items of a container are shown. */
bool value_is_full(const struct value_writer *writer, const struct value_level *level);
/** How many items of an array of numbers are shown. */
uint64_t value_array_items(const struct value_writer *writer);
/** Room for bytes, until the next call; NULL when memory is out, which text->failed tells then. */
uint8_t *value_buffer(struct value_writer *writer, size_t size);
/** Frees what the writer has taken. */
void value_writer_deinit(struct value_writer *writer);
/** Whether the object is being written: it contains itself. */
bool value_is_open(const struct value_writer *writer, psc_addr object);

/* ---- number.c ---- */

void value_add_int(struct value_writer *writer, const struct py_type *type, psc_addr object);
/** 2.7's int. */
void value_add_plain_int(struct value_writer *writer, const struct py_type *type, psc_addr object);
void value_add_float(struct value_writer *writer, const struct py_type *type, psc_addr object);
void value_add_complex(struct value_writer *writer, const struct py_type *type, psc_addr object);
/** repr() of a float: the shortest text that reads back as the same. */
void format_float(double value, struct text *text);
/** The shortest text that reads back as the same float32; `point`: with ".0" at least. */
void format_single(float value, bool point, struct text *text);

enum float_form { FLOAT_HALF, FLOAT_SINGLE, FLOAT_DOUBLE, FLOAT_LONG /**< x87's. */ };

#define FLOAT_MOST 16 /**< Python's powers of ten from which on an exponent is written. */

struct float_style {
    enum float_form form;
    bool point;   /**< With ".0" at least. */
    double least; /**< What is smaller has an exponent; 0: what has four zeros behind the point. */
    int most;     /**< The power of ten from which on a number has one. */
};

/** The shortest text that reads back as the same number of that precision. */
void format_float_as(long double value, const struct float_style *style, struct text *text);
/** Adds a whole number of `count` 30-bit digits, the lowest first. */
void format_int(const uint32_t *digits, size_t count, bool negative, struct text *text);

/* ---- text_repr.c ---- */

void value_add_str(struct value_writer *writer, const struct py_type *type, psc_addr object);
void value_add_bytes(struct value_writer *writer, const struct py_type *type, psc_addr object);
void value_add_bytearray(struct value_writer *writer, const struct py_type *type, psc_addr object);
/** "… 3 more", for what is left out; nothing for 0. */
void value_add_rest(struct text *text, uint64_t rest);
/** repr() of characters of 1, 2 or 4 bytes each, with quotes. */
void format_str(const uint8_t *characters, size_t count, uint32_t width, struct text *text);
/** repr() of bytes, without the b. */
void format_bytes(const uint8_t *bytes, size_t count, struct text *text);
/** repr() of text as this version has it, without a prefix. */
void value_format_text(struct value_writer *writer, const uint8_t *characters, size_t count,
                       uint32_t width);
/** repr() of bytes, without the prefix. */
void value_add_bytes_as_text(struct value_writer *writer, psc_addr object);
/** repr() of a part of a str or bytes; false when the object is neither, or is too short. */
bool value_add_part(struct value_writer *writer, psc_addr object, uint64_t start, uint64_t end);
/** As it is, without quotes, for names; nothing when it is no str. */
void value_add_name(struct value_writer *writer, psc_addr object);

/* ---- container.c ---- */

void value_open_tuple(struct value_writer *writer, const struct py_type *type, psc_addr object);
void value_open_list(struct value_writer *writer, const struct py_type *type, psc_addr object);
void value_open_dict(struct value_writer *writer, const struct py_type *type, psc_addr object);
void value_open_set(struct value_writer *writer, const struct py_type *type, psc_addr object);
void value_open_deque(struct value_writer *writer, const struct py_type *type, psc_addr object);
void value_open_defaultdict(struct value_writer *writer, const struct py_type *type,
                            psc_addr object);

/* ---- ordered_dict.c ---- */

/** Takes the items of an OrderedDict in its own order, `used` of them in all. */
void value_take_ordered(struct value_writer *writer, struct value_level *level, psc_addr dict,
                        uint64_t used);

/* ---- attributes.c ---- */

/** "<Point object at 0x...", without the end. */
void value_add_identity(struct value_writer *writer, const struct py_type *type, psc_addr object);
/** The attributes of an object: those of __slots__, then those of its __dict__. */
void value_take_attributes(struct value_writer *writer, struct value_level *level,
                           const struct py_type *type, psc_addr object);
bool value_find_attribute(struct python *python, const struct py_type *type, psc_addr object,
                          const char *name, psc_addr *ret);
/** The same among those of its __dict__ alone. */
bool value_find_in_dict(struct python *python, psc_addr object, const char *name, psc_addr *ret);

/* ---- instance.c ---- */

/** "<Point object at 0x...>", and its attributes. */
void value_open_instance(struct value_writer *writer, const struct py_type *type, psc_addr object);
void value_open_exception(struct value_writer *writer, const struct py_type *type, psc_addr object);
void value_open_slice(struct value_writer *writer, const struct py_type *type, psc_addr object);
void value_open_range(struct value_writer *writer, const struct py_type *type, psc_addr object);

/* ---- function.c ---- */

void value_open_method(struct value_writer *writer, const struct py_type *type, psc_addr object);
void value_open_builtin(struct value_writer *writer, const struct py_type *type, psc_addr object);
void value_add_function(struct value_writer *writer, const struct py_type *type, psc_addr object);
void value_add_generator(struct value_writer *writer, const struct py_type *type, psc_addr object);
void value_add_type(struct value_writer *writer, const struct py_type *type, psc_addr object);

/** " (name)" of a function, a class, or an object that has a __name__; nothing for others. */
void value_add_called(struct value_writer *writer, psc_addr object);

/* ---- code_objects.c ---- */

void value_add_code(struct value_writer *writer, const struct py_type *type, psc_addr object);
void value_add_frame(struct value_writer *writer, const struct py_type *type, psc_addr object);
void value_add_cell(struct value_writer *writer, const struct py_type *type, psc_addr object);
void value_add_super(struct value_writer *writer, const struct py_type *type, psc_addr object);
void value_add_method_wrapper(struct value_writer *writer, const struct py_type *type,
                              psc_addr object);
void value_add_descriptor(struct value_writer *writer, const struct py_type *type, psc_addr object);
void value_open_static_method(struct value_writer *writer, const struct py_type *type,
                              psc_addr object);
void value_add_capsule(struct value_writer *writer, const struct py_type *type, psc_addr object);
void value_open_alias(struct value_writer *writer, const struct py_type *type, psc_addr object);

/* ---- module_origin.c ---- */

void value_add_module(struct value_writer *writer, const struct py_type *type, psc_addr object);

/* ---- old_style_class.c: 2.7's classes without a type ---- */

void value_open_old_instance(struct value_writer *writer, const struct py_type *type,
                             psc_addr object);
void value_add_old_class(struct value_writer *writer, const struct py_type *type, psc_addr object);
/** Adds "module.Name" of such a class. */
void value_add_old_name(struct python *python, psc_addr class, struct text *text);
/** The name of such a class, as a str. */
psc_addr value_old_name(struct python *python, psc_addr class);

/* ---- enum_flags.c ---- */

/** Adds ".READ|WRITE" for a combination that has no name of its own; nothing when its parts are not
    known. */
void value_add_flag_names(struct value_writer *writer, const struct py_type *type, psc_addr number);

/* ---- dict_view.c ---- */

void value_open_proxy(struct value_writer *writer, const struct py_type *type, psc_addr object);
void value_open_view(struct value_writer *writer, const struct py_type *type, psc_addr object);
void value_add_weakref(struct value_writer *writer, const struct py_type *type, psc_addr object);

#endif
