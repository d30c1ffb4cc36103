/* The files behind a module: its own, the separate debug file, what dwz shares. */
#include "modules_private.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATH_SIZE 4096
/** zlib cannot do better than about 1 : 1032; a header that claims more is wrong. */
#define COMPRESSION_RATIO_LIMIT 1100
/** Compressed bytes that are decompressed without being asked to. */
#define CHEAP_COMPRESSED_SIZE (512 * 1024)

/* ---- opening ---- */

/** Opens a local ELF file by libelf; NULL when it is none. End with elf_end(). */
static Elf *open_local(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    /* Not elf_memory(): elf_compress() changes section headers in place, and only with
       ELF_C_READ_MMAP does libelf copy them out of the (read-only) mapping first. */
    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    if (elf && (elf_kind(elf) != ELF_K_ELF || gelf_getclass(elf) != ELFCLASS64 ||
                elf_cntl(elf, ELF_C_FDREAD) != 0)) {
        elf_end(elf);
        elf = NULL;
    }
    if (elf)
        elf_cntl(elf, ELF_C_FDDONE);
    close(fd);
    return elf;
}

static void open_file(struct module *module)
{
    struct module_debug *debug = module->debug;
    if (debug->file_opened)
        return;
    debug->file_opened = true;
    if (!module->file) {
        if (module->image)
            debug->elf = elf_memory((char *)(uintptr_t)module->image, module->image_size);
        return;
    }
    target_file_open(module->owner->target, module->file);
    module->image = module->file->image;
    module->image_size = module->file->size;
    if (!module->image || !module->file->local_path)
        return;
    debug->elf = open_local(module->file->local_path);
    size_t size = 0;
    if (debug->elf && (!elf_rawfile(debug->elf, &size) || size != module->image_size)) {
        elf_end(debug->elf); /* Replaced since target_file_open() looked at it. */
        debug->elf = NULL;
    }
}

struct Elf *module_elf(struct module *module)
{
    open_file(module);
    return module->debug->elf;
}

void module_close_files(struct module *module)
{
    struct module_debug *debug = module->debug;
    dwarf_end(debug->dwarf);
    dwarf_end(debug->shared);
    elf_end(debug->shared_elf);
    elf_end(debug->separate);
    elf_end(debug->elf);
}

/* ---- sections ---- */

/** ".debug_x" also finds ".zdebug_x", which is how GNU tools named compressed ones. */
static bool section_name_is(const char *found, const char *name)
{
    return strcmp(found, name) == 0 || (strncmp(name, ".debug_", 7) == 0 && found[0] == '.' &&
                                        found[1] == 'z' && strcmp(found + 2, name + 1) == 0);
}

/** NULL for none, or when `elf` is NULL. */
static Elf_Scn *find_section(Elf *elf, const char *name, Elf64_Shdr *ret)
{
    size_t names;
    if (!elf || elf_getshdrstrndx(elf, &names) != 0)
        return NULL;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section)) != NULL;) {
        const Elf64_Shdr *header = elf64_getshdr(section);
        const char *found = header ? elf_strptr(elf, names, header->sh_name) : NULL;
        if (found && section_name_is(found, name)) {
            *ret = *header;
            return section;
        }
    }
    return NULL;
}

static Elf_Scn *find_section_with_bytes(Elf *elf, const char *name, Elf64_Shdr *ret)
{
    Elf_Scn *section = find_section(elf, name, ret);
    return section && ret->sh_type != SHT_NOBITS && ret->sh_size > 0 ? section : NULL;
}

/** True when .debug_line or .debug_info is in it, compressed or not. */
static bool has_debug_info(Elf *elf)
{
    Elf64_Shdr header;
    return find_section_with_bytes(elf, ".debug_line", &header) ||
           find_section_with_bytes(elf, ".debug_info", &header);
}

void module_open(struct module *module)
{
    Elf *elf = module_elf(module);
    module->has_debug_info = has_debug_info(elf) || has_debug_info(module_separate_elf(module));
}

