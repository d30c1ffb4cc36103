/** @file pystack-core: what all parts of the interface share. Included by pystack_core.h. */
#ifndef PYSTACK_CORE_BASE_H
#define PYSTACK_CORE_BASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define PSC_API        __attribute__((__visibility__("default")))
#define PSC_MUST_CHECK __attribute__((__warn_unused_result__))
#else
#define PSC_API
#define PSC_MUST_CHECK
#endif

/** An address in the target, whatever the word size of either side. */
typedef uint64_t psc_addr;

/** What became of a call. The numbers are part of the ABI. */
enum psc_status {
    PSC_OK = 0,
    PSC_ERR_ARGUMENT = 1,    /**< The caller's arguments make no sense. */
    PSC_ERR_MEMORY = 2,      /**< Out of memory in this process. */
    PSC_ERR_IO = 3,          /**< The operating system refused; the message says what. */
    PSC_ERR_FORMAT = 4,      /**< The bytes are not what they should be. */
    PSC_ERR_UNSUPPORTED = 5, /**< Understood, but not of a kind that is handled. */
    PSC_ERR_NOT_FOUND = 6,   /**< Looked for and not there. */
    PSC_ERR_FAULT = 7,       /**< Target memory that cannot be read. */
    PSC_ERR_LIMIT = 8,       /**< A named bound was reached. */
    PSC_ERR_INTERRUPTED = 9  /**< psc_open_options.interrupted said so. */
};

/** One sentence on what went wrong; filled only when a call fails. */
struct psc_error {
    enum psc_status status;
    char message[500];
};

/** A core file, a living process, or one that a debugger holds. Opaque. */
struct psc_target;

/** The finished product: plain data about every thread. Opaque. */
struct psc_trace;

/** Takes size bytes of output; returns 0, or anything else to stop. */
typedef int (*psc_write_fn)(void *context, const char *bytes, size_t size);

/** Of the library, as "0.1.0"; static. */
PSC_API const char *psc_version(void);

/** "PSC_ERR_FORMAT" and so on; static. NULL: no status of this version. */
PSC_API const char *psc_status_name(enum psc_status status);

#ifdef __cplusplus
}
#endif
#endif
