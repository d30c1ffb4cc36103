/* The machine code of a module, followed for one target and kept for those to come. */
#include "cython_private.h"

#include <stdlib.h>

/** Addresses of one module whose answers are kept. */
#define ANSWER_LIMIT 4096

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
};

static void destroy_code(struct kept_code *code)
{
    if (!code)
        return;
    reports_destroy(code->reports);
    arena_destroy(code->arena);
    hash_table_deinit(&code->answers);
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
    const bool first = !module->code;
    struct kept_code *code = cython_code_of(module);
    struct cython_module known = {.module = module};
    if (!code || !code->reports)
        return;
    if (first)
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
