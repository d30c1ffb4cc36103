/* The name of a whole function: from its reports, method tables, and who starts it in parallel. */
#include "names.h"
#include "reports_private.h"

#include <stdlib.h>
#include <string.h>

/** Names that the reports of one function are looked through for. */
#define NAME_LIMIT 32
/** Calls of a function that are asked for their reports, when its reports have several names. */
#define VOTE_LIMIT 12
/** Bytes of a function that are swept. */
#define SWEEP_LIMIT ((uint64_t)64 << 10)
/** What looking through a function for a call counts as, in instructions that are followed. */
#define CALLS_STEPS 16

/* ---- one function ---- */

struct sweep {
    struct error_report names[NAME_LIMIT]; /**< Distinct by name. */
    size_t name_count;
    uint64_t returns[VOTE_LIMIT]; /**< Behind calls, spread over the function. */
    size_t return_count;
    size_t call_count;
    bool starts_threads; /**< Calls the OpenMP runtime. */
};

static void add_name(struct sweep *sweep, const struct error_report *report)
{
    for (size_t i = 0; i < sweep->name_count; i++)
        if (strcmp(sweep->names[i].name, report->name) == 0)
            return;
    if (sweep->name_count < NAME_LIMIT)
        sweep->names[sweep->name_count++] = *report;
}

static bool sweep_call(void *context, struct flow *flow, const struct flow_state *state,
                       const struct instruction *instruction)
{
    struct sweep *sweep = context;
    struct code_target target = flow_operand_target(flow, &instruction->to);
    const struct traceback_helper *helper = flow_find_traceback_helper(flow, target.address);
    sweep->starts_threads |= flow_begins_parallel(target);
    if (helper) {
        struct error_report report;
        reports_read(flow, helper, state, &report);
        if (report.name)
            add_name(sweep, &report);
    } else if (!flow_is_cleanup(flow, target) && !flow_never_returns(flow, target)) {
        /* The first ones, then ever rarer ones. */
        size_t at = sweep->call_count++;
        bool wanted =
            at < VOTE_LIMIT / 2 || ((at & (at - 1)) == 0 && sweep->return_count < VOTE_LIMIT);
        if (wanted)
            sweep->returns[sweep->return_count++] = instruction->address + instruction->size;
    }
    return true;
}

static void sweep_function(struct flow *flow, const struct code_function *function,
                           struct sweep *ret)
{
    *ret = (struct sweep){0};
    flow_sweep(flow, function, SWEEP_LIMIT, sweep_call, ret);
}

/** What the outermost reports of some of its calls agree on. */
static const struct error_report *vote(struct reports *reports, struct sweep *sweep)
{
    unsigned votes[NAME_LIMIT] = {0};
    size_t best = 0;
    bool tie = true;
    for (size_t i = 0; i < sweep->return_count; i++) {
        struct error_report chain[REPORTS_CHAIN_LIMIT];
        size_t count = reports_find(reports, sweep->returns[i] - 1, chain, REPORTS_CHAIN_LIMIT);
        const struct error_report *last = count ? &chain[count - 1] : NULL;
        for (size_t k = 0; last && last->direct && last->name && k < sweep->name_count; k++)
            votes[k] += strcmp(last->name, sweep->names[k].name) == 0;
    }
    for (size_t k = 0; k < sweep->name_count; k++) {
        if (votes[k] > votes[best] || (k == best && votes[k])) {
            best = k;
            tie = false;
        } else if (k != best && votes[k] == votes[best]) {
            tie = true;
        }
    }
    return tie ? NULL : &sweep->names[best];
}

static bool calls(const struct code_image *image, const struct code_function *from, uint64_t to)
{
    struct code_range code = from ? code_of_function(image, from) : (struct code_range){0};
    struct code_reference reference;
    for (size_t at = 0; code.bytes && image->abi->find_reference(
                                          &code, at, REFERENCE_CALL | REFERENCE_JUMP, &reference);
         at = reference.offset + 1) {
        if (reference.offset >= SWEEP_LIMIT)
            break;
        if (reference.target == to)
            return true;
    }
    return false;
}

