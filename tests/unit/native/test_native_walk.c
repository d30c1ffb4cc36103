/**
 * @file
 * Walks over memory made by hand, without any call frame information: the
 * heuristics, the ends of a walk and its guards.
 */
#include "native_private.h"
#include "x86_64_registers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#define CODE        ((psc_addr)0x10000000)
#define CODE_SIZE   0x10000u
#define STACK       ((psc_addr)0x20000000)
#define STACK_SIZE  0x40000u
#define OTHER_STACK ((psc_addr)0x18000000)

/* A target of two mappings and one thread. */
struct world {
    struct target target;
    struct target_mapping mappings[3];
    struct target_thread thread;
    uint8_t code[CODE_SIZE];
    uint8_t stack[STACK_SIZE];
    uint8_t other_stack[STACK_SIZE];
    struct modules *modules;
    struct native *native;
    struct native_stack result;
};

static uint8_t *bytes_at(struct world *world, psc_addr address, size_t size)
{
    if (address >= CODE && address - CODE + size <= CODE_SIZE)
        return world->code + (address - CODE);
    if (address >= STACK && address - STACK + size <= STACK_SIZE)
        return world->stack + (address - STACK);
    if (address >= OTHER_STACK && address - OTHER_STACK + size <= STACK_SIZE)
        return world->other_stack + (address - OTHER_STACK);
    return NULL;
}

static enum psc_status world_read(struct target *target, psc_addr address, void *buffer,
                                  size_t size)
{
    const uint8_t *bytes = bytes_at(target->backend, address, size);
    if (!bytes)
        return PSC_ERR_FAULT;
    memcpy(buffer, bytes, size);
    return PSC_OK;
}

static const struct target_ops world_ops = {.read = world_read};

static int create_world(void **state)
{
    struct world *world = calloc(1, sizeof(*world));
    assert_non_null(world);
    struct target *target = &world->target;
    target->ops = &world_ops;
    target->machine = target_machine_here();
    target->backend = world;
    target->arena = arena_create();
    warnings_init(&target->warnings, target->arena);
    world->mappings[0] = (struct target_mapping){
        .start = CODE, .end = CODE + CODE_SIZE, .permissions_known = true, .executable = true};
    world->mappings[1] = (struct target_mapping){
        .start = OTHER_STACK, .end = OTHER_STACK + STACK_SIZE, .permissions_known = true};
    world->mappings[2] = (struct target_mapping){
        .start = STACK, .end = STACK + STACK_SIZE, .permissions_known = true};
    target->mappings = world->mappings;
    target->mapping_count = 3;
    target->threads = &world->thread;
    target->thread_count = 1;
    target->auxv.page_size = 4096;
    memset(world->code, 0x90, CODE_SIZE);
    *state = world;
    return 0;
}

static int destroy_world(void **state)
{
    struct world *world = *state;
    native_stack_deinit(&world->result);
    native_destroy(world->native);
    modules_destroy(world->modules);
    warnings_deinit(&world->target.warnings);
    arena_destroy(world->target.arena);
    free(world);
    return 0;
}

static void put(struct world *world, psc_addr address, uint64_t word)
{
    uint8_t *bytes = bytes_at(world, address, 8);
    assert_non_null(bytes);
    memcpy(bytes, &word, 8);
}

/* A return address: the n-th place behind a call. */
static psc_addr after_call(struct world *world, unsigned n)
{
    psc_addr address = CODE + 0x100 * (n + 1);
    memcpy(bytes_at(world, address - 5, 5), "\xe8\0\0\0\0", 5);
    return address;
}

static void walk(struct world *world, psc_addr pc, psc_addr sp, psc_addr frame_pointer,
                 enum psc_unwinder unwinder)
{
    world->thread.registers.value[X86_RIP] = pc;
    world->thread.registers.value[X86_RSP] = sp;
    world->thread.registers.value[X86_RBP] = frame_pointer;
    assert_int_equal(modules_create(&world->target, &world->modules, NULL), PSC_OK);
    assert_int_equal(native_create(&world->target, world->modules, unwinder, &world->native, NULL),
                     PSC_OK);
    assert_int_equal(native_walk(world->native, 0, &world->result), PSC_OK);
}

