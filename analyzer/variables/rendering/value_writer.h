/** @file What the files of room `rendering` share. */
#ifndef PSC_VALUE_WRITER_H
#define PSC_VALUE_WRITER_H

#include "rendering.h"

/** A value, or a part of one. */
struct c_part {
    const struct debug_type *type;
    struct c_storage storage;
};

/* ---- value_writer.c ---- */

/** Adds why there is no value. */
void c_add_missing(struct c_writer *writer, enum c_read why, psc_addr address);
/** True when the text is long enough for one value, or memory is out. */
bool c_is_full(const struct c_writer *writer);

/** Adds a value in a value. `depth`: in how many others it is. */
static inline void c_add_value(struct c_writer *writer, const struct debug_type *type,
                               struct c_storage storage, unsigned depth)
{
    writer->add_value(writer, type, storage, depth);
}

/** Items side by side, of which `first` is the first. `count`: as many as there are. */
void c_add_items(struct c_writer *writer, struct c_part first, uint64_t count, unsigned depth);

/* ---- scalars.c ---- */

/** Any kind of number, or an enum's value. */
void c_add_number(struct c_writer *writer, const struct debug_type *type, struct c_storage storage);
/** A bit field of the struct at `storage`. */
void c_add_bits(struct c_writer *writer, const struct debug_member *member,
                struct c_storage storage);
/** A number of single, double or x87's precision; false for other sizes. */
bool c_add_float(const struct c_writer *writer, const uint8_t *bytes, uint64_t size,
                 struct text *text);
/** Two numbers of single or double precision; false for other sizes. */
bool c_add_complex(struct c_writer *writer, const uint8_t *bytes, uint64_t size);

/* ---- known_structs.c, memory_views.c ---- */

/** Memoryviews and the like, by their members; false for other structs. */
bool c_add_known_struct(struct c_writer *writer, const struct debug_type *type,
                        struct c_storage storage, unsigned depth);
/** A __Pyx_memviewslice. */
void c_add_memoryview(struct c_writer *writer, const struct debug_type *type,
                      struct c_storage storage);

/* ---- cxx_library.c ---- */

/** Strings, containers and pointers of C++'s library, by their members; false for other structs. */
bool c_add_library_struct(struct c_writer *writer, const struct debug_type *type,
                          struct c_storage storage, unsigned depth);

/* ---- characters.c ---- */

/** Where text ends. */
enum c_text_end {
    C_TEXT_COUNTED,    /**< Behind that many characters. */
    C_TEXT_ARRAY,      /**< There, or before its first 0. */
    C_TEXT_BYTES,      /**< There, or before the zeros that it ends with. */
    C_TEXT_TERMINATED, /**< Before its first 0, which stands anywhere. */
};

/** The size of a character of such a type; 0: it is no character. */
unsigned c_character_width(const struct debug_type *type);
/** `count` characters at an address, in quotes; false when they can not be read. */
bool c_add_text(struct c_writer *writer, const struct debug_type *type, psc_addr address,
                uint64_t count, enum c_text_end how);

/** A character in single quotes; false for one that is not printable. */
bool c_add_code_point(struct text *text, uint64_t value);
/** The letter behind the number of a wchar_t, say: " L'a'"; nothing for other types. */
void c_add_wide_character(struct text *text, const struct debug_type *type, uint64_t value);

#endif
