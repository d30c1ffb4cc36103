/** @file A made-up profile: two processes, four threads, all kinds of frames and states. */
#ifndef PSC_PROFILE_SAMPLE_H
#define PSC_PROFILE_SAMPLE_H

#include "profile.h"

#include <stdio.h>

#define SAMPLE_HOSTILE  "</script><script>window.bad=1</script><!-- '\"&lt;;\x1b[31m\xe2\x80\xae"
#define SAMPLE_INTERVAL UINT64_C(10000000)

/** Numbers of its items. */
struct sample_profile {
    struct profile *profile;
    uint32_t library;
    uint32_t process[2];
    uint32_t thread[4];
    uint32_t main_frame, fit_frame, axpy_frame, gap_frame, hostile_frame, inlined_frame;
    uint32_t python_stack; /**< main */
    uint32_t cython_stack; /**< main, fit */
    uint32_t native_stack; /**< main, fit, axpy, inlined */
    uint32_t hostile_stack;
    uint32_t gap_stack;
};

static inline uint32_t sample_function(struct profile *profile, enum profile_kind kind,
                                       const char *name, const char *file, uint32_t library)
{
    struct profile_function function = {.kind = (uint8_t)kind,
                                        .name = profile_add_string(profile, name),
                                        .file = profile_add_string(profile, file),
                                        .library = library,
                                        .line = kind == PROFILE_PYTHON ? 10 : 0,
                                        .offset = library ? 0x1200 : 0};
    if (library)
        function.symbol = profile_add_string(profile, "solver_symbol");
    return profile_add_function(profile, &function);
}

static inline uint32_t sample_frame(struct profile *profile, uint32_t function, uint32_t line,
                                    uint64_t offset, bool inlined)
{
    struct profile_frame frame = {function, line, offset, inlined};
    return profile_add_frame(profile, &frame);
}

static inline void sample_add_tables(struct sample_profile *sample)
{
    struct profile *profile = sample->profile;
    struct profile_library library = {
        .path = profile_add_string(profile, "/opt/lib/libsolver.so"),
        .build_id = profile_add_string(profile, "f23a4de538745632b9f6144f83f3f751"),
        .base = 0x7f0000400000,
        .size = 0x5000};
    for (int i = 0; i < 2; i++) {
        struct profile_process process = {.pid = 100 + i,
                                          .parent = (uint32_t)i,
                                          .name = profile_add_string(profile, "python3"),
                                          .arguments =
                                              profile_add_string(profile, "python3 app.py"),
                                          .start = (uint64_t)i * SAMPLE_INTERVAL};
        sample->process[i] = profile_add_process(profile, &process);
    }
    library.process = sample->process[0];
    sample->library = profile_add_library(profile, &library);
    static const char *const names[] = {"MainThread", "worker", SAMPLE_HOSTILE, "MainThread"};
    for (int i = 0; i < 4; i++) {
        struct profile_thread thread = {.process = sample->process[i == 3],
                                        .tid = i == 3 ? 101 : 100 + i,
                                        .name = profile_add_string(profile, names[i]),
                                        .main = i == 0 || i == 3};
        sample->thread[i] = profile_add_thread(profile, &thread);
    }
    uint32_t library_number = sample->library;
    uint32_t function = sample_function(profile, PROFILE_PYTHON, "main", "/app/app.py", 0);
    sample->main_frame = sample_frame(profile, function, 12, 0, false);
    function = sample_function(profile, PROFILE_CYTHON, "fit", "/app/_als.pyx", library_number);
    sample->fit_frame = sample_frame(profile, function, 57, 0x1100, false);
    function = sample_function(profile, PROFILE_NATIVE, "solver_axpy", "solver.c", library_number);
    sample->axpy_frame = sample_frame(profile, function, 16, 0x1234, false);
    function = sample_function(profile, PROFILE_NATIVE, "dot", NULL, library_number);
    sample->inlined_frame = sample_frame(profile, function, 0, 0x1234, true);
    function = sample_function(profile, PROFILE_GAP, "memory that cannot be read", NULL, 0);
    sample->gap_frame = sample_frame(profile, function, 0, 0, false);
    function = sample_function(profile, PROFILE_PYTHON, SAMPLE_HOSTILE, "/app/" SAMPLE_HOSTILE, 0);
    sample->hostile_frame = sample_frame(profile, function, 3, 0, false);
}

