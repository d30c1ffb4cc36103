/* What a thread waits for by the system call that it is in. */
#include "waits_private.h"

#include <string.h>

void waits_describe_call(struct wait_maker *maker)
{
    maker->wait.kind = TRACE_WAIT_SYSTEM_CALL;
    maker->wait.known_by = "the system call that it is in";
}
