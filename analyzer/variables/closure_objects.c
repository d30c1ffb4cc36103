/* Closures of Cython functions without debug information: the objects that hold their variables. */
#include "variables_private.h"

/* Words of a frame among which a closure is looked for. */
#define WORD_LIMIT 1024u

/* The words of the frame's part of the stack, and of its registers. */
static size_t list_words(struct variables *variables, size_t frame, uint64_t words[WORD_LIMIT])
{
    struct native_context context;
    const struct native_frame *extent = &variables->stack->frames[frame];
    size_t count = 0;
    native_get_context(variables->input.target, variables->stack, frame, &context);
    for (size_t i = 0; i < variables->input.target->machine->register_count; i++)
        if (context.known >> i & 1)
            words[count++] = context.registers.value[i];
    for (psc_addr at = extent->sp; at < extent->cfa && count < WORD_LIMIT; at += 8, count++)
        if (target_read_u64(variables->input.target, at, &words[count]) != PSC_OK)
            break;
    return count;
}

/* The object that holds a closure's variables; 0 when the frame points to none, or to several. */
static psc_addr find_closure_object(struct variables *variables, size_t frame, const char *function)
{
    uint64_t words[WORD_LIMIT];
    size_t count = list_words(variables, frame, words);
    psc_addr found = 0;
    unsigned best = 0;
    for (size_t i = 0; i < count; i++) {
        unsigned rank = python_is_closure(variables->input.python, words[i], function);
        if (!rank || (best && rank > best))
            continue;
        found = rank == best && found != words[i] ? 0 : words[i];
        best = rank;
    }
    return found;
}

void variables_add_closure_object(struct variables *variables, size_t frame, const char *function)
{
    struct text text = {0};
    psc_addr object =
        variables->input.python && function ? find_closure_object(variables, frame, function) : 0;
    if (!object)
        return;
    python_add_value(variables->input.python, object, &text);
    variables->arguments = false;
    variables_add_text(variables, "closure", &text);
}
