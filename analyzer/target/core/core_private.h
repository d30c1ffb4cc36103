/** @file What the files of room `target/core` share. */
#ifndef PSC_CORE_PRIVATE_H
#define PSC_CORE_PRIVATE_H

#include "core.h"
#include "core_image.h"
#include "elf.h"
#include "save.h"
#include "target_private.h"

#define CORE_PROCESS_SIZE 136 /* struct elf_prpsinfo of 64-bit machines. */

struct core_segment {
    psc_addr start;
    psc_addr end;      /**< Of the memory. */
    psc_addr file_end; /**< Of what the file holds of it. */
    size_t offset;     /**< Of its bytes in the file. */
    uint32_t flags;
};

/** Bytes that the file has room for, and does not hold. */
struct core_hole {
    psc_addr start;
    psc_addr end;
};

/** A file that is in a slim core. */
struct core_packed_file {
    const char *path; /**< In the note. */
    uint64_t offset;  /**< In the core. */
    uint64_t stored;
    uint64_t size;
    const struct core_slim_part *parts; /**< That are there, sorted, not overlapping; none: all. */
    size_t part_count;
    uint64_t part_size; /**< Of all of them. */
    int fd;             /**< Unpacked; -1: not yet. */
    bool is_bad;
    bool is_watched; /**< What is not there are holes of the opened file. */
    char own_path[32];
};

/** The process itself, where the kernel holds it. */
struct core_held {
    int fd;                  /**< Of /proc/PID/mem; -1: it is a core file alone. */
    struct hash_table pages; /**< Those that were read. */
    size_t missed;           /**< Pages that could not be read. */
    size_t missed_in_row;    /**< Of these the last ones, one behind the other, */
    psc_addr missed_next;    /**< and the page behind them. */
    psc_addr missing_start;  /**< From here */
    psc_addr missing_end;    /**< to there nothing is asked for any more. */
};

struct core {
    const char *path;
    bool truncated; /**< Parts of the file are missing. */
    struct core_image image;
    struct core_segment *segments; /**< Sorted, not overlapping. */
    size_t segment_count;
    size_t last_segments[64]; /**< That were met last, by bits of the address. */
    size_t last_mapping;
    struct core_held held;
    /* slim_notes.c: of a slim core. */
    struct core_segment *declared; /**< Of the core that it was made of; NULL: it is none. */
    size_t declared_count;
    struct core_hole *holes; /**< Sorted, not overlapping. */
    size_t hole_count;
    uint32_t slim_flags; /**< enum core_slim_flag */
    struct core_packed_file *files;
    size_t file_count;
    struct core_slim_part *parts;                              /**< Of all files. */
    const char *(*find_file)(void *context, const char *path); /**< The caller's. */
    void *find_file_context;
};

/* ---- core_pieces.c ---- */

/** The bytes at an address that the core itself has, and how many follow in one piece; or NULL. */
const uint8_t *core_dumped_piece(struct target *target, psc_addr address, size_t *ret_size);
/** Of struct target_ops. */
const uint8_t *core_piece(struct target *target, psc_addr address, size_t *ret_size);
psc_addr core_skip_missing(struct target *target, psc_addr address);
void core_prefetch(struct target *target, psc_addr address, size_t size);
void core_release(struct target *target, psc_addr address, size_t size);

/* ---- held.c ---- */

/** Opens the memory of the process that the options name. */
PSC_MUST_CHECK enum psc_status held_open(struct target *target, struct core *core,
                                         struct psc_error *err);
/** Bytes of its memory in one piece, none of them behind `end`. */
const uint8_t *held_piece(struct target *target, psc_addr address, psc_addr end, size_t *ret_size);
/** The whole page, if it was read; or NULL. */
const uint8_t *held_find_page(const struct core *core, psc_addr page);
/** Names of threads, which are in no core; nothing for what is a core file alone. */
void held_read_names(struct target *target);
void held_deinit(struct core *core);

/* ---- held_sender.c ---- */

/** Names who sent the signal, where that is certain; nothing for what is a core file alone. */
void held_name_sender(struct target *target);

/* ---- slim_parse.c: notes that this program wrote, see target/save ---- */

#define SLIM_FILE_SIZE_LIMIT ((uint64_t)2 << 30)

/** One entry of CORE_NOTE_NAMES. */
struct core_thread_name {
    int32_t tid;
    const char *name; /**< In the note, without an end. */
    size_t length;
};

/** False: the note is too short. Any version. */
bool parse_slim_head(const struct elf_bytes *note, struct core_slim_head *ret);
/** The next segment of the core that it was made of which has a size; false: there is none. */
bool parse_slim_segment(struct byte_cursor *note, struct core_segment *ret);
/** The next hole that has a size; false: there is none. */
bool parse_slim_hole(struct byte_cursor *note, struct core_hole *ret);
/**
 * The next file that lies within a core of such a size; false: there is none. Its path stays the
 * note's.
 */
bool parse_slim_file(struct byte_cursor *note, uint64_t core_size, struct core_packed_file *ret);
/** The next part that has a size, of a file that is no larger than may be; false: there is none. */
bool parse_slim_part(struct byte_cursor *note, struct core_slim_part *ret);
/** The next package; false: there is none. Its texts stay the note's. */
bool parse_slim_package(struct byte_cursor *note, struct target_package *ret);
/** False: there is no more. */
bool parse_thread_name(struct byte_cursor *note, struct core_thread_name *ret);
/** NT_PRPSINFO of a 64-bit machine, without arguments; false: it has another size. */
bool parse_redacted_process(const struct elf_bytes *note, uint8_t ret[CORE_PROCESS_SIZE]);

/* ---- slim_notes.c ---- */

/** Takes what makes a core a slim one; PSC_ERR_MEMORY only. */
PSC_MUST_CHECK enum psc_status slim_take_notes(struct target *target, struct core *core,
                                               const struct core_notes *notes);
/** Says what was left out of it on purpose. */
void slim_warn(struct target *target, const struct core *core);
/** Where the bytes end that begin at an address: at a hole, or at `end`. */
psc_addr slim_find_hole(const struct core *core, psc_addr address, psc_addr end);
bool slim_is_hole(const struct core *core, psc_addr address);
void slim_deinit(struct core *core);

/* ---- packed_files.c ---- */

/** Takes the files that are in it, which are found before all others; PSC_ERR_MEMORY only. */
PSC_MUST_CHECK enum psc_status packed_files_take(struct target *target, struct core *core,
                                                 const struct core_notes *notes);
/** Of struct target_ops: what was looked at of such a file, and is no part of the core. */
void packed_files_warn(struct target *target);
void packed_files_deinit(struct core *core);

#endif
