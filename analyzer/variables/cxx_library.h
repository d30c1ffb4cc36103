/** @file What cxx_library.c and cxx_containers.c share: parts of structs of C++'s library. */
#ifndef PSC_C_LIBRARY_H
#define PSC_C_LIBRARY_H

#include "variable_value.h"

/** A part of a struct. */
struct library_part {
    const struct debug_type *type;
    struct c_place place;
};

/** Goes on to a member; false when there is none of that name. */
bool library_find_part(struct library_part *part, const char *name);
/** A word of it: members are named from the outside in; NULL ends them. */
bool library_read_path(struct c_writer *writer, struct library_part part, const char *const *names,
                       uint64_t *ret);
bool library_read_word(struct c_writer *writer, psc_addr address, uint64_t *ret);

#define READ_PATH(writer, part, ret, ...) \
    library_read_path(writer, part, (const char *const[]){__VA_ARGS__, NULL}, ret)

/* ---- cxx_containers.c: false for what is laid out otherwise ---- */

bool library_add_vector(struct c_writer *writer, struct library_part part, unsigned depth);
bool library_add_deque(struct c_writer *writer, struct library_part part, unsigned depth);
bool library_add_array(struct c_writer *writer, struct library_part part, unsigned depth);
bool library_add_initializer_list(struct c_writer *writer, struct library_part part,
                                  unsigned depth);
bool library_add_tree(struct c_writer *writer, struct library_part part, unsigned depth);
bool library_add_table(struct c_writer *writer, struct library_part part, unsigned depth);
bool library_add_list(struct c_writer *writer, struct library_part part, unsigned depth);
bool library_add_forward_list(struct c_writer *writer, struct library_part part, unsigned depth);

#endif
