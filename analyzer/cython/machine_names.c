/* The name of a whole function: from its reports, method tables, and who starts it in parallel. */
#include "machine.h"

#include <stdlib.h>

#define METHOD_LIMIT ((size_t)1 << 18)
/** Names that the reports of one function are looked through for. */
#define NAME_LIMIT 32
/** Bytes of a dotted name in front of its last part. */
#define NAME_SIZE_LIMIT 256
/** Calls of a function that are asked for their reports, when its reports have several names. */
#define VOTE_LIMIT 12
/** Bytes of a function that are swept. */
#define SWEEP_LIMIT ((uint64_t)64 << 10)

/** METH_VARARGS to METH_METHOD of CPython's methodobject.h. */
#define METHOD_FLAGS 0x3ffu

struct machine_method {
    uint64_t function;
    const char *name;
    bool plumbing;
};

/* ---- method tables ---- */

static bool add_method(struct machine *machine, struct machine_method method)
{
    if (machine->method_count == METHOD_LIMIT)
        return true;
    if (!array_reserve((void **)&machine->methods, &machine->method_capacity,
                       machine->method_count + 1, sizeof(*machine->methods)))
        return false;
    machine->methods[machine->method_count++] = method;
    return true;
}

static int compare_methods(const void *left, const void *right)
{
    const struct machine_method *a = left, *b = right;
    return a->function < b->function ? -1 : a->function > b->function;
}

static bool is_function_start(const struct machine_image *image, uint64_t address)
{
    const struct machine_function *function = machine_find_function(image, address);
    return function && function->start == address;
}

/** The methods of Cython's own generators and coroutines, by their documentation (Coroutine.c). */
static bool is_generator_method(const struct machine_image *image, uint64_t doc)
{
    static const char *const beginnings[] = {"send(arg) -> send 'arg' into ",
                                             "throw(typ[,val[,tb]]) -> raise exception in ",
                                             "close() -> raise GeneratorExit inside "};
    const struct machine_pointer *pointer = machine_find_pointer(image, doc);
    size_t have;
    const uint8_t *text = pointer ? machine_bytes(image, pointer->value, &have) : NULL;
    for (size_t i = 0; text && i < PSC_ARRAY_SIZE(beginnings); i++) {
        size_t size = strlen(beginnings[i]);
        if (have >= size && memcmp(text, beginnings[i], size) == 0)
            return true;
    }
    return false;
}

/** PyMethodDef: const char *name, function, int flags, const char *doc. PyGetSetDef has no flags.
 */
static void read_methods(struct machine *machine)
{
    const struct machine_image *image = &machine->image;
    machine->methods_read = true;
    for (size_t i = 0; i + 1 < image->pointer_count; i++) {
        const struct machine_pointer *name = &image->pointers[i];
        const struct machine_pointer *function = &image->pointers[i + 1];
        size_t have;
        if (function->address != name->address + 8 || !name->value || !function->value ||
            !is_function_start(image, function->value))
            continue;
        const uint8_t *flags = machine_bytes(image, name->address + 16, &have);
        if (!flags || have < 4 || !load_u32(flags) || load_u32(flags) & ~METHOD_FLAGS ||
            machine_find_pointer(image, name->address + 16))
            continue;
        const char *text = machine_string(image, name->value);
        struct machine_method method = {.function = function->value, .name = text};
        method.plumbing = is_generator_method(image, name->address + 24);
        if (text && !add_method(machine, method))
            return;
    }
    if (machine->method_count)
        qsort(machine->methods, machine->method_count, sizeof(*machine->methods), compare_methods);
}

static const struct machine_method *find_method(struct machine *machine, uint64_t function)
{
    size_t low = 0;
    if (!machine->methods_read)
        read_methods(machine);
    size_t high = machine->method_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (machine->methods[middle].function < function)
            low = middle + 1;
        else
            high = middle;
    }
    return low < machine->method_count && machine->methods[low].function == function
               ? &machine->methods[low]
               : NULL;
}

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

static void sweep_call(struct machine *machine, struct sweep *sweep,
                       const struct machine_state *state,
                       const struct machine_instruction *instruction)
{
    const struct machine_operand *to = &instruction->to;
    struct machine_target target = {0};
    if (to->kind == MACHINE_IMMEDIATE)
        target = machine_target_of(&machine->image, (uint64_t)to->number);
    else if (to->kind == MACHINE_ABSOLUTE)
        target = machine_slot_target(&machine->image, (uint64_t)to->number);
    const struct machine_anchor *anchor =
        target.import ? NULL : machine_find_anchor(machine, target.address);
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
}

