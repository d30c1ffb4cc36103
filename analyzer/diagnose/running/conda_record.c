/* A record of conda's of one installed package, as JSON. */
#include "json_cost.h"
#include "running_private.h"

#include <jansson.h>
#include <string.h>

/* So that JSON is only parsed of the one that can be meant; conda escapes no ASCII in it. */
static bool may_list(const char *text, size_t size, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    return memmem(text, size, name, strlen(name));
}

static bool is_in_files(const json_t *record, const char *path)
{
    size_t i;
    json_t *file;
    json_array_foreach(json_object_get(record, "files"), i, file)
    {
        const char *name = json_string_value(file);
        if (name && !strcmp(name, path))
            return true;
    }
    return false;
}

/* Some installers leave "files" empty. */
static bool is_in_paths(const json_t *record, const char *path)
{
    size_t i;
    json_t *file;
    json_array_foreach(json_object_get(json_object_get(record, "paths_data"), "paths"), i, file)
    {
        const char *name = json_string_value(json_object_get(file, "_path"));
        if (name && !strcmp(name, path))
            return true;
    }
    return false;
}

bool parse_conda_record(const char *text, size_t size, const char *path, struct arena *arena,
                        struct trace_package *ret)
{
    json_error_t error;
    if (!may_list(text, size, path) || !json_is_affordable(text, size))
        return false;
    json_t *record = json_loadb(text, size, 0, &error);
    const char *name = json_string_value(json_object_get(record, "name"));
    const char *version = json_string_value(json_object_get(record, "version"));
    bool found = name && *name && version && *version &&
                 (is_in_files(record, path) || is_in_paths(record, path));
    if (found)
        *ret = (struct trace_package){.name = arena_strdup(arena, name),
                                      .version = arena_strdup(arena, version)};
    json_decref(record);
    return found && ret->name && ret->version;
}
