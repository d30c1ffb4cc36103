/** @file What the files of room `profile_formats` share. */
#ifndef PSC_PROFILE_FORMATS_PRIVATE_H
#define PSC_PROFILE_FORMATS_PRIVATE_H

#include "json_writer.h"
#include "profile_formats.h"

profile_write_fn write_collapsed;
profile_write_fn write_ndjson;
profile_write_fn write_lines;

/** Text that goes out piece by piece. Zero-initialise but for `output`. */
struct profile_printer {
    const struct profile_output *output;
    struct text text;       /**< What is added here goes out by printer_flow(). */
    enum psc_status status; /**< The first error; nothing is written after it. */
};

/** Hands on what was added, once there is enough of it. */
void printer_flow(struct profile_printer *printer);
/** Hands on the rest, and frees the text. @return what became of all. */
enum psc_status printer_end(struct profile_printer *printer);

/**
 * The name of a thread for people: `"MainThread" (12)`, with its process before it where there
 * are several; escaped.
 */
void thread_label(const struct profile *profile, uint32_t thread, struct text *ret);
/** The name of a process: `python (12)`. */
void process_label(const struct profile *profile, uint32_t process, struct text *ret);

#endif
