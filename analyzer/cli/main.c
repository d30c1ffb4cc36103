/* The program: parse, open, capture, print. Uses the public header only. */
#include "children.h"
#include "commands.h"
#include "options.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* An open output: standard output, a special file, or a temporary one to be renamed. */
struct output_file {
    int fd;
    int error;  /* errno of the write that failed. */
    char *path; /* NULL: nothing to rename. */
    char *temporary;
};

/* One line, whatever bytes a target's names hold: control characters cannot act. */
static void put_line(const char *text)
{
    for (const unsigned char *byte = (const unsigned char *)text; *byte; byte++) {
        bool c1 = *byte == 0xc2 && byte[1] >= 0x80 && byte[1] <= 0x9f;
        if (*byte < 0x20 || *byte == 0x7f || c1)
            fprintf(stderr, "\\x%02x", c1 ? *++byte : *byte);
        else
            putc(*byte, stderr);
    }
    putc('\n', stderr);
}

__attribute__((__format__(__printf__, 1, 2))) static void complain(const char *format, ...)
{
    char message[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    fputs("pystack-core: ", stderr);
    put_line(message);
}

/* ---- output files ---- */

/* A regular file, or none yet, is replaced as a whole; others are written to. */
static bool open_temporary(struct output_file *file, const char *path)
{
    file->path = realpath(path, NULL);
    if (!file->path)
        file->path = strdup(path);
    if (!file->path || asprintf(&file->temporary, "%s.XXXXXX", file->path) < 0) {
        file->temporary = NULL;
        errno = ENOMEM;
        return false;
    }
    file->fd = mkostemp(file->temporary, O_CLOEXEC);
    if (file->fd < 0)
        return false;
    mode_t mask = umask(0);
    umask(mask);
    return !fchmod(file->fd, 0666 & ~mask);
}

static bool open_output(struct output_file *file, const char *path)
{
    struct stat status;
    *file = (struct output_file){.fd = -1};
    if (!path) {
        file->fd = STDOUT_FILENO;
        return true;
    }
    if (stat(path, &status) || S_ISREG(status.st_mode))
        return open_temporary(file, path);
    file->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    return file->fd >= 0;
}

/* Keeps the file only when all went well. */
static bool close_output(struct output_file *file, bool good)
{
    int error = file->error;
    if (file->fd > STDERR_FILENO && close(file->fd) && good) {
        error = errno;
        good = false;
    }
    if (good && file->temporary && rename(file->temporary, file->path)) {
        error = errno;
        good = false;
    }
    if (!good && file->temporary && file->fd >= 0)
        unlink(file->temporary);
    free(file->path);
    free(file->temporary);
    file->error = error;
    return good;
}

static int write_output(void *context, const char *bytes, size_t size)
{
    struct output_file *file = context;
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

/* ---- the way through ---- */

static bool wants_color(const struct options *options, const struct output *output)
{
    const char *no_color = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");
    if (options->color != COLOR_AUTO)
        return options->color == COLOR_ALWAYS;
    return !output->path && !(no_color && *no_color) && isatty(STDOUT_FILENO) && terminal &&
           strcmp(terminal, "dumb");
}

/* A core is replaced by its report only once, and then there is no core. */
static bool is_same_file(const char *path, const char *other)
{
    struct stat a;
    struct stat b;
    return path && !stat(path, &a) && !stat(other, &b) && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

static bool print_output(struct psc_trace *const *traces, size_t count,
                         const struct options *options, const struct output *output)
{
    const char *name = output->path ? output->path : "standard output";
    struct psc_print_options print = options->print;
    struct output_file file;
    struct psc_error err = {0};
    if (options->core && is_same_file(output->path, options->core)) {
        complain("%s: is the core file itself; name another file to write to", name);
        return false;
    }
    print.format = output->format;
    print.color = wants_color(options, output);
    if (!open_output(&file, output->path)) {
        file.error = errno;
        close_output(&file, false);
        complain("%s: cannot be written: %s", name, strerror(file.error));
        return false;
    }
    const struct psc_trace *const *readable = (const struct psc_trace *const *)traces;
    bool good = options->children
                    ? !psc_print_processes(readable, count, &print, write_output, &file, &err)
                    : !psc_print(traces[0], &print, write_output, &file, &err);
    good = close_output(&file, good);
    /* Whoever reads the pipe has seen enough. */
    if (!good && !output->path && file.error == EPIPE)
        return true;
    if (!good)
        complain("%s: %s", name, file.error ? strerror(file.error) : err.message);
    return good;
}

/* Sentences on a process name it themselves. */
static void complain_of(const char *label, const char *message)
{
    if (!strncmp(message, label, strlen(label)))
        complain("%s", message);
    else
        complain("%s: %s", label, message);
}

/* Says why the core file that was asked for is not there. */
static bool is_core_saved(const struct psc_trace *trace, const struct options *options)
{
    struct psc_error err = {0};
    if (!options->saves_core || psc_trace_core(trace, &err) == PSC_OK)
        return true;
    complain("%s", err.message);
    return false;
}

/* Prints what was captured, and what was missing of it; frees it. */
static int show_traces(struct psc_trace **traces, size_t count, const struct options *options)
{
    bool good = true;
    int code = EXIT_COMPLETE;
    for (size_t i = 0; i < options->output_count; i++)
        good = print_output(traces, count, options, &options->outputs[i]) && good;
    for (size_t i = 0; i < count; i++) {
        char label[32];
        snprintf(label, sizeof(label), "process %d", psc_trace_pid(traces[i]));
        for (size_t j = 0; j < psc_trace_warning_count(traces[i]); j++)
            complain_of(options->pid ? label : options->core, psc_trace_warning(traces[i], j));
        if (!psc_trace_is_complete(traces[i]))
            code = EXIT_PARTIAL;
        good = is_core_saved(traces[i], options) && good;
        psc_trace_destroy(traces[i]);
    }
    return good ? code : EXIT_NOTHING;
}

/* Whoever waits should know what for; a program that reads what is said should not. */
static void announce_copy(int32_t pid)
{
    if (isatty(STDERR_FILENO))
        complain("process %d stands still until its memory is copied (Ctrl-C lets it go)", pid);
}

/* malloc'd; of several processes each has its own. */
static char *name_core(int32_t pid, const struct options *options)
{
    const char *file = options->core_file ? options->core_file : "core";
    char *path;
    if (options->core_file && !options->children)
        return strdup(file);
    return asprintf(&path, "%s.%d", file, pid) < 0 ? NULL : path;
}

/* psc_capture() of a process, with its core file if one is wanted. */
static enum psc_status capture(struct psc_target *target, int32_t pid,
                               const struct options *options, struct psc_trace **ret,
                               struct psc_error *err)
{
    struct psc_capture_options capture = options->capture;
    char *path = NULL;
    if (options->saves_core) {
        path = name_core(pid, options);
        if (!path) {
            snprintf(err->message, sizeof(err->message), "out of memory");
            return PSC_ERR_MEMORY;
        }
        capture.core_path = path;
        if (capture.core_full)
            announce_copy(pid);
    }
    enum psc_status status = psc_capture(target, &capture, ret, err);
    free(path);
    return status;
}

static int show(struct psc_target *target, const struct options *options)
{
    struct psc_error err = {0};
    struct psc_trace *trace;
    if (capture(target, options->pid, options, &trace, &err)) {
        complain_of(options->pid ? options->label : options->core, err.message);
        return EXIT_NOTHING;
    }
    return show_traces(&trace, 1, options);
}

static struct psc_trace *capture_process(int32_t pid, const struct options *options)
{
    struct psc_error err = {0};
    struct psc_target *target = NULL;
    struct psc_trace *trace = NULL;
    if (psc_open_process(pid, &options->open, &target, &err) ||
        capture(target, pid, options, &trace, &err))
        complain("%s", err.message);
    psc_close(target);
    return trace;
}

/* One that cannot be shown does not keep the others from it. */
static int show_tree(const struct options *options)
{
    size_t count, shown = 0;
    int32_t *pids = list_descendants(options->pid, &count);
    struct psc_trace **traces = calloc(count + 1, sizeof(*traces));
    int code = EXIT_NOTHING;
    for (size_t i = 0; pids && traces && i < count; i++) {
        traces[shown] = capture_process(pids[i], options);
        shown += traces[shown] != NULL;
    }
    if (!pids || !traces)
        complain("out of memory");
    else if (shown)
        code = show_traces(traces, shown, options);
    if (code == EXIT_COMPLETE && shown < count)
        code = EXIT_PARTIAL;
    free(traces);
    free(pids);
    return code;
}

/* Whether whoever read the pipe has gone. */
static bool is_closed(int fd)
{
    struct pollfd poll_fd = {.fd = fd};
    return poll(&poll_fd, 1, 0) > 0 && (poll_fd.revents & (POLLERR | POLLNVAL));
}

/*
 * Until nothing can be shown any more; what was shown until then counts. Without a target the
 * processes are looked for each time.
 */
static int watch(struct psc_target *target, const struct options *options)
{
    const double whole = (double)(time_t)options->interval;
    const struct timespec pause = {(time_t)options->interval,
                                   (long)((options->interval - whole) * 1e9)};
    int worst = EXIT_NOTHING;
    for (;;) {
        int code = target ? show(target, options) : show_tree(options);
        if (code == EXIT_NOTHING)
            return worst;
        if (worst == EXIT_NOTHING || code > worst)
            worst = code;
        if (is_closed(STDOUT_FILENO))
            return worst;
        nanosleep(&pause, NULL);
    }
}

/* A slip in these would only show as files that are not found. */
static void check_directory(const char *path)
{
    struct stat status;
    if (stat(path, &status) || !S_ISDIR(status.st_mode))
        complain("%s: there is no such directory", path);
}

static int run(const struct options *options)
{
    if (options->open.sysroot)
        check_directory(options->open.sysroot);
    for (size_t i = 0; i < options->open.library_directory_count; i++)
        check_directory(options->library_directories[i]);
    struct psc_error err = {0};
    struct psc_target *target = NULL;
    if (options->children)
        return options->interval > 0 ? watch(NULL, options) : show_tree(options);
    enum psc_status status =
        options->pid
            ? psc_open_process(options->pid, &options->open, &target, &err)
            : psc_open_core(options->core, options->executable, &options->open, &target, &err);
    if (status != PSC_OK) {
        complain("%s", err.message);
        return EXIT_NOTHING;
    }
    int code = options->interval > 0 ? watch(target, options) : show(target, options);
    psc_close(target);
    return code;
}

struct command {
    const char *name;
    int (*run)(int argc, char **argv);
};

static const struct command commands[] = {{"demangle", command_demangle}, {NULL, NULL}};

/* What help, version or a command printed went through stdio. */
static int finish_stdout(void)
{
    if (!fflush(stdout) || errno == EPIPE)
        return EXIT_COMPLETE;
    complain("standard output: %s", strerror(errno));
    return EXIT_NOTHING;
}

/* So that no file that is opened later takes the number of a closed standard stream. */
static void hold_standard_streams(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

int main(int argc, char **argv)
{
    struct options options;
    int code = EXIT_USAGE;
    hold_standard_streams();
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* A file that is too large is an error that is named. */
    for (const struct command *command = commands; argc > 1 && command->name; command++) {
        if (!strcmp(argv[1], command->name)) {
            code = command->run(argc - 1, argv + 1);
            return finish_stdout() == EXIT_COMPLETE ? code : EXIT_NOTHING;
        }
    }
    switch (options_parse(&options, argc, argv)) {
    case OPTIONS_RUN:
        code = run(&options);
        break;
    case OPTIONS_DONE:
        code = finish_stdout();
        break;
    case OPTIONS_WRONG:
        break;
    case OPTIONS_NO_MEMORY:
        code = EXIT_NOTHING;
        break;
    }
    options_deinit(&options);
    return code;
}
