/* What the room inside finds, for those outside. */
#include "diagnose_private.h"
#include "waits.h"

enum psc_status diagnose_waits(struct psc_trace *trace)
{
    return waits_fill(trace);
}
