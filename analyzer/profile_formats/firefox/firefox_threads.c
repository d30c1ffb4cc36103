/* Each thread with its samples, and with markers for what lasts. */
#include "firefox_private.h"

#include <inttypes.h>
#include <stdlib.h>

#define NS_OF_MS UINT64_C(1000000)

/** A row of a thread's samples: one that was taken, or (NULL) the time behind the one before,
 * in which there was none. */
struct sample_row {
    const struct profile_sample *sample;
    uint64_t time;
};

struct row_reader {
    const struct profile *profile;
    const struct profile_sample *samples;
    size_t count, at;
    bool gap_told;
};

/* Samples that follow each other closely: until the end of what one stands for, and a slot, in
 * which the next may lie anywhere. */
static bool is_followed(const struct profile *profile, const struct profile_sample *one,
                        const struct profile_sample *next)
{
    return next->time <= one->time + (one->weight + 1) * profile->interval + profile->interval / 2;
}

static bool next_row(struct row_reader *reader, struct sample_row *ret)
{
    const struct profile_sample *samples = reader->samples;
    if (!samples || reader->at == reader->count)
        return false;
    const struct profile_sample *before = reader->at ? &samples[reader->at - 1] : NULL;
    if (before && !reader->gap_told &&
        !is_followed(reader->profile, before, &samples[reader->at])) {
        reader->gap_told = true;
        *ret = (struct sample_row){NULL, before->time + before->weight * reader->profile->interval};
        return true;
    }
    reader->gap_told = false;
    *ret = (struct sample_row){&samples[reader->at], samples[reader->at].time};
    reader->at++;
    return true;
}

static struct row_reader read_rows(const struct firefox *to, uint32_t thread)
{
    struct row_reader reader = {.profile = to->profile};
    reader.samples = thread_samples_of(to->samples, thread, &reader.count);
    return reader;
}

/* ---- numbers ---- */

/* json_put_real() is for few numbers. */
static void put_decimal(struct firefox *to, uint64_t whole, uint64_t millionths)
{
    text_printf(&to->printer->text, "%s%" PRIu64 ".%06" PRIu64, to->writer->follows ? "," : "",
                whole, millionths);
    to->writer->follows = true;
    printer_flow(to->printer);
}

static void put_ms(struct firefox *to, uint64_t ns)
{
    put_decimal(to, ns / NS_OF_MS, ns % NS_OF_MS);
}

static void put_named_ms(struct firefox *to, const char *key, bool known, uint64_t ns)
{
    if (known)
        json_put_real(to->writer, key, (double)ns / (double)NS_OF_MS);
    else
        json_put_null(to->writer, key);
}

/* ---- samples ---- */

static void put_row_stack(struct firefox *to, const struct sample_row *row)
{
    const struct profile_sample *sample = row->sample;
    if (!sample || !sample_has_stack(sample)) {
        json_put_null(to->writer, NULL);
        return;
    }
    const struct other_category *other =
        hash_table_find_pair(&to->other_stacks, sample->stack, category_of_sample(sample));
    json_put_unsigned(to->writer, NULL, true,
                      other ? to->profile->stack_count - 1u + other->index : sample->stack - 1u);
}

static void put_row_time(struct firefox *to, const struct sample_row *row)
{
    put_ms(to, row->time);
}

static void put_row_weight(struct firefox *to, const struct sample_row *row)
{
    const struct profile_sample *sample = row->sample;
    if (to->profile->by_cpu)
        put_ms(to, sample ? sample->cpu : 0);
    else
        json_put_unsigned(to->writer, NULL, true, sample ? sample->weight : 0);
}

static void put_row_cpu(struct firefox *to, const struct sample_row *row)
{
    json_put_unsigned(to->writer, NULL, true, row->sample ? row->sample->cpu : 0);
}

static uint64_t put_rows(struct firefox *to, uint32_t thread, const char *key,
                         void (*put)(struct firefox *to, const struct sample_row *row))
{
    struct row_reader reader = read_rows(to, thread);
    struct sample_row row;
    uint64_t count = 0;
    json_open_array(to->writer, key);
    for (; next_row(&reader, &row); count++) {
        put(to, &row);
        printer_flow(to->printer);
    }
    json_close_array(to->writer);
    return count;
}

