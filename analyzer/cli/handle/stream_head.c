/* The head of a core that comes through a pipe. */
#include "handle_private.h"

#include "elf.h"
#include "messages.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HEAD_LIMIT ((uint64_t)64 << 20)
#define COPY_SIZE  ((size_t)64 * 1024)

double handle_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---- reading ---- */

static bool wait_for_bytes(int fd, double until)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    double left = until - handle_now();
    return left > 0 && poll(&wait, 1, (int)(left * 1000) + 1) > 0;
}

static const char *read_up_to(struct stream_head *head, int fd, uint64_t size, double until)
{
    if (size > HEAD_LIMIT)
        return "its notes are too large";
    if (size > head->capacity) {
        uint8_t *grown = realloc(head->bytes, (size_t)size);
        if (!grown)
            return "out of memory";
        head->bytes = grown;
        head->capacity = (size_t)size;
    }
    while (head->size < size) {
        if (!wait_for_bytes(fd, until))
            return "it did not come in time";
        ssize_t got = read(fd, head->bytes + head->size, (size_t)size - head->size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return strerror(errno);
        if (!got)
            return "it ends within its head";
        head->size += (size_t)got;
    }
    return NULL;
}

/*
 * How many program headers there are: the kernel puts the notes right behind them, and the number
 * of more than 65,534 at the end of the core (fs/binfmt_elf.c, elf_core_dump()).
 */
static uint64_t count_segments(const struct stream_head *head, const struct elf_header *header)
{
    struct elf_segment first;
    if (header->segment_count != PN_XNUM)
        return header->segment_count;
    parse_elf_segment(head->bytes + header->segments_offset, &first);
    return first.type == PT_NOTE && first.offset > header->segments_offset
               ? (first.offset - header->segments_offset) / ELF_SEGMENT_SIZE
               : 0;
}

const char *stream_head_read(struct stream_head *head, int fd, double until)
{
    struct elf_header header;
    const char *problem = read_up_to(head, fd, ELF_HEADER_SIZE, until);
    if (problem)
        return problem;
    if (!parse_elf_header(head->bytes, head->size, &header) || header.type != ET_CORE ||
        header.segments_offset > HEAD_LIMIT)
        return "it is no core of a 64-bit machine";
    problem = read_up_to(head, fd, header.segments_offset + ELF_SEGMENT_SIZE, until);
    if (problem)
        return problem;
    uint64_t count = count_segments(head, &header), end = 0;
    if (!count || count > HEAD_LIMIT / ELF_SEGMENT_SIZE)
        return "it has no program headers, or too many";
    problem = read_up_to(head, fd, header.segments_offset + count * ELF_SEGMENT_SIZE, until);
    for (uint64_t i = 0; !problem && i < count; i++) {
        struct elf_segment segment;
        parse_elf_segment(head->bytes + header.segments_offset + i * ELF_SEGMENT_SIZE, &segment);
        if (segment.type != PT_NOTE)
            continue;
        if (segment.offset > HEAD_LIMIT || segment.file_size > HEAD_LIMIT)
            return "its notes are too large";
        if (segment.offset + segment.file_size > end)
            end = segment.offset + segment.file_size;
    }
    return problem ? problem : read_up_to(head, fd, end, until);
}

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

/* With the number of segments where a reader looks for it. */
int stream_head_make_file(const struct stream_head *head)
{
    struct elf_header header;
    int fd = memfd_create("pystack-core head", MFD_CLOEXEC);
    if (fd < 0 || !parse_elf_header(head->bytes, head->size, &header))
        return fd;
    Elf64_Ehdr first;
    memcpy(&first, head->bytes, sizeof(first));
    const Elf64_Shdr number = {.sh_info = (uint32_t)count_segments(head, &header)};
    const bool has_number = header.segment_count == PN_XNUM;
    if (has_number)
        first.e_shoff = head->size;
    if (write_all(fd, &first, sizeof(first)) &&
        write_all(fd, head->bytes + sizeof(first), head->size - sizeof(first)) &&
        (!has_number || write_all(fd, &number, sizeof(number))))
        return fd;
    close(fd);
    return -1;
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
