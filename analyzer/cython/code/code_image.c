/* What the loader sees of an ELF file: relocated pointers, imports, function bounds. */
#include "code.h"

#include <stdlib.h>
#include <string.h>

#define POINTER_LIMIT  ((size_t)1 << 21)
#define FUNCTION_LIMIT ((size_t)1 << 20)
#define STRING_LIMIT   512
/** Items that are looked at one by one. */
#define NEAR_LIMIT 16

const uint8_t *code_bytes(const struct code_image *image, uint64_t address, size_t *ret_size)
{
    return elf_image_bytes(&image->elf, address, ret_size);
}

const uint8_t *code_bytes_at(const struct code_image *image, uint64_t address, size_t size)
{
    return elf_image_bytes_at(&image->elf, address, size);
}

static bool is_text(const char *text, size_t size)
{
    for (size_t at = 0; at < size;) {
        uint32_t code_point;
        while (at < size && text[at] >= 0x20 && text[at] < 0x7f)
            at++;
        if (at == size)
            break;
        size_t used = utf8_decode(text + at, size - at, &code_point);
        if (!used || code_point < 0x20 || code_point == 0x7f)
            return false;
        at += used;
    }
    return size > 0;
}

const uint8_t *code_constant_bytes(const struct code_image *image, uint64_t address,
                                   size_t *ret_size)
{
    for (size_t i = 0; i < image->elf.load_count; i++) {
        const struct elf_load *load = &image->elf.loads[i];
        if (load->writable && address - load->address < load->size)
            return NULL;
    }
    return code_bytes(image, address, ret_size);
}

bool code_constants_hold(const struct code_image *image, const char *text, size_t size)
{
    for (size_t i = 0; i < image->elf.load_count; i++) {
        const struct elf_load *load = &image->elf.loads[i];
        if (!load->writable && !load->executable &&
            memmem(image->elf.bytes + load->offset, (size_t)load->size, text, size))
            return true;
    }
    return false;
}

const char *code_string(const struct code_image *image, uint64_t address)
{
    size_t have;
    const char *text = (const char *)code_constant_bytes(image, address, &have);
    if (!text || code_find_function(image, address))
        return NULL;
    size_t length = strnlen(text, have < STRING_LIMIT ? have : STRING_LIMIT);
    if (length == have || length == STRING_LIMIT || !is_text(text, length))
        return NULL;
    return text;
}

/* ---- pointers ---- */

/** What is made of the relocations. */
struct pointer_list {
    struct code_image *image;
    const struct elf_dynamic *dynamic;
    bool failed; /**< Out of memory. */
};

static bool add_pointer(void *context, const struct elf_relocation *relocation)
{
    struct pointer_list *list = context;
    struct code_image *image = list->image;
    struct code_pointer pointer = {.address = relocation->address};
    struct elf_symbol symbol;
    if (image->pointer_count == POINTER_LIMIT)
        return false;
    if (relocation->kind == ELF_RELOCATION_BASE) {
        pointer.value = relocation->addend;
    } else {
        const char *name =
            elf_dynamic_symbol(&image->elf, list->dynamic, relocation->symbol, &symbol);
        pointer.value = symbol.address;
        if (!pointer.value)
            pointer.import = name;
        else if (relocation->kind == ELF_RELOCATION_SYMBOL_ADDEND)
            pointer.value += relocation->addend;
    }
    list->failed = !array_reserve(&image->pointers, &image->pointer_capacity,
                                  image->pointer_count + 1, sizeof(*image->pointers));
    if (list->failed)
        return false;
    image->pointers[image->pointer_count++] = pointer;
    return true;
}

static bool read_pointers(struct code_image *image)
{
    struct elf_dynamic dynamic;
    struct pointer_list list = {.image = image, .dynamic = &dynamic};
    parse_elf_dynamic(&image->elf, &dynamic);
    parse_elf_relocations(&image->elf, &dynamic, add_pointer, &list);
    return !list.failed;
}

static int compare_pointers(const void *left, const void *right)
{
    const struct code_pointer *a = left, *b = right;
    return COMPARE(a->address, b->address);
}

