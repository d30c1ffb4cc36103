/* What a Rust panic said before it ended in abort(). */
#include "abort_private.h"

#include <inttypes.h>
#include <string.h>

/* Of a frame's memory that is looked at. */
#define FRAME_WORDS 512u
/* Frames outward of the one that keeps what the hook was given, in which the payload may lie. */
#define PAYLOAD_FRAMES  3u
#define FILE_NAME_LIMIT 1024u
/* What a hook is given begins with this many words, in the one order or the other. */
#define INFO_WORDS 4u

/*
 * library/std/src/panicking.rs: rust_panic_with_hook() (panic_with_hook() from 1.9x on) makes a
 * PanicHookInfo for the hook on its own stack: &(dyn Any + Send) as data and vtable, then the
 * &Location; up to 1.80 as PanicInfo, with an Option<&Arguments> between them.
 */
struct panic_info {
    psc_addr data;
    psc_addr vtable;
    psc_addr location;
};

struct panic_site {
    const char *file;
    uint32_t line;
    uint32_t column;
};

/* Functions that only a panic is in; mangled, their names are part of the symbols'. */
static bool is_of_panic(const struct abort_frame *frame)
{
    static const char *const names[] = {"panic_with_hook", "rust_begin_unwind", "begin_panic",
                                        "rust_panic"};
    for (size_t i = 0; frame->symbol.name && i < PSC_ARRAY_SIZE(names); i++)
        if (strstr(frame->symbol.name, names[i]))
            return true;
    return false;
}

/* core::panic::Location: the file's name as pointer and length, line and column, from 1. */
static bool read_site(const struct abort_stack *stack, psc_addr location, struct panic_site *ret)
{
    static const char ending[] = ".rs";
    struct target *target = stack->input->target;
    psc_addr file;
    uint64_t size;
    if (location % 8 || target_read_u64(target, location, &file) != PSC_OK ||
        target_read_u64(target, location + 8, &size) != PSC_OK || size < sizeof(ending) ||
        size > FILE_NAME_LIMIT || target_read_u32(target, location + 16, &ret->line) != PSC_OK ||
        target_read_u32(target, location + 20, &ret->column) != PSC_OK || !ret->line ||
        !ret->column || !abort_read_sized_text(stack, file, size, &ret->file))
        return false;
    size_t length = strlen(ret->file);
    return length == size && !strcmp(ret->file + length - strlen(ending), ending);
}

/* Types of payloads, by the vtable: drop_in_place (none for what needs no dropping), size,
 * alignment, and methods. */
enum payload {
    PAYLOAD_NONE, /**< It is no vtable. */
    PAYLOAD_OTHER,
    PAYLOAD_LITERAL, /**< &'static str */
    PAYLOAD_STRING
};

static enum payload find_payload(const struct abort_stack *stack, psc_addr vtable)
{
    enum { SIZE_LITERAL = 16, SIZE_STRING = 24, SIZE_MOST = 1 << 20 };
    struct target *target = stack->input->target;
    psc_addr drop, method;
    uint64_t size, alignment;
    if (vtable % 8 || target_read_u64(target, vtable, &drop) != PSC_OK ||
        target_read_u64(target, vtable + 8, &size) != PSC_OK ||
        target_read_u64(target, vtable + 16, &alignment) != PSC_OK ||
        target_read_u64(target, vtable + 24, &method) != PSC_OK || !alignment || alignment > 64 ||
        alignment & (alignment - 1) || size > SIZE_MOST || size % alignment ||
        !target_is_executable(target, method) || (drop && !target_is_executable(target, drop)))
        return PAYLOAD_NONE;
    if (size == SIZE_LITERAL && alignment == 8 && !drop)
        return PAYLOAD_LITERAL;
    return size == SIZE_STRING && alignment == 8 && drop ? PAYLOAD_STRING : PAYLOAD_OTHER;
}

