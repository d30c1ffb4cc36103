/* A core file as a target: mapped, never read whole. */
#include "core_private.h"

#include "foreign_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes at the beginning of a table that are looked at before it is known how many it has. */
#define HEAD_SIZE ((size_t)64 * 1024)
static void core_close(struct target *target)
{
    struct core *core = target->backend;
    if (!core)
        return;
    core_image_close(&core->image);
    held_deinit(core);
    slim_deinit(core);
    free(core->segments);
    free(core);
}

static const struct target_ops core_ops = {.piece = core_piece,
                                           .skip_missing = core_skip_missing,
                                           .prefetch = core_prefetch,
                                           .release = core_release,
                                           .warn_at_end = packed_files_warn,
                                           .close = core_close};

const char *core_get_path(const struct target *target)
{
    const struct core *core = target->kind == TARGET_CORE ? target->backend : NULL;
    return core ? core->path : NULL;
}

/* ---- opening ---- */

static void set_owner(struct target *target, const struct stat *status)
{
    // What the file says of itself could be made up.
    target->process.owner_known = true;
    target->process.user = status->st_uid;
    target->process.group = status->st_gid;
    if (target->options.core.owner_known) {
        target->process.user = target->options.core.user;
        target->process.group = target->options.core.group;
    }
}

/* What to do about it. */
static const char *advise_on_opening(int error)
{
    return error == ENOENT ? "; pystack-core doctor says where core files are put here"
           : error == EACCES || error == EPERM ? "; run this as its owner or as root"
                                               : "";
}

static enum psc_status core_map(const char *file, struct target *target, struct core *core,
                                struct psc_error *err)
{
    const char *path = core->path;
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 && errno == ENOENT)
        fd = foreign_file_duplicate(file);
    if (fd < 0 && errno == ENOENT && path[strspn(path, "0123456789")] == '\0' && path[0])
        return psc_fail(err, PSC_ERR_IO,
                        "%s: No such file or directory; a living process is named by --pid %s",
                        path, path);
    if (fd < 0)
        return psc_fail(err, PSC_ERR_IO, "%s: cannot be opened: %s%s", path,
                        describe_errno(errno, &(struct errno_text){0}), advise_on_opening(errno));
    struct stat status;
    enum psc_status result = PSC_OK;
    if (fstat(fd, &status))
        result = psc_fail(err, PSC_ERR_IO, "%s: %s", path,
                          describe_errno(errno, &(struct errno_text){0}));
    else if (S_ISDIR(status.st_mode))
        result = psc_fail(err, PSC_ERR_FORMAT, "%s: is a directory; name a core file in it", path);
    else if (!S_ISREG(status.st_mode))
        result = psc_fail(err, PSC_ERR_FORMAT, "%s: not a regular file", path);
    else if (!status.st_size)
        result = psc_fail(err, PSC_ERR_FORMAT, "%s: the file is empty", path);
    if (result != PSC_OK) {
        close(fd);
        return result;
    }
    set_owner(target, &status);
    if (!core_image_open(fd, target->options.maps_files, &core->image))
        return psc_fail(err, PSC_ERR_IO, "%s: cannot be mapped: %s", path,
                        describe_errno(errno, &(struct errno_text){0}));
    return PSC_OK;
}

static const char *elf_type_name(unsigned type)
{
    return type == ET_EXEC  ? "an executable"
           : type == ET_DYN ? "an executable or a shared library"
           : type == ET_REL ? "an object file"
                            : "an ELF file of another type";
}

