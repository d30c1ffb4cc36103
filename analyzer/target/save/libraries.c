/* The list of loaded libraries, which debuggers begin with. */
#include "save.h"

#include "elf.h"

#define PROGRAM_HEADER_LIMIT 512
#define LIBRARY_LIMIT        20000
#define DYNAMIC_SIZE_LIMIT   8192
#define NAMESPACE_LIMIT      16

/* elfutils asks for all of it at once (libdwfl/link_map.c). */
static void read_whole(struct target *target, psc_addr address, psc_addr size)
{
    uint8_t bytes[DYNAMIC_SIZE_LIMIT];
    if (address && size <= sizeof(bytes))
        (void)target_read_some(target, address, bytes, (size_t)size);
}

/* The address of r_debug, by the program's dynamic section; 0: there is none. */
static psc_addr find_debug(struct target *target)
{
    psc_addr bias = 0, dynamic = 0, dynamic_size = 0, address;
    for (size_t i = 0; i < target->auxv.phnum && i < PROGRAM_HEADER_LIMIT; i++) {
        uint8_t bytes[ELF_SEGMENT_SIZE];
        struct elf_segment segment;
        if (target_read(target, target->auxv.phdr + i * sizeof(bytes), bytes, sizeof(bytes)))
            return 0;
        parse_elf_segment(bytes, &segment);
        if (segment.type == PT_PHDR)
            bias = target->auxv.phdr - segment.address;
        else if (segment.type == PT_DYNAMIC) {
            dynamic = segment.address;
            dynamic_size = segment.memory_size;
        }
    }
    address = dynamic ? dynamic + bias : 0;
    read_whole(target, address, dynamic_size);
    struct elf_dynamic found = {0};
    for (size_t i = 0; address && !found.debug && i < ELF_DYNAMIC_LIMIT; i++) {
        uint8_t entry[ELF_DYNAMIC_SIZE];
        if (target_read(target, address, entry, sizeof(entry)) ||
            !parse_elf_dynamic_entry(entry, &found))
            return 0;
        address += sizeof(entry);
    }
    return found.debug;
}

/* Up to the entry that ends it. */
static void read_dynamic(struct target *target, psc_addr address)
{
    uint8_t entry[ELF_DYNAMIC_SIZE];
    struct elf_dynamic found = {0};
    for (size_t i = 0; address && i < ELF_DYNAMIC_LIMIT; i++, address += sizeof(entry))
        if (target_read(target, address, entry, sizeof(entry)) ||
            !parse_elf_dynamic_entry(entry, &found))
            return;
}

/* What is read is kept: nothing has to be done with it. glibc's and musl's link.h. */
void save_read_libraries(struct target *target, bool dynamic)
{
    psc_addr debug = find_debug(target);
    for (size_t n = 0; debug && n < NAMESPACE_LIMIT; n++) {
        struct {
            uint64_t version, map, breakpoint, state, base, next;
        } list = {0};
        if (target_read(target, debug, &list, 5 * sizeof(uint64_t)))
            return;
        psc_addr map = list.map;
        for (size_t i = 0; map && i < LIBRARY_LIMIT; i++) {
            struct {
                uint64_t address, name, dynamic, next, previous;
            } library;
            char name[4096];
            if (target_read(target, map, &library, sizeof(library)))
                break;
            if (target_read_string(target, library.name, name, sizeof(name)))
                name[0] = '\0';
            if (dynamic)
                read_dynamic(target, library.dynamic);
            map = library.next;
        }
        // r_debug_extended of glibc 2.35: further namespaces (dlmopen).
        debug = (uint32_t)list.version >= 2 &&
                        !target_read_u64(target, debug + 5 * sizeof(uint64_t), &list.next)
                    ? list.next
                    : 0;
    }
}
