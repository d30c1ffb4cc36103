/**
 * @file
 * Room `diagnose/waits`: what each thread waits for, and who has it. Fills trace_thread.waits_for,
 * whose strings are in the trace's arena, from what memory and registers prove; of a living process
 * /proc is asked, too. Errors are PSC_ERR_MEMORY only.
 *
 * First of all threads what has to be read while a living process stands still: waits_read(), and
 * where waits_want_held() says so, waits_read_held(); then, when the trace is there, waits_fill().
 */
#ifndef PSC_WAITS_H
#define PSC_WAITS_H

#include "diagnose.h"

struct waits;

/** NULL: out of memory. `python` may be NULL. */
struct waits *waits_create(const struct diagnose_wait_input *input);
void waits_destroy(struct waits *waits);
PSC_MUST_CHECK enum psc_status waits_read(struct waits *waits,
                                          const struct diagnose_wait_thread *thread);
/** Of one of which that was read: the locks of multiprocessing that its process has and its code
 * knows; nothing where they are not wanted. */
PSC_MUST_CHECK enum psc_status waits_read_process_locks(struct waits *waits,
                                                        const struct diagnose_wait_thread *thread);
bool waits_want_held(const struct waits *waits);
PSC_MUST_CHECK enum psc_status waits_read_held(struct waits *waits,
                                               const struct diagnose_wait_thread *thread);
bool waits_is_for_gil(const struct waits *waits, int32_t tid);
PSC_MUST_CHECK enum psc_status waits_fill(struct waits *waits, struct psc_trace *trace);

#endif
