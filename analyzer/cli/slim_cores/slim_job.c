/* One core, opened here, read and written by a child without rights. */
#include "slim_cores.h"

#include "messages.h"
#include "new_file.h"
#include "options.h"
#include "packed_core.h"
#include "sandbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct slim_work {
    const struct slim_job *job;
    const struct open_core *core;
    const struct psc_open_options *open;
    int fd;
};

static int write_small(void *context)
{
    const struct slim_work *work = context;
    struct psc_slim_options options = PSC_SLIM_OPTIONS_INIT;
    struct psc_error err = {0};
    struct psc_target *target = open_core_read(work->core, work->job->executable, work->open, &err);
    if (!target) {
        complain("%s", err.message);
        return EXIT_NOTHING;
    }
    options.with_files = work->job->with_files;
    enum psc_status status = psc_write_slim_core(target, work->fd, &options, &err);
    if (status != PSC_OK)
        complain_about(work->job->core, err.message);
    psc_close(target);
    return status == PSC_OK ? EXIT_COMPLETE : status == PSC_ERR_LIMIT ? EXIT_PARTIAL : EXIT_NOTHING;
}

static int run_work(struct slim_work *work)
{
    const struct psc_open_options *open = work->open;
    const struct sandbox_owner owner = {work->core->user, work->core->group, 0, -1};
    size_t count = 0;
    const char **folders =
        calloc(open->library_directory_count + open->source_directory_count + 1, sizeof(*folders));
    if (!folders) {
        complain("out of memory");
        return EXIT_NOTHING;
    }
    for (size_t i = 0; i < open->library_directory_count; i++)
        folders[count++] = open->library_directories[i];
    for (size_t i = 0; i < open->source_directory_count; i++)
        folders[count++] = open->source_directories[i];
    const struct sandbox_rules rules = {.owners = &owner,
                                        .owner_count = 1,
                                        .sysroot = open->sysroot,
                                        .folders = folders,
                                        .folder_count = count,
                                        .files = &work->job->executable,
                                        .file_count = work->job->executable != NULL};
    int code = sandbox_run(&rules, write_small, work);
    free(folders);
    return code;
}

static bool is_same_file(const char *path, const char *other)
{
    struct stat a, b;
    return !stat(path, &a) && !stat(other, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* The file appears when all went well. */
static int write_file(struct slim_work *work)
{
    const char *small = work->job->small;
    struct new_file file = {.fd = -1};
    int error = new_file_open(&file, small, NEW_FILE_PRIVATE | NEW_FILE_FOLLOWS_OWN_LINKS);
    int code = EXIT_NOTHING;
    work->fd = file.fd;
    if (!error) {
        code = run_work(work);
        if (code <= EXIT_PARTIAL)
            error = new_file_keep(&file);
        else
            new_file_drop(&file);
    }
    if (error)
        complain("%s: cannot be written: %s", small,
                 error == EINVAL ? "no regular file" : strerror(error));
    return error ? EXIT_NOTHING : code;
}

static int open_and_write(struct slim_work *work, struct options *options)
{
    struct open_core core;
    int code = EXIT_NOTHING;
    if (open_core_open(work->job->core, &core)) {
        options->open.notes_reads =
            work->job->redacts ? PSC_NOTES_READS_REDACTED : PSC_NOTES_READS_ALL;
        work->core = &core;
        work->open = &options->open;
        code = write_file(work);
        work->core = NULL;
    }
    open_core_close(&core);
    return code;
}

int slim_core_make(const struct slim_job *job)
{
    struct slim_work work = {.job = job, .fd = -1};
    struct options options;
    static char program[] = "pystack-core", end[] = "--";
    int count = 0, code = EXIT_NOTHING;
    if (is_same_file(job->small, job->core)) {
        complain("%s: is the core file itself; name another file to write to", job->small);
        return EXIT_NOTHING;
    }
    char **words = calloc((size_t)job->word_count + 4, sizeof(*words));
    char *core = strdup(job->core);
    if (!words || !core) {
        complain("out of memory");
    } else {
        words[count++] = program;
        for (int i = 0; i < job->word_count; i++)
            words[count++] = job->words[i];
        words[count++] = end;
        words[count++] = core;
        enum options_result result = options_parse(&options, count, words);
        code = result == OPTIONS_RUN ? open_and_write(&work, &options)
                                     : command_line_exit_code(result);
        options_deinit(&options);
    }
    free(core);
    free(words);
    return code;
}
