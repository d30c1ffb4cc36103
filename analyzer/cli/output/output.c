#include "output.h"

#include "messages.h"
#include "redact.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

bool open_output(struct output_file *file, const char *path, bool is_private)
{
    struct stat status;
    *file = (struct output_file){.fd = STDOUT_FILENO};
    if (!path)
        return true;
    file->is_new = stat(path, &status) || S_ISREG(status.st_mode);
    if (file->is_new) {
        unsigned int flags = NEW_FILE_FOLLOWS_OWN_LINKS | (is_private ? NEW_FILE_PRIVATE : 0u);
        file->error = new_file_open(&file->replacing, path, flags);
        file->is_new = !file->error;
        file->fd = file->replacing.fd;
        return file->is_new;
    }
    file->fd = new_file_open_special(path);
    file->error = file->fd < 0 ? errno : 0;
    return file->fd >= 0;
}

bool close_output(struct output_file *file, bool good)
{
    if (file->is_new && !good) {
        new_file_drop(&file->replacing);
    } else if (file->is_new) {
        file->error = new_file_keep(&file->replacing);
    } else if (file->fd > STDERR_FILENO && close(file->fd) && good) {
        file->error = errno;
    }
    return good && !file->error;
}

int write_output(void *context, const char *bytes, size_t size)
{
    struct output_file *file = context;
    file->taken += size;
    progress_end();
    while (size) {
        ssize_t written = write(file->fd, bytes, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0) {
            file->error = errno;
            return 1;
        }
        bytes += written;
        size -= (size_t)written;
    }
    return 0;
}

int write_masked(void *context, const char *bytes, size_t size)
{
    struct masked_output *output = context;
    output->file->taken += size;
    text_add(&output->held, bytes, size);
    if (output->held.failed)
        output->file->error = ENOMEM;
    return output->held.failed;
}

bool end_masked(struct masked_output *output)
{
    struct text masked = {0};
    if (!output->held.failed)
        redact_text(output->held.data, output->held.size, &masked);
    bool good = !output->held.failed && !masked.failed;
    if (!good)
        output->file->error = ENOMEM;
    good = good && !write_output(output->file, masked.data, masked.size);
    text_deinit(&masked);
    text_deinit(&output->held);
    return good;
}
