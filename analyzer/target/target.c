#include "reads.h"
#include "target_private.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define ASKED_AFTER 256u /* Reads, or pages of large ones. */
/* Zeros in place of a stack: fewer tell nothing; more than these are not a buffer of one frame. */
#define BLANK_LEAST ((psc_addr)256)
#define BLANK_MOST  ((psc_addr)1024 * 1024)
#define BLANK_PIECE ((psc_addr)4096)

bool target_interrupted(struct target *target)
{
    const struct target_options *options = &target->options;
    target->unasked = 0;
    if (options->interrupted && !target->interrupted)
        target->interrupted = options->interrupted(options->interrupt_context) != 0;
    return target->interrupted;
}

static bool may_read(struct target *target, size_t size)
{
    if (!target->options.interrupted || target->ops->silent)
        return true;
    target->unasked += 1 + size / 4096;
    return target->unasked < ASKED_AFTER ? !target->interrupted : !target_interrupted(target);
}

static enum psc_status read_pieces(struct target *target, psc_addr address, void *buffer,
                                   size_t size)
{
    uint8_t *out = buffer;
    while (size) {
        size_t piece;
        const uint8_t *bytes = target->ops->piece(target, address, &piece);
        if (!bytes)
            return PSC_ERR_FAULT;
        if (piece > size)
            piece = size;
        memcpy(out, bytes, piece);
        out += piece;
        size -= piece;
        if (size && address + piece < address)
            return PSC_ERR_FAULT;
        address += piece;
    }
    return PSC_OK;
}

static void note_read(struct target *target, psc_addr address, size_t size)
{
    if (target->reads)
        reads_add(target->reads, address, size);
}

static void note_failure(struct target *target)
{
    if (target->reads)
        target->reads->failed = true;
}

enum psc_status target_read(struct target *target, psc_addr address, void *buffer, size_t size)
{
    enum psc_status status = PSC_ERR_FAULT;
    if (!may_read(target, size))
        return status;
    if (target->ops->read)
        status = target->ops->read(target, address, buffer, size);
    else if (target->ops->piece)
        status = read_pieces(target, address, buffer, size);
    if (status == PSC_OK)
        note_read(target, address, size);
    else
        note_failure(target);
    return status;
}

/* One question tells how far they go: over a hole of gigabytes there are many. */
static size_t read_some_pieces(struct target *target, psc_addr address, uint8_t *buffer,
                               size_t size)
{
    size_t done = 0, piece;
    while (done < size) {
        const uint8_t *bytes = target->ops->piece(target, address + done, &piece);
        if (!bytes)
            break;
        piece = piece < size - done ? piece : size - done;
        memcpy(buffer + done, bytes, piece);
        done += piece;
        if (address + done < address)
            break;
    }
    return done;
}

size_t target_read_some(struct target *target, psc_addr address, void *buffer, size_t size)
{
    size_t done = 0;
    if (!target->ops->read && target->ops->piece) {
        done = may_read(target, size) ? read_some_pieces(target, address, buffer, size) : 0;
        note_read(target, address, done);
        if (done < size)
            note_failure(target);
        return done;
    }
    while (done < size) {
        // Pieces that do not cross a page: a hole costs only what lies behind it.
        size_t piece = 4096 - (size_t)((address + done) & 4095);
        if (piece > size - done)
            piece = size - done;
        if (target_read(target, address + done, (uint8_t *)buffer + done, piece) == PSC_OK) {
            done += piece;
            continue;
        }
        while (piece > 1) {
            piece /= 2;
            if (target_read(target, address + done, (uint8_t *)buffer + done, piece) == PSC_OK)
                done += piece;
        }
        break;
    }
    return done;
}

enum psc_status target_read_u8(struct target *target, psc_addr address, uint8_t *ret)
{
    return target_read(target, address, ret, sizeof(*ret));
}

enum psc_status target_read_u32(struct target *target, psc_addr address, uint32_t *ret)
{
    return target_read(target, address, ret, sizeof(*ret));
}

enum psc_status target_read_u64(struct target *target, psc_addr address, uint64_t *ret)
{
    return target_read(target, address, ret, sizeof(*ret));
}

