/*
 * A sample that would be what the last one of its thread was. Which frames of Python there are and
 * where they stand follows from the native frames, from the bytes that are read to find them, and
 * from what is known of the process: with all of these as they were they are not looked for again.
 * Threads that wait and only wake up now and then, as those do that wait for the GIL, are so.
 */
#include "sampling.h"

#include <stdlib.h>
#include <string.h>

/* Bytes that are kept of all threads. */
#define KEPT_LIMIT ((size_t)64 * 1024 * 1024)
/* Pages that were read, and code objects, of one sample. */
#define PAGE_LIMIT ((size_t)1024)
#define CODE_LIMIT ((size_t)64)
/* What no run crosses. */
#define RUN_PAGE ((psc_addr)4096)
/* Samples in a row that were not as the one before; then few are kept. */
#define VAIN_LIMIT 8
#define VAIN_SHARE 16

/* Bytes that were read, one after the other. */
struct known_run {
    uint16_t offset; /* From the start of its page. */
    uint16_t size;
};

/* From the first byte of it that was read to the last one. */
struct known_page {
    psc_addr start;
    size_t size;
    size_t run_count;
};

struct known_sample {
    size_t size; /* Bytes, with all below. */
    bool in_system_call;
    uint32_t system_call;
    psc_addr thread_pointer;
    psc_addr sp;
    struct native_frame *frames;
    size_t frame_count;
    size_t taken; /* Native frames, the outermost, whose part of the stack was not read for it. */
    struct trace_thread thread;   /* Without its frames. */
    struct python_thread *states; /* As they were listed. */
    size_t state_count;
    psc_addr codes[CODE_LIMIT];
    size_t code_count;
    struct known_page *pages;
    size_t page_count;
    struct known_run *runs;
    uint8_t *bytes;
};

static void destroy(struct known_sample *sample)
{
    if (!sample)
        return;
    free(sample->frames);
    free(sample->states);
    free(sample->pages);
    free(sample->runs);
    free(sample->bytes);
    free(sample);
}

static void cleanup_sample(struct known_sample **sample)
{
    destroy(*sample);
}

void known_sample_forget(struct capture_session *session, struct known_thread *known)
{
    if (known->sample)
        session->kept_size -= known->sample->size;
    destroy(known->sample);
    known->sample = NULL;
}

void known_sample_forget_all(struct capture_session *session)
{
    for (size_t i = 0; i < session->known.count; i++)
        known_sample_forget(session, hash_table_at(&session->known, i));
}

/* ---- what it was ---- */

static bool keep_native(struct known_sample *sample, const struct native_stack *stack)
{
    size_t size = (stack->count + 1) * sizeof(*sample->frames);
    sample->frames = malloc(size);
    if (!sample->frames)
        return false;
    for (size_t i = 0; i < stack->count; i++)
        sample->frames[i] = stack->frames[i];
    sample->frame_count = stack->count;
    sample->size += size;
    return true;
}

static bool add_code(struct known_sample *sample, psc_addr code)
{
    for (size_t i = sample->code_count; i-- > 0;)
        if (sample->codes[i] == code)
            return true;
    if (sample->code_count == CODE_LIMIT)
        return false;
    sample->codes[sample->code_count++] = code;
    return true;
}

static bool keep_python(struct known_sample *sample, const struct merged_stack *merged)
{
    sample->states = calloc(merged->interpreter_count + 1, sizeof(*sample->states));
    if (!sample->states)
        return false;
    for (size_t i = 0; i < merged->interpreter_count; i++) {
        const struct python_stack *stack = &merged->interpreters[i].stack;
        sample->states[sample->state_count++] = *merged->interpreters[i].thread;
        for (size_t k = 0; k < stack->count; k++)
            if (stack->frames[k].code && !add_code(sample, stack->frames[k].code))
                return false;
    }
    sample->size += (merged->interpreter_count + 1) * sizeof(*sample->states);
    return true;
}

/* Goes to the page that an address lies in. */
static struct known_page *take_page(struct known_sample *sample, psc_addr start)
{
    if (sample->page_count) {
        struct known_page *last = &sample->pages[sample->page_count - 1];
        if (last->start / RUN_PAGE == start / RUN_PAGE)
            return last;
    }
    struct known_page *page = &sample->pages[sample->page_count++];
    page->start = start;
    return page;
}

static bool keep_bytes(struct known_sample *sample, struct target *target,
                       const struct target_run *runs, size_t count)
{
    size_t byte_count = 0;
    for (size_t i = 0; i < count; i++)
        byte_count += runs[i].size;
    sample->pages = calloc(count + 1, sizeof(*sample->pages));
    sample->runs = calloc(count + 1, sizeof(*sample->runs));
    sample->bytes = malloc(byte_count + 1);
    if (!sample->pages || !sample->runs || !sample->bytes)
        return false;
    uint8_t *bytes = sample->bytes;
    for (size_t i = 0; i < count; i++) {
        struct known_page *page = take_page(sample, runs[i].start);
        const uint8_t *read = target_peek(target, runs[i].start, runs[i].size);
        size_t offset = (size_t)(runs[i].start - page->start);
        if (!read)
            return false;
        page->size = offset + runs[i].size;
        page->run_count++;
        sample->runs[i] =
            (struct known_run){.offset = (uint16_t)offset, .size = (uint16_t)runs[i].size};
        memcpy(bytes, read, runs[i].size);
        bytes += runs[i].size;
    }
    // Pages are fewer than runs.
    struct known_page *pages = realloc(sample->pages, (sample->page_count + 1) * sizeof(*pages));
    sample->pages = pages ? pages : sample->pages;
    sample->size +=
        sample->page_count * sizeof(*pages) + count * sizeof(*sample->runs) + byte_count;
    return true;
}

