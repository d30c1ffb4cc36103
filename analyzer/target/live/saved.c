/* A snapshot of a living process as a core file. */
#include "live_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Of the writable data of modules: one mapping, and all of them. */
#define DATA_LIMIT_ONE ((psc_addr)16 * 1024 * 1024)
#define DATA_LIMIT_ALL ((psc_addr)64 * 1024 * 1024)
/* Data that is constant since the program was linked, read when the process goes on. */
#define CONSTANT_LIMIT_ONE ((psc_addr)64 * 1024 * 1024)
/* argv, environment and auxv, at the end of the first stack. */
#define STACK_END_LIMIT ((psc_addr)256 * 1024)
/* Parts into which one file is mapped. */
#define FILE_PART_LIMIT ((size_t)16)

/* ---- what is taken while the target stands still ---- */

static bool add_range(struct live_save *save, psc_addr start, psc_addr end)
{
    void *ranges = save->ranges;
    if (start >= end)
        return true;
    if (!array_reserve(&ranges, &save->range_capacity, save->range_count + 1,
                       sizeof(*save->ranges)))
        return false;
    save->ranges = ranges;
    save->ranges[save->range_count++] = (struct live_range){start, end};
    return true;
}

static int compare_pages(const void *left, const void *right)
{
    const struct live_page *a = left, *b = right;
    return COMPARE(a->address, b->address);
}

/* The pages that were read, in order; malloc'd. */
static struct live_page *list_pages(const struct live_pages *pages, size_t *ret_count)
{
    size_t count = pages->table.count;
    struct live_page *list = calloc(count + 1, sizeof(*list));
    for (size_t i = 0; list && i < count; i++)
        list[i] = *pages_at(pages, i);
    if (list)
        qsort(list, count, sizeof(*list), compare_pages);
    *ret_count = list ? count : 0;
    return list;
}

/* Whatever was needed to find the interpreter is needed again in the core. */
static bool add_pages_read_before(struct live *live)
{
    size_t count;
    struct live_page *list PSC_CLEANUP(cleanup_free) = list_pages(&live->pages, &count);
    if (!list)
        return false;
    for (size_t i = 0; i < count;) {
        size_t next = i + 1;
        while (next < count && list[next].address == list[next - 1].address + LIVE_PAGE)
            next++;
        if (!add_range(&live->save, list[i].address, list[next - 1].address + LIVE_PAGE))
            return false;
        i = next;
    }
    return true;
}

/* True for a part of a file of which another part beside it is code. */
static bool is_of_module(const struct target *target, size_t index)
{
    const struct target_mapping *mapping = &target->mappings[index];
    if (!mapping->file)
        return false;
    size_t first = index > FILE_PART_LIMIT ? index - FILE_PART_LIMIT : 0;
    for (size_t i = first; i < target->mapping_count && i <= index + FILE_PART_LIMIT; i++)
        if (target->mappings[i].file == mapping->file && target->mappings[i].executable)
            return true;
    return false;
}

/* The writable data of modules, with the zero-initialised part behind it. */
static bool add_data(struct target *target)
{
    struct live_save *save = &live_of(target)->save;
    psc_addr left = DATA_LIMIT_ALL;
    for (size_t i = 0; i < target->mapping_count; i++) {
        const struct target_mapping *mapping = &target->mappings[i], *next = mapping + 1;
        if (!mapping->writable || !is_of_module(target, i))
            continue;
        psc_addr end = mapping->end;
        if (i + 1 < target->mapping_count && next->start == end && !next->file && next->writable)
            end = next->end;
        if (end - mapping->start > DATA_LIMIT_ONE)
            end = mapping->start + DATA_LIMIT_ONE;
        if (end - mapping->start > left)
            continue;
        left -= end - mapping->start;
        if (!add_range(save, mapping->start, end))
            return false;
    }
    return true;
}

static bool add_stack_end(struct target *target)
{
    struct live_save *save = &live_of(target)->save;
    const struct target_mapping *mapping = target_find_mapping(target, target->auxv.execfn);
    if (!target->auxv.execfn || !mapping)
        return true;
    psc_addr start = mapping->start;
    if (mapping->end - start > STACK_END_LIMIT)
        start = mapping->end - STACK_END_LIMIT;
    return add_range(save, start, mapping->end);
}

