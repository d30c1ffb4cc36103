/* The list of formats. */
#include "firefox.h"
#include "flamegraph.h"
#include "line_heat.h"
#include "pprof.h"
#include "profile_formats_private.h"

const struct profile_format profile_formats[] = {
#define PROFILE_FORMAT_ROW(name, help) {#name, help, write_##name},
    PROFILE_FORMATS(PROFILE_FORMAT_ROW)
#undef PROFILE_FORMAT_ROW
        {NULL, NULL, NULL},
};
