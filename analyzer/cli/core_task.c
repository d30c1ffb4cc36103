/* A core that is shown by a child of the keeper. */
#include "core_task.h"

#include "file_rules.h"
#include "packed_core.h"

#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool add_text(struct task_text *text, size_t *used, const char *string)
{
    const size_t size = strlen(string) + 1;
    if (size > sizeof(text->names) - *used)
        return false;
    memcpy(text->names + *used, string, size);
    *used += size;
    return true;
}

static bool is_readable_core(int fd)
{
    struct stat status;
    return !fstat(fd, &status) && S_ISREG(status.st_mode) && status.st_size;
}

static bool ask(const struct options *options, const struct packed_core *core, int fd,
                int *ret_code)
{
    struct task_text text = {core->owner_known, core->user, core->group, {0}};
    struct sandbox_owner owner = {.user = core->user, .group = core->group, .folder = -1};
    struct file_rules rules;
    struct stat status;
    size_t used = 0;
    if (!core->owner_known && !fstat(fd, &status))
        owner = (struct sandbox_owner){status.st_uid, status.st_gid, 0, -1};
    bool good = add_text(&text, &used, core->name) &&
                add_text(&text, &used, core->warning ? core->warning : "");
    const struct sandbox_task task = {.text = &text,
                                      .size = offsetof(struct task_text, names) + used,
                                      .file = fd,
                                      .lessons = -1,
                                      .seconds = options->keeper_seconds};
    good = file_rules_init(&rules, options) && good;
    rules.rules.owners = &owner;
    rules.rules.owner_count = 1;
    good = good && sandbox_run_kept(options->keeper, &rules.rules, &task, ret_code);
    file_rules_deinit(&rules);
    return good;
}

bool ask_keeper(const struct options *options, const struct packed_core *core, int fd,
                int *ret_code)
{
    if (options->keeper <= 0 || !is_readable_core(fd))
        return false;
    if (ask(options, core, fd, ret_code))
        return true;
    // What it began to write is written anew: both are files of this process.
    if (!ftruncate(STDOUT_FILENO, 0) && !ftruncate(STDERR_FILENO, 0)) {
        lseek(STDOUT_FILENO, 0, SEEK_SET);
        lseek(STDERR_FILENO, 0, SEEK_SET);
    }
    return false;
}