/* No ELF file: maybe one that systemd-coredump, apport or somebody packed. */
static enum psc_status core_refuse(const char *path, const struct core *core, struct psc_error *err)
{
    static const struct {
        uint8_t size;
        char begins[13];
        const char *is;
    } packed[] = {
        {4, "\x28\xb5\x2f\xfd", "compressed; decompress it first, as zstd -d does"},
        {4, "\x04\x22\x4d\x18", "compressed; decompress it first, as lz4 -d does"},
        {6, "\xfd\x37zXZ", "compressed; decompress it first, as xz -d does"},
        {2, "\x1f\x8b", "compressed; decompress it first, as gzip -d does"},
        {3, "BZh", "compressed; decompress it first, as bzip2 -d does"},
        {12, "ProblemType:", "a report of apport; the tool apport-unpack unpacks it"},
    };
    for (size_t i = 0; i < PSC_ARRAY_SIZE(packed); i++)
        if (core->image.size >= packed[i].size &&
            memcmp(core->image.bytes, packed[i].begins, packed[i].size) == 0)
            return psc_fail(err, PSC_ERR_FORMAT, "%s: %s", path, packed[i].is);
    return psc_fail(err, PSC_ERR_FORMAT, "%s: not a core file (not an ELF file)", path);
}

static enum psc_status core_check_header(struct target *target, struct core *core,
                                         struct psc_error *err)
{
    const char *path = core->path;
    const uint8_t *ident = core->image.bytes;
    const size_t size = core->image.size;
    core_image_load(&core->image, 0, HEAD_SIZE, HEAD_SIZE);
    if (size < SELFMAG || memcmp(ident, ELFMAG, SELFMAG) != 0)
        return core_refuse(path, core, err);
    if (!elf_is_elf(ident, size))
        return psc_fail(err, PSC_ERR_FORMAT, "%s: the file ends within its ELF header", path);
    struct elf_header header;
    if (!parse_elf_header(ident, size, &header))
        return psc_fail(err, PSC_ERR_UNSUPPORTED,
                        "%s: a %s-endian %s-bit ELF file; only %s core files are handled", path,
                        ident[EI_DATA] == ELFDATA2MSB ? "big" : "little",
                        ident[EI_CLASS] == ELFCLASS32 ? "32" : "64", target_machine_titles());
    if (header.type != ET_CORE)
        return psc_fail(err, PSC_ERR_FORMAT,
                        "%s: not a core file but %s; name the core file that the program left",
                        path, elf_type_name(header.type));
    target->machine = target_machine_find(header.machine);
    if (!target->machine)
        return psc_fail(err, PSC_ERR_UNSUPPORTED, "%s: a core file of %s; only %s is handled", path,
                        header.machine == EM_AARCH64 ? "AArch64" : "another machine",
                        target_machine_titles());
    return PSC_OK;
}

static void core_add_segment(struct core *core, const struct elf_segment *segment, bool *truncated)
{
    if (!segment->memory_size || segment->address > UINT64_MAX - segment->memory_size)
        return;
    uint64_t have =
        segment->file_size < segment->memory_size ? segment->file_size : segment->memory_size;
    const size_t size = core->image.size;
    uint64_t left = segment->offset < size ? size - segment->offset : 0;
    const bool held = core->held.fd >= 0;
    if (have > left && !held) {
        have = left;
        *truncated = true;
    }
    core->segments[core->segment_count++] = (struct core_segment){
        segment->address, segment->address + segment->memory_size, segment->address + have,
        have && !held ? (size_t)segment->offset : 0, segment->flags};
}

static enum psc_status core_read_notes(struct core *core, const struct elf_segment *segment,
                                       struct core_notes *notes, bool *truncated)
{
    const size_t left =
        segment->offset < core->image.size ? core->image.size - (size_t)segment->offset : 0;
    if (!left) {
        *truncated = true;
        return PSC_OK;
    }
    uint64_t size = segment->file_size;
    if (size > left) {
        size = left;
        *truncated = true;
    }
    // Headers may list the same notes any number of times.
    if (size > notes->bytes_left) {
        target_warn(notes->target, "core-notes-repeated",
                    "the core file lists more notes than it has bytes; the rest is left out");
        return PSC_OK;
    }
    notes->bytes_left -= (size_t)size;
    core_image_load(&core->image, (size_t)segment->offset, (size_t)size, SIZE_MAX);
    struct byte_cursor cursor = cursor_over(core->image.bytes + segment->offset, (size_t)size);
    struct elf_note note;
    while (parse_elf_note(&cursor, 4, &note)) {
        enum psc_status status = core_notes_add(notes, &note);
        if (status != PSC_OK)
            return status;
    }
    *truncated |= cursor.failed;
    return PSC_OK;
}

