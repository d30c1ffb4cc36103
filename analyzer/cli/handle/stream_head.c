/* The head of a core that comes through a pipe. */
#include "handle_private.h"

#include "elf.h"
#include "messages.h"
#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define COPY_SIZE ((size_t)64 * 1024)
/* The one who parses says itself that it was too long, and may take so much longer. */
#define END_SECONDS 0.5

static bool write_all(int fd, const void *bytes, size_t size)
{
    const uint8_t *from = bytes;
    while (size) {
        ssize_t written = write(fd, from, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        from += written;
        size -= (size_t)written;
    }
    return true;
}

/* Also with the number of segments where a reader looks for it. */
static bool write_as_core(const struct stream_head *head, int fd)
{
    struct elf_header header;
    if (!parse_elf_header(head->bytes, head->size, &header))
        return false;
    Elf64_Ehdr first;
    memcpy(&first, head->bytes, sizeof(first));
    const Elf64_Shdr number = {.sh_info = (uint32_t)core_head_count_segments(head, &header)};
    const bool has_number = header.segment_count == PN_XNUM;
    if (has_number)
        first.e_shoff = head->size;
    return write_all(fd, &first, sizeof(first)) &&
           write_all(fd, head->bytes + sizeof(first), head->size - sizeof(first)) &&
           (!has_number || write_all(fd, &number, sizeof(number)));
}

/* ---- the one who parses ---- */

/* What it writes: the bytes as they came, the same as a core's head, and what is wrong. */
struct head_files {
    int bytes;
    int core;
    int problem;
};

static int parse_head(const struct head_files *files, int fd, bool is_passed_on, double until)
{
    struct stream_head head = {0};
    const char *problem = core_head_read(&head, fd, is_passed_on, until);
    bool good = write_all(files->bytes, head.bytes, head.size);
    if (!problem && !(good && write_as_core(&head, files->core)))
        problem = "its head cannot be kept";
    if (problem)
        good = write_all(files->problem, problem, strlen(problem));
    free(head.bytes);
    return good ? EXIT_COMPLETE : EXIT_NOTHING;
}

/* ---- the one who waits ---- */

static bool make_files(struct head_files *ret)
{
    ret->bytes = memfd_create("pystack-core bytes", MFD_CLOEXEC);
    ret->core = memfd_create("pystack-core head", MFD_CLOEXEC);
    ret->problem = memfd_create("pystack-core problem", MFD_CLOEXEC);
    return ret->bytes >= 0 && ret->core >= 0 && ret->problem >= 0;
}

static void close_file(int fd)
{
    if (fd >= 0)
        close(fd);
}

/* All that was read, and why it was no more. */
static void take_files(const struct head_files *files, struct stream_head *head)
{
    const off_t size = lseek(files->bytes, 0, SEEK_END);
    head->bytes = size > 0 && size <= (off_t)HEAD_LIMIT ? malloc((size_t)size) : NULL;
    head->capacity = head->bytes ? (size_t)size : 0;
    while (head->size < head->capacity) {
        ssize_t got = pread(files->bytes, head->bytes + head->size, head->capacity - head->size,
                            (off_t)head->size);
        if (got <= 0 && errno != EINTR)
            break;
        head->size += got > 0 ? (size_t)got : 0;
    }
    ssize_t said = pread(files->problem, head->problem, sizeof(head->problem) - 1, 0);
    head->problem[said > 0 ? said : 0] = '\0';
}

/* It ends by itself in time, unless what it parses has taken it over. */
static bool wait_for(pid_t child, int end, double until)
{
    struct pollfd wait = {.fd = end, .events = POLLIN};
    int status = 0, got = 0;
    double left;
    while (!got && (left = until + END_SECONDS - handle_now()) > 0) {
        got = poll(&wait, 1, (int)(left * 1000) + 1);
        got = got < 0 && errno == EINTR ? 0 : got;
    }
    if (got <= 0)
        kill(child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) && WEXITSTATUS(status) == EXIT_COMPLETE;
}

static bool run_parser(const struct head_files *files, int fd, const struct handle_request *request,
                       double until)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return false;
    const pid_t parent = getpid(), child = fork();
    if (!child) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(ends[0]);
        if (getppid() != parent)
            _exit(EXIT_NOTHING);
        if (!request->no_sandbox)
            sandbox_close_all();
        _exit(parse_head(files, fd, request->then != NULL, until));
    }
    close(ends[1]);
    const bool good = child > 0 && wait_for(child, ends[0], until);
    close(ends[0]);
    return good;
}

const char *stream_head_read(struct stream_head *head, int fd, const struct handle_request *request,
                             double until)
{
    struct head_files files;
    const char *problem = "what reads its head has failed";
    *head = (struct stream_head){.file = -1};
    if (make_files(&files)) {
        if (run_parser(&files, fd, request, until))
            problem = NULL;
        take_files(&files, head);
        if (head->problem[0])
            problem = head->problem;
        head->file = files.core;
        files.core = -1;
    }
    close_file(files.bytes);
    close_file(files.core);
    close_file(files.problem);
    return problem;
}

void stream_head_deinit(struct stream_head *head)
{
    free(head->bytes);
    close_file(head->file);
    head->file = -1;
}

/* ---- passing on ---- */

void handle_drop_input(void)
{
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing < 0)
        close(STDIN_FILENO);
    else if (nothing != STDIN_FILENO) {
        dup2(nothing, STDIN_FILENO);
        close(nothing);
    }
}

static void copy_all(const struct stream_head *head, int from, int to)
{
    char *bytes = malloc(COPY_SIZE);
    ssize_t got = bytes && write_all(to, head->bytes, head->size) ? 1 : 0;
    while (got > 0) {
        got = read(from, bytes, COPY_SIZE);
        if (got < 0 && errno == EINTR)
            got = 1;
        else if (got > 0 && !write_all(to, bytes, (size_t)got))
            break;
    }
    free(bytes);
}

int stream_pass_on(const struct stream_head *head, int fd, char **program)
{
    int ends[2], status = 0;
    if (pipe(ends)) {
        complain("a pipe: %s", strerror(errno));
        return EXIT_NOTHING;
    }
    pid_t child = fork();
    if (!child) {
        dup2(ends[0], STDIN_FILENO);
        close(ends[0]);
        close(ends[1]);
        signal(SIGPIPE, SIG_DFL);
        signal(SIGXFSZ, SIG_DFL);
        execvp(program[0], program);
        complain("%s: cannot be started: %s", program[0], strerror(errno));
        _exit(127);
    }
    close(ends[0]);
    if (child > 0)
        copy_all(head, fd, ends[1]);
    else
        complain("%s: cannot be started: %s", program[0], strerror(errno));
    close(ends[1]);
    if (child < 0)
        return EXIT_NOTHING;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_NOTHING;
}
