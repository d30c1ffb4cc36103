/* Memory, segments and headers of a core file that is written. */
#include "save.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE ((uint64_t)4096)

void core_file_begin(struct core_file *file, const struct target_machine *machine, int fd)
{
    file->machine = machine;
    file->fd = fd;
    file->error = ftruncate(fd, 0) ? errno : 0;
    file->end = PAGE; // The ELF header is written last.
    file->count = 0;
}

void core_file_deinit(struct core_file *file)
{
    free(file->extents);
    *file = (struct core_file){.fd = -1};
}

static void write_at(struct core_file *file, uint64_t offset, const void *bytes, size_t size)
{
    const uint8_t *from = bytes;
    while (size && !file->error) {
        ssize_t written = pwrite(file->fd, from, size, (off_t)offset);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            file->error = written < 0 ? errno : ENOSPC;
            return;
        }
        from += written;
        offset += (uint64_t)written;
        size -= (size_t)written;
    }
}

/* Says that the next `size` bytes of the file are this memory; false when that failed. */
static bool claim(struct core_file *file, psc_addr start, uint64_t size)
{
    struct core_extent *last = file->count ? &file->extents[file->count - 1] : NULL;
    if (file->error || !size)
        return false;
    if (last && last->end == start && last->offset + (last->end - last->start) == file->end) {
        last->end += size;
    } else {
        void *extents = file->extents;
        if (!array_reserve(&extents, &file->capacity, file->count + 1, sizeof(*file->extents))) {
            file->error = ENOMEM;
            return false;
        }
        file->extents = extents;
        file->extents[file->count++] = (struct core_extent){start, start + size, file->end};
    }
    return true;
}

static bool is_zero(const uint8_t *page)
{
    return !page[0] && !memcmp(page, page + 1, PAGE - 1);
}

void core_file_add(struct core_file *file, psc_addr start, const uint8_t *bytes, size_t size)
{
    if (!claim(file, start, size))
        return;
    for (size_t at = 0; at < size;) {
        size_t run = at;
        while (run < size && !is_zero(bytes + run))
            run += PAGE;
        write_at(file, file->end + at, bytes + at, run - at);
        at = run + PAGE;
    }
    file->end += size;
}

void core_file_add_zeros(struct core_file *file, psc_addr start, uint64_t size)
{
    if (claim(file, start, size))
        file->end += size;
}

uint64_t core_file_append(struct core_file *file, const void *bytes, size_t size)
{
    uint64_t offset = file->end;
    write_at(file, offset, bytes, size);
    file->end = (offset + size + PAGE - 1) & ~(PAGE - 1);
    return offset;
}

bool core_file_holds(const struct core_file *file, size_t count, psc_addr page)
{
    size_t behind = SORTED_UP_TO(file->extents, start, count, page);
    return behind && page < file->extents[behind - 1].end;
}

/* ---- segments ---- */

