/* The files of a module, each opened once. */
#include "files_private.h"

#include <stdlib.h>

struct module_files {
    bool opened;
    bool separate_searched;
    struct Elf *elf;
    struct Elf *separate; /* The separate debug file. */
    bool mini_searched;
    struct Elf *mini;    /* In .gnu_debugdata. */
    uint8_t *mini_bytes; /* What it lies in. */
    bool debug_chosen;
    bool has_debug_info;
    struct Elf *debug; /* The one of both that has debug information, else the own. */
    uint8_t *memory;   /* The file as memory has it, where it is not at hand. */
};

void module_files_destroy(struct module_files *files)
{
    if (!files)
        return;
    elf_file_close(files->mini);
    free(files->mini_bytes);
    elf_file_close(files->separate);
    elf_file_close(files->elf);
    free(files->memory);
    free(files);
}

static struct module_files *files_of(struct module *module)
{
    if (!module->files)
        module->files = calloc(1, sizeof(*module->files));
    return module->files;
}

static struct Elf *open_memory(struct module *module)
{
    size_t size = 0;
    module->files->memory = files_read_memory(module, &size);
    if (!module->files->memory)
        return NULL;
    module->from_memory = true;
    module->image = module->files->memory;
    module->image_size = size;
    return elf_file_of_bytes(module->image, size);
}

static struct Elf *open_own(struct module *module)
{
    if (!module->file)
        return module->image ? elf_file_of_bytes(module->image, module->image_size) : NULL;
    target_file_open(module->owner->target, module->file);
    module->image = module->file->image;
    module->image_size = module->file->size;
    if (!module->image || !module->file->local_path)
        return open_memory(module);
    // libelf changes section headers where it decompresses.
    if (module->file->spare)
        return elf_file_of_bytes(module->file->spare, module->file->size);
    struct Elf *elf =
        elf_file_open(target_open_module(module->owner->target, module->file->local_path));
    if (elf && elf_file_bytes(elf).size != module->image_size) {
        elf_file_close(elf); /* Replaced since target_file_open() looked at it. */
        elf = NULL;
    }
    return elf;
}

/* All that is kept of the module's files; the one who kept it has it no more. */
static bool take_kept(struct module *module)
{
    struct module *kept = module->file ? module->file->kept : NULL;
    if (module->files || !kept || !kept->files)
        return false;
    module->image = kept->image;
    module->image_size = kept->image_size;
    module->files = kept->files;
    module->symbols = kept->symbols;
    module->dwarf = kept->dwarf;
    module->code = kept->code;
    module->destroy_code = kept->destroy_code;
    kept->code = NULL;
    kept->files = NULL;
    kept->symbols = NULL;
    kept->dwarf = NULL;
    return true;
}

struct Elf *module_elf(struct module *module)
{
    if (!module->files && module->file) {
        target_file_open(module->owner->target, module->file);
        if (take_kept(module))
            return module->files->elf;
    }
    struct module_files *files = files_of(module);
    if (files && !files->opened) {
        files->opened = true;
        files->elf = open_own(module);
        if (module->asked)
            module->asked->opened = true;
    }
    return files ? files->elf : NULL;
}

/** A file that has all of it needs no other. */
static bool is_complete(struct Elf *elf)
{
    struct elf_section section;
    return elf_file_has_debug_info(elf) && elf_file_find_section(elf, ".symtab", &section);
}

struct Elf *module_separate_elf(struct module *module)
{
    struct Elf *elf = module_elf(module);
    struct module_files *files = files_of(module);
    if (files && !files->separate_searched) {
        files->separate_searched = true;
        if (module->asked)
            module->asked->separate = true;
        if (!is_complete(elf))
            files->separate = files_find_separate(module, elf);
    }
    return files ? files->separate : NULL;
}

struct Elf *module_mini_elf(struct module *module)
{
    struct Elf *elf = module_elf(module);
    struct module_files *files = files_of(module);
    if (files && !files->mini_searched) {
        files->mini_searched = true;
        files->mini = elf_file_open_debugdata(elf, &files->mini_bytes);
    }
    return files ? files->mini : NULL;
}

/* The separate file is opened only where the own one has nothing. */
static void choose_debug(struct module *module, struct module_files *files)
{
    struct Elf *own = module_elf(module), *separate = NULL;
    files->debug_chosen = true;
    files->debug = own;
    files->has_debug_info = elf_file_has_debug_info(own);
    if (!files->has_debug_info)
        separate = module_separate_elf(module);
    if (elf_file_has_debug_info(separate)) {
        files->has_debug_info = true;
        files->debug = separate;
    }
}

struct Elf *module_debug_elf(struct module *module)
{
    module_elf(module);
    struct module_files *files = files_of(module);
    if (files && !files->debug_chosen)
        choose_debug(module, files);
    return files ? files->debug : NULL;
}

void module_open(struct module *module)
{
    module_debug_elf(module);
    module->has_debug_info = module->files && module->files->has_debug_info;
}

bool module_find_section(struct module *module, const char *name, psc_addr *ret_address,
                         uint64_t *ret_size)
{
    struct elf_section section;
    if (!elf_file_find_section(module_elf(module), name, &section))
        return false;
    *ret_address = section.address ? section.address + module->bias : 0;
    *ret_size = section.size;
    return true;
}
