/* The machine code of a module, followed for one target and kept for those to come. */
#include "cython_private.h"

#include <stdlib.h>

/** Addresses of one module whose answers are kept. */
#define ANSWER_LIMIT 4096
/** Sources of one module that are looked for, and files of generated C whose lines are kept. */
#define SOURCE_LIMIT    1024
#define GENERATED_LIMIT 16

/** What was answered at one address. */
struct known_answer {
    uint64_t address;
    size_t first; /**< In the list of all functions. */
    size_t count;
    bool helper; /**< cython_is_own_code(); where there is no function. */
};

struct kept_code {
    struct reports *reports; /**< NULL: not made by Cython. */
    struct arena *arena;     /**< Of the names of functions. */
    struct hash_table answers;
    struct cython_code *functions;
    size_t count;
    size_t capacity;
    struct hash_table sources;
    struct generated_lines generated[GENERATED_LIMIT];
    size_t generated_count;
};

static void destroy_code(struct kept_code *code)
{
    if (!code)
        return;
    reports_destroy(code->reports);
    arena_destroy(code->arena);
    hash_table_deinit(&code->answers);
    hash_table_deinit(&code->sources);
    for (size_t i = 0; i < code->generated_count; i++)
        cython_lines_destroy(code->generated[i].lines);
    free(code->functions);
    free(code);
}

struct kept_code *cython_code_of(struct module *module)
{
    module_open(module);
    if (module->code) {
        /* What was spent on it before is not this target's. */
        if (module->code->reports)
            reports_get_flow(module->code->reports)->steps = 0;
        return module->code;
    }
    struct kept_code *code = calloc(1, sizeof(*code));
    if (!code)
        return NULL;
    code->answers = HASH_TABLE_OF(struct known_answer);
    cython_sources_init(&code->sources);
    if (module->image)
        code->reports = reports_create(module->image, module->image_size);
    module_note_code(module, 0);
    module->code = code;
    module->destroy_code = destroy_code;
    return code;
}

struct reports *kept_code_reports(const struct kept_code *code)
{
    return code->reports;
}

bool kept_code_find(const struct kept_code *code, uint64_t address, struct arena *arena,
                    struct cython_code *ret, size_t limit, size_t *ret_count)
{
    const struct known_answer *answer = hash_table_find(&code->answers, address);
    if (!answer || answer->count > limit)
        return false;
    for (size_t i = 0; i < answer->count; i++) {
        ret[i] = code->functions[answer->first + i];
        ret[i].function = ret[i].function ? arena_strdup(arena, ret[i].function) : NULL;
    }
    *ret_count = answer->count;
    return true;
}

bool kept_code_find_helper(const struct kept_code *code, uint64_t address, bool *ret)
{
    const struct known_answer *answer = hash_table_find(&code->answers, address);
    if (!answer || answer->count)
        return false;
    *ret = answer->helper;
    return true;
}

/** What was not found may yet be fetched. */
static bool may_fetch(const struct module *module)
{
    return modules_target(module->owner)->options.fetch_file;
}

const struct generated_lines *kept_code_find_lines(const struct kept_code *code,
                                                   const struct module *module, const char *c_file)
{
    for (size_t i = 0; i < code->generated_count; i++) {
        const struct generated_lines *found = &code->generated[i];
        if (strcmp(found->c_file, c_file) == 0)
            return found->lines || !may_fetch(module) ? found : NULL;
    }
    return NULL;
}

const struct cython_place *kept_code_find_source(const struct cython_source *source)
{
    const struct kept_code *code = source->module->code;
    const struct cython_place *place =
        code ? cython_sources_find_certain(&code->sources, source) : NULL;
    return place && (place->local || !may_fetch(source->module)) ? place : NULL;
}

/* ---- learning ---- */

/** Answers one question; false: out of memory. */
static bool learn(struct kept_code *code, const char *module_name, uint64_t address)
{
    const struct code_question question = {code->reports, module_name, code->arena};
    if (code->answers.count >= ANSWER_LIMIT || hash_table_find(&code->answers, address))
        return true;
    if (!array_reserve((void **)&code->functions, &code->capacity, code->count + CYTHON_CODE_LIMIT,
                       sizeof(*code->functions)))
        return false;
    size_t count =
        cython_functions_at(&question, address, code->functions + code->count, CYTHON_CODE_LIMIT);
    bool helper = !count && cython_is_own_code(reports_get_flow(code->reports), address);
    struct known_answer *answer =
        arena_is_exhausted(code->arena) ? NULL : hash_table_add(&code->answers, address);
    if (!answer)
        return false;
    answer->first = code->count;
    answer->count = count;
    answer->helper = helper;
    code->count += count;
    return true;
}

void cython_learn_code(struct module *module, const uint8_t *addresses, size_t count)
{
    struct kept_code *code = cython_code_of(module);
    struct cython_module known = {.module = module};
    if (!code || !code->reports)
        return;
    if (!code->arena)
        code->arena = arena_create();
    const char *name = code->arena ? cython_module_get_name(&known, code->arena) : NULL;
    bool good = code->arena;
    for (size_t i = 0; good && i < count; i++)
        good = learn(code, name, load_u64(addresses + i * sizeof(uint64_t)));
    cython_module_deinit(&known);
    /* Answers that were cut short are not those that a target alone would have. */
    if (good && flow_spend_steps(reports_get_flow(code->reports), 0))
        return;
    destroy_code(code);
    module->code = NULL;
}

static void learn_lines(struct module *module, const char *c_file)
{
    struct kept_code *code = module->code;
    struct generated_lines found = {.c_file = arena_strdup(code->arena, c_file)};
    struct cython_module known = {.module = module, .code = code};
    const struct target *target = modules_target(module->owner);
    const size_t refused = target->refused;
    if (code->generated_count == GENERATED_LIMIT || kept_code_find_lines(code, module, c_file))
        return;
    if (found.c_file)
        cython_generated_lines_find(&known, code->reports, code->arena, &found);
    cython_module_deinit(&known);
    if (found.c_file && !arena_is_exhausted(code->arena) && target->refused == refused)
        code->generated[code->generated_count++] = found;
    else
        cython_lines_destroy(found.lines);
}

void cython_learn_sources(struct module *module, const char *names, size_t size)
{
    struct kept_code *code = cython_code_of(module);
    if (code && !code->arena)
        code->arena = arena_create();
    if (!code || !code->arena)
        return;
    for (const char *end = names + size; names < end;) {
        const char *c_file = names, *pyx_file = c_file + strlen(c_file) + 1;
        struct cython_source source = {module, *c_file ? c_file : NULL, pyx_file};
        names = pyx_file + strlen(pyx_file) + 1;
        if (!*pyx_file)
            learn_lines(module, c_file);
        else if (code->sources.count < SOURCE_LIMIT &&
                 !cython_sources_find(&code->sources, &source))
            (void)cython_sources_add(&code->sources, &source, NULL, code->arena);
    }
}
