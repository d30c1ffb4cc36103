/**
 * @file
 * Room `cli/crash_store`: a folder with what was kept of processes that died: for each a folder
 * with its report, a small core, and a record. Only its owner may look into it. All names are made
 * here, and no link is followed.
 */
#ifndef PSC_CRASH_STORE_H
#define PSC_CRASH_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CRASH_STORE "/var/lib/pystack-core/crashes"

/* The files of a crash. */
#define CRASH_TEXT "report.txt"
#define CRASH_JSON "report.json"
#define CRASH_CORE "core"
#define CRASH_HEAD                                                                                \
    "head"                 /**< Of the core that the kernel wrote, where no report could be made. \
                            */
#define CRASH_LOG    "log" /**< What was said while the report was made. */
#define CRASH_RECORD "crash.json"

/** "20261123-011502-1234" or with "-2" behind it. */
#define CRASH_ID_SIZE 48

struct crash_store {
    const char *path; /**< The caller's. */
    int folder;       /**< -1: not open. */
    int lock;         /**< -1: not held. */
};

/** What is known of a crash beside its report. Texts may hold any bytes. */
struct crash_record {
    char id[CRASH_ID_SIZE];
    int64_t time; /**< When it died, in seconds of CLOCK_REALTIME. */
    int32_t pid;  /**< As this system knows it. */
    uint32_t user;
    uint32_t group;
    int32_t signal; /**< 0: not known. */
    char command[64];
    char executable[1024];
    char title[512]; /**< Of the signature; "" without a report. */
    char signature[48];
    char problem[256]; /**< Why there is no report; "" where there is one. */
    double held_ms;    /**< How long the process was held for the report. */
    uint64_t bytes;    /**< What all its files take; not part of the file. */
};

/**
 * Opens the folder, and makes it if `makes`. False, and said so: it is a link, another user's, or
 * others may look into it.
 */
bool crash_store_open(struct crash_store *store, const char *path, bool makes);
void crash_store_close(struct crash_store *store);
/** The one lock of the store, waited for so long. False: somebody else has it. */
bool crash_store_lock(struct crash_store *store, double seconds);
void crash_store_unlock(struct crash_store *store);

/** Makes the folder of a new crash, which is not listed yet, and its id. @return it, or -1. */
int crash_store_begin(const struct crash_store *store, struct crash_record *record);
/** Writes the record, and lists the crash from now on. False, and said so: it stays as it is. */
bool crash_store_end(const struct crash_store *store, int folder,
                     const struct crash_record *record);
/** A new file in such a folder, open for reading and writing; -1 and errno. */
int crash_file_make(int folder, const char *name);

/** What is in the store of a crash: its record as bytes, which may be any. */
struct kept_crash {
    char id[CRASH_ID_SIZE];
    int64_t time;   /**< By the id. */
    uint64_t bytes; /**< What all its files take. */
    char *record;   /**< Malloc'd; NULL: it cannot be read. */
    size_t record_size;
};

/** All crashes, the oldest first; NULL: out of memory. Nothing of what is in them is parsed. */
struct kept_crash *crash_store_list(const struct crash_store *store, bool with_records,
                                    size_t *ret_count);
void crash_store_free_list(struct kept_crash *crashes, size_t count);
/** What a record says; of one that says nothing what is known otherwise. For who has no rights. */
void crash_record_parse(const struct kept_crash *crash, struct crash_record *ret);
/** A record as JSON, malloc'd; NULL: out of memory. */
char *crash_record_print(const struct crash_record *record);
/** A file of a crash for reading; -1 and errno. `id` may be any text. */
int crash_store_open_file(const struct crash_store *store, const char *id, const char *name);
/** Removes a crash with all its files. */
bool crash_store_remove(const struct crash_store *store, const char *id);

struct crash_limits {
    uint64_t bytes;  /**< Of all crashes; 0: no limit. */
    int64_t seconds; /**< That one is kept; 0: no limit. */
    size_t count;    /**< 0: no limit. */
};
#define CRASH_LIMITS_DEFAULT                             \
    {                                                    \
        UINT64_C(1) << 30, INT64_C(30) * 24 * 3600, 1000 \
    }

/** Removes the oldest until the limits hold. @return how many were removed. */
size_t crash_store_prune(const struct crash_store *store, const struct crash_limits *limits);

#endif
