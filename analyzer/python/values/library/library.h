/**
 * @file
 * Room `python/values/library`: the values of types of the standard library, of numpy and of
 * Cython, as in types.h.
 */
#ifndef PSC_VALUE_LIBRARY_H
#define PSC_VALUE_LIBRARY_H

#include "types.h"

/* ---- datetime.c ---- */

void value_open_time(struct value_writer *writer, const struct py_type *type, psc_addr object);

/* ---- cython_object.c ---- */

void value_add_cyfunction(struct value_writer *writer, const struct py_type *type, psc_addr object);
void value_open_closure(struct value_writer *writer, const struct py_type *type, psc_addr object);

/* ---- decimal.c, uuid.c ---- */

void value_add_decimal(struct value_writer *writer, const struct py_type *type, psc_addr object);
void value_add_uuid(struct value_writer *writer, const struct py_type *type, psc_addr object);

/* ---- pathlib.c ---- */

void value_open_path(struct value_writer *writer, const struct py_type *type, psc_addr object);

/* ---- pattern.c ---- */

void value_add_pattern(struct value_writer *writer, const struct py_type *type, psc_addr object);

void value_open_match(struct value_writer *writer, const struct py_type *type, psc_addr object);

/* ---- functional.c ---- */

void value_open_partial(struct value_writer *writer, const struct py_type *type, psc_addr object);
void value_open_operator(struct value_writer *writer, const struct py_type *type, psc_addr object);
void value_open_count(struct value_writer *writer, const struct py_type *type, psc_addr object);
void value_open_repeat(struct value_writer *writer, const struct py_type *type, psc_addr object);
void value_open_namespace(struct value_writer *writer, const struct py_type *type, psc_addr object);

/* ---- array.c ---- */

void value_add_array(struct value_writer *writer, const struct py_type *type, psc_addr object);
void value_add_struct(struct value_writer *writer, const struct py_type *type, psc_addr object);

/* ---- io_files.c ---- */

void value_open_file(struct value_writer *writer, const struct py_type *type, psc_addr object);

/* ---- synchronisation.c ---- */

void value_add_lock(struct value_writer *writer, const struct py_type *type, psc_addr object);
void value_open_context_variable(struct value_writer *writer, const struct py_type *type,
                                 psc_addr object);

/* ---- memoryview.c ---- */

void value_add_memoryview(struct value_writer *writer, const struct py_type *type, psc_addr object);

/* ---- numpy.c, numpy_dtype.c ---- */

void value_open_numpy_array(struct value_writer *writer, const struct py_type *type,
                            psc_addr object);
void value_add_numpy_scalar(struct value_writer *writer, const struct py_type *type,
                            psc_addr object);
void value_add_numpy_dtype(struct value_writer *writer, const struct py_type *type,
                           psc_addr object);

#endif
