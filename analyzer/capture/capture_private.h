/** @file What the files of room `capture` share. */
#ifndef PSC_CAPTURE_PRIVATE_H
#define PSC_CAPTURE_PRIVATE_H

#include "capture.h"
#include "merge.h"
#include "variables.h"

/* ---- values.c ---- */

/** Fills thread->exceptions from its thread states. */
PSC_MUST_CHECK enum psc_status values_add_exceptions(struct psc_trace *trace, struct python *python,
                                                     struct symbolizer *symbolizer,
                                                     const struct merged_stack *merged,
                                                     struct trace_thread *thread);
/** Fills thread->locals for the frames that are shown, which stand in the merged stack's order. */
PSC_MUST_CHECK enum psc_status values_add_locals(struct psc_trace *trace, struct python *python,
                                                 struct variables *variables,
                                                 const struct merged_stack *merged,
                                                 struct trace_thread *thread);

/* ---- tasks.c ---- */

/** Fills trace->tasks; the threads are there. */
PSC_MUST_CHECK enum psc_status tasks_fill(struct psc_trace *trace, struct python *python,
                                          struct symbolizer *symbolizer,
                                          const struct python_thread *threads, size_t thread_count);

/** Fills trace->greenlets. */
PSC_MUST_CHECK enum psc_status greenlets_fill(struct psc_trace *trace, struct python *python,
                                              const struct target *target,
                                              struct symbolizer *symbolizer,
                                              const struct python_thread *threads,
                                              size_t thread_count);

/* ---- task_cycles.c ---- */

/** One cycle of each group of tasks that wait for each other; in the arena. */
PSC_MUST_CHECK enum psc_status task_cycles_find(struct arena *arena, struct trace_tasks *tasks);

/* ---- states.c ---- */

/**
 * Further enum trace_state bits, when the others are known: a thread that waits in the kernel
 * and has nothing to do with the GIL is idle; a thread state without a thread (NULL) has ended.
 */
uint32_t states_of_registers(const struct target_machine *machine,
                             const struct target_thread *native, uint32_t known);

/**
 * Whether a frame of the interpreter waits for the GIL, see python_waits_for_gil().
 * @param inner      symbol of the native frame that it called; NULL: not known.
 * @param evaluator  it is an evaluator.
 */
bool states_waits_for_gil(const char *inner, const struct address_info *info, bool evaluator);

#endif
