/* Which structs are shown otherwise than by their members. */
#include "value_writer.h"

#include <string.h>

#define MEMBER_LIMIT 32u /* Of a struct that is shown as a tuple. */

/* Cython's tuples of C types, PyrexTypes.py, CTupleType: f0, f1, ... */
static bool add_c_tuple(struct c_writer *writer, const struct debug_type *type,
                        struct c_storage storage, unsigned depth)
{
    const struct debug_member *members;
    size_t count = debug_type_members(type, &members);
    if (depth >= writer->limits.depth || !count || count > MEMBER_LIMIT)
        return false;
    text_add_char(writer->text, '(');
    for (size_t i = 0; i < count; i++) {
        text_add_string(writer->text, i ? ", " : "");
        if (members[i].type)
            c_add_value(writer, members[i].type,
                        (struct c_storage){storage.value, storage.at + members[i].offset},
                        depth + 1);
    }
    text_add_string(writer->text, count == 1 ? ",)" : ")");
    return true;
}

/* ---- which ---- */

/* A complex number of Cython/Utility/Complex.c, for compilers without complex types. */
static bool add_complex_struct(struct c_writer *writer, const struct debug_type *type,
                               struct c_storage storage)
{
    const struct debug_member *members;
    uint8_t bytes[16];
    if (debug_type_members(type, &members) != 2 || !members[0].name || !members[1].name ||
        !members[0].type || strcmp(members[0].name, "real") != 0 ||
        strcmp(members[1].name, "imag") != 0 || members[0].type->kind != DEBUG_KIND_FLOAT ||
        (type->size != 8 && type->size != 16) ||
        c_read(writer, storage, 0, bytes, type->size) != C_READ_OK)
        return false;
    return c_add_complex(writer, bytes, type->size);
}

bool c_add_known_struct(struct c_writer *writer, const struct debug_type *type,
                        struct c_storage storage, unsigned depth)
{
    const char *tag = type->tag ? type->tag : type->name;
    if (!tag)
        return false;
    if (type->name && !strcmp(type->name, "__Pyx_memviewslice")) {
        c_add_memoryview(writer, type, storage);
        return true;
    }
    if (c_add_library_struct(writer, type, storage, depth))
        return true;
    if (writer->cython && !strncmp(tag, "__pyx_ctuple_", 13))
        return add_c_tuple(writer, type, storage, depth);
    return writer->cython && !strncmp(tag, "__pyx_t_", 8) &&
           add_complex_struct(writer, type, storage);
}
