/**
 * @file
 * Room `cli/packed_core`: a core file that is compressed (.gz, .xz, .zst, .lz4, .bz2, known by
 * their first bytes) or comes through a pipe. A reader needs it as a file: it is unpacked into one
 * without a name, of which nothing remains however the program ends, and which has holes where a
 * core is zero. That is done by a child without rights (sandbox_run()): what is unpacked is
 * foreign.
 */
#ifndef PSC_PACKED_CORE_H
#define PSC_PACKED_CORE_H

#include <pystack_core.h>

#include <stdbool.h>
#include <stdint.h>

/** What a core file can be read by. */
struct packed_core {
    const char *name;    /**< What it is called: the path, or "standard input". */
    const char *path;    /**< To be opened by; of `name` itself where nothing was unpacked. */
    const char *warning; /**< A sentence on what is missing of it; or NULL. */
    bool owner_known;    /**< Whose it is, where the one who owns `path` is another. */
    uint32_t user;
    uint32_t group;
    bool is_none; /**< What was unpacked is no core. */
    int file;     /**< What was unpacked; or -1. */
    char own_path[32];
    char own_warning[300];
};

/**
 * Unpacks it where that is needed.
 * @param path  kept; "-" is standard input.
 * @return false, and said so: it cannot be read, or what it is packed with is not here.
 */
bool packed_core_open(const char *path, struct packed_core *ret);
void packed_core_close(struct packed_core *core);
/** Whether a file that begins so is one that packed_core_open() unpacks. */
bool packed_core_is_packed(const unsigned char *bytes, uint64_t size);

/** A core that is open for one who may open nothing: not a byte of it is parsed here. */
struct open_core {
    struct packed_core packed;
    int fd;
    char path[32]; /**< To be opened again by. */
    uint32_t user; /**< Whose it is. */
    uint32_t group;
};

#define OPEN_CORE_NONE                   \
    {                                    \
        .packed = {.file = -1}, .fd = -1 \
    }

/** False, and said so: it cannot be opened. To be closed in any case. */
bool open_core_open(const char *path, struct open_core *ret);
/** Opens it with those options, in the one who parses. NULL: *err says why. */
struct psc_target *open_core_read(const struct open_core *core, const char *executable,
                                  const struct psc_open_options *options, struct psc_error *err);
void open_core_close(struct open_core *core);

#endif
