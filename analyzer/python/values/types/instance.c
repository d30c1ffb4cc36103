/* Instances by their attributes, exceptions, and the things that code is made of. */
#include "types.h"

#include "frames.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SPEC_LIMIT    64u
#define GLOBALS_LIMIT 4096u
#define OPEN_SIZE     320
#define SCAN_LIMIT    4096u

void value_add_identity(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    text_add_char(writer->text, '<');
    py_type_add_name(type, writer->text);
    text_printf(writer->text, " object at 0x%" PRIx64, object);
}

/* ---- attributes ---- */

void value_take_attributes(struct value_writer *writer, struct value_level *level,
                           const struct py_type *type, psc_addr object)
{
    struct python *python = writer->python;
    struct py_items items;
    psc_addr key;
    psc_addr value;
    for (size_t i = 0; i < type->slot_count; i++)
        if (target_read_u64(python->target, object + type->slots[i].offset, &value) == PSC_OK &&
            value)
            value_take(level, type->slots[i].name, value);
    if (py_attributes_open(python, object, &items) != PSC_OK)
        return;
    if (items.count > SCAN_LIMIT)
        items.count = SCAN_LIMIT;
    if (!py_value_spend(python, items.count))
        return;
    while (py_items_next(python, &items, &key, &value) == PSC_OK)
        value_take(level, key, value);
}

/* In the order of declaration; names of attributes are interned, so that addresses tell. */
static void sort_fields(struct value_writer *writer, struct value_level *level, psc_addr fields)
{
    struct py_items items;
    psc_addr key;
    psc_addr field;
    size_t sorted = 0;
    if (py_dict_open(writer->python, fields, &items) != PSC_OK)
        return;
    while (sorted < level->count && py_items_next(writer->python, &items, &key, &field) == PSC_OK) {
        size_t at = sorted;
        while (at < level->count && level->keys[at] != key)
            at++;
        if (at == level->count)
            continue;
        psc_addr value = level->values[at];
        memmove(&level->keys[sorted + 1], &level->keys[sorted], (at - sorted) * sizeof(psc_addr));
        memmove(&level->values[sorted + 1], &level->values[sorted],
                (at - sorted) * sizeof(psc_addr));
        level->keys[sorted] = key;
        level->values[sorted++] = value;
    }
}

static bool find_attribute(struct python *python, psc_addr object, const char *name, psc_addr *ret)
{
    struct py_items items;
    return py_attributes_open(python, object, &items) == PSC_OK &&
           py_items_find(python, &items, name, SPEC_LIMIT, ret) == PSC_OK;
}

bool value_find_attribute(struct python *python, const struct py_type *type, psc_addr object,
                          const char *name, psc_addr *ret)
{
    for (size_t i = 0; i < type->slot_count; i++)
        if (py_string_equals(python, type->slots[i].name, name))
            return target_read_u64(python->target, object + type->slots[i].offset, ret) == PSC_OK &&
                   *ret;
    return find_attribute(python, object, name, ret);
}

/* "<Color.RED: 1>" */
static void open_member(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    struct python *python = writer->python;
    psc_addr name;
    psc_addr value;
    bool named =
        find_attribute(python, object, "_name_", &name) && py_has_flags(python, name, PY_FLAG_STR);
    bool valued = find_attribute(python, object, "_value_", &value);
    text_printf(writer->text, "<%s", py_type_short_name(type));
    if (named) {
        text_add_char(writer->text, '.');
        value_add_name(writer, name);
    } else if (valued) {
        value_add_flag_names(writer, type, value);
    }
    if (!valued) {
        text_add_char(writer->text, '>');
        return;
    }
    struct value_level *level = value_push(writer, object, ": ", ">");
    if (level)
        value_take(level, 0, value);
}

