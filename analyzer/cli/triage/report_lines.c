/* Reports as they come, one a line; and what an earlier run has left of them. */
#include "input.h"
#include "messages.h"
#include "redact.h"
#include "triage_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RESUMED_LIMIT ((size_t)64 << 30) /* Bytes of a file that is gone on with. */

static bool fail(const struct report_lines *lines, const char *what)
{
    complain("%s: %s: %s", lines->path ? lines->path : "standard output", what, strerror(errno));
    return false;
}

/* The whole lines of the file; what was cut in the midst of one is dropped. */
static bool take_over(const struct report_lines *lines, struct core_report *reports, size_t count)
{
    struct input text = {0};
    size_t kept = 0;
    errno = input_read_all(&text, lines->fd, RESUMED_LIMIT);
    bool good = !errno;
    while (good && kept < text.size) {
        const char *start = text.bytes + kept;
        const char *end = memchr(start, '\n', text.size - kept);
        if (!end)
            break;
        core_report_read(reports, count, start, (size_t)(end - start));
        kept += (size_t)(end - start) + 1;
    }
    good =
        good && !ftruncate(lines->fd, (off_t)kept) && lseek(lines->fd, (off_t)kept, SEEK_SET) >= 0;
    if (!good)
        fail(lines, "cannot be gone on with");
    input_deinit(&text);
    return good;
}

static bool open_lines(const struct triage_options *options, struct report_lines *lines)
{
    struct stat status;
    const mode_t mode = options->shows_values ? 0600 : 0666;
    if (!lines->path) {
        lines->fd = STDOUT_FILENO;
        return true;
    }
    lines->fd = open(lines->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, mode);
    if (lines->fd < 0 || fstat(lines->fd, &status))
        return fail(lines, "cannot be written");
    lines->resumes = options->resumes && S_ISREG(status.st_mode);
    if (!S_ISREG(status.st_mode) || lines->resumes)
        return true;
    return !ftruncate(lines->fd, 0) || fail(lines, "cannot be written");
}

bool report_lines_open(const struct triage_options *options, struct report_lines **ret,
                       size_t *ret_count)
{
    struct report_lines *lines = calloc(options->output_count, sizeof(*lines));
    bool good = lines != NULL;
    *ret = lines;
    *ret_count = 0;
    if (!good)
        complain("out of memory");
    for (size_t i = 0; good && i < options->output_count; i++)
        if (!options->outputs[i].format->write) {
            lines[*ret_count] =
                (struct report_lines){options->outputs[i].path, -1, options->redacts, false};
            good = open_lines(options, &lines[(*ret_count)++]);
        }
    return good;
}

bool report_lines_take_over(const struct report_lines *lines, size_t count,
                            struct core_report *reports, size_t report_count)
{
    bool good = true;
    for (size_t i = 0; good && i < count; i++)
        good = !lines[i].resumes || take_over(&lines[i], reports, report_count);
    return good;
}

static bool write_all(int fd, const char *bytes, size_t size)
{
    while (size) {
        ssize_t written = write(fd, bytes, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return false;
        bytes += written;
        size -= (size_t)written;
    }
    return true;
}

bool report_lines_add(const struct report_lines *lines, size_t count,
                      const struct core_report *report)
{
    if (!count)
        return true;
    char *line = core_report_line(report);
    struct text written = {0};
    if (line && lines->redacts)
        redact_text(line, strlen(line), &written);
    else if (line)
        text_add_string(&written, line);
    text_add_char(&written, '\n');
    bool good = line && !written.failed;
    if (!good)
        complain("out of memory");
    for (size_t i = 0; good && i < count; i++)
        good = write_all(lines[i].fd, written.data, written.size) ||
               fail(&lines[i], "cannot be written");
    text_deinit(&written);
    free(line);
    return good;
}

void report_lines_close(struct report_lines *lines, size_t count)
{
    for (size_t i = 0; lines && i < count; i++)
        if (lines[i].path && lines[i].fd >= 0)
            close(lines[i].fd);
    free(lines);
}
