/** @file What the files of room `cli/recording` share. */
#ifndef PSC_RECORDING_PRIVATE_H
#define PSC_RECORDING_PRIVATE_H

#include "command_line.h"
#include "record.h"
#include "recording.h"

#include <stdbool.h>

/** A file that the profile goes to. */
struct record_output {
    int format; /**< Index in profile_formats. */
    const char *path;
};

/** Files of one run at most. */
#define RECORD_OUTPUTS 32

/** The command line. */
struct record_request {
    struct record_options record;
    struct record_output outputs[RECORD_OUTPUTS];
    size_t output_count;
    char **command; /**< NULL-terminated; NULL: --pid. */
    bool quiet;
};

/** Reads the command line. */
enum options_result record_options_parse(struct record_request *request, int argc, char **argv);

/** Writes the profile to all files. @return an enum exit_code. */
int record_write(const struct record_request *request, const struct profile *profile);
/** What was counted, on standard error. */
void record_tell_counts(const struct record_request *request, const struct profile *profile,
                        enum record_end end);

#endif
