/* What the loader sees of an ELF file: segments, relocated pointers, imports, function bounds. */
#include "code_image.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#define HEADER_LIMIT   64
#define DYNAMIC_LIMIT  512
#define POINTER_LIMIT  ((size_t)1 << 21)
#define FUNCTION_LIMIT ((size_t)1 << 20)
#define STRING_LIMIT   512
/** Bytes of an import's name; C++ has long ones. */
#define NAME_LIMIT ((size_t)1 << 14)

/** DW_EH_PE_pcrel | DW_EH_PE_sdata4: what every x86-64 compiler writes. */
#define ENCODING_RELATIVE_4 0x1b
/** DW_EH_PE_datarel | DW_EH_PE_sdata4. */
#define ENCODING_TABLE_4 0x3b
/** DW_EH_PE_udata4. */
#define ENCODING_COUNT_4 0x03

/** The entries of the dynamic section that are used; addresses of the file. */
struct dynamic_part {
    uint64_t symbols;
    uint64_t names;
    uint64_t names_size;
    uint64_t relocations;
    uint64_t relocations_size;
    uint64_t jumps;
    uint64_t jumps_size;
    uint64_t relative;
    uint64_t relative_size;
};

const uint8_t *flow_bytes(const struct flow_image *image, uint64_t address, size_t *ret_size)
{
    for (size_t i = 0; i < image->segment_count; i++) {
        const struct flow_segment *segment = &image->segments[i];
        uint64_t into = address - segment->address;
        if (address < segment->address || into >= segment->size)
            continue;
        *ret_size = (size_t)(segment->size - into);
        return image->bytes + segment->offset + into;
    }
    *ret_size = 0;
    return NULL;
}

const uint8_t *flow_bytes_at(const struct flow_image *image, uint64_t address, size_t size)
{
    size_t have;
    const uint8_t *bytes = flow_bytes(image, address, &have);
    return bytes && have >= size ? bytes : NULL;
}

static bool is_text(const char *text, size_t size)
{
    for (size_t at = 0; at < size;) {
        uint32_t code_point;
        size_t used = utf8_decode(text + at, size - at, &code_point);
        if (!used || code_point < 0x20 || code_point == 0x7f)
            return false;
        at += used;
    }
    return size > 0;
}

const uint8_t *flow_constant_bytes(const struct flow_image *image, uint64_t address,
                                   size_t *ret_size)
{
    for (size_t i = 0; i < image->segment_count; i++) {
        const struct flow_segment *segment = &image->segments[i];
        if (segment->writable && address - segment->address < segment->size)
            return NULL;
    }
    return flow_bytes(image, address, ret_size);
}

const char *flow_string(const struct flow_image *image, uint64_t address)
{
    size_t have;
    const char *text = (const char *)flow_constant_bytes(image, address, &have);
    if (!text || flow_find_function(image, address))
        return NULL;
    size_t length = strnlen(text, have < STRING_LIMIT ? have : STRING_LIMIT);
    if (length == have || length == STRING_LIMIT || !is_text(text, length))
        return NULL;
    return text;
}

/* ---- headers ---- */

static void add_segment(struct flow_image *image, const Elf64_Phdr *header)
{
    uint64_t end;
    if (header->p_type != PT_LOAD || header->p_filesz == 0 ||
        image->segment_count == FLOW_SEGMENT_LIMIT || header->p_offset > image->size ||
        __builtin_add_overflow(header->p_vaddr, header->p_filesz, &end))
        return;
    uint64_t have = image->size - header->p_offset;
    image->segments[image->segment_count++] = (struct flow_segment){
        .address = header->p_vaddr,
        .size = header->p_filesz < have ? header->p_filesz : have,
        .offset = header->p_offset,
        .executable = header->p_flags & PF_X,
        .writable = header->p_flags & PF_W,
    };
}

