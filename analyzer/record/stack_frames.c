/* Frames of a trace as frames and stacks of a profile. */
#include "record_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct known_frame {
    uint64_t location; /* Its address here. */
    uint32_t frame;
};

struct known_library {
    uint64_t module; /* Its address here. */
    uint32_t library;
};

void frames_init(struct frame_map *map, struct profile *profile, uint32_t process)
{
    *map = (struct frame_map){.profile = profile,
                              .process = process,
                              .frames = HASH_TABLE_OF(struct known_frame),
                              .libraries = HASH_TABLE_OF(struct known_library)};
}

void frames_deinit(struct frame_map *map)
{
    hash_table_deinit(&map->frames);
    hash_table_deinit(&map->libraries);
}

void stack_memory_deinit(struct stack_memory *memory)
{
    free(memory->locations);
    free(memory->stacks);
    *memory = (struct stack_memory){0};
}

void frames_forget(struct frame_map *map)
{
    hash_table_clear(&map->frames);
    hash_table_clear(&map->libraries);
    map->age++;
}

static uint32_t add_library(struct frame_map *map, const struct trace_module *module)
{
    if (!module)
        return 0;
    struct known_library *known = hash_table_find(&map->libraries, (uintptr_t)module);
    if (known)
        return known->library;
    struct profile *profile = map->profile;
    const struct profile_library library = {.path = profile_add_string(profile, module->path),
                                            .build_id =
                                                profile_add_string(profile, module->build_id),
                                            .process = map->process,
                                            .base = module->base,
                                            .size = module->end - module->start};
    known = hash_table_add(&map->libraries, (uintptr_t)module);
    if (known)
        known->library = profile_add_library(profile, &library);
    return known ? known->library : 0;
}

static enum profile_kind kind_of(const struct trace_location *location)
{
    switch (location->kind) {
    case TRACE_PYTHON:
        return PROFILE_PYTHON;
    case TRACE_CYTHON:
        return PROFILE_CYTHON;
    case TRACE_NATIVE:
        return PROFILE_NATIVE;
    case TRACE_GAP:
        break;
    }
    return PROFILE_GAP;
}

/* A function without a name is known by its address alone. */
static uint32_t add_name(struct frame_map *map, const struct trace_location *location)
{
    char name[300];
    if (location->function && *location->function)
        return profile_add_string(map->profile, location->function);
    if (location->symbol && *location->symbol)
        return profile_add_string(map->profile, location->symbol);
    if (location->name && *location->name)
        return profile_add_string(map->profile, location->name);
    if (location->module && location->has_offset)
        snprintf(name, sizeof(name), "%.200s+0x%" PRIx64, location->module->name, location->offset);
    else
        snprintf(name, sizeof(name), "%s", "(unknown)");
    return profile_add_string(map->profile, name);
}

static uint32_t make_frame(struct frame_map *map, const struct trace_location *location)
{
    struct profile *profile = map->profile;
    const struct profile_function function = {.kind = (uint8_t)kind_of(location),
                                              .name = add_name(map, location),
                                              .file = profile_add_string(profile, location->file),
                                              .symbol =
                                                  profile_add_string(profile, location->symbol),
                                              .library = add_library(map, location->module)};
    bool folds = profile->folds_lines;
    const struct profile_frame frame = {.function = profile_add_function(profile, &function),
                                        .line = folds ? 0 : location->line,
                                        .offset =
                                            folds || !location->has_offset ? 0 : location->offset,
                                        .inlined = location->inlined};
    return profile_add_frame(profile, &frame);
}

static uint32_t find_frame(struct frame_map *map, const struct trace_location *location)
{
    struct known_frame *known = hash_table_find(&map->frames, (uintptr_t)location);
    if (known)
        return known->frame;
    uint32_t frame = make_frame(map, location);
    known = frame ? hash_table_add(&map->frames, (uintptr_t)location) : NULL;
    if (known)
        known->frame = frame;
    return frame;
}

enum psc_status frames_add_stack(struct frame_map *map, struct stack_memory *memory,
                                 const struct trace_thread *thread, uint32_t *ret_stack)
{
    size_t shown = 0, known = memory->age == map->age ? memory->count : 0;
    uint32_t stack = 0;
    memory->count = 0;
    memory->age = map->age;
    if (!array_reserve(&memory->locations, &memory->location_capacity, thread->frame_count + 1,
                       sizeof(struct trace_location *)) ||
        !array_reserve(&memory->stacks, &memory->stack_capacity, thread->frame_count + 1,
                       sizeof(*memory->stacks)))
        return PSC_ERR_MEMORY;
    for (size_t i = thread->frame_count; i-- > 0;) {
        const struct trace_frame *frame = &thread->frames[i];
        if (frame->hidden)
            continue;
        if (shown >= known || memory->locations[shown] != frame->location) {
            uint32_t number = find_frame(map, frame->location);
            known = 0;
            stack = number ? profile_add_stack(map->profile, stack, number) : 0;
            if (!stack)
                return PSC_ERR_MEMORY;
            memory->locations[shown] = frame->location;
            memory->stacks[shown] = stack;
        }
        stack = memory->stacks[shown++];
    }
    memory->count = shown;
    *ret_stack = stack;
    return PSC_OK;
}
