/* The frames around abort(), and texts of the target. */
#include "abort_private.h"

#include <string.h>

static struct abort_frame look_up(struct modules *modules, const struct native_frame *native)
{
    psc_addr at = native_lookup_pc(native);
    struct abort_frame frame = {.pc = native->pc, .module = modules_find(modules, at)};
    if (!frame.module || !module_find_symbol(frame.module, at, &frame.symbol))
        frame.symbol = (struct module_symbol){0};
    return frame;
}

static bool frame_is(const struct abort_frame *frame, const char *name)
{
    // A compiler's part of a function has its name and a suffix: ".cold".
    const char *symbol = frame->symbol.name;
    size_t size = strlen(name);
    return symbol && !strncmp(symbol, name, size) && (!symbol[size] || symbol[size] == '.');
}

size_t abort_stack_find(const struct abort_stack *stack, size_t first, const char *const *names,
                        size_t name_count)
{
    for (size_t i = first; i < stack->count; i++)
        for (size_t j = 0; j < name_count; j++)
            if (frame_is(&stack->frames[i], names[j]))
                return i;
    return stack->count;
}

bool abort_stack_init(const struct abort_input *input, struct abort_stack *ret)
{
    static const char *const names[] = {"abort"};
    *ret = (struct abort_stack){.input = input};
    for (size_t i = input->first; i < input->stack->count && ret->count < ABORT_FRAMES; i++)
        ret->frames[ret->count++] = look_up(input->modules, &input->stack->frames[i]);
    ret->aborts = abort_stack_find(ret, 0, names, PSC_ARRAY_SIZE(names));
    return ret->aborts + 1 < ret->count;
}

void abort_stack_deinit(struct abort_stack *stack)
{
    disassembler_close(stack->disassembler);
}

static bool keep_text(const struct abort_stack *stack, const char *bytes, size_t size,
                      const char **ret)
{
    while (size && (bytes[size - 1] == '\n' || bytes[size - 1] == '\r'))
        size--;
    for (size_t i = 0; i < size;) {
        uint32_t character;
        size_t used = utf8_decode(bytes + i, size - i, &character);
        if (!used || !character)
            return false;
        i += used;
    }
    *ret = size ? arena_strndup(stack->input->arena, bytes, size) : NULL;
    return *ret;
}

bool abort_read_text(const struct abort_stack *stack, psc_addr address, const char **ret)
{
    char text[ABORT_MESSAGE_LIMIT];
    enum psc_status status = target_read_string(stack->input->target, address, text, sizeof(text));
    size_t size = strlen(text);
    // A text that was cut may end within a character.
    while (status == PSC_ERR_LIMIT && size &&
           (utf8_continues(text[size - 1]) || text[size - 1] < 0))
        size--;
    return (status == PSC_OK || status == PSC_ERR_LIMIT) && keep_text(stack, text, size, ret);
}

bool abort_read_sized_text(const struct abort_stack *stack, psc_addr address, uint64_t size,
                           const char **ret)
{
    char text[ABORT_MESSAGE_LIMIT];
    return size <= sizeof(text) &&
           target_read(stack->input->target, address, text, (size_t)size) == PSC_OK &&
           keep_text(stack, text, (size_t)size, ret);
}
