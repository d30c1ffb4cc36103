/* Where the .pyx files of a target's modules are: hundreds of frames are of a few of them. */
#include "cython_private.h"

struct known_source {
    struct cython_source source;
    struct cython_place place;
    bool refused; /**< For lack of rights some place was not looked at. */
};

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

static bool is_source(const void *item, const void *key)
{
    const struct cython_source *a = &((const struct known_source *)item)->source, *b = key;
    return same_text(a->module->path, b->module->path) && same_text(a->pyx_file, b->pyx_file) &&
           same_text(a->c_file, b->c_file);
}

static uint64_t hash_source(const struct cython_source *source)
{
    const char *path = source->module->path ? source->module->path : "";
    return hash_pair(hash_text(path, strlen(path)),
                     hash_text(source->pyx_file, strlen(source->pyx_file)));
}

void cython_sources_init(struct hash_table *sources)
{
    hash_table_init(sources, sizeof(struct known_source));
}

const struct cython_place *cython_sources_find(const struct hash_table *sources,
                                               const struct cython_source *source)
{
    const struct known_source *known =
        hash_table_find_by(sources, hash_source(source), is_source, source);
    return known ? &known->place : NULL;
}

const struct cython_place *cython_sources_find_certain(const struct hash_table *sources,
                                                       const struct cython_source *source)
{
    const struct known_source *known =
        hash_table_find_by(sources, hash_source(source), is_source, source);
    return known && !known->refused ? &known->place : NULL;
}

const struct cython_place *cython_sources_add(struct hash_table *sources,
                                              const struct cython_source *source,
                                              const struct cython_place *kept, struct arena *keep)
{
    struct known_source known = {.source = *source};
    const struct target *target = modules_target(source->module->owner);
    const size_t refused = target->refused;
    known.source.pyx_file = arena_strdup(keep, source->pyx_file);
    known.source.c_file = source->c_file ? arena_strdup(keep, source->c_file) : NULL;
    if (kept) {
        known.place = *kept;
    } else {
        cython_find_source(source, keep, &known.place);
        module_note_source(source->module, source->c_file ? source->c_file : "", source->pyx_file);
    }
    struct known_source *added =
        arena_is_exhausted(keep) ? NULL : hash_table_add_by(sources, hash_source(source));
    if (!added)
        return NULL;
    *added = known;
    added->refused = target->refused != refused;
    return &added->place;
}
