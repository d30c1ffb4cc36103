/* Notes of a core file: threads, signal, process, auxv, mapped files. */
#include "core_private.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* struct elf_prstatus of 64-bit machines (include/uapi/linux/elfcore.h). */
enum { PRSTATUS_CURSIG = 12, PRSTATUS_BLOCKED = 24, PRSTATUS_PID = 32, PRSTATUS_REGISTERS = 112 };

/* struct elf_prpsinfo of 64-bit machines. */
enum {
    PRPSINFO_SIZE = 136,
    PRPSINFO_PID = 24,
    PRPSINFO_PPID = 28,
    PRPSINFO_FNAME = 40,
    PRPSINFO_FNAME_SIZE = 16,
    PRPSINFO_PSARGS = 56,
    PRPSINFO_PSARGS_SIZE = 80
};

#define THREAD_LIMIT 1000000u
/* The owner of notes that the machine's own part of the kernel writes (fs/binfmt_elf.c). */
#define MACHINE_OWNER "LINUX"

static enum psc_status notes_add_thread(struct core_notes *notes, const uint8_t *bytes, size_t size)
{
    struct target *target = notes->target;
    if (size != target->machine->status_size) {
        notes->has_foreign = true;
        return PSC_OK;
    }
    if (target->thread_count >= THREAD_LIMIT)
        return PSC_OK;
    if (!array_reserve(&target->threads, &notes->thread_capacity, target->thread_count + 1,
                       sizeof(*target->threads)))
        return PSC_ERR_MEMORY;
    uint32_t tid = load_u32(bytes + PRSTATUS_PID);
    // Who writes cores without knowing ids leaves them 0.
    notes->thread_skipped = tid && hash_table_find(&notes->tids, tid);
    if (notes->thread_skipped) {
        target_warn(target, "core-threads-repeated",
                    "the core file has a thread more than once; the first one counts");
        return PSC_OK;
    }
    if (tid && !hash_table_add(&notes->tids, tid))
        return PSC_ERR_MEMORY;
    struct target_thread *thread = &target->threads[target->thread_count++];
    *thread = (struct target_thread){
        .tid = (int32_t)tid, .has_blocked = true, .blocked = load_u64(bytes + PRSTATUS_BLOCKED)};
    parse_user_registers(target->machine, bytes + PRSTATUS_REGISTERS, &thread->registers,
                         &thread->thread_pointer);
    if (target->thread_count == 1)
        notes->first_signal = (int16_t)load_u16(bytes + PRSTATUS_CURSIG);
    return PSC_OK;
}

/* Of the thread before. */
static enum psc_status notes_add_vectors(struct core_notes *notes, const uint8_t *bytes,
                                         size_t size)
{
    struct target *target = notes->target;
    struct target_thread *thread =
        target->thread_count ? &target->threads[target->thread_count - 1] : NULL;
    if (size != target->machine->vectors_size || !thread || thread->vectors ||
        notes->thread_skipped)
        return PSC_OK;
    uint8_t *copy = arena_alloc(target->arena, size);
    if (!copy)
        return PSC_ERR_MEMORY;
    memcpy(copy, bytes, size);
    thread->vectors = copy;
    return PSC_OK;
}

static void notes_add_siginfo(struct core_notes *notes, const uint8_t *bytes, size_t size)
{
    struct target_signal *signal = &notes->target->process.signal;
    // The kernel writes one, of the thread that died; gcore one a thread, the selected one's first.
    if (!signal->has_info)
        target_signal_take(signal, bytes, size);
}

/* Of the thread before. */
static void notes_add_of_machine(const struct core_notes *notes, const struct elf_note *note)
{
    struct target *target = notes->target;
    if (target->machine->take_note && target->thread_count && !notes->thread_skipped)
        target->machine->take_note(target, &target->threads[target->thread_count - 1], note->type,
                                   note->bytes.data, note->bytes.size);
}

/* The first note of a kind counts. */
static void keep(struct elf_bytes *kept, const struct elf_bytes *bytes)
{
    if (!kept->data)
        *kept = *bytes;
}

