/* What the room inside finds, for those outside. */
#include "diagnose_private.h"
#include "deadlock.h"
#include "waits.h"

struct waits *diagnose_waits_create(const struct diagnose_wait_input *input)
{
    return waits_create(input);
}

void diagnose_waits_destroy(struct waits *waits)
{
    waits_destroy(waits);
}

enum psc_status diagnose_waits_read(struct waits *waits, const struct diagnose_wait_thread *thread)
{
    enum psc_status status = waits_read(waits, thread);
    return status == PSC_OK ? waits_read_process_locks(waits, thread) : status;
}

bool diagnose_waits_want_held(const struct waits *waits)
{
    return waits_want_held(waits);
}

enum psc_status diagnose_waits_read_held(struct waits *waits,
                                         const struct diagnose_wait_thread *thread)
{
    return waits_read_held(waits, thread);
}

bool diagnose_waits_for_gil(const struct waits *waits, int32_t tid)
{
    return waits && waits_is_for_gil(waits, tid);
}

enum psc_status diagnose_waits(struct waits *waits, struct psc_trace *trace)
{
    return waits ? waits_fill(waits, trace) : PSC_OK;
}

enum psc_status diagnose_deadlocks(struct psc_trace *const *traces, size_t count)
{
    return deadlock_fill(traces, count);
}
