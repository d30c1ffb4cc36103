/* What writes the values of each kind, and the way through all that an object leads to. */
#include "values.h"

#include "library.h"

#include <inttypes.h>
#include <string.h>

/* What one object costs of what all may. */
#define OBJECT_STEPS 32u

/* ---- one object ---- */

/* What contains itself is shown as repr() does. */
static void add_again(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    const char *again = type->kind == PY_KIND_LIST || type->kind == PY_KIND_DEQUE ? "[...]"
                        : type->kind == PY_KIND_DICT                              ? "{...}"
                        : type->kind == PY_KIND_TUPLE                             ? "(...)"
                                                                                  : NULL;
    if (again) {
        text_add_string(writer->text, again);
        return;
    }
    value_add_identity(writer, type, object);
    text_add_char(writer->text, '>');
}

static void add_unreadable(struct value_writer *writer, psc_addr object)
{
    if (object)
        text_printf(writer->text, "<no object at 0x%" PRIx64 ">", object);
    else
        text_add_string(writer->text, "<NULL>");
}

static void add_singleton(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    (void)object;
    text_add_string(writer->text, type->kind == PY_KIND_NONE       ? "None"
                                  : type->kind == PY_KIND_ELLIPSIS ? "Ellipsis"
                                                                   : "NotImplemented");
}

/* One for each enum py_kind. A class derived from a plain one is shown as Name(...). */
static const struct {
    void (*add)(struct value_writer *writer, const struct py_type *type, psc_addr object);
    bool plain;
} kinds[] = {
    [PY_KIND_OBJECT] = {value_open_instance, false},
    [PY_KIND_NONE] = {add_singleton, false},
    [PY_KIND_ELLIPSIS] = {add_singleton, false},
    [PY_KIND_NOT_IMPLEMENTED] = {add_singleton, false},
    [PY_KIND_BOOL] = {value_add_int, false},
    [PY_KIND_INT] = {value_add_int, true},
    [PY_KIND_PLAIN_INT] = {value_add_plain_int, true},
    [PY_KIND_FLOAT] = {value_add_float, true},
    [PY_KIND_COMPLEX] = {value_add_complex, true},
    [PY_KIND_STR] = {value_add_str, true},
    [PY_KIND_BYTES] = {value_add_bytes, true},
    [PY_KIND_BYTEARRAY] = {value_add_bytearray, false},
    [PY_KIND_TUPLE] = {value_open_tuple, true},
    [PY_KIND_LIST] = {value_open_list, true},
    [PY_KIND_DICT] = {value_open_dict, true},
    [PY_KIND_SET] = {value_open_set, false},
    [PY_KIND_FROZENSET] = {value_open_set, false},
    [PY_KIND_DEQUE] = {value_open_deque, false},
    [PY_KIND_SLICE] = {value_open_slice, false},
    [PY_KIND_RANGE] = {value_open_range, false},
    [PY_KIND_FUNCTION] = {value_add_function, false},
    [PY_KIND_METHOD] = {value_open_method, false},
    [PY_KIND_BUILTIN] = {value_open_builtin, false},
    [PY_KIND_TYPE] = {value_add_type, false},
    [PY_KIND_MODULE] = {value_add_module, false},
    [PY_KIND_GENERATOR] = {value_add_generator, false},
    [PY_KIND_CELL] = {value_add_cell, false},
    [PY_KIND_MEMBER] = {value_add_descriptor, false},
    [PY_KIND_EXCEPTION] = {value_open_exception, false},
    [PY_KIND_OLD_INSTANCE] = {value_open_old_instance, false},
    [PY_KIND_OLD_CLASS] = {value_add_old_class, false},
    [PY_KIND_DATE] = {value_open_time, false},
    [PY_KIND_DATETIME] = {value_open_time, false},
    [PY_KIND_TIME] = {value_open_time, false},
    [PY_KIND_TIMEDELTA] = {value_open_time, false},
    [PY_KIND_TIMEZONE] = {value_open_time, false},
    [PY_KIND_MAPPINGPROXY] = {value_open_proxy, false},
    [PY_KIND_DICTVIEW] = {value_open_view, false},
    [PY_KIND_WEAKREF] = {value_add_weakref, false},
    [PY_KIND_MEMORYVIEW] = {value_add_memoryview, false},
    [PY_KIND_DECIMAL] = {value_add_decimal, false},
    [PY_KIND_UUID] = {value_add_uuid, false},
    [PY_KIND_PATTERN] = {value_add_pattern, false},
    [PY_KIND_PATH] = {value_open_path, false},
    [PY_KIND_CYFUNCTION] = {value_add_cyfunction, false},
    [PY_KIND_CLOSURE] = {value_open_closure, false},
    [PY_KIND_NUMPY_ARRAY] = {value_open_numpy_array, false},
    [PY_KIND_NUMPY_SCALAR] = {value_add_numpy_scalar, false},
    [PY_KIND_NUMPY_TEXT] = {value_add_numpy_scalar, false},
    [PY_KIND_NUMPY_DTYPE] = {value_add_numpy_dtype, false},
    [PY_KIND_CODE] = {value_add_code, false},
    [PY_KIND_FRAME] = {value_add_frame, false},
    [PY_KIND_SUPER] = {value_add_super, false},
    [PY_KIND_METHOD_WRAPPER] = {value_add_method_wrapper, false},
    [PY_KIND_SLOT_WRAPPER] = {value_add_descriptor, false},
    [PY_KIND_METHOD_DESCRIPTOR] = {value_add_descriptor, false},
    [PY_KIND_ATTRIBUTE] = {value_add_descriptor, false},
    [PY_KIND_STATIC_METHOD] = {value_open_static_method, false},
    [PY_KIND_CLASS_METHOD] = {value_open_static_method, false},
    [PY_KIND_CAPSULE] = {value_add_capsule, false},
    [PY_KIND_ALIAS] = {value_open_alias, false},
    [PY_KIND_UNION] = {value_open_alias, false},
    [PY_KIND_PARTIAL] = {value_open_partial, false},
    [PY_KIND_OPERATOR] = {value_open_operator, false},
    [PY_KIND_COUNT] = {value_open_count, false},
    [PY_KIND_REPEAT] = {value_open_repeat, false},
    [PY_KIND_NAMESPACE] = {value_open_namespace, false},
    [PY_KIND_DEFAULTDICT] = {value_open_defaultdict, false},
    [PY_KIND_ARRAY] = {value_add_array, false},
    [PY_KIND_STRUCT] = {value_add_struct, false},
    [PY_KIND_TEXTIO] = {value_open_file, false},
    [PY_KIND_BUFFERED] = {value_open_file, false},
    [PY_KIND_FILEIO] = {value_open_file, false},
    [PY_KIND_OLD_FILE] = {value_open_file, false},
    [PY_KIND_LOCK] = {value_add_lock, false},
    [PY_KIND_RLOCK] = {value_add_lock, false},
    [PY_KIND_CONTEXT_VARIABLE] = {value_open_context_variable, false},
    [PY_KIND_CONTEXT_TOKEN] = {value_open_context_variable, false},
    [PY_KIND_MATCH] = {value_open_match, false},
};