static void take_own(struct core_notes *notes, const struct elf_note *note)
{
    switch (note->type) {
    case CORE_NOTE_NAMES:
        notes->names = note->bytes;
        break;
    case CORE_NOTE_SLIM:
        keep(&notes->slim, &note->bytes);
        break;
    case CORE_NOTE_SEGMENTS:
        keep(&notes->slim_segments, &note->bytes);
        break;
    case CORE_NOTE_HOLES:
        keep(&notes->slim_holes, &note->bytes);
        break;
    case CORE_NOTE_FILES:
        keep(&notes->slim_files, &note->bytes);
        break;
    case CORE_NOTE_PARTS:
        keep(&notes->slim_parts, &note->bytes);
        break;
    case CORE_NOTE_PACKAGES:
        keep(&notes->slim_packages, &note->bytes);
        break;
    default:
        break;
    }
}

bool core_note_is_own(const struct elf_note *note)
{
    return note->name_size == sizeof(CORE_OWNER_OURS) &&
           !memcmp(note->name, CORE_OWNER_OURS, sizeof(CORE_OWNER_OURS));
}

enum psc_status core_notes_add(struct core_notes *notes, const struct elf_note *note)
{
    const struct elf_bytes *bytes = &note->bytes;
    if (core_note_is_own(note))
        take_own(notes, note);
    if (note->name_size >= strlen(MACHINE_OWNER) &&
        !memcmp(note->name, MACHINE_OWNER, strlen(MACHINE_OWNER)))
        notes_add_of_machine(notes, note);
    if (note->name_size < strlen(CORE_OWNER) ||
        memcmp(note->name, CORE_OWNER, strlen(CORE_OWNER)) != 0)
        return PSC_OK;
    switch (note->type) {
    case NT_PRSTATUS:
        return notes_add_thread(notes, bytes->data, bytes->size);
    case NT_PRFPREG:
        return notes_add_vectors(notes, bytes->data, bytes->size);
    case NT_PRPSINFO:
        if (bytes->size == PRPSINFO_SIZE)
            keep(&notes->process, bytes);
        return PSC_OK;
    case NT_SIGINFO:
        notes_add_siginfo(notes, bytes->data, bytes->size);
        return PSC_OK;
    case NT_AUXV:
        keep(&notes->auxv, bytes);
        return PSC_OK;
    case NT_FILE:
        keep(&notes->files, bytes);
        return PSC_OK;
    default:
        return PSC_OK;
    }
}

/* pr_psargs is argv joined by spaces, cut at 79 characters (fs/binfmt_elf.c fill_psinfo()). */
static void notes_split_psargs(struct target *target, const char *text, size_t size)
{
    struct target_process *process = &target->process;
    size_t length = strnlen(text, size);
    while (length && text[length - 1] == ' ')
        length--;
    const char **words = arena_array(target->arena, length / 2 + 1, sizeof(*words));
    size_t count = 0;
    for (size_t at = 0; words && at < length;) {
        size_t end = at;
        while (end < length && text[end] != ' ')
            end++;
        if (end > at)
            words[count++] = arena_strndup(target->arena, text + at, end - at);
        at = end + 1;
    }
    process->arguments = words;
    process->argument_count = words ? count : 0;
    process->arguments_cut = true;
}

static bool signal_is_from_debugger(const struct target_signal *signal)
{
    // gcore stops a running process: no pr_cursig, and SIGSTOP or SIGTRAP in the siginfo.
    return signal->number == SIGSTOP || signal->number == SIGTRAP || signal->number == SIGINT ||
           signal->number == SIGCONT;
}

/* They are in the order of the threads; some threads have none. */
static void take_names(struct core_notes *notes)
{
    struct target *target = notes->target;
    struct byte_cursor cursor = cursor_over(notes->names.data, notes->names.size);
    struct core_thread_name name;
    for (size_t thread = 0; parse_thread_name(&cursor, &name);) {
        while (thread < target->thread_count && target->threads[thread].tid != name.tid)
            thread++;
        if (thread == target->thread_count)
            return;
        target->threads[thread++].name = arena_strndup(target->arena, name.name, name.length);
    }
}

