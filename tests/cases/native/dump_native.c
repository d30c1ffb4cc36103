/**
 * @file
 * Prints the native stacks of a core file, one line a frame, for the scripts
 * that compare them with gdb's or with what a program says of itself.
 *
 *     dump_native [libunwind|libdw] [--bare] CORE [EXECUTABLE]
 *     dump_native --rows CORE [EXECUTABLE]
 *
 * A thread is a line `thread TID count END ADDRESS`, a frame
 * `PC SP CFA TRUST ENGINE FLAGS MODULE+OFFSET SYMBOL`. --bare leaves the frames out.
 *
 * --rows takes no walk: at every ROW_DISTANCE-th byte of all code it makes a row by
 * either engine, takes a step by both, and says how many steps differ.
 */
#include "core.h"
#include "native_private.h"
#include "x86_64_registers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const char *const trusts[] = {"context", "cfi", "frame-pointer", "scan", "anchor"};
static const char *const engines[] = {"-", "libunwind", "libdw", "heuristic"};
static const char *const ends[] = {"complete", "no-rule", "unreadable", "cycle", "limit"};

/* A prime that is no multiple of anything: hits all kinds of places in functions. */
#define ROW_DISTANCE 13u

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static void print_frame(struct modules *modules, const struct native_frame *frame)
{
    struct module *module = modules_find(modules, native_lookup_pc(frame));
    struct module_symbol symbol;
    bool named = module && module_find_symbol(module, native_lookup_pc(frame), &symbol);
    printf("%" PRIx64 " %" PRIx64 " %" PRIx64 " %s %s %s%s %s+%" PRIx64 " %s\n", frame->pc,
           frame->sp, frame->cfa, trusts[frame->trust], engines[frame->engine],
           frame->exact ? "exact" : "-", frame->signal ? ",signal" : "",
           module ? module->name : "?", module ? frame->pc - module->bias : 0,
           named ? symbol.name : "-");
}

static int dump_thread(struct native *native, struct modules *modules,
                       const struct target_thread *thread, size_t index, bool bare)
{
    struct native_stack stack = {0};
    if (native_walk(native, index, &stack) != PSC_OK) {
        native_stack_deinit(&stack);
        return 1;
    }
    printf("thread %d %zu %s %" PRIx64 "\n", thread->tid, stack.count, ends[stack.end],
           stack.end_address);
    for (size_t i = 0; i < stack.count && !bare; i++)
        print_frame(modules, &stack.frames[i]);
    native_stack_deinit(&stack);
    return 0;
}

/* Registers that point into a thread's stack, so that any rule finds memory there. */
static struct target_registers make_registers(const struct target *target)
{
    struct target_registers registers = target->threads[0].registers;
    psc_addr sp = registers.value[X86_RSP] & ~(psc_addr)15;
    for (size_t i = 0; i < X86_COUNT; i++)
        registers.value[i] = sp + i * 8;
    registers.value[X86_RSP] = sp;
    registers.value[X86_RBP] = sp + 512;
    return registers;
}

/* What a caller gets back: the registers that calls preserve, and rip and rsp. */
static bool same_step(const struct target_registers *a, const struct target_registers *b)
{
    static const uint8_t kept[] = {X86_RBX, X86_RBP, X86_RSP, X86_R12, 13, 14, X86_R15, X86_RIP};
    for (size_t i = 0; i < sizeof(kept); i++)
        if (a->value[kept[i]] != b->value[kept[i]])
            return false;
    return true;
}

struct row_counts {
    size_t both, libunwind, libdw, different;
};

static void compare_rows(struct native *native, struct module *module, psc_addr pc,
                         struct row_counts *counts)
{
    struct row a = {.pc = pc, .exact = true}, b = a;
    struct target_registers registers = make_registers(native->target);
    struct target_registers after_a = {.value = {0}}, after_b = {.value = {0}};
    struct step step_a = {0}, step_b = {0};
    bool has_a = native->libunwind && libunwind_make_row(native->libunwind, module, &a);
    bool has_b = libdw_make_row(native->libdw, module, &b);
    counts->libunwind += has_a && !has_b;
    counts->libdw += has_b && !has_a;
    if (!has_a || !has_b)
        return;
    counts->both++;
    registers.value[X86_RIP] = pc;
    enum step_result result = row_apply(native, &a, &registers, &after_a, &step_a);
    bool same =
        result == row_apply(native, &b, &registers, &after_b, &step_b) && a.signal == b.signal;
    if (same && result == STEP_OK)
        same = same_step(&after_a, &after_b);
    if (same)
        return;
    counts->different++;
    printf("different %s+%" PRIx64 "\n", module->name, pc - module->bias);
}

static void compare_modules(struct native *native)
{
    for (size_t i = 0; i < modules_count(native->modules); i++) {
        struct module *module =
            modules_find(native->modules, modules_get(native->modules, i)->start);
        struct row_counts counts = {0};
        if (!module)
            continue;
        for (psc_addr pc = module->start; pc < module->end; pc += ROW_DISTANCE)
            if (target_is_executable(native->target, pc))
                compare_rows(native, module, pc, &counts);
        printf("rows %s both %zu libunwind %zu libdw %zu different %zu\n", module->name,
               counts.both, counts.libunwind, counts.libdw, counts.different);
    }
}

static int dump(struct target *target, enum psc_unwinder unwinder, bool bare, bool rows,
                struct psc_error *err)
{
    struct modules *modules;
    struct native *native;
    int failed = 0;
    if (modules_create(target, &modules, err) != PSC_OK)
        return 1;
    double start = now();
    if (native_create(target, modules, unwinder, &native, err) != PSC_OK) {
        modules_destroy(modules);
        return 1;
    }
    if (rows)
        compare_modules(native);
    for (size_t i = 0; i < target->thread_count && !rows; i++)
        failed |= dump_thread(native, modules, &target->threads[i], i, bare);
    const struct native_statistics *statistics = native_get_statistics(native);
    printf("steps libunwind %zu libdw %zu heuristic %zu rows %zu\n", statistics->steps_libunwind,
           statistics->steps_libdw, statistics->steps_heuristic, statistics->rows);
    fprintf(stderr, "%.0f us\n", now() - start);
    native_destroy(native);
    modules_destroy(modules);
    return failed;
}

int main(int argc, char **argv)
{
    enum psc_unwinder unwinder = PSC_UNWINDER_LIBUNWIND;
    bool bare = false, rows = false;
    int at = 1;
    for (; at < argc; at++) {
        if (strcmp(argv[at], "libdw") == 0)
            unwinder = PSC_UNWINDER_LIBDW;
        else if (strcmp(argv[at], "--bare") == 0)
            bare = true;
        else if (strcmp(argv[at], "--rows") == 0)
            rows = true;
        else if (strcmp(argv[at], "libunwind") != 0)
            break;
    }
    if (at >= argc) {
        fprintf(stderr,
                "usage: dump_native [libunwind|libdw] [--bare] [--rows] CORE [EXECUTABLE]\n");
        return 64;
    }
    struct target *target;
    struct psc_error err = {0};
    if (core_open(argv[at], at + 1 < argc ? argv[at + 1] : NULL, NULL, &target, &err) != PSC_OK) {
        fprintf(stderr, "dump_native: %s\n", err.message);
        return 2;
    }
    int failed = dump(target, unwinder, bare, rows, &err);
    for (size_t i = 0; i < target->warnings.count; i++)
        fprintf(stderr, "warning: %s\n", target->warnings.items[i].message);
    target_close(target);
    if (failed)
        fprintf(stderr, "dump_native: %s\n", err.message);
    return failed ? 2 : 0;
}
