/**
 * @file
 * Room `cli/triage/facts`: what the formats say of reports, and how text of a target is written.
 */
#ifndef PSC_TRIAGE_FACTS_H
#define PSC_TRIAGE_FACTS_H

#include "grouping.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* ---- frame_lines.c ---- */

/**
 * The visible frames of a thread, a line each, at most `limit`; of a recursion the innermost cycle,
 * and a line that counts the others. false if there were none.
 */
bool put_frames(FILE *file, const json_t *thread, const char *indentation, size_t limit);

/* ---- report_facts.c ---- */

/** The text of a member, "" where there is none. */
const char *text_of(const json_t *object, const char *member);
/** The number of a member, 0 where there is none. */
long long number_of(const json_t *object, const char *member);
/** Whether a frame is not hidden by merging. */
bool is_shown(const json_t *frame);
/** Whether it stands for a part of the stack that could not be read. */
bool is_gap(const json_t *frame);

/** A word, and what it means. */
struct death_kind {
    const char *name, *what;
};
/** How it died, by the schema's crash.cause; deadlock, exit and unread beside those. Static. */
const struct death_kind *death_kind_of(const struct core_report *report);

/** Whether it is of a core file, read or not: others ended without one, or hang. */
bool is_of_core(const struct core_report *report);

/** A string of any bytes; NULL: out of memory. */
json_t *json_of_bytes(const char *text);
/** The number of an address; NULL for NULL and where it has more than 63 bits. */
json_t *json_of_number(const char *hexadecimal);
/** Takes the value; no member for NULL. */
void put_member(json_t *object, const char *name, json_t *value);
/** No member for NULL and for "". */
void put_text(json_t *object, const char *name, const char *text);
/** Prints it with a line's end, and releases it; false, and said so: it is NULL. */
bool put_json(FILE *file, json_t *json, size_t flags);

#endif
