/** @file What the files of room `target/slim` share. */
#ifndef PSC_SLIM_PRIVATE_H
#define PSC_SLIM_PRIVATE_H

#include "slim.h"

#include "core.h"
#include "elf.h"
#include "reads.h"
#include "save.h"

/** Parts of a file, whole pages but at its end; none: not known, or all of it. */
struct slim_parts {
    struct elf_range *items; /**< malloc'd. */
    size_t count;
};

/**
 * What this process has looked at of a file that it has mapped, once or more often, as the kernel's
 * tables of its pages tell. Pages beside these may be among them: the kernel maps 64 KB at a time.
 * @param bytes   the file, mapped whole.
 * @param is_new  that mapping was made just now: without another one nothing is known.
 */
void slim_find_parts(const struct elf_bytes *bytes, bool is_new, struct slim_parts *ret);

/** Appends the files that were needed, and their note. */
void slim_put_files(struct target *target, struct core_file *file, struct text *notes);

#endif
