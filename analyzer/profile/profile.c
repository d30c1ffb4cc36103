/* The tables of a profile: equal items have one number. */
#include "profile_private.h"

#include <stdlib.h>
#include <time.h>

/** One of profile_table's items: its number, found by what stands in the array. */
struct numbered {
    uint32_t number;
};

struct profile_table {
    struct hash_table strings;
    struct hash_table libraries;
    struct hash_table functions;
    struct hash_table frames;
    struct hash_table stacks;
    size_t string_capacity;
    size_t library_capacity;
    size_t function_capacity;
    size_t frame_capacity;
    size_t stack_capacity;
    size_t process_capacity;
    size_t thread_capacity;
};

/** Numbers fit in 32 bits, and a third of them is memory enough. */
#define PROFILE_ITEMS_LIMIT ((size_t)1 << 30)

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Makes room for one more; the item is zeroed. 0: there is no memory. */
static uint32_t take_number(struct profile *profile, void *array, size_t *capacity, uint32_t *count,
                            size_t size)
{
    char **items = array;
    if (*count >= PROFILE_ITEMS_LIMIT || !array_reserve(array, capacity, *count + 1u, size)) {
        arena_set_exhausted(profile->arena);
        return 0;
    }
    memset(*items + *count * size, 0, size);
    return (*count)++;
}

static bool begin_tables(struct profile *profile)
{
    struct profile_table *table = profile->table;
    take_number(profile, &profile->strings, &table->string_capacity, &profile->string_count,
                sizeof(*profile->strings));
    take_number(profile, &profile->libraries, &table->library_capacity, &profile->library_count,
                sizeof(*profile->libraries));
    take_number(profile, &profile->functions, &table->function_capacity, &profile->function_count,
                sizeof(*profile->functions));
    take_number(profile, &profile->frames, &table->frame_capacity, &profile->frame_count,
                sizeof(*profile->frames));
    take_number(profile, &profile->stacks, &table->stack_capacity, &profile->stack_count,
                sizeof(*profile->stacks));
    take_number(profile, &profile->processes, &table->process_capacity, &profile->process_count,
                sizeof(*profile->processes));
    take_number(profile, &profile->threads, &table->thread_capacity, &profile->thread_count,
                sizeof(*profile->threads));
    if (arena_is_exhausted(profile->arena))
        return false;
    profile->strings[0] = "";
    return true;
}

struct profile *profile_create(const struct profile_files *files)
{
    struct profile *profile PSC_CLEANUP(cleanup_profile) = calloc(1, sizeof(*profile));
    if (!profile)
        return NULL;
    profile->arena = arena_create();
    profile->table = calloc(1, sizeof(*profile->table));
    profile->spill = spill_create(files);
    if (!profile->arena || !profile->table || !profile->spill)
        return NULL;
    struct profile_table *table = profile->table;
    struct hash_table *const tables[] = {&table->strings, &table->libraries, &table->functions,
                                         &table->frames, &table->stacks};
    for (size_t i = 0; i < PSC_ARRAY_SIZE(tables); i++)
        hash_table_init(tables[i], sizeof(struct numbered));
    if (!begin_tables(profile))
        return NULL;
    profile->start = clock_ns(CLOCK_MONOTONIC);
    profile->start_epoch = clock_ns(CLOCK_REALTIME);
    struct profile *made = profile;
    profile = NULL;
    return made;
}

void profile_destroy(struct profile *profile)
{
    if (!profile)
        return;
    spill_destroy(profile->spill);
    if (profile->table) {
        hash_table_deinit(&profile->table->strings);
        hash_table_deinit(&profile->table->libraries);
        hash_table_deinit(&profile->table->functions);
        hash_table_deinit(&profile->table->frames);
        hash_table_deinit(&profile->table->stacks);
    }
    free(profile->table);
    free(profile->strings);
    free(profile->libraries);
    free(profile->functions);
    free(profile->frames);
    free(profile->stacks);
    free(profile->processes);
    free(profile->threads);
    arena_destroy(profile->arena);
    free(profile);
}

void cleanup_profile(struct profile **profile)
{
    profile_destroy(*profile);
}

bool profile_is_exhausted(const struct profile *profile)
{
    return arena_is_exhausted(profile->arena);
}

