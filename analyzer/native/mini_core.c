#include "native_private.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/procfs.h>
#include <sys/user.h>
#include <unistd.h>

#define NOTE_NAME "CORE"

/* Bytes throughout: in a note the status stands at an offset that is a multiple of 4 only. */
struct thread_note {
    Elf64_Nhdr header;
    char name[8];
    uint8_t status[sizeof(struct elf_prstatus)];
};

/* struct user_regs_struct in the order of the DWARF numbers. */
static void set_registers(struct user_regs_struct *regs, const struct target_registers *registers)
{
    const uint64_t *value = registers->value;
    regs->rax = value[0];
    regs->rdx = value[1];
    regs->rcx = value[2];
    regs->rbx = value[3];
    regs->rsi = value[4];
    regs->rdi = value[5];
    regs->rbp = value[6];
    regs->rsp = value[7];
    regs->r8 = value[8];
    regs->r9 = value[9];
    regs->r10 = value[10];
    regs->r11 = value[11];
    regs->r12 = value[12];
    regs->r13 = value[13];
    regs->r14 = value[14];
    regs->r15 = value[15];
    regs->rip = value[16];
}

static void fill_note(struct thread_note *note, const struct target_thread *thread)
{
    struct user_regs_struct regs;
    struct elf_prstatus status;
    memset(note, 0, sizeof(*note));
    memset(&regs, 0, sizeof(regs));
    memset(&status, 0, sizeof(status));
    note->header.n_namesz = sizeof(NOTE_NAME);
    note->header.n_descsz = sizeof(note->status);
    note->header.n_type = NT_PRSTATUS;
    memcpy(note->name, NOTE_NAME, sizeof(NOTE_NAME));
    set_registers(&regs, &thread->registers);
    regs.fs_base = thread->thread_pointer;
    status.pr_pid = thread->tid;
    _Static_assert(sizeof(regs) == sizeof(status.pr_reg), "pr_reg is user_regs_struct");
    memcpy(status.pr_reg, &regs, sizeof(regs));
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

static void fill_headers(Elf64_Ehdr *header, Elf64_Phdr *segment, size_t notes_size)
{
    memset(header, 0, sizeof(*header));
    memset(segment, 0, sizeof(*segment));
    memcpy(header->e_ident, ELFMAG, SELFMAG);
    header->e_ident[EI_CLASS] = ELFCLASS64;
    header->e_ident[EI_DATA] = ELFDATA2LSB;
    header->e_ident[EI_VERSION] = EV_CURRENT;
    header->e_type = ET_CORE;
    header->e_machine = EM_X86_64;
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
        fill_note(&notes[i], &target->threads[i]);
    fill_headers(&header, &segment, notes_size);
    return write_all(fd, &header, sizeof(header)) && write_all(fd, &segment, sizeof(segment)) &&
           write_all(fd, notes, notes_size);
}

int mini_core_create(const struct target *target)
{
    size_t notes_size;
    if (!target->thread_count ||
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
