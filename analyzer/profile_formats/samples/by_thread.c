/* Samples sorted by their thread, in memory while they are few, else in a file without a name. */
#include "samples.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#define IN_MEMORY_LIMIT 65536u
/* Samples after which pages of the file are let go: they are read again when they are wanted. */
#define PAGES_HELD 65536u

struct thread_samples {
    const struct profile *profile;
    struct profile_sample *items; /* Mapped. */
    size_t size;                  /* Bytes of it. */
    bool in_file;
    uint32_t read;    /* The thread that was read last. */
    uint64_t *starts; /* By thread, and one behind the last. */
};

static void *map_memory(size_t size)
{
    void *room = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return room == MAP_FAILED ? NULL : room;
}

static void let_pages_go(const struct thread_samples *samples)
{
    if (samples->in_file)
        madvise(samples->items, samples->size, MADV_DONTNEED);
}

static enum psc_status count_samples(struct thread_samples *samples, struct psc_error *err)
{
    const struct profile *profile = samples->profile;
    struct profile_reader reader;
    struct profile_sample sample;
    uint64_t count = 0;
    profile_start_reading(&reader, profile);
    while (profile_next_sample(&reader, &sample)) {
        if (sample.thread < profile->thread_count)
            samples->starts[sample.thread + 1]++;
        count++;
    }
    if (count != profile_sample_count(profile))
        return psc_fail(err, PSC_ERR_IO, "the samples cannot be read back");
    for (uint32_t i = 0; i < profile->thread_count; i++)
        samples->starts[i + 1] += samples->starts[i];
    return PSC_OK;
}

static enum psc_status sort_samples(struct thread_samples *samples, struct psc_error *err)
{
    const struct profile *profile = samples->profile;
    uint64_t total = samples->starts[profile->thread_count];
    if (!total)
        return PSC_OK;
    samples->size = (size_t)total * sizeof(*samples->items);
    samples->in_file = total > IN_MEMORY_LIMIT;
    samples->items =
        samples->in_file ? profile_map_room(profile, samples->size) : map_memory(samples->size);
    if (!samples->items)
        return psc_fail(err, PSC_ERR_IO, "no room for the samples by thread: %s",
                        describe_errno(errno, &(struct errno_text){0}));
    uint64_t *at = calloc(profile->thread_count, sizeof(*at));
    if (!at)
        return psc_fail_memory(err);
    struct profile_reader reader;
    struct profile_sample sample;
    profile_start_reading(&reader, profile);
    for (uint64_t i = 1; profile_next_sample(&reader, &sample); i++) {
        if (sample.thread < profile->thread_count)
            samples->items[samples->starts[sample.thread] + at[sample.thread]++] = sample;
        if (i % PAGES_HELD == 0)
            let_pages_go(samples);
    }
    free(at);
    return PSC_OK;
}

enum psc_status thread_samples_create(const struct profile *profile, struct thread_samples **ret,
                                      struct psc_error *err)
{
    struct thread_samples *samples = calloc(1, sizeof(*samples));
    if (!samples)
        return psc_fail_memory(err);
    samples->profile = profile;
    samples->starts = calloc((size_t)profile->thread_count + 1, sizeof(*samples->starts));
    if (!samples->starts) {
        thread_samples_destroy(samples);
        return psc_fail_memory(err);
    }
    enum psc_status status = count_samples(samples, err);
    if (status == PSC_OK)
        status = sort_samples(samples, err);
    if (status == PSC_OK)
        *ret = samples;
    else
        thread_samples_destroy(samples);
    return status;
}

void thread_samples_destroy(struct thread_samples *samples)
{
    if (!samples)
        return;
    if (samples->items)
        munmap(samples->items, samples->size);
    free(samples->starts);
    free(samples);
}

void cleanup_thread_samples(struct thread_samples **samples)
{
    thread_samples_destroy(*samples);
}

const struct profile_sample *thread_samples_of(struct thread_samples *samples, uint32_t thread,
                                               size_t *ret_count)
{
    if (samples->read != thread)
        let_pages_go(samples);
    samples->read = thread;
    *ret_count = (size_t)(samples->starts[thread + 1] - samples->starts[thread]);
    return *ret_count ? samples->items + samples->starts[thread] : NULL;
}

bool sample_has_stack(const struct profile_sample *sample)
{
    return sample->stack && !(sample->flags & PROFILE_FAILED);
}