/* Frames that keep rbp: the n-th lies at STACK + 0x1000 + n * 64 and returns behind call n. */
static psc_addr put_frame_chain(struct world *world, unsigned count)
{
    for (unsigned n = 0; n < count; n++) {
        psc_addr frame = STACK + 0x1000 + n * 64;
        put(world, frame, n + 1 < count ? frame + 64 : 0);
        put(world, frame + 8, after_call(world, n));
    }
    *bytes_at(world, after_call(world, count - 1), 1) = 0xf4; // hlt
    return STACK + 0x1000;
}

static void test_frame_pointers(void **state)
{
    struct world *world = *state;
    psc_addr frame = put_frame_chain(world, 20);
    walk(world, CODE + 0x20, frame - 0x40, frame, PSC_UNWINDER_LIBUNWIND);
    assert_int_equal(world->result.count, 21);
    assert_int_equal(world->result.end, NATIVE_END_COMPLETE);
    assert_int_equal(world->result.frames[0].trust, NATIVE_TRUST_CONTEXT);
    assert_true(world->result.frames[0].exact);
    for (unsigned n = 0; n < 20; n++) {
        const struct native_frame *caller = &world->result.frames[n + 1];
        assert_int_equal(caller->pc, after_call(world, n));
        assert_int_equal(caller->sp, frame + n * 64 + 16);
        assert_int_equal(caller->trust, NATIVE_TRUST_FRAME_POINTER);
        assert_int_equal(caller->engine, NATIVE_ENGINE_HEURISTIC);
        assert_int_equal(world->result.frames[n].cfa, caller->sp);
        assert_false(caller->exact);
    }
    assert_int_equal(native_get_statistics(world->native)->steps_heuristic, 20);
    assert_int_equal(world->result.last.value[X86_RIP], after_call(world, 19));
}

static void test_call_to_null(void **state)
{
    struct world *world = *state;
    psc_addr frame = put_frame_chain(world, 5);
    put(world, frame - 0x40, after_call(world, 9));
    walk(world, 0, frame - 0x40, frame, PSC_UNWINDER_LIBDW);
    assert_int_equal(world->result.count, 7);
    assert_int_equal(world->result.frames[1].pc, after_call(world, 9));
    assert_int_equal(world->result.frames[1].sp, frame - 0x38);
    assert_int_equal(world->result.frames[1].trust, NATIVE_TRUST_SCAN);
    assert_int_equal(world->result.frames[2].pc, after_call(world, 0));
    assert_int_equal(world->result.end, NATIVE_END_COMPLETE);
}

static void test_entry_of_a_function(void **state)
{
    struct world *world = *state;
    psc_addr frame = put_frame_chain(world, 5);
    memcpy(bytes_at(world, CODE + 0x20, 5), "\xf3\x0f\x1e\xfa\x55", 5);
    put(world, frame - 0x40, after_call(world, 9));
    walk(world, CODE + 0x20, frame - 0x40, frame, PSC_UNWINDER_LIBUNWIND);
    assert_int_equal(world->result.count, 7);
    assert_int_equal(world->result.frames[1].pc, after_call(world, 9));
}

static void test_epilogue(void **state)
{
    struct world *world = *state;
    psc_addr frame = put_frame_chain(world, 5);
    psc_addr code = after_call(world, 9);
    memcpy(bytes_at(world, code, 5), "\x48\x83\xc4\x18\xc3", 5);
    // rbp is the caller's: only the code tells that there is a frame in between.
    put(world, frame - 0x40 + 0x18, after_call(world, 10));
    walk(world, code, frame - 0x40, frame, PSC_UNWINDER_LIBUNWIND);
    assert_int_equal(world->result.count, 7);
    assert_int_equal(world->result.frames[1].pc, after_call(world, 10));
    assert_int_equal(world->result.frames[1].sp, frame - 0x20);
    assert_int_equal(world->result.frames[2].pc, after_call(world, 0));
}

