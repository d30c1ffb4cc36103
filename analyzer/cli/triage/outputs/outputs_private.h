/** Shared by the files of room `cli/triage/outputs` only. */
#ifndef PSC_TRIAGE_OUTPUTS_PRIVATE_H
#define PSC_TRIAGE_OUTPUTS_PRIVATE_H

#include "facts.h"
#include "messages.h"
#include "outputs.h"

write_result_fn write_group_text, write_group_json, write_markdown;
/** GitHub's workflow commands, one for a group: the nearest frame in the repository. */
write_result_fn write_annotations;
/** SARIF 2.1.0 (OASIS): a rule for each kind of death, a result for each group. */
write_result_fn write_sarif;
/** satyr's core_stacktrace, one a line. */
write_result_fn write_satyr;
/** Events of Sentry, one a line. */
write_result_fn write_sentry;

/** "core file" where the reports that are counted are of some alone, else "death". */
const char *word_for_deaths(const struct triage_result *result);
const char *word_for_group(const struct triage_result *result, size_t group);

#endif
