/* Which type of C++'s library a struct is; strings, pointers and what holds one value. */
#include "cxx_library.h"

#include <inttypes.h>
#include <string.h>

/* bits/basic_string.h, _Rep of the ABI before GCC 5: length, capacity and uses before the text. */
#define OLD_STRING_HEAD 24u
#define TUPLE_LIMIT     16u
#define WRAP_LIMIT      8u

/* ---- text ---- */

/* A string type that is only declared; see DEBUG_STRING_SIZE. */
static bool add_declared_string(struct c_writer *writer, struct c_part part)
{
    static const struct debug_type character = {
        .kind = DEBUG_KIND_CHARACTER, .name = "char", .tag = "char", .size = 1};
    uint8_t bytes[16];
    if (part.type->size != DEBUG_STRING_SIZE)
        return false;
    if (c_read(writer, part.storage, 0, bytes, sizeof(bytes)) != C_READ_OK)
        return false;
    psc_addr address = load_u64(bytes);
    if (!c_add_text(writer, &character, address, load_u64(bytes + 8), C_TEXT_COUNTED))
        c_add_missing(writer, C_READ_FAULT, address);
    return true;
}

/* _M_dataplus is a pointer also where clang leaves its type out, as no constructor is used. */
static bool add_string(struct c_writer *writer, struct c_part part, unsigned depth)
{
    const struct debug_type *character = debug_type_argument(part.type, 0);
    uint64_t address;
    uint64_t length;
    uint8_t bytes[8];
    struct c_part data = part;
    (void)depth;
    if (part.type->incomplete)
        return add_declared_string(writer, part);
    if (!character || !c_character_width(character) || !library_find_part(&data, "_M_dataplus") ||
        (!library_find_part(&data, "_M_p") && !data.type->incomplete) ||
        c_read(writer, data.storage, 0, bytes, sizeof(bytes)) != C_READ_OK)
        return false;
    address = load_u64(bytes);
    if (!READ_PATH(writer, part, &length, "_M_string_length") &&
        (library_find_part(&part, "_M_string_length") ||
         !library_read_word(writer, address - OLD_STRING_HEAD, &length)))
        return false;
    if (!c_add_text(writer, character, address, length, C_TEXT_COUNTED))
        c_add_missing(writer, C_READ_FAULT, address);
    return true;
}

static bool add_string_view(struct c_writer *writer, struct c_part part, unsigned depth)
{
    uint64_t address;
    uint64_t length;
    struct c_part data = part;
    (void)depth;
    if (!library_find_part(&data, "_M_str") || data.type->kind != DEBUG_KIND_POINTER ||
        !READ_PATH(writer, part, &address, "_M_str") || !READ_PATH(writer, part, &length, "_M_len"))
        return false;
    const struct debug_type *character = debug_type_target(data.type);
    return character && c_character_width(character) &&
           c_add_text(writer, character, address, length, C_TEXT_COUNTED);
}

/* ---- what holds one value ---- */

/* The address and what is there, as of a reference. */
static void add_owned(struct c_writer *writer, const struct debug_type *type, psc_addr address,
                      unsigned depth)
{
    if (!address) {
        text_add_string(writer->text, writer->cython ? "NULL" : "0x0");
        return;
    }
    bool shown = type && type->size && depth < writer->limits.depth;
    text_printf(writer->text, shown ? "@0x%" PRIx64 ": " : "0x%" PRIx64, address);
    if (shown)
        c_add_value(writer, type, (struct c_storage){NULL, address}, depth + 1);
}

static bool add_shared_pointer(struct c_writer *writer, struct c_part part, unsigned depth)
{
    struct c_part pointer = part;
    uint64_t address;
    if (!library_find_part(&pointer, "_M_ptr") || pointer.type->kind != DEBUG_KIND_POINTER ||
        !READ_PATH(writer, part, &address, "_M_ptr"))
        return false;
    // A weak_ptr may have expired: its object is not shown.
    bool weak = !strncmp(part.type->tag, "weak_ptr", 8);
    add_owned(writer, weak ? NULL : debug_type_target(pointer.type), address, depth);
    return true;
}

/* The value of one level of a tuple: in a base class or, where that may be empty, a member of one.
 */
static bool find_head(struct c_part *part)
{
    return library_find_base(part, "_Head_base") && library_find_part(part, "_M_head_impl");
}

static bool add_tuple(struct c_writer *writer, struct c_part part, unsigned depth)
{
    struct text *text = writer->text;
    size_t count = 0;
    if (!library_find_base(&part, "_Tuple_impl"))
        return false;
    text_add_char(text, writer->cython ? '(' : '{');
    do {
        struct c_part head = part;
        if (!find_head(&head))
            break;
        text_add_string(text, count++ ? ", " : "");
        if (depth >= writer->limits.depth || count > TUPLE_LIMIT || c_is_full(writer)) {
            text_add_string(text, "\u2026");
            break;
        }
        c_add_value(writer, head.type, head.storage, depth + 1);
    } while (library_find_base(&part, "_Tuple_impl"));
    text_add_string(text, !writer->cython ? "}" : count == 1 ? ",)" : ")");
    return true;
}

