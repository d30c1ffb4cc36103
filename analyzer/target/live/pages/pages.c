/* Pages of a living process, each read once. */
#include "pages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#define SLAB_SIZE       ((size_t)1024 * 1024)
#define SLAB_LIMIT      ((size_t)4096)
#define FIRST_PAGES     ((size_t)8192)
#define COMPARE_AT_ONCE ((size_t)64)
#define READ_AT_ONCE    ((size_t)16)

static bool add_slab(struct live_pages *pages)
{
    void *slabs = pages->slabs;
    if (pages->slab_count >= SLAB_LIMIT ||
        !array_reserve(&slabs, &pages->slab_capacity, pages->slab_count + 1, sizeof(*pages->slabs)))
        return false;
    pages->slabs = slabs;
    void *slab = mmap(NULL, SLAB_SIZE, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (slab == MAP_FAILED)
        return false;
    pages->slabs[pages->slab_count++] = slab;
    pages->slab_used = 0;
    return true;
}

bool pages_init(struct live_pages *pages, int memory, struct live_reader *reader)
{
    *pages = (struct live_pages){
        .memory = memory, .reader = reader, .table = HASH_TABLE_OF(struct live_page)};
    return hash_table_reserve(&pages->table, FIRST_PAGES) && add_slab(pages);
}

void pages_deinit(struct live_pages *pages)
{
    // A read that was given up may still write to its slab.
    bool kept = pages->reader && reader_was_late(pages->reader);
    for (size_t i = 0; !kept && i < pages->slab_count; i++)
        munmap(pages->slabs[i], SLAB_SIZE);
    free(pages->slabs);
    hash_table_deinit(&pages->table);
    *pages = (struct live_pages){.memory = -1};
}

void pages_expect_few(struct live_pages *pages)
{
    // To clear a table takes as long as it is large.
    hash_table_deinit(&pages->table);
    pages->last = (struct live_page){0};
}

void pages_clear(struct live_pages *pages)
{
    hash_table_clear(&pages->table);
    pages->last = (struct live_page){0};
    pages->closed = false;
    size_t late = pages->reader ? reader_count_late(pages->reader) : 0;
    if (late != pages->late) {
        // A read that was given up may still write to one of them: they are left to it.
        pages->late = late;
        pages->slab_count = 0;
    }
    while (pages->slab_count > 1)
        munmap(pages->slabs[--pages->slab_count], SLAB_SIZE);
    pages->slab_used = pages->slab_count ? 0 : SLAB_SIZE;
}

const uint8_t *pages_find(struct live_pages *pages, psc_addr page)
{
    if (pages->last.address == page)
        return pages->last.bytes;
    struct live_page *known = hash_table_find(&pages->table, page);
    if (!known)
        return NULL;
    known->wanted = true;
    pages->last = *known;
    return known->bytes;
}

static bool is_there(const struct live_pages *pages, psc_addr page)
{
    return hash_table_find(&pages->table, page) != NULL;
}

bool pages_add(struct live_pages *pages, psc_addr page, const uint8_t *bytes)
{
    struct live_page *known = page ? hash_table_find(&pages->table, page) : NULL;
    if (known)
        return true;
    known = page ? hash_table_add(&pages->table, page) : NULL;
    if (known)
        known->bytes = bytes;
    return known != NULL;
}

/* How many whole pages could be read into the buffer. */
static size_t read_pages(const struct live_pages *pages, psc_addr first, size_t count,
                         uint8_t *buffer)
{
    ssize_t got = reader_pread(pages->reader, pages->memory, buffer, count * LIVE_PAGE, first);
    return got < 0 ? 0 : (size_t)got / LIVE_PAGE;
}

/*
 * The pages to read with one: those on the far side of a neighbour that is there already, twice
 * as many each time. Stacks of Python frames are walked in order, mostly downwards.
 */
static psc_addr choose_range(struct live_pages *pages, psc_addr page, size_t *ret_count)
{
    bool below = is_there(pages, page - LIVE_PAGE), above = is_there(pages, page + LIVE_PAGE);
    *ret_count = 1;
    if (below == above) {
        pages->run = 1;
        return page;
    }
    pages->run = pages->run < READ_AT_ONCE ? pages->run * 2 : READ_AT_ONCE;
    psc_addr first = page;
    while (*ret_count < pages->run) {
        psc_addr next = above ? first - LIVE_PAGE : page + *ret_count * LIVE_PAGE;
        if (next < LIVE_PAGE || is_there(pages, next))
            break;
        if (above)
            first = next;
        ++*ret_count;
    }
    return first;
}

/* Room in the last slab, or in a new one; NULL when there is none. */
static uint8_t *find_room(struct live_pages *pages, size_t count)
{
    if (pages->slab_used + count * LIVE_PAGE > SLAB_SIZE && !add_slab(pages))
        return NULL;
    return pages->slabs[pages->slab_count - 1] + pages->slab_used;
}

/* Once a read was given up: the page alone, if it is in memory. */
static size_t read_if_there(struct live_pages *pages, psc_addr page, uint8_t *buffer)
{
    return reader_may_wait(pages->reader, page) ? 0 : read_pages(pages, page, 1, buffer);
}

const uint8_t *pages_read(struct live_pages *pages, psc_addr page)
{
    if (pages->closed || (pages->most && pages->table.count >= pages->most) || page < LIVE_PAGE ||
        page > (psc_addr)INT64_MAX - READ_AT_ONCE * LIVE_PAGE)
        return NULL;
    bool late = reader_was_late(pages->reader);
    size_t count = 1, got;
    psc_addr first = late ? page : choose_range(pages, page, &count);
    uint8_t *buffer = find_room(pages, count);
    if (!buffer)
        return NULL;
    got = late ? read_if_there(pages, page, buffer) : read_pages(pages, first, count, buffer);
    if (reader_was_late(pages->reader) != late) {
        // The room is that of the read which was given up.
        pages->slab_used += count * LIVE_PAGE;
        first = page;
        buffer = find_room(pages, 1);
        got = buffer ? read_if_there(pages, page, buffer) : 0;
    } else if (count > 1 && first + got * LIVE_PAGE <= page) {
        first = page;
        got = read_pages(pages, page, 1, buffer);
    }
    if (pages->closed)
        return NULL; /* It may have run while they were read. */
    for (size_t i = 0; i < got; i++)
        if (!pages_add(pages, first + i * LIVE_PAGE, buffer + i * LIVE_PAGE))
            return NULL;
    pages->slab_used += got * LIVE_PAGE;
    if (got)
        (void)pages_find(pages, page);
    return got ? buffer + (page - first) : NULL;
}

static int compare_addresses(const void *left, const void *right)
{
    psc_addr a = *(const psc_addr *)left, b = *(const psc_addr *)right;
    return COMPARE(a, b);
}

static psc_addr *list_pages(const struct live_pages *pages, bool wanted, size_t *ret_count)
{
    size_t count = pages->table.count, listed = 0;
    psc_addr *list = count ? malloc(count * sizeof(*list)) : NULL;
    for (size_t i = 0; list && i < count; i++)
        if (!wanted || pages_at(pages, i)->wanted)
            list[listed++] = pages_at(pages, i)->address;
    if (list)
        qsort(list, listed, sizeof(*list), compare_addresses);
    *ret_count = listed;
    return list;
}

psc_addr *pages_list(const struct live_pages *pages, size_t *ret_count)
{
    return list_pages(pages, false, ret_count);
}

psc_addr *pages_list_wanted(const struct live_pages *pages, size_t *ret_count)
{
    return list_pages(pages, true, ret_count);
}

static size_t count_different(const struct iovec *pages, const uint8_t *const *known, size_t count,
                              const uint8_t *bytes, size_t size)
{
    size_t different = 0;
    for (size_t i = 0; i < count; i++)
        different += (i + 1) * LIVE_PAGE > size ||
                     memcmp(known[i], bytes + i * LIVE_PAGE, pages[i].iov_len) != 0;
    return different;
}

/*
 * Up to the first page that is gone. The file shows pages that process_vm_readv() does not, those
 * without the right to read (guard pages of stacks), and serves where that call is forbidden
 * (seccomp).
 */
static size_t read_again(struct live_pages *pages, pid_t pid, const struct iovec *remote,
                         size_t count, uint8_t *buffer)
{
    bool allowed = true;
    size_t done = 0;
    while (done < count) {
        uint8_t *rest = buffer + done * LIVE_PAGE;
        ssize_t got = allowed ? reader_copy(pages->reader, pid, rest, (count - done) * LIVE_PAGE,
                                            remote + done, count - done)
                              : 0;
        allowed = allowed && (got >= 0 || errno == EFAULT);
        done += got > 0 ? (size_t)got / LIVE_PAGE : 0;
        if (done == count || !read_pages(pages, (psc_addr)(uintptr_t)remote[done].iov_base, 1,
                                         buffer + done * LIVE_PAGE))
            break;
        done++;
    }
    return done * LIVE_PAGE;
}

size_t pages_count_changed(struct live_pages *pages, pid_t pid)
{
    struct iovec remote[COMPARE_AT_ONCE];
    const uint8_t *known[COMPARE_AT_ONCE];
    uint8_t *buffer = malloc(COMPARE_AT_ONCE * LIVE_PAGE);
    size_t changed = 0, count = 0;
    if (!buffer)
        return pages->table.count;
    for (size_t i = 0; i < pages->table.count; i++) {
        const struct live_page *page = pages_at(pages, i);
        remote[count] = (struct iovec){(void *)(uintptr_t)page->address, LIVE_PAGE};
        known[count++] = page->bytes;
        if (count == COMPARE_AT_ONCE || i == pages->table.count - 1) {
            size_t got = read_again(pages, pid, remote, count, buffer);
            changed += count_different(remote, known, count, buffer, got);
            count = 0;
        }
    }
    if (!reader_was_late(pages->reader))
        free(buffer);
    return changed;
}