/* An object of a class derived from a plain one that has attributes too: "Text('a', note=1)". */
static bool open_derived(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    struct py_items items;
    psc_addr key;
    psc_addr value;
    struct py_items first;
    if (py_attributes_open(writer->python, object, &items) != PSC_OK)
        return false;
    first = items;
    if (py_items_next(writer->python, &first, &key, &value) != PSC_OK)
        return false;
    text_add_string(writer->text, py_type_short_name(type));
    struct value_level *level = value_push(writer, object, "(", ")");
    if (!level)
        return true;
    level->has_keys = true;
    level->attributes = true;
    level->own = 1;
    value_take(writer, level, 0, object);
    value_take_attributes(writer, level, type, object);
    return true;
}

/*
 * An object of a class whose __repr__ the program has written: what that would say is not known.
 * "<module.Name object at 0x...: Name({1, 2})>"
 */
static void open_unknown(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    value_add_identity(writer, type, object);
    struct value_level *level = value_push(writer, object, ": ", ">");
    if (!level)
        return;
    level->has_keys = true;
    level->attributes = true;
    level->own = 1;
    value_take(writer, level, 0, object);
    value_take_attributes(writer, level, type, object);
}

static void begin(struct value_writer *writer, psc_addr object)
{
    const struct py_type *type;
    if (!budget_spend(writer->python, OBJECT_STEPS)) {
        text_add_string(writer->text, "\u2026");
        return;
    }
    if (py_type_of(writer->python, object, &type) != PSC_OK) {
        add_unreadable(writer, object);
        return;
    }
    if (value_is_open(writer, object)) {
        add_again(writer, type, object);
        return;
    }
    const char *builtin = !strcmp(type->name, "?") ? py_builtin_name(writer->python, object) : NULL;
    if (builtin) {
        text_add_string(writer->text, builtin);
        return;
    }
    size_t depth = writer->depth;
    if (type->own_repr && !kinds[type->kind].plain && type->kind != PY_KIND_OBJECT) {
        open_unknown(writer, type, object);
        return;
    }
    bool named = type->structure || (type->fields && !type->own_repr);
    bool wrapped = kinds[type->kind].plain && !type->exact && !type->enumeration && !named;
    if (wrapped && open_derived(writer, type, object))
        return;
    if (wrapped) {
        text_add_string(writer->text, py_type_short_name(type));
        text_add_char(writer->text, '(');
    }
    if (type->enumeration)
        value_open_instance(writer, type, object);
    else
        kinds[type->kind].add(writer, type, object);
    if (!wrapped)
        return;
    if (writer->depth == depth) {
        text_add_char(writer->text, ')');
    } else {
        struct value_level *level = &writer->levels[depth];
        size_t size = strlen(level->close);
        if (size + 1 < sizeof(level->close))
            memcpy(level->close + size, ")", 2);
    }
}

