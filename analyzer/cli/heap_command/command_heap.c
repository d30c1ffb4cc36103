/* `pystack-core heap`: open, read in a child without rights, print. */
#include "heap_command_private.h"

#include "messages.h"
#include "output.h"
#include "packed_core.h"
#include "sandbox.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define SECONDS_IN_SILENCE 1

struct work {
    const struct heap_request *request;
    struct psc_target *target;
    struct psc_target *older;
    struct output_file files[HEAP_OUTPUTS];
    bool *is_good; /* Of each output; shared with the child. */
    struct timespec began;
};

/* Only on a terminal: a program that reads standard error takes each line for a problem. */
static void tell_stage(void *context, const char *stage)
{
    const struct work *work = context;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_sec - work->began.tv_sec >= SECONDS_IN_SILENCE && isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K%s ...\r", stage);
}

/* Of what is looked at. */
static void complain_of_target(const struct work *work, const char *message)
{
    if (work->request->core)
        complain_about(work->request->core, message);
    else
        complain_of_process(work->request->pid, message);
}

static const char *name_of(const char *path)
{
    return path ? path : "standard output";
}

/* ---- in the child ---- */

static bool print_one(struct work *work, struct psc_heap *heap, struct psc_heap *older, size_t i)
{
    const struct heap_request *request = work->request;
    struct psc_heap_print_options print = request->print;
    struct psc_error err = {0};
    struct output_file *file = &work->files[i];
    if (file->fd < 0)
        return false;
    print.format = request->outputs[i].format;
    print.older = older;
    if (psc_heap_print(heap, &print, write_output, file, NULL, &err) == PSC_OK)
        return true;
    if (!request->outputs[i].path && file->error == EPIPE)
        return true;
    if (file->error)
        complain("%s: %s", name_of(request->outputs[i].path), strerror(file->error));
    else
        complain_of_target(work, err.message);
    return false;
}

/* Says itself why there is none. */
static struct psc_heap *open_heap(struct work *work, struct psc_target *target)
{
    struct psc_heap_options options = PSC_HEAP_OPTIONS_INIT;
    struct psc_heap *heap = NULL;
    struct psc_error err = {0};
    options.progress = tell_stage;
    options.progress_context = work;
    enum psc_status status = psc_heap_open(target, &options, &heap, &err);
    if (status != PSC_OK && target == work->older)
        complain_about(work->request->older, err.message);
    else if (status != PSC_OK)
        complain_of_target(work, err.message);
    return heap;
}

static int print_all(struct work *work, struct psc_heap *heap, struct psc_heap *older)
{
    int code = EXIT_COMPLETE;
    for (size_t i = 0; i < work->request->output_count; i++) {
        work->is_good[i] = print_one(work, heap, older, i);
        if (!work->is_good[i])
            code = EXIT_NOTHING;
    }
    for (size_t i = 0; i < psc_heap_warning_count(heap); i++)
        complain_of_target(work, psc_heap_warning(heap, i));
    if (code == EXIT_COMPLETE && !psc_heap_is_complete(heap))
        code = EXIT_PARTIAL;
    return code;
}

static int read_and_write(void *context)
{
    struct work *work = context;
    clock_gettime(CLOCK_MONOTONIC, &work->began);
    struct psc_heap *older = work->older ? open_heap(work, work->older) : NULL;
    struct psc_heap *heap = work->older && !older ? NULL : open_heap(work, work->target);
    if (isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr);
    int code = heap ? print_all(work, heap, older) : EXIT_NOTHING;
    psc_heap_close(heap);
    psc_heap_close(older);
    return code;
}

/* ---- outputs ---- */

static bool open_outputs(struct work *work)
{
    const struct heap_request *request = work->request;
    void *shared = mmap(NULL, HEAP_OUTPUTS * sizeof(*work->is_good), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        complain("out of memory");
        return false;
    }
    work->is_good = shared;
    for (size_t i = 0; i < request->output_count; i++) {
        struct output_file *file = &work->files[i];
        // What a program holds is for nobody but its owner.
        if (open_output(file, request->outputs[i].path, true))
            continue;
        const int error = file->error;
        close_output(file, false);
        complain("%s: cannot be written: %s", name_of(request->outputs[i].path), strerror(error));
        *file = (struct output_file){.fd = -1, .error = error};
    }
    return true;
}

static int close_outputs(struct work *work, int code)
{
    for (size_t i = 0; i < work->request->output_count; i++) {
        struct output_file *file = &work->files[i];
        if (file->fd < 0 || !close_output(file, work->is_good[i])) {
            if (file->fd >= 0 && work->is_good[i])
                complain("%s: %s", name_of(work->request->outputs[i].path), strerror(file->error));
            code = EXIT_NOTHING;
        }
    }
    munmap(work->is_good, HEAP_OUTPUTS * sizeof(*work->is_good));
    return code;
}