enum psc_status target_read_pointer(struct target *target, psc_addr address, psc_addr *ret)
{
    return target_read(target, address, ret, sizeof(*ret));
}

static enum psc_status read_string(struct target *target, psc_addr address, char *buffer,
                                   size_t size)
{
    size_t done = 0;
    if (!size)
        return PSC_ERR_LIMIT;
    buffer[0] = '\0';
    while (done < size - 1) {
        size_t piece = size - 1 - done < 64 ? size - 1 - done : 64;
        size_t got = target_read_some(target, address + done, buffer + done, piece);
        char *end = memchr(buffer + done, '\0', got);
        if (end)
            return PSC_OK;
        done += got;
        buffer[done] = '\0';
        if (got < piece)
            return PSC_ERR_FAULT;
    }
    buffer[done] = '\0';
    return PSC_ERR_LIMIT;
}

/* What stands behind the string is read with it, and is no part of it. */
enum psc_status target_read_string(struct target *target, psc_addr address, char *buffer,
                                   size_t size)
{
    if (!target->reads)
        return read_string(target, address, buffer, size);
    target->reads->paused++;
    enum psc_status status = read_string(target, address, buffer, size);
    target->reads->paused--;
    note_read(target, address, size ? strlen(buffer) + (status == PSC_OK) : 0);
    return status;
}

const uint8_t *target_peek(struct target *target, psc_addr address, size_t size)
{
    size_t piece;
    if (!target->ops->piece || !may_read(target, size))
        return NULL;
    const uint8_t *bytes = target->ops->piece(target, address, &piece);
    if (!bytes)
        note_failure(target);
    if (!bytes || piece < size)
        return NULL;
    note_read(target, address, size);
    return bytes;
}

bool target_leaves_text(const struct target *target)
{
    return target->reads && target->reads->leaves_text;
}

bool target_notes_words(const struct target *target)
{
    return target->reads && (target->reads->leaves_text || target->reads->by_word);
}

void target_begin_reads(struct target *target)
{
    if (target->reads)
        return;
    if (!target->noted)
        target->noted = reads_create();
    if (!target->noted)
        return;
    reads_clear(target->noted);
    target->noted->by_word = true;
    target->reads = target->noted;
}

void target_end_reads(struct target *target)
{
    if (target->reads == target->noted)
        target->reads = NULL;
}

bool target_list_reads(const struct target *target, size_t page_limit, struct target_run **ret,
                       size_t *ret_count)
{
    const struct target_reads *reads = target->noted;
    size_t count = 0, capacity = 0, page_count = 0, first, end;
    if (!reads || reads->failed || reads->is_cut || reads->pages.count > page_limit)
        return false;
    struct reads_page **pages PSC_CLEANUP(cleanup_free) = reads_list(reads, &page_count);
    bool good = pages != NULL;
    for (size_t i = 0; good && i < page_count; i++)
        for (size_t at = 0; good && reads_next_run(pages[i], &at, &first, &end);) {
            good = array_reserve(ret, &capacity, count + 1, sizeof(**ret));
            if (good)
                (*ret)[count++] = (struct target_run){pages[i]->address + first, end - first};
        }
    *ret_count = count;
    return good;
}

void target_begin_text(struct target *target)
{
    if (target_leaves_text(target))
        target->reads->paused++;
}

void target_end_text(struct target *target)
{
    if (target_leaves_text(target))
        target->reads->paused--;
}

void target_prefetch(struct target *target, psc_addr address, size_t size)
{
    if (target->ops->prefetch)
        target->ops->prefetch(target, address, size);
}

void target_release(struct target *target, psc_addr address, size_t size)
{
    if (target->ops->release)
        target->ops->release(target, address, size);
}

const struct target_mapping *target_find_mapping(const struct target *target, psc_addr address)
{
    size_t behind = SORTED_UP_TO(target->mappings, start, target->mapping_count, address);
    if (!behind || address >= target->mappings[behind - 1].end)
        return NULL;
    return &target->mappings[behind - 1];
}

/* Mappings that one stack may be split into, by mprotect() or madvise(). */
#define STACK_PART_LIMIT 64

