/** @file What the files of room `target` share. */
#ifndef PSC_TARGET_PRIVATE_H
#define PSC_TARGET_PRIVATE_H

#include "elf.h"
#include "target.h"

#include <stdio.h>

/* ---- file_index.c: files below directories that the user names ---- */

struct indexed_file {
    const char *path;
    size_t directory; /**< Below which of those that were added. */
};

/** All zero is an empty one; sorted by the last components of the paths, then by directory. */
struct file_index {
    struct indexed_file *items;
    size_t count;
    size_t capacity;
    size_t directory_count;
};

struct file_index_request {
    struct arena *arena; /**< Keeps the paths. */
    bool (*wants)(void *context, const char *name);
    void *context;
    bool skips_hidden; /**< Directories whose names begin with a dot. */
};

/** Adds what is wanted of the regular files below a directory; to be sorted at the end. */
PSC_MUST_CHECK enum psc_status file_index_add(struct file_index *index,
                                              const struct file_index_request *request,
                                              const char *directory);
void file_index_sort(struct file_index *index);
/** The first file with that last component, or where it would stand. */
size_t file_index_find(const struct file_index *index, const char *base);
/** A malloc'd one; NULL is none. */
void file_index_destroy(struct file_index *index);
/** The last component of a path. */
const char *file_base_name(const char *path);

/** Frees what needed_files.c keeps. */
void target_needed_close(struct target *target);
/** Whether it is the program that the process runs. */
bool target_file_is_program(const struct target *target, const struct target_file *file);
/** Unmaps what target_file_open() mapped. */
void target_files_close(struct target *target);

/**
 * The bytes at an address in the opened file of its mapping, and how many there are; NULL when
 * the file is not there or ends before.
 */
const uint8_t *target_mapped_bytes(const struct target_mapping *mapping, psc_addr address,
                                   size_t *ret_size);
/** True when the offset lies in a segment of the opened file that nothing ever writes to. */
bool target_file_offset_is_constant(const struct target_file *file, uint64_t offset);

/**
 * Fills process.arguments from the initial stack of the process, where the kernel puts argc, argv,
 * envp and auxv one behind the other (System V ABI, AMD64 supplement, figure 3.9).
 * @param first_auxv  the first 16 bytes of the auxv note, by which the place is found.
 */
void target_read_arguments(struct target *target, const uint8_t first_auxv[16]);

/** Everything common to all kinds, of the machine that this runs on; NULL when out of memory. */
struct target *target_create(enum target_kind kind, const struct target_ops *ops,
                             const char *executable, const struct target_options *options);

/** The entries of an auxiliary vector that are wanted; the others of *auxv stay. */
void parse_auxv(const uint8_t *bytes, size_t size, struct target_auxv *auxv);

/** Sets process.executable by auxv. */
void target_find_executable(struct target *target);

/**
 * Sorts items that begin with the addresses of a start and an end. Overlapping ones come only from
 * damaged files and debuggers that err: the first one stays.
 * @return how many are left.
 */
size_t target_sort_ranges(void *items, size_t count, size_t item_size);

/** Paths, as a list of mappings names them, and their files. */
struct file_names {
    struct hash_table table;
};

void file_names_init(struct file_names *names);
void file_names_deinit(struct file_names *names);
/**
 * The file of the path, added to the target when it is a new one. The path is the caller's as long
 * as the list is used. PSC_ERR_MEMORY only.
 */
PSC_MUST_CHECK enum psc_status file_names_find(struct file_names *names, struct target *target,
                                               const char *path, struct target_file **ret);

/** Machines: machine_NAME.c each. */
extern const struct target_machine target_x86_64;

/** Registers and thread pointer out of a kernel's user_regs_struct, machine->user_size bytes. */
void parse_user_registers(const struct target_machine *machine, const uint8_t *bytes,
                          struct target_registers *ret, psc_addr *ret_thread_pointer);

/** Puts a thread pointer into such a struct. */
void store_thread_pointer(const struct target_machine *machine, psc_addr thread_pointer,
                          uint8_t *bytes);

/** Looks in memory for the blocks of threads of which the thread pointer is 0 (glibc). */
void target_search_thread_pointers(struct target *target);

/** Notes of a core file. */
struct core_notes {
    struct target *target;
    /* In the image; no data without. */
    struct elf_bytes auxv;
    struct elf_bytes files;   /**< NT_FILE */
    struct elf_bytes process; /**< NT_PRPSINFO */
    /* Our own notes, see save.h. */
    struct elf_bytes names;
    struct elf_bytes slim;
    struct elf_bytes slim_segments;
    struct elf_bytes slim_holes;
    struct elf_bytes slim_files;
    struct elf_bytes slim_parts;
    struct elf_bytes slim_packages;
    size_t thread_capacity;
    struct hash_table tids; /**< Of the threads so far, as uint64_t. */
    bool thread_skipped;    /**< The last thread was one that is there already. */
    size_t bytes_left;      /**< Of notes that are still read: each byte of the file once. */
    int32_t first_signal;   /**< pr_cursig of the first thread. */
    bool has_foreign;       /**< Notes of another size than the machine's were met. */
};

/** One NT_FILE range. */
struct core_file_range {
    psc_addr start;
    psc_addr end;
    uint64_t offset;
    const char *path; /**< In the note. */
    struct target_file *file;
};

/** Whether this program has added it to a core. */
bool core_note_is_own(const struct elf_note *note);
/** Takes one note; PSC_ERR_MEMORY only. */
PSC_MUST_CHECK enum psc_status core_notes_add(struct core_notes *notes,
                                              const struct elf_note *note);
/** Fills target->process, auxv and the signal from what was collected. */
void core_notes_finish(struct core_notes *notes);
/** The ranges of an NT_FILE note in its order, without their files; malloc'd, or NULL for none. */
PSC_MUST_CHECK enum psc_status parse_core_files(const struct elf_bytes *note,
                                                struct core_file_range **ret, size_t *ret_count);
/** The same, sorted by start, with their files, which are added to the target. */
PSC_MUST_CHECK enum psc_status core_notes_list_files(const struct core_notes *notes,
                                                     struct core_file_range **ret,
                                                     size_t *ret_count);

#endif
