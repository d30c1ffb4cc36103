/* Many cores whose libraries are read once: by a keeper, whose children read the cores. */
#include "kept_cores.h"

#include "core_task.h"
#include "file_rules.h"
#include "messages.h"
#include "packed_core.h"
#include "show_target.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the keeper and its children ---- */

struct keeping {
    struct options options;
    struct psc_kept *kept;
};

/* A copy of each file: what it has learned must not change with the file. */
static bool begin(void *context)
{
    struct keeping *keeping = context;
    struct psc_open_options open = keeping->options.open;
    if (keeping->options.redacts)
        messages_redact();
    open.maps_files = 0;
    return psc_kept_create(&open, &keeping->kept, NULL) == PSC_OK;
}

static void learn(void *context, const void *bytes, size_t size)
{
    const struct keeping *keeping = context;
    // What is damaged is not learned.
    (void)!psc_kept_learn(keeping->kept, bytes, size, NULL);
}

static int write_lesson(void *context, const char *bytes, size_t size)
{
    const struct sandbox_task *task = context;
    return write(task->lessons, bytes, size) == (ssize_t)size ? 0 : -1;
}

/* The process ends here: to free what it has would take as long as much of its work. */
static void write_lessons(void *context, const struct psc_target *target, int code)
{
    (void)!psc_target_lessons(target, write_lesson, context, NULL);
    fflush(NULL);
    _exit(code);
}

static int show_task(void *context, const struct sandbox_task *task)
{
    struct keeping *keeping = context;
    const struct task_text *text = task->text;
    struct sandbox_task own = *task;
    const char *end = (const char *)task->text + task->size;
    const char *warning = text->names + strnlen(text->names, (size_t)(end - text->names)) + 1;
    struct packed_core core = {.name = text->names,
                               .path = text->names,
                               .warning = warning < end && *warning ? warning : NULL,
                               .owner_known = text->owner_known,
                               .user = text->user,
                               .group = text->group,
                               .file = task->file};
    keeping->options.core = core.name;
    keeping->options.keeper = -1;
    keeping->options.open.kept = keeping->kept;
    const struct core_finish finish = {write_lessons, &own};
    return show_open_core(&core, task->file, &keeping->options, &finish);
}

/* An archive in place of a folder, and what is fetched, are read by the one who asks. */
static bool can_keep(const struct options *options)
{
    struct stat status;
    const char *sysroot = options->open.sysroot;
    return !options->no_sandbox && !options->debuginfod && !options->interval && !options->bundle &&
           !options->lists_files && !options->capture.list_files &&
           (!sysroot || (!stat(sysroot, &status) && S_ISDIR(status.st_mode)));
}

bool kept_cores_start(const struct options *options, struct sandbox_keeper *ret)
{
    static struct keeping keeping;
    static const struct sandbox_keeping calls = {begin, learn, show_task, &keeping};
    static const struct sandbox_owner everybody = {(uid_t)-1, (gid_t)-1, 0, -1};
    struct file_rules rules;
    *ret = (struct sandbox_keeper){.control = -1};
    if (!can_keep(options))
        return false;
    keeping.options = *options;
    bool good = file_rules_init(&rules, options);
    // What it knows is told to whoever's core it is: beside code only what everybody may read.
    rules.rules.owners = &everybody;
    rules.rules.owner_count = 1;
    rules.rules.own_only = true;
    good = good && sandbox_keeper_start(&rules.rules, &calls, ret);
    file_rules_deinit(&rules);
    return good;
}
