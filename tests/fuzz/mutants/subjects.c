/* What is looked at: read from a list, opened, damaged, mended. */
#include "mutants.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static void add_map(struct subject *subject, char *value)
{
    char *local = strchr(value, '=');
    if (!local || subject->map_count >= FILES_MAX) {
        fprintf(stderr, "not understood: map=%s\n", value);
        exit(2);
    }
    *local++ = '\0';
    subject->maps[subject->map_count][0] = value;
    subject->maps[subject->map_count++][1] = local;
}

static void add_damage(struct subject *subject, char *value)
{
    char *original = strchr(value, '=');
    if (!original || subject->file_count >= FILES_MAX) {
        fprintf(stderr, "not understood: damage=%s\n", value);
        exit(2);
    }
    *original++ = '\0';
    file_open(value, original, &subject->files[subject->file_count++]);
}

static void take_value(struct subject *subject, const char *key, char *value)
{
    if (!strcmp(key, "name"))
        subject->name = value;
    else if (!strcmp(key, "core"))
        subject->core = value;
    else if (!strcmp(key, "pid"))
        subject->pid = (int32_t)strtol(value, NULL, 10);
    else if (!strcmp(key, "map"))
        add_map(subject, value);
    else if (!strcmp(key, "damage"))
        add_damage(subject, value);
    else if (!strcmp(key, "source-dir") && subject->source_directory_count < FILES_MAX)
        subject->source_directories[subject->source_directory_count++] = value;
    else if (!strcmp(key, "lib-dir") && subject->library_directory_count < FILES_MAX)
        subject->library_directories[subject->library_directory_count++] = value;
    else {
        fprintf(stderr, "not understood: %s=%s\n", key, value);
        exit(2);
    }
}

static void *share(size_t size)
{
    void *shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        perror("mmap");
        exit(2);
    }
    return shared;
}

size_t subjects_load(const char *path, enum kind kind, struct subject *ret, size_t limit)
{
    char *line = NULL;
    size_t capacity = 0, count = 0;
    FILE *list = fopen(path, "re");
    if (!list) {
        perror(path);
        exit(2);
    }
    for (; count < limit && getline(&line, &capacity, list) > 0; line = NULL) {
        struct subject *subject = &ret[count++];
        char *rest = line, *field; // The subject keeps the line.
        line[strcspn(line, "\n")] = '\0';
        while ((field = strsep(&rest, "\t"))) {
            char *value = strchr(field, '=');
            if (value) {
                *value++ = '\0';
                take_value(subject, field, value);
            }
        }
        if (kind == KIND_MEMORY || kind == KIND_HEAP || kind == KIND_LIVE) {
            subject->memory = share(sizeof(*subject->memory));
            if (kind != KIND_LIVE)
                memory_of_core(&subject->files[0], subject->memory);
            else
                memory_of_process(subject->pid, subject->memory);
        }
    }
    free(line);
    fclose(list);
    return count;
}

/* ---- open and close ---- */

static const char *find_mapped(void *context, const char *path)
{
    const struct subject *subject = context;
    for (size_t i = 0; i < subject->map_count; i++)
        if (!strcmp(path, subject->maps[i][0]))
            return subject->maps[i][1];
    return NULL;
}

static struct psc_open_options open_options(struct subject *subject)
{
    struct psc_open_options open = PSC_OPEN_OPTIONS_INIT;
    // None of the files becomes shorter while it is looked at.
    open.maps_files = subject->opening == OPENING_MAPS;
    copies_take_windows(subject->opening == OPENING_WINDOWS);
    open.debug_directory = "/nonexistent"; // That of libc is large, and none of the subject.
    open.find_file = find_mapped;
    open.find_file_context = subject;
    open.source_directories = subject->source_directories;
    open.source_directory_count = subject->source_directory_count;
    open.library_directories = subject->library_directories;
    open.library_directory_count = subject->library_directory_count;
    return open;
}

enum psc_status subject_open_noting(struct subject *subject, bool redacted, struct psc_target **ret,
                                    struct psc_error *err)
{
    struct psc_open_options open = open_options(subject);
    open.notes_reads = redacted ? PSC_NOTES_READS_REDACTED : PSC_NOTES_READS_ALL;
    return psc_open_core(subject->core, NULL, &open, ret, err);
}

enum psc_status subject_open(struct subject *subject, struct psc_error *err)
{
    const struct psc_open_options open = open_options(subject);
    if (subject->target)
        return PSC_OK;
    if (subject->liar)
        return liar_open(subject->liar, &open, &subject->target, err);
    return subject->core ? psc_open_core(subject->core, NULL, &open, &subject->target, err)
                         : psc_open_process(subject->pid, &open, &subject->target, err);
}

void subject_close(struct subject *subject)
{
    psc_close(subject->target);
    subject->target = NULL;
}

/* ---- places ---- */

