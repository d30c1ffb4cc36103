/* The file of an output: there whole or not at all. */
#include "messages.h"
#include "output.h"
#include "triage_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool wants_color(const struct triage_output *output)
{
    const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");
    return !output->path && !(no_color && *no_color) && isatty(STDOUT_FILENO) && terminal &&
           strcmp(terminal, "dumb") != 0;
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

bool write_output_file(const struct triage_result *result, const struct triage_output *output)
{
    struct triage_result colored = *result;
    struct output_file replacing;
    bool good, made = true;
    if (!output->format->write)
        return true;
    colored.color = wants_color(output);
    good = open_output(&replacing, output->path, result->shows_values);
    struct masked_output masked = {.file = &replacing};
    FILE *file = good ? open_stream(result->redacts, &masked) : NULL;
    if (good && !file)
        replacing.error = errno;
    if (file) {
        made = output->format->write(file, &colored);
        good = made && !ferror(file);
        good = !fclose(file) && good;
        if (result->redacts)
            good = end_masked(&masked) && good;
    }
    good = close_output(&replacing, good && file);
    if (!made || good || (!output->path && replacing.error == EPIPE))
        return made;
    complain("%s: %s", output->path ? output->path : "standard output", strerror(replacing.error));
    return false;
}
