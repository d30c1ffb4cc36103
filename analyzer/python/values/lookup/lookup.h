/**
 * @file
 * Room `python/values/lookup`: from names to objects, as Python finds them. Calls nothing in the
 * target: what only code can give is PSC_ERR_UNSUPPORTED. What others ask of it is in python.h.
 */
#ifndef PSC_VALUE_LOOKUP_H
#define PSC_VALUE_LOOKUP_H

#include "objects.h"
#include "value_path.h"

#define LOOKUP_NAME_LIMIT 256u     /**< Characters of a name that is listed. */
#define LOOKUP_ITEM_LIMIT 1048576u /**< Entries of a dict that are compared. */

/** The value of a str key, any UTF-8. */
PSC_MUST_CHECK enum psc_status lookup_find_key(struct python *python, struct py_items *items,
                                               const char *key, psc_addr *ret);

/**
 * The attribute of an object, as object.__getattribute__() finds it.
 * @return PSC_ERR_UNSUPPORTED when code would have to run for it; `err` says so.
 */
PSC_MUST_CHECK enum psc_status lookup_attribute(struct python *python, psc_addr object,
                                                const char *name, psc_addr *ret,
                                                struct psc_error *err);
/** An item of a list, a tuple or a dict, or of what is derived from one. */
PSC_MUST_CHECK enum psc_status lookup_item(struct python *python, psc_addr object,
                                           const struct value_step *step, psc_addr *ret,
                                           struct psc_error *err);
/** Shows the names of the object's attributes, its own first; false ends it. */
void lookup_list_attributes(struct python *python, psc_addr object,
                            bool (*take)(void *context, psc_addr name), void *context);

#endif
