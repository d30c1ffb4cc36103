/** @file What the files of room `files` share. */
#ifndef PSC_FILES_PRIVATE_H
#define PSC_FILES_PRIVATE_H

#include "files.h"
#include "modules_private.h"

/** The separate debug file, by build-id or the .gnu_debuglink of `own`; NULL for none. */
struct Elf *files_find_separate(struct module *module, struct Elf *own);

#endif
