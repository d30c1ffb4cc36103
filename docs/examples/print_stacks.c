/*
 * Prints the stacks of a core file by what the trace holds, without text or JSON of the library.
 *
 *     cc -o print_stacks print_stacks.c $(pkg-config --cflags --libs pystack-core)
 *     ./print_stacks CORE [EXECUTABLE]
 */
#include <inttypes.h>
#include <pystack_core.h>
#include <stdio.h>

static const char *or_else(const char *text, const char *otherwise)
{
    return text ? text : otherwise;
}

static void print_cause(const struct psc_trace *trace)
{
    struct psc_crash_info crash = PSC_CRASH_INFO_INIT;
    struct psc_python_info python = PSC_PYTHON_INFO_INIT;
    if (psc_trace_get_crash(trace, &crash, NULL) == PSC_OK)
        printf("%s in thread %d: %s\n", crash.signal, crash.thread_id, or_else(crash.summary, "-"));
    if (psc_trace_get_python(trace, &python, NULL) == PSC_OK)
        printf("%s %s\n", python.implementation, python.version);
}

static void print_frame(const struct psc_trace *trace, size_t thread, size_t number)
{
    static const char *const kinds[] = {"Python", "Cython", "native", "gap"};
    struct psc_frame_info frame = PSC_FRAME_INFO_INIT;
    if (psc_trace_get_frame(trace, thread, number, &frame, NULL) != PSC_OK ||
        (frame.flags & PSC_FRAME_HIDDEN))
        return;
    printf("  %-6s %s", kinds[frame.kind], or_else(frame.function, "??"));
    if (frame.file && frame.line)
        printf(" %s:%" PRIu32, frame.file, frame.line);
    else if (frame.module && (frame.flags & PSC_FRAME_HAS_OFFSET))
        printf(" %s+0x%" PRIx64, frame.module, frame.offset);
    printf("\n");
    for (uint32_t i = 0; i < frame.local_count; i++) {
        struct psc_local local = PSC_LOCAL_INIT;
        if (psc_trace_get_local(trace, thread, number, i, &local, NULL) == PSC_OK)
            printf("         %s = %s\n", local.name, local.value);
    }
}

static void print_thread(const struct psc_trace *trace, size_t index)
{
    struct psc_thread_info thread = PSC_THREAD_INFO_INIT;
    if (psc_trace_get_thread(trace, index, &thread, NULL) != PSC_OK)
        return;
    printf("\nthread %d %s%s%s\n", thread.thread_id, or_else(thread.name, "-"),
           (thread.state & PSC_THREAD_CRASHED) ? " crashed" : "",
           (thread.state & PSC_THREAD_HOLDS_GIL) ? " holds-gil" : "");
    if (thread.exception_type)
        printf("  %s %s\n", thread.exception_raised ? "raised" : "handles", thread.exception_type);
    for (size_t i = 0; i < psc_trace_frame_count(trace, index); i++)
        print_frame(trace, index, i);
}

int main(int argc, char **argv)
{
    struct psc_capture_options options = PSC_CAPTURE_OPTIONS_INIT;
    struct psc_target *target = NULL;
    struct psc_trace *trace = NULL;
    struct psc_error err;
    if (argc < 2) {
        fprintf(stderr, "usage: %s CORE [EXECUTABLE]\n", argv[0]);
        return 64;
    }
    options.locals = 1;
    if (psc_open_core(argv[1], argc > 2 ? argv[2] : NULL, NULL, &target, &err) != PSC_OK ||
        psc_capture(target, &options, &trace, &err) != PSC_OK) {
        fprintf(stderr, "%s (%s)\n", err.message, psc_status_name(err.status));
        psc_close(target);
        return 2;
    }
    psc_close(target); /* The trace needs it no more. */
    print_cause(trace);
    for (size_t i = 0; i < psc_trace_thread_count(trace); i++)
        print_thread(trace, i);
    for (size_t i = 0; i < psc_trace_warning_count(trace); i++)
        fprintf(stderr, "%s: %s\n", psc_trace_warning_code(trace, i), psc_trace_warning(trace, i));
    psc_trace_destroy(trace);
    return 0;
}
