#include "trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

/* Frames by letters: a location for each. An upper-case one is hidden. */
struct stack {
    struct trace_location locations[128];
    struct trace_thread thread;
    struct arena *arena;
};

static void find(struct stack *stack, const char *letters)
{
    static const char names[][2] = {"a", "b", "c", "d", "e", "f"};
    *stack = (struct stack){.arena = arena_create()};
    for (size_t i = 0; i < PSC_ARRAY_SIZE(names); i++)
        stack->locations[(unsigned char)names[i][0]] = (struct trace_location){
            .kind = TRACE_PYTHON, .function = names[i], .file = "x.py", .line = 7};
    stack->locations['A'] = stack->locations['a'];
    size_t count = strlen(letters);
    stack->thread.frames = calloc(count + 1, sizeof(*stack->thread.frames));
    assert_non_null(stack->thread.frames);
    assert_non_null(stack->arena);
    stack->thread.frame_count = count;
    for (size_t i = 0; i < count; i++)
        stack->thread.frames[i] = (struct trace_frame){
            .location = &stack->locations[(unsigned char)letters[i]], .hidden = letters[i] == 'A'};
    assert_int_equal(trace_find_recursions(stack->arena, &stack->thread), PSC_OK);
}

static void release(struct stack *stack)
{
    free(stack->thread.frames);
    arena_destroy(stack->arena);
}

static void expect(const struct stack *stack, size_t index, struct trace_recursion expected)
{
    assert_true(index < stack->thread.recursion_count);
    const struct trace_recursion *found = &stack->thread.recursions[index];
    assert_int_equal(found->first, expected.first);
    assert_int_equal(found->last, expected.last);
    assert_int_equal(found->frames, expected.frames);
    assert_int_equal(found->times, expected.times);
}

static void expect_none(const char *letters)
{
    struct stack stack;
    find(&stack, letters);
    assert_int_equal(stack.thread.recursion_count, 0);
    release(&stack);
}

static void test_one_frame(void **state)
{
    (void)state;
    struct stack stack;
    find(&stack, "fbaaaaaaaaaaaaac");
    assert_int_equal(stack.thread.recursion_count, 1);
    expect(&stack, 0, (struct trace_recursion){.first = 2, .last = 14, .frames = 1, .times = 13});
    release(&stack);
}

/* The innermost cycle is cut short by another line, the outermost by what called it. */
static void test_cycle_of_several(void **state)
{
    (void)state;
    struct stack stack;
    find(&stack, "dabcabcabcabcabcabe");
    assert_int_equal(stack.thread.recursion_count, 1);
    expect(&stack, 0, (struct trace_recursion){.first = 1, .last = 15, .frames = 3, .times = 5});
    release(&stack);
}

static void test_the_shortest_cycle_is_told(void **state)
{
    (void)state;
    struct stack stack;
    find(&stack, "aabaabaabaabaabaab");
    expect(&stack, 0, (struct trace_recursion){.first = 0, .last = 17, .frames = 3, .times = 6});
    release(&stack);
}

static void test_several_recursions(void **state)
{
    (void)state;
    struct stack stack;
    find(&stack, "aaaaaaaaaaaafbcbcbcbcbcbcbcd");
    assert_int_equal(stack.thread.recursion_count, 2);
    expect(&stack, 0, (struct trace_recursion){.first = 0, .last = 11, .frames = 1, .times = 12});
    expect(&stack, 1, (struct trace_recursion){.first = 13, .last = 26, .frames = 2, .times = 7});
    release(&stack);
}

static void test_hidden_frames_do_not_count(void **state)
{
    (void)state;
    struct stack stack;
    find(&stack, "AbAAbAbbbAbbAbbbbbA");
    assert_int_equal(stack.thread.recursion_count, 1);
    expect(&stack, 0, (struct trace_recursion){.first = 1, .last = 17, .frames = 1, .times = 12});
    release(&stack);
}

static void test_too_few(void **state)
{
    (void)state;
    expect_none("");
    expect_none("aaaaaaaaaa");
    expect_none("abcdefabcdef");
    expect_none("abababababa");
    expect_none("abcdefedcbabcdefedcfaebdc");
}

