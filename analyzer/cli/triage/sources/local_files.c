/* Which file here stands for one of the target, as the options of a report say. */
#include "sources_private.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sources_take_options(struct sources *sources, char *const *words, size_t count)
{
    sources->words = words;
    sources->word_count = count;
}

/* What an option is set to by a word; NULL: it is another one. */
static const char *value_of(const char *word, const char *option)
{
    const size_t length = strlen(option);
    return strncmp(word, option, length) != 0 || word[length] != '=' ? NULL : word + length + 1;
}

/* The joined path, where such a file can be read. */
static char *path_if_there(struct sources *sources, const char *folder, size_t length,
                           const char *rest)
{
    char *path = NULL;
    if (length + strlen(rest) >= PATH_MAX ||
        asprintf(&path, "%.*s%s", (int)length, folder, rest) < 0)
        return NULL;
    const struct source_file *file = read_source(sources, path);
    if (file && file->text)
        return path;
    free(path);
    return NULL;
}

static char *find_mapped(struct sources *sources, const char *map, const char *path)
{
    const char *equals = strchr(map, '=');
    const size_t length = equals ? (size_t)(equals - map) : 0;
    return equals && !strncmp(path, map, length)
               ? path_if_there(sources, equals + 1, strlen(equals + 1), path + length)
               : NULL;
}

/* The longest end of the path that is below a folder, of two parts at least. */
static char *find_below(struct sources *sources, const char *folder, const char *path)
{
    char *found = NULL;
    for (const char *rest = strchr(path, '/'); rest && !found; rest = strchr(rest + 1, '/'))
        if (strchr(rest + 1, '/'))
            found = path_if_there(sources, folder, strlen(folder), rest);
    return found;
}

char *sources_find_local(struct sources *sources, const char *path)
{
    static const char *const options[] = {"--source-map", "--sysroot", "--source-dir"};
    char *found = NULL;
    for (size_t k = 0; k < sizeof(options) / sizeof(*options) && *path == '/'; k++)
        for (size_t i = 0; i < sources->word_count && !found; i++) {
            const char *value = value_of(sources->words[i], options[k]);
            if (value && k == 0)
                found = find_mapped(sources, value, path);
            else if (value && k == 1)
                found = path_if_there(sources, value, strlen(value), path);
            else if (value)
                found = find_below(sources, value, path);
        }
    return found;
}
