/** Signatures of what is shown. */
#ifndef PSC_CLI_SIGNATURES_H
#define PSC_CLI_SIGNATURES_H

#include "options.h"

/** Anew, where a project has rules of its own; false, and said so, when --rules cannot be read. */
bool sign_traces(struct psc_trace *const *traces, size_t count, const struct options *options);
/** Of --explain-signature, in place of the report; false: it could not be written. */
bool explain_signatures(struct psc_trace *const *traces, size_t count, bool redacts);

#endif
