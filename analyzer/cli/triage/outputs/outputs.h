/**
 * @file
 * Room `cli/triage/outputs`: the formats that the result of a triage is written in. One file or
 * room each, a row in formats.def; help and the option's values come from there.
 */
#ifndef PSC_TRIAGE_OUTPUTS_H
#define PSC_TRIAGE_OUTPUTS_H

#include "command_line.h"
#include "grouping.h"
#include "sources.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/** All that an output is made of. */
struct triage_result {
    const struct core_report *reports; /**< In the order of their paths. */
    size_t report_count;
    const struct report_groups *groups;
    const struct kept_reports *kept;
    struct sources *sources;
    const char *junit_merge; /**< A JUnit file that is gone on with; NULL: none. */
    size_t other_files;      /**< In the directories, that are no cores. */
    bool has_baseline;
    bool color;
    bool redacts;      /**< What is written is masked. */
    bool shows_values; /**< Locals were asked for. */
    bool shows_source;
};

/** Writes a file; false, and said so: it cannot be made. Errors of `file` are the caller's. */
typedef bool write_result_fn(FILE *file, const struct triage_result *result);

struct output_format {
    const char *name;
    write_result_fn *write; /**< NULL: ndjson, whose lines are written as reports come. */
    bool needs_whole;       /**< More of a report than core_report_slim() leaves. */
};

#define FORMAT(id, name, what, write, needs_whole) OUTPUT_##id,
enum output_kind {
#include "formats.def"
};
#undef FORMAT

/** Loads what is needed to write it, for a process that may open nothing. */
void output_format_prepare(const struct output_format *format);

/** By enum output_kind. */
extern const struct output_format output_formats[];
/** Their names for the command line; the values are of enum output_kind. */
extern const struct option_choice output_choices[];
/** Lines for --help: what each is. */
extern const char output_formats_help[];

#endif
