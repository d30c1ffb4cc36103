/**
 * @file
 * Status and error: what every room says when it fails.
 */
#ifndef PSC_STATUS_H
#define PSC_STATUS_H

#include <pystack_core.h>

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PSC_PRINTF(format_index, first) __attribute__((__format__(__printf__, format_index, first)))
#define PSC_CLEANUP(function)           __attribute__((__cleanup__(function)))
#define PSC_ARRAY_SIZE(array)           (sizeof(array) / sizeof((array)[0]))

/**
 * Fills `err` (may be NULL) and returns `status`, so that a failing function
 * ends in one line: `return psc_fail(err, PSC_ERR_FORMAT, "%s: not ELF", path);`
 */
enum psc_status psc_fail(struct psc_error *err, enum psc_status status, const char *format, ...)
    PSC_PRINTF(3, 4);

/** PSC_ERR_MEMORY, with its sentence. */
enum psc_status psc_fail_memory(struct psc_error *err);

/**
 * Hands on the status of a call that fills no error, with the sentence of that status; PSC_OK
 * changes nothing. A status is never reworded to another cause.
 */
enum psc_status psc_fail_status(struct psc_error *err, enum psc_status status);

/** Memory for describe_errno(). */
struct errno_text {
    char bytes[128];
};

/**
 * The system's words on an errno: what strerror() says, whose memory threads share. Used as
 * `describe_errno(errno, &(struct errno_text){0})`.
 */
const char *describe_errno(int error, struct errno_text *text);

#endif
