/**
 * @file
 * From a code object's tables to a position, and to the values that its handlers keep. Pure: bytes
 * in, position out.
 */
#ifndef PSC_PYTHON_LINE_TABLE_H
#define PSC_PYTHON_LINE_TABLE_H

#include "base.h"

/** Zeroed columns are real columns: -1 is none. Line 0 is none. */
struct py_position {
    uint32_t line;
    uint32_t end_line;
    int32_t column;
    int32_t end_column;
};

/**
 * co_lnotab, up to 3.9: pairs of bytes (address delta, line delta).
 * @param signed_lines  line deltas are signed (3.6 on).
 * @param lasti         byte offset; below 0: the first line.
 */
uint32_t parse_lnotab(const uint8_t *table, size_t size, int32_t first_line, int32_t lasti,
                      bool signed_lines);

/** co_linetable of 3.10: pairs (length, line delta), -128 for a range without a line. */
uint32_t parse_linetable_310(const uint8_t *table, size_t size, int32_t first_line, int32_t lasti);

/** co_linetable from 3.11 on: variable-length entries with columns. */
void parse_locations_311(const uint8_t *table, size_t size, int32_t first_line, int32_t lasti,
                         struct py_position *ret);

/**
 * co_exceptiontable, from 3.11 on (Objects/exception_handling_notes.txt): how many values at least
 * are on the stack at an instruction; 0 outside of all handlers.
 */
uint32_t parse_handler_depth(const uint8_t *table, size_t size, int32_t lasti);

#endif
