/** @file What the files of room `cli/recording` share. */
#ifndef PSC_RECORDING_PRIVATE_H
#define PSC_RECORDING_PRIVATE_H

#include "command_line.h"
#include "output.h"
#include "record.h"
#include "recording.h"

#include <stdbool.h>
#include <sys/types.h>

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

/* ---- held_outputs.c ---- */

/**
 * The files of a recording, open from its beginning. Who records has no rights to give them their
 * names: a process of its own does, which reads nothing of the one that is recorded.
 */
struct held_outputs {
    struct output_file files[RECORD_OUTPUTS];
    size_t count;
    pid_t holder; /**< 0: there is none. */
    int socket;   /**< -1: the same. */
};

/** Opens them; false, and said so: one cannot be written, and none is. */
bool held_outputs_open(const struct record_request *request, struct held_outputs *ret);
/** Puts one in its place, or drops it. As close_output(). */
bool held_outputs_close(struct held_outputs *held, size_t index, bool good);
/** Drops what is left. */
void held_outputs_end(struct held_outputs *held);

/** Where an output goes; NULL: standard output. Without any it is one to there. */
const char *record_output_path(const struct record_request *request, size_t index);

/* ---- record_files.c ---- */

/** Writes the profile to all files. @return an enum exit_code. */
int record_write(const struct record_request *request, const struct profile *profile,
                 struct held_outputs *held);
/** What was counted, on standard error. */
void record_tell_counts(const struct record_request *request, const struct profile *profile,
                        enum record_end end);

#endif