/** zlib data of SHF_COMPRESSED by libdeflate; whatever else there is by libelf, in place. */
static bool decompress_section(Elf *elf, Elf_Scn *section, const Elf64_Shdr *header,
                               struct arena *arena, struct section_bytes *ret)
{
    GElf_Chdr compressed;
    size_t names;
    if (header->sh_flags & SHF_COMPRESSED) {
        if (!gelf_getchdr(section, &compressed) ||
            compressed.ch_size / COMPRESSION_RATIO_LIMIT > header->sh_size)
            return false;
        const Elf_Data *raw = elf_rawdata(section, NULL);
        if (compressed.ch_type == ELFCOMPRESS_ZLIB && raw && raw->d_buf &&
            raw->d_size > sizeof(Elf64_Chdr))
            return inflate_bytes((const uint8_t *)raw->d_buf + sizeof(Elf64_Chdr),
                                 raw->d_size - sizeof(Elf64_Chdr), compressed.ch_size, arena, ret);
        return elf_compress(section, 0, 0) >= 0;
    }
    if (elf_getshdrstrndx(elf, &names) != 0)
        return false;
    const char *name = elf_strptr(elf, names, header->sh_name);
    if (!name || strncmp(name, ".zdebug", 7) != 0)
        return true;
    /* "ZLIB" and the size, big-endian. */
    const Elf_Data *data = elf_rawdata(section, NULL);
    if (!data || !data->d_buf || data->d_size < 12)
        return false;
    const uint8_t *bytes = data->d_buf;
    uint64_t size = 0;
    for (size_t i = 4; i < 12; i++)
        size = size << 8 | bytes[i];
    return size / COMPRESSION_RATIO_LIMIT <= data->d_size && elf_compress_gnu(section, 0, 0) >= 0;
}

bool elf_read_debug_section(Elf *elf, const char *name, struct arena *arena,
                            struct section_bytes *ret)
{
    Elf64_Shdr header;
    Elf_Scn *section = find_section_with_bytes(elf, name, &header);
    struct section_bytes inflated = {0};
    if (!section || !decompress_section(elf, section, &header, arena, &inflated))
        return false;
    if (inflated.data) {
        *ret = inflated;
        return true;
    }
    const Elf_Data *data = elf_rawdata(section, NULL);
    if (!data || !data->d_buf || data->d_size == 0)
        return false;
    ret->data = data->d_buf;
    ret->size = data->d_size;
    return true;
}

bool module_find_section(struct module *module, const char *name, psc_addr *ret_address,
                         uint64_t *ret_size)
{
    Elf64_Shdr header;
    if (!find_section(module_elf(module), name, &header))
        return false;
    *ret_address = header.sh_addr ? header.sh_addr + module->bias : 0;
    *ret_size = header.sh_size;
    return true;
}

/* ---- the separate debug file ---- */

/** CRC-32 as .gnu_debuglink has it (ISO 3309, reflected). */
static uint32_t crc32_of(const uint8_t *bytes, size_t size)
{
    uint32_t table[256];
    for (uint32_t i = 0; i < PSC_ARRAY_SIZE(table); i++) {
        uint32_t value = i;
        for (int bit = 0; bit < 8; bit++)
            value = value & 1 ? value >> 1 ^ 0xedb88320u : value >> 1;
        table[i] = value;
    }
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < size; i++)
        crc = table[(crc ^ bytes[i]) & 0xff] ^ crc >> 8;
    return ~crc;
}

/** What a file must be to be accepted. */
struct wanted_file {
    const struct target_build_id *build_id;
    bool has_crc;
    uint32_t crc;
};

/** Equal build-ids, or, when one side has none, the checksum. */
static bool file_fits(Elf *elf, const struct wanted_file *wanted)
{
    const void *id = NULL;
    ssize_t size = dwelf_elf_gnu_build_id(elf, &id);
    if (size > 0 && wanted->build_id->size > 0)
        return (size_t)size == wanted->build_id->size &&
               memcmp(id, wanted->build_id->bytes, (size_t)size) == 0;
    size_t image_size;
    const char *image = wanted->has_crc ? elf_rawfile(elf, &image_size) : NULL;
    return image && crc32_of((const uint8_t *)image, image_size) == wanted->crc;
}

