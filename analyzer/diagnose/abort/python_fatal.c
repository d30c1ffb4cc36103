/* What the interpreter says when it gives up. */
#include "abort_private.h"
#include "python.h"

/* The text that the function of a frame was given: as it has it, or as its caller wrote it. */
static bool read_argument(const struct abort_stack *stack, size_t frame, unsigned argument,
                          const char **ret)
{
    uint64_t given = 0, written = 0;
    bool is_given = call_site_read_entry(stack, frame, argument, &given);
    bool is_written =
        frame + 1 < stack->count &&
        call_site_read_argument(stack, stack->frames[frame + 1].pc, argument, &written);
    if (is_given && is_written && given != written)
        return false;
    return (is_given || is_written) && abort_read_text(stack, is_given ? given : written, ret);
}

/* What fails while a first text and the stacks are printed says nothing of its own: fatal_error()
 * of Python/pylifecycle.c is not entered again. */
static const struct c_api_fatal *find_outermost(const struct abort_stack *stack, size_t *ret_frame)
{
    const struct c_api_fatal *outermost = NULL;
    for (size_t i = stack->aborts; i < stack->count; i++) {
        const char *name = stack->frames[i].symbol.name;
        const struct c_api_fatal *fatal = name ? c_api_find_fatal(name) : NULL;
        if (!fatal)
            continue;
        outermost = fatal;
        *ret_frame = i;
    }
    return outermost;
}

/* The most telling of the interpreter's functions on the way. */
static const char *words_of(const struct abort_stack *stack)
{
    size_t count;
    const struct c_api_abort *aborts = c_api_aborts(&count);
    for (size_t i = 0; i < count; i++)
        if (abort_stack_find(stack, stack->aborts, &aborts[i].symbol, 1) < stack->count)
            return aborts[i].words;
    return NULL;
}

/* False: the text is not certain. */
static bool read_message(const struct abort_stack *stack, const struct c_api_fatal *fatal,
                         size_t frame, const char **ret)
{
    const char *text, *function;
    if (!read_argument(stack, frame, fatal->text, &text))
        return false;
    const char *more = fatal->more ? fatal->more : "";
    if (fatal->has_function && read_argument(stack, frame, fatal->function, &function))
        *ret = arena_printf(stack->input->arena, "%s: %s%s", function, text, more);
    else
        *ret = arena_printf(stack->input->arena, "%s%s", text, more);
    return true;
}

enum psc_status python_fatal_read(const struct abort_stack *stack, struct abort_finding *ret)
{
    size_t frame;
    const struct c_api_fatal *fatal = find_outermost(stack, &frame);
    if (!fatal)
        return PSC_OK;
    ret->cause = TRACE_CAUSE_FATAL_ERROR;
    ret->words = words_of(stack);
    // What one of them hands on to another is made of its own text.
    while (fatal && !read_message(stack, fatal, frame, &ret->message) && frame > stack->aborts) {
        const char *name = stack->frames[--frame].symbol.name;
        fatal = name ? c_api_find_fatal(name) : NULL;
    }
    return PSC_OK;
}
