/* Threads and their frames as holders. */
#include "holders_private.h"

#include <stdlib.h>

#define FRAMES_OF_THREAD 20000u /* That become holders: the innermost ones. */

static const struct target_thread *find_native(const struct heap *heap,
                                               const struct python_thread *thread)
{
    const struct target *target = heap->target;
    for (size_t i = 0; i < target->thread_count; i++)
        if (thread->thread_id && target->threads[i].thread_pointer == thread->thread_id)
            return &target->threads[i];
    for (size_t i = 0; i < target->thread_count; i++)
        if (thread->native_id && (uint64_t)target->threads[i].tid == thread->native_id)
            return &target->threads[i];
    return NULL;
}

static uint32_t untagged_object(struct heap *heap, psc_addr address)
{
    return address & 7 ? HEAP_NONE : heap_find_object(heap, address);
}

static void take_frame(struct outside *outside, const struct python_frame *frame,
                       uint32_t thread_node, int32_t tid)
{
    struct heap *heap = outside->holders->heap;
    struct python_location location = {0};
    PSC_CLEANUP(python_frame_objects_deinit) struct python_frame_objects objects = {0};
    if (frame->kind != PYTHON_FRAME_CODE)
        return;
    if (python_read_location(heap->python, frame, &location) != PSC_OK)
        location = (struct python_location){0};
    const uint32_t node = outside_add_holder(
        outside, (struct holder){.kind = HOLDER_FRAME,
                                 .tid = tid,
                                 .function = location.function,
                                 .file = location.file,
                                 .line = location.line,
                                 .frame = *frame,
                                 .object = heap_find_object(heap, frame->address),
                                 .thread = thread_node});
    if (node == HOLDERS_NO_NODE)
        return;
    // Up to 3.10 a frame is an object, whose references are known.
    const uint32_t own = outside->holders->items[node - heap->object_count].object;
    if (own != HEAP_NONE) {
        outside_add_edge(outside, node, own);
        return;
    }
    if (python_list_frame_objects(heap->python, frame, &objects) != PSC_OK)
        return;
    for (size_t i = 0; i < objects.count; i++) {
        const uint32_t object = untagged_object(heap, objects.items[i].object);
        // A generator's frame lies in the generator, which may have been asked already.
        if (object != HEAP_NONE && (!frame->generator || outside->holders->missing[object]))
            outside_add_edge(outside, node, object);
    }
    if (objects.end > frame->address)
        outside_add_extent(outside, frame->address, objects.end, node);
}

static void take_thread(struct outside *outside, const struct python_thread *thread)
{
    struct heap *heap = outside->holders->heap;
    const struct target_thread *native = find_native(heap, thread);
    struct python_stack stack = {.interpreter_id = thread->interpreter_id};
    const int32_t tid = native ? native->tid : (int32_t)thread->native_id;
    const uint32_t node = outside_add_holder(
        outside, (struct holder){.kind = HOLDER_THREAD, .tid = tid, .object = HEAP_NONE});
    if (node == HOLDERS_NO_NODE)
        return;
    outside->holders->items[node - heap->object_count].function = thread->name;
    if (python_walk(heap->python, thread, &stack) == PSC_OK)
        for (size_t i = 0; i < stack.count && i < FRAMES_OF_THREAD; i++)
            take_frame(outside, &stack.frames[i], node, tid);
    python_stack_deinit(&stack);
}

static void take_native_stack(struct outside *outside, const struct target_thread *thread)
{
    const struct target *target = outside->holders->heap->target;
    if (thread->unreadable)
        return;
    const psc_addr sp = target_sp(target, &thread->registers);
    const psc_addr end = target_find_stack_end(target, sp, thread->thread_pointer);
    if (!sp || end == UINT64_MAX || end <= sp)
        return;
    const uint32_t node = outside_add_holder(
        outside, (struct holder){.kind = HOLDER_STACK, .tid = thread->tid, .object = HEAP_NONE});
    if (node != HOLDERS_NO_NODE)
        outside_add_extent(outside, sp, end, node);
}

void outside_take_threads(struct outside *outside)
{
    struct heap *heap = outside->holders->heap;
    struct python_thread_list list = {0};
    if (python_list_threads(heap->python, &list, NULL) == PSC_OK)
        for (size_t i = 0; i < list.count; i++)
            take_thread(outside, &list.items[i]);
    for (size_t i = 0; i < heap->target->thread_count; i++)
        take_native_stack(outside, &heap->target->threads[i]);
}
