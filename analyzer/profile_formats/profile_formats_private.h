/** @file What the files of room `profile_formats` share. */
#ifndef PSC_PROFILE_FORMATS_PRIVATE_H
#define PSC_PROFILE_FORMATS_PRIVATE_H

#include "json_writer.h"
#include "printer.h"
#include "profile_formats.h"

profile_write_fn write_collapsed;
profile_write_fn write_ndjson;
/** https://www.speedscope.app/file-format-schema.json: a profile for each thread. */
profile_write_fn write_speedscope;

#endif