/* ---- all that it leads to ---- */

static void add_separator(struct value_writer *writer, const struct value_level *level)
{
    if (level->next)
        text_add_string(writer->text, level->separator);
}

static void end_level(struct value_writer *writer, const struct value_level *level)
{
    if (level->more) {
        add_separator(writer, level);
        text_printf(writer->text, "\u2026 %" PRIu64 "%s", level->more,
                    level->lost ? " not readable" : " more");
    }
    text_add_string(writer->text, level->close);
    writer->depth--;
}

/* Objects/genericaliasobject.c, ga_repr_item(): a class by its name, Ellipsis as it is written. */
static bool add_annotation(struct value_writer *writer, psc_addr object)
{
    const struct py_type *type;
    const struct py_type *shown;
    if (py_type_of(writer->python, object, &type) != PSC_OK)
        return false;
    if (type->kind == PY_KIND_ELLIPSIS)
        text_add_string(writer->text, "...");
    else if (type->kind != PY_KIND_TYPE || py_type_find(writer->python, object, &shown) != PSC_OK)
        return false;
    else if (shown->kind == PY_KIND_NONE)
        text_add_string(writer->text, "None");
    else
        py_type_add_name(shown, writer->text);
    return true;
}

static void step(struct value_writer *writer)
{
    struct value_level *level = &writer->levels[writer->depth - 1];
    if (level->next == level->count) {
        end_level(writer, level);
        return;
    }
    size_t at = level->next;
    const struct py_type *type;
    if (level->own == at + 1) {
        add_separator(writer, level);
        level->next++;
        if (py_type_of(writer->python, level->object, &type) == PSC_OK)
            (level->own_add ? level->own_add : kinds[type->kind].add)(writer, type, level->object);
        return;
    }
    if (!level->has_keys) {
        add_separator(writer, level);
    } else if (level->words) {
        add_separator(writer, level);
        text_printf(writer->text, "%s=", (const char *)(uintptr_t)level->keys[at]);
    } else if (level->attributes) {
        add_separator(writer, level);
        if (level->keys[at]) {
            value_add_name(writer, level->keys[at]);
            text_add_char(writer->text, '=');
        }
    } else if (!level->value_next) {
        add_separator(writer, level);
        level->value_next = true;
        begin(writer, level->keys[at]);
        return;
    } else {
        text_add_string(writer->text, ": ");
        level->value_next = false;
    }
    level->next++;
    if (!level->types_by_name || !add_annotation(writer, level->values[at]))
        begin(writer, level->values[at]);
}

/* Bytes of the whole text: by default five times those of one str, and more for more items. */
static size_t text_limit(const struct python *python)
{
    const struct python_value_limits *limits = &python->limits;
    uint64_t limit = (uint64_t)VALUE_TEXT_LIMIT * limits->length / PYTHON_VALUE_LENGTH;
    if (limits->items > PYTHON_VALUE_ITEMS)
        limit = limit * limits->items / PYTHON_VALUE_ITEMS;
    return limit < VALUE_TEXT_MAX ? (size_t)limit : VALUE_TEXT_MAX;
}

/* Cuts at the limit, but not within a character. */
static void cut(struct value_writer *writer, size_t limit)
{
    struct text *text = writer->text;
    size_t end = writer->start + limit;
    while (end > writer->start && ((uint8_t)text->data[end] & 0xc0) == 0x80)
        end--;
    text->size = end;
    text->data[end] = '\0';
    text_add_string(text, "\u2026");
}

void value_add(struct python *python, psc_addr object, struct text *text)
{
    struct value_writer writer PSC_CLEANUP(value_writer_deinit) = {
        .python = python, .text = text, .start = text->size};
    const size_t limit = text_limit(python);
    begin(&writer, object);
    while (writer.depth && !text->failed && text->size - writer.start <= limit)
        step(&writer);
    if (!text->failed && text->size - writer.start > limit)
        cut(&writer, limit);
}

void python_add_value(struct python *python, psc_addr object, struct text *text)
{
    size_t before = text->size;
    if (budget_is_spent(python)) {
        text_add_string(text, "\u2026");
        return;
    }
    value_add(python, object, text);
    budget_spend_bytes(python, text->size - before);
}

bool python_add_identity(struct python *python, psc_addr object, struct text *text)
{
    const struct py_type *type;
    struct value_writer writer = {.python = python, .text = text};
    if (py_type_of(python, object, &type) != PSC_OK || type->kind != PY_KIND_OBJECT)
        return false;
    value_add_identity(&writer, type, object);
    return true;
}

const char *value_keep(struct python *python, struct text *text)
{
    const char *bytes = text->data ? text->data : "";
    const char *kept = text->failed ? NULL : arena_strndup(python->arena, bytes, text->size);
    text_deinit(text);
    return kept;
}