void core_notes_finish(struct core_notes *notes)
{
    struct target *target = notes->target;
    struct target_process *process = &target->process;
    const uint8_t *info = notes->process.data;
    if (notes->auxv.data)
        parse_auxv(notes->auxv.data, notes->auxv.size, &target->auxv);
    if (info) {
        // Of its own namespace: fs/binfmt_elf.c, fill_psinfo().
        process->pid = process->inner_pid = (int32_t)load_u32(info + PRPSINFO_PID);
        process->parent_pid = (int32_t)load_u32(info + PRPSINFO_PPID);
        const char *name = (const char *)info + PRPSINFO_FNAME;
        process->name = arena_strndup(target->arena, name, strnlen(name, PRPSINFO_FNAME_SIZE));
        notes_split_psargs(target, (const char *)info + PRPSINFO_PSARGS, PRPSINFO_PSARGS_SIZE);
    } else if (target->thread_count) {
        process->pid = target->threads[0].tid;
    }
    struct target_signal *signal = &process->signal;
    if (!signal->has_info)
        signal->number = notes->first_signal;
    else if (!notes->first_signal && signal_is_from_debugger(signal))
        *signal = (struct target_signal){0};
    if (signal->number && target->thread_count)
        target->threads[0].crashed = true;
    for (size_t i = 0; i < target->thread_count; i++)
        if (target->threads[i].tid == process->pid)
            target->threads[i].name = process->name;
    if (notes->names.data)
        take_names(notes);
}

/* ---- NT_FILE ---- */

static int compare_ranges(const void *left, const void *right)
{
    const struct core_file_range *a = left, *b = right;
    return COMPARE(a->start, b->start);
}

/* fs/binfmt_elf.c fill_files_note(): count, page size, count * {start, end, offset in pages},
   then count strings. When the kernel runs out of room the note is absent, not cut. */
enum { FILES_HEAD = 16, FILES_ENTRY = 24 };

enum psc_status parse_core_files(const struct elf_bytes *note, struct core_file_range **ret,
                                 size_t *ret_count)
{
    *ret = NULL;
    *ret_count = 0;
    if (note->size < FILES_HEAD)
        return PSC_OK;
    uint64_t count = load_u64(note->data), page_size = load_u64(note->data + 8);
    uint64_t room = (note->size - FILES_HEAD) / FILES_ENTRY;
    if (count > room)
        count = room;
    struct core_file_range *ranges = count ? calloc(count, sizeof(*ranges)) : NULL;
    if (!ranges)
        return count ? PSC_ERR_MEMORY : PSC_OK;
    struct byte_cursor entries = cursor_over(note->data, note->size);
    struct byte_cursor paths = entries;
    cursor_take(&entries, FILES_HEAD);
    cursor_take(&paths, FILES_HEAD + FILES_ENTRY * count);
    size_t used = 0;
    for (uint64_t i = 0; i < count; i++) {
        struct core_file_range range = {cursor_u64(&entries), 0, 0, NULL, NULL};
        range.end = cursor_u64(&entries);
        range.offset = cursor_u64(&entries) * page_size;
        range.path = cursor_string(&paths);
        if (!range.path)
            break;
        if (range.start < range.end && *range.path)
            ranges[used++] = range;
    }
    *ret = ranges;
    *ret_count = used;
    return PSC_OK;
}

enum psc_status core_notes_list_files(const struct core_notes *notes, struct core_file_range **ret,
                                      size_t *ret_count)
{
    struct core_file_range *ranges;
    enum psc_status status = parse_core_files(&notes->files, &ranges, ret_count);
    *ret = ranges;
    if (status != PSC_OK || !*ret_count)
        return status;
    struct file_names names;
    file_names_init(&names);
    for (size_t i = 0; status == PSC_OK && i < *ret_count; i++)
        status = file_names_find(&names, notes->target, ranges[i].path, &ranges[i].file);
    file_names_deinit(&names);
    qsort(ranges, *ret_count, sizeof(*ranges), compare_ranges);
    return status;
}
