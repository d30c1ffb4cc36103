/* The name of a whole function: from its reports, method tables, and who starts it in parallel. */
#include "explore.h"

#include <stdlib.h>

/** Names that the reports of one function are looked through for. */
#define NAME_LIMIT 32
/** Bytes of a dotted name in front of its last part. */
#define NAME_SIZE_LIMIT 256
/** Calls of a function that are asked for their reports, when its reports have several names. */
#define VOTE_LIMIT 12
/** Bytes of a function that are swept. */
#define SWEEP_LIMIT ((uint64_t)64 << 10)
/** What looking through a function for a call counts as, in instructions that are followed. */
#define CALLS_STEPS 16

/* ---- one function ---- */

struct sweep {
    struct machine_report names[NAME_LIMIT]; /**< Distinct by name. */
    size_t name_count;
    uint64_t returns[VOTE_LIMIT]; /**< Behind calls, spread over the function. */
    size_t return_count;
    size_t call_count;
    bool starts_threads; /**< Calls the OpenMP runtime. */
};

static void add_name(struct sweep *sweep, const struct machine_report *report)
{
    for (size_t i = 0; i < sweep->name_count; i++)
        if (strcmp(sweep->names[i].name, report->name) == 0)
            return;
    if (sweep->name_count < NAME_LIMIT)
        sweep->names[sweep->name_count++] = *report;
}

static bool sweep_call(void *context, struct machine *machine, const struct machine_state *state,
                       const struct instruction *instruction)
{
    struct sweep *sweep = context;
    struct machine_target target = machine_operand_target(machine, &instruction->to);
    const struct machine_anchor *anchor = machine_find_anchor(machine, target.address);
    sweep->starts_threads |= machine_begins_parallel(target);
    if (anchor) {
        struct machine_report report;
        machine_read_report(machine, anchor, state, &report);
        if (report.name)
            add_name(sweep, &report);
    } else if (!machine_is_clean(machine, target) && !machine_is_end(machine, target)) {
        /* The first ones, then ever rarer ones. */
        size_t at = sweep->call_count++;
        if (at < VOTE_LIMIT / 2)
            sweep->returns[sweep->return_count++] = instruction->address + instruction->size;
        else if ((at & (at - 1)) == 0 && sweep->return_count < VOTE_LIMIT)
            sweep->returns[sweep->return_count++] = instruction->address + instruction->size;
    }
    return true;
}

static void sweep_function(struct machine *machine, const struct machine_function *function,
                           struct sweep *ret)
{
    *ret = (struct sweep){0};
    machine_sweep(machine, function, SWEEP_LIMIT, sweep_call, ret);
}

