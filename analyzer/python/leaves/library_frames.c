/* A task's innermost frames, which are of the library that runs it. */
#include "leaves.h"

#include <string.h>

static const struct library_function *find_function(const struct library_functions *functions,
                                                    const struct py_code *code)
{
    for (size_t i = 0; i < functions->count; i++)
        if (code_is(code, functions->items[i].file, functions->items[i].name))
            return &functions->items[i];
    return NULL;
}

bool leaf_find_in_frames(struct leaf_search *search, const struct library_functions *functions)
{
    bool found = false;
    for (size_t i = 0; i < search->task->frame_count; i++) {
        const struct python_frame *frame = &search->task->frames[i];
        const struct py_code *code = code_find_named(search->leaves->python, frame->code);
        if (!code || !strstr(code->file, functions->folder))
            break;
        const struct library_function *function = find_function(functions, code);
        if (!function || frame->compiled)
            continue;
        struct python_leaf before = *search->leaf;
        if (functions->take(search, function, frame))
            found = true;
        else
            *search->leaf = before;
    }
    return found;
}
