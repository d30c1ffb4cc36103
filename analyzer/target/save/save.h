/**
 * @file
 * Room `target/save`: writing a core file, an ELF file of type ET_CORE that this program, gdb, lldb
 * and elfutils read.
 *
 * Memory is appended as it comes; notes and headers stand at the end of the file, when it is known
 * what there is. Knows no process: target/live fills it.
 *
 * Errors: struct core_file keeps the errno of the first one.
 */
#ifndef PSC_CORE_WRITE_H
#define PSC_CORE_WRITE_H

#include "target.h"

/** Memory that the file holds. */
struct core_extent {
    psc_addr start;
    psc_addr end;
    uint64_t offset; /**< Of start, in the file. */
};

struct core_file {
    const struct target_machine *machine;
    int fd;       /**< The caller's. */
    int error;    /**< errno of the first thing that went wrong; nothing is done after it. */
    uint64_t end; /**< Of what was written. */
    struct core_extent *extents;
    size_t count;
    size_t capacity;
};

/** Begins the file anew, whatever is in it. */
void core_file_begin(struct core_file *file, const struct target_machine *machine, int fd);
void core_file_deinit(struct core_file *file);

/**
 * Appends memory; start and size are whole pages. Pages of zeros become holes. Of what is added
 * twice the first counts.
 */
void core_file_add(struct core_file *file, psc_addr start, const uint8_t *bytes, size_t size);
/** As core_file_add() of zeros only. */
void core_file_add_zeros(struct core_file *file, psc_addr start, uint64_t size);
/** Appends bytes that are no memory. @return where they are in the file. */
uint64_t core_file_append(struct core_file *file, const void *bytes, size_t size);
/** True when the page is in one of the first `count` extents, which have come in order. */
bool core_file_holds(const struct core_file *file, size_t count, psc_addr page);

/**
 * Writes notes and headers. Mappings of files have segments for all of them, with bytes where there
 * are some; anonymous memory has segments for what is there. What lies outside of all mappings is
 * left out.
 */
void core_file_finish(struct core_file *file, const struct target_mapping *mappings, size_t count,
                      const struct text *notes);

/* ---- libraries.c ---- */

/**
 * Reads what a debugger goes through to find the libraries that are loaded: whoever notes what is
 * read has it then. Nothing is done with it.
 * @param dynamic  also the dynamic section of each.
 */
void save_read_libraries(struct target *target, bool dynamic);

/* ---- note_writer.c ---- */

/** What elf_prstatus and elf_prpsinfo say of a process. */
struct core_identity {
    const struct target_machine *machine;
    int32_t pid;
    int32_t parent;
    int32_t group;
    int32_t session;
    uint32_t user;
    uint32_t user_group;
    int8_t nice;
    char state; /**< As /proc/PID/stat has it. */
    uint64_t flags;
    const char *name; /**< Or NULL. */
    const char *const *arguments;
    size_t argument_count;
};

/** The owner of the kernel's notes for all machines; and of those that only Linux has. */
#define CORE_OWNER       "CORE"
#define CORE_OWNER_LINUX "LINUX"
/**
 * Notes of this program: cores of Linux have no names of threads. It is a list of entries of
 * 20 bytes: tid, and 16 characters of name, cut or filled with zeros.
 */
#define CORE_OWNER_OURS "pystack-core"
#define CORE_NOTE_NAMES 0x656d616eu /* "name"; BFD goes by types below, whoever owns them. */
/**
 * Notes of a slim core: what it is (struct core_slim_head and a sentence), the segments of the core
 * that it was made of (struct core_slim_segment), ranges of its pages that were left out (pairs of
 * addresses), files that are in it (struct core_slim_file and the path, each), and of those that
 * are not whole the parts that are there (struct core_slim_part, by rising places in the core and
 * in the file), and the packages that were found installed (path of a file, name and version, each
 * with its zero).
 */
#define CORE_NOTE_SLIM     0x6d696c73u /* "slim" */
#define CORE_NOTE_SEGMENTS 0x73676573u /* "segs" */
#define CORE_NOTE_HOLES    0x656c6f68u /* "hole" */
#define CORE_NOTE_FILES    0x656c6966u /* "file" */
#define CORE_NOTE_PARTS    0x74726170u /* "part" */
#define CORE_NOTE_PACKAGES 0x676b6370u /* "pckg" */
#define CORE_NAME_SIZE     16u
#define CORE_NAME_RECORD   (4 + CORE_NAME_SIZE)

enum core_slim_flag {
    CORE_SLIM_TRUNCATED = 1, /**< Parts of the core that it was made of were missing. */
    CORE_SLIM_REDACTED = 2,  /**< Text of values and the environment were left out. */
    CORE_SLIM_CUT = 4        /**< More was read than was kept. */
};

struct core_slim_head {
    uint32_t version; /**< 1 */
    uint32_t flags;   /**< enum core_slim_flag bits. */
    uint64_t size;    /**< Of the core that it was made of, in bytes; 0: not known. */
};

struct core_slim_segment {
    uint64_t start;
    uint64_t end;
    uint32_t flags; /**< PF_R, PF_W, PF_X */
    uint32_t reserved;
};

struct core_slim_file {
    uint64_t offset;    /**< Of its bytes in the core file, compressed as zlib(3) does. */
    uint64_t stored;    /**< How many these are. */
    uint64_t size;      /**< Of the file. */
    uint32_t path_size; /**< Of the path behind this, with its zero, filled up to 8 bytes. */
    uint32_t reserved;
};

struct core_slim_part {
    uint64_t
        file; /**< The offset that struct core_slim_file has: only its parts are stored there. */
    uint64_t start; /**< In the file. */
    uint64_t end;
};

/** Appends one note. */
void core_put_note(struct text *notes, const char *owner, uint32_t type, const void *bytes,
                   size_t size);
/** NT_PRSTATUS: the first note of each thread. */
void core_put_status(struct text *notes, const struct core_identity *identity, int32_t tid,
                     const uint8_t registers[TARGET_USER_REGISTERS_LIMIT], bool has_fp);
/** NT_PRPSINFO */
void core_put_process(struct text *notes, const struct core_identity *identity);
/** NT_FILE, for all mappings of files. */
void core_put_files(struct text *notes, const struct target_mapping *mappings, size_t count);
/** Our own note: the names of the threads. */
void core_put_names(struct text *notes, const struct target_thread *threads, size_t count);

#endif
