/**
 * @file
 * Private to flow/ but for who opens its door: what the loader sees of a module's file: segments,
 * pointers that relocations fill, imports, and where functions begin and end.
 *
 * Addresses are the file's own (unrelocated). All bytes are foreign: they may be any.
 */
#ifndef PSC_CODE_IMAGE_H
#define PSC_CODE_IMAGE_H

#include "elf.h"
#include "flow_machine.h"

/** A place in data that the loader fills. */
struct flow_pointer {
    uint64_t address;
    uint64_t value;     /**< 0 when it is an import. */
    const char *import; /**< Or NULL. In the image. */
};

/** A function, as .eh_frame bounds it. */
struct flow_function {
    uint64_t start;
    uint64_t end;
    bool called;  /**< By some call here. */
    bool pointed; /**< Its address is in data. Neither: a fragment of another function. */
    /** Of such a fragment, a function that jumps into it or takes its address; see there. */
    uint32_t jumped_from;
    uint32_t addressed_from;
};

struct flow_image {
    const struct flow_machine *machine;
    struct elf_image elf;
    struct flow_pointer *pointers; /**< Sorted by address. */
    size_t pointer_count;
    size_t pointer_capacity;
    struct flow_function *functions; /**< Sorted by start. */
    size_t function_count;
    size_t function_capacity;
};

/** False when it is not a shared object of a machine that is known, has no search table of
 * .eh_frame, or no memory. */
bool flow_image_init(struct flow_image *image, const uint8_t *bytes, size_t size);
void flow_image_deinit(struct flow_image *image);

/** The bytes at an address, and how many there are; NULL outside of all segments. */
const uint8_t *flow_bytes(const struct flow_image *image, uint64_t address, size_t *ret_size);
/** The bytes at an address when there are so many, else NULL. */
const uint8_t *flow_bytes_at(const struct flow_image *image, uint64_t address, size_t size);
/** As flow_bytes(), in memory that is not written to; NULL elsewhere. */
const uint8_t *flow_constant_bytes(const struct flow_image *image, uint64_t address,
                                   size_t *ret_size);
/** A printable UTF-8 string in memory that is not written to, and not inside a function. */
const char *flow_string(const struct flow_image *image, uint64_t address);
const struct flow_pointer *flow_find_pointer(const struct flow_image *image, uint64_t address);
struct flow_function *flow_find_function(const struct flow_image *image, uint64_t address);

/** A function's code, as far as the file has it; empty: it has none. */
struct code_range flow_function_code(const struct flow_image *image,
                                     const struct flow_function *function);
/** That of a segment. */
struct code_range flow_segment_code(const struct flow_image *image, const struct elf_load *segment);

/** Where a call or jump goes: to an import, or to an address here. */
struct flow_target {
    const char *import; /**< Or NULL. */
    uint64_t address;   /**< 0: not known, or an import. */
};

/** Looks through a stub of the procedure linkage table. */
struct flow_target flow_target_of(const struct flow_image *image, uint64_t address);
/** What a slot of the global offset table leads to. */
struct flow_target flow_slot_target(const struct flow_image *image, uint64_t slot);
/** What a call or jump leads to; empty when that is not known. */
struct flow_target flow_reference_target(const struct flow_image *image,
                                         const struct code_reference *reference);

#endif