/* A tuple of the pointer and of what deletes it. The length of an array is not kept. */
static bool add_unique_pointer(struct c_writer *writer, struct c_part part, unsigned depth)
{
    const struct debug_type *owned = debug_type_argument(part.type, 0);
    uint8_t bytes[8];
    for (size_t i = 0; i < WRAP_LIMIT && !library_is_called(part.type, "tuple"); i++)
        if (!library_find_part(&part, "_M_t"))
            return false;
    if (!library_find_base(&part, "_Tuple_impl") || !find_head(&part) ||
        part.type->kind != DEBUG_KIND_POINTER ||
        c_read(writer, part.storage, 0, bytes, sizeof(bytes)) != C_READ_OK)
        return false;
    bool one = owned && owned->kind != DEBUG_KIND_ARRAY;
    add_owned(writer, one ? debug_type_target(part.type) : NULL, load_u64(bytes), depth);
    return true;
}

static bool add_optional(struct c_writer *writer, struct c_part part, unsigned depth)
{
    struct c_part engaged = part;
    uint8_t byte;
    if (!library_find_part(&part, "_M_payload") || !library_find_part(&engaged, "_M_payload") ||
        !library_find_part(&engaged, "_M_engaged") ||
        c_read(writer, engaged.storage, 0, &byte, sizeof(byte)) != C_READ_OK)
        return false;
    if (!byte) {
        text_add_string(writer->text, "nullopt");
        return true;
    }
    if (!library_find_part(&part, "_M_payload") || !library_find_part(&part, "_M_value"))
        return false;
    c_add_value(writer, part.type, part.storage, depth);
    return true;
}

/* In Cython frames a pair looks like a tuple, else like other structs. */
static bool add_pair(struct c_writer *writer, struct c_part part, unsigned depth)
{
    struct c_part second = part;
    if (!writer->cython || !library_find_part(&part, "first") ||
        !library_find_part(&second, "second"))
        return false;
    text_add_char(writer->text, '(');
    c_add_value(writer, part.type, part.storage, depth + 1);
    text_add_string(writer->text, ", ");
    c_add_value(writer, second.type, second.storage, depth + 1);
    text_add_char(writer->text, ')');
    return true;
}

/* Wrappers around one value are shown as that value. */
static bool add_wrapped(struct c_writer *writer, struct c_part part, unsigned depth)
{
    static const char *const names[] = {"_M_value", "_M_i", "_M_b", "c", "_M_base"};
    for (size_t i = 0; i < PSC_ARRAY_SIZE(names); i++) {
        struct c_part inside = part;
        if (!library_find_part(&inside, names[i]))
            continue;
        c_add_value(writer, inside.type, inside.storage,
                    depth + (inside.type->kind == DEBUG_KIND_STRUCT));
        return true;
    }
    return false;
}

/* ---- which ---- */

bool c_add_library_struct(struct c_writer *writer, const struct debug_type *type,
                          struct c_storage storage, unsigned depth)
{
    static const struct {
        const char *name;
        bool (*add)(struct c_writer *writer, struct c_part part, unsigned depth);
    } kinds[] = {
        {"basic_string", add_string},
        {"basic_string_view", add_string_view},
        {"vector", library_add_vector},
        {"deque", library_add_deque},
        {"array", library_add_array},
        {"initializer_list", library_add_initializer_list},
        {"map", library_add_tree},
        {"set", library_add_tree},
        {"multimap", library_add_tree},
        {"multiset", library_add_tree},
        {"unordered_map", library_add_table},
        {"unordered_set", library_add_table},
        {"unordered_multimap", library_add_table},
        {"unordered_multiset", library_add_table},
        {"list", library_add_list},
        {"forward_list", library_add_forward_list},
        {"shared_ptr", add_shared_pointer},
        {"weak_ptr", add_shared_pointer},
        {"unique_ptr", add_unique_pointer},
        {"optional", add_optional},
        {"tuple", add_tuple},
        {"pair", add_pair},
        {"complex", add_wrapped},
        {"atomic", add_wrapped},
        {"stack", add_wrapped},
        {"queue", add_wrapped},
        {"priority_queue", add_wrapped},
    };
    if (depth > writer->limits.depth)
        return false;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(kinds); i++)
        if (library_is_called(type, kinds[i].name))
            return kinds[i].add(writer, (struct c_part){type, storage}, depth);
    return false;
}
