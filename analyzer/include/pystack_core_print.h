/** @file pystack-core: writing traces, and reading reports back. Included by pystack_core.h. */
#ifndef PYSTACK_CORE_PRINT_H
#define PYSTACK_CORE_PRINT_H

#include "pystack_core_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How a trace is shown. */
enum psc_format { PSC_FORMAT_TEXT = 0, PSC_FORMAT_JSON = 1 };

/** What of a trace is shown. */
enum psc_content {
    PSC_CONTENT_REPORT = 0,
    PSC_CONTENT_FILES = 1,  /**< The files that the report needs: psc_capture_options.list_files. */
    PSC_CONTENT_VALUES = 2, /**< What psc_capture_options.evaluations asked for. */
    PSC_CONTENT_SUMMARY = 3 /**< All stacks as one tree with counts. */
};

/** Begin with PSC_PRINT_OPTIONS_INIT; NULL means all defaults. */
struct psc_print_options {
    uint32_t size; /**< sizeof(struct psc_print_options) */
    enum psc_format format;
    /** Show also what merging hides, marked; as text also recursion unfolded, and names whole. */
    uint32_t all;
    uint32_t color;           /**< ANSI colours (text only). */
    uint32_t outermost_first; /**< Order of the frames. */
    uint32_t no_group;        /**< Do not put threads with equal stacks together. */
    uint32_t explain;         /**< How each thing was found, and time spent (text only). */
    uint32_t one_line;        /**< No line break but the last (JSON only). */
    /** The innermost frames of each thread that are shown; 0: all of them (text only). */
    uint32_t max_frames;
    /** All frames of a recursion, not one cycle and how often it comes again (text only). */
    uint32_t no_fold;
    enum psc_content content;
    /** Also uptime, working directory, memory and environment (text only; JSON has them). */
    uint32_t running;
    /**
     * Bytes behind which lists (frames, threads, tasks, ...) are cut, which the report then says;
     * 0: PSC_PRINT_LIMIT. It has as much at least when it was cut.
     */
    uint64_t size_limit;
};
/** A small core file can name a long path in each of many frames. */
#define PSC_PRINT_LIMIT (UINT64_C(128) * 1024 * 1024)
#define PSC_PRINT_OPTIONS_INIT                                                     \
    {                                                                              \
        sizeof(struct psc_print_options), PSC_FORMAT_TEXT, 0, 0, 0, 0, 0, 0, 0, 0, \
            PSC_CONTENT_REPORT, 0, 0                                               \
    }

/**
 * Reads one report (psc_print() as JSON) at the beginning of some text, for a summary of many
 * processes: psc_print_processes() with PSC_CONTENT_SUMMARY. What that does not need is not read.
 * @param ret_used  how many bytes of the text the report took: the next one follows.
 * @param ret       as psc_capture(); NULL where there was nothing but white space.
 */
PSC_MUST_CHECK PSC_API enum psc_status psc_read_report(const char *text, size_t size,
                                                       size_t *ret_used, struct psc_trace **ret,
                                                       struct psc_error *err);

/**
 * Writes the trace in one of the formats.
 * @return PSC_ERR_IO when `write` stopped it.
 */
PSC_MUST_CHECK PSC_API enum psc_status psc_print(const struct psc_trace *trace,
                                                 const struct psc_print_options *options,
                                                 psc_write_fn write, void *context,
                                                 struct psc_error *err);

/**
 * Writes the traces of several processes: as text each stack once, with all threads that have it;
 * as JSON one object a line.
 */
PSC_MUST_CHECK PSC_API enum psc_status psc_print_processes(const struct psc_trace *const *traces,
                                                           size_t count,
                                                           const struct psc_print_options *options,
                                                           psc_write_fn write, void *context,
                                                           struct psc_error *err);

#ifdef __cplusplus
}
#endif
#endif
