/* Where the profile goes, and what is said about it. */
#include "messages.h"
#include "output.h"
#include "profile_formats.h"
#include "recording_private.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int write_one(const struct record_request *request, const struct profile *profile,
                     struct held_outputs *held, size_t index)
{
    struct output_file *file = &held->files[index];
    struct psc_error why = {0};
    const int format = request->output_count ? request->outputs[index].format : 0;
    const char *path = record_output_path(request, index);
    const char *name = path ? path : "standard output";
    const struct profile_output output = {.write = write_output,
                                          .context = file,
                                          .version = psc_version(),
                                          .read_source = record_sources_read,
                                          .source_context = request->record.sources};
    enum psc_status status = profile_formats[format].write(profile, &output, &why);
    bool kept = held_outputs_close(held, index, status == PSC_OK);
    if (status == PSC_OK && kept)
        return EXIT_COMPLETE;
    if (!path && file->error == EPIPE)
        return EXIT_COMPLETE;
    if (file->error)
        complain("%s: %s", name, strerror(file->error));
    else
        complain("%s: %s", name, why.message[0] ? why.message : "it could not be written");
    return EXIT_NOTHING;
}

int record_write(const struct record_request *request, const struct profile *profile,
                 struct held_outputs *held)
{
    int code = EXIT_COMPLETE;
    for (size_t i = 0; i < held->count; i++) {
        int one = write_one(request, profile, held, i);
        code = one > code ? one : code;
    }
    return code;
}

static const char *end_text(enum record_end end)
{
    switch (end) {
    case RECORD_DURATION:
        return "its time was over";
    case RECORD_EXITED:
        return "the process ended";
    case RECORD_ASKED:
        break;
    }
    return "it was ended";
}

void record_tell_counts(const struct record_request *request, const struct profile *profile,
                        enum record_end end)
{
    const struct profile_counts *counts = &profile->counts;
    fprintf(stderr,
            "pystack-core: recorded %.1f s, %s: %" PRIu64 " moments wanted, %" PRIu64
            " taken, %" PRIu64 " late, %" PRIu64 " lost; %" PRIu64 " samples of threads, %" PRIu64
            " failed, %" PRIu64 " with a gap, %" PRIu64 " of threads that had not run\n",
            (double)profile->duration / 1e9, end_text(end), counts->wanted, counts->taken,
            counts->late, counts->lost, counts->samples, counts->failed, counts->partial,
            counts->repeated);
    if (!counts->samples && !counts->failed && counts->taken && !request->record.idle)
        fputs("pystack-core: no thread ran; --idle records those that wait, too\n", stderr);
    if (counts->stops)
        fprintf(stderr,
                "pystack-core: %" PRIu64 " stops of a thread, up to %.1f us in the median, %.0f us "
                "on average; %.3f ms of processor time a moment\n",
                counts->stops, (double)profile_median_stop(counts) / 1e3,
                (double)counts->stood_ns / 1e3 / (double)counts->stops,
                (double)counts->sampler_ns / 1e6 / (double)(counts->taken ? counts->taken : 1));
}
