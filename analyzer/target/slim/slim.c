/* What is read for debuggers, and the writing of a small core. */
#include "slim_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Of each stack, from its stack pointer on, whatever was read of it. */
#define STACK_BYTES ((size_t)16 * 1024)
/* The block of a thread (struct pthread of glibc and musl), at its thread pointer. */
#define THREAD_BYTES ((size_t)2560)
/* Data of one module, and of all. */
#define DATA_LIMIT_ONE ((psc_addr)64 * 1024)
#define DATA_LIMIT_ALL ((psc_addr)2 * 1024 * 1024)
#define THREAD_LIMIT   ((size_t)2048) /* Whose stacks are kept beyond what was read. */

/* ---- what debuggers need ---- */

static void touch(struct target *target, psc_addr start, psc_addr end)
{
    uint8_t page[4096];
    for (psc_addr at = start; at < end;) {
        size_t size = sizeof(page) - (size_t)(at % sizeof(page));
        if (size > end - at)
            size = (size_t)(end - at);
        (void)target_read_some(target, at, page, size);
        at += size;
    }
}

static void touch_threads(struct target *target)
{
    for (size_t i = 0; i < target->thread_count && i < THREAD_LIMIT; i++) {
        const struct target_thread *thread = &target->threads[i];
        psc_addr sp = target_sp(target, &thread->registers),
                 pc = target_pc(target, &thread->registers);
        psc_addr end = target_find_stack_end(target, sp, thread->thread_pointer);
        if (thread->thread_pointer)
            touch(target, thread->thread_pointer, thread->thread_pointer + THREAD_BYTES);
        touch(target, pc & ~(psc_addr)63, (pc | 63) + 1);
        if (target_leaves_text(target) || !target_find_mapping(target, sp))
            continue;
        touch(target, sp, end - sp < STACK_BYTES ? end : sp + STACK_BYTES);
    }
}

static bool is_dumped(struct target *target, psc_addr page)
{
    struct core_page copy;
    core_copy_page(target, page, &copy);
    return copy.some;
}

/* What debuggers know of threads and libraries stands in their data, and no text of the program. */
static bool is_of_loader(const struct target_file *file)
{
    static const char *const names[] = {"/ld-", "/libc.", "/libc-", "/libpthread"};
    const char *slash = strrchr(file->path, '/');
    for (size_t i = 0; slash && i < PSC_ARRAY_SIZE(names); i++)
        if (!strncmp(slash, names[i], strlen(names[i])))
            return true;
    return false;
}

static void touch_modules(struct target *target)
{
    psc_addr left = DATA_LIMIT_ALL;
    for (size_t i = 0; i < target->mapping_count; i++) {
        const struct target_mapping *mapping = &target->mappings[i];
        psc_addr size = mapping->end - mapping->start;
        if (!mapping->file)
            continue;
        if (!mapping->offset)
            touch(target, mapping->start, mapping->start + CORE_PAGE);
        // Also what was relocated, and protected since; what the file has is no part of the core.
        if (mapping->executable || size > DATA_LIMIT_ONE || size > left ||
            (!mapping->writable && !is_dumped(target, mapping->start)) ||
            (mapping->writable && target_leaves_text(target) && !is_of_loader(mapping->file)))
            continue;
        left -= size;
        touch(target, mapping->start, mapping->end);
    }
}

static void read_for_debuggers(struct target *target)
{
    const struct target_mapping *vdso = target_find_mapping(target, target->auxv.vdso);
    save_read_libraries(target, true);
    if (vdso && !vdso->file && vdso->end - vdso->start <= DATA_LIMIT_ONE)
        touch(target, vdso->start, vdso->end);
    touch_threads(target);
    touch_modules(target);
}

/*
 * The arguments and the environment that the process began with, one behind the other, lie below
 * the name of the program (fs/exec.c, bprm_execve()); whatever else was read there by the way.
 */
static void forget_environment(struct target *target)
{
    const struct target_process *process = &target->process;
    psc_addr array = process->environment, first = 0;
    if (!array || target->auxv.execfn < array)
        return;
    target->reads->paused++;
    if (!process->arguments_cut)
        array -= 8 * (psc_addr)(process->argument_count + 1);
    if (target_read_pointer(target, array, &first) == PSC_OK && first > array &&
        first < target->auxv.execfn)
        reads_remove(target->reads, first, target->auxv.execfn - first);
    target->reads->paused--;
}

/* ---- writing ---- */

struct holes {
    struct text note;
    psc_addr start; /* Of the one that is open; 0: none. */
};

