/**
 * @file
 * Private to lines/: the map that the readers of the C and of the debug XML fill.
 */
#ifndef PSC_LINES_PRIVATE_H
#define PSC_LINES_PRIVATE_H

#include "lines.h"

/** What has no line of the user's. */
#define NO_FILE UINT32_MAX

struct line_range {
    uint32_t c_line; /**< The first; the range ends where the next begins. */
    uint32_t file;   /**< NO_FILE: no line of the user's. */
    uint32_t line;
};

struct cython_lines {
    struct arena *arena;
    struct line_range *ranges; /**< By c_line. */
    size_t count;
    size_t capacity;
    struct hash_table files; /**< Their names: const char *. */
    uint32_t last_c_line;
    const char *only_of; /**< See struct cython_line. */
};

/** An empty map; NULL when out of memory. */
struct cython_lines *cython_lines_create(void);
/** The file's number; NO_FILE when there are too many or no memory is left. */
uint32_t cython_lines_intern_file(struct cython_lines *lines, struct slice name);
/** Adds a range behind the last one. False: out of memory. */
bool cython_lines_add_range(struct cython_lines *lines, const struct line_range *range);
/** Says that a C line is of a .pyx line; C lines must come in ascending order. */
bool cython_lines_add(struct cython_lines *lines, struct slice file, uint32_t c_line,
                      uint32_t line);
/** Says that nothing told the files of the lines. */
void cython_lines_limit(struct cython_lines *lines, struct slice module_name);

#endif