void value_open_instance(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    if (type->enumeration) {
        open_member(writer, type, object);
        return;
    }
    if (type->data)
        text_add_string(writer->text, type->name);
    else
        value_add_identity(writer, type, object);
    size_t before = writer->text->size;
    struct value_level *level =
        value_push(writer, object, type->data ? "(" : ": ", type->data ? ")" : ">");
    if (!level)
        return;
    level->has_keys = true;
    level->attributes = true;
    value_take_attributes(writer, level, type, object);
    if (type->data)
        sort_fields(writer, level, type->data);
    else if (!level->count && !writer->text->failed)
        writer->text->data[writer->text->size = before] = '\0';
}

/* ---- exceptions ---- */

void value_open_exception(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    struct python *python = writer->python;
    psc_addr args;
    psc_addr items;
    size_t count;
    text_add_string(writer->text, py_type_short_name(type));
    if (py_read_u64(python, object, PY_EXC_ARGS, &args) != PSC_OK ||
        py_read_tuple(python, args, &count, &items) != PSC_OK) {
        text_add_string(writer->text, "(?)");
        return;
    }
    struct value_level *level = value_push(writer, object, "(", ")");
    if (level)
        value_take_array(writer, level, items, count);
}

/* ---- of three parts ---- */

void value_open_slice(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    static const enum py_field parts[] = {PY_SLICE_START, PY_SLICE_STOP, PY_SLICE_STEP};
    struct value_level *level = value_push(writer, object, "slice(", ")");
    psc_addr part;
    (void)type;
    for (size_t i = 0; level && i < PSC_ARRAY_SIZE(parts); i++)
        if (py_read_u64(writer->python, object, parts[i], &part) == PSC_OK)
            value_take(level, 0, part);
}

/* CPython 2.7, Objects/rangeobject.c, range_repr(). */
static void add_xrange(struct value_writer *writer, psc_addr object)
{
    struct python *python = writer->python;
    uint64_t start = 0;
    uint64_t step = 1;
    uint64_t count;
    if (py_read_u64(python, object, PY_RANGE_START, &start) != PSC_OK ||
        py_read_u64(python, object, PY_RANGE_STEP, &step) != PSC_OK ||
        py_read_u64(python, object, PY_RANGE_COUNT, &count) != PSC_OK) {
        text_add_string(writer->text, "<xrange: not readable>");
        return;
    }
    int64_t stop = (int64_t)(start + count * step);
    if (start == 0 && step == 1)
        text_printf(writer->text, "xrange(%" PRId64 ")", stop);
    else if (step == 1)
        text_printf(writer->text, "xrange(%" PRId64 ", %" PRId64 ")", (int64_t)start, stop);
    else
        text_printf(writer->text, "xrange(%" PRId64 ", %" PRId64 ", %" PRId64 ")", (int64_t)start,
                    stop, (int64_t)step);
}

void value_open_range(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    if (py_is_2(writer->python)) {
        add_xrange(writer, object);
        return;
    }
    static const enum py_field parts[] = {PY_RANGE_START, PY_RANGE_STOP, PY_RANGE_STEP};
    struct value_level *level = value_push(writer, object, "range(", ")");
    psc_addr part;
    uint64_t step;
    (void)type;
    for (size_t i = 0; level && i < PSC_ARRAY_SIZE(parts); i++)
        if (py_read_u64(writer->python, object, parts[i], &part) == PSC_OK &&
            (i < 2 || py_read_int(writer->python, part, &step) != PSC_OK || step != 1))
            value_take(level, 0, part);
}

/* ---- functions ---- */

static void add_string_member(struct value_writer *writer, psc_addr object, enum py_field field)
{
    psc_addr string = 0;
    if (py_read_u64(writer->python, object, field, &string) != PSC_OK)
        string = 0;
    value_add_name(writer, string);
}

void value_add_function(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    text_printf(writer->text, "<%s ", type->name);
    add_string_member(writer, object, PY_FUNC_QUALNAME);
    text_printf(writer->text, " at 0x%" PRIx64 ">", object);
}

