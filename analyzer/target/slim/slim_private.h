/** @file What the files of room `target/slim` share. */
#ifndef PSC_SLIM_PRIVATE_H
#define PSC_SLIM_PRIVATE_H

#include "slim.h"

#include "core.h"
#include "elf.h"
#include "reads.h"
#include "save.h"

/** Appends the files that were needed, and their note. */
void slim_put_files(struct target *target, struct core_file *file, struct text *notes);

#endif
