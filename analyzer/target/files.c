/* Files that the target had mapped: where they are on this machine, and whether they are the same.
 */
#include "target_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define DELETED_SUFFIX   " (deleted)"
#define ELF_HEADER_BYTES 4096 /* Of an image: ELF header, program headers, the build-id note. */
#define NOTES_BYTES      1024 /* Of a note segment; build-ids come early. */
/* Mappings whose files are looked for, where there are more files than that. */
#define NAMED_FILE_LIMIT 65536

_Static_assert(TARGET_BUILD_ID_MAX == ELF_BUILD_ID_LIMIT, "what is parsed has room");

static void set_build_id(const struct elf_bytes *bytes, struct target_build_id *ret)
{
    memcpy(ret->bytes, bytes->data, bytes->size);
    ret->size = bytes->size;
}

void target_parse_build_id(const uint8_t *image, size_t size, struct target_build_id *ret)
{
    struct elf_bytes found;
    ret->size = 0;
    if (parse_build_id(image, size, &found))
        set_build_id(&found, ret);
}

bool target_file_is_whole(const struct target_file *file)
{
    size_t index = 0;
    struct elf_segment segment;
    while (file->image && elf_next_segment(file->image, file->size, PT_LOAD, &index, &segment))
        if (segment.file_size > file->size || segment.offset > file->size - segment.file_size)
            return false;
    return file->image;
}

struct target_file *target_add_file(struct target *target, const char *path)
{
    if (!array_reserve(&target->files, &target->file_capacity, target->file_count + 1,
                       sizeof(*target->files)))
        return NULL;
    struct target_file *file = arena_alloc(target->arena, sizeof(*file));
    size_t length = strlen(path), suffix = strlen(DELETED_SUFFIX);
    if (!file)
        return NULL;
    if (length > suffix && !strcmp(path + length - suffix, DELETED_SUFFIX)) {
        file->deleted = true;
        length -= suffix;
    }
    file->path = arena_strndup(target->arena, path, length);
    if (!file->path)
        return NULL;
    target->files[target->file_count++] = file;
    return file;
}

static void unmap_file(const struct target_file *file)
{
    if (file->kept)
        return;
    if (file->image)
        munmap((void *)(uintptr_t)file->image, file->size);
    if (file->spare)
        munmap(file->spare, file->size);
}

void target_files_close(struct target *target)
{
    for (size_t i = 0; i < target->file_count; i++)
        unmap_file(target->files[i]);
}

/* ---- the mappings of a file ---- */

/* A process may have as many files as mappings: to go through all of these for each would not end.
 */
static void chain_mappings(struct target *target)
{
    if (target->chained_count == target->mapping_count)
        return;
    uint32_t *chain = target->mapping_count < UINT32_MAX
                          ? realloc(target->chain, target->mapping_count * sizeof(*chain))
                          : NULL;
    target->chained_count = 0;
    if (!chain)
        return;
    target->chain = chain;
    target->chained_count = target->mapping_count;
    for (size_t i = 0; i < target->file_count; i++)
        target->files[i]->first_mapping = 0;
    for (size_t i = target->mapping_count; i--;) {
        struct target_file *file = target->mappings[i].file;
        chain[i] = file ? file->first_mapping : 0;
        if (file)
            file->first_mapping = (uint32_t)(i + 1);
    }
}

/* The next mapping of a file behind one of it, or its first behind NULL; NULL: there is none. */
static const struct target_mapping *next_mapping(struct target *target,
                                                 const struct target_file *file,
                                                 const struct target_mapping *mapping)
{
    chain_mappings(target);
    if (target->chained_count) {
        uint32_t next = mapping ? target->chain[mapping - target->mappings] : file->first_mapping;
        return next ? &target->mappings[next - 1] : NULL;
    }
    // Without memory for the chain.
    size_t i = mapping ? (size_t)(mapping - target->mappings) + 1 : 0;
    while (i < target->mapping_count && target->mappings[i].file != file)
        i++;
    return i < target->mapping_count ? &target->mappings[i] : NULL;
}

