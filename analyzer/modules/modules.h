/**
 * @file
 * Room `modules`: the ELF files mapped into the target, what lies where in
 * them: build-id, symbols, sections, file and line, inlined calls.
 *
 * Answers are about target addresses; the load bias is handled here. A module
 * whose file is missing or mismatched still has its range, name and build-id,
 * and what its dumped pages tell (program headers, .eh_frame_hdr). Knows no Python. All answers are
 * the module's, until modules_destroy(); what is not there is NULL or false, and only
 * modules_create() fails.
 */
#ifndef PSC_MODULES_H
#define PSC_MODULES_H

#include "dwarf/dwarf.h"
#include "target.h"

struct Elf;
struct module_layout;
struct symbol_table;
struct module_files;
struct module_dwarf;
struct module_asked;

struct module {
    const char *path; /**< As the target names it; "[vdso]" for the vdso. */
    const char *name; /**< Its last component. */
    psc_addr start;   /**< Lowest mapped address. */
    psc_addr end;
    psc_addr bias;            /**< Target address minus the file's virtual address. */
    struct target_file *file; /**< NULL for the vdso. */
    struct target_build_id build_id;
    const char *build_id_hex; /**< Lower case, or NULL. */
    bool is_executable_file;  /**< The main program (its range holds AT_PHDR or AT_ENTRY). */
    /** No file: an image of code that a compiler in the process made and described to debuggers. */
    bool made_at_run_time;
    /** .debug_line or .debug_info, here or in a separate file; known after module_open(). */
    bool has_debug_info;
    /** There is no file: `image` is what memory has of it. Known after module_open(). */
    bool from_memory;

    /* PT_GNU_EH_FRAME, checked: version 1, encodings 1b 03 3b, table inside; 0 = unusable.
       Known once modules_find() gave the module. */
    psc_addr eh_frame_hdr;
    psc_addr eh_frame_table;   /**< First entry of the binary search table. */
    uint64_t eh_frame_entries; /**< 8 bytes each. */

    /* Owned by modules/; made on first need. */
    struct modules *owner;
    const uint8_t *image; /**< The file's bytes, or the vdso's; NULL when there are none. */
    size_t image_size;
    struct module_layout *layout;
    struct symbol_table *symbols;
    struct module_files *files;
    struct module_dwarf *dwarf;
    struct module_asked *asked; /**< What was read of its files; NULL: it is not noted. */

    /** What the room `cython` keeps of its machine code; `destroy_code` frees it with the module.
     */
    struct kept_code *code;
    void (*destroy_code)(struct kept_code *code);
};

struct modules;

/** Lists the ELF files of the target's mappings, and its vdso. Keeps `target`. */
PSC_MUST_CHECK enum psc_status modules_create(struct target *target, struct modules **ret,
                                              struct psc_error *err);
/**
 * Lists what the target has mapped since; the others stay what and where they are. *ret_gone: one
 * of them is not mapped any more, or was replaced, and nothing was changed.
 */
PSC_MUST_CHECK enum psc_status modules_take_new(struct modules *modules, bool *ret_gone);
void modules_destroy(struct modules *modules);

/** Without those that were made at run time, which modules_find() alone gives. */
size_t modules_count(const struct modules *modules);
/** Sorted by start. */
struct module *modules_get(struct modules *modules, size_t index);
/** The module whose range holds the address, or NULL. */
struct module *modules_find(struct modules *modules, psc_addr address);
/**
 * What a program has written for perf(1) of the code at an address that no module has: in its
 * jitdump file, or, of a living process, in /tmp/perf-PID.map. NULL: nothing. Owned by `modules`.
 */
const char *modules_find_code_name(struct modules *modules, psc_addr address);
struct target *modules_target(struct modules *modules);
/**
 * To be called when the target has gone on: code that is made at run time is looked for anew.
 * Modules that were given stay what they are.
 */
void modules_forget_code(struct modules *modules);
/**
 * Opens the module's file and looks for its separate debug file, once. The
 * functions below do so themselves; only who reads `image` or `has_debug_info`
 * has to call it.
 */
void module_open(struct module *module);

/* ---- symbols ---- */

struct module_symbol {
    const char *name; /**< The linker's; owned by the module. */
    psc_addr address; /**< In the target. */
    uint64_t size;    /**< 0: unknown. */
};

