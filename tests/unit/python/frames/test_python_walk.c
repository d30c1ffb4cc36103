/* Frame chains that a dead process may leave behind, laid out by hand. */
#include "python_memory.h"

#include <setjmp.h>
#include <cmocka.h>

#define SHIM_OWNER 3u

/* A _PyInterpreterFrame at an instruction of its code. */
static psc_addr make_frame(struct memory *memory, psc_addr code, psc_addr previous)
{
    psc_addr frame = memory_reserve(memory, 96);
    memory_put_field(memory, frame, PY_FRAME_CODE, code);
    memory_put_field(memory, frame, PY_FRAME_PREVIOUS, previous);
    memory_put_field(memory, frame, PY_FRAME_INSTR,
                     py_field_address(&memory->python, code, PY_CODE_ADAPTIVE) + 4);
    return frame;
}

static psc_addr make_shim(struct memory *memory, psc_addr previous)
{
    psc_addr frame = make_frame(memory, 0, previous);
    memory_put_field(memory, frame, PY_FRAME_OWNER, SHIM_OWNER);
    return frame;
}

static psc_addr make_cframe(struct memory *memory, psc_addr current, psc_addr previous)
{
    psc_addr cframe = memory_reserve(memory, 32);
    memory_put_field(memory, cframe, PY_CFRAME_CURRENT, current);
    memory_put_field(memory, cframe, PY_CFRAME_PREVIOUS, previous);
    return cframe;
}

/* A thread state whose root CFrame is the older one of `cframes`. */
static struct python_thread make_thread(struct memory *memory)
{
    return (struct python_thread){.tstate = memory_reserve(memory, 512)};
}

static psc_addr root_cframe(const struct memory *memory, const struct python_thread *thread)
{
    return py_field_address(&memory->python, thread->tstate, PY_THREAD_ROOT_CFRAME);
}

static void walk_chain(struct memory *memory, psc_addr first, struct python_stack *stack)
{
    assert_int_equal(chain_walk(&memory->python, first, stack), PSC_OK);
}

static void test_cycles_end_the_walk_once_around(void **state)
{
    struct memory *memory = memory_create(0x030c00f0);
    psc_addr code = memory_code(memory, "loop");
    psc_addr frames[40];
    (void)state;
    for (size_t entry = 0; entry < 40; entry += 3) {
        struct python_stack stack = {0};
        for (size_t i = 40; i-- > 0;)
            frames[i] = make_frame(memory, code, i < 39 ? frames[i + 1] : 0);
        memory_put_field(memory, frames[39], PY_FRAME_PREVIOUS, frames[entry]);
        walk_chain(memory, frames[0], &stack);
        assert_int_equal(stack.end, PYTHON_END_CYCLE);
        assert_int_equal(stack.end_address, frames[entry]);
        assert_int_equal(stack.count, 40);
        python_stack_deinit(&stack);
    }
    memory_destroy(memory);
}

static void test_a_fault_keeps_what_was_read(void **state)
{
    struct memory *memory = memory_create(0x030b00f0);
    psc_addr code = memory_code(memory, "f");
    struct python_stack stack = {0};
    (void)state;
    walk_chain(memory, make_frame(memory, code, UINT64_C(0x7f0000000000)), &stack);
    assert_int_equal(stack.count, 1);
    assert_int_equal(stack.end, PYTHON_END_UNREADABLE);
    assert_int_equal(stack.end_address, UINT64_C(0x7f0000000000));
    python_stack_deinit(&stack);
    walk_chain(memory, make_frame(memory, code, 0x10003), &stack);
    assert_int_equal(stack.end, PYTHON_END_UNREADABLE);
    python_stack_deinit(&stack);
    memory_destroy(memory);
}

/* The code is gone, the chain goes on; but a chain of other things is no stack. */
static void test_unreadable_code_and_foreign_chains(void **state)
{
    struct memory *memory = memory_create(0x030c00f0);
    psc_addr code = memory_code(memory, "f");
    struct python_stack stack = {0};
    (void)state;
    psc_addr gone = make_frame(memory, UINT64_C(0x7f0000000000), make_frame(memory, code, 0));
    walk_chain(memory, gone, &stack);
    assert_int_equal(stack.count, 2);
    assert_int_equal(stack.end, PYTHON_END_COMPLETE);
    assert_int_equal(stack.frames[0].kind, PYTHON_FRAME_UNREADABLE);
    assert_int_equal(stack.frames[1].kind, PYTHON_FRAME_CODE);
    python_stack_deinit(&stack);

    psc_addr foreign = 0;
    for (size_t i = 0; i < 20; i++)
        foreign = make_frame(memory, memory->str_type, foreign);
    walk_chain(memory, make_frame(memory, code, foreign), &stack);
    assert_int_equal(stack.count, 1);
    assert_int_equal(stack.end, PYTHON_END_UNREADABLE);
    assert_int_equal(stack.end_address, foreign);
    python_stack_deinit(&stack);
    memory_destroy(memory);
}

