/** Shared by the files of room `print/as_text` only. */
#ifndef PSC_AS_TEXT_PRIVATE_H
#define PSC_AS_TEXT_PRIVATE_H

#include "as_text.h"
#include "short_name.h"
#include "wait_text.h"

#include <string.h>

#define PRINT_NO_THREAD SIZE_MAX

/** Threads with equal stacks, as lists: the first of a list is no follower. */
struct print_group_link {
    size_t next; /**< The next thread of the same group, or PRINT_NO_THREAD. */
    bool follower;
};

/** One link per thread, to be freed; NULL when out of memory. */
struct print_group_link *print_group_threads(const struct psc_trace *trace,
                                             const struct psc_print_options *options);

enum print_style {
    PRINT_PLAIN,
    PRINT_BOLD,
    PRINT_DIM,
    PRINT_ALARM,
    PRINT_NOTICE,
    PRINT_PYTHON,
    PRINT_CYTHON
};

/** Starts a style, or ends all with PRINT_PLAIN; nothing unless colours are wanted. */
void print_add_style(struct text *text, const struct psc_print_options *options,
                     enum print_style style);

/** The threads of a trace, those with equal stacks together. */
enum psc_status print_text_threads(const struct psc_trace *trace,
                                   const struct psc_print_options *options,
                                   struct print_sink *sink);

/* ---- shown_frames.c ---- */

/** A frame, or what stands for those of a recursion that are left out. */
struct print_shown_item {
    size_t index;       /**< Of a frame, into trace_thread.frames. */
    size_t number;      /**< Of the frame, or of the first that is left out; gaps have none. */
    size_t last_number; /**< Of the last that is left out. */
    size_t frames;      /**< Of one cycle. */
    size_t times;       /**< How often it comes again; 0: this is a frame. */
};

struct print_shown {
    struct print_shown_item *items; /**< The innermost first; free() it. */
    size_t count;
    size_t frames;   /**< How many of the items are frames. */
    size_t numbered; /**< One more than the last number that is told. */
    size_t rest;     /**< Frames that are left out further out. */
};

/** Lists what the options let be seen of a stack; false when out of memory. */
PSC_MUST_CHECK bool print_list_shown(const struct trace_thread *thread,
                                     const struct psc_print_options *options,
                                     struct print_shown *ret);

/* ---- frame_text.c ---- */

struct text_layout;

/** How the frames of a thread are set out; NULL when out of memory. */
struct text_layout *print_layout_create(const struct trace_thread *thread,
                                        const struct print_shown *shown,
                                        const struct short_names *names,
                                        const struct psc_print_options *options,
                                        struct print_sink *sink);
void print_layout_destroy(struct text_layout *layout);
/** The lines of one frame. */
void print_text_frame(struct text_layout *layout, const struct print_shown_item *item);
/** A line in the place of frames: "  --  REMARK". */
void print_add_remark(struct text *text, const struct psc_print_options *options,
                      const char *remark);

/* ---- style.c ---- */

/** ":18", or ":~18" of an estimate; nothing for none. */
void print_text_line(struct text *text, const struct trace_location *location);
/** The text of the line, with "~ " before that of an estimate. */
void print_text_source(struct text *text, const struct trace_location *location);

/* ---- stack_text.c ---- */

/** The frames of a thread with their values. */
PSC_MUST_CHECK enum psc_status print_text_frames(const struct trace_thread *thread,
                                                 const struct short_names *names,
                                                 const struct psc_print_options *options,
                                                 struct print_sink *sink);

/** Whether interpreters have GILs of their own, so that "the" GIL says too little. */
bool print_has_several_gils(const struct trace_python *python);
/** The interpreter of all of a thread's Python frames; -1: they are of several, or not known. */
int64_t print_find_interpreter(const struct trace_thread *thread);

/** What was looked at: its name and command line. */
void print_text_name(const struct psc_trace *trace, const struct psc_print_options *options,
                     struct print_sink *sink);

/** What was looked at, how it died, what runs in it, what waits for itself. */
void print_text_header(const struct psc_trace *trace, bool one_of_many,
                       const struct psc_print_options *options, struct print_sink *sink);

/** A line for each exception of a thread. */
void print_text_exceptions(const struct trace_thread *thread,
                           const struct psc_print_options *options, struct print_sink *sink);
/** ": mov %rax,0x18(%rbx), rbx=0x0": where a death's instruction is known. */
void print_text_instruction(const struct trace_crash *crash, struct text *text);
/** "raised: KeyError: 'rank'" of the first exception of a thread. */
void print_text_exception_summary(const struct trace_exception *exception, struct text *text);
/** Tasks and greenlets, when they were asked for; `one_of_many`: with the process they are of. */
enum psc_status print_text_tasks(const struct psc_trace *trace, bool one_of_many,
                                 const struct psc_print_options *options, struct print_sink *sink);
/** Either may be NULL. */
static inline bool print_strings_equal(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

/** Columns that text takes on a terminal. */
size_t print_measure_text(const char *text, size_t size);
/** The widest function that makes the column of functions wider. */
#define PRINT_FUNCTION_WIDTH 40
/* ---- values_text.c ---- */

/**
 * A line for each name, `indent` columns in, marked so that it cannot be taken for one of source;
 * one line for all that the compiler did not keep, and one for what is not saved.
 */
void print_text_locals(const struct trace_locals *locals, size_t indent,
                       const struct psc_print_options *options, struct print_sink *sink);

#endif
