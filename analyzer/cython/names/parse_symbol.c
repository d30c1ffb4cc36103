/* What a symbol names: which kind it is of, and who is asked what it leaves open. */
#include "names_private.h"

/* Questions to the context about one symbol; a module has some ten thousand symbols. */
#define QUESTION_LIMIT 100000

static const struct {
    const char *prefix;
    enum cython_kind kind;
    enum cython_numbering numbering;
} function_kinds[] = {
    {"__pyx_pw_", CYTHON_WRAPPER, CYTHON_NUMBERED_WRAPPER},
    {"__pyx_pf_", CYTHON_BODY, CYTHON_NUMBERED_BODY},
    {"__pyx_f_", CYTHON_C_FUNCTION, CYTHON_UNNUMBERED},
    {"__pyx_gb_", CYTHON_GENERATOR, CYTHON_NUMBERED_GENERATOR},
};

static bool name_function(struct naming *naming, struct slice text)
{
    struct slice inner = text;
    if (cython_view_class_skip(&inner) &&
        (slice_starts(inner, "__pyx_pf_") || slice_starts(inner, "__pyx_pw_")))
        text = inner;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(function_kinds); i++) {
        struct slice rest = text;
        struct cython_path path;
        if (!slice_skip(&rest, function_kinds[i].prefix) || !rest.size)
            continue;
        if (naming_set_view_function(naming, rest, function_kinds[i].kind))
            return true;
        parse_cython_path(rest, function_kinds[i].numbering, naming->context, &path);
        naming->name->kind = function_kinds[i].kind;
        if (function_kinds[i].kind == CYTHON_GENERATOR)
            naming_set_generator(naming, &path);
        else
            naming_set_function(naming, &path, NULL);
        return true;
    }
    return false;
}

static bool name_symbol(struct naming *naming)
{
    struct slice text = naming->symbol.name;
    if (naming_set_module(naming, text))
        return true;
    bool special = slice_skip(&text, "__pyx_specialmethod_");
    struct slice lambda = text;
    if (slice_skip(&lambda, "__pyx_lambda_funcdef_") && lambda.size) {
        naming_set_lambda(naming, lambda);
    } else if (!name_function(naming, text) && !naming_set_slot(naming, text) &&
               !naming_set_view_function(naming, text, CYTHON_NONE)) {
        if (!slice_starts(text, "__pyx_") && !slice_starts(text, "__Pyx_"))
            return false;
        naming->name->kind = CYTHON_PLUMBING;
        naming->name->function = naming_copy(naming, text);
    }
    if (special)
        naming->name->kind = CYTHON_PLUMBING;
    return true;
}

/** A context that stops answering after so many questions. */
struct patience {
    const struct cython_context *context;
    struct cython_context *asked; /**< This one, as the parser has it. */
    size_t left;
};

static bool may_ask(struct patience *patience)
{
    uint64_t *all = patience->context->questions_left;
    if (!patience->left || (all && !*all)) {
        patience->asked->has_symbol = NULL;
        patience->asked->find_symbol = NULL;
        return false;
    }
    patience->left--;
    if (all)
        --*all;
    return true;
}

static bool patient_has(void *context, const char *name)
{
    struct patience *patience = context;
    return may_ask(patience) && patience->context->has_symbol(patience->context->context, name);
}

static const char *patient_find(void *context, const char *prefix, size_t index)
{
    struct patience *patience = context;
    return may_ask(patience) ? cython_context_find(patience->context, prefix, index) : NULL;
}

bool cython_parse_symbol(const char *symbol, const struct cython_context *context,
                         struct arena *arena, struct cython_name *ret)
{
    struct text buffer = {0};
    struct patience patience = {.context = context, .left = QUESTION_LIMIT};
    struct cython_context asked = {
        .has_symbol = context && context->has_symbol ? patient_has : NULL,
        .find_symbol = context && context->find_symbol ? patient_find : NULL,
        .context = &patience,
        .complete = context && context->complete,
        .module_name = context ? context->module_name : NULL,
    };
    patience.asked = &asked;
    struct naming naming = {.context = &asked, .arena = arena, .name = ret};
    *ret = (struct cython_name){.number = -1};
    bool named = naming_set_cpp_method(&naming, symbol) ||
                 (parse_cython_symbol(symbol, &buffer, &naming.symbol) && name_symbol(&naming));
    if (named) {
        ret->parallel = naming.symbol.parallel;
        if (naming.symbol.specialization.size)
            ret->specialization = naming_copy(&naming, naming.symbol.specialization);
        named = ret->function != NULL;
    }
    text_deinit(&buffer);
    /* What was not asked may have another answer. */
    if (context && context->questions_left && !*context->questions_left)
        named = false;
    if (!named)
        *ret = (struct cython_name){.number = -1};
    return named;
}
