/* Files of the module io (Modules/_io/), and 2.7's file. */
#include "library.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void add_bare(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    value_add_identity(writer, type, object);
    text_add_char(writer->text, '>');
}

/* The file below: a FileIO, or none. False: what is there has a name that only code knows. */
static bool find_raw(struct python *python, psc_addr object, psc_addr *ret)
{
    const struct py_type *type;
    *ret = 0;
    if (py_type_of(python, object, &type) != PSC_OK)
        return false;
    if (type->exact && type->kind == PY_KIND_BUFFERED) {
        if (py_read_u64(python, object, PY_BUFFERED_RAW, &object) != PSC_OK ||
            py_type_of(python, object, &type) != PSC_OK)
            return false;
    }
    if (type->exact && type->kind == PY_KIND_FILEIO) {
        *ret = object;
        return true;
    }
    return !strcmp(type->c_name, "_io.BytesIO");
}

static psc_addr name_of(struct python *python, psc_addr raw)
{
    psc_addr name;
    return raw && value_find_in_dict(python, raw, "name", &name) ? name : 0;
}

static const char *mode_of(uint8_t bits)
{
    bool readable = bits & PY_FILEIO_READABLE;
    if (bits & PY_FILEIO_CREATED)
        return readable ? "xb+" : "xb";
    if (bits & PY_FILEIO_APPENDING)
        return readable ? "ab+" : "ab";
    if (readable)
        return bits & PY_FILEIO_WRITABLE ? "rb+" : "rb";
    return "wb";
}

/* fileio.c, fileio_repr(). */
static void open_raw(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    struct python *python = writer->python;
    char close[80];
    int32_t fd;
    uint8_t bits;
    psc_addr name = name_of(python, object);
    if (py_read_i32(python, object, PY_FILEIO_FD, &fd) != PSC_OK ||
        target_read_u8(python->target,
                       py_field_address(python, object, PY_FILEIO_FD) + PY_FILEIO_BITS_BEHIND_FD,
                       &bits) != PSC_OK) {
        add_bare(writer, type, object);
        return;
    }
    text_printf(writer->text, "<%s", type->c_name);
    if (fd < 0) {
        text_add_string(writer->text, " [closed]>");
        return;
    }
    snprintf(close, sizeof(close), " mode='%s' closefd=%s>", mode_of(bits),
             bits & PY_FILEIO_CLOSES ? "True" : "False");
    if (!name) {
        text_printf(writer->text, " fd=%" PRId32 "%s", fd, close);
        return;
    }
    struct value_level *level = value_push(writer, object, " name=", close);
    if (level)
        value_take(writer, level, 0, name);
}

/* bufferedio.c, buffered_repr(). */
static void open_buffered(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    psc_addr raw;
    if (!find_raw(writer->python, object, &raw)) {
        value_open_instance(writer, type, object);
        return;
    }
    psc_addr name = name_of(writer->python, raw);
    text_printf(writer->text, "<%s", type->c_name);
    if (!name) {
        text_add_char(writer->text, '>');
        return;
    }
    struct value_level *level = value_push(writer, object, " name=", ">");
    if (level)
        value_take(writer, level, 0, name);
}

/* textio.c, textiowrapper_repr(): name and mode as far as it has them. */
static void open_text(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    struct python *python = writer->python;
    psc_addr buffer;
    psc_addr raw;
    psc_addr encoding;
    psc_addr mode = 0;
    if (py_read_u64(python, object, PY_TEXTIO_BUFFER, &buffer) != PSC_OK ||
        py_read_u64(python, object, PY_TEXTIO_ENCODING, &encoding) != PSC_OK || !encoding ||
        !find_raw(python, buffer, &raw)) {
        value_open_instance(writer, type, object);
        return;
    }
    if (python->layout.rules->reprs < PY_REPRS_3 ||
        !value_find_in_dict(python, object, "mode", &mode))
        mode = 0;
    psc_addr name = name_of(python, raw);
    text_printf(writer->text, "<%s ", type->c_name);
    struct value_level *level = value_push(writer, object, "", ">");
    if (!level)
        return;
    level->separator = " ";
    value_take_word(writer, level, "name", name);
    value_take_word(writer, level, "mode", mode);
    value_take_word(writer, level, "encoding", encoding);
}

/* 2.7, Objects/fileobject.c, file_repr(). */
static void open_file(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    struct python *python = writer->python;
    psc_addr stream;
    psc_addr name;
    psc_addr mode;
    if (py_read_u64(python, object, PY_FILE_POINTER, &stream) != PSC_OK ||
        py_read_u64(python, object, PY_FILE_NAME, &name) != PSC_OK ||
        py_read_u64(python, object, PY_FILE_MODE, &mode) != PSC_OK) {
        add_bare(writer, type, object);
        return;
    }
    text_add_string(writer->text, stream ? "<open file " : "<closed file ");
    if (py_has_flags(python, name, PY_FLAG_BYTES)) {
        value_add_bytes(writer, type, name);
    } else {
        text_add_string(writer->text, "u'");
        value_add_name(writer, name);
        text_add_char(writer->text, '\'');
    }
    text_add_string(writer->text, ", mode '");
    value_add_name(writer, mode);
    text_printf(writer->text, "' at 0x%" PRIx64 ">", object);
}

void value_open_file(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    if (!type->exact)
        value_open_instance(writer, type, object);
    else if (type->kind == PY_KIND_FILEIO)
        open_raw(writer, type, object);
    else if (type->kind == PY_KIND_BUFFERED)
        open_buffered(writer, type, object);
    else if (type->kind == PY_KIND_TEXTIO)
        open_text(writer, type, object);
    else
        open_file(writer, type, object);
}
