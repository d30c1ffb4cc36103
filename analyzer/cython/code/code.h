/**
 * @file
 * Room `code`: what the loader sees of a module's file: segments, pointers that relocations fill,
 * imports, where functions begin and end, and what refers to what without following any code.
 *
 * Addresses are the file's own (unrelocated). All bytes are foreign: they may be any.
 * Knows no instructions but calls, jumps and loads of addresses. What is not known is NULL, 0 or
 * false.
 */
#ifndef PSC_CODE_H
#define PSC_CODE_H

#include "elf.h"
#include "code_abi.h"
#include "code_index.h"

/** A place in data that the loader fills. */
struct code_pointer {
    uint64_t address;   /**< First, as code_index_init() wants it. */
    uint64_t value;     /**< 0 when it is an import. */
    const char *import; /**< Or NULL. In the image. */
};

/** A function, as .eh_frame bounds it. */
struct code_function {
    uint64_t start; /**< First, too. */
    uint64_t end;
    bool called;  /**< By some call here. */
    bool pointed; /**< Its address is in data. Neither: a fragment of another function. */
    /** Of such a fragment, a function that jumps into it or takes its address; see there. */
    uint32_t jumped_from;
    uint32_t addressed_from;
};

struct code_image {
    const struct code_abi *abi;
    struct elf_image elf;
    struct code_pointer *pointers; /**< Sorted by address. */
    size_t pointer_count;
    size_t pointer_capacity;
    struct code_function *functions; /**< Sorted by start. */
    size_t function_count;
    size_t function_capacity;
    bool referrers_read;
    struct code_index by_address; /**< Of the pointers. */
    struct code_index by_start;   /**< Of the functions. */
};

/**
 * False when it is not a shared object of a machine that is known, has no search table of
 * .eh_frame, or no memory.
 */
bool code_image_init(struct code_image *image, const uint8_t *bytes, size_t size);
void code_image_deinit(struct code_image *image);

/** The bytes at an address, and how many there are; NULL outside of all segments. */
const uint8_t *code_bytes(const struct code_image *image, uint64_t address, size_t *ret_size);
/** The bytes at an address when there are so many, else NULL. */
const uint8_t *code_bytes_at(const struct code_image *image, uint64_t address, size_t size);
/** As code_bytes(), in memory that is not written to; NULL elsewhere. */
const uint8_t *code_constant_bytes(const struct code_image *image, uint64_t address,
                                   size_t *ret_size);
/** Whether text stands in a segment of constants alone; linkers may put these to the code, too. */
bool code_constants_hold(const struct code_image *image, const char *text, size_t size);
/** A printable UTF-8 string in memory that is not written to, and not inside a function. */
const char *code_string(const struct code_image *image, uint64_t address);
const struct code_pointer *code_find_pointer(const struct code_image *image, uint64_t address);
/** As code_find_pointer(), so many bytes behind one of the image's: most stand near each other. */
const struct code_pointer *code_pointer_behind(const struct code_image *image,
                                               const struct code_pointer *pointer, uint64_t offset);
struct code_function *code_find_function(const struct code_image *image, uint64_t address);
/** The one that begins at an address, or NULL. */
struct code_function *code_function_from(const struct code_image *image, uint64_t start);

/** A function's code, as far as the file has it; empty: it has none. */
struct code_range code_of_function(const struct code_image *image,
                                   const struct code_function *function);
/** That of a segment. */
struct code_range code_of_segment(const struct code_image *image, const struct elf_load *segment);

/** Where a call or jump goes: to an import, or to an address here. */
struct code_target {
    const char *import; /**< Or NULL. */
    uint64_t address;   /**< 0: not known, or an import. */
};

/** Looks through a stub of the procedure linkage table. */
struct code_target code_target_of(const struct code_image *image, uint64_t address);
/** What a slot of the global offset table leads to. */
struct code_target code_slot_target(const struct code_image *image, uint64_t slot);
/** What a call or jump leads to; empty when that is not known. */
struct code_target code_reference_target(const struct code_image *image,
                                         const struct code_reference *reference);

/* ---- functions in several parts ---- */

/** Whether nothing calls a function and no data points to it: it may be a part of another. */
bool code_is_fragment(const struct code_function *function);
/** The function that jumps into a fragment; NULL when it is no fragment. */
const struct code_function *code_find_jumping(struct code_image *image,
                                              const struct code_function *function);
/** Who takes the address of a function that nothing calls, to hand it to somebody; or NULL. */
const struct code_function *code_find_addressing(struct code_image *image,
                                                 const struct code_function *function);
/** Whether two addresses are in one function, cold parts included. */
bool code_is_same_function(struct code_image *image, uint64_t a, uint64_t b);
/** True when a jump from `function` goes on within it: gcc puts cold parts elsewhere. */
bool code_is_inside(const struct code_image *image, const struct code_function *function,
                    struct code_target target);

#endif
