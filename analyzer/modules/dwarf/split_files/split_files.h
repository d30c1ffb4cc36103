/**
 * @file
 * Room `modules/dwarf/split_files`: units out of files that libdw 0.188 does not read, or not
 * whole: a .dwp, in which dwp(1) and llvm-dwp put all .dwo files of a program, and a .dwo with type
 * units in sections of their own, of which it takes the first. One unit with all that it refers to
 * is made a file that libdw reads.
 */
#ifndef PSC_SPLIT_FILES_H
#define PSC_SPLIT_FILES_H

#include "elf.h"

struct split_file;

/**
 * @param elf    is the split file's from then on, also when there is no memory for it.
 * @param arena  for what is decompressed; outlives it.
 * @return NULL when out of memory.
 */
struct split_file *split_file_open(struct Elf *elf, struct arena *arena);
/** NULL is allowed. */
void split_file_close(struct split_file *file);

/** Sections at most: those that units have in any version. */
#define UNIT_PIECE_LIMIT 17

/** Bytes of one section. */
struct unit_piece {
    const char *section; /**< ".debug_info.dwo" */
    struct elf_bytes bytes;
};

struct unit_pieces {
    struct unit_piece items[UNIT_PIECE_LIMIT];
    size_t count;
};

/**
 * What belongs to a unit; good until the file is closed. False: it is not in it, or damaged.
 * @param is_type  a type unit by its signature, else one by its id, which units of DWARF 4 do not
 *                 have in a .dwo.
 */
bool split_file_find(struct split_file *file, bool is_type, uint64_t id, struct unit_pieces *ret);

/** A .dwo file of them in memory: its descriptor, to be closed; -1: it cannot be made. */
int unit_pieces_write(const struct unit_pieces *pieces);
/** The same without copies: both have to outlive what is opened. NULL: it cannot be made. */
struct Elf *unit_pieces_open(const struct unit_pieces *pieces, struct arena *arena);

#endif
