/* One moment of one process: which threads get a sample, and which one. */
#include "record_private.h"

#include <stdlib.h>

/* Nanoseconds between two calls of `tick` in a moment that takes long. */
#define TICK_INTERVAL UINT64_C(100000000)

/** The moment that samples are of. */
struct moment {
    struct recording *recording;
    struct recorded_process *process;
    uint64_t time; /* From profile->start. */
};

static uint64_t profile_time(const struct profile *profile)
{
    uint64_t now = record_now();
    return now > profile->start ? now - profile->start : 0;
}

/* ---- threads of the profile ---- */

static enum psc_status introduce(struct moment *moment, struct recorded_thread *thread)
{
    struct profile *profile = moment->recording->profile;
    if (thread->number) {
        profile->threads[thread->number].end = moment->time;
        return PSC_OK;
    }
    const struct profile_thread made = {.process = moment->process->number,
                                        .tid = thread->tid,
                                        .start = moment->time,
                                        .end = moment->time,
                                        .main = thread->tid == moment->process->pid};
    thread->number = profile_add_thread(profile, &made);
    return thread->number ? PSC_OK : PSC_ERR_MEMORY;
}

static void end_threads(struct moment *moment)
{
    struct profile *profile = moment->recording->profile;
    const struct thread_table *table = &moment->process->threads;
    for (size_t i = 0; i < table->count; i++) {
        const struct recorded_thread *thread = &table->items[i];
        if (thread->listed)
            continue;
        capture_session_forget(moment->process->session, thread->tid);
        if (!thread->number)
            continue;
        profile->threads[thread->number].end = moment->time;
        profile->threads[thread->number].ended = true;
    }
}

static void name_thread(struct profile *profile, struct recorded_thread *thread,
                        const struct trace_thread *trace)
{
    struct profile_thread *one = &profile->threads[thread->number];
    if (thread->named || !trace->name || (one->name && !trace->has_python))
        return;
    one->name = profile_add_string(profile, trace->name);
    thread->named = trace->has_python;
}

/* ---- samples ---- */

static enum psc_status add_sample(struct moment *moment, struct recorded_thread *thread,
                                  uint32_t flags)
{
    struct profile *profile = moment->recording->profile;
    uint64_t time = thread->run_time - thread->counted_time;
    const struct profile_sample sample = {.time = moment->time,
                                          .thread = thread->number,
                                          .stack = flags & PROFILE_FAILED ? 0 : thread->stack,
                                          .cpu = time > UINT32_MAX ? UINT32_MAX : (uint32_t)time,
                                          .flags = flags,
                                          .weight = moment->recording->weight};
    thread->counted_time = thread->run_time;
    profile->counts.samples++;
    profile->counts.failed += (flags & PROFILE_FAILED) != 0;
    profile->counts.repeated += (flags & PROFILE_REPEATED) != 0;
    return profile_add_sample(profile, &sample);
}

static uint32_t flags_of(const struct trace_thread *trace, const struct capture_sample *sample,
                         enum thread_news news)
{
    uint32_t state = trace->state;
    uint32_t flags = news == THREAD_RAN && !sample->suspended ? PROFILE_RUNNING : PROFILE_IDLE;
    if (state & TRACE_STATE_HOLDS_GIL)
        flags |= PROFILE_HOLDS_GIL;
    if (state & TRACE_STATE_WAITS_FOR_GIL)
        flags |= PROFILE_WAITS_GIL;
    if (state & TRACE_STATE_COLLECTING)
        flags |= PROFILE_COLLECTS;
    if (sample->suspended)
        flags |= PROFILE_STOPPED;
    return flags;
}

/* Whether its sample is wanted, now that it is known what it did. */
static bool is_wanted(const struct record_options *options, uint32_t flags)
{
    if (options->only_gil)
        return (flags & PROFILE_HOLDS_GIL) != 0;
    return options->idle || !(flags & (PROFILE_IDLE | PROFILE_STOPPED));
}

