/* Parts of structs of C++'s library, by the names of its members. */
#include "cxx_library.h"

#include <string.h>

bool library_find_part(struct c_part *part, const char *name)
{
    struct debug_member member;
    if (!c_find_member(part->type, name, &member) || !member.type)
        return false;
    part->type = member.type;
    part->storage.at += member.offset;
    return true;
}

bool library_read_path(struct c_writer *writer, struct c_part part, const char *const *names,
                       uint64_t *ret)
{
    uint8_t bytes[8];
    for (; *names; names++)
        if (!library_find_part(&part, *names))
            return false;
    if (c_read(writer, part.storage, 0, bytes, sizeof(bytes)) != C_READ_OK)
        return false;
    *ret = load_u64(bytes);
    return true;
}

bool library_read_word(struct c_writer *writer, psc_addr address, uint64_t *ret)
{
    return target_read_u64(writer->target, address, ret) == PSC_OK;
}

bool library_is_called(const struct debug_type *type, const char *name)
{
    size_t size = strlen(name);
    return type && type->tag && !strncmp(type->tag, name, size) &&
           (type->tag[size] == '<' || type->tag[size] == '\0');
}

bool library_find_base(struct c_part *part, const char *name)
{
    const struct debug_member *members;
    size_t count = debug_type_members(part->type, &members);
    for (size_t i = 0; i < count; i++) {
        if (members[i].name || !library_is_called(members[i].type, name))
            continue;
        part->type = members[i].type;
        part->storage.at += members[i].offset;
        return true;
    }
    return false;
}