/** What the outermost reports of some of its calls agree on. */
static const struct machine_report *vote(struct machine *machine, struct sweep *sweep)
{
    unsigned votes[NAME_LIMIT] = {0};
    size_t best = 0;
    bool tie = true;
    for (size_t i = 0; i < sweep->return_count; i++) {
        struct machine_report chain[MACHINE_CHAIN_LIMIT];
        size_t count =
            machine_find_reports(machine, sweep->returns[i] - 1, chain, MACHINE_CHAIN_LIMIT);
        const struct machine_report *last = count ? &chain[count - 1] : NULL;
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

static bool ends_with(const char *name, const char *end)
{
    size_t size = strlen(name), end_size = strlen(end);
    return size >= end_size && strcmp(name + size - end_size, end) == 0 &&
           (size == end_size || name[size - end_size - 1] == '.');
}

const char *machine_find_whole_name(const struct machine_image *image, const char *leaf)
{
    size_t size = strlen(leaf) + 1; /* With its end. */
    const char *found = NULL;
    for (size_t k = 0; k < image->segment_count; k++) {
        const struct machine_segment *segment = &image->segments[k];
        const char *bytes = (const char *)image->bytes + segment->offset;
        const char *end = bytes + segment->size;
        for (const char *at = bytes; !segment->writable && at < end; at++) {
            at = memmem(at, (size_t)(end - at), leaf, size);
            if (!at)
                break;
            const char *start = at;
            while (start > bytes && start[-1] && at - start < NAME_SIZE_LIMIT)
                start--;
            const char *name =
                at > start && at[-1] == '.'
                    ? machine_string(image, segment->address + (uint64_t)(start - bytes))
                    : NULL;
            if (!name || strpbrk(name, " /:%"))
                continue;
            /* "Class.leaf" is the end of "pkg.mod.Class.leaf". */
            if (found && !ends_with(found, name) && !ends_with(name, found))
                return NULL;
            if (!found || strlen(name) > strlen(found))
                found = name;
        }
    }
    return found;
}

static bool calls(const struct machine_image *image, const struct machine_function *from,
                  uint64_t to)
{
    size_t have;
    const uint8_t *code = from ? machine_bytes(image, from->start, &have) : NULL;
    uint64_t size = code ? from->end - from->start : 0;
    for (uint64_t i = 0; i + 5 <= size && i + 5 <= have && i < SWEEP_LIMIT; i++)
        if ((code[i] == 0xe8 || code[i] == 0xe9) &&
            from->start + i + 5 + (uint64_t)(int64_t)(int32_t)load_u32(code + i + 1) == to)
            return true;
    return false;
}

/** The method of a name that only parses the arguments of a function; or NULL. */
static const struct machine_entry *
find_caller(struct machine *machine, const struct machine_function *function, const char *leaf)
{
    const struct machine_entry *entries;
    size_t count = machine_entries(machine, &entries);
    for (size_t i = 0; i < count; i++)
        if (entries[i].kind == MACHINE_METHOD && strcmp(entries[i].name, leaf) == 0 &&
            entries[i].function != function->start && machine_spend_steps(machine, CALLS_STEPS) &&
            calls(&machine->image, machine_find_function(&machine->image, entries[i].function),
                  function->start))
            return &entries[i];
    return NULL;
}

/** Whether "pkg.mod.Class.leaf" may be what a table has for a function. */
static bool is_of_entry(const struct machine_entry *entry, const char *name)
{
    if (entry->kind == MACHINE_MODULE)
        return strncmp(name, entry->name, strlen(entry->name)) == 0;
    const char *leaf = machine_leaf(name);
    const char *outer = leaf == name ? NULL : leaf - 1;
    struct slice class = {name, outer ? (size_t)(outer - name) : 0};
    if (entry->kind == MACHINE_GETTER || entry->kind == MACHINE_SETTER) {
        size_t size = strlen(entry->name);
        bool accessor = entry->kind == MACHINE_GETTER
                            ? strcmp(leaf, "__get__") == 0
                            : strcmp(leaf, "__set__") == 0 || strcmp(leaf, "__del__") == 0;
        if (!accessor || class.size <= size + 1 || class.data[class.size - size - 1] != '.' ||
            memcmp(class.data + class.size - size, entry->name, size) != 0)
            return false;
        class.size -= size + 1;
    } else if (!(entry->kind == MACHINE_SLOT ? cython_slot_reaches(entry->name, leaf)
                                             : strcmp(entry->name, leaf) == 0)) {
        return false;
    }
    if (!entry->type || !class.size)
        return true;
    const char *type = machine_leaf(entry->type);
    size_t size = strlen(type);
    return class.size >= size && memcmp(class.data + class.size - size, type, size) == 0 &&
           (class.size == size || class.data[class.size - size - 1] == '.');
}

/** The only one of the reported names that an entry may have; or NULL. */
static const struct machine_report *choose_for_entry(const struct sweep *sweep,
                                                     const struct machine_entry *entry)
{
    const struct machine_report *chosen = NULL;
    for (size_t i = 0; i < sweep->name_count; i++) {
        if (!is_of_entry(entry, sweep->names[i].name))
            continue;
        if (chosen && entry->kind == MACHINE_SLOT)
            return NULL;
        chosen = chosen ? chosen : &sweep->names[i];
    }
    return chosen;
}

static const struct machine_report *choose_without_entry(struct machine *machine,
                                                         const struct machine_function *function,
                                                         struct sweep *sweep)
{
    if (sweep->name_count == 1)
        return &sweep->names[0];
    for (size_t i = 0; i < sweep->name_count; i++)
        if (find_caller(machine, function, machine_leaf(sweep->names[i].name)))
            return &sweep->names[i];
    return sweep->name_count ? vote(machine, sweep) : NULL;
}

/** Takes the name that a table has, with its class. */
static void take_entry(struct machine_identity *identity, const struct machine_entry *entry)
{
    identity->name = entry->name;
    identity->type = entry->type;
    identity->bare = true;
    identity->property = entry->kind == MACHINE_GETTER || entry->kind == MACHINE_SETTER;
    identity->setter = entry->kind == MACHINE_SETTER;
}

static struct machine_identity identify(struct machine *machine, struct sweep *sweep,
                                        const struct machine_function *function)
{
    const struct machine_entry *entry = machine_find_entry(machine, function->start);
    struct machine_identity identity = {.file = sweep->name_count ? sweep->names[0].file : NULL};
    if (entry && entry->plumbing)
        return (struct machine_identity){.plumbing = true};
    identity.method = entry && entry->kind == MACHINE_METHOD;
    identity.pointed = entry && !identity.method && entry->kind != MACHINE_EXPORT;
    const struct machine_report *chosen =
        entry ? choose_for_entry(sweep, entry) : choose_without_entry(machine, function, sweep);
    const char *whole = identity.method && !entry->type && !chosen
                            ? machine_find_whole_name(&machine->image, entry->name)
                            : NULL;
    if (chosen || whole) {
        identity.name = chosen ? chosen->name : whole;
        identity.file = chosen ? chosen->file : identity.file;
    } else if (!entry && !sweep->name_count)
        identity.name = machine_find_unraisable_name(machine, function);
    /* mypyc reports bare names. */
    bool lacks_class = chosen && entry && entry->type && !strchr(chosen->name, '.');
    if (entry && (lacks_class || (!chosen && !whole)))
        take_entry(&identity, entry);
    return identity;
}

/* ---- who leads to it ---- */

static bool is_fragment(const struct machine_function *function)
{
    return !function->called && !function->pointed;
}

/** Notes a jump (or taken address) from one function into a fragment. */
static void note_referrer(struct machine_image *image, uint64_t from, uint64_t to, bool is_jump)
{
    struct machine_function *fragment = machine_find_function(image, to);
    if (!fragment || !is_fragment(fragment) || (!is_jump && to != fragment->start))
        return;
    const struct machine_function *function = machine_find_function(image, from);
    uint32_t *note = is_jump ? &fragment->jumped_from : &fragment->addressed_from;
    if (function && function != fragment && !*note)
        *note = (uint32_t)(function - image->functions) + 1;
}

/** Jumps, and `lea` of an address, wherever the bytes look like one. */
static void read_referrers(struct machine *machine)
{
    struct machine_image *image = &machine->image;
    machine->referrers_read = true;
    for (size_t k = 0; k < image->segment_count; k++) {
        const struct machine_segment *segment = &image->segments[k];
        const uint8_t *code = image->bytes + segment->offset;
        for (size_t i = 0; segment->executable && i + 7 <= segment->size; i++) {
            bool branch = code[i] == 0x0f && (code[i + 1] & 0xf0) == 0x80;
            bool jump = branch || code[i] == 0xe9;
            bool address = (code[i] & 0xfb) == 0x48 && code[i + 1] == 0x8d && /* lea (%rip) */
                           (code[i + 2] & 0xc7) == 0x05;
            if (!jump && !address)
                continue;
            size_t field = i + (branch ? 2 : jump ? 1 : 3);
            uint64_t to =
                segment->address + field + 4 + (uint64_t)(int64_t)(int32_t)load_u32(code + field);
            note_referrer(image, segment->address + i, to, jump);
        }
    }
}

static const struct machine_function *referrer(const struct machine *machine, uint32_t note)
{
    return note ? &machine->image.functions[note - 1] : NULL;
}

const struct machine_function *machine_find_jumping(struct machine *machine,
                                                    const struct machine_function *function)
{
    if (!is_fragment(function))
        return NULL;
    if (!machine->referrers_read)
        read_referrers(machine);
    return referrer(machine, function->jumped_from);
}

const struct machine_function *machine_find_addressing(struct machine *machine,
                                                       const struct machine_function *function)
{
    if (!is_fragment(function))
        return NULL;
    if (!machine->referrers_read)
        read_referrers(machine);
    return referrer(machine, function->addressed_from);
}

/* ---- any address ---- */

struct known_identity {
    const struct machine_function *function;
    struct machine_identity identity;
};

static struct machine_identity look_at(struct machine *machine,
                                       const struct machine_function *function)
{
    struct sweep sweep;
    if (is_fragment(function)) {
        /* A cold part, or the body of a parallel block, which only the OpenMP runtime enters. */
        const struct machine_function *parent = machine_find_addressing(machine, function);
        if (parent) {
            sweep_function(machine, parent, &sweep);
            if (sweep.starts_threads) {
                struct machine_identity identity = identify(machine, &sweep, parent);
                identity.parallel = identity.name != NULL;
                identity.method = identity.pointed = false;
                return identity;
            }
        } else if (function->jumped_from) {
            parent = referrer(machine, function->jumped_from);
            sweep_function(machine, function, &sweep);
            /* The slot of __eq__ ends in a jump to __eq__. */
            const struct machine_entry *entry = machine_find_entry(machine, parent->start);
            if (entry && entry->kind == MACHINE_SLOT && sweep.name_count == 1 &&
                is_of_entry(entry, sweep.names[0].name))
                return (struct machine_identity){.name = sweep.names[0].name,
                                                 .file = sweep.names[0].file};
            function = parent;
        }
    }
    sweep_function(machine, function, &sweep);
    return identify(machine, &sweep, function);
}

/** Whether a method of this name is only what parses the arguments of this function. */
static void find_body(struct machine *machine, const struct machine_function *function,
                      struct machine_identity *identity)
{
    const struct machine_entry *caller =
        identity->name && !identity->method && !identity->pointed && !identity->parallel
            ? find_caller(machine, function, machine_leaf(identity->name))
            : NULL;
    identity->body = caller;
    if (caller && caller->type && !strchr(identity->name, '.'))
        take_entry(identity, caller);
}

/** What a report says that is known to be the whole function's; false when it is not. */
static bool identify_by_report(struct machine *machine, const struct machine_function *function,
                               const struct machine_report *last, struct machine_identity *ret)
{
    if (!last || !last->direct || !last->outermost || !last->name || !last->file ||
        is_fragment(function))
        return false;
    const struct machine_entry *entry = machine_find_entry(machine, function->start);
    if (entry && (entry->plumbing || !is_of_entry(entry, last->name)))
        return false;
    *ret = (struct machine_identity){
        .name = last->name, .file = last->file, .method = entry && entry->kind == MACHINE_METHOD};
    ret->pointed = entry && !ret->method && entry->kind != MACHINE_EXPORT;
    if (entry && entry->type && !strchr(last->name, '.'))
        take_entry(ret, entry);
    find_body(machine, function, ret);
    return true;
}

struct machine_identity machine_identify(struct machine *machine, uint64_t address,
                                         const struct machine_report *last)
{
    const struct machine_function *function = machine_find_function(&machine->image, address);
    struct machine_identity identity = {0};
    if (!function || machine_find_anchor(machine, function->start) ||
        identify_by_report(machine, function, last, &identity))
        return identity;
    for (size_t i = 0; i < machine->identity_count; i++)
        if (machine->identities[i].function == function)
            return machine->identities[i].identity;
    identity = look_at(machine, function);
    find_body(machine, function, &identity);
    if (array_reserve((void **)&machine->identities, &machine->identity_capacity,
                      machine->identity_count + 1, sizeof(*machine->identities)))
        machine->identities[machine->identity_count++] =
            (struct known_identity){function, identity};
    return identity;
}
