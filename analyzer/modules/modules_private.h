/**
 * @file
 * What all rooms of modules/ know of a module besides its door.
 */
#ifndef PSC_MODULES_PRIVATE_H
#define PSC_MODULES_PRIVATE_H

#include "elf.h"
#include "modules.h"

/** Executable segments remembered per module. */
#define MODULE_CODE_RANGE_LIMIT 8

struct jit_images;
struct named_code;

struct modules {
    struct target *target;
    struct arena *arena;
    struct module *items; /**< Sorted by start, not overlapping. */
    size_t count;
    size_t capacity;
    struct jit_images *jit;   /**< Of modules/jit; NULL until some address is asked for. */
    struct named_code *named; /**< The same. */
    uint64_t walked;          /**< In all debug information; see modules/dwarf/dies.c. */
    uint64_t walk_bytes;      /**< Of the units that were walked. */
};

/** Where the program headers say things are, in the file's virtual addresses. */
struct module_layout {
    struct elf_range code[MODULE_CODE_RANGE_LIMIT];
    size_t code_count;
    uint64_t eh_frame_address;
    uint64_t eh_frame_size;
    bool eh_frame_checked;
};

#endif