/** The method of a name that only parses the arguments of a function; or NULL. */
static const struct table_entry *find_caller(struct reports *reports,
                                             const struct code_function *function, const char *leaf)
{
    const struct table_entry *entries;
    size_t count = reports_entries(reports, &entries);
    for (size_t i = 0; i < count; i++)
        if (entries[i].kind == ENTRY_METHOD && strcmp(entries[i].name, leaf) == 0 &&
            entries[i].function != function->start &&
            flow_spend_steps(&reports->flow, CALLS_STEPS) &&
            calls(&reports->flow.image,
                  code_find_function(&reports->flow.image, entries[i].function), function->start))
            return &entries[i];
    return NULL;
}

/** Whether "pkg.mod.Class.leaf" may be what a table has for a function. */
static bool is_of_entry(const struct table_entry *entry, const char *name)
{
    if (entry->kind == ENTRY_MODULE)
        return strncmp(name, entry->name, strlen(entry->name)) == 0;
    const char *leaf = cython_last_part(name);
    struct slice class = {name, leaf == name ? 0 : (size_t)(leaf - name) - 1};
    if (entry->kind == ENTRY_GETTER || entry->kind == ENTRY_SETTER) {
        size_t size = strlen(entry->name);
        bool accessor = entry->kind == ENTRY_GETTER
                            ? strcmp(leaf, "__get__") == 0
                            : strcmp(leaf, "__set__") == 0 || strcmp(leaf, "__del__") == 0;
        if (!accessor || class.size <= size + 1 || class.data[class.size - size - 1] != '.' ||
            memcmp(class.data + class.size - size, entry->name, size) != 0)
            return false;
        class.size -= size + 1;
    } else if (!(entry->kind == ENTRY_SLOT ? cython_slot_reaches(entry->name, leaf)
                                           : strcmp(entry->name, leaf) == 0)) {
        return false;
    }
    if (!entry->type || !class.size)
        return true;
    const char *type = cython_last_part(entry->type);
    size_t size = strlen(type);
    return class.size >= size && memcmp(class.data + class.size - size, type, size) == 0 &&
           (class.size == size || class.data[class.size - size - 1] == '.');
}

/** The only one of the reported names that an entry may have; or NULL. */
static const struct error_report *choose_for_entry(const struct sweep *sweep,
                                                   const struct table_entry *entry)
{
    const struct error_report *chosen = NULL;
    for (size_t i = 0; i < sweep->name_count; i++) {
        if (!is_of_entry(entry, sweep->names[i].name))
            continue;
        if (chosen && entry->kind == ENTRY_SLOT)
            return NULL;
        chosen = chosen ? chosen : &sweep->names[i];
    }
    return chosen;
}

static const struct error_report *choose_without_entry(struct reports *reports,
                                                       const struct code_function *function,
                                                       struct sweep *sweep)
{
    if (sweep->name_count == 1)
        return &sweep->names[0];
    for (size_t i = 0; i < sweep->name_count; i++)
        if (find_caller(reports, function, cython_last_part(sweep->names[i].name)))
            return &sweep->names[i];
    return sweep->name_count ? vote(reports, sweep) : NULL;
}

/** Takes the name that a table has, with its class. */
static void take_entry(struct function_identity *identity, const struct table_entry *entry)
{
    identity->name = entry->name;
    identity->type = entry->type;
    identity->bare = true;
    identity->property = entry->kind == ENTRY_GETTER || entry->kind == ENTRY_SETTER;
    identity->setter = entry->kind == ENTRY_SETTER;
}

static struct function_identity identify(struct reports *reports, struct sweep *sweep,
                                         const struct code_function *function)
{
    const struct table_entry *entry = reports_find_entry(reports, function->start);
    struct function_identity identity = {.file = sweep->name_count ? sweep->names[0].file : NULL};
    if (entry && entry->plumbing)
        return (struct function_identity){.plumbing = true};
    identity.method = entry && entry->kind == ENTRY_METHOD;
    identity.pointed = entry && !identity.method && entry->kind != ENTRY_EXPORT;
    const struct error_report *chosen =
        entry ? choose_for_entry(sweep, entry) : choose_without_entry(reports, function, sweep);
    const char *whole = identity.method && !entry->type && !chosen
                            ? reports_find_whole_name(&reports->flow.image, entry->name)
                            : NULL;
    if (chosen || whole) {
        identity.name = chosen ? chosen->name : whole;
        identity.file = chosen ? chosen->file : identity.file;
    } else if (!entry && !sweep->name_count)
        identity.name = reports_find_unraisable_name(&reports->flow, function);
    /* mypyc reports bare names. */
    bool lacks_class = chosen && entry && entry->type && !strchr(chosen->name, '.');
    if (entry && (lacks_class || (!chosen && !whole)))
        take_entry(&identity, entry);
    return identity;
}

