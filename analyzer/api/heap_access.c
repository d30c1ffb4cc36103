/* The public calls for what is in a heap. */
#include "api.h"
#include "heap_report.h"
#include "python.h"
#include "sized_struct.h"

#include <stdlib.h>
#include <string.h>

struct psc_heap {
    struct psc_target *target;
    struct arena *arena;
    struct python *python;
    struct heap_view view;
};

/* PyPy's objects have another layout, move, and lie in memory of its own. */
static bool has_pypy(const struct target *target)
{
    for (size_t i = 0; i < target->file_count; i++) {
        const char *slash = strrchr(target->files[i]->path, '/');
        const char *name = slash ? slash + 1 : target->files[i]->path;
        if (!strncmp(name, "libpypy", strlen("libpypy")))
            return true;
    }
    return false;
}

static enum psc_status open_heap(struct psc_heap *heap, const struct psc_heap_options *options,
                                 struct psc_error *err)
{
    struct target *target = heap->target->target;
    const struct heap_options given = {.progress = options->progress,
                                       .progress_context = options->progress_context};
    if (target->kind == TARGET_PROCESS)
        return psc_fail(err, PSC_ERR_UNSUPPORTED,
                        "process %d runs on: all of its objects can be read of a core file of it, "
                        "or while a debugger holds it",
                        target->process.pid);
    heap->arena = arena_create();
    if (!heap->arena)
        return psc_fail_memory(err);
    enum psc_status status =
        python_open(target, heap->target->modules, heap->arena, &heap->python, err);
    if (status == PSC_ERR_NOT_FOUND && has_pypy(target))
        return end_call(target,
                        psc_fail(err, PSC_ERR_UNSUPPORTED,
                                 "the objects of PyPy are not read: CPython 3.8 to 3.15 are"),
                        err);
    if (status == PSC_OK)
        status = heap_open(target, heap->target->modules, heap->python, heap->arena, &given,
                           &heap->view.heap, err);
    return end_call(target, status, err);
}

enum psc_status psc_heap_open(struct psc_target *target, const struct psc_heap_options *given,
                              struct psc_heap **ret, struct psc_error *err)
{
    struct psc_heap_options options = PSC_HEAP_OPTIONS_INIT;
    if (!target || !ret)
        return psc_fail(err, PSC_ERR_ARGUMENT, "psc_heap_open: target or ret is NULL");
    enum psc_status status =
        sized_take(SIZED_TYPE(psc_heap_options, PSC_HEAP_OPTIONS_INIT), given, &options, err);
    struct psc_heap *heap = status == PSC_OK ? calloc(1, sizeof(*heap)) : NULL;
    if (status == PSC_OK && !heap)
        return psc_fail_memory(err);
    if (status != PSC_OK)
        return status;
    heap->target = target;
    status = open_heap(heap, &options, err);
    if (status == PSC_OK)
        *ret = heap;
    else
        psc_heap_close(heap);
    return status;
}

void psc_heap_close(struct psc_heap *heap)
{
    if (!heap)
        return;
    heap_view_deinit(&heap->view);
    python_close(heap->python);
    arena_destroy(heap->arena);
    free(heap);
}

enum psc_status psc_heap_print(struct psc_heap *heap, const struct psc_heap_print_options *given,
                               psc_write_fn write, void *context, size_t *ret_findings,
                               struct psc_error *err)
{
    struct psc_heap_print_options options = PSC_HEAP_PRINT_OPTIONS_INIT;
    if (!heap || !write)
        return psc_fail(err, PSC_ERR_ARGUMENT, "psc_heap_print: heap or write is NULL");
    enum psc_status status = sized_take(
        SIZED_TYPE(psc_heap_print_options, PSC_HEAP_PRINT_OPTIONS_INIT), given, &options, err);
    if (status != PSC_OK)
        return status;
    status = heap_report_print(&heap->view, &options, options.older ? &options.older->view : NULL,
                               &(struct heap_output){write, context}, ret_findings, err);
    return end_call(heap->target->target, status, err);
}

int psc_heap_is_complete(const struct psc_heap *heap)
{
    return heap && !heap->target->target->warnings.count;
}

size_t psc_heap_warning_count(const struct psc_heap *heap)
{
    return heap ? heap->target->target->warnings.count : 0;
}

const char *psc_heap_warning(const struct psc_heap *heap, size_t index)
{
    const struct warnings *warnings = heap ? &heap->target->target->warnings : NULL;
    return warnings && index < warnings->count ? warnings->items[index].message : NULL;
}
