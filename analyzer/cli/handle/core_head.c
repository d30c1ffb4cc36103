/* What stands at the head of a core, read of a pipe. */
#include "handle_private.h"

#include "elf.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* What stands before notes at the end of a core is read by so much. */
#define SKIP_SIZE ((size_t)1024 * 1024)
/* Where in a head's file memory lies that is not in it: behind all that a core can have. */
#define NOT_HERE (UINT64_C(1) << 60)

double handle_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

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

uint64_t core_head_count_segments(const struct stream_head *head, const struct elf_header *header)
{
    struct elf_segment first;
    if (header->segment_count != PN_XNUM)
        return header->segment_count;
    parse_elf_segment(head->bytes + header->segments_offset, &first);
    return first.type == PT_NOTE && first.offset > header->segments_offset
               ? (first.offset - header->segments_offset) / ELF_SEGMENT_SIZE
               : 0;
}

/* Where its notes begin and end. */
struct notes_range {
    uint64_t begin;
    uint64_t end;
};

static const char *find_notes(const struct stream_head *head, const struct elf_header *header,
                              uint64_t count, struct notes_range *ret)
{
    *ret = (struct notes_range){UINT64_MAX, 0};
    for (uint64_t i = 0; i < count; i++) {
        struct elf_segment segment;
        parse_elf_segment(head->bytes + header->segments_offset + i * ELF_SEGMENT_SIZE, &segment);
        if (segment.type != PT_NOTE)
            continue;
        if (segment.offset > NOT_HERE || segment.file_size > HEAD_LIMIT)
            return "its notes are too large";
        if (segment.offset < ret->begin)
            ret->begin = segment.offset;
        if (segment.offset + segment.file_size > ret->end)
            ret->end = segment.offset + segment.file_size;
    }
    return NULL;
}

/* Reads what nobody needs: the memory of a process that is there. */
static const char *skip(int fd, uint64_t size, double until)
{
    char *bytes = malloc(SKIP_SIZE);
    const char *problem = bytes ? NULL : "out of memory";
    while (!problem && size) {
        ssize_t got = -1;
        if (!wait_for_bytes(fd, until))
            problem = "it did not come in time up to its notes, which stand behind its memory";
        else if ((got = read(fd, bytes, size < SKIP_SIZE ? (size_t)size : SKIP_SIZE)) > 0)
            size -= (uint64_t)got;
        else if (!got)
            problem = "it ends before its notes, which stand behind its memory";
        else if (errno != EINTR)
            problem = strerror(errno);
    }
    free(bytes);
    return problem;
}

/* As if the notes stood behind the program headers, and what lies in memory nowhere in the file. */
static void put_notes_first(struct stream_head *head, const struct elf_header *header,
                            uint64_t count, uint64_t skipped)
{
    for (uint64_t i = 0; i < count; i++) {
        uint8_t *at = head->bytes + header->segments_offset + i * ELF_SEGMENT_SIZE;
        Elf64_Phdr segment;
        memcpy(&segment, at, sizeof(segment));
        if (segment.p_type == PT_NOTE)
            segment.p_offset -= skipped;
        else
            segment.p_offset = NOT_HERE + segment.p_offset % NOT_HERE;
        memcpy(at, &segment, sizeof(segment));
    }
}

const char *core_head_read(struct stream_head *head, int fd, bool is_passed_on, double until)
{
    struct elf_header header;
    struct notes_range notes;
    const char *problem = read_up_to(head, fd, ELF_HEADER_SIZE, until);
    if (problem)
        return problem;
    if (!parse_elf_header(head->bytes, head->size, &header) || header.type != ET_CORE ||
        header.segments_offset > HEAD_LIMIT)
        return "it is no core of a 64-bit machine";
    problem = read_up_to(head, fd, header.segments_offset + ELF_SEGMENT_SIZE, until);
    if (problem)
        return problem;
    uint64_t count = core_head_count_segments(head, &header);
    if (!count || count > HEAD_LIMIT / ELF_SEGMENT_SIZE)
        return "it has no program headers, or too many";
    problem = read_up_to(head, fd, header.segments_offset + count * ELF_SEGMENT_SIZE, until);
    if (!problem)
        problem = find_notes(head, &header, count, &notes);
    if (problem || notes.end <= HEAD_LIMIT)
        return problem ? problem : read_up_to(head, fd, notes.end, until);
    // The kernel writes them first; gdb's gcore, last.
    if (notes.begin < head->size || notes.end - notes.begin > HEAD_LIMIT - head->size)
        return "its notes are too large";
    if (is_passed_on)
        return "its notes stand behind its memory, which is passed on without being kept";
    uint64_t skipped = notes.begin - head->size;
    problem = skip(fd, skipped, until);
    if (!problem)
        problem = read_up_to(head, fd, notes.end - skipped, until);
    if (!problem)
        put_notes_first(head, &header, count, skipped);
    return problem;
}
