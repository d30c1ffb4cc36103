/**
 * @file
 * Room `redact`: text that is to be shared, without what is nobody else's business. It works on
 * text of any kind, JSON among it, which stays what it is: a report that was printed, whatever its
 * format.
 *
 * Masked are
 * - the user's name in a home directory (/home/NAME, /Users/NAME), wherever that name is a folder's
 *   in the same text, and the values of names such as USER and `login`: [user];
 * - the user and password of a URL, values whose name says secret (password, token, secret, key,
 *   auth, cookie, ...) in assignments, arguments, environment, dictionaries, headers and the query
 *   of a URL, and what is a key or token by its look, wherever it stands: [redacted];
 * - literals in quotes that are given to a call, or compared with a name, which says secret, and
 *   those that are equal to such a value anywhere in the text; without quotes, too, where it has
 *   letters and digits (an argument of a program, say).
 * Names of machines and addresses stay: a fault of the network cannot be told without them.
 */
#ifndef PSC_REDACT_H
#define PSC_REDACT_H

#include "base.h"

#include <stdbool.h>
#include <stddef.h>

/** Adds the text, masked. Out of memory: ret->failed. */
void redact_text(const char *text, size_t size, struct text *ret);

/** Values of which a name says that they are secret, of texts that were looked at. */
struct redact_secrets;
/** NULL: out of memory. */
struct redact_secrets *redact_secrets_create(void);
void redact_secrets_destroy(struct redact_secrets *secrets);
/** Adds those of a text, up to 256 in all. false: out of memory. */
bool redact_secrets_learn(struct redact_secrets *secrets, const char *text, size_t size);
/** True: there may be more of them than are known. */
bool redact_secrets_are_full(const struct redact_secrets *secrets);
/** As redact_text(), of a part of such a text: literals that are one of them are masked, too. */
void redact_text_knowing(const struct redact_secrets *secrets, const char *text, size_t size,
                         struct text *ret);

#endif
