/* Cores that have nothing to show, and whose they are. */
#include "diagnose_private.h"

#include <string.h>

/* PyInstaller's bootloader is small; the program that it starts is appended to it. */
#define BOOTLOADER_SIZE ((size_t)1 << 20)

enum stack_state { STACK_THERE, STACK_MISSING, STACK_BLANK };

static enum stack_state find_state(struct target *target, const struct target_thread *thread)
{
    uint64_t word;
    psc_addr sp = target_sp(target, &thread->registers);
    // The stack pointer of an overflow lies in what never was memory: a guard page, or nothing.
    const struct target_mapping *mapping = target_find_mapping(target, sp);
    if (target_read(target, sp, &word, sizeof(word)) != PSC_OK)
        return mapping && mapping->writable ? STACK_MISSING : STACK_THERE;
    return target_is_blank_stack(target, sp) ? STACK_BLANK : STACK_THERE;
}

static void warn_about_stacks(struct target *target, size_t missing, size_t blank, bool cut)
{
    size_t count = target->thread_count;
    if (missing == count && !cut)
        target_warn(target, "no-stacks",
                    "this core has no stacks: the process's coredump_filter left its own memory "
                    "out; start the program by a shell that has done echo 0x33 > "
                    "/proc/self/coredump_filter (see core(5))");
    else if (missing == count)
        target_warn(target, "no-stacks",
                    "this core has no stacks, for it is cut off: ulimit -c unlimited, and room on "
                    "the disk, let the kernel write all of it");
    static const char remedy[] =
        "zeros stand in their place, as gdb writes what it can read in part only (thread stacks of "
        "glibc 2.42 and later); let the kernel write the core, or pystack-core --save-core=full";
    if (blank == count)
        target_warn(target, "blank-stacks", "this core has no stacks: %s", remedy);
    else if (blank)
        target_warn(target, "blank-stacks", "this core has no stacks of %zu of its %zu threads: %s",
                    blank, count, remedy);
}

static void check_stacks(struct target *target, struct psc_trace *trace)
{
    size_t missing = 0, blank = 0;
    bool cut = false;
    for (size_t i = 0; i < target->thread_count; i++) {
        enum stack_state state = find_state(target, &target->threads[i]);
        missing += state == STACK_MISSING;
        blank += state == STACK_BLANK;
    }
    for (size_t i = 0; i < target->warnings.count; i++)
        cut |= !strcmp(target->warnings.items[i].code, "core-truncated");
    warn_about_stacks(target, missing, blank, cut);
    if (!trace->python && !trace->python_problem && target->thread_count &&
        missing == target->thread_count)
        trace->python_problem = "this core has no stacks";
}

/*
 * A program that PyInstaller packed into one file is two processes: the bootloader unpacks and
 * waits for the other. It has these names in it (bootloader/src/pyi_main.c; the second up to
 * version 6).
 */
bool diagnose_is_bootloader(struct target *target)
{
    static const char *const marks[] = {"_PYI_APPLICATION_HOME_DIR", "_MEIPASS2"};
    for (size_t i = 0; i < target->file_count && target->process.executable; i++) {
        struct target_file *file = target->files[i];
        if (strcmp(file->path, target->process.executable) != 0)
            continue;
        target_file_open(target, file);
        size_t size = file->size < BOOTLOADER_SIZE ? file->size : BOOTLOADER_SIZE;
        for (size_t j = 0; file->image && j < PSC_ARRAY_SIZE(marks); j++)
            if (memmem(file->image, size, marks[j], strlen(marks[j])))
                return true;
        return false;
    }
    return false;
}

/* It dies of what its child died of: bootloader/src/pyi_utils_posix.c raises it. */
static void check_bootloader(struct target *target, struct psc_trace *trace)
{
    if (trace->python || trace->python_problem || !diagnose_is_bootloader(target))
        return;
    trace->python_problem = "PyInstaller's bootloader; the program runs in its child process";
    if (trace->crash && trace->crash->sender_pid == target->process.pid)
        target_warn(
            target, "bootloader",
            "this core is not of the program but of PyInstaller's bootloader, which repeats "
            "the signal that its child died of; the child's core has the stacks, and this "
            "one overwrites it unless kernel.core_pattern has %%p or kernel.core_uses_pid "
            "is 1");
}

void diagnose_emptiness(struct target *target, struct psc_trace *trace)
{
    if (target->kind == TARGET_CORE)
        check_stacks(target, trace);
    check_bootloader(target, trace);
}
