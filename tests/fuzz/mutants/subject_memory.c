/* Memory of a core file or of a process that stands, by address. */
#include "mutants.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void add_segment(struct memory *memory, struct segment segment)
{
    if (memory->segment_count < SEGMENTS_MAX)
        memory->segments[memory->segment_count++] = segment;
}

static void init(struct memory *ret)
{
    memset(ret, 0, sizeof(*ret));
    ret->descriptor = -1;
}

void memory_of_core(struct damaged_file *core, struct memory *ret)
{
    init(ret);
    ret->core = core;
    size_t at = (size_t)file_number(core, offsetof(Elf64_Ehdr, e_phoff), 8);
    size_t count = (size_t)file_number(core, offsetof(Elf64_Ehdr, e_phnum), 2);
    for (size_t i = 0; i < count; i++) {
        Elf64_Phdr header;
        if (at > core->size || core->size - at < (i + 1) * sizeof(header))
            break;
        memcpy(&header, core->bytes + at + i * sizeof(header), sizeof(header));
        if (header.p_type == PT_LOAD && header.p_filesz && header.p_offset < core->size &&
            header.p_filesz <= core->size - header.p_offset)
            add_segment(ret, (struct segment){header.p_vaddr, header.p_filesz, header.p_offset});
    }
}

void memory_of_process(int32_t pid, struct memory *ret)
{
    char path[64], line[4096];
    init(ret);
    ret->pid = pid;
    snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
    ret->descriptor = open(path, O_RDWR | O_CLOEXEC);
    snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(path, "re");
    if (ret->descriptor < 0 || !maps) {
        perror(path);
        exit(2);
    }
    while (fgets(line, sizeof(line), maps)) {
        char *end;
        uint64_t start = strtoull(line, &end, 16);
        uint64_t stop = *end == '-' ? strtoull(end + 1, &end, 16) : start;
        if (end[0] == ' ' && end[1] == 'r')
            add_segment(ret, (struct segment){start, stop - start, 0});
    }
    fclose(maps);
}

const struct segment *memory_find(const struct memory *memory, uint64_t address)
{
    size_t low = 0, high = memory->segment_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct segment *one = &memory->segments[middle];
        if (address < one->start)
            high = middle;
        else if (address - one->start >= one->size)
            low = middle + 1;
        else
            return one;
    }
    return NULL;
}

bool memory_read(const struct memory *memory, uint64_t address, void *buffer, size_t size)
{
    const struct segment *in = memory_find(memory, address);
    if (!in || in->size - (address - in->start) < size)
        return false;
    if (memory->core) {
        memcpy(buffer, memory->core->bytes + in->offset + (address - in->start), size);
        return true;
    }
    return pread(memory->descriptor, buffer, size, (off_t)address) == (ssize_t)size;
}

void memory_write(struct memory *memory, uint64_t address, const void *bytes, size_t size)
{
    const struct segment *in = memory_find(memory, address);
    if (!in)
        return;
    if (in->size - (address - in->start) < size)
        size = (size_t)(in->size - (address - in->start));
    if (memory->core) {
        file_patch(memory->core, (size_t)(in->offset + (address - in->start)), bytes, size);
        return;
    }
    size_t number = memory->kept_count;
    if (number >= PATCHES_MAX || size > sizeof(memory->kept[number].bytes) ||
        !memory_read(memory, address, memory->kept[number].bytes, size))
        return;
    memory->kept[number].address = address;
    memory->kept[number].size = size;
    if (pwrite(memory->descriptor, bytes, size, (off_t)address) == (ssize_t)size)
        memory->kept_count++;
}

void memory_mend(struct memory *memory)
{
    if (memory->core) {
        file_mend(memory->core);
        return;
    }
    // The last first: a place may have been damaged twice.
    while (memory->kept_count) {
        memory->kept_count--;
        size_t number = memory->kept_count;
        if (pwrite(memory->descriptor, memory->kept[number].bytes, memory->kept[number].size,
                   (off_t)memory->kept[number].address) < 0)
            perror("/proc/PID/mem");
    }
}
