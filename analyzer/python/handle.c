#include "frames.h"
#include "runtime.h"

#include <stdlib.h>

/* Each owner of a part of the handle, in the order in which they are made. */
static const struct {
    enum psc_status (*create)(struct python *python);
    void (*forget)(struct python *python);
    void (*destroy)(struct python *python);
} owners[] = {
    {type_flags_create, type_flags_forget, type_flags_destroy},
    {python_types_create, python_types_forget, python_types_destroy},
    {budget_create, budget_renew, budget_destroy},
    {python_codes_create, python_codes_forget, python_codes_destroy},
    {frame_reader_create, frame_reader_forget, frame_reader_destroy},
};

enum psc_status handle_init(struct python *python)
{
    enum psc_status status = PSC_OK;
    python_limit_values(python, &(struct python_value_limits){0});
    for (size_t i = 0; status == PSC_OK && i < PSC_ARRAY_SIZE(owners); i++)
        status = owners[i].create(python);
    return status;
}

/* Forgets what was read of frames, code and types, and gives the whole budget again. */
static void handle_forget(struct python *python)
{
    for (size_t i = 0; i < PSC_ARRAY_SIZE(owners); i++)
        owners[i].forget(python);
}

void handle_deinit(struct python *python)
{
    for (size_t i = PSC_ARRAY_SIZE(owners); i-- > 0;)
        owners[i].destroy(python);
}

enum psc_status python_open(struct target *target, struct modules *modules, struct arena *arena,
                            struct python **ret, struct psc_error *err)
{
    struct psc_error reason = {.status = PSC_ERR_NOT_FOUND,
                               .message = "no Python interpreter was found"};
    struct python *python = calloc(1, sizeof(*python));
    if (!python)
        return psc_fail_memory(err);
    python->target = target;
    python->modules = modules;
    python->arena = arena;
    enum psc_status status = handle_init(python);
    if (status == PSC_OK && !find_runtime(python, &reason))
        status = psc_fail(err, reason.status, "%s", reason.message);
    else
        status = psc_fail_status(err, arena_is_exhausted(arena) ? PSC_ERR_MEMORY : status);
    if (status != PSC_OK) {
        python_close(python);
        return status;
    }
    python_forget(python);
    *ret = python;
    return PSC_OK;
}

static uint32_t limit_of(uint32_t wanted, uint32_t otherwise, uint32_t most)
{
    if (!wanted)
        return otherwise;
    return wanted < most ? wanted : most;
}

void python_limit_values(struct python *python, const struct python_value_limits *limits)
{
    python->limits = (struct python_value_limits){
        .length = limit_of(limits->length, PYTHON_VALUE_LENGTH, PSC_VALUE_LENGTH_MAX),
        .items = limit_of(limits->items, PYTHON_VALUE_ITEMS, PSC_VALUE_ITEMS_MAX),
        .depth = limit_of(limits->depth, PYTHON_VALUE_DEPTH, PSC_VALUE_DEPTH_MAX)};
}

void python_forget(struct python *python)
{
    handle_forget(python);
}

void python_keep_code(struct python *python)
{
    python_forget(python);
    python->keeps_code = true;
}

void python_begin_moment(struct python *python)
{
    python_take_sample(python);
    python_codes_check(python);
}

void python_take_sample(struct python *python)
{
    python->frame_count = 0;
    budget_renew(python);
}

void python_close(struct python *python)
{
    if (!python)
        return;
    handle_deinit(python);
    free(python);
}

const struct python_info *python_get_info(const struct python *python)
{
    return &python->info;
}

enum python_function python_classify_function(const struct python *python, const char *symbol)
{
    return layout_classify_function(python->layout.rules, symbol);
}

bool python_waits_for_gil(const char *called, bool takes)
{
    return called && layout_is_gil_wait(called, takes);
}

bool python_takes_import_lock(const char *symbol)
{
    return layout_is_import_lock(symbol);
}

enum python_join python_get_join(const struct python *python)
{
    return python->layout.rules->join;
}