static void check_anchor(const struct python_stack *stack, size_t index, psc_addr address,
                         size_t first, size_t count)
{
    assert_true(index < stack->anchor_count);
    assert_int_equal(stack->anchors[index].address, address);
    assert_int_equal(stack->anchors[index].first, first);
    assert_int_equal(stack->anchors[index].count, count);
}

/* 3.12: two evaluators, the newest about to begin. */
static void test_shims_part_the_chain(void **state)
{
    struct memory *memory = memory_create(0x030c00f0);
    psc_addr code = memory_code(memory, "f");
    struct python_thread thread = make_thread(memory);
    struct python_stack stack = {0};
    (void)state;
    psc_addr outer = make_shim(memory, 0);
    psc_addr inner = make_shim(memory, make_frame(memory, code, make_frame(memory, code, outer)));
    psc_addr newest = make_shim(memory, make_frame(memory, code, inner));
    memory_put_field(memory, root_cframe(memory, &thread), PY_CFRAME_CURRENT, 0);
    psc_addr cframe = make_cframe(memory, newest, root_cframe(memory, &thread));
    memory_put(memory, thread.tstate + memory->python.layout.offset[PY_THREAD_CFRAME], cframe, 8);
    /* Offsets of a CFrame are from its own address. */
    memory_put(memory, cframe + memory->python.layout.offset[PY_CFRAME_CURRENT], newest, 8);
    assert_int_equal(python_walk(&memory->python, &thread, &stack), PSC_OK);
    assert_int_equal(stack.count, 6);
    assert_int_equal(stack.anchor_count, 3);
    check_anchor(&stack, 0, newest, 0, 0);
    check_anchor(&stack, 1, inner, 1, 1);
    check_anchor(&stack, 2, outer, 3, 2);
    assert_int_equal(stack.frames[0].kind, PYTHON_FRAME_SHIM);
    assert_int_equal(stack.frames[0].code, 0);
    python_stack_deinit(&stack);
    memory_destroy(memory);
}

/* The newest 3.11 CFrame before its current_frame is filled in: NULL, nowhere, an older
   call's frame that is no longer in the chain, a frame of which another is the caller, and the
   place of a frame that is just being made: its caller is what was there before. */
static void test_a_cframe_that_is_being_entered(void **state)
{
    struct memory *memory = memory_create(0x030b00f0);
    psc_addr code = memory_code(memory, "f");
    struct python_thread thread = make_thread(memory);
    (void)state;
    psc_addr old = make_frame(memory, code, 0);
    psc_addr current = make_frame(memory, code, old);
    psc_addr entering = make_frame(memory, code, current);
    psc_addr stale = make_frame(memory, code, make_frame(memory, code, 0));
    psc_addr making = make_frame(memory, code, 1);
    memory_put_field(memory, making, PY_FRAME_INSTR,
                     py_field_address(&memory->python, code, PY_CODE_ADAPTIVE) - 2);
    psc_addr root = root_cframe(memory, &thread);
    psc_addr older = make_cframe(memory, current, root);
    const struct {
        psc_addr current;
        size_t frames;
        size_t newest_count;
    } cases[] = {{0, 2, 0},
                 {UINT64_C(0x7f0000000000), 2, 0},
                 {stale, 2, 0},
                 {making, 2, 0},
                 {entering, 3, 1}};
    for (size_t i = 0; i < PSC_ARRAY_SIZE(cases); i++) {
        struct python_stack stack = {0};
        psc_addr newest = make_cframe(memory, cases[i].current, older);
        memory_put_field(memory, thread.tstate, PY_THREAD_CFRAME, newest);
        assert_int_equal(python_walk(&memory->python, &thread, &stack), PSC_OK);
        assert_int_equal(stack.count, cases[i].frames);
        assert_int_equal(stack.end, PYTHON_END_COMPLETE);
        assert_int_equal(stack.anchor_count, 2);
        check_anchor(&stack, 0, newest, 0, cases[i].newest_count);
        check_anchor(&stack, 1, older, cases[i].newest_count, 2);
        python_stack_deinit(&stack);
    }
    memory_destroy(memory);
}

