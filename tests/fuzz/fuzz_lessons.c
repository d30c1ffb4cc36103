/* What a child tells of the files it has read: the input is such bytes. */
#include "modules.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_inside(const uint8_t *data, size_t size, const void *part, size_t part_size)
{
    const uint8_t *begin = part;
    if (begin < data || begin > data + size || part_size > (size_t)(data + size - begin))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct byte_cursor bytes = cursor_over(data, size);
    struct module_lesson lesson;
    while (parse_module_lesson(&bytes, &lesson)) {
        check_inside(data, size, lesson.path, lesson.path_size);
        check_inside(data, size, lesson.lines, lesson.line_count * sizeof(uint64_t));
        check_inside(data, size, lesson.inlines, lesson.inline_count * sizeof(uint64_t));
        check_inside(data, size, lesson.codes, lesson.code_count * sizeof(uint64_t));
        check_inside(data, size, lesson.sources, lesson.source_size);
        if (lesson.source_size && lesson.sources[lesson.source_size - 1])
            abort();
        if (!lesson.path_size || lesson.path_size > MODULE_LESSON_PATH_LIMIT ||
            !lesson.build_id.size || lesson.build_id.size > TARGET_BUILD_ID_MAX)
            abort();
    }
    if (cursor_left(&bytes))
        abort();
    return 0;
}
