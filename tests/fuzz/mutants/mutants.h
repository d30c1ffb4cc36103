/**
 * @file
 * Damages what the library reads, at places that it does read, and looks at it: in one process, so
 * that a mutant costs a millisecond and not a program's start. tests/tools/fuzz.py makes the
 * subjects and runs this; docs/contributing.md says how.
 *
 * Everything that is chosen comes from the seed, the kind and the number of a mutant alone.
 */
#ifndef PSC_MUTANTS_H
#define PSC_MUTANTS_H

#include "pystack_core.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct target;

/* ---- choosing ---- */

struct choice {
    uint64_t state;
};

struct choice choice_of(uint64_t seed, uint64_t number);
uint64_t choose_bits(struct choice *choice);
/** Less than limit; 0 of none. */
size_t choose_below(struct choice *choice, size_t limit);
bool choose_one_in(struct choice *choice, size_t count);
/** 0, 1, the ends of each width, and the like; often near `value`. */
uint64_t choose_number(struct choice *choice, uint64_t value);

/* ---- files that are damaged, and mended again ---- */

#define PATCHES_MAX 4096u

struct damaged_file {
    const char *path;
    int descriptor;
    const uint8_t *bytes; /**< Of the original. */
    size_t size;
    struct {
        size_t at, size;
    } patches[PATCHES_MAX];
    size_t patch_count;
    bool rewritten;
};

/** A copy that is damaged, and what it is a copy of. Exits where they cannot be read. */
void file_open(const char *path, const char *original, struct damaged_file *ret);
/** Writes within the file; what lies outside of it is passed over. */
void file_patch(struct damaged_file *file, size_t at, const void *bytes, size_t size);
void file_patch_number(struct damaged_file *file, size_t at, uint64_t value, size_t size);
void file_truncate(struct damaged_file *file, size_t size);
void file_rewrite(struct damaged_file *file, const void *bytes, size_t size);
void file_mend(struct damaged_file *file);
/** Bytes as they are now; zeros where there are none. */
void file_now(const struct damaged_file *file, size_t at, void *buffer, size_t size);
/** A number of 1, 2, 4 or 8 bytes as it was; 0 outside of the file. */
uint64_t file_number(const struct damaged_file *file, size_t at, size_t size);

/* ---- memory of the subject ---- */

#define SEGMENTS_MAX 8192u

struct segment {
    uint64_t start, size, offset;
};

/** Of a core file (`core`), or of a process that stands. */
struct memory {
    struct damaged_file *core;
    int32_t pid;
    int descriptor; /**< Of /proc/PID/mem. */
    struct segment segments[SEGMENTS_MAX];
    size_t segment_count;
    struct {
        uint64_t address;
        uint8_t bytes[64];
        size_t size;
    } kept[PATCHES_MAX];
    size_t kept_count;
};

void memory_of_core(struct damaged_file *core, struct memory *ret);
/** Exits where the process cannot be read. */
void memory_of_process(int32_t pid, struct memory *ret);
const struct segment *memory_find(const struct memory *memory, uint64_t address);
/** As it was before damage (core) or as it is (process). False: not there. */
bool memory_read(const struct memory *memory, uint64_t address, void *buffer, size_t size);
/** At most 64 bytes of a process are kept, to be mended. */
void memory_write(struct memory *memory, uint64_t address, const void *bytes, size_t size);
void memory_mend(struct memory *memory);

/* ---- places: what was read, and by what code ---- */

struct place {
    uint64_t address;
    uint32_t size;
    uint32_t site; /**< Number of the code that read it. */
    uint64_t code; /**< Of that code, until it has a number. */
};

struct places {
    struct place *items; /**< Sorted by site, address and size. */
    size_t count;
    size_t *first; /**< For each site the first of its places; one more at the end. */
    size_t site_count;
};

void places_start(void);
/** What has been read since places_start(), each once for each site. */
void places_take(struct places *ret);
void places_free(struct places *places);

/* ---- damage ---- */

/** Words and bytes that were read: pointers that lead back or astray, sizes made huge, text. */
void damage_memory(struct choice *choice, const struct places *places, struct memory *memory);
/** The core file's own structures: its header, program headers, notes and their contents. */
void damage_core(struct choice *choice, struct damaged_file *core);
/** Headers, sections, symbols, the dynamic section, unwind tables, notes, compressed sections. */
void damage_elf(struct choice *choice, struct damaged_file *file);
/** A section of debug information, as it is now, compressed; sometimes that is damaged. */
void damage_elf_compressed(struct choice *choice, struct damaged_file *file);

/** Places in debug information that libdw has decoded; made once for a file. */
struct dwarf_places;
struct dwarf_places *dwarf_places_create(const struct damaged_file *file);
void damage_dwarf(struct choice *choice, const struct dwarf_places *places,
                  struct damaged_file *file);
void dwarf_places_destroy(struct dwarf_places *places);
/** Sources, XML, maps of names: bytes, numbers, lines, ends. */
void damage_text(struct choice *choice, struct damaged_file *file);
/** The same of a text in memory, where it may grow; returns its new size. */
size_t damage_text_bytes(struct choice *choice, void *bytes, size_t size, size_t capacity);

/* ---- reports ---- */

struct complaint {
    char text[1024]; /**< "": none. */
};

void complain(struct complaint *complaint, const char *format, ...)
    __attribute__((__format__(__printf__, 2, 3)));

