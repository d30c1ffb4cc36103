/** @file Shared by the files of room `profile_formats/pprof` only. */
#ifndef PSC_PROFILE_PPROF_PRIVATE_H
#define PSC_PROFILE_PPROF_PRIVATE_H

#include "printer.h"

/*
 * ---- protobuf.c: protobuf.dev/programming-guides/encoding ----
 *
 * Two kinds of fields are all that profile.proto has. protobuf-c would want its compiler in each
 * build, and the whole profile as one tree of messages in memory before the first byte.
 */

/** A field of type int64, uint64 or bool; 0, which is the default, is left out. */
void protobuf_number(struct text *message, uint32_t field, uint64_t value);
/** A field of type string, or a message. */
void protobuf_bytes(struct text *message, uint32_t field, const char *bytes, size_t size);
/** A field `repeated` of numbers, packed. */
void protobuf_numbers(struct text *message, uint32_t field, const uint64_t *values, size_t count);

/* ---- gzip.c ---- */

struct gzip_output;

/** What is written to `ret_output` goes on to `output`, compressed. NULL: out of memory. */
struct gzip_output *gzip_open(const struct profile_output *output,
                              struct profile_output *ret_output);
/** Writes the end, unless `good` is false, and frees it. PSC_ERR_IO as profile_write_fn. */
enum psc_status gzip_close(struct gzip_output *gzip, bool good);

#endif
