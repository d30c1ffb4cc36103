/*
 * What the library reads of its target, and by which code: the linker leads its calls here first
 * (-Wl,--wrap), which is seen where the caller is of another file than the callee.
 */
#include "mutants.h"

#include "target.h"

#include <execinfo.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define PLACES_MAX   ((size_t)1 << 18)
#define CALLERS_SEEN 4

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct place *seen;
static size_t seen_count;
static bool recording;

void places_start(void)
{
    seen = calloc(PLACES_MAX, sizeof(*seen));
    seen_count = 0;
    recording = seen != NULL;
}

/* Where a call comes from: a few of its callers, told apart by where they are in the program. */
static uint64_t code_of_caller(void)
{
    void *callers[2 + CALLERS_SEEN] = {NULL};
    uint64_t code = 0xcbf29ce484222325u;
    backtrace(callers, 2 + CALLERS_SEEN);
    for (int i = 2; i < 2 + CALLERS_SEEN; i++)
        code = (code ^ ((uint64_t)(uintptr_t)callers[i] - (uint64_t)(uintptr_t)&lock)) *
               0x100000001b3u;
    return code;
}

static __attribute__((noinline)) void note(psc_addr address, size_t size)
{
    if (!recording || !size)
        return;
    uint64_t code = code_of_caller();
    pthread_mutex_lock(&lock);
    if (seen_count < PLACES_MAX)
        seen[seen_count++] =
            (struct place){address, size > UINT32_MAX ? UINT32_MAX : (uint32_t)size, 0, code};
    pthread_mutex_unlock(&lock);
}

#define WRAP(type, name, parameters, address, size, arguments) \
    type __real_##name parameters;                             \
    type __wrap_##name parameters;                             \
    type __wrap_##name parameters                              \
    {                                                          \
        note(address, size);                                   \
        return __real_##name arguments;                        \
    }

// NOLINTBEGIN(bugprone-reserved-identifier, bugprone-macro-parentheses): the linker's names.
WRAP(enum psc_status, target_read,
     (struct target * target, psc_addr address, void *buffer, size_t size), address, size,
     (target, address, buffer, size))
WRAP(size_t, target_read_some,
     (struct target * target, psc_addr address, void *buffer, size_t size), address, size,
     (target, address, buffer, size))
WRAP(enum psc_status, target_read_u8, (struct target * target, psc_addr address, uint8_t *ret),
     address, 1, (target, address, ret))
WRAP(enum psc_status, target_read_u32, (struct target * target, psc_addr address, uint32_t *ret),
     address, 4, (target, address, ret))
WRAP(enum psc_status, target_read_u64, (struct target * target, psc_addr address, uint64_t *ret),
     address, 8, (target, address, ret))
WRAP(enum psc_status, target_read_pointer,
     (struct target * target, psc_addr address, psc_addr *ret), address, 8, (target, address, ret))
WRAP(enum psc_status, target_read_string,
     (struct target * target, psc_addr address, char *buffer, size_t size), address,
     size < 32 ? size : 32, (target, address, buffer, size))
WRAP(const uint8_t *, target_peek, (struct target * target, psc_addr address, size_t size), address,
     size, (target, address, size))
// NOLINTEND(bugprone-reserved-identifier, bugprone-macro-parentheses)

static int by_code(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    if (a->code != b->code)
        return a->code < b->code ? -1 : 1;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    return a->size < b->size ? -1 : a->size > b->size;
}

static int by_site(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    return a->site != b->site ? (a->site < b->site ? -1 : 1) : by_code(left, right);
}

/* Sites are numbered by what they read: the addresses of their code change from run to run. */
static int by_first_place(const void *left, const void *right)
{
    const struct place *a = *(struct place *const *)left, *b = *(struct place *const *)right;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    if (a->size != b->size)
        return a->size < b->size ? -1 : 1;
    return a->site < b->site ? -1 : a->site > b->site; // How many places the site has.
}

static size_t drop_equal(struct place *items, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (!kept || by_code(&items[kept - 1], &items[i]))
            items[kept++] = items[i];
    return kept;
}

void places_take(struct places *ret)
{
    recording = false;
    memset(ret, 0, sizeof(*ret));
    if (!seen)
        return;
    qsort(seen, seen_count, sizeof(*seen), by_code);
    size_t count = drop_equal(seen, seen_count);
    struct place **firsts = calloc(count + 1, sizeof(struct place *));
    ret->first = calloc(count + 1, sizeof(*ret->first));
    if (!firsts || !ret->first)
        exit(2);
    for (size_t i = 0; i < count; i++) {
        if (!i || seen[i].code != seen[i - 1].code)
            firsts[ret->site_count++] = &seen[i];
        firsts[ret->site_count - 1]->site++;
    }
    qsort(firsts, ret->site_count, sizeof(struct place *), by_first_place);
    for (size_t site = 0; site < ret->site_count; site++) {
        struct place *one = firsts[site];
        uint64_t code = one->code;
        for (; one < seen + count && one->code == code; one++)
            one->site = (uint32_t)site;
    }
    qsort(seen, count, sizeof(*seen), by_site);
    for (size_t i = count; i-- > 0;)
        ret->first[seen[i].site] = i;
    ret->first[ret->site_count] = count;
    ret->items = seen;
    ret->count = count;
    seen = NULL;
    free(firsts);
}

void places_free(struct places *places)
{
    free(places->items);
    free(places->first);
    memset(places, 0, sizeof(*places));
}