static void end_hole(struct holes *holes, psc_addr end)
{
    const uint64_t hole[2] = {holes->start, end};
    if (holes->start)
        text_add(&holes->note, (const char *)hole, sizeof(hole));
    holes->start = 0;
}

/* Of text that is left out, what was not read stands beside what was. */
static void put_page(struct target *target, const struct reads_page *page, struct core_file *file,
                     struct holes *holes)
{
    struct core_page copy;
    const bool exact = target_leaves_text(target);
    core_copy_page(target, page->address, &copy);
    if (!copy.some)
        return;
    bool some = false;
    for (size_t i = 0; i < sizeof(copy.bytes); i++) {
        bool kept = (copy.valid[i / 64] >> (i % 64) & 1) && (!exact || reads_has_byte(page, i));
        some |= kept;
        if (!kept)
            copy.bytes[i] = 0;
        if (!kept && !holes->start)
            holes->start = page->address + i;
        else if (kept && holes->start)
            end_hole(holes, page->address + i);
    }
    end_hole(holes, page->address + sizeof(copy.bytes));
    if (some)
        core_file_add(file, page->address, copy.bytes, sizeof(copy.bytes));
}

static void put_pages(struct target *target, struct core_file *file, struct text *notes)
{
    size_t count = 0;
    struct holes holes = {0};
    struct reads_page **pages PSC_CLEANUP(cleanup_free) = reads_list(target->reads, &count);
    if (!pages && target->reads->pages.count)
        file->error = ENOMEM;
    target->reads->paused++;
    for (size_t i = 0; pages && i < count; i++)
        put_page(target, pages[i], file, &holes);
    target->reads->paused--;
    notes->failed |= holes.note.failed;
    if (holes.note.size && !holes.note.failed)
        core_put_note(notes, CORE_OWNER_OURS, CORE_NOTE_HOLES, holes.note.data, holes.note.size);
    text_deinit(&holes.note);
}

static void put_head(struct target *target, struct text *notes)
{
    struct text note = {0};
    const struct core_slim_head head = {
        .version = 1,
        .flags = core_get_slim_flags(target) |
                 (target_leaves_text(target) ? CORE_SLIM_REDACTED : 0) |
                 (target->reads->is_cut ? CORE_SLIM_CUT : 0),
        .size = core_get_size(target),
    };
    text_add(&note, (const char *)&head, sizeof(head));
    text_add_string(&note, "made smaller by pystack-core: what its report reads, and no more");
    if (head.flags & CORE_SLIM_REDACTED)
        text_add_string(&note, "; text of values and the environment were left out");
    text_add(&note, "", 1);
    notes->failed |= note.failed;
    if (!note.failed)
        core_put_note(notes, CORE_OWNER_OURS, CORE_NOTE_SLIM, note.data, note.size);
    text_deinit(&note);
}

static void put_packages(const struct target *target, struct text *notes)
{
    struct text note = {0};
    for (size_t i = 0; i < target->packages.count; i++) {
        const struct target_package *package = hash_table_at(&target->packages, i);
        text_add(&note, package->path, strlen(package->path) + 1);
        text_add(&note, package->name, strlen(package->name) + 1);
        text_add(&note, package->version, strlen(package->version) + 1);
    }
    notes->failed |= note.failed;
    if (note.size && !note.failed)
        core_put_note(notes, CORE_OWNER_OURS, CORE_NOTE_PACKAGES, note.data, note.size);
    text_deinit(&note);
}

enum psc_status slim_write(struct target *target, const struct slim_request *request, bool *ret_cut,
                           struct psc_error *err)
{
    if (target->kind != TARGET_CORE || !target->reads)
        return psc_fail(err, PSC_ERR_ARGUMENT,
                        "a small core is made of a core file that was opened for that");
    struct text notes = {0};
    struct core_file file = {0};
    core_file_begin(&file, target->machine, request->fd);
    read_for_debuggers(target);
    if (target_leaves_text(target))
        forget_environment(target);
    if (request->memory_is_read)
        request->memory_is_read(request->context);
    core_copy_notes(target, &notes);
    put_head(target, &notes);
    put_packages(target, &notes);
    put_pages(target, &file, &notes);
    if (request->with_files)
        slim_put_files(target, &file, &notes);
    core_file_finish(&file, target->mappings, target->mapping_count, &notes);
    text_deinit(&notes);
    int error = file.error;
    core_file_deinit(&file);
    *ret_cut = target->reads->is_cut;
    if (error == ENOMEM)
        return psc_fail_memory(err);
    return error ? psc_fail(err, PSC_ERR_IO, "the small core cannot be written: %s",
                            describe_errno(error, &(struct errno_text){0}))
                 : PSC_OK;
}
