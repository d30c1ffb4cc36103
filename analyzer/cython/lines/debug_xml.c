/*
 * The line table of `cython --gdb` (Cython/Debugger/DebugWriter.py): elements
 * <LineNumber src_path="..." src_lineno="12" c_linenos="100 101"/> since 3.0, and
 * <LineNumber cython_lineno="12" c_linenos="..."/> of the module's file in 0.29.
 */
#include "lines_private.h"

#include <stdlib.h>

/* More C lines than any generated file has. */
#define ENTRY_LIMIT ((size_t)1 << 24)

struct entry {
    uint32_t c_line;
    uint32_t line;
    struct slice file;
};

struct entries {
    struct arena *arena;
    struct entry *items;
    size_t count;
    size_t capacity;
    struct slice module_name;
    bool without_files; /**< As 0.29 writes it. */
};

/** The raw value of `name="..."` in an element; false when there is none. */
static bool find_attribute(struct slice element, const char *name, struct slice *ret)
{
    size_t size = strlen(name);
    for (size_t at = 0; element.size - at > size + 2; at++) {
        const char *found = memmem(element.data + at, element.size - at, name, size);
        if (!found)
            return false;
        at = (size_t)(found - element.data);
        struct slice rest = slice_from(element, at + size);
        bool begins = at && (found[-1] == ' ' || found[-1] == '\n' || found[-1] == '\t');
        if (!begins || rest.size < 2 || rest.data[0] != '=' ||
            (rest.data[1] != '"' && rest.data[1] != '\''))
            continue;
        const char *end = memchr(rest.data + 2, rest.data[1], rest.size - 2);
        if (!end)
            return false;
        *ret = (struct slice){rest.data + 2, (size_t)(end - rest.data) - 2};
        return true;
    }
    return false;
}

/** With the references that XML's writers must use put back. */
static struct slice decode(struct arena *arena, struct slice raw)
{
    static const struct {
        const char *reference;
        char is;
    } references[] = {
        {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};
    char *text = arena_strndup(arena, raw.data, raw.size);
    size_t size = 0;
    if (!text)
        return raw;
    while (raw.size) {
        char is = *raw.data;
        size_t skip = 1;
        for (size_t i = 0; is == '&' && i < PSC_ARRAY_SIZE(references); i++) {
            if (slice_starts(raw, references[i].reference)) {
                skip = strlen(references[i].reference);
                text[size] = references[i].is;
            }
        }
        if (skip == 1)
            text[size] = is;
        size++;
        raw = slice_from(raw, skip);
    }
    text[size] = '\0';
    return (struct slice){text, size};
}

/** The next number in a list; false after the last. */
static bool next_number(struct slice *list, uint32_t *ret)
{
    uint64_t number = 0;
    while (list->size && !slice_digits(*list))
        *list = slice_from(*list, 1);
    size_t digits = slice_digits(*list);
    for (size_t i = 0; i < digits && number <= UINT32_MAX; i++)
        number = number * 10 + (uint64_t)(list->data[i] - '0');
    *list = slice_from(*list, digits);
    *ret = number < UINT32_MAX ? (uint32_t)number : 0;
    return digits > 0;
}

static bool add_element(struct entries *entries, struct slice element, struct slice *file)
{
    struct slice path, lines, list;
    uint32_t line, c_line;
    entries->without_files |= !find_attribute(element, "src_path", &path);
    if (find_attribute(element, "src_path", &path) &&
        (path.size != file->size || memcmp(path.data, file->data, path.size) != 0))
        *file = decode(entries->arena, path);
    if (!(find_attribute(element, "src_lineno", &lines) ||
          find_attribute(element, "cython_lineno", &lines)) ||
        !find_attribute(element, "c_linenos", &list) || !next_number(&lines, &line) || !line ||
        !file->size || memchr(file->data, '\0', file->size))
        return true;
    while (next_number(&list, &c_line)) {
        if (!c_line)
            continue;
        if (entries->count == ENTRY_LIMIT ||
            !array_reserve((void **)&entries->items, &entries->capacity, entries->count + 1,
                           sizeof(*entries->items)))
            return false;
        entries->items[entries->count++] = (struct entry){c_line, line, *file};
    }
    return true;
}

/** The element that begins with `<name ` at or behind *at, which is moved behind it. */
static bool next_element(struct slice text, const char *name, size_t *at, struct slice *ret)
{
    const char *found = memmem(text.data + *at, text.size - *at, name, strlen(name));
    const char *end = found ? memchr(found, '>', text.size - (size_t)(found - text.data)) : NULL;
    if (!end)
        return false;
    *ret = (struct slice){found, (size_t)(end - found)};
    *at = (size_t)(end - text.data);
    return true;
}

static bool collect(struct slice text, struct entries *entries)
{
    struct slice element = {"", 0}, raw, file = {"", 0};
    size_t at = 0;
    if (next_element(text, "<Module ", &at, &element) && find_attribute(element, "filename", &raw))
        file = decode(entries->arena, raw);
    if (element.size && find_attribute(element, "module_name", &raw))
        entries->module_name = decode(entries->arena, raw);
    while (next_element(text, "<LineNumber ", &at, &element))
        if (!add_element(entries, element, &file))
            return false;
    return true;
}

static int compare_entries(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    return a->c_line < b->c_line ? -1 : a->c_line > b->c_line;
}

enum psc_status parse_cython_xml(const char *text, size_t size, struct cython_lines **ret)
{
    struct entries entries = {.arena = arena_create(), .module_name = {"", 0}};
    struct cython_lines *lines = cython_lines_create();
    bool fine = lines && entries.arena && (!size || collect((struct slice){text, size}, &entries));
    if (fine && entries.count)
        qsort(entries.items, entries.count, sizeof(*entries.items), compare_entries);
    for (size_t i = 0; fine && i < entries.count; i++) {
        const struct entry *entry = &entries.items[i];
        // What two lines claim belongs to neither.
        bool shared = (i && entry[-1].c_line == entry->c_line) ||
                      (i + 1 < entries.count && entry[1].c_line == entry->c_line);
        if (!shared)
            fine = cython_lines_add(lines, entry->file, entry->c_line, entry->line);
    }
    if (fine && entries.without_files)
        cython_lines_limit(lines, entries.module_name);
    free(entries.items);
    arena_destroy(entries.arena);
    if (!fine) {
        cython_lines_destroy(lines);
        return PSC_ERR_MEMORY;
    }
    *ret = lines;
    return PSC_OK;
}