/* Notes the number under the hash; 0 when it cannot be: the item would not be found again. */
static uint32_t keep_number(struct profile *profile, struct hash_table *table, uint64_t hash,
                            uint32_t number)
{
    struct numbered *added = number ? hash_table_add_by(table, hash) : NULL;
    if (!added) {
        arena_set_exhausted(profile->arena);
        return 0;
    }
    added->number = number;
    return number;
}

/* ---- strings ---- */

struct string_key {
    const struct profile *profile;
    const char *text;
};

static bool string_matches(const void *item, const void *key)
{
    const struct string_key *wanted = key;
    return !strcmp(wanted->profile->strings[((const struct numbered *)item)->number], wanted->text);
}

/* The bytes as UTF-8, in the arena. */
static const char *copy_utf8(struct profile *profile, const char *text)
{
    struct text copy = {0};
    size_t left = strlen(text);
    while (left) {
        uint32_t code_point = 0xfffd;
        size_t used = utf8_decode(text, left, &code_point);
        if (used)
            text_add(&copy, text, used);
        else
            text_add_code_point(&copy, 0xfffd);
        text += used ? used : 1;
        left -= used ? used : 1;
    }
    char *kept = copy.failed ? NULL : arena_strndup(profile->arena, copy.data, copy.size);
    if (copy.failed)
        arena_set_exhausted(profile->arena);
    text_deinit(&copy);
    return kept;
}

uint32_t profile_add_string(struct profile *profile, const char *text)
{
    if (!text || !*text)
        return 0;
    uint64_t hash = hash_text(text, strlen(text));
    const struct string_key key = {.profile = profile, .text = text};
    const struct numbered *known =
        hash_table_find_by(&profile->table->strings, hash, string_matches, &key);
    if (known)
        return known->number;
    const char *kept = copy_utf8(profile, text);
    // What had bytes that are not UTF-8 is another string now, which may be there.
    if (kept && strcmp(kept, text) != 0)
        return profile_add_string(profile, kept);
    uint32_t number =
        kept ? take_number(profile, &profile->strings, &profile->table->string_capacity,
                           &profile->string_count, sizeof(*profile->strings))
             : 0;
    if (number)
        profile->strings[number] = kept;
    return keep_number(profile, &profile->table->strings, hash, number);
}

/* ---- libraries, functions, frames, stacks ---- */

struct library_key {
    const struct profile *profile;
    const struct profile_library *wanted;
};

static bool library_matches(const void *item, const void *key)
{
    const struct library_key *wanted = key;
    const struct profile_library *one =
        &wanted->profile->libraries[((const struct numbered *)item)->number];
    return one->path == wanted->wanted->path && one->build_id == wanted->wanted->build_id;
}

uint32_t profile_add_library(struct profile *profile, const struct profile_library *library)
{
    uint64_t hash = hash_pair(library->path, library->build_id);
    const struct library_key key = {.profile = profile, .wanted = library};
    const struct numbered *known =
        hash_table_find_by(&profile->table->libraries, hash, library_matches, &key);
    if (known)
        return known->number;
    uint32_t number = take_number(profile, &profile->libraries, &profile->table->library_capacity,
                                  &profile->library_count, sizeof(*profile->libraries));
    if (number)
        profile->libraries[number] = *library;
    return keep_number(profile, &profile->table->libraries, hash, number);
}

struct function_key {
    const struct profile *profile;
    const struct profile_function *wanted;
};

static bool function_matches(const void *item, const void *key)
{
    const struct function_key *wanted = key;
    const struct profile_function *one =
        &wanted->profile->functions[((const struct numbered *)item)->number];
    const struct profile_function *other = wanted->wanted;
    return one->kind == other->kind && one->name == other->name && one->file == other->file &&
           one->symbol == other->symbol && one->library == other->library &&
           one->line == other->line && one->offset == other->offset;
}

uint32_t profile_add_function(struct profile *profile, const struct profile_function *function)
{
    uint64_t hash =
        hash_pair(hash_pair(function->name, function->file),
                  hash_pair(function->line ^ (uint64_t)function->library << 32, function->offset));
    const struct function_key key = {.profile = profile, .wanted = function};
    const struct numbered *known =
        hash_table_find_by(&profile->table->functions, hash, function_matches, &key);
    if (known)
        return known->number;
    uint32_t number = take_number(profile, &profile->functions, &profile->table->function_capacity,
                                  &profile->function_count, sizeof(*profile->functions));
    if (number)
        profile->functions[number] = *function;
    return keep_number(profile, &profile->table->functions, hash, number);
}