psc_addr target_find_stack_end(const struct target *target, psc_addr address,
                               psc_addr thread_pointer)
{
    const struct target_mapping *mapping = target_find_mapping(target, address);
    if (!mapping)
        return UINT64_MAX;
    const struct target_mapping *last = mapping;
    for (size_t i = 0; thread_pointer > address && i < STACK_PART_LIMIT; i++) {
        if (thread_pointer <= last->end)
            return thread_pointer;
        last = target_find_mapping(target, last->end);
        // A guard page ends a stack: it is a hole in a core, or may not be written.
        if (!last || last->file || (last->permissions_known && !last->writable))
            break;
    }
    return mapping->end;
}

bool target_is_blank_stack(struct target *target, psc_addr sp)
{
    static const uint8_t zeros[BLANK_PIECE];
    const struct target_mapping *mapping = target_find_mapping(target, sp);
    if (!mapping || mapping->end - sp < BLANK_LEAST)
        return false;
    psc_addr end = mapping->end - sp > BLANK_MOST ? sp + BLANK_MOST : mapping->end;
    for (psc_addr at = sp; at < end; at += BLANK_PIECE) {
        uint8_t bytes[BLANK_PIECE];
        size_t piece = end - at < BLANK_PIECE ? (size_t)(end - at) : BLANK_PIECE;
        if (target_read(target, at, bytes, piece) != PSC_OK || memcmp(bytes, zeros, piece) != 0)
            return false;
    }
    return true;
}

/* ---- ranges of addresses, put in order ---- */

struct range {
    psc_addr start;
    psc_addr end;
};

static struct range range_of(const void *item)
{
    struct range range;
    memcpy(&range, item, sizeof(range));
    return range;
}

static int compare_ranges(const void *left, const void *right)
{
    return COMPARE(range_of(left).start, range_of(right).start);
}

size_t target_sort_ranges(void *items, size_t count, size_t item_size)
{
    char *bytes = items;
    size_t kept = 0;
    if (count)
        qsort(items, count, item_size, compare_ranges);
    for (size_t i = 0; i < count; i++) {
        const char *item = bytes + i * item_size;
        if (kept && range_of(item).start < range_of(bytes + (kept - 1) * item_size).end)
            continue;
        memmove(bytes + kept * item_size, item, item_size);
        kept++;
    }
    return kept;
}

/* include/uapi/asm-generic/siginfo.h, of 64-bit machines. */
enum {
    SIGINFO_CODE = 8,
    SIGINFO_FIELDS = 16,
    SIGINFO_KEY = 32,
    SIGINFO_MIN_SIZE = 32,
    CODE_PROTECTION_KEY = 4 /* SEGV_PKUERR */
};

void target_signal_take(struct target_signal *signal, const uint8_t *bytes, size_t size)
{
    if (size < SIGINFO_MIN_SIZE)
        return;
    signal->has_info = true;
    signal->number = (int32_t)load_u32(bytes);
    signal->code = (int32_t)load_u32(bytes + SIGINFO_CODE);
    const uint8_t *fields = bytes + SIGINFO_FIELDS;
    // Codes <= 0 (SI_USER, SI_QUEUE, SI_TKILL ...) come from a process, not from the hardware.
    if (signal->code <= 0) {
        signal->has_sender = true;
        signal->sender_pid = (int32_t)load_u32(fields);
        signal->sender_uid = (int32_t)load_u32(fields + 4);
    } else if (signal->number == SIGSEGV || signal->number == SIGBUS || signal->number == SIGILL ||
               signal->number == SIGFPE || signal->number == SIGTRAP) {
        signal->has_address = true;
        signal->address = load_u64(fields);
        signal->has_key = signal->number == SIGSEGV && signal->code == CODE_PROTECTION_KEY &&
                          size >= SIGINFO_KEY + 4;
        signal->key = signal->has_key ? load_u32(bytes + SIGINFO_KEY) : 0;
    } else if (signal->number == SIGSYS) {
        // The address of the call, its number, and AUDIT_ARCH_*.
        signal->has_system_call = true;
        signal->system_call = (int32_t)load_u32(fields + 8);
        signal->system_call_arch = load_u32(fields + 12);
    }
}
