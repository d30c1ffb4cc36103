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
    struct module **items; /**< Sorted by start, not overlapping; each in `arena`. */
    size_t count;
    size_t capacity;
    struct jit_images *jit;   /**< Of modules/jit; NULL until some address is asked for. */
    struct named_code *named; /**< The same. */
    uint64_t walked;          /**< In all debug information; see modules/dwarf/dies.c. */
    uint64_t walk_bytes;      /**< Of the units that were walked. */
    uint64_t stored;          /**< Of debug information: so many bytes are compressed ... */
    uint64_t inflated;        /**< ... and have become so many. */
};

/** Where the program headers say things are, in the file's virtual addresses. */
struct module_layout {
    struct elf_range code[MODULE_CODE_RANGE_LIMIT];
    size_t code_count;
    uint64_t eh_frame_address;
    uint64_t eh_frame_size;
    bool eh_frame_checked;
};

/** Addresses of a module whose answers are noted; more are not. */
#define MODULE_ASKED_LIMIT 4096
/** Bytes of the names of its sources. */
#define MODULE_SOURCES_LIMIT ((size_t)64 * 1024)

/** Addresses of the file, in the order in which they were asked for. */
struct asked_addresses {
    uint64_t *items;
    size_t count;
    size_t capacity;
};

/** What had to be read of the files of a module: another target will ask for the same. */
struct module_asked {
    bool opened;
    bool separate;
    bool symbols;
    bool names;
    struct asked_addresses lines;
    struct asked_addresses inlines;
    bool followed; /**< Its machine code. */
    struct asked_addresses codes;
    struct text sources; /**< See module_lesson. */
};

/** Frees what was read of its files. */
void module_deinit(struct module *module);

static inline void asked_add(struct asked_addresses *asked, uint64_t address)
{
    if (asked->count < MODULE_ASKED_LIMIT &&
        array_reserve(&asked->items, &asked->capacity, asked->count + 1, sizeof(*asked->items)))
        asked->items[asked->count++] = address;
}

#endif
