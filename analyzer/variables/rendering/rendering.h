/**
 * @file
 * Room `variables/rendering`: values of C, C++ and Cython variables as text, by their types in the
 * debug information.
 *
 * In a Cython frame they look as Python's do (`[1, 2]`, `1.5`), else as gdb shows them (`{1, 2}`).
 * Where something cannot be read the text says so: nothing here fails.
 */
#ifndef PSC_RENDERING_H
#define PSC_RENDERING_H

#include "cython.h"
#include "modules.h"
#include "native.h"
#include "python.h"

/** How much of a value is shown. */
struct c_limits {
    unsigned depth;    /**< Structs in structs. */
    size_t items;      /**< Of one array, members of one struct. */
    size_t characters; /**< Bytes of one string. */
    size_t text;       /**< Bytes of the whole text, after which nothing is begun. */
};

/** What is asked for, 0 for what is not, as limits that are kept. */
struct c_limits c_limits_of(const struct python_value_limits *wanted);

/** Where a value, or a part of one, is. */
struct c_storage {
    const struct native_value *value; /**< NULL: in memory. */
    uint64_t at;                      /**< The address, or the offset in value->bytes. */
};

/** What a value is read from, and the text that it is added to. */
struct c_writer {
    struct target *target;
    struct modules *modules;
    struct python *python; /**< NULL: objects are pointers. */
    struct arena *arena;   /**< For what is not needed after one value. */
    struct text *text;     /**< Empty at first. */
    struct c_limits limits;
    bool cython; /**< As Python shows values, else as gdb does. */
    /** Set by c_write_value(): what writes a value of any kind; see c_add_value(). */
    void (*add_value)(struct c_writer *writer, const struct debug_type *type,
                      struct c_storage storage, unsigned depth);
};

/** Adds a whole value to the writer's text. */
void c_write_value(struct c_writer *writer, const struct debug_type *type,
                   struct c_storage storage);

/** LOST: part of the value is not known any more. FAULT: memory that cannot be read. */
enum c_read { C_READ_OK, C_READ_LOST, C_READ_FAULT };

/** Reads bytes of a value, `offset` from its start. */
enum c_read c_read(const struct c_writer *writer, struct c_storage storage, uint64_t offset,
                   void *ret, size_t size);
/** A struct that begins as every Python object does. */
bool c_is_object(const struct debug_type *type);
/** The member of that name, also within base structs; false when there is none. */
bool c_find_member(const struct debug_type *type, const char *name, struct debug_member *ret);

#endif