/* What the target's own memory says of a file: its first page, if that was dumped. */
struct memory_view {
    uint8_t bytes[ELF_HEADER_BYTES];
    size_t size;
};

static void file_read_memory(struct target *target, const struct target_file *file,
                             struct memory_view *ret)
{
    ret->size = 0;
    const struct target_mapping *mapping = NULL;
    while ((mapping = next_mapping(target, file, mapping))) {
        if (mapping->offset != 0)
            continue;
        size_t want = sizeof(ret->bytes);
        if (mapping->end - mapping->start < want)
            want = (size_t)(mapping->end - mapping->start);
        ret->size = target_read_some(target, mapping->start, ret->bytes, want);
        if (ret->size)
            return;
    }
}

/* patchelf, which repairs the wheels of PyPI, moves the notes to the end of the file. */
static void file_read_notes(struct target *target, const struct target_file *file,
                            const struct memory_view *memory, struct target_build_id *ret)
{
    size_t index = 0;
    struct elf_segment segment;
    struct elf_bytes found;
    while (elf_next_segment(memory->bytes, memory->size, PT_NOTE, &index, &segment)) {
        uint8_t notes[NOTES_BYTES];
        const struct target_mapping *mapping = NULL;
        while ((mapping = next_mapping(target, file, mapping))) {
            uint64_t inside = segment.offset - mapping->offset;
            if (segment.offset < mapping->offset || inside >= mapping->end - mapping->start)
                continue;
            uint64_t want = mapping->end - mapping->start - inside;
            if (want > segment.file_size)
                want = segment.file_size;
            if (want > sizeof(notes))
                want = sizeof(notes);
            size_t got = target_read_some(target, mapping->start + inside, notes, (size_t)want);
            if (parse_build_id_note(notes, got, segment.alignment, &found)) {
                set_build_id(&found, ret);
                return;
            }
        }
    }
}

/* Where the build-id is on neither side, or was not dumped, equal program headers are the proof. */
static bool headers_are_equal(const struct memory_view *memory, const uint8_t *image, size_t size)
{
    struct elf_header header;
    if (!parse_elf_header(memory->bytes, memory->size, &header))
        return false;
    uint64_t end = header.segments_offset + header.segment_count * ELF_SEGMENT_SIZE;
    return header.segments_offset < memory->size && end <= memory->size && end <= size &&
           !memcmp(memory->bytes, image, end);
}

static enum target_file_state file_compare(const struct memory_view *memory,
                                           const struct target_build_id *wanted,
                                           const uint8_t *image, size_t size)
{
    struct target_build_id found;
    target_parse_build_id(image, size, &found);
    if (wanted->size)
        return wanted->size == found.size && !memcmp(wanted->bytes, found.bytes, found.size)
                   ? TARGET_FILE_FOUND
                   : TARGET_FILE_MISMATCH;
    if (!memory->size)
        return TARGET_FILE_UNVERIFIED;
    if (!elf_is_elf(memory->bytes, memory->size))
        return TARGET_FILE_MISMATCH;
    return headers_are_equal(memory, image, size) ? TARGET_FILE_FOUND : TARGET_FILE_MISMATCH;
}

/* True when the candidate is taken; a mismatch is remembered in file->state. */
static bool file_try(const struct target *target, struct target_file *file,
                     const struct memory_view *memory, const char *path)
{
    int fd = target_open_module(target, path);
    if (fd < 0)
        return false;
    struct stat status;
    const uint8_t *image = MAP_FAILED;
    uint8_t *spare = MAP_FAILED;
    if (!fstat(fd, &status) && status.st_size > 0)
        image = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (image != MAP_FAILED && !target_maps_modules(target))
        spare = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_NORESERVE, fd, 0);
    close(fd);
    if (image == MAP_FAILED)
        return false;
    size_t size = (size_t)status.st_size;
    enum target_file_state state = TARGET_FILE_MISSING;
    if (elf_is_elf(image, size))
        state = file_compare(memory, &file->build_id, image, size);
    // A deleted file's name may belong to anything by now.
    if (state == TARGET_FILE_UNVERIFIED && file->deleted)
        state = TARGET_FILE_MISMATCH;
    if (state == TARGET_FILE_FOUND || state == TARGET_FILE_UNVERIFIED) {
        file->image = image;
        file->spare = spare == MAP_FAILED ? NULL : spare;
        file->size = size;
        file->state = state;
        return true;
    }
    if (state == TARGET_FILE_MISMATCH)
        file->state = TARGET_FILE_MISMATCH;
    munmap((void *)(uintptr_t)image, size);
    if (spare != MAP_FAILED)
        munmap(spare, size);
    return false;
}