const struct code_pointer *code_find_pointer(const struct code_image *image, uint64_t address)
{
    size_t first;
    if (!code_index_covers(&image->by_address, address))
        return NULL;
    const size_t count = code_index_find(&image->by_address, address, &first);
    return SORTED_FIND(image->pointers + first, address, count, address);
}

const struct code_pointer *code_pointer_behind(const struct code_image *image,
                                               const struct code_pointer *pointer, uint64_t offset)
{
    const struct code_pointer *end = image->pointers + image->pointer_count;
    const uint64_t address = pointer->address + offset;
    if (address <= pointer->address)
        return code_find_pointer(image, address);
    if ((size_t)(end - pointer) > NEAR_LIMIT)
        end = pointer + NEAR_LIMIT;
    for (pointer++; pointer < end; pointer++)
        if (pointer->address >= address)
            return pointer->address == address ? pointer : NULL;
    return end == image->pointers + image->pointer_count ? NULL : code_find_pointer(image, address);
}

/* ---- functions ---- */

/** Whether the description at `entry` uses the usual pointers; the table's reader relies on it. */
static bool has_usual_pointers(const struct code_image *image, uint64_t entry)
{
    const uint8_t *bytes = code_bytes_at(image, entry + 4, 4);
    uint64_t common = bytes ? entry + 4 - load_u32(bytes) : 0;
    /* Length, id, version, then the augmentation "zR" or "zPLR"; the encoding is its data. */
    const uint8_t *head = bytes ? code_bytes_at(image, common, 9) : NULL;
    if (!head || load_u32(head + 4) != 0)
        return false;
    return head[8] == 1 || head[8] == 3;
}

/** Bounds from the frame description that the table leads to. */
static bool add_function(struct code_image *image, uint64_t start, uint64_t entry)
{
    const uint8_t *bytes = code_bytes_at(image, entry, 16);
    uint64_t end;
    if (!bytes || !has_usual_pointers(image, entry) ||
        entry + 8 + (uint64_t)(int64_t)(int32_t)load_u32(bytes + 8) != start ||
        __builtin_add_overflow(start, (uint64_t)load_u32(bytes + 12), &end) || end == start)
        return true;
    if (!array_reserve(&image->functions, &image->function_capacity, image->function_count + 1,
                       sizeof(*image->functions)))
        return false;
    image->functions[image->function_count++] = (struct code_function){.start = start, .end = end};
    return true;
}

static int compare_functions(const void *left, const void *right)
{
    const struct code_function *a = left, *b = right;
    return COMPARE(a->start, b->start);
}

/** The binary search table of .eh_frame_hdr (Linux Standard Base, exception frames). */
static bool read_functions(struct code_image *image, uint64_t header)
{
    size_t have;
    const uint8_t *bytes = code_bytes(image, header, &have);
    uint64_t count = bytes ? parse_eh_frame_header(bytes, have, have) : 0;
    for (uint64_t i = 0; i < count && i < FUNCTION_LIMIT; i++) {
        const uint8_t *pair = code_bytes_at(image, header + 12 + i * 8, 8);
        if (!pair)
            break;
        uint64_t start = header + (uint64_t)(int64_t)(int32_t)load_u32(pair);
        uint64_t entry = header + (uint64_t)(int64_t)(int32_t)load_u32(pair + 4);
        if (!add_function(image, start, entry))
            return false;
    }
    return image->function_count > 0;
}

struct code_function *code_find_function(const struct code_image *image, uint64_t address)
{
    size_t first = image->function_count, count = 0;
    /* Most of what is asked for are bytes taken for an address. */
    if (!first || address < image->functions[0].start)
        return NULL;
    if (code_index_covers(&image->by_start, address))
        count = code_index_find(&image->by_start, address, &first);
    const size_t below =
        first + (count ? SORTED_UP_TO(image->functions + first, start, count, address) : 0);
    struct code_function *last = &image->functions[below - 1];
    return address < last->end ? last : NULL;
}

struct code_function *code_function_from(const struct code_image *image, uint64_t start)
{
    size_t first;
    if (!code_index_covers(&image->by_start, start))
        return NULL;
    size_t count = code_index_find(&image->by_start, start, &first);
    if (count > NEAR_LIMIT) {
        struct code_function *function = code_find_function(image, start);
        return function && function->start == start ? function : NULL;
    }
    /* The last one, as code_find_function() has it. */
    while (count-- > 0)
        if (image->functions[first + count].start <= start)
            return image->functions[first + count].start == start ? &image->functions[first + count]
                                                                  : NULL;
    return NULL;
}

