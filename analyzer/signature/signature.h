/**
 * @file
 * Room `signature`: what deaths of one cause have in common. Fills trace->signature, whose strings
 * are in the trace's arena. What its parts are made of: docs/signatures.md.
 */
#ifndef PSC_SIGNATURE_H
#define PSC_SIGNATURE_H

#include "trace.h"

/** Of the way signatures are made; those of another version are not compared. */
#define SIGNATURE_VERSION 1u

/** What each frame is to a signature. */
struct signature_rules;

/**
 * The rules that the program has built in, and before them those of `text` (NULL: none), one a
 * line; of several that match the first counts. `name` is the file that they come from.
 * @return PSC_ERR_ARGUMENT with the line that cannot be read, or PSC_ERR_MEMORY.
 */
PSC_MUST_CHECK enum psc_status signature_rules_create(const char *text, const char *name,
                                                      struct signature_rules **ret,
                                                      struct psc_error *err);
void signature_rules_destroy(struct signature_rules *rules);
/** The rules that are built in, as a file has them. Static. */
const char *signature_default_rules(void);

/**
 * Fills trace->signature: of the thread that died; of a process that lives, of the thread that
 * holds the GIL, else of the main one, or of the one that these wait for, in the end.
 */
PSC_MUST_CHECK enum psc_status signature_make(const struct signature_rules *rules,
                                              struct psc_trace *trace);

#endif