static void test_scan(void **state)
{
    struct world *world = *state;
    psc_addr frame = put_frame_chain(world, 6);
    // rbp is lost; words on the stack look like code but follow no call.
    for (unsigned i = 0; i < 100; i++)
        put(world, frame - 0x800 + i * 8, CODE + 0x5000 + i);
    walk(world, CODE + 0x20, frame - 0x800, 12345, PSC_UNWINDER_LIBUNWIND);
    assert_int_equal(world->result.count, 7);
    assert_int_equal(world->result.frames[1].pc, after_call(world, 0));
    assert_int_equal(world->result.frames[1].trust, NATIVE_TRUST_SCAN);
}

static void put_signal_frame(struct world *world, psc_addr context, psc_addr pc, psc_addr sp,
                             psc_addr frame_pointer)
{
    put(world, context + 40 + 8 * 10, frame_pointer);
    put(world, context + 40 + 8 * 15, sp);
    put(world, context + 40 + 8 * 16, pc);
}

static void test_signal_frame(void **state)
{
    struct world *world = *state;
    psc_addr frame = put_frame_chain(world, 4);
    psc_addr trampoline = CODE + 0x800;
    memcpy(bytes_at(world, trampoline, 9), "\x48\xc7\xc0\x0f\0\0\0\x0f\x05", 9);
    // On another stack, which lies below.
    put_signal_frame(world, OTHER_STACK + 0x100, CODE + 0x30, frame - 0x20, frame);
    walk(world, trampoline, OTHER_STACK + 0x100, 0, PSC_UNWINDER_LIBUNWIND);
    assert_int_equal(world->result.count, 6);
    assert_true(world->result.frames[0].signal);
    assert_int_equal(world->result.frames[0].cfa, frame - 0x20);
    assert_int_equal(world->result.frames[1].pc, CODE + 0x30);
    assert_true(world->result.frames[1].exact);
    assert_int_equal(world->result.frames[1].trust, NATIVE_TRUST_CFI);
    assert_int_equal(world->result.end, NATIVE_END_COMPLETE);
}

static void test_signal_frames_in_a_ring(void **state)
{
    struct world *world = *state;
    psc_addr trampoline = CODE + 0x800;
    memcpy(bytes_at(world, trampoline, 9), "\x48\xc7\xc0\x0f\0\0\0\x0f\x05", 9);
    put_signal_frame(world, STACK + 0x100, trampoline, OTHER_STACK + 0x100, 0);
    put_signal_frame(world, OTHER_STACK + 0x100, trampoline, STACK + 0x100, 0);
    walk(world, trampoline, STACK + 0x100, 0, PSC_UNWINDER_LIBUNWIND);
    assert_int_equal(world->result.end, NATIVE_END_CYCLE);
    assert_true(world->result.count <= 2 * STACK_SWITCH_LIMIT + 2);
}

static void test_unreadable_stack(void **state)
{
    struct world *world = *state;
    walk(world, CODE + 0x20, 0x7000, 0, PSC_UNWINDER_LIBUNWIND);
    assert_int_equal(world->result.count, 1);
    assert_int_equal(world->result.end, NATIVE_END_UNREADABLE);
    assert_int_equal(world->result.end_address, 0x7000);
}

static void test_nothing_to_go_by(void **state)
{
    struct world *world = *state;
    walk(world, CODE + 0x20, STACK + 0x100, 0, PSC_UNWINDER_LIBUNWIND);
    assert_int_equal(world->result.count, 1);
    assert_int_equal(world->result.end, NATIVE_END_NO_RULE);
    assert_int_equal(world->result.end_address, CODE + 0x20);
}

static void test_made_up_stack_ends(void **state)
{
    struct world *world = *state;
    // Every word is a return address, and every saved rbp points to itself.
    psc_addr address = after_call(world, 3);
    for (psc_addr at = STACK; at < STACK + STACK_SIZE; at += 16) {
        put(world, at, at);
        put(world, at + 8, address);
    }
    walk(world, address, STACK, STACK, PSC_UNWINDER_LIBUNWIND);
    assert_true(world->result.count <= STACK_SIZE / 8);
    for (size_t i = 1; i < world->result.count; i++)
        assert_true(world->result.frames[i].sp > world->result.frames[i - 1].sp);
}

