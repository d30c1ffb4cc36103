/* Damage to what makes a file a core file: header, program headers, notes and what is in them. */
#include "mutants.h"

#include <elf.h>
#include <string.h>
#include <sys/procfs.h>

#define NOTES_MAX 1024

struct found_note {
    size_t at;       /* Of its header. */
    size_t contents; /* Of what is in it. */
    size_t size;
    uint32_t type;
};

struct core_view {
    struct choice *choice;
    struct damaged_file *file;
    size_t headers, header_count;
    struct found_note notes[NOTES_MAX];
    size_t note_count;
};

static size_t align_4(size_t size)
{
    return (size + 3) & ~(size_t)3;
}

static void find_notes_in(struct core_view *view, size_t at, size_t end)
{
    const struct damaged_file *file = view->file;
    while (at + sizeof(Elf64_Nhdr) <= end && view->note_count < NOTES_MAX) {
        size_t name = (size_t)file_number(file, at, 4), size = (size_t)file_number(file, at + 4, 4);
        size_t contents = at + sizeof(Elf64_Nhdr) + align_4(name);
        if (contents + size > end)
            break;
        view->notes[view->note_count++] =
            (struct found_note){at, contents, size, (uint32_t)file_number(file, at + 8, 4)};
        at = contents + align_4(size);
    }
}

static void see(struct core_view *view)
{
    const struct damaged_file *file = view->file;
    view->headers = (size_t)file_number(file, offsetof(Elf64_Ehdr, e_phoff), 8);
    view->header_count = (size_t)file_number(file, offsetof(Elf64_Ehdr, e_phnum), 2);
    for (size_t i = 0; i < view->header_count; i++) {
        size_t at = view->headers + i * sizeof(Elf64_Phdr);
        size_t offset = (size_t)file_number(file, at + offsetof(Elf64_Phdr, p_offset), 8);
        size_t size = (size_t)file_number(file, at + offsetof(Elf64_Phdr, p_filesz), 8);
        if (file_number(file, at, 4) == PT_NOTE && offset + size <= file->size)
            find_notes_in(view, offset, offset + size);
    }
}

static void damage_number(struct core_view *view, size_t at, size_t size)
{
    file_patch_number(view->file, at,
                      choose_number(view->choice, file_number(view->file, at, size)), size);
}

static void copy(struct core_view *view, size_t to, size_t from, size_t size)
{
    if (from <= view->file->size && size <= view->file->size - from)
        file_patch(view->file, to, view->file->bytes + from, size);
}

/* ---- the header ---- */

static void damage_elf_header(struct core_view *view)
{
    static const struct {
        uint8_t at, size;
    } fields[] = {{4, 1},  {5, 1},  {6, 1},  {7, 1},  {16, 2}, {18, 2}, {20, 4}, {24, 8}, {32, 8},
                  {40, 8}, {48, 4}, {52, 2}, {54, 2}, {56, 2}, {58, 2}, {60, 2}, {62, 2}};
    size_t field = choose_below(view->choice, sizeof(fields) / sizeof(*fields));
    damage_number(view, fields[field].at, fields[field].size);
}

/* ---- program headers ---- */

static size_t choose_header(struct core_view *view)
{
    return view->headers + choose_below(view->choice, view->header_count) * sizeof(Elf64_Phdr);
}

static void damage_program_header(struct core_view *view)
{
    static const uint32_t types[] = {PT_LOAD, PT_NOTE, PT_NULL, PT_DYNAMIC, PT_INTERP, PT_PHDR};
    size_t at = choose_header(view), other = choose_header(view);
    size_t field = 8 * choose_below(view->choice, sizeof(Elf64_Phdr) / 8);
    switch (choose_below(view->choice, 6)) {
    case 0:
        file_patch_number(view->file, at, types[choose_below(view->choice, 6)], 4);
        break;
    case 1: // The same twice.
        copy(view, at, other, sizeof(Elf64_Phdr));
        break;
    case 2: // They change places.
        copy(view, at, other, sizeof(Elf64_Phdr));
        copy(view, other, at, sizeof(Elf64_Phdr));
        break;
    case 3: // One field of another one: they overlap.
        copy(view, at + field, other + field, 8);
        break;
    case 4:
        damage_number(view, at + 4, 4);
        break;
    default:
        damage_number(view, at + field, 8);
    }
}

/* ---- notes ---- */

static const struct found_note *choose_note(struct core_view *view)
{
    // Of each kind alike: there is one NT_FILE and there are hundreds of others.
    const struct found_note *any = &view->notes[choose_below(view->choice, view->note_count)];
    static const uint32_t kinds[] = {NT_PRSTATUS, NT_PRPSINFO, NT_SIGINFO,    NT_AUXV,
                                     NT_FILE,     NT_FPREGSET, NT_X86_XSTATE, 0};
    uint32_t kind = kinds[choose_below(view->choice, sizeof(kinds) / sizeof(*kinds))];
    for (size_t i = 0, from = choose_below(view->choice, view->note_count); i < view->note_count;
         i++) {
        const struct found_note *one = &view->notes[(from + i) % view->note_count];
        if (one->type == kind)
            return one;
    }
    return any;
}

