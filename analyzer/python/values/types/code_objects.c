/* What code is made of, below functions: code, frames, cells, descriptors and what binds them. */
#include "types.h"

#include "frames.h"

#include <inttypes.h>

#define CAPSULE_NAME_LIMIT 200u

/* tp_name of a type, as "%s" of the interpreter's own texts has it. */
static const char *c_name_of(struct python *python, psc_addr type)
{
    const struct py_type *found;
    return type && py_type_find(python, type, &found) == PSC_OK ? found->c_name : "?";
}

static const char *c_name_of_object(struct python *python, psc_addr object)
{
    const struct py_type *found;
    return py_type_of(python, object, &found) == PSC_OK ? found->c_name : "?";
}

static psc_addr read_member(struct value_writer *writer, psc_addr object, enum py_field field)
{
    psc_addr member;
    return py_read_u64(writer->python, object, field, &member) == PSC_OK ? member : 0;
}

static void add_bare(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    value_add_identity(writer, type, object);
    text_add_char(writer->text, '>');
}

/* ---- code and frames ---- */

/* CPython, Objects/codeobject.c, code_repr(). */
void value_add_code(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    int32_t line;
    if (py_read_i32(writer->python, object, PY_CODE_FIRST_LINE, &line) != PSC_OK) {
        add_bare(writer, type, object);
        return;
    }
    text_add_string(writer->text, "<code object ");
    value_add_name(writer, read_member(writer, object, PY_CODE_NAME));
    text_printf(writer->text, " at 0x%" PRIx64 ", file \"", object);
    value_add_name(writer, read_member(writer, object, PY_CODE_FILENAME));
    text_printf(writer->text, "\", line %" PRId32 ">", line);
}

/* Objects/frameobject.c, frame_repr(). */
void value_add_frame(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    struct python *python = writer->python;
    struct python_frame frame;
    struct python_location location;
    psc_addr previous;
    psc_addr inner = object;
    bool inside = python->layout.offset[PY_FRAMEOBJ_FRAME] != PY_NO_OFFSET;
    if (python->layout.rules->reprs < PY_REPRS_FRAMES ||
        (inside && py_read_u64(python, object, PY_FRAMEOBJ_FRAME, &inner) != PSC_OK) || !inner ||
        frame_read(python, inner, &frame, &previous) != PSC_OK || !frame.code ||
        python_read_location(python, &frame, &location) != PSC_OK || !location.line) {
        add_bare(writer, type, object);
        return;
    }
    text_printf(writer->text, "<frame at 0x%" PRIx64 ", file ", object);
    value_add_str(writer, type, read_member(writer, frame.code, PY_CODE_FILENAME));
    text_printf(writer->text, ", line %" PRIu32 ", code ", location.line);
    value_add_name(writer, read_member(writer, frame.code, PY_CODE_NAME));
    text_add_char(writer->text, '>');
}

/* Objects/cellobject.c, cell_repr(). */
void value_add_cell(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    psc_addr held;
    if (py_read_u64(writer->python, object, PY_CELL_REF, &held) != PSC_OK) {
        add_bare(writer, type, object);
        return;
    }
    text_printf(writer->text, "<cell at 0x%" PRIx64 ": ", object);
    if (held)
        text_printf(writer->text, "%s object at 0x%" PRIx64 ">",
                    c_name_of_object(writer->python, held), held);
    else
        text_add_string(writer->text, "empty>");
}

/* ---- what is bound ---- */

/* Objects/typeobject.c, super_repr(). */
void value_add_super(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    struct python *python = writer->python;
    psc_addr class = read_member(writer, object, PY_SUPER_TYPE);
    psc_addr bound;
    if (py_read_u64(python, object, PY_SUPER_OBJECT_TYPE, &bound) != PSC_OK) {
        add_bare(writer, type, object);
        return;
    }
    text_printf(writer->text, "<super: <class '%s'>, ", class ? c_name_of(python, class) : "NULL");
    if (bound)
        text_printf(writer->text, "<%s object>>", c_name_of(python, bound));
    else
        text_add_string(writer->text, "NULL>");
}

