/* A process that a debugger holds: its memory by callback, page by page, all else by copy. */
#include "debugger_private.h"

#include "target_private.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE ((size_t)4096)
/** Pages fetched at once when they are asked for in order: gdb's remote protocol costs a round trip
 * a request. */
#define RUN_PAGES ((size_t)16)
/** Pages kept; when they are all used the cache starts anew. */
#define CACHE_PAGES    ((size_t)16384)
#define PREFETCH_LIMIT ((size_t)1024 * 1024)
#define ITEM_LIMIT     1000000u

struct debugger_page {
    psc_addr address;
    uint8_t *bytes; /* NULL: cannot be read. */
};

struct debugger {
    size_t (*read)(void *context, psc_addr address, void *buffer, size_t size);
    void *context;
    int memory;              /* Of memory_path, or -1. */
    struct hash_table pages; /* struct debugger_page */
    psc_addr last_page;
    uint8_t *run; /* RUN_PAGES pages. */
};

/* ---- the cache ---- */

static void cache_clear(struct debugger *debugger)
{
    for (size_t i = 0; i < debugger->pages.count; i++)
        free(((struct debugger_page *)hash_table_at(&debugger->pages, i))->bytes);
    hash_table_clear(&debugger->pages);
}

static struct debugger_page *cache_find(struct debugger *debugger, psc_addr page)
{
    return hash_table_find(&debugger->pages, page);
}

/* What cannot be read is kept too, with no bytes; so is a page for which there is no memory. */
static void cache_add(struct debugger *debugger, psc_addr page, const uint8_t *bytes)
{
    struct debugger_page *added =
        cache_find(debugger, page) ? NULL : hash_table_add(&debugger->pages, page);
    if (!added)
        return;
    added->bytes = bytes ? malloc(PAGE) : NULL;
    if (added->bytes)
        memcpy(added->bytes, bytes, PAGE);
}

/* ---- reading ---- */

static size_t debugger_ask(struct debugger *debugger, psc_addr address, uint8_t *buffer,
                           size_t size)
{
    if (debugger->memory < 0)
        return debugger->read(debugger->context, address, buffer, size);
    ssize_t got = pread(debugger->memory, buffer, size, (off_t)address);
    return got > 0 ? (size_t)got : 0;
}

/* Fetches `count` pages, at most RUN_PAGES, in one go; from the first that fails on, one by one. */
static void debugger_fetch(struct debugger *debugger, psc_addr page, size_t count)
{
    if (debugger->pages.count + count > CACHE_PAGES)
        cache_clear(debugger);
    size_t got = debugger_ask(debugger, page, debugger->run, count * PAGE) / PAGE;
    for (size_t i = 0; i < count; i++) {
        bool there = i < got;
        if (!there && count > 1)
            there = debugger_ask(debugger, page + i * PAGE, debugger->run + i * PAGE, PAGE) == PAGE;
        cache_add(debugger, page + i * PAGE, there ? debugger->run + i * PAGE : NULL);
    }
}

/* How many pages from this one on lie in its mapping and are not in the cache. */
static size_t count_missing(struct debugger *debugger, const struct target_mapping *mapping,
                            psc_addr page, size_t limit)
{
    size_t count = 1;
    while (count < limit && mapping->end - page > count * PAGE &&
           !cache_find(debugger, page + count * PAGE))
        count++;
    return count;
}

static const uint8_t *debugger_page(struct target *target, psc_addr page)
{
    struct debugger *debugger = target->backend;
    const struct debugger_page *known = cache_find(debugger, page);
    if (!known) {
        const struct target_mapping *mapping = target_find_mapping(target, page);
        if (!mapping)
            return NULL;
        bool in_order = debugger->last_page == page - PAGE;
        debugger_fetch(debugger, page,
                       in_order ? count_missing(debugger, mapping, page, RUN_PAGES) : 1);
        known = cache_find(debugger, page);
    }
    debugger->last_page = page;
    return known ? known->bytes : NULL;
}

static enum psc_status debugger_read(struct target *target, psc_addr address, void *buffer,
                                     size_t size)
{
    uint8_t *out = buffer;
    while (size) {
        psc_addr page = address & ~(psc_addr)(PAGE - 1);
        size_t at = (size_t)(address - page);
        size_t piece = size < PAGE - at ? size : PAGE - at;
        const uint8_t *bytes = debugger_page(target, page);
        if (!bytes)
            return PSC_ERR_FAULT;
        memcpy(out, bytes + at, piece);
        out += piece;
        size -= piece;
        if (size && address + piece < address)
            return PSC_ERR_FAULT;
        address += piece;
    }
    return PSC_OK;
}