static bool file_try_printf(struct target *target, struct target_file *file,
                            const struct memory_view *memory, const char *format, ...)
    PSC_PRINTF(4, 5);

static bool file_try_printf(struct target *target, struct target_file *file,
                            const struct memory_view *memory, const char *format, ...)
{
    char buffer[4096];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(buffer, sizeof(buffer), format, args);
    va_end(args);
    if (length < 0 || (size_t)length >= sizeof(buffer) || !file_try(target, file, memory, buffer))
        return false;
    file->local_path = arena_strdup(target->arena, buffer);
    return true;
}

static bool file_try_library_directory(struct target *target, struct target_file *file,
                                       const struct memory_view *memory, const char *directory)
{
    if (file_try_printf(target, file, memory, "%s/%s", directory, file->path) ||
        file_try_printf(target, file, memory, "%s/%s", directory, file_base_name(file->path)))
        return true;
    if (file->build_id.size < 2)
        return false;
    char hex[TARGET_BUILD_ID_TEXT];
    target_build_id_text(&file->build_id, hex);
    return file_try_printf(target, file, memory, "%s/.build-id/%.2s/%s", directory, hex, hex + 2);
}

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

struct wanted_names {
    const char **items; /* Sorted. */
    size_t count;
};

static bool is_wanted_name(void *context, const char *name)
{
    const struct wanted_names *names = context;
    return bsearch(&name, names->items, names->count, sizeof(*names->items), compare_names) != NULL;
}

static struct file_index *index_libraries(struct target *target)
{
    struct file_index *index = calloc(1, sizeof(*index));
    const char **items PSC_CLEANUP(cleanup_free) = calloc(target->file_count, sizeof(*items));
    struct wanted_names names = {items, items ? target->file_count : 0};
    const struct file_index_request request = {
        .arena = target->arena, .wants = is_wanted_name, .context = &names};
    for (size_t i = 0; i < names.count; i++)
        items[i] = file_base_name(target->files[i]->path);
    if (names.count)
        qsort(items, names.count, sizeof(*items), compare_names);
    enum psc_status status = index && names.count ? PSC_OK : PSC_ERR_MEMORY;
    for (size_t i = 0; status == PSC_OK && i < target->options.library_directory_count; i++)
        status = file_index_add(index, &request, target->options.library_directories[i]);
    // Without memory what was found serves.
    if (index)
        file_index_sort(index);
    return index;
}

/* Anywhere below the directories that the user names: a tree that was copied keeps its shape. */
static bool file_try_below_directories(struct target *target, struct target_file *file,
                                       const struct memory_view *memory)
{
    const char *base = file_base_name(file->path);
    if (!target->options.library_directory_count)
        return false;
    if (!target->libraries)
        target->libraries = index_libraries(target);
    const struct file_index *index = target->libraries;
    for (size_t i = index ? file_index_find(index, base) : 0;
         index && i < index->count && !strcmp(file_base_name(index->items[i].path), base); i++)
        if (file_try_printf(target, file, memory, "%s", index->items[i].path))
            return true;
    return false;
}

bool target_file_is_program(const struct target *target, const struct target_file *file)
{
    return target->process.executable && !strcmp(target->process.executable, file->path);
}

/* Where the target's own system has it, whatever has become of its name. */
static bool file_try_paths(struct target *target, struct target_file *file,
                           const struct memory_view *memory)
{
    char path[4096];
    for (size_t i = 0;
         target->ops->file_path && target->ops->file_path(target, file, i, path, sizeof(path)); i++)
        if (file_try_printf(target, file, memory, "%s", path))
            return true;
    return false;
}