/* A String is capacity, pointer, length; before 1.66 its pointer came first. */
static bool read_payload(const struct abort_stack *stack, psc_addr data, enum payload payload,
                         const char **ret)
{
    struct target *target = stack->input->target;
    uint64_t words[3] = {0};
    size_t size = payload == PAYLOAD_LITERAL ? 16 : sizeof(words);
    if (target_read(target, data, words, size) != PSC_OK)
        return false;
    if (payload == PAYLOAD_LITERAL)
        return abort_read_sized_text(stack, words[0], words[1], ret);
    if (words[0] >= words[2] && abort_read_sized_text(stack, words[1], words[2], ret))
        return true;
    return words[1] >= words[2] && abort_read_sized_text(stack, words[0], words[2], ret);
}

/** The run of frames of one module that ends in abort(). */
struct panic_search {
    const struct abort_stack *stack;
    size_t first; /* Its first frame. */
    size_t end;
    bool named; /* Functions of the module have names, and one of them is a panic's. */
    struct panic_info info;
    struct panic_site site;
    const char *message;
};

static psc_addr frame_sp(const struct abort_stack *stack, size_t frame)
{
    return stack->input->stack->frames[stack->input->first + frame].sp;
}

/* Where no function has a name the payload must be that of the frame which called the hook. */
static bool is_payload_near(const struct panic_search *search, size_t frame)
{
    size_t end = frame + 1 + PAYLOAD_FRAMES;
    if (end > search->end)
        end = search->end;
    return frame + 1 < search->end && search->info.data >= frame_sp(search->stack, frame + 1) &&
           search->info.data < frame_sp(search->stack, end);
}

static bool try_info(struct panic_search *search, size_t frame)
{
    const struct abort_stack *stack = search->stack;
    const struct panic_info *info = &search->info;
    struct modules *modules = stack->input->modules;
    struct module *module = stack->frames[search->first].module;
    if (!info->data || modules_find(modules, info->vtable) != module ||
        !modules_find(modules, info->location) ||
        (!search->named && !is_payload_near(search, frame)))
        return false;
    enum payload payload = find_payload(stack, info->vtable);
    if (payload == PAYLOAD_NONE || !read_site(stack, info->location, &search->site))
        return false;
    search->message = NULL;
    bool is_text =
        payload != PAYLOAD_OTHER && read_payload(stack, info->data, payload, &search->message);
    return search->named || is_text;
}

static bool search_frame(struct panic_search *search, size_t frame)
{
    psc_addr start = frame_sp(search->stack, frame), end = frame_sp(search->stack, frame + 1);
    uint64_t words[FRAME_WORDS];
    if (start % 8 || end <= start)
        return false;
    size_t size = end - start < sizeof(words) ? (size_t)(end - start) : sizeof(words);
    size_t count = target_read_some(search->stack->input->target, start, words, size) / 8;
    for (size_t i = 0; i + INFO_WORDS <= count; i++)
        for (size_t location = 2; location < INFO_WORDS; location++) {
            search->info = (struct panic_info){words[i], words[i + 1], words[i + location]};
            if (try_info(search, frame))
                return true;
        }
    return false;
}

/* A module without names may be any; one with names says whether a panic is in it. */
static bool begin_search(struct panic_search *search)
{
    const struct abort_stack *stack = search->stack;
    search->first = search->end = stack->aborts + 1;
    const struct module *module = stack->frames[search->first].module;
    if (!module || module == stack->frames[stack->aborts].module)
        return false;
    for (; search->end + 1 < stack->count && stack->frames[search->end].module == module;
         search->end++)
        search->named |= is_of_panic(&stack->frames[search->end]);
    return search->named || !stack->frames[search->first].symbol.name;
}

enum psc_status rust_panic_read(const struct abort_stack *stack, struct abort_finding *ret)
{
    struct panic_search search = {.stack = stack};
    bool found = false;
    if (!begin_search(&search))
        return PSC_OK;
    for (size_t i = search.first; !found && i < search.end; i++)
        found = search_frame(&search, i);
    if (!found && !search.named)
        return PSC_OK;
    ret->cause = TRACE_CAUSE_PANIC;
    ret->words = "a Rust panic";
    if (!found)
        return PSC_OK;
    ret->words = arena_printf(stack->input->arena, "a Rust panic at %s:%" PRIu32 ":%" PRIu32,
                              search.site.file, search.site.line, search.site.column);
    ret->message = search.message;
    return PSC_OK;
}
