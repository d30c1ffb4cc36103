/* The list of formats. */
#include "firefox.h"
#include "flamegraph.h"
#include "line_heat.h"
#include "pprof.h"
#include "profile_formats_private.h"

const struct profile_format profile_formats[] = {
    {"collapsed", "one line for each stack, with its count", write_collapsed},
    {"flamegraph", "a page of all stacks, by name and in the order of time", write_flamegraph},
    {"speedscope", "for speedscope.app", write_speedscope},
    {"firefox", "for profiler.firefox.com: threads and processes on one time line", write_firefox},
    {"pprof", "for go tool pprof", write_pprof},
    {"lines", "own and total time of each line and function, as text", write_lines},
    {"lines-html", "the same as a page, in the sources", write_lines_page},
    {"ndjson", "each sample, one JSON object a line", write_ndjson},
    {NULL, NULL, NULL},
};
