/**
 * @file
 * C++'s standard library as libstdc++ lays it out (bits/stl_vector.h, stl_tree.h,
 * hashtable_policy.h, basic_string.h, shared_ptr_base.h, unique_ptr.h, ...), found by the names of
 * its members.
 */
#ifndef PSC_CXX_LIBRARY_H
#define PSC_CXX_LIBRARY_H

#include "value_writer.h"

/* ---- cxx_parts.c ---- */

/** Whether a type, without its arguments, has that name. */
bool library_is_called(const struct debug_type *type, const char *name);
/** Goes on to the first base class of that name; false when there is none. */
bool library_find_base(struct c_part *part, const char *name);
/** Goes on to a member; false when there is none of that name. */
bool library_find_part(struct c_part *part, const char *name);
/** A word of it: members are named from the outside in; NULL ends them. */
bool library_read_path(struct c_writer *writer, struct c_part part, const char *const *names,
                       uint64_t *ret);
bool library_read_word(struct c_writer *writer, psc_addr address, uint64_t *ret);

#define READ_PATH(writer, part, ret, ...) \
    library_read_path(writer, part, (const char *const[]){__VA_ARGS__, NULL}, ret)

/* ---- cxx_containers.c: false for what is laid out otherwise ---- */

bool library_add_vector(struct c_writer *writer, struct c_part part, unsigned depth);
bool library_add_deque(struct c_writer *writer, struct c_part part, unsigned depth);
bool library_add_array(struct c_writer *writer, struct c_part part, unsigned depth);
bool library_add_initializer_list(struct c_writer *writer, struct c_part part, unsigned depth);
bool library_add_tree(struct c_writer *writer, struct c_part part, unsigned depth);
bool library_add_table(struct c_writer *writer, struct c_part part, unsigned depth);
bool library_add_list(struct c_writer *writer, struct c_part part, unsigned depth);
bool library_add_forward_list(struct c_writer *writer, struct c_part part, unsigned depth);

#endif
