/*
 * A debugger that holds what a core file has, and does not tell the truth: it reads less than it is
 * asked for or nothing, answers differently each time, and describes mappings, threads and
 * registers that are not so.
 */
#include "mutants.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/procfs.h>
#include <sys/user.h>

#define MAPPINGS_MAX 4096u
#define THREADS_MAX  256u
#define REGISTERS    17 /* psABI of x86-64, 3.6.2: rax rdx rcx rbx rsi rdi rbp rsp r8 ... r15 rip. */
#define LIES_MAX     20000u /* Reads that may be lies; what follows is true, so that it ends. */

struct liar {
    const struct damaged_file *core;
    struct choice choice;
    size_t honesty, asked; /* One read in so many is a lie; 0: none is. */
    struct segment *segments;
    size_t segment_count;
    struct psc_debugger_mapping mappings[MAPPINGS_MAX];
    struct psc_debugger_thread threads[THREADS_MAX];
    uint64_t registers[THREADS_MAX][REGISTERS];
    struct psc_debugger debugger;
};

/* ---- what the core has ---- */

static void take_thread(struct liar *liar, const uint8_t *bytes, size_t size)
{
    struct elf_prstatus status;
    struct user_regs_struct from;
    size_t number = liar->debugger.thread_count;
    if (number >= THREADS_MAX || size < sizeof(status))
        return;
    memcpy(&status, bytes, sizeof(status));
    memcpy(&from, &status.pr_reg, sizeof(from));
    const uint64_t registers[REGISTERS] = {
        from.rax, from.rdx, from.rcx, from.rbx, from.rsi, from.rdi, from.rbp, from.rsp, from.r8,
        from.r9,  from.r10, from.r11, from.r12, from.r13, from.r14, from.r15, from.rip};
    memcpy(liar->registers[number], registers, sizeof(registers));
    liar->threads[number] = (struct psc_debugger_thread){.tid = status.pr_pid,
                                                         .crashed = !number,
                                                         .thread_pointer = from.fs_base,
                                                         .registers = liar->registers[number],
                                                         .register_count = REGISTERS,
                                                         .name = number ? NULL : "first"};
    liar->debugger.thread_count++;
    liar->debugger.signal_number = status.pr_cursig;
}

static void add_mapping(struct liar *liar, struct psc_debugger_mapping mapping)
{
    if (liar->debugger.mapping_count < MAPPINGS_MAX)
        liar->mappings[liar->debugger.mapping_count++] = mapping;
}

/* fs/binfmt_elf.c, fill_files_note(): count, page size, that many times start, end and page, and
 * the names. */
static void take_files(struct liar *liar, const uint8_t *bytes, size_t size)
{
    uint64_t head[2];
    if (size < sizeof(head) || bytes[size - 1])
        return;
    memcpy(head, bytes, sizeof(head));
    if (head[0] > MAPPINGS_MAX || size < sizeof(head) + head[0] * 24)
        return;
    const char *name = (const char *)bytes + sizeof(head) + head[0] * 24;
    for (size_t i = 0; i < head[0] && name < (const char *)bytes + size; i++) {
        uint64_t range[3];
        memcpy(range, bytes + sizeof(head) + i * 24, sizeof(range));
        add_mapping(liar, (struct psc_debugger_mapping){.start = range[0],
                                                        .end = range[1],
                                                        .offset = range[2] * head[1],
                                                        .path = name});
        name += strlen(name) + 1;
    }
}

static void take_notes(struct liar *liar, const uint8_t *bytes, size_t size)
{
    Elf64_Nhdr note;
    for (size_t at = 0; at + sizeof(note) <= size;) {
        memcpy(&note, bytes + at, sizeof(note));
        size_t from = at + sizeof(note) + ((note.n_namesz + 3u) & ~(size_t)3);
        if (from > size || note.n_descsz > size - from)
            return;
        if (note.n_type == NT_PRSTATUS)
            take_thread(liar, bytes + from, note.n_descsz);
        if (note.n_type == NT_FILE)
            take_files(liar, bytes + from, note.n_descsz);
        if (note.n_type == NT_AUXV) {
            liar->debugger.auxv = bytes + from;
            liar->debugger.auxv_size = note.n_descsz;
        }
        at = from + ((note.n_descsz + 3u) & ~(size_t)3);
    }
}

static bool is_listed(const struct liar *liar, uint64_t start)
{
    for (size_t i = 0; i < liar->debugger.mapping_count; i++)
        if (liar->mappings[i].start <= start && start < liar->mappings[i].end)
            return true;
    return false;
}

static void take_segments(struct liar *liar)
{
    const struct damaged_file *core = liar->core;
    size_t at = (size_t)file_number(core, offsetof(Elf64_Ehdr, e_phoff), 8);
    size_t count = (size_t)file_number(core, offsetof(Elf64_Ehdr, e_phnum), 2);
    liar->segments = calloc(count + 1, sizeof(*liar->segments));
    for (int loads = 0; liar->segments && loads < 2; loads++)
        for (size_t i = 0; i < count && at + (i + 1) * sizeof(Elf64_Phdr) <= core->size; i++) {
            Elf64_Phdr header;
            memcpy(&header, core->bytes + at + i * sizeof(header), sizeof(header));
            if (header.p_offset > core->size || header.p_filesz > core->size - header.p_offset)
                continue;
            if (header.p_type == PT_NOTE && !loads)
                take_notes(liar, core->bytes + header.p_offset, header.p_filesz);
            if (header.p_type != PT_LOAD || !loads)
                continue;
            liar->segments[liar->segment_count++] =
                (struct segment){header.p_vaddr, header.p_filesz, header.p_offset};
            if (!is_listed(liar, header.p_vaddr))
                add_mapping(liar, (struct psc_debugger_mapping){
                                      .start = header.p_vaddr,
                                      .end = header.p_vaddr + header.p_memsz,
                                      .permissions = PSC_DEBUGGER_PERMISSIONS_KNOWN |
                                                     (header.p_flags & PF_R ? 1u : 0) |
                                                     (header.p_flags & PF_W ? 2u : 0) |
                                                     (header.p_flags & PF_X ? 4u : 0)});
        }
}

