/* Function, file and line of a Cython generator that awaits another, for the frame of a helper. */
#include "symbolizer_private.h"

#include <string.h>

/* Without the "<locals>" of a __qualname__, which names of Cython functions do not have here. */
static const char *plain_name(const char *function, struct arena *arena)
{
    static const char mark[] = "<locals>.";
    char *name = arena_strdup(arena, function);
    for (char *at = name; at && (at = strstr(at, mark));)
        memmove(at, at + strlen(mark), strlen(at + strlen(mark)) + 1);
    return name;
}

bool symbolizer_are_one_function(struct symbolizer *symbolizer, const struct address_info *info,
                                 psc_addr address)
{
    return cython_cache_is_same_function(symbolizer->cython, info->module, info->pc, address);
}

/* Kept with the function: recursion leaves many of its generators at one address. */
static psc_addr find_suspension(struct symbolizer *symbolizer,
                                const struct python_awaiting *generator, struct address_info *body)
{
    struct module *module = body->module;
    if (body->suspended_label != generator->label) {
        body->suspended_label = generator->label;
        body->suspended_at =
            module && cython_cache_has_code(symbolizer->cython, module)
                ? cython_cache_find_suspension(symbolizer->cython, module, generator->body,
                                               generator->label, generator->label_offset)
                : 0;
    }
    return body->suspended_at;
}

enum psc_status symbolizer_get_awaiting(struct symbolizer *symbolizer,
                                        const struct python_awaiting *generator,
                                        const struct address_info *helper,
                                        struct awaiting_generator **ret)
{
    struct awaiting_generator *awaiting = arena_alloc(symbolizer->trace->arena, sizeof(*awaiting));
    struct address_info *body = symbolizer_get(symbolizer, generator->body);
    if (!awaiting || !body)
        return PSC_ERR_MEMORY;
    psc_addr pc = find_suspension(symbolizer, generator, body);
    awaiting->helper = helper;
    awaiting->stands = pc != 0;
    awaiting->function = plain_name(generator->function, symbolizer->trace->arena);
    awaiting->info = pc ? symbolizer_get(symbolizer, pc) : body;
    if (!awaiting->info || !awaiting->function)
        return PSC_ERR_MEMORY;
    awaiting->info->wanted = true;
    *ret = awaiting;
    return PSC_OK;
}

const struct trace_location *symbolizer_awaiting(struct symbolizer *symbolizer,
                                                 const struct awaiting_generator *awaiting)
{
    const struct address_info *info = awaiting->info;
    const struct trace_location *known = info->levels[info->level_count - 1].location;
    const struct trace_location *helper =
        awaiting->helper->levels[awaiting->helper->level_count - 1].location;
    struct trace_location *location = arena_alloc(symbolizer->trace->arena, sizeof(*location));
    if (!location)
        return NULL;
    bool same = known->kind == TRACE_CYTHON && known->function &&
                !strcmp(last_part_of(known->function), last_part_of(awaiting->function));
    *location = *helper;
    location->kind = TRACE_CYTHON;
    location->language = "Cython";
    /* Without symbols a generator's body may be known by its bare name only. */
    location->function =
        same && strchr(known->function, '.') ? known->function : awaiting->function;
    location->name = last_part_of(location->function);
    location->file = same ? known->file : NULL;
    location->line = 0;
    location->line_source = TRACE_LINE_NONE;
    location->source = NULL;
    if (same && awaiting->stands) {
        location->line = known->line;
        location->line_source = known->line_source;
        location->source = known->source;
    }
    return location;
}
