/**
 * @file
 * Room `files`: the ELF files behind a module, each opened when it is first asked for: its own
 * and the separate one with its debug information. What others see of it is in modules.h.
 */
#ifndef PSC_FILES_H
#define PSC_FILES_H

#include "base.h"

struct Elf;
struct module;
struct module_files;
struct target_build_id;

/** Closes all of them; NULL is none. */
void module_files_destroy(struct module_files *files);
/** The separate debug file, looked for once; NULL when there is none. */
struct Elf *module_separate_elf(struct module *module);
/** The file inside of .gnu_debugdata of the module's own, looked for once; NULL: there is none. */
struct Elf *module_mini_elf(struct module *module);
/** Whichever of the two files has debug information; else the module's own, which may be NULL. */
struct Elf *module_debug_elf(struct module *module);
/**
 * Opens the file in which dwz has put what several debug files share, by build-id, else by its
 * path on the target. NULL when it is not there; closed by the caller.
 */
struct Elf *module_open_shared(struct module *module, const char *path,
                               const struct target_build_id *build_id);

#endif
