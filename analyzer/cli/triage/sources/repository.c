/* Which frames are of the repository. */
#include "sources_private.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Parts of a name, from its end: a repository is not deeper. */
#define PART_LIMIT 64u

static char *absolute(const char *folder)
{
    char *here = *folder == '/' ? NULL : getcwd(NULL, 0), *joined = NULL;
    if (*folder == '/')
        return strdup(folder);
    if (here && strcmp(folder, ".") != 0 && asprintf(&joined, "%s/%s", here, folder) < 0)
        joined = NULL;
    if (!here || !strcmp(folder, "."))
        return here;
    free(here);
    return joined;
}

struct sources *sources_open(const char *repository)
{
    struct sources *sources = calloc(1, sizeof(*sources));
    const char *workspace = getenv("GITHUB_WORKSPACE");
    if (!repository)
        repository = workspace && *workspace ? workspace : ".";
    if (!sources)
        return NULL;
    sources->folder = absolute(repository);
    sources->real = sources->folder ? realpath(sources->folder, NULL) : NULL;
    for (size_t end = sources->folder ? strlen(sources->folder) : 0;
         end > 1 && sources->folder[end - 1] == '/'; end--)
        sources->folder[end - 1] = '\0';
    return sources;
}

const char *sources_folder(const struct sources *sources)
{
    return sources->real && sources->real[1] ? sources->real : NULL;
}

static const char *text_of(const json_t *frame, const char *member)
{
    const char *text = json_string_value(json_object_get(frame, member));
    return text ? text : "";
}

/* Of the interpreter, or of an installed package: /usr/lib/python3.11/, .../site-packages/. */
static bool is_library(const char *path)
{
    const char *python = strstr(path, "/lib/python");
    return strstr(path, "/site-packages/") || strstr(path, "/dist-packages/") ||
           !strncmp(path, "site-packages/", 14) || (python && strchr(python + 11, '/')) ||
           strstr(path, "/lib64/python");
}

bool frame_is_own(const json_t *frame)
{
    const char *kind = text_of(frame, "kind"), *path = text_of(frame, "file");
    return (!strcmp(kind, "python") || !strcmp(kind, "cython")) && *path && *path != '<' &&
           !is_library(path);
}

/* The rest of a path below a folder; NULL: it lies elsewhere, or climbs out. */
static const char *below(const char *folder, const char *path)
{
    size_t length = folder ? strlen(folder) : 0;
    if (!length || strncmp(path, folder, length) != 0 || path[length] != '/')
        return NULL;
    path += length;
    while (*path == '/')
        path++;
    return *path && !strstr(path, "/../") && strncmp(path, "../", 3) != 0 ? path : NULL;
}

/* A file of the repository that can be the frame's. */
static bool fits(struct sources *sources, const json_t *frame, const char *rest)
{
    char *path = NULL;
    const char *name = text_of(frame, "name");
    const json_int_t line = json_integer_value(json_object_get(frame, "line"));
    if (strstr(rest, "../") || asprintf(&path, "%s/%s", sources->real, rest) < 0)
        return false;
    const struct source_file *file = read_source(sources, path);
    free(path);
    if (!file || !file->text || line < 1 || (size_t)line > file->line_count)
        return false;
    sources->searched += file->size / SOURCE_COST_BYTES;
    return !*name || *name == '<' || source_names(file, name);
}

static size_t count_slashes(const char *path)
{
    size_t count = 0;
    while ((path = strchr(path, '/'))) {
        count++;
        path++;
    }
    return count;
}

/* The longest end of the path that is a file of the repository. */
static const char *find_end(struct sources *sources, const json_t *frame, const char *path)
{
    const bool native = !strcmp(text_of(frame, "kind"), "native");
    while (!strncmp(path, "./", 2))
        path += 2;
    size_t parts = count_slashes(path);
    for (const char *rest = path; rest && !sources_are_exhausted(sources);
         rest = strchr(rest, '/')) {
        for (; parts > PART_LIMIT && *rest; rest++)
            parts -= *rest == '/';
        while (*rest == '/')
            rest++;
        // The bare name of a C file is anybody's.
        if (!*rest || (native && rest != path && !strchr(rest, '/')))
            break;
        if (fits(sources, frame, rest))
            return rest;
    }
    return NULL;
}

static const char *below_repository(const struct sources *sources, const char *path)
{
    const char *rest = below(sources->folder, path);
    return rest ? rest : below(sources->real, path);
}

const char *sources_path(struct sources *sources, const json_t *frame)
{
    const char *path = text_of(frame, "file");
    // What is longer is no file's name.
    if (!*path || *path == '<' || strnlen(path, PATH_MAX) == PATH_MAX || is_library(path) ||
        !sources->real)
        return NULL;
    char *local = sources_find_local(sources, path);
    const char *rest = local ? below_repository(sources, local) : NULL;
    if (!rest)
        rest = below_repository(sources, path);
    if (!rest)
        rest = find_end(sources, frame, path);
    char *copy = rest ? strdup(rest) : NULL;
    free(local);
    if (!copy)
        return NULL;
    free(sources->found);
    sources->found = copy;
    return copy;
}

const json_t *sources_nearest(struct sources *sources, const json_t *frames, const char **ret_path)
{
    *ret_path = NULL;
    for (size_t i = 0; i < json_array_size(frames); i++) {
        const json_t *frame = json_array_get(frames, i);
        if (json_is_true(json_object_get(frame, "hidden")) ||
            !strcmp(text_of(frame, "kind"), "gap"))
            continue;
        *ret_path = sources_path(sources, frame);
        if (*ret_path)
            return frame;
    }
    return NULL;
}

bool sources_mask(struct sources *sources, const char *report)
{
    if (!sources->secrets)
        sources->secrets = redact_secrets_create();
    return sources->secrets && redact_secrets_learn(sources->secrets, report, strlen(report));
}

/* Before a format writes its quotes in ways of its own. */
static const char *mask_line(struct sources *sources, const char *text, size_t *size)
{
    text_deinit(&sources->masked);
    sources->masked = (struct text){0};
    redact_text_knowing(sources->secrets, text, *size, &sources->masked);
    *size = sources->masked.failed ? 0 : sources->masked.size;
    return sources->masked.failed ? NULL : sources->masked.data;
}

const char *sources_frame_line(struct sources *sources, const json_t *frame, size_t *ret_size)
{
    const char *path = text_of(frame, "file");
    const json_int_t line = json_integer_value(json_object_get(frame, "line"));
    char *here = NULL;
    if (sources->secrets && redact_secrets_are_full(sources->secrets))
        return NULL;
    if (line < 1 || !*path || *path == '<')
        return NULL;
    char *local = sources_find_local(sources, path);
    const char *text = local ? sources_line(sources, local, line, ret_size) : NULL;
    free(local);
    if (!text && *path == '/')
        text = sources_line(sources, path, line, ret_size);
    const char *rest = text ? NULL : sources_path(sources, frame);
    if (rest && asprintf(&here, "%s/%s", sources->real, rest) >= 0)
        text = sources_line(sources, here, line, ret_size);
    free(here);
    return text && *ret_size && sources->secrets ? mask_line(sources, text, ret_size) : text;
}
