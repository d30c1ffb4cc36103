/* Notes of a core file that is written, as the kernel's fs/binfmt_elf.c lays them out. */
#include "save.h"

#include <elf.h>
#include <string.h>

#define FILE_PAGE UINT64_C(4096)

static void put_padding(struct text *notes)
{
    static const char zeros[4];
    text_add(notes, zeros, (4 - (notes->size & 3)) & 3);
}

void core_put_note(struct text *notes, const char *owner, uint32_t type, const void *bytes,
                   size_t size)
{
    Elf64_Nhdr header = {(uint32_t)strlen(owner) + 1, (uint32_t)size, type};
    if (size > UINT32_MAX) {
        notes->failed = true;
        return;
    }
    text_add(notes, (const char *)&header, sizeof(header));
    text_add(notes, owner, header.n_namesz);
    put_padding(notes);
    text_add(notes, bytes, size);
    put_padding(notes);
}

static void store_u32(uint8_t *at, uint32_t value)
{
    memcpy(at, &value, sizeof(value));
}

static void store_ids(uint8_t *at, int32_t tid, const struct core_identity *identity)
{
    store_u32(at, (uint32_t)tid);
    store_u32(at + 4, (uint32_t)identity->parent);
    store_u32(at + 8, (uint32_t)identity->group);
    store_u32(at + 12, (uint32_t)identity->session);
}

/* struct elf_prstatus, with its pr_fpvalid and padding. */
#define STATUS_LIMIT (112 + TARGET_USER_REGISTERS_LIMIT + 8)

/* struct elf_prstatus (include/uapi/linux/elfcore.h); no signal: it lives. */
void core_put_status(struct text *notes, const struct core_identity *identity, int32_t tid,
                     const uint8_t registers[TARGET_USER_REGISTERS_LIMIT], bool has_fp)
{
    const struct target_machine *machine = identity->machine;
    uint8_t status[STATUS_LIMIT] = {0};
    store_ids(status + 32, tid, identity);
    memcpy(status + 112, registers, machine->user_size);
    store_u32(status + 112 + machine->user_size, has_fp);
    core_put_note(notes, CORE_OWNER, NT_PRSTATUS, status, machine->status_size);
}

/* struct elf_prpsinfo; pr_state is the index of the letter (fs/binfmt_elf.c, fill_psinfo()). */
void core_put_process(struct text *notes, const struct core_identity *identity)
{
    static const char states[] = "RSDTZW";
    uint8_t info[136] = {0};
    const char *found = identity->state ? strchr(states, identity->state) : NULL;
    info[0] = (uint8_t)(found ? found - states : 0);
    info[1] = (uint8_t)identity->state;
    info[2] = identity->state == 'Z';
    info[3] = (uint8_t)identity->nice;
    memcpy(info + 8, &identity->flags, sizeof(identity->flags));
    store_u32(info + 16, identity->user);
    store_u32(info + 20, identity->user_group);
    store_ids(info + 24, identity->pid, identity);
    if (identity->name)
        memcpy(info + 40, identity->name, strnlen(identity->name, 15));
    size_t used = 0;
    for (size_t i = 0; i < identity->argument_count && used < 79; i++) {
        if (i)
            info[56 + used++] = ' ';
        size_t length = strnlen(identity->arguments[i], 79 - used);
        memcpy(info + 56 + used, identity->arguments[i], length);
        used += length;
    }
    core_put_note(notes, CORE_OWNER, NT_PRPSINFO, info, sizeof(info));
}

void core_put_files(struct text *notes, const struct target_mapping *mappings, size_t count)
{
    struct text note = {0};
    uint64_t head[2] = {0, FILE_PAGE};
    for (size_t i = 0; i < count; i++)
        head[0] += mappings[i].file != NULL;
    text_add(&note, (const char *)head, sizeof(head));
    for (size_t i = 0; i < count; i++) {
        const struct target_mapping *mapping = &mappings[i];
        const uint64_t range[3] = {mapping->start, mapping->end, mapping->offset / FILE_PAGE};
        if (mapping->file)
            text_add(&note, (const char *)range, sizeof(range));
    }
    for (size_t i = 0; i < count; i++) {
        const struct target_file *file = mappings[i].file;
        if (!file)
            continue;
        text_add_string(&note, file->path);
        if (file->deleted)
            text_add_string(&note, " (deleted)");
        text_add(&note, "", 1);
    }
    if (note.failed)
        notes->failed = true;
    else
        core_put_note(notes, CORE_OWNER, NT_FILE, note.data, note.size);
    text_deinit(&note);
}

void core_put_names(struct text *notes, const struct target_thread *threads, size_t count)
{
    struct text note = {0};
    for (size_t i = 0; i < count; i++) {
        uint8_t record[CORE_NAME_RECORD] = {0};
        if (!threads[i].name)
            continue;
        store_u32(record, (uint32_t)threads[i].tid);
        memcpy(record + 4, threads[i].name, strnlen(threads[i].name, CORE_NAME_SIZE));
        text_add(&note, (const char *)record, sizeof(record));
    }
    if (note.failed)
        notes->failed = true;
    else if (note.size)
        core_put_note(notes, CORE_OWNER_OURS, CORE_NOTE_NAMES, note.data, note.size);
    text_deinit(&note);
}