static enum psc_status core_read_headers(const char *path, struct core *core,
                                         struct core_notes *notes, bool *truncated,
                                         struct psc_error *err)
{
    struct elf_header header;
    size_t count = 0;
    const uint8_t *bytes = core->image.bytes;
    const size_t size = core->image.size;
    if (parse_elf_header(bytes, size, &header) && bytes[EI_VERSION] == EV_CURRENT) {
        core_image_load(&core->image, (size_t)header.sections_offset, HEAD_SIZE, HEAD_SIZE);
        count = elf_count_segments(bytes, size, &header);
        core_image_load(&core->image, (size_t)header.segments_offset, count * ELF_SEGMENT_SIZE,
                        SIZE_MAX);
    }
    if (!count)
        return psc_fail(err, PSC_ERR_FORMAT, "%s: a core file without program headers%s", path,
                        size < 65536 ? "; it was probably cut off" : "");
    core->segments = calloc(count, sizeof(*core->segments));
    if (!core->segments)
        return psc_fail_memory(err);
    for (size_t i = 0; i < count; i++) {
        struct elf_segment segment;
        parse_elf_segment(bytes + header.segments_offset + i * ELF_SEGMENT_SIZE, &segment);
        enum psc_status status = PSC_OK;
        if (segment.type == PT_LOAD)
            core_add_segment(core, &segment, truncated);
        else if (segment.type == PT_NOTE)
            status = core_read_notes(core, &segment, notes, truncated);
        if (status != PSC_OK)
            return psc_fail_status(err, status);
    }
    core->segment_count =
        target_sort_ranges(core->segments, core->segment_count, sizeof(*core->segments));
    return PSC_OK;
}

static void set_file(struct target_mapping *mapping, const struct core_file_range *range)
{
    mapping->file = range->file;
    mapping->offset = range->offset + (mapping->start - range->start);
}

static void set_permissions(struct target_mapping *mapping, const struct core_segment *segment)
{
    mapping->permissions_known = true;
    mapping->readable = segment->flags & PF_R;
    mapping->writable = segment->flags & PF_W;
    mapping->executable = segment->flags & PF_X;
}

/*
 * Mappings are segments (permissions) and NT_FILE ranges (files) laid over each other. A kernel
 * core has a segment for each range; gcore leaves out segments of unmodified file mappings.
 */
static bool core_make_mappings(struct target *target, const struct core *core,
                               const struct core_file_range *ranges, size_t range_count)
{
    const struct core_segment *segments = core->declared ? core->declared : core->segments;
    const size_t segment_count = core->declared ? core->declared_count : core->segment_count;
    size_t capacity = 0, s = 0, r = 0;
    psc_addr at = 0;
    while (s < segment_count || r < range_count) {
        const struct core_segment *segment = s < segment_count ? &segments[s] : NULL;
        const struct core_file_range *range = r < range_count ? &ranges[r] : NULL;
        if (segment && segment->end <= at) {
            s++;
            continue;
        }
        if (range && range->end <= at) {
            r++;
            continue;
        }
        psc_addr segment_start = segment ? segment->start : UINT64_MAX;
        psc_addr range_start = range ? range->start : UINT64_MAX;
        psc_addr start = segment_start < range_start ? segment_start : range_start;
        if (start < at)
            start = at;
        bool in_segment = segment && segment_start <= start;
        bool in_range = range && range_start <= start;
        psc_addr end = UINT64_MAX;
        if (segment)
            end = in_segment ? segment->end : segment_start;
        if (range && (in_range ? range->end : range_start) < end)
            end = in_range ? range->end : range_start;
        if (!array_reserve(&target->mappings, &capacity, target->mapping_count + 1,
                           sizeof(*target->mappings)))
            return false;
        struct target_mapping *mapping = &target->mappings[target->mapping_count++];
        *mapping = (struct target_mapping){.start = start, .end = end};
        if (in_range)
            set_file(mapping, range);
        if (in_segment)
            set_permissions(mapping, segment);
        at = end;
    }
    return true;
}

