/** @file Names that a program writes into a file for perf(1), of code that it makes at run time. */
#ifndef PSC_CODE_NAMES_H
#define PSC_CODE_NAMES_H

#include "base.h"

/** Code and its name; the name is in the bytes that were parsed. */
struct code_name {
    psc_addr start;
    psc_addr end;
    const char *name;
    size_t name_size;
};

/**
 * Takes the next line of a perf map that names something; others are passed over.
 * tools/perf/Documentation/jit-interface.txt: start and size in hexadecimal, and the name.
 * @param at  where to begin; moved behind the line.
 * @return false at the end.
 */
bool parse_next_perf_name(const char **at, const char *end, struct code_name *ret);

/** What a jitdump file says of itself. */
struct jit_dump {
    uint32_t header_size;
    uint32_t pid;
};

/** tools/perf/Documentation/jitdump-specification.txt; false: it is none, or of the other byte
 * order. */
bool parse_jit_dump(const uint8_t *bytes, size_t size, struct jit_dump *ret);
/**
 * Takes the next record that says what code is where: JIT_CODE_LOAD.
 * @param at  offset of a record; moved behind those that were looked at.
 * @return false at the end, and where a record is damaged.
 */
bool parse_next_jit_name(const uint8_t *bytes, size_t size, size_t *at, struct code_name *ret);

#endif
