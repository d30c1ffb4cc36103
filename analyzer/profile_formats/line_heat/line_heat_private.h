/** @file Shared by the files of room `profile_formats/line_heat` only. */
#ifndef PSC_PROFILE_LINE_HEAT_PRIVATE_H
#define PSC_PROFILE_LINE_HEAT_PRIVATE_H

#include "line_heat.h"
#include "printer.h"

/** A line of a file, or (line 0) what of a function has no line. */
struct heated_line {
    uint64_t place; /**< Function << 32 | line: lines of functions that share a file stay apart. */
    uint64_t own;
    uint64_t total;
    uint64_t seen; /**< The last stack that was counted: recursion counts once. */
};

/** A source file, or a library of functions without one. */
struct heated_file {
    uint64_t name; /**< String; of a library, its path's. */
    uint64_t own;
    uint64_t total;
    uint64_t seen;
    size_t first; /**< Its lines, in the sorted array. */
    size_t count;
};

struct heat {
    const struct profile *profile;
    struct hash_table lines;   /**< struct heated_line */
    struct hash_table weights; /**< struct stack_weight */
    struct hash_table files;   /**< struct heated_file; those with most time first. */
    struct heated_line **sorted;
    uint64_t whole;
};

/** PSC_ERR_MEMORY, PSC_ERR_IO; to be freed in any case. */
PSC_MUST_CHECK enum psc_status heat_read(const struct profile *profile, struct heat *ret,
                                         struct psc_error *err);
void heat_deinit(struct heat *heat);
/** Of all time. */
double heat_percent(const struct heat *heat, uint64_t weight);

static inline uint32_t heated_line_number(const struct heated_line *line)
{
    return (uint32_t)line->place;
}
static inline const struct profile_function *heated_function(const struct heat *heat,
                                                             const struct heated_line *line)
{
    return &heat->profile->functions[line->place >> 32];
}

/** The text of a file, walked line by line upwards. */
struct source_walk {
    char *text; /**< NULL: not at hand. */
    const char *at;
    const char *end;
    uint32_t line;
};

void source_open(struct source_walk *walk, const struct profile_output *output, const char *file);
void source_deinit(struct source_walk *walk);
/** Appends a line, escaped and without its end, at most SOURCE_LINE_LIMIT bytes of it; false: there
 * is no such line. Numbers do not fall from one call to the next. */
bool source_add_line(struct source_walk *walk, uint32_t line, struct text *ret);
#define SOURCE_LINE_LIMIT 400

#endif
