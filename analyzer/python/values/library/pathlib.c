/* pathlib's paths of POSIX: what the constructor was given, or what became of it. */
#include "library.h"

#include <string.h>

#define PART_LIMIT      256u
#define CHARACTER_LIMIT 4096u /* PATH_MAX of Linux (limits.h). */

/* One that is longer is shown by its attributes. */
struct path_text {
    uint32_t characters[CHARACTER_LIMIT];
    size_t count;
};

static bool add_character(struct path_text *path, uint32_t character)
{
    if (path->count == CHARACTER_LIMIT)
        return false;
    path->characters[path->count++] = character;
    return true;
}

static bool add_part(struct python *python, struct path_text *path, psc_addr object)
{
    uint8_t buffer[4 * CHARACTER_LIMIT];
    struct py_characters shape;
    if (py_string_open(python, object, &shape) != PSC_OK ||
        shape.length > CHARACTER_LIMIT - path->count ||
        target_read(python->target, shape.data, buffer, (size_t)shape.length * shape.width) !=
            PSC_OK)
        return false;
    for (size_t i = 0; i < shape.length; i++)
        path->characters[path->count++] = shape.width == 1   ? buffer[i]
                                          : shape.width == 2 ? load_u16(buffer + 2 * i)
                                                             : load_u32(buffer + 4 * i);
    return true;
}

static bool read_parts(struct python *python, psc_addr list, psc_addr *ret_items,
                       uint64_t *ret_count)
{
    return py_has_flags(python, list, PY_FLAG_LIST) &&
           py_read_u64(python, list, PY_VAR_SIZE, ret_count) == PSC_OK &&
           *ret_count <= PART_LIMIT &&
           py_read_u64(python, list, PY_LIST_ITEMS, ret_items) == PSC_OK;
}

/* "/" and "a", "b"; up to 3.11 the first part is the root once more. */
static bool join_parts(struct python *python, psc_addr root, psc_addr list, bool has_root,
                       struct path_text *ret)
{
    psc_addr items;
    psc_addr part;
    uint64_t count;
    ret->count = 0;
    if (!add_part(python, ret, root) || !read_parts(python, list, &items, &count))
        return false;
    const uint64_t first = has_root && ret->count;
    for (uint64_t i = first; i < count; i++)
        if ((i > first && !add_character(ret, '/')) ||
            target_read_u64(python->target, items + 8 * i, &part) != PSC_OK ||
            !add_part(python, ret, part))
            return false;
    return true;
}

/* CPython, Lib/posixpath.py, splitroot(): two slashes are a root of their own, three are one. */
static size_t root_size(const struct path_text *path)
{
    size_t slashes = 0;
    while (slashes < path->count && path->characters[slashes] == '/')
        slashes++;
    return slashes > 2 ? 1 : slashes;
}

/* Without empty parts and ".": CPython 3.12, Lib/pathlib.py, _parse_path(). */
static void normalise(struct path_text *path)
{
    size_t end = root_size(path);
    size_t root = end;
    for (size_t at = end; at < path->count;) {
        size_t size = 0;
        while (at + size < path->count && path->characters[at + size] != '/')
            size++;
        if (size > 1 || (size == 1 && path->characters[at] != '.')) {
            if (end > root)
                path->characters[end++] = '/';
            memmove(&path->characters[end], &path->characters[at], size * sizeof(uint32_t));
            end += size;
        }
        at += size + 1;
    }
    path->count = end;
}

/* CPython, Lib/posixpath.py, join(). */
static bool join_given(struct python *python, psc_addr list, struct path_text *ret)
{
    psc_addr items;
    psc_addr part;
    uint64_t count;
    ret->count = 0;
    if (!read_parts(python, list, &items, &count))
        return false;
    for (uint64_t i = 0; i < count; i++) {
        if (ret->count && ret->characters[ret->count - 1] != '/' && !add_character(ret, '/'))
            return false;
        size_t start = ret->count;
        if (target_read_u64(python->target, items + 8 * i, &part) != PSC_OK ||
            !add_part(python, ret, part))
            return false;
        if (ret->count > start && ret->characters[start] == '/') {
            ret->count -= start;
            memmove(ret->characters, &ret->characters[start], ret->count * sizeof(uint32_t));
        }
    }
    normalise(ret);
    return true;
}

static bool read_path(struct python *python, const struct py_type *type, psc_addr object,
                      struct path_text *ret)
{
    const struct py_path_attributes *names = layout_path_attributes();
    psc_addr root;
    psc_addr found;
    ret->count = 0;
    if (value_find_attribute(python, type, object, names->text, &found))
        return add_part(python, ret, found);
    bool rooted = value_find_attribute(python, type, object, names->root, &root);
    if (rooted && value_find_attribute(python, type, object, names->all_parts, &found))
        return join_parts(python, root, found, true, ret);
    if (rooted && value_find_attribute(python, type, object, names->tail, &found))
        return join_parts(python, root, found, false, ret);
    return value_find_attribute(python, type, object, names->given, &found) &&
           join_given(python, found, ret);
}

void value_open_path(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    struct path_text path;
    if (!read_path(writer->python, type, object, &path) ||
        (!path.count && !add_character(&path, '.'))) {
        value_open_instance(writer, type, object);
        return;
    }
    text_add_string(writer->text, py_type_short_name(type));
    text_add_char(writer->text, '(');
    size_t shown = writer->python->limits.length;
    shown = shown < path.count ? shown : path.count;
    format_str((const uint8_t *)path.characters, shown, sizeof(uint32_t), writer->text);
    value_add_rest(writer->text, path.count - shown);
    text_add_char(writer->text, ')');
}
