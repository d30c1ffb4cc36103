/** @file Writes small core files, so that a malformed one is a few readable lines. */
#ifndef CORE_WRITER_H
#define CORE_WRITER_H

#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct core_writer {
    uint8_t notes[65536];
    size_t notes_size;
    struct {
        uint64_t address, memory_size;
        const void *bytes;
        size_t size;
        uint32_t flags;
    } loads[16];
    size_t load_count;
    uint16_t type, machine;
};

static inline void core_writer_init(struct core_writer *writer)
{
    memset(writer, 0, sizeof(*writer));
    writer->type = ET_CORE;
    writer->machine = EM_X86_64;
}

static inline void core_writer_note(struct core_writer *writer, uint32_t type, const void *bytes,
                                    size_t size)
{
    uint32_t header[3] = {5, (uint32_t)size, type};
    uint8_t *at = writer->notes + writer->notes_size;
    memcpy(at, header, sizeof(header));
    memcpy(at + 12, "CORE\0\0\0", 8);
    memcpy(at + 20, bytes, size);
    writer->notes_size += 20 + ((size + 3) & ~(size_t)3);
}

static inline void core_writer_thread(struct core_writer *writer, int tid, int signal, uint64_t rip,
                                      uint64_t rsp, uint64_t fs_base)
{
    uint8_t status[336] = {0};
    uint16_t cursig = (uint16_t)signal;
    memcpy(status + 12, &cursig, 2);
    memcpy(status + 32, &tid, 4);
    memcpy(status + 112 + 8 * 16, &rip, 8);
    memcpy(status + 112 + 8 * 19, &rsp, 8);
    memcpy(status + 112 + 8 * 21, &fs_base, 8);
    core_writer_note(writer, NT_PRSTATUS, status, sizeof(status));
}

static inline void core_writer_load(struct core_writer *writer, uint64_t address, const void *bytes,
                                    size_t size, uint64_t memory_size, uint32_t flags)
{
    writer->loads[writer->load_count].address = address;
    writer->loads[writer->load_count].bytes = bytes;
    writer->loads[writer->load_count].size = size;
    writer->loads[writer->load_count].memory_size = memory_size;
    writer->loads[writer->load_count++].flags = flags;
}

/** One NT_FILE range; pages of 4096. */
static inline void core_writer_file(struct core_writer *writer, uint64_t start, uint64_t end,
                                    uint64_t page, const char *path)
{
    uint8_t note[4096];
    uint64_t words[5] = {1, 4096, start, end, page};
    memcpy(note, words, sizeof(words));
    memcpy(note + sizeof(words), path, strlen(path) + 1);
    core_writer_note(writer, NT_FILE, note, sizeof(words) + strlen(path) + 1);
}

/** Writes to a fresh temporary file; path (at least 32 bytes) receives its name. */
static inline size_t core_writer_write(const struct core_writer *writer, char *path)
{
    Elf64_Ehdr header = {.e_type = writer->type,
                         .e_machine = writer->machine,
                         .e_version = EV_CURRENT,
                         .e_phoff = sizeof(header),
                         .e_ehsize = sizeof(header),
                         .e_phentsize = sizeof(Elf64_Phdr),
                         .e_phnum = (uint16_t)(writer->load_count + 1)};
    memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    strcpy(path, "/tmp/psc-test-core-XXXXXX");
    int fd = mkstemp(path);
    FILE *file = fdopen(fd, "wb");
    size_t at = sizeof(header) + (writer->load_count + 1) * sizeof(Elf64_Phdr);
    fwrite(&header, sizeof(header), 1, file);
    Elf64_Phdr phdr = {.p_type = PT_NOTE, .p_offset = at, .p_filesz = writer->notes_size};
    fwrite(&phdr, sizeof(phdr), 1, file);
    at += writer->notes_size;
    for (size_t i = 0; i < writer->load_count; i++) {
        phdr = (Elf64_Phdr){.p_type = PT_LOAD,
                            .p_flags = writer->loads[i].flags,
                            .p_offset = at,
                            .p_vaddr = writer->loads[i].address,
                            .p_filesz = writer->loads[i].size,
                            .p_memsz = writer->loads[i].memory_size};
        fwrite(&phdr, sizeof(phdr), 1, file);
        at += writer->loads[i].size;
    }
    fwrite(writer->notes, 1, writer->notes_size, file);
    for (size_t i = 0; i < writer->load_count; i++)
        fwrite(writer->loads[i].bytes, 1, writer->loads[i].size, file);
    fclose(file);
    return at;
}

#endif
