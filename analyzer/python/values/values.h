/**
 * @file
 * Room `python/values`: values as text, much as repr() has it, from memory alone: nothing in the
 * target is called.
 *
 * One object leads to others. types/ has a writer, which keeps the way there in levels of its own,
 * and a file for each family of types, as library/ has; each opens a level or writes what it knows,
 * and never asks for another value itself. kinds.c says which of them is for which kind of object,
 * and goes from level to level. lookup/ goes from names to objects, exception.c from a thread to
 * its exceptions.
 *
 * To add a kind: a row in type_kind.c of objects/, a function in types/ or library/, a row in
 * kinds.c.
 */
#ifndef PSC_PYTHON_VALUES_H
#define PSC_PYTHON_VALUES_H

#include "objects.h"

#define VALUE_TEXT_LIMIT 2000u      /**< Bytes of one value's text, by default. */
#define VALUE_TEXT_MAX   (1u << 22) /**< Whatever is asked for. */

/**
 * Adds an object's text. What can not be read, or is met again inside of itself, is said so in
 * its place. Only memory can run out, which text->failed tells.
 */
void value_add(struct python *python, psc_addr object, struct text *text);

/** The text in the arena, "" for none, NULL when memory is out; the text is freed. */
const char *value_keep(struct python *python, struct text *text);

#endif