static void damage_note_header(struct core_view *view)
{
    const struct found_note *note = choose_note(view), *other = choose_note(view);
    switch (choose_below(view->choice, 5)) {
    case 0:
        copy(view, note->at + 8, other->at + 8, 4); // Of another type.
        break;
    case 1: // Another one's contents.
        copy(view, note->contents, other->contents,
             note->size < other->size ? note->size : other->size);
        break;
    case 2:
        file_patch_number(view->file, note->at + 4, choose_below(view->choice, note->size + 1), 4);
        break;
    case 3: // The name.
        damage_number(view, note->at + sizeof(Elf64_Nhdr), 4);
        break;
    default:
        damage_number(view, note->at + 4 * choose_below(view->choice, 3), 4);
    }
}

/* struct elf_prstatus of linux/elfcore.h: signal, thread id, registers. */
static void damage_thread(struct core_view *view, const struct found_note *note)
{
    struct elf_prstatus *const layout = NULL;
    const size_t registers = offsetof(struct elf_prstatus, pr_reg);
    size_t at =
        note->contents + registers + 8 * choose_below(view->choice, sizeof(layout->pr_reg) / 8);
    const struct found_note *other = choose_note(view);
    switch (choose_below(view->choice, 6)) {
    case 0:
        damage_number(view, note->contents + offsetof(struct elf_prstatus, pr_pid), 4);
        break;
    case 1:
        damage_number(view, note->contents + offsetof(struct elf_prstatus, pr_cursig), 2);
        break;
    case 2: // Another thread's id, or a part of another note.
        copy(view, note->contents + offsetof(struct elf_prstatus, pr_pid),
             other->contents + offsetof(struct elf_prstatus, pr_pid), 4);
        break;
    case 3: // A register that leads to another's stack or code.
        copy(view, at,
             other->contents + registers +
                 8 * choose_below(view->choice, sizeof(layout->pr_reg) / 8),
             8);
        break;
    default:
        damage_number(view, at, 8);
    }
}

/* Numbers of 8 bytes: counts and ranges of NT_FILE, pairs of NT_AUXV. */
static void damage_words(struct core_view *view, const struct found_note *note, size_t known)
{
    size_t words = note->size / 8 < known ? note->size / 8 : known;
    for (size_t times = 1 + choose_below(view->choice, 4); times; times--) {
        size_t at = note->contents + 8 * choose_below(view->choice, words);
        size_t from = note->contents + 8 * choose_below(view->choice, words);
        if (choose_one_in(view->choice, 4))
            copy(view, at, from, 8);
        else
            damage_number(view, at, 8);
    }
}

static void damage_bytes(struct core_view *view, const struct found_note *note)
{
    for (size_t times = 1 + choose_below(view->choice, 16); times; times--) {
        uint8_t byte = (uint8_t)choose_number(view->choice, 0);
        file_patch(view->file, note->contents + choose_below(view->choice, note->size), &byte, 1);
    }
}

static void damage_note(struct core_view *view)
{
    const struct found_note *note = choose_note(view);
    if (choose_one_in(view->choice, 5)) {
        damage_bytes(view, note);
        return;
    }
    switch (note->type) {
    case NT_PRSTATUS:
        damage_thread(view, note);
        break;
    case NT_FILE: {
        // Count, page size, and three numbers a range; then the names.
        size_t ranges = (size_t)file_number(view->file, note->contents, 8);
        damage_words(view, note, choose_one_in(view->choice, 3) ? 2 : 2 + 3 * ranges);
        break;
    }
    default:
        damage_words(view, note, SIZE_MAX);
    }
}

static void damage_end(struct core_view *view)
{
    size_t where[] = {choose_below(view->choice, view->file->size),
                      choose_below(view->choice, 65536),
                      view->note_count ? choose_note(view)->contents : 0, choose_header(view)};
    file_truncate(view->file, where[choose_below(view->choice, 4)]);
}

void damage_core(struct choice *choice, struct damaged_file *core)
{
    static struct core_view view;
    memset(&view, 0, sizeof(view));
    view.choice = choice;
    view.file = core;
    see(&view);
    if (!view.header_count || !view.note_count)
        return;
    for (size_t times = 1 + choose_below(choice, 4); times; times--)
        switch (choose_below(choice, 8)) {
        case 0:
            damage_elf_header(&view);
            break;
        case 1:
        case 2:
            damage_program_header(&view);
            break;
        case 3:
            damage_note_header(&view);
            break;
        default:
            damage_note(&view);
        }
    if (choose_one_in(choice, 12))
        damage_end(&view);
}