/**
 * The function that holds the address: from .symtab, else of the separate
 * debug file, else .dynsym. A symbol with a size must cover the address; one
 * without reaches to the next symbol of its section (not in .dynsym, which does
 * not list what lies between). Among several at one address: global before
 * weak before local, then the shortest name. A version ("@@GLIBC_2.2.5") is cut off.
 * @return false when none covers it.
 */
bool module_find_symbol(struct module *module, psc_addr address, struct module_symbol *ret);
/** A defined symbol (function or data) by its exact name; false when there is none. */
bool module_find_symbol_named(struct module *module, const char *name, struct module_symbol *ret);
/** The same of the symbols that the loader sees alone: no debug file is read for it. */
bool module_find_exported(struct module *module, const char *name, struct module_symbol *ret);
/** Calls `visit` for each function symbol, until it returns false. */
void module_each_symbol(struct module *module,
                        bool (*visit)(void *context, const struct module_symbol *symbol),
                        void *context);
/** A section by name, from the file; address 0 is possible for unallocated ones. */
bool module_find_section(struct module *module, const char *name, psc_addr *ret_address,
                         uint64_t *ret_size);
/** True when .dynsym imports this name (undefined there). */
bool module_imports(struct module *module, const char *name);

/** The file, opened by libelf (see elf_file.h); NULL when there is none. */
struct Elf *module_elf(struct module *module);

/* ---- what is kept for other targets ---- */

/** What had to be read of one file; text and numbers of whoever wrote it. */
struct module_lesson {
    const char *path; /**< As the target names it; path_size bytes, without a zero. */
    size_t path_size;
    struct target_build_id build_id;
    bool separate; /**< Its separate debug file was looked for. */
    bool symbols;
    bool names; /**< Symbols by their names. */
    bool code;  /**< Its machine code was followed. */
    /** Addresses of the file, 8 bytes each, little-endian: whose lines, whose inlined calls, what
     * machine code tells of which. */
    const uint8_t *lines, *inlines, *codes;
    size_t line_count, inline_count, code_count;
    /** What module_note_source() was told: pairs of text, each with its zero. */
    const char *sources;
    size_t source_size;
};

/** Bytes of a path in a lesson. */
#define MODULE_LESSON_PATH_LIMIT 4096

/**
 * Appends what was read of the files of modules as bytes for parse_module_lesson(); of files that
 * are known by their build-id alone. Nothing where the target's options keep nothing.
 */
void modules_write_lessons(const struct modules *modules, struct text *ret);
/** Notes that the machine code at an address of the file was followed; 0: that it is of no use. */
void module_note_code(struct module *module, uint64_t file_address);
/**
 * Notes that a source of the building machine was looked for: generated C whose own lines were
 * read where `pyx_file` is empty; `c_file` may be empty, too.
 */
void module_note_source(struct module *module, const char *c_file, const char *pyx_file);
/** The next one; false at the end, and when it is damaged: bytes->failed then. */
bool parse_module_lesson(struct byte_cursor *bytes, struct module_lesson *ret);

/**
 * Modules without a process: their files, opened and read as lessons say. A target whose options
 * name them takes over what it needs, so that nothing is left of that for another one: each is
 * opened in a child process, which has its own copy.
 */
struct kept_modules;

/** Looks for files as targets with these options do. NULL when out of memory. */
struct kept_modules *kept_modules_create(const struct target_options *options);
void kept_modules_destroy(struct kept_modules *kept);
/**
 * Reads of a file here what the lesson says, but for its machine code. What would make a warning is
 * not kept, nor are files beyond the limits. @return the file's module; NULL: it is not kept.
 */
struct module *kept_modules_learn(struct kept_modules *kept, const struct module_lesson *lesson);
/** For target_options.find_kept: a file by its path and build-id. */
bool kept_modules_find(struct kept_modules *kept, struct target_file *file);

/* ---- names ---- */

/** A mangled name can stand for an exponentially longer one; this much of it is enough. */
#define DEMANGLED_LIMIT ((size_t)65536)

/**
 * C++ and Rust names as debuggers print them in a backtrace (libiberty): qualified,
 * with template arguments, without the list of parameters, Rust's hash and the
 * compiler's suffixes (.cold, .part.0, .constprop.0, .isra.0, ...).
 * @param limit  bytes of it that are enough; some more may come.
 * @param time  grows by the nanoseconds of processor time of one that has many parts; or NULL.
 * @return malloc'd, or NULL when the name is not mangled.
 */
char *demangle_symbol(const char *symbol, size_t limit, uint64_t *time);

#endif