static enum psc_status take_sample(struct moment *moment, struct recorded_thread *thread,
                                   enum thread_news news, const struct thread_wait *wait,
                                   struct psc_error *err)
{
    struct recording *recording = moment->recording;
    struct recorded_process *process = moment->process;
    struct profile *profile = recording->profile;
    struct live_sleep sleep = {.call = wait->text,
                               .call_size = wait->size,
                               .pc = wait->pc,
                               .schedstat = thread->schedstat,
                               .runs = thread->slept_runs,
                               .slept_on = thread->slept_on};
    struct capture_sample sample = {.tid = thread->tid,
                                    .sleep = news == THREAD_WAITS ? &sleep : NULL,
                                    .has_frames = thread->has_stack};
    thread->has_sample = thread->has_stack = false;
    enum psc_status status = capture_session_sample(process->session, &sample, err);
    thread->was_stopped = sample.stood != 0;
    if (sample.stood)
        profile_count_stop(&profile->counts, sample.stood);
    if (status == PSC_ERR_MEMORY)
        return status;
    if (status == PSC_ERR_NOT_FOUND && !recording->options->no_pause) {
        thread->listed = false;
        process->threads.links = 0;
        return PSC_OK;
    }
    if (status == PSC_ERR_NOT_FOUND)
        return PSC_OK; // A thread without Python, of which nothing can be read.
    if (status == PSC_ERR_IO)
        return status;
    if (status != PSC_OK)
        return add_sample(moment, thread, PROFILE_FAILED);
    name_thread(profile, thread, sample.thread);
    thread->flags = flags_of(sample.thread, &sample, news);
    if (!is_wanted(recording->options, thread->flags))
        return PSC_OK;
    if (!sample.unchanged)
        status = frames_add_stack(&process->frames, &thread->memory, sample.thread, &thread->stack);
    if (status != PSC_OK)
        return psc_fail_status(err, status);
    thread->has_stack = true;
    thread->pc = sample.pc;
    thread->sp = sample.sp;
    thread->has_sample = sample.pc != 0;
    profile->counts.partial += sample.partial;
    return psc_fail_status(err, add_sample(moment, thread, thread->flags));
}

static enum psc_status sample_thread(struct moment *moment, struct recorded_thread *thread,
                                     struct psc_error *err)
{
    const struct record_options *options = moment->recording->options;
    struct thread_wait wait;
    enum thread_news news = threads_ask(thread, moment->process->session, &wait);
    enum psc_status status = introduce(moment, thread);
    if (status != PSC_OK)
        return psc_fail_status(err, status);
    if (!thread->has_sample && !thread->counted_time)
        thread->counted_time = thread->run_time;
    switch (news) {
    case THREAD_SLEPT:
        // Who sleeps holds the GIL only where something in the kernel takes long.
        if (!is_wanted(options, thread->flags | PROFILE_IDLE))
            return PSC_OK;
        return psc_fail_status(err, add_sample(moment, thread,
                                               (thread->flags & ~(uint32_t)PROFILE_RUNNING) |
                                                   PROFILE_IDLE | PROFILE_REPEATED));
    case THREAD_WAITS:
        if (!options->idle && !options->only_gil)
            return PSC_OK;
        break;
    case THREAD_RAN:
        break;
    }
    return take_sample(moment, thread, news, &wait, err);
}

bool recording_tick(struct recording *recording)
{
    const struct record_options *options = recording->options;
    recording->ticked_at = record_now();
    recording->asked =
        options->tick && options->tick(options->tick_context, recording->profile) != 0;
    return recording->asked;
}

/* The same in the middle of a moment, where the last call is long ago. */
static bool tick_between(struct recording *recording)
{
    return record_now() - recording->ticked_at >= TICK_INTERVAL && recording_tick(recording);
}

/*
 * Looks at threads from that one on, and asks for those together of which it has to be asked.
 * Returns the one behind them.
 */
static size_t look_ahead(struct recorded_process *process, size_t first)
{
    struct thread_table *table = &process->threads;
    const size_t room = capture_session_room_together(process->session);
    size_t at = first, asked = 0;
    for (; at < table->count && (at == first || asked < room); at++) {
        struct recorded_thread *thread = &table->items[at];
        if (!thread->listed || !threads_look(table, thread) || asked == room)
            continue;
        capture_session_note_question(process->session, thread->tid, table->wants_waits,
                                      thread->now_runs);
        asked++;
    }
    capture_session_ask_together(process->session);
    return at;
}

enum psc_status sample_threads(struct recording *recording, struct recorded_process *process,
                               struct psc_error *err)
{
    struct moment moment = {
        .recording = recording, .process = process, .time = profile_time(recording->profile)};
    struct thread_table *table = &process->threads;
    table->wants_waits = recording->options->idle || recording->options->only_gil;
    enum psc_status status = psc_fail_status(err, threads_list(table));
    if (status == PSC_ERR_LIMIT)
        return psc_fail(
            err, status,
            "each thread of process %d takes an open file, and no more may be open here "
            "(ulimit -Hn)",
            process->pid);
    if (status == PSC_OK)
        status = capture_session_begin(process->session, err);
    for (size_t i = 0, end = 0; status == PSC_OK && i < table->count; i++) {
        if (i == end && tick_between(recording))
            break;
        if (i == end)
            end = look_ahead(process, i);
        if (table->items[i].listed)
            status = sample_thread(&moment, &table->items[i], err);
    }
    capture_session_end(process->session);
    end_threads(&moment);
    threads_sweep(table);
    recording->profile->processes[process->number].end = moment.time;
    return status;
}
