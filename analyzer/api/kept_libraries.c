/* What is kept of libraries for many targets. */
#include "api.h"
#include "cython.h"

#include <stdlib.h>

enum psc_status psc_kept_create(const struct psc_open_options *options, struct psc_kept **ret,
                                struct psc_error *err)
{
    struct target_options target_options;
    if (!ret)
        return psc_fail(err, PSC_ERR_ARGUMENT, "psc_kept_create: ret is NULL");
    enum psc_status status = take_open_options(options, &target_options, err);
    if (status != PSC_OK)
        return status;
    struct psc_kept *kept = calloc(1, sizeof(*kept));
    if (kept)
        kept->modules = kept_modules_create(&target_options);
    if (!kept || !kept->modules) {
        free(kept);
        return psc_fail_memory(err);
    }
    *ret = kept;
    return PSC_OK;
}

void psc_kept_destroy(struct psc_kept *kept)
{
    if (!kept)
        return;
    kept_modules_destroy(kept->modules);
    free(kept);
}

enum psc_status psc_kept_learn(struct psc_kept *kept, const void *bytes, size_t size,
                               struct psc_error *err)
{
    struct module_lesson lesson;
    if (!kept || (!bytes && size))
        return psc_fail(err, PSC_ERR_ARGUMENT, "psc_kept_learn: kept or bytes is NULL");
    struct byte_cursor cursor = cursor_over(bytes, size);
    while (parse_module_lesson(&cursor, &lesson)) {
        struct module *module = kept_modules_learn(kept->modules, &lesson);
        if (module && lesson.code)
            cython_learn_code(module, lesson.codes, lesson.code_count);
        if (module && lesson.source_size)
            cython_learn_sources(module, lesson.sources, lesson.source_size);
    }
    return cursor.failed ? psc_fail(err, PSC_ERR_FORMAT, "psc_kept_learn: the bytes are damaged")
                         : PSC_OK;
}

enum psc_status psc_target_lessons(const struct psc_target *target, psc_write_fn write,
                                   void *context, struct psc_error *err)
{
    struct text text = {0};
    enum psc_status status = PSC_OK;
    if (!target || !write)
        return psc_fail(err, PSC_ERR_ARGUMENT, "psc_target_lessons: target or write is NULL");
    modules_write_lessons(target->modules, &text);
    if (text.failed)
        status = psc_fail_memory(err);
    else if (text.size && write(context, text.data, text.size))
        status = psc_fail(err, PSC_ERR_IO, "psc_target_lessons: they cannot be written");
    text_deinit(&text);
    return status;
}
