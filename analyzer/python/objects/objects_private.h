/** @file What the files of objects/ share. */
#ifndef PSC_PYTHON_OBJECTS_PRIVATE_H
#define PSC_PYTHON_OBJECTS_PRIVATE_H

#include "objects.h"

/* ---- type_kind.c; PY_KIND_OBJECT: of none that is known ---- */

/** By tp_name of a type that is made in C. */
enum py_kind type_kind_of_name(const struct python *python, const char *name);
/** By tp_flags, which classes have from the type that they are derived from. */
enum py_kind type_kind_of_flags(const struct python *python, uint64_t flags);
/** Of classes of the standard library that are made in Python; the type has a module. */
enum py_kind type_kind_of_class(const struct py_type *type);

/* ---- type_repr.c ---- */

/** What a class, or the first of its bases that has it, has under a name. */
bool type_find_in_classes(struct python *python, psc_addr type, const char *name, psc_addr *ret);
/** Sets own_repr of what has a kind, an enumeration, a dataclass or a named tuple. */
void type_set_repr(struct python *python, struct py_type *type);

#endif