static void look_once(struct subject *subject, enum psc_mode mode)
{
    struct psc_capture_options capture = PSC_CAPTURE_OPTIONS_INIT;
    struct psc_error err = {0};
    struct psc_trace *trace = NULL;
    capture.mode = mode;
    capture.locals = PSC_LOCALS_ALL;
    capture.tasks = 1;
    if (subject_open(subject, &err) != PSC_OK ||
        psc_capture(subject->target, &capture, &trace, &err) != PSC_OK) {
        fprintf(stderr, "%s, undamaged: %s\n", subject->name, err.message);
        exit(2);
    }
    psc_trace_destroy(trace);
}

static int take_nothing(void *context, const char *bytes, size_t size)
{
    (void)context;
    (void)bytes;
    (void)size;
    return 0;
}

static void look_at_heap_once(struct subject *subject)
{
    struct psc_heap_print_options print = PSC_HEAP_PRINT_OPTIONS_INIT;
    struct psc_error err = {0};
    struct psc_heap *heap = NULL;
    print.contents = PSC_HEAP_FINDINGS | PSC_HEAP_LARGEST;
    print.format = PSC_HEAP_JSON;
    if (subject_open(subject, &err) != PSC_OK ||
        psc_heap_open(subject->target, NULL, &heap, &err) != PSC_OK ||
        psc_heap_print(heap, &print, take_nothing, NULL, NULL, &err) != PSC_OK) {
        fprintf(stderr, "%s, undamaged: %s\n", subject->name, err.message);
        exit(2);
    }
    psc_heap_close(heap);
}

void subject_prepare(struct subject *subject, enum kind kind)
{
    if (subject->prepared)
        return;
    subject->prepared = true;
    if (subject->memory) {
        places_start();
        if (kind == KIND_HEAP) {
            look_at_heap_once(subject);
        } else {
            look_once(subject, PSC_MODE_MERGED);
            look_once(subject, PSC_MODE_PYTHON);
        }
        places_take(&subject->places);
        subject_close(subject);
    }
    for (size_t i = 0; kind == KIND_DEBUG && i < subject->file_count; i++)
        subject->dwarf[i] = dwarf_places_create(&subject->files[i]);
}

void subject_damage(struct subject *subject, enum kind kind, struct choice *choice)
{
    size_t number = choose_below(choice, subject->file_count);
    struct damaged_file *file = &subject->files[number];
    switch (kind) {
    case KIND_CORE:
        damage_core(choice, file);
        break;
    case KIND_ELF:
        damage_elf(choice, file);
        break;
    case KIND_DEBUG:
        damage_dwarf(choice, subject->dwarf[number], file);
        break;
    case KIND_TEXT:
        damage_text(choice, file);
        break;
    case KIND_DEBUGGER:
        subject->liar = liar_create(file, choice);
        break;
    case KIND_MEMORY:
    case KIND_HEAP:
    case KIND_LIVE:
    case KIND_COUNT:
    default:
        damage_memory(choice, &subject->places, subject->memory);
    }
}

void subject_mend(struct subject *subject)
{
    for (size_t i = 0; i < subject->file_count; i++)
        file_mend(&subject->files[i]);
    if (subject->memory)
        memory_mend(subject->memory);
    liar_destroy(subject->liar);
    subject->liar = NULL;
}

/* ---- memory that changes while it is read ---- */

struct flicker {
    pthread_t thread;
    struct memory *memory;
    struct choice choice;
    uint8_t (*damaged)[sizeof(((struct memory *)NULL)->kept[0].bytes)];
    int stop;
};

/* Not without a pause: what it takes would count as the look's, the more the longer that has to
 * wait for a processor. */
static void *flicker_on(void *context)
{
    const struct timespec pause = {0, 20000};
    struct flicker *flicker = context;
    struct memory *memory = flicker->memory;
    while (!__atomic_load_n(&flicker->stop, __ATOMIC_RELAXED)) {
        size_t number = choose_below(&flicker->choice, memory->kept_count);
        const void *bytes = choose_one_in(&flicker->choice, 2)
                                ? (const void *)memory->kept[number].bytes
                                : (const void *)flicker->damaged[number];
        if (pwrite(memory->descriptor, bytes, memory->kept[number].size,
                   (off_t)memory->kept[number].address) < 0)
            break;
        nanosleep(&pause, NULL);
    }
    return NULL;
}

struct flicker *flicker_start(struct memory *memory, uint64_t seed)
{
    struct flicker *flicker = calloc(1, sizeof(*flicker));
    if (!flicker || !memory->kept_count) {
        free(flicker);
        return NULL;
    }
    flicker->memory = memory;
    flicker->choice = choice_of(seed, memory->kept_count);
    flicker->damaged = calloc(memory->kept_count, sizeof(*flicker->damaged));
    for (size_t i = 0; flicker->damaged && i < memory->kept_count; i++)
        (void)memory_read(memory, memory->kept[i].address, flicker->damaged[i],
                          memory->kept[i].size);
    if (!flicker->damaged || pthread_create(&flicker->thread, NULL, flicker_on, flicker)) {
        free(flicker->damaged);
        free(flicker);
        return NULL;
    }
    return flicker;
}

void flicker_stop(struct flicker *flicker)
{
    if (!flicker)
        return;
    __atomic_store_n(&flicker->stop, 1, __ATOMIC_RELAXED);
    pthread_join(flicker->thread, NULL);
    free(flicker->damaged);
    free(flicker);
}