/* Frames are alike by what is printed of them, not by the location's address. */
static void test_what_is_alike(void **state)
{
    (void)state;
    enum { COUNT = 24 };
    struct trace_location locations[COUNT];
    struct trace_frame frames[COUNT] = {0};
    struct trace_thread thread = {.frames = frames, .frame_count = COUNT};
    struct arena *arena = arena_create();
    assert_non_null(arena);
    for (size_t i = 0; i < COUNT; i++) {
        // Other columns of the same line: fib(n - 1) + fib(n - 2).
        locations[i] = (struct trace_location){.kind = TRACE_PYTHON,
                                               .function = "fib",
                                               .file = "x.py",
                                               .line = 3,
                                               .column = (uint32_t)(i % 5)};
        frames[i].location = &locations[i];
    }
    assert_int_equal(trace_find_recursions(arena, &thread), PSC_OK);
    assert_int_equal(thread.recursion_count, 1);
    assert_int_equal(thread.recursions[0].times, COUNT);
    // Another line, another kind, and another function are others.
    locations[11].line = 4;
    assert_int_equal(trace_find_recursions(arena, &thread), PSC_OK);
    assert_int_equal(thread.recursions[0].first, 0);
    assert_int_equal(thread.recursions[0].times, 11);
    locations[11] = locations[10];
    locations[11].kind = TRACE_CYTHON;
    assert_int_equal(trace_find_recursions(arena, &thread), PSC_OK);
    assert_int_equal(thread.recursions[0].times, 11);
    locations[11] = locations[10];
    locations[11].function = "fob";
    assert_int_equal(trace_find_recursions(arena, &thread), PSC_OK);
    assert_int_equal(thread.recursions[0].times, 11);
    // So is one that was guessed.
    locations[11] = locations[10];
    frames[11].trust = TRACE_TRUST_SCAN;
    assert_int_equal(trace_find_recursions(arena, &thread), PSC_OK);
    assert_int_equal(thread.recursions[0].times, 11);
    frames[11].trust = TRACE_TRUST_CFI;
    // And one of another interpreter.
    frames[11].interpreter_id = 1;
    assert_int_equal(trace_find_recursions(arena, &thread), PSC_OK);
    assert_int_equal(thread.recursions[0].times, 11);
    frames[11].interpreter_id = 0;
    // Without a line the address counts; without a module the program counter.
    for (size_t i = 0; i < COUNT; i++)
        locations[i] = (struct trace_location){
            .kind = TRACE_NATIVE, .function = "descend", .has_offset = true, .offset = 0x10};
    locations[11].offset = 0x14;
    assert_int_equal(trace_find_recursions(arena, &thread), PSC_OK);
    assert_int_equal(thread.recursions[0].times, 11);
    locations[11].offset = 0x10;
    frames[11].pc = 0x1000;
    assert_int_equal(trace_find_recursions(arena, &thread), PSC_OK);
    assert_int_equal(thread.recursions[0].times, 11);
    arena_destroy(arena);
}

static double seconds_of(const char *letters, size_t count)
{
    struct stack stack;
    char *text = calloc(count + 1, 1);
    assert_non_null(text);
    size_t length = strlen(letters);
    for (size_t i = 0; i < count; i++)
        text[i] = letters[(i * (i / length + 1) + i / 977) % length];
    clock_t start = clock();
    find(&stack, text);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    release(&stack);
    free(text);
    return seconds;
}

/* A million frames, also such as nearly are cycles. */
static void test_time_is_linear(void **state)
{
    (void)state;
    assert_true(seconds_of("a", 1000000) < 4);
    assert_true(seconds_of("ab", 1000000) < 4);
    assert_true(seconds_of("aaabaaacaaad", 1000000) < 4);
    assert_true(seconds_of("abcdef", 1000000) < 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_frame),
        cmocka_unit_test(test_cycle_of_several),
        cmocka_unit_test(test_the_shortest_cycle_is_told),
        cmocka_unit_test(test_several_recursions),
        cmocka_unit_test(test_hidden_frames_do_not_count),
        cmocka_unit_test(test_too_few),
        cmocka_unit_test(test_what_is_alike),
        cmocka_unit_test(test_time_is_linear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