static Elf *try_local(const char *path, const struct wanted_file *wanted)
{
    Elf *elf = path ? open_local(path) : NULL;
    if (elf && !file_fits(elf, wanted)) {
        elf_end(elf);
        elf = NULL;
    }
    return elf;
}

/** `on_target`: the path is one of the target's, to be seen through its sysroot. */
static Elf *try_path(struct target *target, bool on_target, const struct wanted_file *wanted,
                     const char *format, ...) PSC_PRINTF(4, 5);

static Elf *try_path(struct target *target, bool on_target, const struct wanted_file *wanted,
                     const char *format, ...)
{
    char path[PATH_SIZE];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(path, sizeof(path), format, args);
    va_end(args);
    if (length < 0 || (size_t)length >= sizeof(path))
        return NULL;
    return try_local(on_target ? target_find_local_path(target, path) : path, wanted);
}

static Elf *find_by_build_id(struct target *target, const struct target_build_id *id)
{
    char hex[TARGET_BUILD_ID_TEXT];
    if (id->size < 2)
        return NULL;
    target_build_id_text(id, hex);

    const struct target_options *options = &target->options;
    struct wanted_file wanted = {.build_id = id};
    Elf *elf = NULL;
    if (options->debug_directory)
        elf = try_path(target, true, &wanted, "%s/.build-id/%.2s/%s.debug",
                       options->debug_directory, hex, hex + 2);
    for (size_t i = 0; !elf && i < options->library_directory_count; i++)
        elf = try_path(target, false, &wanted, "%s/.build-id/%.2s/%s.debug",
                       options->library_directories[i], hex, hex + 2);
    return elf;
}

/** Beside the file, below it in .debug, and below the debug directory, as gdb looks. */
static Elf *find_by_link(struct module *module, const char *link, const struct wanted_file *wanted)
{
    struct target *target = module->owner->target;
    const struct target_options *options = &target->options;
    const char *local = module->file->local_path;
    int directory = (int)(module->name - module->path);
    const char *local_name = strrchr(local, '/');
    int local_directory = local_name ? (int)(local_name + 1 - local) : 0;

    Elf *elf = try_path(target, false, wanted, "%.*s%s", local_directory, local, link);
    if (!elf)
        elf = try_path(target, false, wanted, "%.*s.debug/%s", local_directory, local, link);
    if (!elf)
        elf = try_path(target, true, wanted, "%.*s%s", directory, module->path, link);
    if (!elf)
        elf = try_path(target, true, wanted, "%.*s.debug/%s", directory, module->path, link);
    if (!elf && options->debug_directory)
        elf = try_path(target, true, wanted, "%s%.*s%s", options->debug_directory, directory,
                       module->path, link);
    for (size_t i = 0; !elf && i < options->library_directory_count; i++)
        elf = try_path(target, false, wanted, "%s/%s", options->library_directories[i], link);
    return elf;
}

static Elf *find_separate(struct module *module)
{
    const struct module_debug *debug = module->debug;
    Elf *elf = find_by_build_id(module->owner->target, &module->build_id);
    if (elf || !debug->elf || !module->file)
        return elf;
    struct wanted_file wanted = {.build_id = &module->build_id, .has_crc = true};
    GElf_Word crc;
    const char *link = dwelf_elf_gnu_debuglink(debug->elf, &crc);
    /* Only a name: it must not lead out of the directories that are searched. */
    if (!link || !*link || strchr(link, '/'))
        return NULL;
    wanted.crc = crc;
    return find_by_link(module, link, &wanted);
}

/** A file that has all of it needs no other. */
static bool is_complete(Elf *elf)
{
    Elf64_Shdr header;
    return has_debug_info(elf) && find_section(elf, ".symtab", &header);
}