static void put_samples(struct firefox *to, uint32_t thread)
{
    json_open_object(to->writer, "samples");
    uint64_t count = put_rows(to, thread, "stack", put_row_stack);
    put_rows(to, thread, "time", put_row_time);
    put_rows(to, thread, "weight", put_row_weight);
    put_rows(to, thread, "threadCPUDelta", put_row_cpu);
    json_put_string(to->writer, "weightType", to->profile->by_cpu ? "tracing-ms" : "samples");
    json_put_unsigned(to->writer, "length", true, count);
    json_close_object(to->writer);
}

/* ---- markers ---- */

/** Samples after each other that have a flag. */
struct interval {
    uint64_t start, end;
    uint64_t samples;
    bool is_collection;
};

struct intervals {
    struct interval *items;
    size_t count, capacity;
};

/* Adds those of one flag; false: out of memory. */
static bool find_intervals(const struct firefox *to, uint32_t thread, uint32_t flag,
                           struct intervals *ret)
{
    size_t count;
    const struct profile_sample *samples = thread_samples_of(to->samples, thread, &count);
    bool open = false;
    for (size_t i = 0; i < count; i++) {
        const struct profile_sample *sample = &samples[i];
        if (!(sample->flags & flag)) {
            open = false;
            continue;
        }
        open = open && is_followed(to->profile, sample - 1, sample);
        if (!open &&
            !array_reserve(&ret->items, &ret->capacity, ret->count + 1, sizeof(*ret->items)))
            return false;
        if (!open)
            ret->items[ret->count++] =
                (struct interval){.start = sample->time, .is_collection = flag == PROFILE_COLLECTS};
        open = true;
        struct interval *last = &ret->items[ret->count - 1];
        last->samples++;
        last->end = sample->time + sample->weight * to->profile->interval;
        if (i + 1 < count && samples[i + 1].time < last->end)
            last->end = samples[i + 1].time;
    }
    return true;
}

static int compare_intervals(const void *one, const void *other)
{
    const struct interval *a = one, *b = other;
    return a->start < b->start ? -1 : a->start > b->start;
}

static void put_markers(struct firefox *to, const struct intervals *intervals)
{
    struct json_writer *writer = to->writer;
    json_open_object(writer, "markers");
    json_put_unsigned(writer, "length", true, intervals->count);
    json_open_array(writer, "data");
    for (size_t i = 0; i < intervals->count; i++) {
        json_open_object(writer, NULL);
        json_put_string(writer, "type", intervals->items[i].is_collection ? "GC" : "GIL wait");
        json_put_unsigned(writer, "samples", true, intervals->items[i].samples);
        json_close_object(writer);
        printer_flow(to->printer);
    }
    json_close_array(writer);
    json_open_array(writer, "name");
    for (size_t i = 0; i < intervals->count; i++)
        json_put_unsigned(writer, NULL, true,
                          to->profile->string_count + (intervals->items[i].is_collection
                                                           ? (uint32_t)STRING_COLLECTION
                                                           : (uint32_t)STRING_GIL_WAIT));
    json_close_array(writer);
    json_open_array(writer, "startTime");
    for (size_t i = 0; i < intervals->count; i++)
        put_ms(to, intervals->items[i].start);
    json_close_array(writer);
    json_open_array(writer, "endTime");
    for (size_t i = 0; i < intervals->count; i++)
        put_ms(to, intervals->items[i].end);
    json_close_array(writer);
    json_open_array(writer, "phase");
    for (size_t i = 0; i < intervals->count; i++)
        json_put_unsigned(writer, NULL, true, 1); // An interval.
    json_close_array(writer);
    json_open_array(writer, "category");
    for (size_t i = 0; i < intervals->count; i++)
        json_put_unsigned(writer, NULL, true,
                          intervals->items[i].is_collection ? CATEGORY_COLLECTOR : CATEGORY_GIL);
    json_close_array(writer);
    json_close_object(writer);
    printer_flow(to->printer);
}

/* ---- threads ---- */

/** How often an id was seen: they are used again. */
struct seen_id {
    uint64_t id; /**< The key. */
    uint32_t times;
};

