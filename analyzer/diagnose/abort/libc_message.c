/* What glibc says before it calls abort(). */
#include "abort_private.h"

#include <string.h>

/*
 * Those of its functions that leave their text in __abort_msg: assert/assert.c,
 * sysdeps/posix/libc_fatal.c, malloc/malloc.c, debug/fortify_fail.c. A stripped library names only
 * those that it exports.
 */
static const char *const writers[] = {
    "__assert_fail",  "__assert_fail_base",  "__assert_perror_fail", "__assert",
    "__libc_message", "__libc_message_impl", "__libc_fatal",         "malloc_printerr",
    "__fortify_fail", "__chk_fail",          "__stack_chk_fail",
};

static const char *const assertions[] = {"__assert_fail", "__assert_fail_base",
                                         "__assert_perror_fail", "__assert"};

struct opening {
    const char *text;
    enum trace_cause cause;
};

/* How the texts begin; malloc/malloc.c of 2.26 to 2.43 (malloc_printerr()), debug/. */
static const struct opening openings[] = {
    {"*** stack smashing detected ***", TRACE_CAUSE_STACK_SMASHING},
    {"*** buffer overflow detected ***", TRACE_CAUSE_FORTIFY},
    {"*** bit out of range", TRACE_CAUSE_FORTIFY},
    {"*** %n in writable segment", TRACE_CAUSE_FORTIFY},
    {"*** invalid %N$ use detected", TRACE_CAUSE_FORTIFY},
    {"*** longjmp causes uninitialized stack frame", TRACE_CAUSE_FORTIFY},
    {"*** prohibited", TRACE_CAUSE_FORTIFY},
    {"*** Error in", TRACE_CAUSE_HEAP_CORRUPTION},
    {"free(): ", TRACE_CAUSE_HEAP_CORRUPTION},
    {"malloc(): ", TRACE_CAUSE_HEAP_CORRUPTION},
    {"malloc: ", TRACE_CAUSE_HEAP_CORRUPTION},
    {"realloc(): ", TRACE_CAUSE_HEAP_CORRUPTION},
    {"calloc(): ", TRACE_CAUSE_HEAP_CORRUPTION},
    {"memalign(): ", TRACE_CAUSE_HEAP_CORRUPTION},
    {"malloc_check_get_size: ", TRACE_CAUSE_HEAP_CORRUPTION},
    {"malloc_consolidate(): ", TRACE_CAUSE_HEAP_CORRUPTION},
    {"munmap_chunk(): ", TRACE_CAUSE_HEAP_CORRUPTION},
    {"mremap_chunk(): ", TRACE_CAUSE_HEAP_CORRUPTION},
    {"break adjusted to free malloc space", TRACE_CAUSE_HEAP_CORRUPTION},
    {"corrupted double-linked list", TRACE_CAUSE_HEAP_CORRUPTION},
    {"corrupted size vs. prev_size", TRACE_CAUSE_HEAP_CORRUPTION},
    {"double free or corruption", TRACE_CAUSE_HEAP_CORRUPTION},
    {"invalid fastbin entry", TRACE_CAUSE_HEAP_CORRUPTION},
    {"top chunk is corrupt", TRACE_CAUSE_HEAP_CORRUPTION},
    {"unaligned fastbin chunk", TRACE_CAUSE_HEAP_CORRUPTION},
    {"unaligned tcache chunk", TRACE_CAUSE_HEAP_CORRUPTION},
    {"tcache_thread_shutdown(): ", TRACE_CAUSE_HEAP_CORRUPTION},
    {"arena.c:", TRACE_CAUSE_HEAP_CORRUPTION},
    {"Fatal glibc error: malloc", TRACE_CAUSE_HEAP_CORRUPTION},
};

static enum trace_cause cause_of(const char *text)
{
    for (size_t i = 0; i < PSC_ARRAY_SIZE(openings); i++)
        if (!strncmp(text, openings[i].text, strlen(openings[i].text)))
            return openings[i].cause;
    return TRACE_CAUSE_FATAL_ERROR;
}

static const char *words_of(enum trace_cause cause)
{
    if (cause == TRACE_CAUSE_ASSERTION)
        return "an assertion failed";
    if (cause == TRACE_CAUSE_STACK_SMASHING)
        return "a buffer on the stack was overrun (stack protector)";
    if (cause == TRACE_CAUSE_FORTIFY)
        return "a buffer was overrun (fortified C library function)";
    if (cause == TRACE_CAUSE_HEAP_CORRUPTION)
        return "the C library found its heap corrupted";
    return "the C library gave up (fatal error)";
}

/*
 * Whether the library itself called abort(), by one of the functions that leave their text: an
 * earlier text stays when its signal was caught. Gives the first frame that is not the library's.
 */
static bool is_own_abort(const struct abort_stack *stack, size_t *ret_caller)
{
    const struct abort_frame *frames = stack->frames;
    const struct module *library = frames[stack->aborts].module;
    size_t caller = stack->aborts + 1;
    if (!library || frames[caller].module != library)
        return false;
    // In a static program everything is in one module.
    bool is_named = frames[caller].symbol.name;
    bool is_writer = abort_stack_find(stack, caller, writers, PSC_ARRAY_SIZE(writers)) == caller;
    if (is_named ? !is_writer : library->is_executable_file)
        return false;
    while (caller < stack->count && frames[caller].module == library &&
           (!library->is_executable_file ||
            abort_stack_find(stack, caller, writers, PSC_ARRAY_SIZE(writers)) == caller))
        caller++;
    *ret_caller = caller;
    return true;
}

/* struct abort_msg_s of include/stdlib.h: the size of its mapping, and the text. */
static bool read_message(const struct abort_stack *stack, const char **ret)
{
    struct target *target = stack->input->target;
    struct module_symbol symbol;
    psc_addr message;
    uint32_t size;
    return module_find_symbol_named(stack->frames[stack->aborts].module, "__abort_msg", &symbol) &&
           target_read_pointer(target, symbol.address, &message) == PSC_OK && message &&
           target_read_u32(target, message, &size) == PSC_OK && size > sizeof(size) &&
           abort_read_text(stack, message + sizeof(size), ret);
}

enum psc_status libc_message_read(const struct abort_stack *stack, struct abort_finding *ret)
{
    size_t caller;
    const char *text;
    if (!is_own_abort(stack, &caller) || !read_message(stack, &text))
        return PSC_OK;
    size_t assertion =
        abort_stack_find(stack, stack->aborts, assertions, PSC_ARRAY_SIZE(assertions));
    ret->cause = assertion < caller ? TRACE_CAUSE_ASSERTION : cause_of(text);
    ret->words = words_of(ret->cause);
    ret->message = text;
    if (caller < stack->count &&
        (ret->cause == TRACE_CAUSE_STACK_SMASHING || ret->cause == TRACE_CAUSE_FORTIFY))
        ret->overrun = stack->input->first + caller;
    return PSC_OK;
}
