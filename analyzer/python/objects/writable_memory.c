/* Writable memory of the target, piece by piece. */
#include "objects.h"

#include <stdlib.h>

#define PIECE_SIZE  ((size_t)1 << 20)
#define PIECE_EXTRA ((size_t)1024) /* Longer than anything that is looked for. */
#define SCAN_LIMIT  (UINT64_C(4) << 30)
/* Of each mapping where no module is known: .data and .bss of an interpreter are less. */
#define MAPPING_LIMIT ((psc_addr)64 << 20)
#define DATA_LIMIT    (UINT64_C(256) << 20) /* Of all of them. */
/* What a page counts that a debugger cannot read: each is a question to it. */
#define ASKED_IN_VAIN (UINT64_C(64) << 10)

struct scan {
    struct python *python;
    py_scan_visit *visit;
    void *context;
    uint8_t *buffer;
    uint64_t left;
    bool stopped;
};

/* Memory that is not there in one piece is read as far as it goes, page by page. */
static size_t read_piece(struct scan *scan, psc_addr address, size_t size, const uint8_t **ret)
{
    struct target *target = scan->python->target;
    *ret = target_peek(target, address, size);
    if (*ret)
        return size;
    if (!scan->buffer)
        scan->buffer = malloc(PIECE_SIZE + PIECE_EXTRA);
    if (!scan->buffer) {
        arena_set_exhausted(scan->python->arena);
        scan->stopped = true;
        return 0;
    }
    *ret = scan->buffer;
    return target_read_some(target, address, scan->buffer, size);
}

static void scan_range(struct scan *scan, psc_addr start, psc_addr end)
{
    const size_t page = 4096;
    for (psc_addr at = start; at < end && scan->left && !scan->stopped;) {
        const uint8_t *bytes;
        size_t wanted =
            end - at < PIECE_SIZE + PIECE_EXTRA ? (size_t)(end - at) : PIECE_SIZE + PIECE_EXTRA;
        size_t size = read_piece(scan, at, wanted, &bytes);
        if (size && !scan->visit(scan->context, at, bytes, size))
            scan->stopped = true;
        /* Over a hole, on at the next page. */
        size_t step = size > PIECE_SIZE ? PIECE_SIZE : size & ~(page - 1);
        uint64_t cost = !step && !scan->python->target->ops->piece ? ASKED_IN_VAIN : page;
        if (!step || (size < wanted && size == step))
            step += page;
        cost = cost > step ? cost : step;
        scan->left -= cost < scan->left ? cost : scan->left;
        at += step;
    }
}

static void scan_deinit(struct scan *scan)
{
    free(scan->buffer);
}

/*
 * A runtime lies in the data of a module, which is behind its code: where files are known, not in
 * what was allocated, nor in files of data.
 * @return false: no mapping has a file.
 */
static bool scan_data_of_files(struct scan *scan)
{
    const struct target *target = scan->python->target;
    const struct target_file *module = NULL;
    bool any = false;
    psc_addr end = 0;
    scan->left = DATA_LIMIT;
    for (size_t i = 0; i < target->mapping_count && !scan->stopped; i++) {
        const struct target_mapping *mapping = &target->mappings[i];
        bool follows = end && mapping->start == end && !mapping->file;
        any |= mapping->file != NULL;
        if (mapping->file && (mapping->executable || !mapping->permissions_known))
            module = mapping->file;
        bool is_data = mapping->file && mapping->file == module;
        end = is_data ? mapping->end : 0;
        if ((!follows && !is_data) || (mapping->permissions_known && !mapping->writable))
            continue;
        psc_addr size = mapping->end - mapping->start;
        size = size < MAPPING_LIMIT ? size : MAPPING_LIMIT;
        scan_range(scan, mapping->start, mapping->start + size);
    }
    scan->left = SCAN_LIMIT;
    return any;
}

static void scan_all(struct scan *scan)
{
    const struct target *target = scan->python->target;
    for (size_t i = 0; i < target->mapping_count && !scan->stopped; i++) {
        const struct target_mapping *mapping = &target->mappings[i];
        if (!mapping->permissions_known || mapping->writable)
            scan_range(scan, mapping->start, mapping->end);
    }
}

static void scan_module(struct scan *scan, const struct module *module)
{
    const struct target *target = scan->python->target;
    psc_addr end = module->end;
    for (size_t i = 0; i < target->mapping_count && !scan->stopped; i++) {
        const struct target_mapping *mapping = &target->mappings[i];
        bool follows = mapping->start == end && !mapping->file;
        if (!follows && (mapping->start < module->start || mapping->start >= module->end))
            continue;
        if (follows)
            end = 0;
        if (!mapping->permissions_known || mapping->writable)
            scan_range(scan, mapping->start, mapping->end);
    }
}

void scan_writable(struct python *python, const struct module *module, py_scan_visit *visit,
                   void *context)
{
    PSC_CLEANUP(scan_deinit)
    struct scan scan = {.python = python, .visit = visit, .context = context, .left = SCAN_LIMIT};
    if (module)
        scan_module(&scan, module);
    else if (!scan_data_of_files(&scan))
        scan_all(&scan);
}