static void test_top_of_the_address_space(void **state)
{
    struct world *world = *state;
    walk(world, UINT64_MAX, UINT64_MAX - 3, UINT64_MAX - 7, PSC_UNWINDER_LIBUNWIND);
    assert_int_equal(world->result.count, 1);
    assert_int_equal(world->result.end, NATIVE_END_UNREADABLE);
}

static void test_without_libunwind(void **state)
{
    struct world *world = *state;
    struct rlimit usual, none = {0};
    psc_addr frame = put_frame_chain(world, 5);
    world->thread.registers.value[X86_RIP] = CODE + 0x20;
    world->thread.registers.value[X86_RSP] = frame - 0x20;
    world->thread.registers.value[X86_RBP] = frame;
    assert_int_equal(modules_create(&world->target, &world->modules, NULL), PSC_OK);
    // No file descriptor is left for the small core that libunwind wants.
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
    none.rlim_max = usual.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    enum psc_status status =
        native_create(&world->target, world->modules, PSC_UNWINDER_LIBUNWIND, &world->native, NULL);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
    assert_int_equal(status, PSC_OK);
    assert_null(world->native->libunwind);
    assert_int_equal(native_walk(world->native, 0, &world->result), PSC_OK);
    assert_int_equal(world->result.count, 6);
    assert_int_equal(native_walk(world->native, 1, &world->result), PSC_ERR_ARGUMENT);
}

/* r8 to r15 are the thread's own: libunwind-coredump by itself mixes them up. */
static void test_registers_of_a_thread(void **state)
{
    struct world *world = *state;
    for (unsigned i = 0; i < X86_COUNT; i++)
        world->thread.registers.value[i] = 0x1000 + i;
    walk(world, 0x1010, 0x1007, 0x1006, PSC_UNWINDER_LIBUNWIND);
    assert_non_null(world->native->libunwind);
    assert_memory_equal(&world->result.last, &world->thread.registers, sizeof(world->result.last));
}

static void test_walk_from(void **state)
{
    struct world *world = *state;
    psc_addr frame = put_frame_chain(world, 5);
    struct target_registers registers = {.value = {0}};
    struct native_stack stack = {0};
    walk(world, CODE + 0x20, STACK + 0x100, 0, PSC_UNWINDER_LIBUNWIND);
    registers.value[X86_RIP] = after_call(world, 9);
    registers.value[X86_RSP] = frame - 0x20;
    registers.value[X86_RBP] = frame;
    assert_int_equal(
        native_walk_from(world->native, &registers, false, NATIVE_TRUST_ANCHOR, &stack), PSC_OK);
    assert_int_equal(stack.count, 6);
    assert_int_equal(stack.frames[0].trust, NATIVE_TRUST_ANCHOR);
    assert_int_equal(stack.frames[0].sp, frame - 0x20);
    assert_false(stack.frames[0].exact);
    struct target_registers caller;
    psc_addr cfa;
    assert_int_equal(native_step(world->native, &registers, false, &caller, &cfa),
                     PSC_ERR_NOT_FOUND);
    native_stack_deinit(&stack);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, create_world, destroy_world)
    const struct CMUnitTest tests[] = {
        TEST(test_frame_pointers),
        TEST(test_call_to_null),
        TEST(test_entry_of_a_function),
        TEST(test_epilogue),
        TEST(test_scan),
        TEST(test_signal_frame),
        TEST(test_signal_frames_in_a_ring),
        TEST(test_unreadable_stack),
        TEST(test_nothing_to_go_by),
        TEST(test_made_up_stack_ends),
        TEST(test_top_of_the_address_space),
        TEST(test_without_libunwind),
        TEST(test_registers_of_a_thread),
        TEST(test_walk_from),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
