#include "layout.h"

#define STRUCT_LIMIT      (UINT64_C(1) << 20)
#define INTERPRETER_LIMIT (UINT64_C(4) << 20)
#define SECTION_WORDS     (PY_ASYNCIO_DEBUG_SIZE / 8)

enum psc_status parse_asyncio_debug(const uint8_t *bytes, size_t size, struct py_asyncio *ret)
{
    /* Of task, interpreter and thread: the word with the struct's size, then its offsets. */
    static const struct {
        uint8_t first, count;
    } groups[] = {{0, 7}, {7, 2}, {9, 4}};
    uint64_t words[SECTION_WORDS];
    if (size < PY_ASYNCIO_DEBUG_SIZE)
        return PSC_ERR_FORMAT;
    for (size_t i = 0; i < SECTION_WORDS; i++)
        words[i] = load_u64(bytes + 8 * i);
    for (size_t group = 0; group < PSC_ARRAY_SIZE(groups); group++) {
        uint64_t whole = words[groups[group].first];
        if (whole < 8 || whole > (group ? INTERPRETER_LIMIT : STRUCT_LIMIT))
            return PSC_ERR_FORMAT;
        for (size_t i = 1; i < groups[group].count; i++)
            if (words[groups[group].first + i] >= whole)
                return PSC_ERR_FORMAT;
    }
    *ret = (struct py_asyncio){
        .task_name = (uint32_t)words[1],
        .task_awaited_by = (uint32_t)words[2],
        .task_coro = (uint32_t)words[5],
        .task_node = (uint32_t)words[6],
        .interpreter_tasks = (uint32_t)words[8],
        .thread_tasks = (uint32_t)words[12],
    };
    const uint32_t pointers[] = {ret->task_name,         ret->task_awaited_by, ret->task_coro,
                                 ret->interpreter_tasks, ret->thread_tasks,    ret->task_node};
    for (size_t i = 0; i < PSC_ARRAY_SIZE(pointers); i++)
        if (!pointers[i] || pointers[i] % 8)
            return PSC_ERR_FORMAT;
    return PSC_OK;
}