void known_sample_keep(struct capture_session *session, struct known_thread *known,
                       const struct captured_thread *thread)
{
    struct target *target = session->capture.target;
    struct target_run *runs PSC_CLEANUP(cleanup_free) = NULL;
    size_t count = 0;
    known_sample_forget(session, known);
    if (known->vain >= VAIN_LIMIT && ++known->vain % VAIN_SHARE)
        return;
    known->vain++;
    struct known_sample *sample PSC_CLEANUP(cleanup_sample) = calloc(1, sizeof(*sample));
    if (!sample || !target_list_reads(target, PAGE_LIMIT, &runs, &count))
        return;
    sample->size = sizeof(*sample);
    sample->in_system_call = thread->native->registers.in_system_call;
    sample->system_call = thread->native->registers.system_call;
    sample->thread_pointer = thread->native->thread_pointer;
    sample->sp = thread->merged.sp;
    sample->taken = known->outer.taken;
    sample->thread = *session->thread;
    sample->thread.frames = NULL;
    sample->thread.frame_count = 0;
    if (!keep_native(sample, &thread->merged.native) || !keep_python(sample, &thread->merged) ||
        !keep_bytes(sample, target, runs, count) || session->kept_size + sample->size > KEPT_LIMIT)
        return;
    session->kept_size += sample->size;
    known->sample = sample;
    sample = NULL;
}

/* ---- whether it still is ---- */

static bool is_frame_same(const struct native_frame *one, const struct native_frame *other)
{
    return one->pc == other->pc && one->sp == other->sp && one->cfa == other->cfa &&
           one->trust == other->trust && one->exact == other->exact &&
           one->signal == other->signal && one->skipped == other->skipped;
}

static bool is_native_same(const struct known_sample *sample, const struct captured_thread *thread)
{
    const struct native_stack *stack = &thread->merged.native;
    const struct target_thread *native = thread->native;
    if (sample->frame_count != stack->count || sample->taken > stack->known_outer ||
        sample->sp != thread->merged.sp || sample->thread_pointer != native->thread_pointer ||
        sample->in_system_call != native->registers.in_system_call ||
        sample->system_call != native->registers.system_call ||
        (stack->count && stack->end != NATIVE_END_COMPLETE))
        return false;
    for (size_t i = 0; i < stack->count; i++)
        if (!is_frame_same(&sample->frames[i], &stack->frames[i]))
            return false;
    return true;
}

static bool is_state_same(const struct python_thread *one, const struct python_thread *other)
{
    return one->tstate == other->tstate && one->interpreter == other->interpreter &&
           one->interpreter_index == other->interpreter_index &&
           one->interpreter_id == other->interpreter_id && one->thread_id == other->thread_id &&
           one->native_id == other->native_id && one->name == other->name &&
           one->main == other->main && one->without_gil == other->without_gil &&
           one->holds_gil == other->holds_gil && one->collecting == other->collecting &&
           one->finalizing == other->finalizing;
}

static bool are_states_same(const struct known_sample *sample, const struct merged_stack *merged)
{
    if (sample->state_count != merged->interpreter_count)
        return false;
    for (size_t i = 0; i < sample->state_count; i++)
        if (!is_state_same(&sample->states[i], merged->interpreters[i].thread))
            return false;
    return true;
}

/* Of what was copied alone: what is read now may be of another moment. */
static bool are_bytes_same(const struct known_sample *sample, struct target *target)
{
    const struct known_run *run = sample->runs;
    const uint8_t *known = sample->bytes;
    for (size_t i = 0; i < sample->page_count; i++) {
        const struct known_page *page = &sample->pages[i];
        const uint8_t *bytes = target_peek(target, page->start, page->size);
        if (!bytes)
            return false;
        for (size_t k = 0; k < page->run_count; k++, run++) {
            if (memcmp(known, bytes + run->offset, run->size) != 0)
                return false;
            known += run->size;
        }
    }
    return true;
}

bool known_sample_is_same(struct capture_session *session, struct known_thread *known,
                          const struct captured_thread *thread)
{
    struct capture *capture = &session->capture;
    const struct known_sample *sample = known->sample;
    if (!sample || !is_native_same(sample, thread) || !are_states_same(sample, &thread->merged))
        return false;
    live_sample_only_copied(capture->target, true);
    bool same = are_bytes_same(sample, capture->target);
    live_sample_only_copied(capture->target, false);
    // Another code object may lie where one was that has gone.
    if (!same || (capture->reads_python &&
                  !python_are_codes_known(capture->python, sample->codes, sample->code_count)))
        return false;
    known->vain = 0;
    return true;
}

enum psc_status known_sample_take(struct capture_session *session, const struct known_thread *known)
{
    session->thread = calloc(1, sizeof(*session->thread));
    if (!session->thread)
        return PSC_ERR_MEMORY;
    *session->thread = known->sample->thread;
    return PSC_OK;
}
