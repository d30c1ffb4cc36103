/**
 * @file
 * Room `profile_formats/printer`: bytes on their way to a file, never more than a part of them in
 * memory; and how threads and processes are named for people.
 */
#ifndef PSC_PROFILE_PRINTER_H
#define PSC_PROFILE_PRINTER_H

#include "profile_formats.h"

/** Text that goes out piece by piece. Zero-initialise but for `output`. */
struct profile_printer {
    const struct profile_output *output;
    struct text text;       /**< What is added here goes out by printer_flow(). */
    enum psc_status status; /**< The first error; nothing is written after it. */
    bool in_page; /**< JSON inside of a page: "<" is written as \u003c, and ends no element. */
};

/** Hands on what was added, once there is enough of it. */
void printer_flow(struct profile_printer *printer);
/** Hands on what was added. */
void printer_flush(struct profile_printer *printer);
/** The same, and frees the text. @return what became of all. */
enum psc_status printer_end(struct profile_printer *printer);

/** The name of a thread for people: `MainThread (12)`; escaped. */
void thread_label(const struct profile *profile, uint32_t thread, struct text *ret);
/** The name of a process: `python (12)`. */
void process_label(const struct profile *profile, uint32_t process, struct text *ret);

#endif