/* Of two that begin together the one that was written first comes first. */
static int compare_extents(const void *left, const void *right)
{
    const struct core_extent *a = left, *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static void sort_extents(struct core_file *file)
{
    if (!file->count)
        return;
    qsort(file->extents, file->count, sizeof(*file->extents), compare_extents);
    size_t kept = 0;
    for (size_t i = 0; i < file->count; i++) {
        struct core_extent extent = file->extents[i];
        psc_addr reached = kept ? file->extents[kept - 1].end : 0;
        if (extent.start < reached) {
            if (extent.end <= reached)
                continue;
            extent.offset += reached - extent.start;
            extent.start = reached;
        }
        file->extents[kept++] = extent;
    }
    file->count = kept;
}

struct segments {
    Elf64_Phdr *items;
    size_t count;
    size_t capacity;
    uint64_t end; /* In the file, of the last one that has bytes. */
};

static bool add_segment(struct segments *segments, const struct target_mapping *mapping,
                        psc_addr start, psc_addr end, const struct core_extent *extent)
{
    void *items = segments->items;
    if (!array_reserve(&items, &segments->capacity, segments->count + 1, sizeof(*segments->items)))
        return false;
    segments->items = items;
    Elf64_Phdr *segment = &segments->items[segments->count++];
    *segment =
        (Elf64_Phdr){.p_type = PT_LOAD, .p_vaddr = start, .p_memsz = end - start, .p_align = PAGE};
    segment->p_flags = (mapping->readable ? PF_R : 0u) | (mapping->writable ? PF_W : 0u) |
                       (mapping->executable ? PF_X : 0u);
    if (extent) {
        psc_addr stop = extent->end < end ? extent->end : end;
        segment->p_offset = extent->offset + (start - extent->start);
        segment->p_filesz = stop - start;
        segments->end = segment->p_offset + segment->p_filesz;
    } else if (segments->count > 1) {
        // As the kernel has it: elfutils takes bytes of what follows for those of a segment that
        // begins before (libdwfl/core-file.c, dwfl_elf_phdr_memory_callback()).
        segment->p_offset = segments->end;
    }
    return true;
}

/*
 * One segment for each part that is there, and of a file also what is not: debuggers read that from
 * the file. Anonymous memory that is not there has no segment at all, since gdb shows a
 * segment without bytes as zeros (gdb/corelow.c, core_target::xfer_partial()); but for what
 * somebody serves: it is told from memory that was never there.
 */
static bool add_mapping(struct segments *segments, const struct target_mapping *mapping,
                        const struct core_file *file, size_t *extent_at)
{
    size_t next = *extent_at;
    for (psc_addr at = mapping->start; at < mapping->end;) {
        while (next < file->count && file->extents[next].end <= at)
            next++;
        const struct core_extent *extent = next < file->count ? &file->extents[next] : NULL;
        if (extent && extent->start >= mapping->end)
            extent = NULL;
        bool there = extent && extent->start <= at;
        psc_addr end = there ? extent->end : extent ? extent->start : mapping->end;
        if (there && mapping->file) {
            const struct core_extent *after = next + 1 < file->count ? extent + 1 : NULL;
            end = after && after->start < mapping->end ? after->start : mapping->end;
        }
        if (end > mapping->end)
            end = mapping->end;
        if ((there || mapping->file || mapping->served) &&
            !add_segment(segments, mapping, at, end, there ? extent : NULL))
            return false;
        at = end;
    }
    *extent_at = next;
    return true;
}

void core_file_finish(struct core_file *file, const struct target_mapping *mappings, size_t count,
                      const struct text *notes)
{
    struct segments segments = {.end = PAGE};
    size_t extent_at = 0;
    uint64_t notes_at = file->end;
    sort_extents(file);
    bool fits = !notes->failed &&
                add_segment(&segments, &(struct target_mapping){.readable = true}, 0, 0, NULL);
    for (size_t i = 0; fits && i < count; i++)
        fits = add_mapping(&segments, &mappings[i], file, &extent_at);
    if (!fits && !file->error)
        file->error = ENOMEM;
    if (!file->error) {
        segments.items[0] = (Elf64_Phdr){
            .p_type = PT_NOTE, .p_offset = notes_at, .p_filesz = notes->size, .p_align = 4};
        uint64_t table_at = (notes_at + notes->size + 7) & ~UINT64_C(7);
        size_t table_size = segments.count * sizeof(*segments.items);
        Elf64_Ehdr header = {.e_ident = ELFMAG,
                             .e_type = ET_CORE,
                             .e_machine = file->machine->elf_machine,
                             .e_version = EV_CURRENT,
                             .e_phoff = table_at,
                             .e_ehsize = sizeof(header),
                             .e_phentsize = sizeof(Elf64_Phdr),
                             .e_phnum = (uint16_t)segments.count};
        header.e_ident[EI_CLASS] = ELFCLASS64;
        header.e_ident[EI_DATA] = ELFDATA2LSB;
        header.e_ident[EI_VERSION] = EV_CURRENT;
        write_at(file, notes_at, notes->data, notes->size);
        write_at(file, table_at, segments.items, table_size);
        // gABI "Program Header", PN_XNUM: the number stands in section 0 when it does not fit.
        if (segments.count >= PN_XNUM) {
            Elf64_Shdr section = {.sh_type = SHT_NULL,
                                  .sh_info = (uint32_t)segments.count,
                                  .sh_size = 1,
                                  .sh_link = SHN_UNDEF};
            header.e_phnum = PN_XNUM;
            header.e_shoff = table_at + table_size;
            header.e_shentsize = sizeof(section);
            header.e_shnum = 1;
            write_at(file, header.e_shoff, &section, sizeof(section));
        }
        write_at(file, 0, &header, sizeof(header));
    }
    free(segments.items);
}