bool save_prepare(struct target *target)
{
    struct live *live = live_of(target);
    struct live_save *save = &live->save;
    save->range_count = 0;
    core_file_begin(&save->file, target->machine, save->output.fd);
    return add_pages_read_before(live) && add_data(target) && add_stack_end(target) &&
           (!save->full || dump_prepare(target));
}

/* ---- what is constant: read when the target goes on ---- */

static void keep_range(struct live_pages *pages, psc_addr start, psc_addr end)
{
    for (psc_addr page = start & ~(LIVE_PAGE - 1); page < end; page += LIVE_PAGE)
        if (!pages_find(pages, page) && !pages_read(pages, page))
            return;
}

/*
 * The first page of each module, by which its file is recognised; what was relocated and is
 * protected since; the vdso.
 */
static void keep_constants(struct target *target)
{
    struct live_pages *pages = &live_of(target)->pages;
    const struct target_mapping *vdso = target_find_mapping(target, target->auxv.vdso);
    if (vdso)
        keep_range(pages, vdso->start, vdso->end);
    for (size_t i = 0; i < target->mapping_count; i++) {
        const struct target_mapping *mapping = &target->mappings[i];
        if (!mapping->readable || !is_of_module(target, i))
            continue;
        if (!mapping->offset)
            keep_range(pages, mapping->start, mapping->start + LIVE_PAGE);
        if (mapping->writable || mapping->end - mapping->start > CONSTANT_LIMIT_ONE)
            continue;
        // What no file will tell any more, so that it can be unwound at least.
        target_file_open(target, mapping->file);
        bool gone = mapping->file->deleted || !mapping->file->image;
        if (gone || !target_file_offset_is_constant(mapping->file, mapping->offset))
            keep_range(pages, mapping->start, mapping->end);
    }
}

/* ---- writing ---- */

/* A stack, by the page without rights below it, on which no thread stands: what ended has left it.
 */
static bool is_left_stack(const struct target *target, psc_addr address)
{
    const struct target_mapping *mapping = target_find_mapping(target, address);
    if (!mapping || mapping == target->mappings || !mapping->writable || mapping->file)
        return false;
    for (size_t i = 0; i < target->thread_count; i++)
        if (target_find_mapping(target, target_sp(target, &target->threads[i].registers)) ==
            mapping)
            return false;
    const struct target_mapping *below = mapping - 1;
    return below->end == mapping->start && !below->readable && !below->writable &&
           !below->executable;
}

/*
 * All pages that were read, but those of left stacks that were read when the process went on again:
 * beside what stood there before, glibc's list of threads, which goes through them, would lead
 * round in a circle.
 */
static struct live_page *list_saved_pages(const struct target *target, const struct live *live,
                                          size_t *ret_count)
{
    size_t count = live->pages.table.count;
    size_t kept = 0;
    struct live_page *list = calloc(count + 1, sizeof(*list));
    for (size_t i = 0; list && i < count; i++) {
        const struct live_page *page = pages_at(&live->pages, i);
        if (i < live->save.held_pages || !is_left_stack(target, page->address))
            list[kept++] = *page;
    }
    if (list)
        qsort(list, kept, sizeof(*list), compare_pages);
    *ret_count = list ? kept : 0;
    return list;
}

static void add_pages(struct target *target)
{
    size_t count;
    struct live_page *list PSC_CLEANUP(cleanup_free) =
        list_saved_pages(target, live_of(target), &count);
    struct core_file *file = &live_of(target)->save.file;
    if (!list && !file->error)
        file->error = ENOMEM;
    const size_t copied = file->count;
    for (size_t i = 0; list && i < count;) {
        size_t next = i + 1;
        while (next < count && list[next].address == list[next - 1].address + LIVE_PAGE &&
               list[next].bytes == list[next - 1].bytes + LIVE_PAGE &&
               !core_file_holds(file, copied, list[next].address))
            next++;
        if (!core_file_holds(file, copied, list[i].address))
            core_file_add(file, list[i].address, list[i].bytes, (next - i) * LIVE_PAGE);
        i = next;
    }
}

