/** Shared by the files of room `cli/triage/outputs` only. */
#ifndef PSC_TRIAGE_OUTPUTS_PRIVATE_H
#define PSC_TRIAGE_OUTPUTS_PRIVATE_H

#include "outputs.h"

write_result_fn write_group_text, write_group_json, write_markdown;
/** GitHub's workflow commands, one for a group: the nearest frame in the repository. */
write_result_fn write_annotations;

/** Text of a target, with no character that could drive a terminal. */
void put_safely(FILE *file, const char *text);
/** The visible frames, a line each, at most `limit`; false if there were none. */
bool put_frames(FILE *file, const json_t *frames, const char *indentation, size_t limit);

#endif