static void test_a_cframe_list_that_loops(void **state)
{
    struct memory *memory = memory_create(0x030b00f0);
    psc_addr code = memory_code(memory, "f");
    struct python_thread thread = make_thread(memory);
    struct python_stack stack = {0};
    (void)state;
    psc_addr frame = make_frame(memory, code, 0);
    psc_addr cframe = make_cframe(memory, frame, 0);
    memory_put_field(memory, cframe, PY_CFRAME_PREVIOUS, cframe);
    memory_put_field(memory, thread.tstate, PY_THREAD_CFRAME, cframe);
    assert_int_equal(python_walk(&memory->python, &thread, &stack), PSC_OK);
    assert_int_equal(stack.count, 1);
    assert_int_equal(stack.cframe_list_end, cframe);
    assert_int_equal(stack.partial_cframe, cframe);
    python_stack_deinit(&stack);
    memory_destroy(memory);
}

/* The newest 3.11 CFrame before its previous is filled in: the next one is found on the C stack. */
static void test_a_cframe_that_leads_astray(void **state)
{
    struct memory *memory = memory_create(0x030b00f0);
    psc_addr code = memory_code(memory, "f");
    struct python_thread thread = make_thread(memory);
    struct python_stack stack = {0}, found = {0}, none = {0};
    (void)state;
    psc_addr outer = make_frame(memory, code, 0);
    psc_addr inner = make_frame(memory, code, outer);
    psc_addr newest = make_cframe(memory, inner, 4242);
    psc_addr next = make_cframe(memory, inner, 0);
    psc_addr last = make_cframe(memory, outer, root_cframe(memory, &thread));
    memory_put_field(memory, next, PY_CFRAME_PREVIOUS, last);
    memory_put_field(memory, thread.tstate, PY_THREAD_CFRAME, newest);
    assert_int_equal(python_walk(&memory->python, &thread, &stack), PSC_OK);
    assert_int_equal(stack.partial_cframe, newest);
    assert_int_equal(stack.cframe_list_end, 4242);
    assert_int_equal(python_walk_between(&memory->python, &thread, newest + 8, last + 8, &found),
                     PSC_OK);
    assert_int_equal(found.count, 2);
    assert_int_equal(found.anchor_count, 2);
    check_anchor(&found, 0, next, 0, 1);
    check_anchor(&found, 1, last, 1, 1);
    assert_int_equal(found.partial_cframe, 0);
    assert_int_equal(found.cframe_list_end, 0);
    assert_int_equal(python_walk_between(&memory->python, &thread, newest + 8, next, &none),
                     PSC_ERR_NOT_FOUND);
    python_stack_deinit(&stack);
    python_stack_deinit(&found);
    memory_destroy(memory);
}

/* Before its first traceable instruction a function is at its first line; a generator is not. */
static void test_frames_that_have_not_begun(void **state)
{
    struct memory *memory = memory_create(0x030c00f0);
    psc_addr code = memory_code(memory, "f");
    struct python_stack stack = {0};
    struct python_location location;
    (void)state;
    memory_put_field(memory, code, PY_CODE_FIRST_TRACEABLE, 3);
    psc_addr frame = make_frame(memory, code, 0);
    walk_chain(memory, frame, &stack);
    assert_int_equal(stack.frames[0].lasti, -1);
    assert_int_equal(python_read_location(&memory->python, &stack.frames[0], &location), PSC_OK);
    assert_int_equal(location.line, 7);
    memory_put_field(memory, frame, PY_FRAME_OWNER, 1);
    walk_chain(memory, frame, &stack);
    assert_int_equal(stack.frames[0].lasti, 4);
    assert_int_equal(python_read_location(&memory->python, &stack.frames[0], &location), PSC_OK);
    assert_int_equal(location.line, 7);
    assert_string_equal(location.function, "f");
    assert_string_equal(location.file, "file.py");
    python_stack_deinit(&stack);
    memory_destroy(memory);
}