/** The loaded segments, and those of the dynamic section and of the unwind table. */
static bool read_headers(struct flow_image *image, Elf64_Phdr *ret_dynamic, Elf64_Phdr *ret_eh)
{
    Elf64_Ehdr header;
    *ret_dynamic = *ret_eh = (Elf64_Phdr){0};
    if (image->size < sizeof(header))
        return false;
    memcpy(&header, image->bytes, sizeof(header));
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_ident[EI_DATA] != ELFDATA2LSB ||
        !(image->machine = flow_machine_find(header.e_machine)) ||
        header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phoff > image->size)
        return false;
    size_t room = (image->size - (size_t)header.e_phoff) / sizeof(Elf64_Phdr);
    for (size_t i = 0; i < header.e_phnum && i < room && i < HEADER_LIMIT; i++) {
        Elf64_Phdr segment;
        memcpy(&segment, image->bytes + header.e_phoff + i * sizeof(segment), sizeof(segment));
        add_segment(image, &segment);
        if (segment.p_type == PT_DYNAMIC)
            *ret_dynamic = segment;
        else if (segment.p_type == PT_GNU_EH_FRAME)
            *ret_eh = segment;
    }
    return image->segment_count > 0;
}

static struct dynamic_part read_dynamic(const struct flow_image *image, const Elf64_Phdr *header)
{
    struct dynamic_part part = {0};
    for (uint64_t i = 0; i < DYNAMIC_LIMIT && i < header->p_filesz / sizeof(Elf64_Dyn); i++) {
        const uint8_t *bytes =
            flow_bytes_at(image, header->p_vaddr + i * sizeof(Elf64_Dyn), sizeof(Elf64_Dyn));
        if (!bytes)
            break;
        uint64_t tag = load_u64(bytes), value = load_u64(bytes + 8);
        switch (tag) {
        case DT_NULL:
            return part;
        case DT_SYMTAB:
            part.symbols = value;
            break;
        case DT_STRTAB:
            part.names = value;
            break;
        case DT_STRSZ:
            part.names_size = value;
            break;
        case DT_RELA:
            part.relocations = value;
            break;
        case DT_RELASZ:
            part.relocations_size = value;
            break;
        case DT_JMPREL:
            part.jumps = value;
            break;
        case DT_PLTRELSZ:
            part.jumps_size = value;
            break;
        case DT_RELR:
            part.relative = value;
            break;
        case DT_RELRSZ:
            part.relative_size = value;
            break;
        default:
            break;
        }
    }
    return part;
}

/* ---- pointers ---- */

static bool add_pointer(struct flow_image *image, struct flow_pointer pointer)
{
    if (image->pointer_count == POINTER_LIMIT)
        return true;
    if (!array_reserve((void **)&image->pointers, &image->pointer_capacity,
                       image->pointer_count + 1, sizeof(*image->pointers)))
        return false;
    image->pointers[image->pointer_count++] = pointer;
    return true;
}

/** The name of a symbol, or NULL; its value is 0 when it is an import. */
static const char *read_symbol(const struct flow_image *image, const struct dynamic_part *part,
                               uint64_t index, uint64_t *ret_value)
{
    const uint8_t *bytes =
        flow_bytes_at(image, part->symbols + index * sizeof(Elf64_Sym), sizeof(Elf64_Sym));
    *ret_value = 0;
    if (!bytes)
        return NULL;
    uint32_t name = load_u32(bytes + offsetof(Elf64_Sym, st_name));
    if (load_u16(bytes + offsetof(Elf64_Sym, st_shndx)) != SHN_UNDEF)
        *ret_value = load_u64(bytes + offsetof(Elf64_Sym, st_value));
    size_t have;
    const char *text = (const char *)flow_bytes(image, part->names + name, &have);
    if (!text || name >= part->names_size)
        return NULL;
    return memchr(text, '\0', have < NAME_LIMIT ? have : NAME_LIMIT) ? text : NULL;
}