/* Ids as the format wants them, no two alike: "12", and "12.1" for the next that has it. */
static bool make_ids(struct arena *arena, uint32_t count, int32_t (*id_of)(const void *, uint32_t),
                     const void *items, const char **ret)
{
    struct hash_table seen = HASH_TABLE_OF(struct seen_id);
    bool good = true;
    for (uint32_t i = 1; good && i < count; i++) {
        int32_t id = id_of(items, i);
        struct seen_id *one = hash_table_find(&seen, (uint32_t)id);
        if (!one)
            one = hash_table_add(&seen, (uint32_t)id);
        good = one != NULL;
        if (good && one->times)
            ret[i] = arena_printf(arena, "%" PRId32 ".%" PRIu32, id, one->times);
        else if (good)
            ret[i] = arena_printf(arena, "%" PRId32, id);
        if (one)
            one->times++;
        good = good && ret[i];
    }
    hash_table_deinit(&seen);
    return good;
}

static int32_t pid_of(const void *processes, uint32_t number)
{
    return ((const struct profile_process *)processes)[number].pid;
}

static int32_t tid_of(const void *threads, uint32_t number)
{
    return ((const struct profile_thread *)threads)[number].tid;
}

struct ids {
    struct arena *arena;
    const char **pids; /**< By process. */
    const char **tids; /**< By thread. */
};

static void put_thread_head(struct firefox *to, const struct ids *ids, uint32_t number)
{
    const struct profile *profile = to->profile;
    const struct profile_thread *thread = &profile->threads[number];
    const struct profile_process *process = &profile->processes[thread->process];
    struct json_writer *writer = to->writer;
    uint32_t name = thread->name ? thread->name : process->name;
    json_put_string(writer, "processType", "default");
    json_put_string(writer, "processName",
                    process->name ? profile_string(profile, process->name) : "process");
    put_named_ms(to, "processStartupTime", true, process->start);
    put_named_ms(to, "processShutdownTime", process->ended, process->end);
    put_named_ms(to, "registerTime", true, thread->start);
    put_named_ms(to, "unregisterTime", thread->ended, thread->end);
    json_open_array(writer, "pausedRanges");
    json_close_array(writer);
    json_put_string(writer, "name", name ? profile_string(profile, name) : "thread");
    json_put_boolean(writer, "isMainThread", thread->main);
    json_put_string(writer, "pid", thread->process ? ids->pids[thread->process] : "0");
    json_put_string(writer, "tid", ids->tids[number]);
    json_put_boolean(writer, "showMarkersInTimeline", true);
}

static bool put_thread(struct firefox *to, const struct ids *ids, uint32_t number)
{
    struct intervals intervals = {0};
    bool good = find_intervals(to, number, PROFILE_WAITS_GIL, &intervals) &&
                find_intervals(to, number, PROFILE_COLLECTS, &intervals);
    if (good) {
        if (intervals.count)
            qsort(intervals.items, intervals.count, sizeof(*intervals.items), compare_intervals);
        json_break_line(to->writer);
        json_open_object(to->writer, NULL);
        put_thread_head(to, ids, number);
        put_samples(to, number);
        put_markers(to, &intervals);
        json_close_object(to->writer);
    }
    free(intervals.items);
    return good;
}

bool firefox_put_threads(struct firefox *to)
{
    const struct profile *profile = to->profile;
    struct ids ids = {.arena = arena_create()};
    bool good = ids.arena != NULL;
    if (good) {
        ids.pids = arena_array(ids.arena, profile->process_count, sizeof(*ids.pids));
        ids.tids = arena_array(ids.arena, profile->thread_count, sizeof(*ids.tids));
        good = ids.pids && ids.tids &&
               make_ids(ids.arena, profile->process_count, pid_of, profile->processes, ids.pids) &&
               make_ids(ids.arena, profile->thread_count, tid_of, profile->threads, ids.tids);
    }
    json_open_array(to->writer, "threads");
    for (uint32_t i = 1; good && i < profile->thread_count; i++)
        good = put_thread(to, &ids, i);
    json_close_array(to->writer);
    arena_destroy(ids.arena);
    return good;
}
