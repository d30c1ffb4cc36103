/*
 * Runs a fuzz target without libFuzzer: every file named (or in a folder named), then `-runs=N`
 * inputs made from them by random changes. `-seed=S` repeats a run; the seed is printed.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INPUT_LIMIT  ((size_t)1 << 16)
#define CORPUS_LIMIT 512

static uint8_t *corpus[CORPUS_LIMIT];
static size_t corpus_size[CORPUS_LIMIT], corpus_count;
static uint64_t state;

static uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static void add_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file || corpus_count >= CORPUS_LIMIT) {
        if (file)
            fclose(file);
        return;
    }
    uint8_t *bytes = malloc(INPUT_LIMIT);
    size_t size = bytes ? fread(bytes, 1, INPUT_LIMIT, file) : 0;
    fclose(file);
    corpus[corpus_count] = bytes;
    corpus_size[corpus_count++] = size;
    LLVMFuzzerTestOneInput(bytes, size);
}

static int is_shown(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void add_path(const char *path)
{
    struct stat status;
    if (stat(path, &status)) {
        fprintf(stderr, "fuzz driver: %s is not there\n", path);
        exit(2);
    }
    if (!S_ISDIR(status.st_mode)) {
        add_file(path);
        return;
    }
    // In the order of their names: the same inputs on every file system.
    struct dirent **entries = NULL;
    int count = scandir(path, &entries, is_shown, alphasort);
    for (int i = 0; i < count; i++) {
        char name[4096];
        snprintf(name, sizeof(name), "%s/%s", path, entries[i]->d_name);
        add_file(name);
        free(entries[i]);
    }
    free(entries);
}

static size_t change(uint8_t *bytes, size_t size)
{
    static const uint64_t interesting[] = {0,          1,          0x7f,           0x80,
                                           0xff,       0x7fff,     0xffff,         0x7fffffff,
                                           0xffffffff, UINT64_MAX, UINT64_MAX / 2, 4096};
    for (uint64_t times = 1 + next_random() % 8; times; times--) {
        uint64_t value = interesting[next_random() % (sizeof(interesting) / sizeof(*interesting))];
        size_t width = (size_t)1 << next_random() % 4;
        size_t at = size ? (size_t)(next_random() % size) : 0;
        switch (next_random() % 5) {
        case 0:
            if (size)
                bytes[at] ^= (uint8_t)(1u << next_random() % 8);
            break;
        case 1:
            if (size)
                bytes[at] = (uint8_t)next_random();
            break;
        case 2:
            if (at + width <= size)
                memcpy(bytes + at, &value, width);
            break;
        case 3:
            size = at;
            break;
        default:
            if (size + width <= INPUT_LIMIT) {
                memmove(bytes + at + width, bytes + at, size - at);
                memcpy(bytes + at, &value, width);
                size += width;
            }
        }
    }
    return size;
}

int main(int argc, char **argv)
{
    unsigned long runs = 0;
    state = (uint64_t)time(NULL) * 2654435761u + 1;
    for (int i = 1; i < argc; i++) {
        if (!strncmp(argv[i], "-runs=", 6))
            runs = strtoul(argv[i] + 6, NULL, 10);
        else if (!strncmp(argv[i], "-seed=", 6))
            state = strtoull(argv[i] + 6, NULL, 10) | 1;
        else
            add_path(argv[i]);
    }
    printf("seed %llu, %zu files, %lu runs\n", (unsigned long long)state, corpus_count, runs);
    fflush(stdout);
    uint8_t *scratch = malloc(INPUT_LIMIT);
    for (unsigned long run = 0; scratch && run < runs; run++) {
        size_t size = 0;
        if (corpus_count) {
            size_t from = (size_t)(next_random() % corpus_count);
            size = corpus_size[from];
            if (size)
                memcpy(scratch, corpus[from], size);
        } else {
            size = (size_t)(next_random() % 512);
            for (size_t i = 0; i < size; i++)
                scratch[i] = (uint8_t)next_random();
        }
        size = change(scratch, size);
        // An exact copy on the heap, so that a sanitizer sees every byte too far.
        uint8_t *exact = malloc(size ? size : 1);
        if (exact) {
            memcpy(exact, scratch, size);
            LLVMFuzzerTestOneInput(exact, size);
        }
        free(exact);
    }
    free(scratch);
    for (size_t i = 0; i < corpus_count; i++)
        free(corpus[i]);
    return 0;
}
