/* asyncio's description of itself is foreign input; cycles among tasks are found, one a group. */
#include "capture_private.h"

#include "tasks.h"

#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <cmocka.h>

/* ---- .AsyncioDebug ---- */

/* As CPython 3.15.0 has it on x86-64. */
static const uint64_t words_of_315[] = {168,    136,   96,   108,  109,  128, 152,
                                        226240, 10856, 1104, 1024, 1032, 1048};

static enum psc_status parse_words(const uint64_t *words, size_t size, struct py_asyncio *ret)
{
    uint8_t bytes[PY_ASYNCIO_DEBUG_SIZE];
    memcpy(bytes, words, sizeof(bytes));
    return parse_asyncio_debug(bytes, size, ret);
}

static void test_section_of_315(void **state)
{
    struct py_asyncio found;
    (void)state;
    assert_int_equal(parse_words(words_of_315, PY_ASYNCIO_DEBUG_SIZE, &found), PSC_OK);
    assert_int_equal(found.task_name, 136);
    assert_int_equal(found.task_awaited_by, 96);
    assert_int_equal(found.task_coro, 128);
    assert_int_equal(found.task_node, 152);
    assert_int_equal(found.interpreter_tasks, 10856);
    assert_int_equal(found.thread_tasks, 1048);
}

static void test_section_that_can_not_be(void **state)
{
    struct py_asyncio found;
    (void)state;
    assert_int_equal(parse_words(words_of_315, PY_ASYNCIO_DEBUG_SIZE - 1, &found), PSC_ERR_FORMAT);
    for (size_t i = 0; i < PSC_ARRAY_SIZE(words_of_315); i++) {
        static const uint64_t wrong[] = {UINT64_MAX, UINT64_C(1) << 32, 1 << 22};
        for (size_t k = 0; k < PSC_ARRAY_SIZE(wrong); k++) {
            uint64_t words[PSC_ARRAY_SIZE(words_of_315)];
            memcpy(words, words_of_315, sizeof(words));
            words[i] = wrong[k];
            /* A struct may be as large as that, if an interpreter or a thread. */
            bool large = k == 2 && (i == 7 || i == 9);
            assert_int_equal(parse_words(words, PY_ASYNCIO_DEBUG_SIZE, &found),
                             large ? PSC_OK : PSC_ERR_FORMAT);
        }
    }
}

/* ---- cycles ---- */

/* Edges as pairs of tasks. */
static void find_cycles(struct arena *arena, size_t count, const size_t (*edges)[2],
                        size_t edge_count, struct trace_tasks *ret)
{
    struct trace_task *items = arena_array(arena, count, sizeof(*items));
    assert_non_null(items);
    for (size_t i = 0; i < count; i++) {
        size_t *waits_for = arena_array(arena, edge_count, sizeof(*waits_for));
        assert_non_null(waits_for);
        for (size_t k = 0; k < edge_count; k++)
            if (edges[k][0] == i)
                waits_for[items[i].waits_for_count++] = edges[k][1];
        items[i].waits_for = waits_for;
    }
    *ret = (struct trace_tasks){.items = items, .count = count};
    assert_int_equal(trace_find_task_cycles(arena, ret), PSC_OK);
}

static void test_cycles(void **state)
{
    /* 0 leads into 1 -> 2 -> 3 -> 1; 3 also waits for 4, which waits for nobody; 5 for itself;
       6 and 7 for each other and for 1. */
    static const size_t edges[][2] = {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {3, 1},
                                      {5, 5}, {6, 1}, {6, 7}, {7, 6}};
    struct arena *arena = arena_create();
    struct trace_tasks tasks;
    (void)state;
    find_cycles(arena, 8, edges, PSC_ARRAY_SIZE(edges), &tasks);
    assert_int_equal(tasks.cycle_count, 3);
    static const size_t first[] = {1, 2, 3};
    assert_int_equal(tasks.cycles[0].count, 3);
    assert_memory_equal(tasks.cycles[0].tasks, first, sizeof(first));
    assert_int_equal(tasks.cycles[1].count, 1);
    assert_int_equal(tasks.cycles[1].tasks[0], 5);
    assert_int_equal(tasks.cycles[2].count, 2);
    assert_int_equal(tasks.cycles[2].tasks[0], 6);
    assert_int_equal(tasks.cycles[2].tasks[1], 7);
    arena_destroy(arena);
}

static void test_no_cycles(void **state)
{
    /* Two ways to one task are none. */
    static const size_t edges[][2] = {{0, 1}, {0, 2}, {1, 3}, {2, 3}};
    struct arena *arena = arena_create();
    struct trace_tasks tasks;
    (void)state;
    find_cycles(arena, 4, edges, PSC_ARRAY_SIZE(edges), &tasks);
    assert_int_equal(tasks.cycle_count, 0);
    tasks = (struct trace_tasks){0};
    assert_int_equal(trace_find_task_cycles(arena, &tasks), PSC_OK);
    arena_destroy(arena);
}

/* As deep as there may be tasks: no recursion. */
static void test_long_cycle(void **state)
{
    const size_t count = 100000;
    struct arena *arena = arena_create();
    size_t *next = arena_array(arena, count, sizeof(*next));
    struct trace_task *items = arena_array(arena, count, sizeof(*items));
    struct trace_tasks tasks = {.items = items, .count = count};
    (void)state;
    assert_true(next && items);
    for (size_t i = 0; i < count; i++) {
        next[i] = (i + 1) % count;
        items[i].waits_for = &next[i];
        items[i].waits_for_count = 1;
    }
    assert_int_equal(trace_find_task_cycles(arena, &tasks), PSC_OK);
    assert_int_equal(tasks.cycle_count, 1);
    assert_int_equal(tasks.cycles[0].count, count);
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_section_of_315), cmocka_unit_test(test_section_that_can_not_be),
        cmocka_unit_test(test_cycles),         cmocka_unit_test(test_no_cycles),
        cmocka_unit_test(test_long_cycle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