/* A program that the caller names by mistake must not be passed over in silence. */
static void core_check_executable(struct target *target)
{
    const char *here = target->executable_here;
    if (!here)
        return;
    for (size_t i = 0; i < target->file_count && target->process.executable; i++) {
        struct target_file *file = target->files[i];
        if (strcmp(file->path, target->process.executable) != 0)
            continue;
        target_file_open(target, file);
        if (file->local_path && !strcmp(file->local_path, here))
            return;
        break;
    }
    int fd = open(here, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        target_warn(target, "executable-missing", "%s: cannot be opened: %s", here,
                    describe_errno(errno, &(struct errno_text){0}));
    else
        target_warn(target, "executable-mismatch",
                    "%s: not the program that the core file is of%s%s; it is not used", here,
                    target->process.executable ? ", which is " : "",
                    target->process.executable ? target->process.executable : "");
    if (fd >= 0)
        close(fd);
}

static enum psc_status core_fill(struct target *target, struct core *core, struct psc_error *err)
{
    struct core_notes notes = {
        .target = target, .tids = HASH_TABLE_OF(uint64_t), .bytes_left = core->image.size};
    enum psc_status status = core_read_headers(core->path, core, &notes, &core->truncated, err);
    hash_table_deinit(&notes.tids);
    if (status != PSC_OK)
        return status;
    struct core_file_range *ranges PSC_CLEANUP(cleanup_free) = NULL;
    size_t range_count;
    status = slim_take_notes(target, core, &notes);
    if (status == PSC_OK)
        status = core_notes_list_files(&notes, &ranges, &range_count);
    if (status == PSC_OK && !core_make_mappings(target, core, ranges, range_count))
        status = PSC_ERR_MEMORY;
    if (status != PSC_OK)
        return psc_fail_status(err, status);
    core_notes_finish(&notes);
    held_read_names(target);
    held_name_sender(target);
    if (!target->thread_count)
        return psc_fail(err, PSC_ERR_FORMAT, "%s: a core file without %s%sthreads%s", core->path,
                        notes.has_foreign ? target->machine->title : "",
                        notes.has_foreign ? " " : "",
                        core->truncated ? "; it was cut off: ulimit -c unlimited, and room on "
                                          "the disk, let the kernel write all of it"
                                        : "");
    target_find_executable(target);
    core_check_executable(target);
    if (notes.auxv.size >= 16)
        target_read_arguments(target, notes.auxv.data);
    if (target->options.core.warning)
        target_warn(target, "core-incomplete", "%s", target->options.core.warning);
    if (core->truncated)
        target_warn(target, "core-truncated",
                    "the core file is cut off; what was cut is missing below");
    slim_warn(target, core);
    if (!notes.files.data)
        target_warn(target, "no-file-note",
                    "the core file does not say which files were mapped (no NT_FILE note)");
    return PSC_OK;
}

enum psc_status core_open(const char *path, const char *executable,
                          const struct target_options *options, struct target **ret,
                          struct psc_error *err)
{
    struct core *core = calloc(1, sizeof(*core));
    struct target *target =
        core ? target_create(TARGET_CORE, &core_ops, executable, options) : NULL;
    if (!target) {
        free(core);
        return psc_fail_memory(err);
    }
    core->held.fd = -1;
    target->backend = core;
    const char *name = options ? options->core.name : NULL;
    core->path = arena_strdup(target->arena, name ? name : path);
    enum psc_status status = core_map(path, target, core, err);
    if (status == PSC_OK && target->options.held_pid)
        status = held_open(target, core, err);
    if (status == PSC_OK)
        status = core_check_header(target, core, err);
    if (status == PSC_OK)
        status = core_fill(target, core, err);
    if (status != PSC_OK) {
        target_close(target);
        return status;
    }
    *ret = target;
    return PSC_OK;
}
