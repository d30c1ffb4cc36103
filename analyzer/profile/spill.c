/* The samples of a profile: a file without a name takes what memory should not hold. */
#include "profile_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* O_TMPFILE: open(2). */
static int open_unnamed(void)
{
    const char *const folders[] = {getenv("TMPDIR"), "/tmp", "/var/tmp"};
    int fd = -1;
    for (size_t i = 0; fd < 0 && i < PSC_ARRAY_SIZE(folders); i++)
        if (folders[i] && folders[i][0] == '/')
            fd = open(folders[i], O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);
    return fd >= 0 ? fd : memfd_create("samples", MFD_CLOEXEC);
}

struct profile_files profile_open_files(void)
{
    return (struct profile_files){open_unnamed(), open_unnamed()};
}

void profile_close_files(struct profile_files *files)
{
    if (files->samples >= 0)
        close(files->samples);
    if (files->sorted >= 0)
        close(files->sorted);
    *files = (struct profile_files){-1, -1};
}

struct profile_spill *spill_create(const struct profile_files *given)
{
    struct profile_spill *spill = calloc(1, sizeof(*spill));
    if (spill) {
        spill->given = given ? *given : (struct profile_files){-1, -1};
        spill->fd = spill->given.samples;
    }
    return spill;
}

void spill_destroy(struct profile_spill *spill)
{
    if (!spill)
        return;
    if (spill->fd >= 0 && spill->fd != spill->given.samples)
        close(spill->fd);
    free(spill->items);
    free(spill);
}

static bool write_all(int fd, const char *bytes, size_t size)
{
    while (size) {
        ssize_t done = write(fd, bytes, size);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        bytes += done;
        size -= (size_t)done;
    }
    return true;
}

static enum psc_status spill_out(struct profile_spill *spill)
{
    if (spill->fd < 0)
        spill->fd = open_unnamed();
    off_t end = (off_t)(spill->spilled * sizeof(*spill->items));
    if (spill->fd < 0 || lseek(spill->fd, end, SEEK_SET) != end ||
        !write_all(spill->fd, (const char *)spill->items, spill->count * sizeof(*spill->items)))
        return PSC_ERR_IO;
    spill->spilled += spill->count;
    spill->count = 0;
    return PSC_OK;
}

enum psc_status profile_add_sample(struct profile *profile, const struct profile_sample *sample)
{
    struct profile_spill *spill = profile->spill;
    if (spill->count >= PROFILE_HELD_LIMIT) {
        enum psc_status status = spill_out(spill);
        if (status != PSC_OK)
            return status;
    }
    if (!array_reserve(&spill->items, &spill->capacity, spill->count + 1, sizeof(*spill->items)))
        return PSC_ERR_MEMORY;
    spill->items[spill->count++] = *sample;
    return PSC_OK;
}

void *profile_map_room(const struct profile *profile, size_t size)
{
    const int given = profile->spill->given.sorted;
    const int fd = given >= 0 ? given : open_unnamed();
    void *room = MAP_FAILED;
    int error = fd < 0 || ftruncate(fd, 0) ? errno : posix_fallocate(fd, 0, (off_t)size);
    if (!error) {
        room = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        error = errno;
    }
    if (fd >= 0 && fd != given)
        close(fd);
    errno = error;
    return room == MAP_FAILED ? NULL : room;
}

uint64_t profile_sample_count(const struct profile *profile)
{
    return profile->spill->spilled + profile->spill->count;
}

/* Samples in the file; fewer when it cannot be read. */
static size_t read_spilled(const struct profile_spill *spill, uint64_t first,
                           struct profile_sample *ret, size_t count)
{
    size_t done = 0, size = count * sizeof(*ret);
    while (done < size) {
        ssize_t got =
            pread(spill->fd, (char *)ret + done, size - done, (off_t)(first * sizeof(*ret) + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        done += (size_t)got;
    }
    return done / sizeof(*ret);
}

size_t profile_read_samples(const struct profile *profile, uint64_t first,
                            struct profile_sample *ret, size_t count)
{
    const struct profile_spill *spill = profile->spill;
    size_t got = 0;
    if (first < spill->spilled) {
        uint64_t left = spill->spilled - first;
        size_t wanted = left < count ? (size_t)left : count;
        got = read_spilled(spill, first, ret, wanted);
        if (got < wanted)
            return got;
    }
    for (uint64_t at = first + got - spill->spilled; got < count && at < spill->count; at++)
        ret[got++] = spill->items[at];
    return got;
}

void profile_start_reading(struct profile_reader *reader, const struct profile *profile)
{
    *reader = (struct profile_reader){.profile = profile};
}

bool profile_next_sample(struct profile_reader *reader, struct profile_sample *ret)
{
    if (reader->at == reader->count) {
        reader->count = profile_read_samples(reader->profile, reader->next, reader->held,
                                             PSC_ARRAY_SIZE(reader->held));
        reader->next += reader->count;
        reader->at = 0;
        if (!reader->count)
            return false;
    }
    *ret = reader->held[reader->at++];
    return true;
}

void profile_drop_samples(struct profile *profile)
{
    profile->spill->count = 0;
    profile->spill->spilled = 0;
}
