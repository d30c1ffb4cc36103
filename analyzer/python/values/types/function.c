/* What code is made of: functions, methods, generators, classes. */
#include "types.h"

#include "frames.h"

#include <inttypes.h>
#include <string.h>

#define BUILTIN_NAME_LIMIT 128u

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
    struct python_location location;
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
        python_read_location(writer->python, &generator.frame, &location) != PSC_OK ||
        !location.file || !location.line)
        return;
    text_printf(writer->text, " at %s:%" PRIu32, location.file, location.line);
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

static void read_builtin_name(struct python *python, psc_addr function,
                              char ret[BUILTIN_NAME_LIMIT])
{
    psc_addr definition;
    psc_addr at;
    if (py_read_u64(python, function, PY_BUILTIN_DEF, &definition) != PSC_OK ||
        py_read_u64(python, definition, PY_METHODDEF_NAME, &at) != PSC_OK ||
        target_read_string(python->target, at, ret, BUILTIN_NAME_LIMIT) != PSC_OK)
        memcpy(ret, "?", 2);
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

/* __qualname__ of a function of C (Objects/methodobject.c, meth_get__qualname__()). */
static void add_builtin_name(struct value_writer *writer, psc_addr function)
{
    char name[BUILTIN_NAME_LIMIT];
    const struct py_type *owner;
    psc_addr self = 0;
    read_builtin_name(writer->python, function, name);
    if (py_read_u64(writer->python, function, PY_BUILTIN_SELF, &self) == PSC_OK && self &&
        py_type_of(writer->python, self, &owner) == PSC_OK && owner->kind != PY_KIND_MODULE) {
        if (owner->kind == PY_KIND_TYPE && py_type_find(writer->python, self, &owner) != PSC_OK)
            return;
        text_printf(writer->text, "%s.", owner->name);
    }
    text_add_string(writer->text, name);
}

static void add_type_name(struct value_writer *writer, psc_addr object)
{
    const struct py_type *type;
    text_add_string(writer->text,
                    py_type_find(writer->python, object, &type) == PSC_OK ? type->name : "?");
}

void value_add_called(struct value_writer *writer, psc_addr object)
{
    char builtin[BUILTIN_NAME_LIMIT];
    struct python *python = writer->python;
    const struct py_type *type;
    const struct py_type *class;
    psc_addr name = 0;
    if (py_type_of(python, object, &type) != PSC_OK)
        return;
    if (type->kind == PY_KIND_TYPE && py_type_find(python, object, &class) == PSC_OK) {
        text_printf(writer->text, " (%s)", py_type_short_name(class));
        return;
    }
    if (type->kind == PY_KIND_BUILTIN) {
        read_builtin_name(python, object, builtin);
        text_printf(writer->text, " (%s)", builtin);
        return;
    }
    if (type->kind == PY_KIND_FUNCTION
            ? py_read_u64(python, object, PY_FUNC_NAME, &name) != PSC_OK
            : !value_find_attribute(python, type, object, "__name__", &name))
        return;
    if (!py_is_text(python, name))
        return;
    text_add_string(writer->text, " (");
    value_add_name(writer, name);
    text_add_char(writer->text, ')');
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
    add_class_prefix(writer, object);
    if (py_type_of(python, function, &callable) != PSC_OK)
        text_add_char(writer->text, '?');
    else if (callable->kind == PY_KIND_FUNCTION)
        add_string_member(writer, function, PY_FUNC_QUALNAME);
    else if (callable->kind == PY_KIND_BUILTIN || callable->kind == PY_KIND_CYFUNCTION)
        add_builtin_name(writer, function);
    else if (callable->kind == PY_KIND_TYPE)
        add_type_name(writer, function);
    else
        text_add_char(writer->text, '?');
    if (!self) {
        text_add_char(writer->text, '>');
        return;
    }
    struct value_level *level = value_push(writer, object, " of ", ">");
    if (level)
        value_take(writer, level, 0, self);
}

void value_open_builtin(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    struct python *python = writer->python;
    const struct py_type *owner = NULL;
    char name[BUILTIN_NAME_LIMIT];
    psc_addr self = 0;
    read_builtin_name(python, object, name);
    if (py_read_u64(python, object, PY_BUILTIN_SELF, &self) != PSC_OK ||
        py_type_of(python, self, &owner) != PSC_OK)
        owner = NULL;
    (void)type;
    if (!owner || owner->kind == PY_KIND_MODULE)
        text_printf(writer->text, "<built-in function %s>", name);
    else
        text_printf(writer->text, "<built-in method %s of %s object at 0x%" PRIx64 ">", name,
                    owner->c_name, self);
}

void value_add_type(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    const struct py_type *shown;
    (void)type;
    if (py_type_find(writer->python, object, &shown) != PSC_OK) {
        text_printf(writer->text, "<class at 0x%" PRIx64 ": not readable>", object);
        return;
    }
    // Lib/enum.py, EnumType.__repr__(); flags have a word of their own from 3.11 on.
    if (shown->enumeration) {
        bool flags =
            shown->flags_of_enum && writer->python->layout.rules->flag_names == PY_FLAG_NAMES_KEPT;
        text_printf(writer->text, "<%s '%s'>", flags ? "flag" : "enum", py_type_short_name(shown));
        return;
    }
    text_printf(writer->text, "<%s '",
                shown->flags & PY_FLAG_HEAPTYPE
                    ? "class"
                    : writer->python->layout.rules->spelling->static_type);
    py_type_add_name(shown, writer->text);
    text_add_string(writer->text, "'>");
}
