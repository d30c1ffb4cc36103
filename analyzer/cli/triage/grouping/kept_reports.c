/* Whole reports on disk, while what is in memory of each is little. */
#include "grouping.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where TMPDIR says, as everybody's temporary files; else where large ones may lie. */
static int open_unnamed(void)
{
    const char *folder = getenv("TMPDIR");
    int fd = folder && *folder ? open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600) : -1;
    return fd >= 0 ? fd : open("/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

bool kept_reports_open(struct kept_reports *kept)
{
    int fd = open_unnamed();
    kept->file = fd < 0 ? tmpfile() : fdopen(fd, "w+");
    if (!kept->file && fd >= 0)
        close(fd);
    return kept->file != NULL;
}

void kept_reports_close(struct kept_reports *kept)
{
    if (kept->file)
        fclose(kept->file);
    kept->file = NULL;
}

bool kept_reports_add(struct kept_reports *kept, struct core_report *report)
{
    report->kept_at = -1;
    if (!kept->file)
        return true;
    errno = 0;
    if (fseek(kept->file, 0, SEEK_END))
        return false;
    report->kept_at = ftell(kept->file);
    bool good = !json_dumpf(report->json, kept->file, JSON_COMPACT | JSON_REAL_PRECISION(10)) &&
                putc('\n', kept->file) != EOF;
    // A child that is made later shall have nothing of it to be written once more.
    good = !fflush(kept->file) && good;
    errno = !good && !errno ? ENOMEM : errno;
    return good;
}

json_t *kept_reports_get(const struct kept_reports *kept, const struct core_report *report)
{
    json_error_t error;
    if (!kept->file || report->kept_at < 0)
        return json_incref(report->json);
    if (fseek(kept->file, report->kept_at, SEEK_SET))
        return NULL;
    return json_loadf(kept->file, JSON_DISABLE_EOF_CHECK, &error);
}
