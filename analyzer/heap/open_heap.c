/* From a target to all that its heap holds. */
#include "blocks.h"
#include "heap_memory.h"
#include "heap_parts.h"
#include "references.h"

#include <stdlib.h>

/* Allocators that stand in for malloc(), by the names of their libraries. */
static const struct {
    const char *file;
    const char *name;
} allocators[] = {{"libjemalloc", "jemalloc"}, {"libtcmalloc", "tcmalloc"},
                  {"libmimalloc", "mimalloc"}, {"libhoard", "Hoard"},
                  {"libscudo", "Scudo"},       {"ld-musl", "musl"}};

static const char *find_allocator(const struct target *target)
{
    for (size_t i = 0; i < target->file_count; i++) {
        const char *slash = strrchr(target->files[i]->path, '/');
        const char *name = slash ? slash + 1 : target->files[i]->path;
        for (size_t k = 0; k < PSC_ARRAY_SIZE(allocators); k++)
            if (!strncmp(name, allocators[k].file, strlen(allocators[k].file)))
                return allocators[k].name;
    }
    return NULL;
}

#define VARIABLE       "PYTHONMALLOC="
#define VARIABLE_LIMIT 65536u /* Variables of an environment that are looked at. */
#define VARIABLE_SIZE  64u

/* What the process was told to take for objects in CPython's own allocator's place; false: nothing
 * is known of that. */
static bool find_chosen(struct target *target, char ret[VARIABLE_SIZE])
{
    psc_addr at = target->process.environment;
    psc_addr variable;
    for (unsigned i = 0; at && i < VARIABLE_LIMIT; i++, at += sizeof(uint64_t)) {
        if (target_read_u64(target, at, &variable) != PSC_OK || !variable)
            break;
        if (target_read_string(target, variable, ret, VARIABLE_SIZE) == PSC_OK &&
            !strncmp(ret, VARIABLE, strlen(VARIABLE)))
            return true;
    }
    return false;
}

#define LEFT_OUT                                                                                \
    "the core file was made smaller (pystack-core slim, handle), and holds only what a report " \
    "reads"

/* What is not there is not counted, and looks like a small heap. */
static void warn_of_gaps(struct heap *heap)
{
    if (heap->target->is_slim)
        target_warn(heap->target, "heap-slim",
                    LEFT_OUT ": most objects are missing, and of no sum is all there");
    else if (heap->allocator)
        target_warn(heap->target, "heap-allocator",
                    "malloc() is %s's, whose memory is not read: objects above 512 bytes and what "
                    "objects keep there are not found, nor counted",
                    heap->allocator);
    else if (!heap->glibc.arenas)
        target_warn(heap->target, "heap-arenas",
                    "no heap of glibc's malloc() was found: objects above 512 bytes and what "
                    "objects keep there are not found, nor counted");
}

/* Sizes that damaged objects claim come to no more than a report's numbers can say. */
static void add_bytes(uint64_t *sum, uint64_t bytes)
{
    *sum = bytes < INT64_MAX - *sum ? *sum + bytes : INT64_MAX;
}

static void sum_types(struct heap *heap)
{
    psc_addr swept = 0;
    for (uint32_t i = 0; i < heap->object_count; i++) {
        const struct heap_object *object = &heap->objects[i];
        heap_sweep_to(heap, &swept, i);
        struct heap_type *type = &heap->types[object->type];
        type->count++;
        add_bytes(&type->bytes, heap_object_size(heap, i));
        add_bytes(&type->occupied, heap_object_bytes(heap, i));
        type->owned += heap_owned_bytes(object);
    }
}

static void tell(const struct heap *heap, const char *stage)
{
    if (heap->progress)
        heap->progress(heap->progress_context, stage);
}

static enum psc_status find_all(struct heap *heap)
{
    tell(heap, "memory");
    heap->allocator = find_allocator(heap->target);
    enum psc_status status = heap_ranges_find(heap);
    if (status == PSC_OK)
        status = heap_blocks_find(heap);
    heap_release_all(heap);
    tell(heap, "types");
    if (status == PSC_OK)
        status = heap_types_find(heap);
    if (status != PSC_OK)
        return status;
    heap_release_all(heap);
    heap_types_set_kinds(heap);
    tell(heap, "objects");
    status = heap_objects_find(heap);
    if (status == PSC_OK && !heap_objects_add_types(heap))
        status = PSC_ERR_MEMORY;
    heap_release_all(heap);
    tell(heap, "references");
    if (status == PSC_OK)
        status = heap_references_find(heap);
    if (status != PSC_OK)
        return status;
    warn_of_gaps(heap);
    heap_release_all(heap);
    sum_types(heap);
    heap_release_all(heap);
    return heap_parts_find(heap) ? heap_types_name(heap) : PSC_ERR_MEMORY;
}

/* Why there is no object, as far as it is known. */
static enum psc_status fail_to_find(struct target *target, const char *allocator,
                                    size_t shared_count, struct psc_error *err)
{
    char chosen[VARIABLE_SIZE];
    const enum psc_status status = PSC_ERR_NOT_FOUND;
    if (target->is_slim)
        return psc_fail(err, status, "no objects were found in it: " LEFT_OUT);
    if (shared_count)
        return psc_fail(err, status, "no objects were found in it: " HEAP_SHARED_TEXT,
                        shared_count);
    if (allocator)
        return psc_fail(err, status,
                        "no objects were found in it: malloc() is %s's, whose memory is not read, "
                        "and CPython's own allocator has none",
                        allocator);
    if (find_chosen(target, chosen) && !strcmp(chosen + strlen(VARIABLE), "mimalloc"))
        return psc_fail(err, status,
                        "no objects were found in it: they lie in mimalloc's pages (%s), which are "
                        "not read",
                        chosen);
    return psc_fail(err, status,
                    "no objects were found in it: the memory of the heap is not there, as in a "
                    "core file that was written without it, or the file of the interpreter is not "
                    "here: name it as EXECUTABLE, or where it is by --lib-dir");
}

enum psc_status heap_open(struct target *target, struct modules *modules, struct python *python,
                          struct arena *arena, const struct heap_options *options,
                          struct heap **ret, struct psc_error *err)
{
    struct python_heap_layout layout;
    enum psc_status status = python_get_heap_layout(python, &layout, err);
    if (status != PSC_OK)
        return status;
    struct heap *heap = calloc(1, sizeof(*heap));
    if (!heap)
        return psc_fail_memory(err);
    heap->target = target;
    heap->modules = modules;
    heap->python = python;
    heap->arena = arena;
    heap->layout = layout;
    if (options) {
        heap->progress = options->progress;
        heap->progress_context = options->progress_context;
    }
    status = find_all(heap);
    if (status == PSC_OK && !heap->in_blocks)
        status = PSC_ERR_NOT_FOUND;
    if (status == PSC_OK) {
        *ret = heap;
        return PSC_OK;
    }
    const char *allocator = heap->allocator;
    const size_t shared_count = heap->shared_count;
    heap_close(heap);
    if (status == PSC_ERR_NOT_FOUND)
        return fail_to_find(target, allocator, shared_count, err);
    return psc_fail_status(err, status);
}

void heap_close(struct heap *heap)
{
    if (!heap)
        return;
    heap_types_destroy(heap);
    heap_ranges_destroy(heap);
    hash_table_deinit(&heap->statics);
    free(heap->taken);
    free(heap->blocks);
    free(heap->block_kinds);
    free(heap->objects);
    free(heap->edges);
    free(heap->first_edges);
    free(heap->damage);
    free(heap);
}
