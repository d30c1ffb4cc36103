/** @file What the files of room `files` share. */
#ifndef PSC_FILES_PRIVATE_H
#define PSC_FILES_PRIVATE_H

#include "files.h"
#include "modules_private.h"

/** The separate debug file, by build-id or the .gnu_debuglink of `own`; NULL for none. */
struct Elf *files_find_separate(struct module *module, struct Elf *own);

/**
 * The bytes of the file that are loaded, at their places in the file, out of the target's memory.
 * NULL unless all of them can be read. malloc'd.
 */
uint8_t *files_read_memory(const struct module *module, size_t *ret_size);

#endif
