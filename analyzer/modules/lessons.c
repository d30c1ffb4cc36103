/* What was read of the files of modules, as bytes for the one who keeps it. */
#include "modules_private.h"

enum lesson_flag { LESSON_SEPARATE = 1, LESSON_SYMBOLS = 2, LESSON_NAMES = 4, LESSON_CODE = 8 };

/* ---- writing ---- */

static void add_number(struct text *text, uint32_t number)
{
    text_add(text, (const char *)&number, sizeof(number));
}

static void add_addresses(struct text *text, const struct asked_addresses *asked)
{
    if (asked->count)
        text_add(text, (const char *)asked->items, asked->count * sizeof(*asked->items));
}

static bool is_worth_it(const struct module *module)
{
    const struct module_asked *asked = module->asked;
    const struct target_file *file = module->file;
    return asked && file && file->state == TARGET_FILE_FOUND && file->build_id.size &&
           strlen(file->path) <= MODULE_LESSON_PATH_LIMIT &&
           (asked->opened || asked->separate || asked->symbols || asked->names ||
            asked->lines.count || asked->inlines.count || asked->followed || asked->sources.size);
}

void modules_write_lessons(const struct modules *modules, struct text *ret)
{
    for (size_t i = 0; i < modules->count; i++) {
        const struct module *module = modules->items[i];
        if (!is_worth_it(module))
            continue;
        const struct module_asked *asked = module->asked;
        const struct target_file *file = module->file;
        add_number(ret, (uint32_t)strlen(file->path));
        add_number(ret, (uint32_t)file->build_id.size);
        add_number(
            ret, (asked->separate ? LESSON_SEPARATE : 0u) | (asked->symbols ? LESSON_SYMBOLS : 0u) |
                     (asked->names ? LESSON_NAMES : 0u) | (asked->followed ? LESSON_CODE : 0u));
        add_number(ret, (uint32_t)asked->lines.count);
        add_number(ret, (uint32_t)asked->inlines.count);
        add_number(ret, (uint32_t)asked->codes.count);
        add_number(ret, (uint32_t)asked->sources.size);
        text_add_string(ret, file->path);
        text_add(ret, (const char *)file->build_id.bytes, file->build_id.size);
        add_addresses(ret, &asked->lines);
        add_addresses(ret, &asked->inlines);
        add_addresses(ret, &asked->codes);
        if (asked->sources.size)
            text_add(ret, asked->sources.data, asked->sources.size);
    }
}

void module_note_code(struct module *module, uint64_t file_address)
{
    if (!module->asked)
        return;
    module->asked->followed = true;
    if (file_address)
        asked_add(&module->asked->codes, file_address);
}

void module_note_source(struct module *module, const char *c_file, const char *pyx_file)
{
    struct text *sources = module->asked ? &module->asked->sources : NULL;
    const size_t c_size = strlen(c_file) + 1, pyx_size = strlen(pyx_file) + 1;
    if (!sources || c_size > MODULE_SOURCES_LIMIT || pyx_size > MODULE_SOURCES_LIMIT - c_size ||
        sources->size > MODULE_SOURCES_LIMIT - c_size - pyx_size)
        return;
    text_add(sources, c_file, c_size);
    text_add(sources, pyx_file, pyx_size);
    if (sources->failed)
        text_clear(sources);
}

/* ---- reading ---- */

/** Pairs of text: an even number of zeros, and the last byte is one. */
static void check_sources(struct byte_cursor *bytes, const struct module_lesson *lesson)
{
    size_t zeros = 0;
    for (size_t i = 0; i < lesson->source_size; i++)
        zeros += !lesson->sources[i];
    if (zeros % 2 || (lesson->source_size && lesson->sources[lesson->source_size - 1]))
        cursor_fail(bytes);
}

static const uint8_t *take_addresses(struct byte_cursor *bytes, size_t count)
{
    if (count > MODULE_ASKED_LIMIT)
        cursor_fail(bytes);
    return cursor_take(bytes, count * sizeof(uint64_t));
}

bool parse_module_lesson(struct byte_cursor *bytes, struct module_lesson *ret)
{
    if (!cursor_left(bytes))
        return false;
    *ret = (struct module_lesson){.path_size = cursor_u32(bytes)};
    const size_t id_size = cursor_u32(bytes);
    const uint32_t flags = cursor_u32(bytes);
    ret->line_count = cursor_u32(bytes);
    ret->inline_count = cursor_u32(bytes);
    ret->code_count = cursor_u32(bytes);
    ret->source_size = cursor_u32(bytes);
    if (!ret->path_size || ret->path_size > MODULE_LESSON_PATH_LIMIT || !id_size ||
        id_size > TARGET_BUILD_ID_MAX || ret->source_size > MODULE_SOURCES_LIMIT)
        cursor_fail(bytes);
    ret->path = (const char *)cursor_take(bytes, ret->path_size);
    const uint8_t *id = cursor_take(bytes, id_size);
    ret->lines = take_addresses(bytes, ret->line_count);
    ret->inlines = take_addresses(bytes, ret->inline_count);
    ret->codes = take_addresses(bytes, ret->code_count);
    ret->sources = (const char *)cursor_take(bytes, ret->source_size);
    if (!bytes->failed)
        check_sources(bytes, ret);
    if (bytes->failed || ret->path[0] != '/' || memchr(ret->path, '\0', ret->path_size)) {
        cursor_fail(bytes);
        return false;
    }
    memcpy(ret->build_id.bytes, id, id_size);
    ret->build_id.size = id_size;
    ret->separate = flags & LESSON_SEPARATE;
    ret->symbols = flags & LESSON_SYMBOLS;
    ret->names = flags & LESSON_NAMES;
    ret->code = flags & LESSON_CODE;
    return true;
}