void target_file_open(struct target *target, struct target_file *file)
{
    if (file->state != TARGET_FILE_UNTRIED)
        return;
    // Set first: reading the memory below must not come back here for the same file.
    file->state = TARGET_FILE_MISSING;
    // To ask for one costs what opening it does, and more where another process opens it.
    if (target->file_count > NAMED_FILE_LIMIT && file->first_mapping > NAMED_FILE_LIMIT) {
        target_warn(target, "files", "more than %d files are mapped: the others are not looked for",
                    NAMED_FILE_LIMIT);
        return;
    }
    struct memory_view memory;
    file_read_memory(target, file, &memory);
    if (memory.size)
        target_parse_build_id(memory.bytes, memory.size, &file->build_id);
    if (memory.size && !file->build_id.size)
        file_read_notes(target, file, &memory, &file->build_id);
    if (memory.size && !elf_is_elf(memory.bytes, memory.size))
        return;
    const struct target_options *options = &target->options;
    bool taken = false;
    if (options->kept && file->build_id.size && options->find_kept(options->kept, file))
        return;
    if (target->executable_here && target_file_is_program(target, file))
        taken = file_try_printf(target, file, &memory, "%s", target->executable_here);
    const char *given = !taken && options->find_file
                            ? options->find_file(options->find_file_context, file->path)
                            : NULL;
    if (given)
        taken = file_try_printf(target, file, &memory, "%s", given);
    if (!taken && options->sysroot)
        taken = file_try_printf(target, file, &memory, "%s/%s", options->sysroot, file->path);
    for (size_t i = 0; !taken && i < options->library_directory_count; i++)
        taken = file_try_library_directory(target, file, &memory, options->library_directories[i]);
    if (!taken)
        taken = file_try_below_directories(target, file, &memory);
    if (!taken)
        taken = file_try_paths(target, file, &memory);
    if (!taken && file->path[0] == '/')
        taken = file_try_printf(target, file, &memory, "%s", file->path);
    const char *fetched =
        taken ? NULL : target_fetch(target, PSC_FETCHED_PROGRAM, &file->build_id, file->path);
    if (fetched)
        taken = file_try_printf(target, file, &memory, "%s", fetched);
    if (taken && !file->build_id.size)
        target_parse_build_id(file->image, file->size, &file->build_id);
}

const uint8_t *target_mapped_bytes(const struct target_mapping *mapping, psc_addr address,
                                   size_t *ret_size)
{
    const struct target_file *file = mapping->file;
    uint64_t offset = mapping->offset + (address - mapping->start);
    if (!file->image || offset >= file->size)
        return NULL;
    uint64_t in_file = file->size - offset, in_mapping = mapping->end - address;
    *ret_size = (size_t)(in_file < in_mapping ? in_file : in_mapping);
    return file->image + offset;
}

/* Flags of the loaded segment that holds the offset; 0 when none does. */
static uint32_t find_segment_flags(const struct target_file *file, uint64_t offset)
{
    size_t index = 0;
    struct elf_segment segment;
    while (file->image && elf_next_segment(file->image, file->size, PT_LOAD, &index, &segment))
        if (offset >= segment.offset && offset - segment.offset < segment.file_size)
            return segment.flags;
    return 0;
}

/** True when the offset lies in an executable segment of the opened file. */
static bool is_executable_offset(const struct target_file *file, uint64_t offset)
{
    return find_segment_flags(file, offset) & PF_X;
}

bool target_file_offset_is_constant(const struct target_file *file, uint64_t offset)
{
    uint32_t flags = find_segment_flags(file, offset);
    return (flags & PF_R) && !(flags & PF_W);
}

bool target_is_executable(struct target *target, psc_addr address)
{
    const struct target_mapping *mapping = target_find_mapping(target, address);
    if (!mapping)
        return false;
    if (mapping->permissions_known)
        return mapping->executable;
    if (!mapping->file)
        return false;
    target_file_open(target, mapping->file);
    return is_executable_offset(mapping->file, mapping->offset + (address - mapping->start));
}
