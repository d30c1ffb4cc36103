/*
 * Frames of functions that Nuitka has compiled: they are linked into the chain as CPython's are,
 * and run no bytecode. Nuitka's compiled_frame.h, struct Nuitka_FrameObject: it begins with a
 * PyFrameObject, whose f_lineno is set before each call (all releases so far).
 */
#include "frames_private.h"

#include <string.h>

/** Nuitka's CompiledFrameType.c: tp_name of Nuitka_Frame_Type, by which Nuitka itself knows it. */
static const char compiled_type_name[] = "compiled_frame";

bool compiled_frame_is_type(struct python *python, struct py_frame_types *types, psc_addr type)
{
    char name[sizeof(compiled_type_name) + 1];
    psc_addr at;
    if (!type || type == python->types.frame || type == types->other)
        return false;
    if (type == types->compiled)
        return true;
    bool found = py_is_object_address(type) &&
                 py_read_u64(python, type, PY_TYPE_NAME, &at) == PSC_OK &&
                 target_read_string(python->target, at, name, sizeof(name)) == PSC_OK &&
                 !strcmp(name, compiled_type_name);
    if (found)
        types->compiled = type;
    else
        types->other = type;
    return found;
}

void compiled_frame_take(struct python *python, psc_addr object, struct python_frame *frame)
{
    int32_t line;
    frame->compiled = true;
    frame->lasti = -1;
    if (py_read_i32(python, object, PY_FRAMEOBJ_LINE, &line) == PSC_OK && line > 0)
        frame->line = line;
}

struct module *python_find_compiled_module(struct python *python, const struct python_frame *frame)
{
    psc_addr object, type;
    if (!frame->compiled)
        return NULL;
    if (py_read_u64(python, frame->address, PY_FRAME_OBJECT, &object) != PSC_OK)
        object = frame->address; // Up to 3.10 the frame is the object.
    // Each module that Nuitka makes has the type for itself.
    return py_read_u64(python, object, PY_OBJECT_TYPE, &type) == PSC_OK
               ? modules_find(python->modules, type)
               : NULL;
}

/* ---- names ---- */

/** The kinds of code with a frame; all but a function's have an object that goes on with them. */
static const char *const kinds[] = {"function", "genobj", "genexpr", "coroutine", "asyncgen"};
static const char context[] = "_context";
/** Nuitka's names: of a module's code, and between the parts of a function's. */
static const char module_prefix[] = "module_code_";
static const char separator[] = "$$$";

static bool is_name(const char *text, size_t length, const char *name)
{
    size_t size = strlen(name);
    // "<lambda>" and "<genexpr>" lose their brackets.
    if (size > 2 && name[0] == '<' && name[size - 1] == '>') {
        name++;
        size -= 2;
    }
    return length == size && !memcmp(text, name, size);
}

static const char *last_part(const char *symbol)
{
    const char *part = NULL;
    for (const char *at = symbol; (at = strstr(at, separator)) != NULL;)
        part = at += strlen(separator);
    return part;
}

bool python_is_compiled_name(const char *symbol, const char *name)
{
    if (!strncmp(symbol, module_prefix, strlen(module_prefix)))
        return !strcmp(name, "<module>");
    const char *part = last_part(symbol);
    size_t i = 0, kind = 0;
    for (; part && i < PSC_ARRAY_SIZE(kinds); i++) {
        kind = strlen(kinds[i]);
        if (!strncmp(part, kinds[i], kind) && !strncmp(part + kind, "__", 2))
            break;
    }
    if (!part || i == PSC_ARRAY_SIZE(kinds))
        return false;
    part += kind + 2;
    size_t digits = strspn(part, "0123456789");
    if (!digits || part[digits] != '_')
        return false;
    part += digits + 1;
    // What the compiler adds to a part of a function begins with a dot.
    size_t length = strcspn(part, ".");
    if (i == 0)
        return !strncmp(symbol, "impl_", 5) && is_name(part, length, name);
    size_t end = strlen(context);
    return length > end && !strncmp(part + length - end, context, end) &&
           is_name(part, length - end, name);
}