/* ---- linkage ---- */

struct code_target code_slot_target(const struct code_image *image, uint64_t slot)
{
    const struct code_pointer *pointer = code_find_pointer(image, slot);
    if (!pointer)
        return (struct code_target){0};
    return (struct code_target){pointer->import, pointer->value};
}

struct code_target code_target_of(const struct code_image *image, uint64_t address)
{
    struct code_target here = {NULL, address};
    struct code_range stub = {.address = address};
    stub.bytes = code_bytes(image, address, &stub.size);
    uint64_t slot = stub.bytes ? image->abi->read_stub(&stub) : 0;
    struct code_target target = slot ? code_slot_target(image, slot) : here;
    return target.import || target.address ? target : here;
}

struct code_target code_reference_target(const struct code_image *image,
                                         const struct code_reference *reference)
{
    switch (reference->kind) {
    case REFERENCE_CALL:
    case REFERENCE_JUMP:
    case REFERENCE_BRANCH:
        return code_target_of(image, reference->target);
    case REFERENCE_CALL_SLOT:
    case REFERENCE_JUMP_SLOT:
        return code_slot_target(image, reference->target);
    case REFERENCE_ADDRESS:
    case REFERENCE_CALL_POINTER:
        break;
    }
    return (struct code_target){0};
}

struct code_range code_of_function(const struct code_image *image,
                                   const struct code_function *function)
{
    struct code_range range = {.address = function->start};
    uint64_t size = function->end - function->start;
    range.bytes = code_bytes(image, function->start, &range.size);
    if (range.size > size)
        range.size = (size_t)size;
    return range;
}

struct code_range code_of_segment(const struct code_image *image, const struct elf_load *segment)
{
    return (struct code_range){image->elf.bytes + segment->offset, (size_t)segment->size,
                               segment->address};
}

/* ---- life ---- */

/** Puts what is sorted from `middle` on where it belongs among what is sorted before. */
static bool merge_items(char *items, size_t middle, size_t count, size_t size,
                        int (*compare)(const void *left, const void *right))
{
    const size_t behind = count - middle;
    char *later = malloc(behind * size);
    if (!later)
        return false;
    memcpy(later, items + middle * size, behind * size);
    size_t left = middle, right = behind;
    while (left && right) {
        const bool last = compare(items + (left - 1) * size, later + (right - 1) * size) > 0;
        memcpy(items + (left + right - 1) * size,
               last ? items + (left - 1) * size : later + (right - 1) * size, size);
        *(last ? &left : &right) -= 1;
    }
    memcpy(items, later, right * size);
    free(later);
    return true;
}

/** In the order of their addresses, in which linkers write most of them. */
static bool sort_items(struct code_index *index, void *items, size_t count, size_t size,
                       int (*compare)(const void *left, const void *right))
{
    size_t rising = 1;
    while (rising < count &&
           compare((char *)items + (rising - 1) * size, (char *)items + rising * size) <= 0)
        rising++;
    if (rising < count) {
        qsort((char *)items + rising * size, count - rising, size, compare);
        if (!merge_items(items, rising, count, size, compare))
            return false;
    }
    return code_index_init(index, items, size, count);
}

bool code_image_init(struct code_image *image, const uint8_t *bytes, size_t size)
{
    *image = (struct code_image){0};
    if (!parse_elf_image(bytes, size, &image->elf))
        return false;
    image->abi = code_abi_find(image->elf.machine);
    if (!image->abi || !read_pointers(image) ||
        !read_functions(image, image->elf.eh_frame.address) ||
        !sort_items(&image->by_start, image->functions, image->function_count,
                    sizeof(*image->functions), compare_functions) ||
        !sort_items(&image->by_address, image->pointers, image->pointer_count,
                    sizeof(*image->pointers), compare_pointers)) {
        code_image_deinit(image);
        return false;
    }
    return true;
}

void code_image_deinit(struct code_image *image)
{
    code_index_deinit(&image->by_address);
    code_index_deinit(&image->by_start);
    free(image->pointers);
    free(image->functions);
    *image = (struct code_image){0};
}
