/** Tasks one by one, as task_tree.c puts them together. */
#ifndef PSC_TASK_TEXT_H
#define PSC_TASK_TEXT_H

#include "as_text_private.h"

/** What the tasks are called. */
struct task_noun {
    const char *module;
    const char *name;
    const char *title;
};

struct task_writer {
    const struct trace_tasks *tasks;
    struct print_sink *sink;
    const struct psc_print_options *options;
    const struct task_noun *noun;
    bool many_threads;  /**< The thread of each is named. */
    struct text prefix; /**< Stands before each line. */
};

/** Its name in quotation marks, else its address. */
void task_add_name(struct text *text, const struct trace_task *task);
#define TASK_NAME_COUNT 8u /* So many of equal tasks are named. */

/** The line of `count` equal tasks; `tasks` has those that are named. `remark` may be NULL. */
void task_add_heading(struct task_writer *writer, const struct trace_task **tasks, size_t count,
                      const char *remark);
void task_add_frames(struct task_writer *writer, const struct trace_task *task);

#endif
