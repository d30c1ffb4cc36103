#include "short_name.h"

#include <stdlib.h>
#include <string.h>

/* Names that are alike when they are short get so often twice the room. */
#define ROUND_COUNT 5

struct name {
    const char *whole;
    const char *shown; /* In the arena, or `whole`; NULL: not settled. */
};

struct known_string {
    uint64_t address;
    size_t name;
};

/* How one or several names would be shown. */
struct proposal {
    const char *shown;
    size_t name; /* The first of them. */
    bool several;
};

struct short_names {
    struct arena *arena;
    struct hash_table strings; /* Of struct known_string. */
    struct hash_table names;   /* Of struct name, by what it says. */
};

struct short_names *short_names_create(void)
{
    struct short_names *names = calloc(1, sizeof(*names));
    if (!names)
        return NULL;
    names->strings = HASH_TABLE_OF(struct known_string);
    names->names = HASH_TABLE_OF(struct name);
    names->arena = arena_create();
    if (names->arena)
        return names;
    free(names);
    return NULL;
}

void short_names_destroy(struct short_names *names)
{
    if (!names)
        return;
    hash_table_deinit(&names->strings);
    hash_table_deinit(&names->names);
    arena_destroy(names->arena);
    free(names);
}

static struct name *name_at(const struct short_names *names, size_t index)
{
    return hash_table_at(&names->names, index);
}

static bool name_matches(const void *item, const void *key)
{
    return !strcmp(((const struct name *)item)->whole, key);
}

bool short_names_add(struct short_names *names, const char *name)
{
    if (hash_table_find(&names->strings, (uintptr_t)name))
        return true;
    uint64_t hash = hash_text(name, strlen(name));
    struct name *found = hash_table_find_by(&names->names, hash, name_matches, name);
    if (!found && (found = hash_table_add_by(&names->names, hash)))
        found->whole = name;
    if (!found)
        return false;
    size_t index = (size_t)(found - (struct name *)names->names.items);
    struct known_string *string = hash_table_add(&names->strings, (uintptr_t)name);
    if (string)
        string->name = index;
    return string != NULL;
}

static bool proposal_matches(const void *item, const void *key)
{
    return !strcmp(((const struct proposal *)item)->shown, key);
}

static bool propose(struct short_names *names, struct hash_table *proposals, size_t index,
                    size_t limit)
{
    struct text text = {0};
    short_name_add(&text, name_at(names, index)->whole, limit);
    const char *shown = text.failed ? NULL : arena_strdup(names->arena, text.data ? text.data : "");
    text_deinit(&text);
    if (!shown)
        return false;
    uint64_t hash = hash_text(shown, strlen(shown));
    struct proposal *found = hash_table_find_by(proposals, hash, proposal_matches, shown);
    if (found) {
        found->several = true;
        return true;
    }
    found = hash_table_add_by(proposals, hash);
    if (found)
        *found = (struct proposal){.shown = shown, .name = index};
    return found != NULL;
}

/* Names of which no other would be shown alike, in this round or before, are shown so. */
static bool settle_some(struct short_names *names, struct hash_table *proposals, size_t limit)
{
    size_t start = proposals->count;
    for (size_t i = 0; i < names->names.count; i++)
        if (!name_at(names, i)->shown && !propose(names, proposals, i, limit))
            return false;
    for (size_t i = start; i < proposals->count; i++) {
        const struct proposal *one = hash_table_at(proposals, i);
        if (!one->several)
            name_at(names, one->name)->shown = one->shown;
    }
    return true;
}

bool short_names_settle(struct short_names *names)
{
    struct hash_table proposals = HASH_TABLE_OF(struct proposal);
    size_t limit = SHORT_NAME_LIMIT;
    bool fine = true;
    for (unsigned round = 0; fine && round < ROUND_COUNT; round++, limit *= 2)
        fine = settle_some(names, &proposals, limit);
    for (size_t i = 0; i < names->names.count; i++)
        if (!name_at(names, i)->shown)
            name_at(names, i)->shown = name_at(names, i)->whole;
    hash_table_deinit(&proposals);
    return fine;
}

const char *short_names_get(const struct short_names *names, const char *name)
{
    const struct known_string *string = hash_table_find(&names->strings, (uintptr_t)name);
    const char *shown = string ? name_at(names, string->name)->shown : NULL;
    return shown ? shown : name;
}