struct schema;
/** Exits where a schema has a keyword that this does not know. */
struct schema *schema_load(const char *path);
void schema_check(const struct schema *schema, const json_t *document, struct complaint *complaint);
void schema_free(struct schema *schema);

/* More than this is no report. */
#define REPORT_MAX ((size_t)64 << 20)

/** A report; a zero follows its bytes, which free() frees. */
struct report_text {
    char *bytes;
    size_t size, capacity;
};

/** A psc_write_fn whose context is a struct report_text. */
int report_take(void *context, const char *bytes, size_t size);
/** UTF-8, and nothing that drives a terminal. */
void report_check_text(const struct report_text *text, struct complaint *complaint);
/** As its schema has it. */
void report_check_json(const struct report_text *text, const struct schema *schema,
                       struct complaint *complaint);

/* ---- subjects ---- */

enum kind {
    KIND_MEMORY,
    KIND_CORE,
    KIND_ELF,
    KIND_DEBUG,
    KIND_TEXT,
    KIND_LIVE,
    KIND_DEBUGGER,
    KIND_HEAP,
    KIND_COUNT
};

#define SUBJECTS_MAX 256
#define FILES_MAX    8 /* Of each kind of thing that a subject has. */

struct liar;

/** How the bytes of files are had. */
enum opening {
    OPENING_MAPS,
    OPENING_COPIES, /**< As in a host of the library: of each file there is a copy in memory. */
    OPENING_WINDOWS /**< As of a core that is too large to be copied: what is looked at. */
};

/** Whether copies of files that are asked for now are those of files too large to be copied. */
void copies_take_windows(bool windows);

/** What is looked at: a core file or a process that stands, and the files of it that are damaged.
 */
struct subject {
    const char *name;
    const char *core; /**< Or NULL: */
    int32_t pid;
    struct damaged_file files[FILES_MAX];
    size_t file_count;
    const char *maps[FILES_MAX][2]; /**< A path on the target, and the file that has its bytes. */
    size_t map_count;
    const char *source_directories[FILES_MAX];
    uint32_t source_directory_count;
    const char *library_directories[FILES_MAX];
    uint32_t library_directory_count;
    struct memory *memory; /**< In memory that forked processes share. */
    struct places places;
    bool prepared;
    struct dwarf_places *dwarf[FILES_MAX];
    struct liar *liar; /**< Through which it is opened, or NULL. */
    enum opening opening;
    struct psc_target *target; /**< While it is open. */
};

/**
 * Reads a list of subjects: one a line, KEY=VALUE separated by tabs. name, core, pid, source-dir,
 * lib-dir, map=PATH=FILE, damage=COPY=ORIGINAL. Exits where one cannot be read.
 */
size_t subjects_load(const char *path, enum kind kind, struct subject *ret, size_t limit);
/** Opens the target, unless it is open; what it says goes to err. */
enum psc_status subject_open(struct subject *subject, struct psc_error *err);
void subject_close(struct subject *subject);
/** Another target of its core, which notes what is read. */
enum psc_status subject_open_noting(struct subject *subject, bool redacted, struct psc_target **ret,
                                    struct psc_error *err);
/** Finds its places: what the library reads of it, what libdw decodes. Once. */
void subject_prepare(struct subject *subject, enum kind kind);
void subject_damage(struct subject *subject, enum kind kind, struct choice *choice);
void subject_mend(struct subject *subject);

/** Writes damage and what was there in turns, from another thread, while the process is read. */
struct flicker;
struct flicker *flicker_start(struct memory *memory, uint64_t seed);
void flicker_stop(struct flicker *flicker);

/** A debugger that holds what an undamaged core has, and lies about it. */
struct liar *liar_create(const struct damaged_file *core, struct choice *choice);
enum psc_status liar_open(struct liar *liar, const struct psc_open_options *open,
                          struct psc_target **ret, struct psc_error *err);
/** Once its target is closed. */
void liar_destroy(struct liar *liar);

/* ---- looks ---- */

struct look_options {
    bool living;
    const struct schema *report_schema;
    const struct schema *files_schema;
    const struct schema *values_schema;
    const struct schema *summary_schema;
    const struct schema *heap_schema;
};

/** Takes a trace, asks for everything that it has, prints it in each way; counts reports. */
void look_at(struct psc_target *target, struct choice *choice, const struct look_options *options,
             struct complaint *complaint, uint64_t *ret_reports);
/** Signatures, waits and cycles, what was running, summaries, the report read back. */
void ask_what_else(struct psc_trace *trace, struct choice *choice,
                   const struct look_options *options, struct complaint *complaint,
                   uint64_t *reports);

/** As text and JSON, each held to what it promises; counts reports. */
void print_all(const struct psc_trace *trace, const struct psc_print_options *chosen,
               const struct look_options *options, struct complaint *complaint, uint64_t *reports);
/** Reads the heap, and prints of it what was chosen, in each way. */
void look_at_heap(struct psc_target *target, struct choice *choice,
                  const struct look_options *options, struct complaint *complaint,
                  uint64_t *ret_reports);
/** Writes a slim core of it, and looks at that. */
void write_slim_core(struct subject *subject, struct choice *choice,
                     const struct look_options *options, struct complaint *complaint,
                     uint64_t *reports);
/** Records a living process for some moments; the profile in each format. */
void record_it(int32_t pid, struct choice *choice, struct complaint *complaint, uint64_t *reports);

#endif