static inline void sample_add_stacks(struct sample_profile *sample)
{
    struct profile *profile = sample->profile;
    sample->python_stack = profile_add_stack(profile, 0, sample->main_frame);
    sample->cython_stack = profile_add_stack(profile, sample->python_stack, sample->fit_frame);
    sample->native_stack = profile_add_stack(
        profile, profile_add_stack(profile, sample->cython_stack, sample->axpy_frame),
        sample->inlined_frame);
    sample->hostile_stack = profile_add_stack(profile, sample->python_stack, sample->hostile_frame);
    sample->gap_stack = profile_add_stack(profile, sample->hostile_stack, sample->gap_frame);
}

/** `moments` at which all threads are sampled. False: no memory or file. */
static inline bool sample_add_samples(struct sample_profile *sample, uint64_t moments)
{
    struct profile *profile = sample->profile;
    const uint32_t stacks[] = {sample->python_stack, sample->cython_stack, sample->native_stack,
                               sample->native_stack, sample->hostile_stack};
    for (uint64_t i = 0; i < moments; i++) {
        struct profile_sample samples[] = {
            {.thread = sample->thread[0],
             .stack = stacks[i % 5],
             .cpu = 9000000,
             .flags = PROFILE_RUNNING | PROFILE_HOLDS_GIL | (i % 20 < 2 ? PROFILE_COLLECTS : 0)},
            {.thread = sample->thread[1],
             .stack = sample->python_stack,
             .flags = i % 10 < 5 ? PROFILE_RUNNING | PROFILE_WAITS_GIL : PROFILE_RUNNING},
            {.thread = sample->thread[2], .stack = sample->gap_stack, .flags = PROFILE_IDLE},
            {.thread = sample->thread[3],
             .stack = i % 7 ? sample->cython_stack : 0,
             .flags = i % 7 ? PROFILE_RUNNING : PROFILE_FAILED}};
        for (size_t k = 0; k < PSC_ARRAY_SIZE(samples); k++) {
            // The third thread is not there for a while.
            if (k == 2 && i % 50 >= 40)
                continue;
            samples[k].time = i * SAMPLE_INTERVAL + k * 1000;
            samples[k].weight = 1;
            if (profile_add_sample(profile, &samples[k]) != PSC_OK)
                return false;
            profile->counts.samples++;
        }
    }
    profile->counts.wanted = profile->counts.taken = moments;
    profile->duration = moments * SAMPLE_INTERVAL;
    return true;
}

/** Stacks that are all different, `depth` deep, with a sample each: functions f0, f1, .... */
static inline bool sample_add_many(struct sample_profile *sample, uint32_t count, uint32_t depth)
{
    struct profile *profile = sample->profile;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t stack = 0, left = i;
        for (uint32_t level = 0; level < depth; level++, left /= 8) {
            char name[32];
            snprintf(name, sizeof(name), "f%u_%u", level, left % 8);
            uint32_t function = sample_function(profile, PROFILE_PYTHON, name, "/app/many.py", 0);
            stack = profile_add_stack(profile, stack,
                                      sample_frame(profile, function, left % 8 + 1, 0, false));
        }
        struct profile_sample one = {.time = profile->duration + i * SAMPLE_INTERVAL,
                                     .thread = sample->thread[0],
                                     .stack = stack,
                                     .flags = PROFILE_RUNNING,
                                     .weight = 1};
        if (!stack || profile_add_sample(profile, &one) != PSC_OK)
            return false;
        profile->counts.samples++;
    }
    return true;
}

/** False: out of memory. */
static inline bool sample_make(struct sample_profile *sample, uint64_t moments)
{
    *sample = (struct sample_profile){.profile = profile_create(NULL)};
    if (!sample->profile)
        return false;
    sample->profile->interval = SAMPLE_INTERVAL;
    sample->profile->merged = true;
    sample->profile->start_epoch = UINT64_C(1700000000000000000);
    sample_add_tables(sample);
    sample_add_stacks(sample);
    return !profile_is_exhausted(sample->profile) && sample_add_samples(sample, moments);
}

#endif
