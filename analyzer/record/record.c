/* The way of a recording: moment after moment, each process, each thread. */
#include "record_private.h"

#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

static uint64_t read_clock(clockid_t clock)
{
    struct timespec time;
    if (clock_gettime(clock, &time))
        return 0;
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* And that of who works for this one. */
static uint64_t own_time(const struct record_options *options)
{
    clockid_t helper;
    uint64_t time = read_clock(CLOCK_PROCESS_CPUTIME_ID);
    if (options->helper && !clock_getcpuclockid(options->helper, &helper))
        time += read_clock(helper);
    return time;
}

static void describe_profile(const struct record_options *options, struct profile *profile)
{
    profile->interval = (uint64_t)(1e9 / options->rate);
    profile->merged = !options->python_only && !options->no_pause;
    profile->with_idle = options->idle;
    profile->only_gil = options->only_gil;
    profile->by_cpu = options->by_cpu;
    profile->splits_threads = options->splits_threads;
    profile->several_processes = options->children;
    profile->folds_lines = options->folds_lines;
}

/* ---- what it may cost ---- */

static uint32_t add_weight(uint32_t weight, uint64_t more)
{
    return more < UINT32_MAX - weight ? weight + (uint32_t)more : UINT32_MAX;
}

/*
 * Looks at a stack of a hundred thousand frames take a processor whole at any rate: fewer of them,
 * each of which stands for those that were left out, say the same.
 */
static void leave_moments_out(struct recording *recording)
{
    if (!(recording->budget.most > 0))
        return;
    uint64_t left_out = slots_spare(&recording->clock, &recording->budget, record_now(),
                                    own_time(recording->options));
    recording->profile->counts.left_out += left_out;
    recording->weight = add_weight(recording->weight, left_out);
}

/* ---- moments ---- */

static bool is_over(const struct recording *recording)
{
    for (size_t i = 0; i < recording->count; i++)
        if (!recording->processes[i]->over)
            return false;
    return true;
}

static enum psc_status take_moment(struct recording *recording, struct psc_error *err)
{
    struct profile *profile = recording->profile;
    struct profile_counts *counts = &profile->counts;
    enum psc_status status = PSC_OK;
    uint64_t began = record_now();
    counts->wanted++;
    counts->taken++;
    counts->weighed += recording->weight;
    counts->late += began > recording->clock.moment + recording->clock.interval / 2;
    if (recording->options->children)
        status = processes_look_for_children(recording, err);
    // Those that are added meanwhile have their first sample at once.
    for (size_t i = 0; status == PSC_OK && !recording->asked && i < recording->count; i++)
        if (!recording->processes[i]->over)
            status = processes_sample(recording, recording->processes[i], err);
    uint64_t lost = slots_next(&recording->clock);
    counts->wanted += lost;
    counts->lost += lost;
    recording->weight = add_weight(1, lost);
    profile->duration = record_now() - profile->start;
    return status == PSC_OK && profile_is_exhausted(profile) ? psc_fail_memory(err) : status;
}

/* The first session takes some time to open; samples begin when it is there. */
static enum psc_status begin(struct recording *recording, struct psc_error *err)
{
    enum psc_status status = processes_add(recording, recording->options->pid, 0, err);
    if (status == PSC_OK && (!recording->count || recording->processes[0]->over))
        return psc_fail(err, PSC_ERR_NOT_FOUND, "there is no process %d", recording->options->pid);
    if (status == PSC_OK)
        status = processes_open(recording, recording->processes[0], err);
    if (status == PSC_OK && !recording->processes[0]->session && recording->refusal.message[0])
        return psc_fail(err, recording->refusal.status, "%s", recording->refusal.message);
    slots_init(&recording->clock, recording->profile->interval, recording->options->seed);
    recording->weight = 1;
    recording->ticked_at = record_now();
    recording->budget = (struct record_budget){.most = recording->options->most_cpu,
                                               .counted_at = recording->ticked_at,
                                               .counted = own_time(recording->options)};
    return status;
}

static enum psc_status run(struct recording *recording, enum record_end *ret_end,
                           struct psc_error *err)
{
    const struct record_options *options = recording->options;
    uint64_t limit = (uint64_t)(options->duration * 1e9);
    uint64_t since = recording->clock.start;
    enum psc_status status = PSC_OK;
    while (status == PSC_OK) {
        bool due = slots_wait(&recording->clock);
        for (size_t i = 0; i < recording->count; i++)
            if (recording->processes[i]->session)
                capture_session_let_late_go(recording->processes[i]->session);
        if (due)
            status = take_moment(recording, err);
        if (status != PSC_OK)
            break;
        *ret_end = RECORD_ASKED;
        if (recording->asked || recording_tick(recording))
            break;
        *ret_end = RECORD_EXITED;
        if (is_over(recording))
            break;
        *ret_end = RECORD_DURATION;
        if (limit && record_now() - since >= limit)
            break;
        if (due)
            leave_moments_out(recording);
    }
    return status;
}

/* No thread could be looked at: why, instead of a profile without samples. */
static enum psc_status tell_refusal(const struct recording *recording, struct psc_error *err)
{
    const struct profile_counts *counts = &recording->profile->counts;
    bool without_stops = recording->options->no_pause || !recording->refusal.message[0];
    if (counts->samples || !counts->failed || without_stops || is_over(recording))
        return PSC_OK;
    return psc_fail(err, PSC_ERR_IO, "%s; Python frames can be recorded without a stop: --no-pause",
                    recording->refusal.message);
}

enum psc_status record_run(const struct record_options *options, struct profile *profile,
                           enum record_end *ret_end, struct psc_error *err)
{
    struct recording recording PSC_CLEANUP(processes_destroy) = {.options = options,
                                                                 .profile = profile};
    uint64_t before = own_time(options);
    if (!(options->rate > 0) || options->rate > 1e6)
        return psc_fail(err, PSC_ERR_ARGUMENT, "record_run: the rate is no number from 0 to 1e6");
    prctl(PR_SET_TIMERSLACK, 1UL);
    // Where it is allowed: a thread stands until this program runs.
    (void)setpriority(PRIO_PROCESS, 0, -10);
    describe_profile(options, profile);
    enum psc_status status = begin(&recording, err);
    uint64_t began = own_time(options);
    if (status == PSC_OK)
        status = run(&recording, ret_end, err);
    if (status == PSC_OK)
        status = tell_refusal(&recording, err);
    processes_end(&recording);
    profile->counts.sampler_ns = own_time(options) - began;
    profile->counts.start_ns = began - before;
    profile->duration = record_now() - profile->start;
    return status;
}
