/* The files of outputs, each there whole or not at all: opened, written without rights, kept. */
#include "messages.h"
#include "output.h"
#include "triage_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static bool wants_color(const struct triage_output *output)
{
    const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");
    return !output->path && !(no_color && *no_color) && isatty(STDOUT_FILENO) && terminal &&
           strcmp(terminal, "dumb") != 0;
}

static const char *name_of(const struct triage_output *output)
{
    return output->path ? output->path : "standard output";
}

/* As fopencookie(3) wants it. */
static ssize_t write_bytes(void *cookie, const char *bytes, size_t size)
{
    return write_output(cookie, bytes, size) ? 0 : (ssize_t)size;
}

static ssize_t hold_bytes(void *cookie, const char *bytes, size_t size)
{
    return write_masked(cookie, bytes, size) ? 0 : (ssize_t)size;
}

static FILE *open_stream(bool redacts, struct masked_output *masked)
{
    return redacts ? fopencookie(masked, "w", (cookie_io_functions_t){.write = hold_bytes})
                   : fopencookie(masked->file, "w", (cookie_io_functions_t){.write = write_bytes});
}

struct result_file *result_files_open(const struct triage_options *options)
{
    const size_t count = options->output_count;
    struct result_file *files = calloc(count, sizeof(*files));
    bool *good = mmap(NULL, count * sizeof(*good), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!files || good == MAP_FAILED) {
        complain("out of memory");
        if (good != MAP_FAILED)
            munmap(good, count * sizeof(*good));
        free(files);
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        const struct triage_output *output = &options->outputs[i];
        files[i].good = &good[i];
        if (!output->format->write)
            continue;
        output_format_prepare(output->format);
        files[i].open = open_output(&files[i].file, output->path, options->shows_values);
        if (files[i].open)
            continue;
        const int error = files[i].file.error;
        close_output(&files[i].file, false);
        complain("%s: %s", name_of(output), strerror(error));
    }
    return files;
}

bool result_file_write(struct result_file *file, const struct triage_result *result,
                       const struct triage_output *output)
{
    struct triage_result colored = *result;
    if (!file->open)
        return false; // It was said.
    colored.color = wants_color(output);
    struct masked_output masked = {.file = &file->file};
    FILE *stream = open_stream(result->redacts, &masked);
    if (!stream) {
        complain("%s: %s", name_of(output), strerror(errno));
        return false;
    }
    const bool made = output->format->write(stream, &colored);
    bool good = made && !ferror(stream);
    good = !fclose(stream) && good;
    if (result->redacts)
        good = end_masked(&masked) && good;
    // Who read a pipe and has gone needs no more of it.
    good |= made && !output->path && file->file.error == EPIPE;
    *file->good = good;
    if (made && !good)
        complain("%s: %s", name_of(output), strerror(file->file.error));
    return good;
}

bool result_files_close(struct result_file *files, const struct triage_options *options)
{
    bool all = true;
    if (!files)
        return false;
    for (size_t i = 0; i < options->output_count; i++) {
        const struct triage_output *output = &options->outputs[i];
        if (!files[i].open)
            continue;
        const bool good = *files[i].good;
        if (close_output(&files[i].file, good))
            continue;
        if (good)
            complain("%s: %s", name_of(output), strerror(files[i].file.error));
        all = false;
    }
    munmap(files[0].good, options->output_count * sizeof(*files[0].good));
    free(files);
    return all;
}
