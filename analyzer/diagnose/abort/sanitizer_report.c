/* What AddressSanitizer reported before it ended in abort(): ASAN_OPTIONS=abort_on_error=1. */
#include "abort_private.h"

#include <string.h>

/* Of a frame's memory that is looked at, and of the text. */
#define FRAME_WORDS 64u
#define TEXT_LIMIT  1024u

static size_t end_of_line(const char *text)
{
    return strcspn(text, "\n");
}

/*
 * compiler-rt, asan_report.cpp, ~ScopedInErrorReport(): a copy of all that was printed, which
 * begins with a line of '=' and "==PID==ERROR: AddressSanitizer: " (asan_errors.cpp). Its pointer
 * is on the stack while the process is ended.
 */
static const char *find_error(const char *text)
{
    static const char error[] = "==ERROR: AddressSanitizer: ";
    size_t rule = strspn(text, "=");
    const char *pid = text + rule + 1;
    if (rule < 8 || text[rule] != '\n' || strncmp(pid, "==", 2) != 0)
        return NULL;
    const char *found = pid + 2 + strspn(pid + 2, "0123456789");
    return found > pid + 2 && !strncmp(found, error, strlen(error)) ? found + strlen(error) : NULL;
}

static const char *read_part(const struct abort_stack *stack, psc_addr address, size_t size)
{
    const char *part;
    return abort_read_sized_text(stack, address, size, &part) ? part : NULL;
}

/* "heap-use-after-free on address 0x60b0000007d5: READ of size 1 at 0x60b0000007d5 thread T0" */
static const char *read_report(const struct abort_stack *stack, psc_addr address)
{
    char text[TEXT_LIMIT + 1];
    size_t size = target_read_some(stack->input->target, address, text, TEXT_LIMIT);
    text[size] = '\0';
    const char *error = find_error(text);
    if (!error || !error[end_of_line(error)])
        return NULL;
    const char *access = error + end_of_line(error) + 1;
    const char *registers = strstr(error, " at pc ");
    size_t length = (size_t)((registers && registers < access ? registers : access - 1) - error);
    bool has_access = access[end_of_line(access)] == '\n' &&
                      (!strncmp(access, "READ ", 5) || !strncmp(access, "WRITE ", 6));
    const char *what = read_part(stack, address + (psc_addr)(error - text), length);
    const char *how =
        has_access ? read_part(stack, address + (psc_addr)(access - text), end_of_line(access))
                   : NULL;
    return what && how ? arena_printf(stack->input->arena, "%s: %s", what, how) : what;
}

static const char *search_frame(const struct abort_stack *stack, size_t frame)
{
    const struct native_frame *frames = &stack->input->stack->frames[stack->input->first];
    psc_addr start = frames[frame].sp, end = frames[frame + 1].sp;
    uint64_t words[FRAME_WORDS];
    const char *found = NULL;
    if (start % 8 || end <= start)
        return NULL;
    size_t size = end - start < sizeof(words) ? (size_t)(end - start) : sizeof(words);
    size_t count = target_read_some(stack->input->target, start, words, size) / 8;
    for (size_t i = 0; !found && i < count; i++)
        found = words[i] ? read_report(stack, words[i]) : NULL;
    return found;
}

enum psc_status sanitizer_report_read(const struct abort_stack *stack, struct abort_finding *ret)
{
    const char *message = NULL;
    size_t first = stack->aborts + 1, end = first;
    if (first + 1 >= stack->count || !stack->frames[first].module ||
        stack->frames[first].module == stack->frames[stack->aborts].module)
        return PSC_OK;
    bool named = false;
    for (; end + 1 < stack->count && stack->frames[end].module == stack->frames[first].module;
         end++)
        named |= stack->frames[end].symbol.name &&
                 !strncmp(stack->frames[end].symbol.name, "__asan_", strlen("__asan_"));
    for (size_t i = first; named && !message && i < end; i++)
        message = search_frame(stack, i);
    if (!message)
        return PSC_OK;
    ret->cause = TRACE_CAUSE_OTHER;
    ret->words = "an error that AddressSanitizer found";
    ret->message = message;
    return PSC_OK;
}
