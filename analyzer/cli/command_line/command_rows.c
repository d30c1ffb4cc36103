/* The rows of a command: its own, and those of another that it takes. */
#include "command_line.h"

#include <string.h>

static const struct option_spec *find_own_row(const struct command_spec *command, const char *name)
{
    for (size_t i = 0; i < command->option_count; i++)
        if (command->options[i].long_name && !strcmp(command->options[i].long_name, name))
            return &command->options[i];
    return NULL;
}

/* One that the command has itself, or takes of a third. */
static const struct option_spec *find_row(const struct command_spec *command, const char *name)
{
    const struct option_spec *found = find_own_row(command, name);
    const struct shared_options *shared = command->shared;
    for (size_t i = 0; !found && shared && shared->names[i]; i++)
        if (!strcmp(shared->names[i], name))
            found = find_own_row(shared->from, name);
    return found;
}

bool command_get_row(const struct command_spec *command, size_t index, struct option_spec *ret)
{
    const struct shared_options *shared = command->shared;
    if (index < command->option_count) {
        *ret = command->options[index];
        return true;
    }
    index -= command->option_count;
    for (size_t i = 0; shared && shared->names[i]; i++) {
        const struct option_spec *found = find_row(shared->from, shared->names[i]);
        if (i != index || !found)
            continue;
        *ret = *found;
        ret->heading = i ? NULL : shared->heading;
        ret->take = shared->take;
        return true;
    }
    return false;
}

bool command_row_is_optional(const struct option_spec *spec)
{
    return spec->value == OPTION_OPTIONAL || spec->value == OPTION_CHOICE;
}