static void debugger_prefetch(struct target *target, psc_addr address, size_t size)
{
    struct debugger *debugger = target->backend;
    const struct target_mapping *mapping = target_find_mapping(target, address);
    if (!mapping)
        return;
    psc_addr end = size < mapping->end - address ? address + size : mapping->end;
    psc_addr page = address & ~(psc_addr)(PAGE - 1);
    if (end - page > PREFETCH_LIMIT)
        end = page + PREFETCH_LIMIT;
    while (page < end) {
        size_t count = 1;
        if (!cache_find(debugger, page)) {
            size_t wanted = (size_t)(end - page + PAGE - 1) / PAGE;
            count = count_missing(debugger, mapping, page, wanted < RUN_PAGES ? wanted : RUN_PAGES);
            debugger_fetch(debugger, page, count);
        }
        page += count * PAGE;
    }
}

static void debugger_close(struct target *target)
{
    struct debugger *debugger = target->backend;
    if (!debugger)
        return;
    cache_clear(debugger);
    hash_table_deinit(&debugger->pages);
    if (debugger->memory >= 0)
        close(debugger->memory);
    free(debugger->run);
    free(debugger);
}

/* No peek: the cache may start anew at any read. */
static const struct target_ops debugger_ops = {
    .read = debugger_read, .prefetch = debugger_prefetch, .close = debugger_close};

/* ---- opening ---- */

static enum psc_status add_mapping(struct target *target, struct file_names *names,
                                   const struct psc_debugger_mapping *given)
{
    struct target_mapping mapping = {
        .start = given->start,
        .end = given->end,
        .offset = given->offset,
        .permissions_known = given->permissions & PSC_DEBUGGER_PERMISSIONS_KNOWN,
        .readable = given->permissions & PSC_DEBUGGER_READ,
        .writable = given->permissions & PSC_DEBUGGER_WRITE,
        .executable = given->permissions & PSC_DEBUGGER_EXECUTE,
    };
    if (given->start >= given->end)
        return PSC_OK;
    // "[heap]", "[stack]", "[vdso]" and the like are no files.
    if (given->path && given->path[0] && given->path[0] != '[') {
        enum psc_status status = file_names_find(names, target, given->path, &mapping.file);
        if (status != PSC_OK)
            return status;
    }
    target->mappings[target->mapping_count++] = mapping;
    return PSC_OK;
}

static struct psc_debugger_mapping given_mapping(const struct psc_debugger *debugger, size_t index)
{
    struct psc_debugger_mapping mapping;
    memcpy(&mapping, (const uint8_t *)debugger->mappings + index * debugger->mapping_size,
           sizeof(mapping));
    return mapping;
}

static enum psc_status copy_mappings(struct target *target, const struct psc_debugger *debugger)
{
    struct file_names names;
    target->mappings = calloc(debugger->mapping_count, sizeof(*target->mappings));
    file_names_init(&names);
    enum psc_status status = target->mappings ? PSC_OK : PSC_ERR_MEMORY;
    for (size_t i = 0; status == PSC_OK && i < debugger->mapping_count; i++) {
        struct psc_debugger_mapping mapping = given_mapping(debugger, i);
        status = add_mapping(target, &names, &mapping);
    }
    file_names_deinit(&names);
    if (status != PSC_OK)
        return status;
    target->mapping_count =
        target_sort_ranges(target->mappings, target->mapping_count, sizeof(*target->mappings));
    return PSC_OK;
}

static struct psc_debugger_thread given_thread(const struct psc_debugger *debugger, size_t index)
{
    struct psc_debugger_thread thread;
    memcpy(&thread, (const uint8_t *)debugger->threads + index * debugger->thread_size,
           sizeof(thread));
    return thread;
}

static const struct target_machine *find_machine(uint32_t elf_machine)
{
    if (elf_machine == EM_NONE)
        return target_machine_here();
    return elf_machine <= UINT16_MAX ? target_machine_find((uint16_t)elf_machine) : NULL;
}

static enum psc_status check_registers(const struct psc_debugger *given,
                                       const struct target_machine *machine, struct psc_error *err)
{
    for (size_t i = 0; i < given->thread_count; i++) {
        struct psc_debugger_thread thread = given_thread(given, i);
        if (!thread.registers || thread.register_count != machine->register_count)
            return psc_fail(err, PSC_ERR_ARGUMENT,
                            "a debugger that tells %u registers of thread %d; %s has %u",
                            thread.registers ? thread.register_count : 0, thread.tid,
                            machine->title, machine->register_count);
    }
    return PSC_OK;
}