static void put_threads(struct target *target, struct text *notes)
{
    const struct live *live = live_of(target);
    const struct live_stop *stop = &live->stop;
    for (size_t i = 0; i < target->thread_count; i++) {
        const struct live_thread *thread = stop_find(stop, target->threads[i].tid);
        if (!thread)
            continue;
        core_put_status(notes, &live->save.identity, thread->tid, thread->registers,
                        thread->fp_size > 0);
        if (!i) {
            core_put_process(notes, &live->save.identity);
            core_put_note(notes, CORE_OWNER, NT_AUXV, live->save.auxv.bytes, live->save.auxv.size);
            core_put_files(notes, target->mappings, target->mapping_count);
            core_put_names(notes, target->threads, target->thread_count);
        }
        const char *more = stop->more.data;
        if (thread->fp_size)
            core_put_note(notes, CORE_OWNER, NT_FPREGSET, more + thread->more_at, thread->fp_size);
        if (thread->extended_size)
            core_put_note(notes, CORE_OWNER_LINUX, target->machine->extended_note,
                          more + thread->more_at + thread->fp_size, thread->extended_size);
    }
}

static enum psc_status fail_to_write(const struct live_save *save, int error, struct psc_error *err)
{
    return psc_fail(err, error == ENOMEM ? PSC_ERR_MEMORY : PSC_ERR_IO,
                    "%s: the core file cannot be written: %s", save->path,
                    describe_errno(error, &(struct errno_text){0}));
}

enum psc_status live_save_core(struct target *target, struct psc_error *err)
{
    struct live_save *save = &live_of(target)->save;
    struct text notes = {0};
    if (!save->taken)
        return psc_fail(err, PSC_ERR_NOT_FOUND, "the process was not looked at for a core file");
    keep_constants(target);
    add_pages(target);
    put_threads(target, &notes);
    for (size_t i = 0; i < target->mapping_count; i++)
        target->mappings[i].served = dump_is_served(&save->dump, target->mappings[i].start);
    core_file_finish(&save->file, target->mappings, target->mapping_count, &notes);
    text_deinit(&notes);
    if (save->file.error)
        return fail_to_write(save, save->file.error, err);
    return PSC_OK;
}

enum psc_status live_place_core(struct target *target, struct psc_error *err)
{
    struct live_save *save = &live_of(target)->save;
    if (!save->wanted)
        return PSC_OK;
    int error = new_file_keep(&save->output);
    enum psc_status status = error ? fail_to_write(save, error, err) : PSC_OK;
    live_drop_core(target);
    return status;
}

/* ---- what live.h declares ---- */

static enum psc_status fail_to_open(const char *path, int error, struct psc_error *err)
{
    if (error == EISDIR || error == EINVAL)
        return psc_fail(err, PSC_ERR_IO, "%s: is %s; name a file to write the core to", path,
                        error == EISDIR ? "a directory" : "not a regular file");
    return psc_fail(err, error == ENOMEM ? PSC_ERR_MEMORY : PSC_ERR_IO, "%s: cannot be written: %s",
                    path, describe_errno(error, &(struct errno_text){0}));
}

enum psc_status live_keep_core(struct target *target, const char *path, bool full,
                               struct psc_error *err)
{
    struct live *live = live_of(target);
    struct live_save *save = &live->save;
    live_drop_core(target);
    save->path = arena_strdup(target->arena, path);
    if (!save->path)
        return psc_fail_memory(err);
    int error = new_file_open(&save->output, path, NEW_FILE_PRIVATE);
    if (error)
        return fail_to_open(path, error, err);
    save->wanted = true;
    save->full = full;
    live->stop.all_registers = true;
    live_read_identity(target, &save->identity);
    (void)live_read_path(live->folder, "auxv", &save->auxv);
    return PSC_OK;
}

void live_drop_core(struct target *target)
{
    struct live *live = live_of(target);
    struct live_save *save = &live->save;
    if (!save->wanted)
        return;
    new_file_drop(&save->output);
    core_file_deinit(&save->file);
    dump_deinit(&save->dump);
    free(save->ranges);
    free(save->auxv.bytes);
    live->stop.all_registers = false;
    *save = (struct live_save){.output.fd = -1};
}