Elf *module_separate_elf(struct module *module)
{
    struct module_debug *debug = module->debug;
    if (debug->separate_searched)
        return debug->separate;
    debug->separate_searched = true;
    open_file(module);
    if (!debug->elf || !is_complete(debug->elf))
        debug->separate = find_separate(module);
    return debug->separate;
}

/* ---- DWARF ---- */

/** dwz moves what several files share into one more file, named by .gnu_debugaltlink. */
static void attach_shared_dwarf(struct module *module)
{
    struct module_debug *debug = module->debug;
    const char *name;
    const void *id;
    struct target_build_id build_id = {.size = 0};
    ssize_t size = dwelf_dwarf_gnu_debugaltlink(debug->dwarf, &name, &id);
    if (size <= 0 || size > TARGET_BUILD_ID_MAX)
        return;
    memcpy(build_id.bytes, id, (size_t)size);
    build_id.size = (size_t)size;
    debug->shared_elf = find_by_build_id(module->owner->target, &build_id);
    if (!debug->shared_elf && name[0] == '/') {
        struct wanted_file wanted = {.build_id = &build_id};
        debug->shared_elf = try_path(module->owner->target, true, &wanted, "%s", name);
    }
    if (debug->shared_elf)
        debug->shared = dwarf_begin_elf(debug->shared_elf, DWARF_C_READ, NULL);
    if (debug->shared)
        dwarf_setalt(debug->dwarf, debug->shared);
}

/**
 * False when a debug section claims a size that it cannot have: libdw would believe it.
 * @param ret_compressed  bytes of the file that would have to be decompressed.
 */
static bool sections_are_sane(Elf *elf, uint64_t *ret_compressed)
{
    *ret_compressed = 0;
    size_t names;
    if (elf_getshdrstrndx(elf, &names) != 0)
        return false;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section)) != NULL;) {
        const Elf64_Shdr *header = elf64_getshdr(section);
        const char *name = header ? elf_strptr(elf, names, header->sh_name) : NULL;
        GElf_Chdr compressed;
        if (!name || header->sh_type == SHT_NOBITS)
            continue;
        if (strncmp(name, ".zdebug", 7) == 0)
            *ret_compressed += header->sh_size;
        if (!(header->sh_flags & SHF_COMPRESSED))
            continue;
        *ret_compressed += header->sh_size;
        if (!gelf_getchdr(section, &compressed) ||
            compressed.ch_size / COMPRESSION_RATIO_LIMIT > header->sh_size)
            return false;
    }
    return true;
}

bool elf_file_is_sane(const char *path)
{
    uint64_t compressed;
    Elf *elf = open_local(path);
    bool sane = elf && sections_are_sane(elf, &compressed);
    elf_end(elf);
    return sane;
}

Elf *module_debug_elf(struct module *module)
{
    Elf *elf = module_elf(module);
    if (has_debug_info(elf))
        return elf;
    Elf *separate = module_separate_elf(module);
    return has_debug_info(separate) ? separate : elf;
}

struct Dwarf *module_dwarf_if_cheap(struct module *module)
{
    uint64_t compressed;
    Elf *elf = module_debug_elf(module);
    if (!module->debug->dwarf_opened && elf && sections_are_sane(elf, &compressed) && compressed)
        return NULL;
    return module_dwarf(module);
}

bool module_inlines_are_cheap(struct module *module)
{
    uint64_t compressed;
    Elf *elf = module_debug_elf(module);
    return module->debug->dwarf_opened || !elf || !sections_are_sane(elf, &compressed) ||
           compressed <= CHEAP_COMPRESSED_SIZE;
}

struct Dwarf *module_dwarf(struct module *module)
{
    struct module_debug *debug = module->debug;
    if (debug->dwarf_opened)
        return debug->dwarf;
    debug->dwarf_opened = true;
    Elf *elf = module_debug_elf(module);
    uint64_t compressed;
    if (!elf || !sections_are_sane(elf, &compressed))
        return NULL;
    debug->dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
    if (debug->dwarf)
        attach_shared_dwarf(module);
    return debug->dwarf;
}