static void add_thread(struct target *target, const struct psc_debugger_thread *given)
{
    struct target_thread *thread = &target->threads[target->thread_count++];
    thread->tid = given->tid;
    thread->thread_pointer = given->thread_pointer;
    thread->crashed = given->crashed != 0;
    thread->name = given->name ? arena_strdup(target->arena, given->name) : NULL;
    memcpy(thread->registers.value, given->registers,
           given->register_count * sizeof(*given->registers));
}

static enum psc_status copy_threads(struct target *target, const struct psc_debugger *debugger)
{
    target->threads = calloc(debugger->thread_count, sizeof(*target->threads));
    if (!target->threads)
        return PSC_ERR_MEMORY;
    // The crashed one comes first.
    for (int crashed = 1; crashed >= 0; crashed--) {
        for (size_t i = 0; i < debugger->thread_count; i++) {
            struct psc_debugger_thread thread = given_thread(debugger, i);
            if ((thread.crashed != 0) == crashed)
                add_thread(target, &thread);
        }
    }
    return PSC_OK;
}

static void copy_signal(struct target *target, const struct psc_debugger *debugger)
{
    struct target_signal *signal = &target->process.signal;
    if (debugger->signal_number <= 0)
        return;
    *signal = (struct target_signal){
        .number = debugger->signal_number, .code = debugger->signal_code, .has_info = true};
    // As in siginfo: codes up to 0 come from a process, the others from the kernel.
    signal->has_sender = signal->code <= 0;
    signal->has_address = signal->code > 0;
    if (signal->has_sender)
        signal->sender_pid = debugger->signal_sender;
    else
        signal->address = debugger->fault_address;
}

static enum psc_status debugger_fill(struct target *target, const struct psc_debugger *given,
                                     struct psc_error *err)
{
    target->process.pid = given->pid;
    if (copy_mappings(target, given) != PSC_OK || copy_threads(target, given) != PSC_OK)
        return psc_fail_memory(err);
    target_search_thread_pointers(target);
    copy_signal(target, given);
    debugger_name_sender(target, given);
    if (given->auxv)
        parse_auxv(given->auxv, given->auxv_size, &target->auxv);
    if (given->executable)
        target->process.executable = arena_strdup(target->arena, given->executable);
    else
        target_find_executable(target);
    if (given->auxv && given->auxv_size >= 16)
        target_read_arguments(target, given->auxv);
    if (arena_is_exhausted(target->arena))
        return psc_fail_memory(err);
    return PSC_OK;
}

enum psc_status debugger_open(const struct psc_debugger *given, const char *executable,
                              const struct target_options *options, struct target **ret,
                              struct psc_error *err)
{
    const struct target_machine *machine = find_machine(given->machine);
    if (!given->read && !given->memory_path)
        return psc_fail(err, PSC_ERR_ARGUMENT, "a debugger without a way to read memory");
    if (!machine)
        return psc_fail(err, PSC_ERR_UNSUPPORTED,
                        "a debugger's process of machine %u (e_machine); only %s is handled",
                        given->machine, target_machine_titles());
    if (!given->mappings || !given->mapping_count || given->mapping_count > ITEM_LIMIT)
        return psc_fail(err, PSC_ERR_ARGUMENT, "a debugger that tells no mappings of its target");
    if (!given->threads || !given->thread_count || given->thread_count > ITEM_LIMIT)
        return psc_fail(err, PSC_ERR_ARGUMENT, "a debugger that tells no threads of its target");
    enum psc_status status = check_registers(given, machine, err);
    if (status != PSC_OK)
        return status;
    struct debugger *debugger = calloc(1, sizeof(*debugger));
    struct target *target =
        debugger ? target_create(TARGET_DEBUGGER, &debugger_ops, executable, options) : NULL;
    if (!target) {
        free(debugger);
        return psc_fail_memory(err);
    }
    target->backend = debugger;
    target->machine = machine;
    debugger->read = given->read;
    debugger->context = given->context;
    debugger->memory = given->memory_path ? open(given->memory_path, O_RDONLY | O_CLOEXEC) : -1;
    hash_table_init(&debugger->pages, sizeof(struct debugger_page));
    debugger->run = malloc(RUN_PAGES * PAGE);
    if (!hash_table_reserve(&debugger->pages, CACHE_PAGES) || !debugger->run)
        status = psc_fail_memory(err);
    else if (debugger->memory < 0 && !debugger->read)
        status = psc_fail(err, PSC_ERR_IO, "%s: cannot be opened", given->memory_path);
    if (status == PSC_OK)
        status = debugger_fill(target, given, err);
    if (status != PSC_OK) {
        target_close(target);
        return status;
    }
    *ret = target;
    return PSC_OK;
}
