/* For which class a method runs, when it is not the one that its qualified name tells. */
#include "frames_private.h"

#include <string.h>

/* Finds the class in "package.Class.method"; none in what is no method: "function", "f.<locals>.g".
 */
static bool find_named_class(struct py_code *code)
{
    const char *dot = strrchr(code->function, '.');
    const char *begin = dot;
    while (begin && begin > code->function && begin[-1] != '.')
        begin--;
    code->named_class = begin;
    code->named_size = begin ? (size_t)(dot - begin) : 0;
    return code->named_size && *begin != '<';
}

static enum py_first_argument find_first_argument(struct python *python, psc_addr code)
{
    bool one_tuple = python->layout.offset[PY_CODE_SLOT_NAMES] != PY_NO_OFFSET;
    int32_t arguments;
    psc_addr tuple;
    psc_addr items;
    psc_addr name;
    size_t count;
    if (py_read_i32(python, code, PY_CODE_ARGCOUNT, &arguments) != PSC_OK || arguments < 1 ||
        py_read_u64(python, code, one_tuple ? PY_CODE_SLOT_NAMES : PY_CODE_VARNAMES, &tuple) !=
            PSC_OK ||
        py_read_tuple(python, tuple, &count, &items) != PSC_OK || !count ||
        target_read_u64(python->target, items, &name) != PSC_OK)
        return PY_FIRST_OTHER;
    return py_string_equals(python, name, "self")  ? PY_FIRST_SELF
           : py_string_equals(python, name, "cls") ? PY_FIRST_CLS
                                                   : PY_FIRST_OTHER;
}

/* The class of what the first slot holds; 0: it is not known. */
static psc_addr read_class(struct python *python, psc_addr frame, enum py_first_argument first)
{
    psc_addr object;
    psc_addr type;
    uint64_t flags;
    psc_addr at = py_frame_slots(python, frame);
    if (target_read_u64(python->target, at, &object) != PSC_OK)
        return 0;
    object = py_untag(python, object);
    if (!py_is_object_address(object))
        return 0;
    object = py_follow_cell(python, object);
    if (first == PY_FIRST_CLS)
        return py_has_flags(python, object, PY_FLAG_TYPE) ? object : 0;
    if (py_read_type(python, object, &type, &flags) != PSC_OK ||
        (python->types.instance && type == python->types.instance))
        return 0;
    return py_has_flags(python, type, PY_FLAG_TYPE) ? type : 0;
}

const char *python_read_self_class(struct python *python, const struct python_frame *frame)
{
    struct py_code *code = NULL;
    if (frame->kind == PYTHON_FRAME_CODE && frame->code && !frame->compiled)
        code = code_find(python, frame->code);
    if (!code || code->state != PY_CODE_VALID || !code->function)
        return NULL;
    if (code->first_argument == PY_FIRST_UNKNOWN) {
        code->first_argument =
            find_named_class(code) ? find_first_argument(python, code->address) : PY_FIRST_OTHER;
    }
    if (code->first_argument == PY_FIRST_OTHER)
        return NULL;
    psc_addr class = read_class(python, frame->address, code->first_argument);
    if (!class)
        return NULL;
    // The objects of a stack are mostly of one class.
    if (class != code->self_class) {
        code->self_class = class;
        code->self_class_name = function_name_of_class(python, class);
    }
    const char *name = code->self_class_name;
    bool same = name && strlen(name) == code->named_size &&
                !memcmp(name, code->named_class, code->named_size);
    return same ? NULL : name;
}

psc_addr py_frame_self(struct python *python, const struct python_frame *frame)
{
    static const char self[] = "self";
    struct py_code *code = frame->compiled ? NULL : code_find(python, frame->code);
    psc_addr value;
    if (!code || code->state != PY_CODE_VALID)
        return 0;
    if (code->first_name == PY_FIRST_UNKNOWN)
        code->first_name = find_first_argument(python, code->address);
    if (code->first_name != PY_FIRST_SELF ||
        target_read_u64(python->target, py_frame_slots(python, frame->address), &value) != PSC_OK)
        return py_frame_variable(python, frame, self);
    value = py_untag(python, value);
    // Of an argument that inner functions use the place, up to 3.10, is another one.
    if (!py_is_object_address(value))
        return py_frame_variable(python, frame, self);
    return py_follow_cell(python, value);
}