static int run_work(struct work *work)
{
    const struct heap_request *request = work->request;
    struct psc_target *targets[] = {work->target, work->older};
    struct sandbox_owner owners[2];
    size_t owner_count = 0;
    for (size_t i = 0; i < 2; i++) {
        uint32_t user, group;
        if (targets[i] && psc_target_owner(targets[i], &user, &group))
            owners[owner_count++] = (struct sandbox_owner){user, group, 0, -1};
    }
    const struct sandbox_rules rules = {.owners = owners,
                                        .owner_count = owner_count,
                                        .sysroot = request->open.sysroot,
                                        .folders = request->open.library_directories,
                                        .folder_count = request->open.library_directory_count};
    if (!open_outputs(work))
        return EXIT_NOTHING;
    return close_outputs(work, sandbox_run(&rules, read_and_write, work));
}

/* ---- targets ---- */

static struct psc_target *open_core(const struct heap_request *request, const char *path)
{
    struct psc_open_options open = request->open;
    struct psc_target *target = NULL;
    struct psc_error err = {0};
    struct packed_core core;
    if (packed_core_open(path, &core)) {
        open.core_name = core.name;
        open.core_warning = core.warning;
        open.core_owner_known = core.owner_known;
        open.core_user = core.user;
        open.core_group = core.group;
        if (psc_open_core(core.path, request->executable, &open, &target, &err) != PSC_OK)
            complain("%s", err.message);
    }
    packed_core_close(&core);
    return target;
}

/* Why it may not be stopped, or NULL. */
static const char *find_refusal(const struct psc_trace *trace)
{
    for (size_t i = 0; trace && i < psc_trace_warning_count(trace); i++)
        if (!strcmp(psc_trace_warning_code(trace, i), "not-permitted"))
            return psc_trace_warning(trace, i);
    return NULL;
}

/* A core file of all of the process's memory; false, and said so, when it cannot be had. */
static bool save_core(const struct heap_request *request, const char *path)
{
    struct psc_capture_options capture = PSC_CAPTURE_OPTIONS_INIT;
    struct psc_target *target = NULL;
    struct psc_snapshot *snapshot = NULL;
    struct psc_trace *trace = NULL;
    struct psc_error err = {0};
    capture.core_path = path;
    capture.core_full = 1;
    capture.mode = PSC_MODE_PYTHON;
    if (isatty(STDERR_FILENO))
        complain("process %d stands still until its memory is copied (Ctrl-C lets it go)",
                 request->pid);
    enum psc_status status = psc_open_process(request->pid, &request->open, &target, &err);
    if (status == PSC_OK)
        status = psc_take_snapshot(target, &capture, &snapshot, &err);
    if (status == PSC_OK)
        status = psc_read_snapshot(snapshot, &trace, &err);
    if (status == PSC_OK)
        status = psc_trace_core(trace, &err);
    if (status == PSC_OK)
        status = psc_snapshot_keep_core(snapshot, &err);
    const char *refusal = find_refusal(trace);
    if (status != PSC_OK)
        complain_of_process(request->pid, refusal ? refusal : err.message);
    psc_trace_destroy(trace);
    psc_snapshot_destroy(snapshot);
    psc_close(target);
    return status == PSC_OK;
}

/* Of a copy of its memory, whose file has no name any more once it is open. */
static struct psc_target *open_process(const struct heap_request *request)
{
    const char *folder = getenv("TMPDIR");
    char path[4096];
    struct psc_target *target = NULL;
    int size = snprintf(path, sizeof(path), "%s/pystack-core-heap-XXXXXX",
                        folder && *folder ? folder : "/tmp");
    if (size < 0 || (size_t)size >= sizeof(path) || !mkdtemp(path)) {
        complain("%s: %s", path, strerror(errno));
        return NULL;
    }
    char file[sizeof(path) + 8];
    snprintf(file, sizeof(file), "%s/core", path);
    if (save_core(request, file))
        target = open_core(request, file);
    unlink(file);
    rmdir(path);
    return target;
}

int command_heap(int argc, char **argv)
{
    struct heap_request request;
    enum options_result result = heap_request_parse(&request, argc, argv);
    if (result != OPTIONS_RUN)
        return command_line_exit_code(result);
    if (!request.no_sandbox)
        sandbox_begin();
    struct work work = {.request = &request};
    int code = EXIT_NOTHING;
    work.target = request.pid ? open_process(&request) : open_core(&request, request.core);
    if (work.target && request.older)
        work.older = open_core(&request, request.older);
    if (work.target && (work.older || !request.older))
        code = run_work(&work);
    psc_close(work.older);
    psc_close(work.target);
    return code;
}