/* ---- lies ---- */

static size_t read_truly(const struct liar *liar, uint64_t address, uint8_t *buffer, size_t size)
{
    size_t done = 0;
    for (size_t i = 0; i < liar->segment_count && done < size; i++) {
        const struct segment *segment = &liar->segments[i];
        if (address + done - segment->start >= segment->size || address + done < segment->start)
            continue;
        size_t skip = (size_t)(address + done - segment->start);
        size_t here =
            segment->size - skip < size - done ? (size_t)segment->size - skip : size - done;
        memcpy(buffer + done, liar->core->bytes + segment->offset + skip, here);
        done += here;
        i = (size_t)-1; // What follows may be in any of them.
    }
    return done;
}

static size_t read_falsely(void *context, psc_addr address, void *buffer, size_t size)
{
    struct liar *liar = context;
    struct choice *choice = &liar->choice;
    size_t got = read_truly(liar, address, buffer, size);
    if (!liar->honesty || ++liar->asked > LIES_MAX || !choose_one_in(choice, liar->honesty))
        return got;
    switch (choose_below(choice, 4)) {
    case 0:
        return 0;
    case 1:
        return choose_below(choice, got + 1);
    case 2:
        return size + choose_below(choice, 3) * size; // More than there is room for.
    default:
        for (size_t times = got >= 8 ? 1 + choose_below(choice, 64) : 0; times; times--) {
            uint64_t word,
                *at = (uint64_t *)((uint8_t *)buffer + (choose_below(choice, got / 8) * 8));
            memcpy(&word, at, sizeof(word));
            word = choose_number(choice, word);
            memcpy(at, &word, sizeof(word));
        }
        return got;
    }
}

static void lie_of_mappings(struct liar *liar)
{
    struct choice *choice = &liar->choice;
    for (size_t times = choose_below(choice, 8); times && liar->debugger.mapping_count; times--) {
        struct psc_debugger_mapping *mapping =
            &liar->mappings[choose_below(choice, liar->debugger.mapping_count)];
        const struct psc_debugger_mapping *other =
            &liar->mappings[choose_below(choice, liar->debugger.mapping_count)];
        uint64_t *const words[] = {&mapping->start, &mapping->end, &mapping->offset};
        uint64_t *word = words[choose_below(choice, 3)];
        switch (choose_below(choice, 4)) {
        case 0:
            mapping->path = other->path;
            break;
        case 1:
            mapping->permissions = (uint32_t)choose_bits(choice);
            break;
        case 2:
            *mapping = *other;
            break;
        default:
            *word = choose_number(choice, *word);
        }
    }
}

static void lie_of_threads(struct liar *liar)
{
    struct choice *choice = &liar->choice;
    for (size_t times = choose_below(choice, 6); times && liar->debugger.thread_count; times--) {
        size_t number = choose_below(choice, liar->debugger.thread_count);
        struct psc_debugger_thread *thread = &liar->threads[number];
        uint64_t *word = &liar->registers[number][choose_below(choice, REGISTERS)];
        switch (choose_below(choice, 6)) {
        case 0:
            thread->tid = (int32_t)choose_number(choice, (uint64_t)thread->tid);
            break;
        case 1:
            thread->thread_pointer = choose_number(choice, thread->thread_pointer);
            break;
        case 2:
            thread->name = "\x1b[2J\xff\n";
            break;
        case 3:
            thread->crashed = !thread->crashed;
            break;
        default:
            *word = choose_number(choice, *word);
        }
    }
}

struct liar *liar_create(const struct damaged_file *core, struct choice *choice)
{
    struct liar *liar = calloc(1, sizeof(*liar));
    if (!liar)
        exit(2);
    liar->core = core;
    liar->choice = choice_of(choose_bits(choice), 1);
    liar->debugger = (struct psc_debugger)PSC_DEBUGGER_INIT;
    liar->debugger.read = read_falsely;
    liar->debugger.context = liar;
    liar->debugger.mappings = liar->mappings;
    liar->debugger.threads = liar->threads;
    take_segments(liar);
    liar->debugger.pid = liar->debugger.thread_count ? liar->threads[0].tid : 0;
    static const size_t honesties[] = {0, 2, 10, 100, 1000};
    liar->honesty = honesties[choose_below(&liar->choice, 5)];
    if (!choose_one_in(&liar->choice, 3))
        lie_of_mappings(liar);
    if (!choose_one_in(&liar->choice, 3))
        lie_of_threads(liar);
    if (choose_one_in(&liar->choice, 8))
        liar->debugger.auxv_size =
            (uint32_t)choose_below(&liar->choice, liar->debugger.auxv_size + 1);
    if (choose_one_in(&liar->choice, 8))
        liar->debugger.signal_number = (int32_t)choose_number(&liar->choice, 11);
    return liar;
}

enum psc_status liar_open(struct liar *liar, const struct psc_open_options *open,
                          struct psc_target **ret, struct psc_error *err)
{
    return psc_open_debugger(&liar->debugger, NULL, open, ret, err);
}

void liar_destroy(struct liar *liar)
{
    free(liar ? liar->segments : NULL);
    free(liar);
}
