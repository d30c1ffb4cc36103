/* `pystack-core heap`: open, read in a child without rights, print. */
#include "heap_command_private.h"

#include "messages.h"
#include "output.h"
#include "packed_core.h"
#include "sandbox.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define SECONDS_IN_SILENCE 1

struct work {
    const struct heap_request *request;
    const struct open_core *core;
    const struct open_core *older; /* Or NULL. */
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

/* A core with its heap. */
struct read_heap {
    struct psc_target *target;
    struct psc_heap *heap;
};

static void close_heap(struct read_heap *read)
{
    psc_heap_close(read->heap);
    psc_close(read->target);
}

/* False, and said so: there is none; to be closed in any case. */
static bool open_heap(struct work *work, const struct open_core *core, struct read_heap *ret)
{
    struct psc_heap_options options = PSC_HEAP_OPTIONS_INIT;
    struct psc_error err = {0};
    options.progress = tell_stage;
    options.progress_context = work;
    ret->target = open_core_read(core, work->request->executable, &work->request->open, &err);
    if (!ret->target) {
        complain("%s", err.message);
        return false;
    }
    enum psc_status status = psc_heap_open(ret->target, &options, &ret->heap, &err);
    if (status != PSC_OK && core == work->older)
        complain_about(work->request->older, err.message);
    else if (status != PSC_OK)
        complain_of_target(work, err.message);
    return status == PSC_OK;
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
    struct read_heap older = {0}, heap = {0};
    const bool good = (!work->older || open_heap(work, work->older, &older)) &&
                      open_heap(work, work->core, &heap);
    if (isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr);
    int code = good ? print_all(work, heap.heap, older.heap) : EXIT_NOTHING;
    close_heap(&heap);
    close_heap(&older);
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
    const struct open_core *cores[] = {work->core, work->older};
    struct sandbox_owner owners[2];
    size_t owner_count = 0;
    for (size_t i = 0; i < 2 && cores[i]; i++)
        owners[owner_count++] = (struct sandbox_owner){cores[i]->user, cores[i]->group, 0, -1};
    const struct sandbox_rules rules = {.owners = owners,
                                        .owner_count = owner_count,
                                        .sysroot = request->open.sysroot,
                                        .folders = request->open.library_directories,
                                        .folder_count = request->open.library_directory_count,
                                        .files = &request->executable,
                                        .file_count = request->executable != NULL};
    if (!open_outputs(work))
        return EXIT_NOTHING;
    return close_outputs(work, sandbox_run(&rules, read_and_write, work));
}

/* ---- targets ---- */

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

/* Of a copy of its memory, whose file has no name any more once it is open. `name` is its name. */
static bool open_process(const struct heap_request *request, char name[PATH_MAX],
                         struct open_core *ret)
{
    const char *folder = getenv("TMPDIR");
    char path[PATH_MAX - 8];
    int size = snprintf(path, sizeof(path), "%s/pystack-core-heap-XXXXXX",
                        folder && *folder ? folder : "/tmp");
    if (size < 0 || (size_t)size >= sizeof(path) || !mkdtemp(path)) {
        complain("%s: %s", path, strerror(errno));
        return false;
    }
    snprintf(name, PATH_MAX, "%s/core", path);
    const bool good = save_core(request, name) && open_core_open(name, ret);
    unlink(name);
    rmdir(path);
    return good;
}

int command_heap(int argc, char **argv)
{
    struct heap_request request;
    enum options_result result = heap_request_parse(&request, argc, argv);
    if (result != OPTIONS_RUN)
        return command_line_exit_code(result);
    if (!request.no_sandbox)
        sandbox_begin();
    struct open_core core = OPEN_CORE_NONE, older = OPEN_CORE_NONE;
    struct work work = {.request = &request, .core = &core};
    char name[PATH_MAX];
    int code = EXIT_NOTHING;
    bool good =
        request.pid ? open_process(&request, name, &core) : open_core_open(request.core, &core);
    if (good && request.older) {
        good = open_core_open(request.older, &older);
        work.older = &older;
    }
    if (good)
        code = run_work(&work);
    open_core_close(&older);
    open_core_close(&core);
    return code;
}
