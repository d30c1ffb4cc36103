/**
 * @file
 * Room `cli/options`: what the command line of a report asks for. Opens no target; what is wrong is
 * said on standard error.
 *
 * To add an option: a row in option_list.c, a function that takes its value in option_values.c.
 */
#ifndef PSC_OPTIONS_H
#define PSC_OPTIONS_H

#include "command_line.h"

#include <pystack_core.h>

#include <regex.h>
#include <stdbool.h>

enum color_choice { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

struct sandbox_keeper;

struct output {
    enum psc_format format;
    const char *path; /**< NULL: standard output. */
};

/** Strings belong to argv, arrays to this. */
struct options {
    const char *core; /**< NULL: living processes; "-": standard input. */
    int32_t *pids;    /**< Of --pid. */
    size_t pid_count;
    bool matches;                       /**< --match was given. */
    regex_t match;                      /**< With `matches`. */
    const char *match_words;            /**< As it was given. */
    bool children;                      /**< Also what descends from the processes. */
    int32_t depth;                      /**< So many levels of them; 0: all. */
    bool saves_core;                    /**< Also writes a core file. */
    const char *core_file;              /**< Where; NULL: core.PID. */
    int32_t thread;                     /**< The one that --thread names. */
    bool lists_files;                   /**< In place of the report. */
    bool explains_signature;            /**< In place of the report. */
    const char *rules;                  /**< Of signatures, a file; NULL: none. */
    const char *bundle;                 /**< The archive to write, or NULL. */
    struct psc_evaluation *evaluations; /**< Of --eval; capture.evaluation_count. */
    bool redacts;                       /**< What is written and said is masked. */
    bool no_sandbox;                    /**< Parses with all rights. */
    bool debuginfod;                    /**< Files that are not here are fetched. */
    const char *debuginfod_urls;        /**< See struct debuginfod_request. */
    unsigned debuginfod_seconds;        /**< The same. */
    double interval;                    /**< Seconds between captures; 0: one capture. */
    const char *executable;
    /** Of one who keeps what is known of libraries, to be asked first; -1 or 0: there is none. */
    int keeper;
    unsigned int keeper_seconds; /**< That it may take for this core. */
    bool was_kept;               /**< Found out while it was shown: the keeper has shown it. */
    /** In place of the report: such a keeper is started. NULL: none. */
    struct sandbox_keeper *starts_keeper;
    bool is_no_core; /**< Found out while it was shown: what is packed in the file is no core. */
    enum color_choice color;
    enum shell shell;       /**< Of --completion. */
    struct output *outputs; /**< The main one first. */
    size_t output_count;
    const char **library_directories;
    const char **source_maps;
    const char **source_directories;
    struct psc_open_options open;
    struct psc_capture_options capture;
    struct psc_print_options print;
};

/** Whether what is shown are living processes. */
static inline bool options_are_live(const struct options *options)
{
    return options->pid_count || options->matches;
}

/** Whether they may be several: one report of all. */
static inline bool options_are_several(const struct options *options)
{
    return options->pid_count > 1 || options->matches || options->children;
}

/** What the program prints where no command is named. */
extern const struct command_spec report_command;

/** Reads argv; prints the version or what is wrong with it. */
enum options_result options_parse(struct options *options, int argc, char **argv);
void options_deinit(struct options *options);

#endif
