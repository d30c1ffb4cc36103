/**
 * @file
 * Room `print/short_name`: C++ and Rust names that fit on a line.
 */
#ifndef PSC_SHORT_NAME_H
#define PSC_SHORT_NAME_H

#include "base.h"

/** Names of up to so many characters are good as they are. */
#define SHORT_NAME_LIMIT 80

/**
 * Adds a demangled name in at most `limit` characters, if that is possible, and in as much detail
 * as there is room for: arguments of templates and of functions that are nested deepest become "…"
 * first, as in `f<std::vector<…>, int>(…)::{lambda()#1}`; what libstdc++ and libc++ write in full
 * (std::__cxx11::basic_string<char, …>) is called as in the source, and default arguments
 * (allocators, std::less) are left out. A name up to the limit stays as it is. One that has no
 * such arguments is cut in its middle where it is longer than twice the limit. Takes time in
 * proportion to the name.
 */
void short_name_add(struct text *text, const char *name, size_t limit);

/**
 * The short names of one report: no two of them are alike, since those that would be are given
 * more room, and in the end stay whole.
 */
struct short_names;

/** NULL when out of memory. */
struct short_names *short_names_create(void);
void short_names_destroy(struct short_names *names);
/** `name` stays where it is until short_names_destroy(); one up to the limit needs no adding. */
PSC_MUST_CHECK bool short_names_add(struct short_names *names, const char *name);
/** Once all are there. */
PSC_MUST_CHECK bool short_names_settle(struct short_names *names);
/** What is shown of `name`; the name itself if it was not added. */
const char *short_names_get(const struct short_names *names, const char *name);

#endif
