/**
 * @file
 * Room `json_cost`: what JSON would take as a tree of values, told before there is one.
 */
#ifndef PSC_JSON_COST_H
#define PSC_JSON_COST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * Bytes that a tree of any text may take, and more for each byte of it: reports take at most ten,
 * nothing but empty objects eighty.
 */
#define JSON_COST_LIMIT    ((uint64_t)128 * 1024 * 1024)
#define JSON_COST_PER_BYTE 12

/**
 * False where the values of the first array or object of a text would take more memory than that,
 * by jansson 2.14's structs. What is no JSON ends somewhere.
 */
bool json_is_affordable(const char *text, size_t size);
/**
 * The same of many texts: *excess, which begins as 0, is what they cost together beyond
 * JSON_COST_PER_BYTE. Each of them would be made and released, which takes time.
 */
bool json_are_affordable(const char *text, size_t size, uint64_t *excess);

#endif
