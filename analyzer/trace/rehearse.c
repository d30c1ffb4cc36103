/* Reading, while a living process stands still, what will have moved when it is merged. */
#include "capture.h"

/* Frames whose place is looked up while the process waits; recursion has few distinct places. */
#define LOCATION_LIMIT ((size_t)100000)

static void read_stack(struct python *python, const struct python_thread *thread)
{
    struct python_stack stack = {0};
    if (python_walk(python, thread, &stack) == PSC_OK) {
        for (size_t i = 0; i < stack.count && i < LOCATION_LIMIT; i++) {
            struct python_location location;
            if (python_read_location(python, &stack.frames[i], &location) == PSC_ERR_MEMORY)
                break;
        }
    }
    python_stack_deinit(&stack);
}

void trace_rehearse(struct python *python)
{
    struct python_thread *threads;
    size_t count;
    if (python_list_threads(python, &threads, &count, NULL) != PSC_OK)
        return;
    for (size_t i = 0; i < count; i++)
        read_stack(python, &threads[i]);
}