static void add_suspension(struct value_writer *writer, psc_addr object)
{
    struct py_generator generator;
    struct python_location place;
    const char *word = NULL;
    if (py_generator_read(writer->python, object, &generator) != PSC_OK)
        return;
    switch (generator.state) {
    case PY_GENERATOR_CREATED:
        word = "not started";
        break;
    case PY_GENERATOR_SUSPENDED:
    case PY_GENERATOR_AWAITING:
        word = "suspended";
        break;
    case PY_GENERATOR_RUNNING:
        word = "running";
        break;
    case PY_GENERATOR_ENDED:
        word = "ended";
        break;
    case PY_GENERATOR_UNKNOWN:
        return;
    }
    text_printf(writer->text, ", %s", word);
    if (generator.state == PY_GENERATOR_ENDED || generator.state == PY_GENERATOR_RUNNING ||
        python_read_location(writer->python, &generator.frame, &place) != PSC_OK || !place.file ||
        !place.line)
        return;
    text_printf(writer->text, " at %s:%" PRIu32, place.file, place.line);
}

/* As repr() has it, and where it stands. */
void value_add_generator(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    psc_addr code = 0;
    text_printf(writer->text, "<%s object ", type->name);
    /* 2.7's generators have no name of their own. */
    if (py_read_u64(writer->python, object, PY_GEN_CODE, &code) == PSC_OK)
        add_string_member(writer, code, PY_CODE_NAME);
    else
        add_string_member(writer, object, PY_GEN_QUALNAME);
    text_printf(writer->text, " at 0x%" PRIx64, object);
    add_suspension(writer, object);
    text_add_char(writer->text, '>');
}

/* "Class." of a method of 2.7, whose function does not know its class. */
static void add_class_prefix(struct value_writer *writer, psc_addr method)
{
    struct python *python = writer->python;
    const struct py_type *class;
    psc_addr object;
    if (py_read_u64(python, method, PY_METHOD_CLASS, &object) != PSC_OK)
        return;
    if (py_type_find(python, object, &class) == PSC_OK)
        text_add_string(writer->text, py_type_short_name(class));
    else
        value_add_name(writer, value_old_name(python, object));
    text_add_char(writer->text, '.');
}

void value_open_method(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    struct python *python = writer->python;
    const struct py_type *callable;
    psc_addr function = 0;
    psc_addr self = 0;
    if (py_read_u64(python, object, PY_METHOD_FUNC, &function) != PSC_OK ||
        py_read_u64(python, object, PY_METHOD_SELF, &self) != PSC_OK)
        function = 0;
    (void)type;
    text_add_string(writer->text, self ? "<bound method " : "<unbound method ");
    if (py_is_2(python))
        add_class_prefix(writer, object);
    if (py_type_of(python, function, &callable) == PSC_OK && callable->kind == PY_KIND_FUNCTION)
        add_string_member(writer, function, PY_FUNC_QUALNAME);
    else
        text_add_char(writer->text, '?');
    if (!self) {
        text_add_char(writer->text, '>');
        return;
    }
    struct value_level *level = value_push(writer, object, " of ", ">");
    if (level)
        value_take(level, 0, self);
}

void value_open_builtin(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    struct python *python = writer->python;
    const struct py_type *owner = NULL;
    char name[128] = "?";
    psc_addr definition;
    psc_addr at;
    psc_addr self = 0;
    if (py_read_u64(python, object, PY_BUILTIN_DEF, &definition) != PSC_OK ||
        py_read_u64(python, definition, PY_METHODDEF_NAME, &at) != PSC_OK ||
        target_read_string(python->target, at, name, sizeof(name)) != PSC_OK)
        memcpy(name, "?", 2);
    if (py_read_u64(python, object, PY_BUILTIN_SELF, &self) != PSC_OK ||
        py_type_of(python, self, &owner) != PSC_OK)
        owner = NULL;
    (void)type;
    if (!owner || owner->kind == PY_KIND_MODULE)
        text_printf(writer->text, "<built-in function %s>", name);
    else
        text_printf(writer->text, "<built-in method %s of %s object at 0x%" PRIx64 ">", name,
                    py_type_short_name(owner), self);
}

