/* Values of options that several commands take alike. */
#include "command_line.h"

#include "messages.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT_NAME_SIZE 16u

const struct option_choice *option_find_choice(const struct option_choice *choices,
                                               const char *word)
{
    for (; choices->name; choices++)
        if (!strcmp(choices->name, word))
            return choices;
    return NULL;
}

bool option_choose(const struct option_spec *spec, const char *word, int *ret)
{
    char names[80] = "";
    const struct option_choice *found = option_find_choice(spec->choices, word);
    if (found) {
        *ret = found->value;
        return true;
    }
    for (const struct option_choice *choice = spec->choices; choice->name; choice++) {
        size_t size = strlen(names);
        snprintf(names + size, sizeof(names) - size, "%s%s", size ? ", " : "", choice->name);
    }
    complain_of_usage("--%s: '%s' is none of %s", spec->long_name, word, names);
    return false;
}

/* The format's name is cut out of a copy, argv stays as it is. */
bool option_parse_output(const struct option_spec *spec, const char *word, int *ret_format,
                         const char **ret_path)
{
    const char *equals = strchr(word, '=');
    char name[FORMAT_NAME_SIZE];
    if (!equals || !equals[1] || (size_t)(equals - word) >= sizeof(name)) {
        complain_of_usage("--%s: '%s' is not FORMAT=FILE", spec->long_name, word);
        return false;
    }
    memcpy(name, word, (size_t)(equals - word));
    name[equals - word] = '\0';
    *ret_path = equals + 1;
    return option_choose(spec, name, ret_format);
}

bool option_parse_number(const struct option_spec *spec, const char *word, uint64_t most,
                         uint64_t *ret)
{
    char *end;
    errno = 0;
    unsigned long long number = strtoull(word, &end, 10);
    if (errno || *end || *word < '0' || *word > '9' || !number || number > most) {
        complain_of_usage("--%s: '%s' is no number from 1 to %llu", spec->long_name, word,
                          (unsigned long long)most);
        return false;
    }
    *ret = number;
    return true;
}