/** From beginning to end as it stands, not as it runs. */
static void sweep_function(struct machine *machine, const struct machine_function *function,
                           struct sweep *ret)
{
    struct machine_state state;
    machine_state_init(&state, function->start);
    *ret = (struct sweep){0};
    for (uint64_t at = function->start; at < function->end && at - function->start < SWEEP_LIMIT;) {
        struct machine_instruction instruction =
            *machine_decode(machine->decoder, &machine->image, at);
        if (instruction.verb == MACHINE_BAD)
            return;
        at += instruction.size;
        switch (instruction.verb) {
        case MACHINE_CALL:
            sweep_call(machine, ret, &state, &instruction);
            machine_state_return(&state, (struct value){VALUE_UNKNOWN, 0});
            break;
        case MACHINE_JUMP:
        case MACHINE_RETURN:
        case MACHINE_STOP:
            machine_state_init(&state, at);
            break;
        default:
            machine_state_step(&state, &machine->image, &instruction);
            break;
        }
    }
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

static const char *leaf_of(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
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

static struct machine_identity identify(struct machine *machine, struct sweep *sweep,
                                        const struct machine_function *function)
{
    const struct machine_method *found = find_method(machine, function->start);
    if (found && found->plumbing)
        return (struct machine_identity){.plumbing = true};
    const char *method = found ? found->name : NULL;
    struct machine_identity identity = {
        .name = method, .bare = method, .method = method, .pointed = function->pointed && !method};
    const struct machine_report *chosen = NULL;
    if (method) {
        for (size_t i = 0; i < sweep->name_count && !chosen; i++)
            if (strcmp(leaf_of(sweep->names[i].name), method) == 0)
                chosen = &sweep->names[i];
    } else if (sweep->name_count == 1) {
        chosen = &sweep->names[0];
    } else if (sweep->name_count) {
        chosen = vote(machine, sweep);
    }
    const char *whole = method && !chosen ? machine_find_whole_name(&machine->image, method) : NULL;
    if (chosen || whole) {
        identity.name = chosen ? chosen->name : whole;
        identity.bare = false;
    }
    if (chosen || sweep->name_count)
        identity.file = chosen ? chosen->file : sweep->names[0].file;
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
            function = referrer(machine, function->jumped_from);
        }
    }
    sweep_function(machine, function, &sweep);
    return identify(machine, &sweep, function);
}

static bool calls(const struct machine_image *image, const struct machine_function *from,
                  uint64_t to)
{
    size_t have;
    const uint8_t *code = machine_bytes(image, from->start, &have);
    uint64_t size = from->end - from->start;
    for (uint64_t i = 0; code && i + 5 <= size && i + 5 <= have && i < SWEEP_LIMIT; i++)
        if (code[i] == 0xe8 &&
            from->start + i + 5 + (uint64_t)(int64_t)(int32_t)load_u32(code + i + 1) == to)
            return true;
    return false;
}

/** Whether a method of this name is only what parses the arguments of this function. */
static bool is_body(struct machine *machine, const struct machine_function *function,
                    const char *leaf)
{
    if (!machine->methods_read)
        read_methods(machine);
    for (size_t i = 0; i < machine->method_count; i++) {
        const struct machine_method *method = &machine->methods[i];
        if (strcmp(method->name, leaf) == 0 && method->function != function->start &&
            calls(&machine->image, machine_find_function(&machine->image, method->function),
                  function->start))
            return true;
    }
    return false;
}

/** What a report says that is known to be the whole function's; false when it is not. */
static bool identify_by_report(struct machine *machine, const struct machine_function *function,
                               const struct machine_report *last, struct machine_identity *ret)
{
    if (!last || !last->direct || !last->outermost || !last->name || !last->file ||
        is_fragment(function))
        return false;
    const struct machine_method *method = find_method(machine, function->start);
    if (method && (method->plumbing || strcmp(leaf_of(last->name), method->name) != 0))
        return false;
    *ret = (struct machine_identity){.name = last->name,
                                     .file = last->file,
                                     .method = method,
                                     .pointed = function->pointed && !method};
    ret->body = !method && !ret->pointed && is_body(machine, function, leaf_of(last->name));
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
    if (identity.name && !identity.method && !identity.pointed && !identity.parallel)
        identity.body = is_body(machine, function, leaf_of(identity.name));
    if (array_reserve((void **)&machine->identities, &machine->identity_capacity,
                      machine->identity_count + 1, sizeof(*machine->identities)))
        machine->identities[machine->identity_count++] =
            (struct known_identity){function, identity};
    return identity;
}