struct frame_key {
    const struct profile *profile;
    const struct profile_frame *wanted;
};

static bool frame_matches(const void *item, const void *key)
{
    const struct frame_key *wanted = key;
    const struct profile_frame *one =
        &wanted->profile->frames[((const struct numbered *)item)->number];
    const struct profile_frame *other = wanted->wanted;
    return one->function == other->function && one->line == other->line &&
           one->offset == other->offset && one->inlined == other->inlined;
}

uint32_t profile_add_frame(struct profile *profile, const struct profile_frame *frame)
{
    uint64_t hash = hash_pair(frame->function | (uint64_t)frame->line << 32, frame->offset);
    const struct frame_key key = {.profile = profile, .wanted = frame};
    const struct numbered *known =
        hash_table_find_by(&profile->table->frames, hash, frame_matches, &key);
    if (known)
        return known->number;
    uint32_t number = take_number(profile, &profile->frames, &profile->table->frame_capacity,
                                  &profile->frame_count, sizeof(*profile->frames));
    if (number)
        profile->frames[number] = *frame;
    return keep_number(profile, &profile->table->frames, hash, number);
}

struct stack_key {
    const struct profile *profile;
    uint32_t parent;
    uint32_t frame;
};

static bool stack_matches(const void *item, const void *key)
{
    const struct stack_key *wanted = key;
    const struct profile_stack *one =
        &wanted->profile->stacks[((const struct numbered *)item)->number];
    return one->parent == wanted->parent && one->frame == wanted->frame;
}

uint32_t profile_add_stack(struct profile *profile, uint32_t parent, uint32_t frame)
{
    uint64_t hash = hash_u64(parent | (uint64_t)frame << 32);
    const struct stack_key key = {.profile = profile, .parent = parent, .frame = frame};
    const struct numbered *known =
        hash_table_find_by(&profile->table->stacks, hash, stack_matches, &key);
    if (known)
        return known->number;
    uint32_t number = take_number(profile, &profile->stacks, &profile->table->stack_capacity,
                                  &profile->stack_count, sizeof(*profile->stacks));
    if (number)
        profile->stacks[number] = (struct profile_stack){.parent = parent, .frame = frame};
    return keep_number(profile, &profile->table->stacks, hash, number);
}

/* ---- processes and threads ---- */

uint32_t profile_add_process(struct profile *profile, const struct profile_process *process)
{
    uint32_t number = take_number(profile, &profile->processes, &profile->table->process_capacity,
                                  &profile->process_count, sizeof(*profile->processes));
    if (number)
        profile->processes[number] = *process;
    return number;
}

uint32_t profile_add_thread(struct profile *profile, const struct profile_thread *thread)
{
    uint32_t number = take_number(profile, &profile->threads, &profile->table->thread_capacity,
                                  &profile->thread_count, sizeof(*profile->threads));
    if (number)
        profile->threads[number] = *thread;
    return number;
}

/* ---- how long threads stood ---- */

/* Of each power of two, so many parts. */
#define STOP_PARTS UINT64_C(32)
/* The shortest stops are not told apart: what is less than so many nanoseconds. */
#define STOP_UNIT UINT64_C(256)

/* The first length behind those of a part. */
static uint64_t end_of_part(size_t part)
{
    const uint64_t within = part % STOP_PARTS, power = part / STOP_PARTS;
    return (STOP_PARTS + within + 1) * STOP_UNIT / STOP_PARTS << power;
}

void profile_count_stop(struct profile_counts *counts, uint64_t nanoseconds)
{
    size_t part = 0;
    if (nanoseconds >= STOP_UNIT) {
        const size_t power = (size_t)(63 - __builtin_clzll(nanoseconds / STOP_UNIT));
        part = power * STOP_PARTS + (nanoseconds >> power) / (STOP_UNIT / STOP_PARTS) % STOP_PARTS;
    }
    counts->stood[part < PROFILE_STOPS ? part : PROFILE_STOPS - 1]++;
    counts->stood_ns += nanoseconds;
    counts->stops++;
}

uint64_t profile_median_stop(const struct profile_counts *counts)
{
    uint64_t seen = 0;
    for (size_t i = 0; i < PROFILE_STOPS; i++) {
        seen += counts->stood[i];
        if (seen && 2 * seen >= counts->stops)
            return end_of_part(i) - 1;
    }
    return 0;
}