/* Objects/descrobject.c, wrapper_repr(). */
void value_add_method_wrapper(struct value_writer *writer, const struct py_type *type,
                              psc_addr object)
{
    psc_addr descriptor = read_member(writer, object, PY_WRAPPER_DESCR);
    psc_addr self = read_member(writer, object, PY_WRAPPER_SELF);
    if (!descriptor || !self) {
        add_bare(writer, type, object);
        return;
    }
    text_add_string(writer->text, "<method-wrapper '");
    value_add_name(writer, read_member(writer, descriptor, PY_DESCR_NAME));
    text_printf(writer->text, "' of %s object at 0x%" PRIx64 ">",
                c_name_of_object(writer->python, self), self);
}

/* method_repr(), getset_repr() and so on there. */
void value_add_descriptor(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    psc_addr owner = read_member(writer, object, PY_DESCR_TYPE);
    const char *what = type->kind == PY_KIND_SLOT_WRAPPER ? "slot wrapper"
                       : type->kind == PY_KIND_ATTRIBUTE  ? "attribute"
                       : type->kind == PY_KIND_MEMBER     ? "member"
                                                          : "method";
    if (!owner) {
        add_bare(writer, type, object);
        return;
    }
    text_printf(writer->text, "<%s '", what);
    value_add_name(writer, read_member(writer, object, PY_DESCR_NAME));
    text_printf(writer->text, "' of '%s' objects>", c_name_of(writer->python, owner));
}

/* Objects/funcobject.c, sm_repr(), cm_repr(). */
void value_open_static_method(struct value_writer *writer, const struct py_type *type,
                              psc_addr object)
{
    bool of_class = type->kind == PY_KIND_CLASS_METHOD;
    psc_addr function =
        read_member(writer, object, of_class ? PY_CLASSMETHOD_CALLABLE : PY_STATICMETHOD_CALLABLE);
    if (writer->python->layout.rules->reprs < PY_REPRS_STATIC_METHODS || !function) {
        add_bare(writer, type, object);
        return;
    }
    struct value_level *level =
        value_push(writer, object, of_class ? "<classmethod(" : "<staticmethod(", ")>");
    if (level)
        value_take(writer, level, 0, function);
}

/* Objects/capsule.c, capsule_repr(). */
void value_add_capsule(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    char name[CAPSULE_NAME_LIMIT];
    psc_addr at;
    if (py_read_u64(writer->python, object, PY_CAPSULE_NAME, &at) != PSC_OK ||
        (at && target_read_string(writer->python->target, at, name, sizeof(name)) != PSC_OK)) {
        add_bare(writer, type, object);
        return;
    }
    text_add_string(writer->text, "<capsule object ");
    if (at) {
        text_add_char(writer->text, '"');
        text_add_escaped(writer->text, name);
        text_add_char(writer->text, '"');
    } else {
        text_add_string(writer->text, "NULL");
    }
    text_printf(writer->text, " at 0x%" PRIx64 ">", object);
}

/* ---- list[int], int | str ---- */

/* Objects/genericaliasobject.c, ga_repr(); Objects/unionobject.c, union_repr(). */
void value_open_alias(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    struct python *python = writer->python;
    const struct py_type *origin;
    psc_addr items;
    size_t count;
    uint8_t starred = 0;
    bool joined = type->kind == PY_KIND_UNION;
    psc_addr arguments = read_member(writer, object, joined ? PY_UNION_ARGS : PY_ALIAS_ARGS);
    if (py_read_tuple(python, arguments, &count, &items) != PSC_OK ||
        (!joined &&
         py_type_find(python, read_member(writer, object, PY_ALIAS_ORIGIN), &origin) != PSC_OK)) {
        add_bare(writer, type, object);
        return;
    }
    if (!joined) {
        if (py_read_u8(python, object, PY_ALIAS_STARRED, &starred) == PSC_OK && starred == 1)
            text_add_char(writer->text, '*');
        py_type_add_name(origin, writer->text);
    }
    if (!joined && !count) {
        text_add_string(writer->text, "[()]");
        return;
    }
    struct value_level *level = value_push(writer, object, joined ? "" : "[", joined ? "" : "]");
    if (!level)
        return;
    level->types_by_name = true;
    level->separator = joined ? " | " : ", ";
    value_take_array(writer, level, items, count);
}