/* ---- any address ---- */

/** Functions that were asked for, in no order. */
struct known_identities {
    struct known_identity {
        const struct code_function *function;
        struct function_identity identity;
    } * items;
    size_t count;
    size_t capacity;
};

void reports_destroy_identities(struct known_identities *identities)
{
    if (identities)
        free(identities->items);
    free(identities);
}

static struct function_identity identify_function(struct reports *reports,
                                                  const struct code_function *function)
{
    struct sweep sweep;
    if (code_is_fragment(function)) {
        /* A cold part, or the body of a parallel block, which only the OpenMP runtime enters. */
        const struct code_function *parent = code_find_addressing(&reports->flow.image, function);
        if (parent && reports->flow.has_parallel) {
            sweep_function(&reports->flow, parent, &sweep);
            if (sweep.starts_threads) {
                struct function_identity identity = identify(reports, &sweep, parent);
                identity.parallel = identity.name != NULL;
                identity.method = identity.pointed = false;
                return identity;
            }
        } else if (!parent && (parent = code_find_jumping(&reports->flow.image, function))) {
            sweep_function(&reports->flow, function, &sweep);
            /* The slot of __eq__ ends in a jump to __eq__. */
            const struct table_entry *entry = reports_find_entry(reports, parent->start);
            if (entry && entry->kind == ENTRY_SLOT && sweep.name_count == 1 &&
                is_of_entry(entry, sweep.names[0].name))
                return (struct function_identity){.name = sweep.names[0].name,
                                                  .file = sweep.names[0].file};
            function = parent;
        }
    }
    sweep_function(&reports->flow, function, &sweep);
    return identify(reports, &sweep, function);
}

/** Whether a method of this name is only what parses the arguments of this function. */
static void find_body(struct reports *reports, const struct code_function *function,
                      struct function_identity *identity)
{
    const struct table_entry *caller =
        identity->name && !identity->method && !identity->pointed && !identity->parallel
            ? find_caller(reports, function, cython_last_part(identity->name))
            : NULL;
    identity->body = caller;
    if (caller && caller->type && !strchr(identity->name, '.'))
        take_entry(identity, caller);
}

/** What a report says that is known to be the whole function's; false when it is not. */
static bool identify_by_report(struct reports *reports, const struct code_function *function,
                               const struct error_report *last, struct function_identity *ret)
{
    if (!last || !last->direct || !last->outermost || !last->name || !last->file ||
        code_is_fragment(function))
        return false;
    const struct table_entry *entry = reports_find_entry(reports, function->start);
    if (entry && (entry->plumbing || !is_of_entry(entry, last->name)))
        return false;
    *ret = (struct function_identity){
        .name = last->name, .file = last->file, .method = entry && entry->kind == ENTRY_METHOD};
    ret->pointed = entry && !ret->method && entry->kind != ENTRY_EXPORT;
    if (entry && entry->type && !strchr(last->name, '.'))
        take_entry(ret, entry);
    find_body(reports, function, ret);
    return true;
}

struct function_identity reports_identify(struct reports *reports, uint64_t address,
                                          const struct error_report *last)
{
    const struct code_function *function = code_find_function(&reports->flow.image, address);
    struct function_identity identity = {0};
    if (!function || flow_find_traceback_helper(&reports->flow, function->start) ||
        identify_by_report(reports, function, last, &identity))
        return identity;
    if (!reports->identities)
        reports->identities = calloc(1, sizeof(*reports->identities));
    struct known_identities *known = reports->identities;
    for (size_t i = 0; known && i < known->count; i++)
        if (known->items[i].function == function)
            return known->items[i].identity;
    identity = identify_function(reports, function);
    find_body(reports, function, &identity);
    if (known && array_reserve((void **)&known->items, &known->capacity, known->count + 1,
                               sizeof(*known->items)))
        known->items[known->count++] = (struct known_identity){function, identity};
    return identity;
}
