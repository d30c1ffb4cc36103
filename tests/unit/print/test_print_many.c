/* Reports of very many frames and threads, and writers that stop. */
#include "print_sample.h"

#include <time.h>

static int refuse(void *context, const char *bytes, size_t size)
{
    (void)bytes;
    (void)size;
    ++*(int *)context;
    return 1;
}

static void test_stops_when_the_writer_refuses(void **state)
{
    (void)state;
    struct sample sample;
    struct psc_error err = {0};
    int calls = 0;
    assert_int_equal(print_trace(sample_fill(&sample), NULL, refuse, &calls, &err), PSC_ERR_IO);
    assert_int_equal(calls, 1);
    assert_int_equal(err.status, PSC_ERR_IO);
    struct psc_print_options options = {.size = sizeof(options), .format = (enum psc_format)9};
    assert_int_equal(print_trace(&sample.trace, &options, refuse, &calls, NULL), PSC_ERR_ARGUMENT);
}

static int count_bytes(void *context, const char *bytes, size_t size)
{
    (void)bytes;
    *(size_t *)context += size;
    return 0;
}

/* A deep recursion: every frame shown, in linear time. */
static void test_deep_recursion(void **state)
{
    (void)state;
    enum { DEPTH = 100000 };
    struct sample sample;
    struct psc_trace *trace = sample_fill(&sample);
    struct trace_frame *frames = calloc(DEPTH, sizeof(*frames));
    assert_non_null(frames);
    for (size_t i = 0; i < DEPTH; i++)
        frames[i] = (struct trace_frame){.location = i % 2 ? &sample_fit : &sample_axpy};
    trace->threads[0].frames = frames;
    trace->threads[0].frame_count = DEPTH;
    char *text = print_sample(trace, &(struct psc_print_options){0});
    assert_non_null(strstr(text, "\n  #99999  Python  Alt"));
    assert_non_null(strstr(text, "\n  #9      Python  Alt"));
    free(text);

    size_t bytes = 0;
    clock_t start = clock();
    assert_int_equal(print_trace(trace, NULL, count_bytes, &bytes, NULL), PSC_OK);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    print_message("100,000 frames as text: %zu bytes, %.3f s\n", bytes, seconds);
    assert_true(bytes > (size_t)DEPTH * 40);
    assert_true(seconds < 5);
    free(frames);
}

/* Cycles of two frames; what is around them stays. */
static void test_recursion_is_folded(void **state)
{
    (void)state;
    enum { TIMES = 7, COUNT = 2 * TIMES + 2 };
    struct sample sample;
    struct trace_frame frames[COUNT];
    const struct trace_locals *locals[COUNT] = {NULL};
    struct psc_trace *trace = sample_fill(&sample);
    struct trace_thread *thread = &trace->threads[0];
    struct arena *arena = arena_create();
    assert_non_null(arena);
    for (size_t i = 0; i < COUNT; i++)
        frames[i] = (struct trace_frame){.location = i % 2 ? &sample_fit : &sample_axpy};
    frames[0].location = &sample_dgemm;
    frames[COUNT - 1].location = &sample_gap;
    thread->frames = frames;
    thread->frame_count = COUNT;
    trace->thread_count = 1;
    assert_int_equal(trace_find_recursions(arena, thread), PSC_OK);
    expect_part(trace, &(struct psc_print_options){0},
                "  #0   C       cblas_dgemm                  libopenblas.so.0+0x1a2b3c\n"
                "  #1   Python  AlternatingLeastSquares.fit  implicit/cpu/als.py:166\n"
                "                   solver(self.item_factors)\n"
                "  #2   Cython  axpy[double]                 implicit/cpu/_als.pyx:18\n"
                "                   y[i] += a * x[i]\n"
                "  --  #3 to #14: the 2 frames above, 6 times more\n"
                "  --  gap: 0x7f0000001000: page not in the core\n");
    expect_part(trace, &(struct psc_print_options){.outermost_first = 1},
                "page not in the core\n"
                "  --  #14 to #3: the 2 frames below, 6 times more\n"
                "  #2   Cython");
    expect_part(trace, &(struct psc_print_options){.no_fold = 1}, "\n  #14  Cython  axpy");
    expect_part(trace, &(struct psc_print_options){.all = 1}, "\n  #14  Cython  axpy");
    expect_part(trace, &(struct psc_print_options){.max_frames = 2},
                "  #1  Python  AlternatingLeastSquares.fit  implicit/cpu/als.py:166\n"
                "                  solver(self.item_factors)\n"
                "  --  14 more frames further out\n");
    expect_part(trace, &(struct psc_print_options){.max_frames = 3},
                "  --  #3 to #14: the 2 frames above, 6 times more\n"
                "  --  1 more frame further out\n");
    expect_part(trace, &(struct psc_print_options){.max_frames = 3, .outermost_first = 1},
                "GIL\n"
                "  --  1 more frame further out\n"
                "  --  #14 to #3: the 2 frames below");
    // With values both ends are shown.
    locals[7] = &sample_locals;
    thread->locals = locals;
    expect_part(trace, &(struct psc_print_options){0},
                "  --  #3 to #12: the 2 frames above, 5 times more\n"
                "  #13  Python  AlternatingLeastSquares.fit");
    arena_destroy(arena);
}

static void test_many_equal_threads(void **state)
{
    (void)state;
    enum { COUNT = 20000 };
    struct sample sample;
    struct psc_trace *trace = sample_fill(&sample);
    struct trace_thread *threads = calloc(COUNT, sizeof(*threads));
    assert_non_null(threads);
    for (size_t i = 0; i < COUNT; i++) {
        threads[i] = sample.threads[i ? 1 : 0];
        threads[i].tid = (int32_t)(2000 + i);
    }
    trace->threads = threads;
    trace->thread_count = COUNT;
    clock_t start = clock();
    expect_part(trace, &(struct psc_print_options){0}, ", 21999 \"worker-0\" · 19999 threads ·");
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    assert_true(seconds < 5);
    free(threads);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stops_when_the_writer_refuses),
        cmocka_unit_test(test_deep_recursion),
        cmocka_unit_test(test_recursion_is_folded),
        cmocka_unit_test(test_many_equal_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