static void test_an_instruction_outside_its_code_has_no_line(void **state)
{
    struct memory *memory = memory_create(0x030c00f0);
    psc_addr code = memory_code(memory, "f");
    struct python_stack stack = {0};
    struct python_location location;
    (void)state;
    psc_addr frame = make_frame(memory, code, 0);
    psc_addr start = py_field_address(&memory->python, code, PY_CODE_ADAPTIVE);
    const psc_addr outside[] = {UINT64_C(0x7fffffffffffff00), start + 200, start - 4, 0};
    for (size_t i = 0; i < PSC_ARRAY_SIZE(outside); i++) {
        memory_put_field(memory, frame, PY_FRAME_INSTR, outside[i]);
        walk_chain(memory, frame, &stack);
        assert_int_equal(python_read_location(&memory->python, &stack.frames[0], &location),
                         PSC_OK);
        assert_int_equal(location.line, 0);
        assert_int_equal(location.column, -1);
    }
    memory_put_field(memory, frame, PY_FRAME_INSTR, start - 2);
    walk_chain(memory, frame, &stack);
    assert_int_equal(stack.frames[0].lasti, -1);
    python_stack_deinit(&stack);
    memory_destroy(memory);
}

/* Without the address of PyCode_Type it is learnt from what has a code object's members. */
static void test_code_is_known_without_symbols(void **state)
{
    struct memory *memory = memory_create(0x030c00f0);
    psc_addr code = memory_code(memory, "f");
    struct python_stack stack = {0};
    (void)state;
    memory->python.types.code = 0;
    walk_chain(memory, make_frame(memory, memory->str_type, make_frame(memory, code, 0)), &stack);
    assert_int_equal(stack.frames[0].kind, PYTHON_FRAME_UNREADABLE);
    assert_int_equal(stack.frames[1].kind, PYTHON_FRAME_CODE);
    /* From now on nothing else is one, whatever its members are. */
    psc_addr other = memory_code(memory, "g");
    memory_put_field(memory, other, PY_OBJECT_TYPE, memory_type(memory, 0));
    assert_int_equal(code_find(&memory->python, other)->state, PY_CODE_OTHER);
    assert_int_equal(code_find(&memory->python, memory_code(memory, "h"))->state, PY_CODE_VALID);
    python_stack_deinit(&stack);
    memory_destroy(memory);
}

/* The newest frame from an address that no thread state leads to. */
static int32_t walk_lasti(struct python *python, psc_addr object)
{
    struct python_stack stack = {0};
    assert_int_equal(python_walk_from(python, object, &stack), PSC_OK);
    assert_int_equal(stack.count, 1);
    int32_t lasti = stack.frames[0].lasti;
    python_stack_deinit(&stack);
    return lasti;
}

/* 3.10: f_lasti counts units; freed frames keep their type but no reference. */
static void test_frame_objects(void **state)
{
    struct memory *memory = memory_create(0x030a00f0);
    struct python *python = &memory->python;
    psc_addr code = memory_code(memory, "f");
    psc_addr frame_type = memory_type(memory, 0);
    (void)state;
    psc_addr object = memory_object(memory, frame_type, 512);
    memory_put_field(memory, object, PY_FRAMEOBJ_CODE, code);
    memory_put_field(memory, object, PY_FRAMEOBJ_LASTI, 6);
    memory_put_field(memory, object, PY_OBJECT_REFCNT, 1);
    /* Only now the type of frame objects becomes known. */
    assert_false(python_is_frame_object(python, object));
    assert_int_equal(walk_lasti(python, object), 12);
    assert_true(python_is_frame_object(python, object));
    memory_put_field(memory, object, PY_OBJECT_REFCNT, 0);
    assert_false(python_is_frame_object(python, object));
    memory_put_field(memory, object, PY_OBJECT_REFCNT, 1);
    assert_false(python_is_frame_object(python, object + 8));
    assert_false(python_is_frame_object(python, code));
    memory_put_field(memory, object, PY_FRAMEOBJ_LASTI, UINT64_MAX);
    assert_int_equal(walk_lasti(python, object), -1);
    memory_put_field(memory, object, PY_FRAMEOBJ_CODE, memory->str_type);
    assert_false(python_is_frame_object(python, object));
    memory_destroy(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cycles_end_the_walk_once_around),
        cmocka_unit_test(test_a_fault_keeps_what_was_read),
        cmocka_unit_test(test_unreadable_code_and_foreign_chains),
        cmocka_unit_test(test_shims_part_the_chain),
        cmocka_unit_test(test_a_cframe_that_is_being_entered),
        cmocka_unit_test(test_a_cframe_list_that_loops),
        cmocka_unit_test(test_a_cframe_that_leads_astray),
        cmocka_unit_test(test_frames_that_have_not_begun),
        cmocka_unit_test(test_an_instruction_outside_its_code_has_no_line),
        cmocka_unit_test(test_code_is_known_without_symbols),
        cmocka_unit_test(test_frame_objects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