static bool read_relocations(struct flow_image *image, const struct dynamic_part *part,
                             uint64_t address, uint64_t size)
{
    for (uint64_t i = 0; i < size / sizeof(Elf64_Rela) && i < POINTER_LIMIT; i++) {
        const uint8_t *bytes =
            flow_bytes_at(image, address + i * sizeof(Elf64_Rela), sizeof(Elf64_Rela));
        if (!bytes)
            return true;
        uint64_t info = load_u64(bytes + offsetof(Elf64_Rela, r_info));
        uint64_t addend = load_u64(bytes + offsetof(Elf64_Rela, r_addend));
        struct flow_pointer pointer = {.address = load_u64(bytes)};
        switch (ELF64_R_TYPE(info)) {
        case R_X86_64_RELATIVE:
            pointer.value = addend;
            break;
        case R_X86_64_64:
        case R_X86_64_GLOB_DAT:
        case R_X86_64_JUMP_SLOT: {
            const char *name = read_symbol(image, part, ELF64_R_SYM(info), &pointer.value);
            if (pointer.value)
                pointer.value += ELF64_R_TYPE(info) == R_X86_64_64 ? addend : 0;
            else
                pointer.import = name;
            break;
        }
        default:
            continue;
        }
        if (!add_pointer(image, pointer))
            return false;
    }
    return true;
}

/** A packed relative relocation: the pointer stands in the place itself. */
static bool add_packed(struct flow_image *image, uint64_t address)
{
    const uint8_t *bytes = flow_bytes_at(image, address, 8);
    return !bytes ||
           add_pointer(image, (struct flow_pointer){.address = address, .value = load_u64(bytes)});
}

/** DT_RELR of the generic ABI: addresses, each followed by bit maps of the next 63 words. */
static bool read_packed(struct flow_image *image, const struct dynamic_part *part)
{
    uint64_t next = 0;
    for (uint64_t i = 0; i < part->relative_size / 8 && i < POINTER_LIMIT; i++) {
        const uint8_t *bytes = flow_bytes_at(image, part->relative + i * 8, 8);
        if (!bytes || image->pointer_count == POINTER_LIMIT)
            return true;
        uint64_t entry = load_u64(bytes);
        if (!(entry & 1)) {
            if (!add_packed(image, entry))
                return false;
            next = entry + 8;
            continue;
        }
        for (unsigned bit = 0; bit < 63; bit++)
            if (entry >> (bit + 1) & 1 && !add_packed(image, next + 8 * bit))
                return false;
        next += UINT64_C(63) * 8;
    }
    return true;
}

static int compare_pointers(const void *left, const void *right)
{
    const struct flow_pointer *a = left, *b = right;
    return a->address < b->address ? -1 : a->address > b->address;
}

