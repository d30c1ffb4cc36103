#include "native_private.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/procfs.h>
#include <unistd.h>

#define NOTE_NAME "CORE"

/* Bytes throughout: in a note the status stands at an offset that is a multiple of 4 only. */
struct thread_note {
    Elf64_Nhdr header;
    char name[8];
    uint8_t status[sizeof(struct elf_prstatus)];
};

static void fill_note(struct thread_note *note, const struct target_machine *machine,
                      const struct target_thread *thread)
{
    struct elf_prstatus status;
    memset(note, 0, sizeof(*note));
    memset(&status, 0, sizeof(status));
    note->header.n_namesz = sizeof(NOTE_NAME);
    note->header.n_descsz = sizeof(note->status);
    note->header.n_type = NT_PRSTATUS;
    memcpy(note->name, NOTE_NAME, sizeof(NOTE_NAME));
    status.pr_pid = thread->tid;
    for (size_t i = 0; i < machine->register_count; i++)
        status.pr_reg[machine->user_index[i]] = thread->registers.value[i];
    status.pr_reg[machine->user_thread_pointer] = thread->thread_pointer;
    memcpy(note->status, &status, sizeof(status));
}

static bool write_all(int fd, const void *bytes, size_t size)
{
    const char *at = bytes;
    while (size) {
        ssize_t written = write(fd, at, size);
        if (written <= 0)
            return false;
        at += written;
        size -= (size_t)written;
    }
    return true;
}

static void fill_headers(const struct target_machine *machine, Elf64_Ehdr *header,
                         Elf64_Phdr *segment, size_t notes_size)
{
    memset(header, 0, sizeof(*header));
    memset(segment, 0, sizeof(*segment));
    memcpy(header->e_ident, ELFMAG, SELFMAG);
    header->e_ident[EI_CLASS] = ELFCLASS64;
    header->e_ident[EI_DATA] = ELFDATA2LSB;
    header->e_ident[EI_VERSION] = EV_CURRENT;
    header->e_type = ET_CORE;
    header->e_machine = machine->elf_machine;
    header->e_version = EV_CURRENT;
    header->e_ehsize = sizeof(*header);
    header->e_phoff = sizeof(*header);
    header->e_phentsize = sizeof(*segment);
    header->e_phnum = 1;
    segment->p_type = PT_NOTE;
    segment->p_offset = sizeof(*header) + sizeof(*segment);
    segment->p_filesz = notes_size;
    segment->p_align = 4;
}

_Static_assert(sizeof(struct thread_note) == 12 + 8 + sizeof(struct elf_prstatus),
               "no padding inside a note");

static bool write_mini_core(int fd, const struct target *target, struct thread_note *notes,
                            size_t notes_size)
{
    Elf64_Ehdr header;
    Elf64_Phdr segment;
    for (size_t i = 0; i < target->thread_count; i++)
        fill_note(&notes[i], target->machine, &target->threads[i]);
    fill_headers(target->machine, &header, &segment, notes_size);
    return write_all(fd, &header, sizeof(header)) && write_all(fd, &segment, sizeof(segment)) &&
           write_all(fd, notes, notes_size);
}

int mini_core_create(const struct target *target)
{
    size_t notes_size;
    if (!target->thread_count || target->machine != target_machine_here() ||
        __builtin_mul_overflow(target->thread_count, sizeof(struct thread_note), &notes_size))
        return -1;
    int fd = memfd_create("pystack-core-threads", MFD_CLOEXEC);
    if (fd < 0)
        return -1;
    struct thread_note *notes = malloc(notes_size);
    bool written = notes && write_mini_core(fd, target, notes, notes_size);
    free(notes);
    if (written)
        return fd;
    close(fd);
    return -1;
}