void value_add_type(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    const struct py_type *shown;
    (void)type;
    if (py_type_find(writer->python, object, &shown) != PSC_OK) {
        text_printf(writer->text, "<class at 0x%" PRIx64 ": not readable>", object);
        return;
    }
    text_add_string(writer->text, py_is_2(writer->python) && !(shown->flags & PY_FLAG_HEAPTYPE)
                                      ? "<type '"
                                      : "<class '");
    py_type_add_name(shown, writer->text);
    text_add_string(writer->text, "'>");
}

/* ---- modules ---- */

static bool find_global(struct python *python, psc_addr module, const char *name, psc_addr *ret)
{
    psc_addr dict;
    struct py_items items;
    return py_read_u64(python, module, PY_MODULE_DICT, &dict) == PSC_OK &&
           py_dict_open(python, dict, &items) == PSC_OK && py_value_spend(python, items.count) &&
           py_items_find(python, &items, name, GLOBALS_LIMIT, ret) == PSC_OK;
}

/* Where a module came from, as importlib's spec says: a file, or in one word ("built-in"). */
struct origin {
    psc_addr file; /* A str, or 0. */
    const char *word;
};

static const char *importer_word(struct python *python, psc_addr spec)
{
    const struct py_type *importer;
    psc_addr loader;
    if (!find_attribute(python, spec, "loader", &loader) ||
        py_type_find(python, loader, &importer) != PSC_OK)
        return NULL;
    return !strcmp(importer->name, "BuiltinImporter")  ? "built-in"
           : !strcmp(importer->name, "FrozenImporter") ? "frozen"
                                                       : NULL;
}

/* CPython, Lib/importlib/_bootstrap.py, _module_repr_from_spec(). */
static struct origin read_origin(struct python *python, psc_addr module)
{
    struct origin origin = {0};
    psc_addr spec;
    psc_addr place = 0;
    psc_addr has_file;
    uint64_t is_file = 0;
    struct py_items items;
    if (!find_global(python, module, "__spec__", &spec) ||
        py_attributes_open(python, spec, &items) != PSC_OK) {
        if (find_global(python, module, "__file__", &place))
            origin.file = place;
        else if (py_is_2(python))
            origin.word = "built-in";
        return origin;
    }
    if (find_attribute(python, spec, "_set_fileattr", &has_file) &&
        py_read_int(python, has_file, &is_file) != PSC_OK)
        is_file = 0;
    if (!find_attribute(python, spec, "origin", &place) ||
        !py_has_flags(python, place, PY_FLAG_STR))
        origin.word = importer_word(python, spec);
    else if (is_file)
        origin.file = place;
    else if (py_read_string(python, place, VALUE_CHARACTERS, &origin.word) != PSC_OK)
        origin.word = NULL;
    return origin;
}

static void add_quoted(struct value_writer *writer, const struct py_type *type, psc_addr string)
{
    if (py_is_2(writer->python))
        value_add_bytes(writer, type, string);
    else
        value_add_str(writer, type, string);
}

void value_add_module(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    struct text *text = writer->text;
    struct origin origin = read_origin(writer->python, object);
    psc_addr name;
    text_add_string(text, "<module ");
    if (!find_global(writer->python, object, "__name__", &name))
        text_add_char(text, '?');
    else
        add_quoted(writer, type, name);
    if (origin.file) {
        text_add_string(text, " from ");
        add_quoted(writer, type, origin.file);
    } else if (origin.word) {
        text_printf(text, " (%s)", origin.word);
    }
    text_add_char(text, '>');
}
