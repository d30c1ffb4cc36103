/* What was seen to be wrong. */
#include "heap_memory.h"

void heap_note_damage(struct heap *heap, const struct heap_damage *damage)
{
    if (heap->damage_count >= HEAP_DAMAGE_LIMIT ||
        !array_reserve(&heap->damage, &heap->damage_capacity, heap->damage_count + 1,
                       sizeof(*heap->damage)))
        heap->damage_left_out++;
    else
        heap->damage[heap->damage_count++] = *damage;
}