const struct flow_pointer *flow_find_pointer(const struct flow_image *image, uint64_t address)
{
    size_t low = 0, high = image->pointer_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (image->pointers[middle].address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < image->pointer_count && image->pointers[low].address == address
               ? &image->pointers[low]
               : NULL;
}

/* ---- functions ---- */

/** Whether the description at `entry` uses the usual pointers; the table's reader relies on it. */
static bool has_usual_pointers(const struct flow_image *image, uint64_t entry)
{
    const uint8_t *bytes = flow_bytes_at(image, entry + 4, 4);
    uint64_t common = bytes ? entry + 4 - load_u32(bytes) : 0;
    /* Length, id, version, then the augmentation "zR" or "zPLR"; the encoding is its data. */
    const uint8_t *head = bytes ? flow_bytes_at(image, common, 9) : NULL;
    if (!head || load_u32(head + 4) != 0)
        return false;
    return head[8] == 1 || head[8] == 3;
}

/** Bounds from the frame description that the table leads to. */
static bool add_function(struct flow_image *image, uint64_t start, uint64_t entry)
{
    const uint8_t *bytes = flow_bytes_at(image, entry, 16);
    uint64_t end;
    if (!bytes || !has_usual_pointers(image, entry) ||
        entry + 8 + (uint64_t)(int64_t)(int32_t)load_u32(bytes + 8) != start ||
        __builtin_add_overflow(start, (uint64_t)load_u32(bytes + 12), &end) || end == start)
        return true;
    if (!array_reserve((void **)&image->functions, &image->function_capacity,
                       image->function_count + 1, sizeof(*image->functions)))
        return false;
    image->functions[image->function_count++] = (struct flow_function){.start = start, .end = end};
    return true;
}

static int compare_functions(const void *left, const void *right)
{
    const struct flow_function *a = left, *b = right;
    return a->start < b->start ? -1 : a->start > b->start;
}

/** The binary search table of .eh_frame_hdr (Linux Standard Base, exception frames). */
static bool read_functions(struct flow_image *image, uint64_t header)
{
    const uint8_t *bytes = flow_bytes_at(image, header, 12);
    if (!bytes || bytes[0] != 1 || bytes[1] != ENCODING_RELATIVE_4 ||
        bytes[2] != ENCODING_COUNT_4 || bytes[3] != ENCODING_TABLE_4)
        return false;
    uint64_t count = load_u32(bytes + 8);
    for (uint64_t i = 0; i < count && i < FUNCTION_LIMIT; i++) {
        const uint8_t *pair = flow_bytes_at(image, header + 12 + i * 8, 8);
        if (!pair)
            break;
        uint64_t start = header + (uint64_t)(int64_t)(int32_t)load_u32(pair);
        uint64_t entry = header + (uint64_t)(int64_t)(int32_t)load_u32(pair + 4);
        if (!add_function(image, start, entry))
            return false;
    }
    if (image->function_count)
        qsort(image->functions, image->function_count, sizeof(*image->functions),
              compare_functions);
    return image->function_count > 0;
}

struct flow_function *flow_find_function(const struct flow_image *image, uint64_t address)
{
    size_t low = 0, high = image->function_count;
    /* Most of what is asked for are bytes taken for an address. */
    if (!high || address < image->functions[0].start)
        return NULL;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (image->functions[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low && address < image->functions[low - 1].end ? &image->functions[low - 1] : NULL;
}

/* ---- linkage ---- */

struct flow_target flow_slot_target(const struct flow_image *image, uint64_t slot)
{
    const struct flow_pointer *pointer = flow_find_pointer(image, slot);
    if (!pointer)
        return (struct flow_target){0};
    return (struct flow_target){pointer->import, pointer->value};
}

struct flow_target flow_target_of(const struct flow_image *image, uint64_t address)
{
    struct flow_target here = {NULL, address};
    struct code_range stub = {.address = address};
    stub.bytes = flow_bytes(image, address, &stub.size);
    uint64_t slot = stub.bytes ? image->machine->read_stub(&stub) : 0;
    struct flow_target target = slot ? flow_slot_target(image, slot) : here;
    return target.import || target.address ? target : here;
}

struct flow_target flow_reference_target(const struct flow_image *image,
                                         const struct code_reference *reference)
{
    switch (reference->kind) {
    case REFERENCE_CALL:
    case REFERENCE_JUMP:
    case REFERENCE_BRANCH:
        return flow_target_of(image, reference->target);
    case REFERENCE_CALL_SLOT:
    case REFERENCE_JUMP_SLOT:
        return flow_slot_target(image, reference->target);
    case REFERENCE_ADDRESS:
    case REFERENCE_CALL_POINTER:
        break;
    }
    return (struct flow_target){0};
}

struct code_range flow_function_code(const struct flow_image *image,
                                     const struct flow_function *function)
{
    struct code_range range = {.address = function->start};
    uint64_t size = function->end - function->start;
    range.bytes = flow_bytes(image, function->start, &range.size);
    if (range.size > size)
        range.size = (size_t)size;
    return range;
}

struct code_range flow_segment_code(const struct flow_image *image,
                                    const struct flow_segment *segment)
{
    return (struct code_range){image->bytes + segment->offset, (size_t)segment->size,
                               segment->address};
}

/* ---- life ---- */

bool flow_image_init(struct flow_image *image, const uint8_t *bytes, size_t size)
{
    Elf64_Phdr dynamic, eh;
    *image = (struct flow_image){.bytes = bytes, .size = size};
    if (!read_headers(image, &dynamic, &eh))
        return false;
    struct dynamic_part part = read_dynamic(image, &dynamic);
    bool good = read_relocations(image, &part, part.relocations, part.relocations_size) &&
                read_relocations(image, &part, part.jumps, part.jumps_size) &&
                read_packed(image, &part) && read_functions(image, eh.p_vaddr);
    if (!good) {
        flow_image_deinit(image);
        return false;
    }
    if (image->pointer_count)
        qsort(image->pointers, image->pointer_count, sizeof(*image->pointers), compare_pointers);
    return true;
}

void flow_image_deinit(struct flow_image *image)
{
    free(image->pointers);
    free(image->functions);
    *image = (struct flow_image){0};
}
