/* Notes, and the build-id among them. */
#include "elf.h"

bool parse_elf_note(struct byte_cursor *notes, uint64_t alignment, struct elf_note *ret)
{
    uint64_t last = (alignment == 8 ? 8 : 4) - 1, left = cursor_left(notes);
    if (left < sizeof(Elf64_Nhdr))
        return false;
    uint64_t name_size = load_u32(notes->next + offsetof(Elf64_Nhdr, n_namesz));
    uint64_t size = load_u32(notes->next + offsetof(Elf64_Nhdr, n_descsz));
    uint64_t bytes_at = (sizeof(Elf64_Nhdr) + name_size + last) & ~last;
    uint64_t next = (bytes_at + size + last) & ~last;
    if (bytes_at > left || size > left - bytes_at) {
        cursor_fail(notes);
        return false;
    }
    *ret = (struct elf_note){
        .type = load_u32(notes->next + offsetof(Elf64_Nhdr, n_type)),
        .name = (const char *)notes->next + sizeof(Elf64_Nhdr),
        .name_size = (size_t)name_size,
        .bytes = {notes->next + bytes_at, (size_t)size},
    };
    notes->next += next < left ? next : left;
    return true;
}

bool parse_build_id_note(const uint8_t *bytes, size_t size, uint64_t alignment,
                         struct elf_bytes *ret)
{
    struct byte_cursor notes = cursor_over(bytes, size);
    struct elf_note note;
    while (parse_elf_note(&notes, alignment, &note))
        if (note.type == NT_GNU_BUILD_ID && note.name_size == sizeof(ELF_NOTE_GNU) &&
            !memcmp(note.name, ELF_NOTE_GNU, strlen(ELF_NOTE_GNU)) && note.bytes.size &&
            note.bytes.size <= ELF_BUILD_ID_LIMIT) {
            *ret = note.bytes;
            return true;
        }
    return false;
}

bool parse_build_id(const uint8_t *image, size_t size, struct elf_bytes *ret)
{
    size_t index = 0;
    struct elf_segment segment;
    while (elf_next_segment(image, size, PT_NOTE, &index, &segment)) {
        if (segment.offset > size)
            continue;
        uint64_t left = size - segment.offset;
        if (segment.file_size < left)
            left = segment.file_size;
        if (parse_build_id_note(image + segment.offset, (size_t)left, segment.alignment, ret))
            return true;
    }
    return false;
}
