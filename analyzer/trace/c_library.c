/*
 * C++'s standard library as libstdc++ lays it out (bits/stl_vector.h, stl_tree.h,
 * hashtable_policy.h, basic_string.h, shared_ptr_base.h, unique_ptr.h, ...), found by the names of
 * its members.
 */
#include "c_value.h"

#include <inttypes.h>
#include <string.h>

/* Steps from one node of a tree to the next: twice the depth of a balanced one. */
#define TREE_STEP_LIMIT 128u
/* bits/stl_deque.h, _GLIBCXX_DEQUE_BUF_SIZE. */
#define DEQUE_BUFFER_SIZE 512u
/* bits/stl_tree.h: _Rb_tree_node_base has a colour, parent, left and right. */
#define TREE_PARENT    8u
#define TREE_LEFT      16u
#define TREE_RIGHT     24u
#define TREE_NODE_SIZE 32u
/* bits/basic_string.h, _Rep of the ABI before GCC 5: length, capacity and uses before the text. */
#define OLD_STRING_HEAD 24u
#define ALIGNMENT_LIMIT 16u
#define TUPLE_LIMIT     16u
#define WRAP_LIMIT      8u
/* Items that are counted, where only the way along them tells how many there are. */
#define COUNT_LIMIT 1000u
#define UNCOUNTED   UINT64_MAX

/* A part of a struct. */
struct part {
    const struct debug_type *type;
    struct c_place place;
};

static bool find_part(struct part *part, const char *name)
{
    struct debug_member member;
    if (!c_find_member(part->type, name, &member) || !member.type)
        return false;
    part->type = member.type;
    part->place.at += member.offset;
    return true;
}

/* A word of it: members are named from the outside in; NULL ends them. */
static bool read_path(struct c_writer *writer, struct part part, const char *const *names,
                      uint64_t *ret)
{
    uint8_t bytes[8];
    for (; *names; names++)
        if (!find_part(&part, *names))
            return false;
    if (c_read(writer, part.place, 0, bytes, sizeof(bytes)) != C_READ_OK)
        return false;
    *ret = load_u64(bytes);
    return true;
}

#define READ_PATH(writer, part, ret, ...) \
    read_path(writer, part, (const char *const[]){__VA_ARGS__, NULL}, ret)

static bool read_word(struct c_writer *writer, psc_addr address, uint64_t *ret)
{
    return target_read_u64(writer->target, address, ret) == PSC_OK;
}

/* ---- rows ---- */

struct row {
    struct c_writer *writer;
    unsigned depth;
    uint64_t shown;
    uint64_t total;
    bool open;
};

static struct row begin_row(struct c_writer *writer, const char *bracket, uint64_t total,
                            unsigned depth)
{
    text_add_string(writer->text, writer->cython ? bracket : "{");
    return (struct row){.writer = writer, .depth = depth, .total = total, .open = true};
}

/* False when no more are to be shown, which is then said. */
static bool next_item(struct row *row)
{
    struct text *text = row->writer->text;
    if (!row->open || row->shown == row->total)
        return false;
    if (row->shown)
        text_add_string(text, ", ");
    row->open = row->shown < C_VALUE_ITEM_LIMIT && !c_is_full(row->writer) &&
                row->depth < C_VALUE_DEPTH_LIMIT;
    if (row->open)
        row->shown++;
    else if (row->total == UNCOUNTED)
        text_add_string(text, "\u2026");
    else
        text_printf(text, "\u2026 %" PRIu64 " more", row->total - row->shown);
    return row->open;
}

/* An item that is counted but can not be reached. */
static void lose_item(struct row *row, psc_addr address)
{
    row->open = false;
    c_add_missing(row->writer, C_READ_FAULT, address);
}

static void end_row(struct row *row, const char *bracket)
{
    text_add_string(row->writer->text, row->writer->cython ? bracket : "}");
}

static void add_item(struct row *row, const struct debug_type *type, psc_addr address)
{
    c_value_add(row->writer, type, (struct c_place){NULL, address}, row->depth + 1);
}

/* ["a"] = 1 as gdb has it, "a": 1 as Python has. */
static void add_mapped(struct row *row, const struct debug_type *pair, psc_addr address)
{
    struct part key = {pair, {NULL, address}};
    struct part value = key;
    struct c_writer *writer = row->writer;
    if (!find_part(&key, "first") || !find_part(&value, "second")) {
        add_item(row, pair, address);
        return;
    }
    text_add_string(writer->text, writer->cython ? "" : "[");
    c_value_add(writer, key.type, key.place, row->depth + 1);
    text_add_string(writer->text, writer->cython ? ": " : "] = ");
    c_value_add(writer, value.type, value.place, row->depth + 1);
}

/* What alignas(T) comes to; types that ask for more than their members are not known. */
static uint64_t alignment_of(const struct debug_type *type, unsigned depth)
{
    const struct debug_member *members;
    uint64_t most = 1;
    while (type && type->kind == DEBUG_KIND_ARRAY && depth++ < C_VALUE_DEPTH_LIMIT)
        type = debug_type_target(type);
    if (!type)
        return 8;
    if (type->kind != DEBUG_KIND_STRUCT && type->kind != DEBUG_KIND_UNION) {
        uint64_t size = type->kind == DEBUG_KIND_COMPLEX ? type->size / 2 : type->size;
        return size && size <= ALIGNMENT_LIMIT && !(size & (size - 1)) ? size : 8;
    }
    size_t count = depth < 2 * C_VALUE_DEPTH_LIMIT ? debug_type_members(type, &members) : 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t one = alignment_of(members[i].type, depth + 1);
        most = one > most ? one : most;
    }
    return most;
}

/* ---- text ---- */

/* One that is only declared; see DEBUG_STRING_SIZE. */
static bool add_declared_string(struct c_writer *writer, struct part part)
{
    static const struct debug_type character = {
        .kind = DEBUG_KIND_CHARACTER, .name = "char", .tag = "char", .size = 1};
    uint8_t bytes[16];
    if (part.type->size != DEBUG_STRING_SIZE)
        return false;
    if (c_read(writer, part.place, 0, bytes, sizeof(bytes)) != C_READ_OK)
        return false;
    psc_addr address = load_u64(bytes);
    if (!c_add_text(writer, &character, address, load_u64(bytes + 8), C_TEXT_COUNTED))
        c_add_missing(writer, C_READ_FAULT, address);
    return true;
}

/* What clang does not describe (_Alloc_hider, where no constructor is used) is a pointer too. */
static bool add_string(struct c_writer *writer, struct part part, unsigned depth)
{
    const struct debug_type *character = debug_type_argument(part.type, 0);
    uint64_t address;
    uint64_t length;
    uint8_t bytes[8];
    struct part data = part;
    (void)depth;
    if (part.type->incomplete)
        return add_declared_string(writer, part);
    if (!character || !c_character_width(character) || !find_part(&data, "_M_dataplus") ||
        (!find_part(&data, "_M_p") && !data.type->incomplete) ||
        c_read(writer, data.place, 0, bytes, sizeof(bytes)) != C_READ_OK)
        return false;
    address = load_u64(bytes);
    if (!READ_PATH(writer, part, &length, "_M_string_length") &&
        (find_part(&part, "_M_string_length") ||
         !read_word(writer, address - OLD_STRING_HEAD, &length)))
        return false;
    if (!c_add_text(writer, character, address, length, C_TEXT_COUNTED))
        c_add_missing(writer, C_READ_FAULT, address);
    return true;
}

static bool add_string_view(struct c_writer *writer, struct part part, unsigned depth)
{
    uint64_t address;
    uint64_t length;
    struct part data = part;
    (void)depth;
    if (!find_part(&data, "_M_str") || data.type->kind != DEBUG_KIND_POINTER ||
        !READ_PATH(writer, part, &address, "_M_str") || !READ_PATH(writer, part, &length, "_M_len"))
        return false;
    const struct debug_type *character = debug_type_target(data.type);
    return character && c_character_width(character) &&
           c_add_text(writer, character, address, length, C_TEXT_COUNTED);
}

/* ---- in a row in memory ---- */

/* vector<bool>: bits, from a pointer and an offset to another. */
static bool add_bits(struct c_writer *writer, struct part part, unsigned depth)
{
    uint64_t begin;
    uint64_t end;
    uint64_t from;
    uint64_t to;
    uint64_t word;
    if (!READ_PATH(writer, part, &begin, "_M_impl", "_M_start", "_M_p") ||
        !READ_PATH(writer, part, &end, "_M_impl", "_M_finish", "_M_p") ||
        !READ_PATH(writer, part, &from, "_M_impl", "_M_start", "_M_offset") ||
        !READ_PATH(writer, part, &to, "_M_impl", "_M_finish", "_M_offset"))
        return false;
    from &= UINT32_MAX;
    to &= UINT32_MAX;
    if (end < begin || (end - begin) % 8 || end - begin > UINT64_MAX / 16 ||
        (end - begin) * 8 + to < from)
        return false;
    struct row row = begin_row(writer, "[", (end - begin) * 8 + to - from, depth);
    for (uint64_t bit = from; next_item(&row); bit++) {
        if (!read_word(writer, begin + bit / 64 * 8, &word)) {
            lose_item(&row, begin + bit / 64 * 8);
            break;
        }
        bool set = word >> bit % 64 & 1;
        if (writer->cython)
            text_add_string(writer->text, set ? "True" : "False");
        else
            text_add_string(writer->text, set ? "true" : "false");
    }
    end_row(&row, "]");
    return true;
}

static bool add_vector(struct c_writer *writer, struct part part, unsigned depth)
{
    struct part start = part;
    uint64_t begin;
    uint64_t end;
    uint64_t word;
    if (!find_part(&start, "_M_impl") || !find_part(&start, "_M_start"))
        return false;
    if (start.type->kind != DEBUG_KIND_POINTER)
        return add_bits(writer, part, depth);
    const struct debug_type *item = debug_type_target(start.type);
    if (!item || !item->size || !READ_PATH(writer, part, &begin, "_M_impl", "_M_start") ||
        !READ_PATH(writer, part, &end, "_M_impl", "_M_finish") || end < begin)
        return false;
    struct row row = begin_row(writer, "[", (end - begin) / item->size, depth);
    for (psc_addr at = begin; next_item(&row); at += item->size) {
        if (at == begin && target_read_some(writer->target, at, &word, 1) != 1)
            lose_item(&row, at);
        else
            add_item(&row, item, at);
    }
    end_row(&row, "]");
    return true;
}

/* The parts that its map points to hold as many items each. */
static bool add_deque(struct c_writer *writer, struct part part, unsigned depth)
{
    const struct debug_type *item = debug_type_argument(part.type, 0);
    uint64_t at;
    uint64_t last;
    uint64_t node;
    uint64_t finish;
    uint64_t finish_first;
    uint64_t finish_node;
    if (!item || !item->size || !READ_PATH(writer, part, &at, "_M_impl", "_M_start", "_M_cur") ||
        !READ_PATH(writer, part, &last, "_M_impl", "_M_start", "_M_last") ||
        !READ_PATH(writer, part, &node, "_M_impl", "_M_start", "_M_node") ||
        !READ_PATH(writer, part, &finish, "_M_impl", "_M_finish", "_M_cur") ||
        !READ_PATH(writer, part, &finish_first, "_M_impl", "_M_finish", "_M_first") ||
        !READ_PATH(writer, part, &finish_node, "_M_impl", "_M_finish", "_M_node"))
        return false;
    uint64_t each = item->size < DEQUE_BUFFER_SIZE ? DEQUE_BUFFER_SIZE / item->size : 1;
    uint64_t parts = (finish_node - node) / 8;
    uint64_t total =
        parts ? (last - at) / item->size + (finish - finish_first) / item->size + (parts - 1) * each
              : (finish - at) / item->size;
    if (finish_node < node || last < at || finish < finish_first || total > UINT64_MAX / 2)
        return false;
    struct row row = begin_row(writer, "[", total, depth);
    while (next_item(&row)) {
        add_item(&row, item, at);
        at += item->size;
        if (at != last || row.shown == total)
            continue;
        node += 8;
        if (!read_word(writer, node, &at))
            lose_item(&row, node);
        last = at + each * item->size;
    }
    end_row(&row, "]");
    return true;
}

static bool add_array(struct c_writer *writer, struct part part, unsigned depth)
{
    if (!find_part(&part, "_M_elems") || part.type->kind != DEBUG_KIND_ARRAY)
        return false;
    c_value_add(writer, part.type, part.place, depth);
    return true;
}

static bool add_initializer_list(struct c_writer *writer, struct part part, unsigned depth)
{
    uint64_t at;
    uint64_t count;
    const struct debug_type *item = debug_type_argument(part.type, 0);
    if (!item || !item->size || !READ_PATH(writer, part, &at, "_M_array") ||
        !READ_PATH(writer, part, &count, "_M_len"))
        return false;
    c_add_items(writer, item, (struct c_place){NULL, at}, item->size, count, depth);
    return true;
}

/* ---- nodes ---- */

static bool next_in_tree(struct c_writer *writer, psc_addr *node)
{
    psc_addr at = *node;
    psc_addr next;
    if (!read_word(writer, at + TREE_RIGHT, &next))
        return false;
    if (next) {
        for (size_t i = 0; next && i < TREE_STEP_LIMIT; i++) {
            at = next;
            if (!read_word(writer, at + TREE_LEFT, &next))
                return false;
        }
        *node = at;
        return !next;
    }
    for (size_t i = 0; i < TREE_STEP_LIMIT; i++) {
        psc_addr right;
        if (!read_word(writer, at + TREE_PARENT, &next) ||
            !read_word(writer, next + TREE_RIGHT, &right))
            return false;
        bool was_right = right == at;
        at = next;
        if (!was_right) {
            *node = at;
            return true;
        }
    }
    return false;
}

/* map, set, multimap, multiset. */
static bool add_tree(struct c_writer *writer, struct part part, unsigned depth)
{
    bool mapping = strstr(part.type->tag, "map") != NULL;
    uint64_t count;
    psc_addr node;
    if (!find_part(&part, "_M_t"))
        return false;
    const struct debug_type *item = debug_type_argument(part.type, 1);
    if (!item || !READ_PATH(writer, part, &count, "_M_impl", "_M_node_count") ||
        !READ_PATH(writer, part, &node, "_M_impl", "_M_header", "_M_left"))
        return false;
    struct row row = begin_row(writer, "{", count, depth);
    for (bool found = true; next_item(&row); found = next_in_tree(writer, &node)) {
        if (!found)
            lose_item(&row, node);
        else if (mapping)
            add_mapped(&row, item, node + TREE_NODE_SIZE);
        else
            add_item(&row, item, node + TREE_NODE_SIZE);
    }
    end_row(&row, "}");
    return true;
}

/* Nodes that begin with a pointer to the next. */
static void add_chain(struct row *row, const struct debug_type *item, psc_addr node,
                      uint64_t offset, bool mapping)
{
    while (next_item(row)) {
        if (mapping)
            add_mapped(row, item, node + offset);
        else
            add_item(row, item, node + offset);
        if (row->shown < row->total && !read_word(row->writer, node, &node)) {
            lose_item(row, node);
            return;
        }
    }
}

static uint64_t align(uint64_t offset, const struct debug_type *item)
{
    uint64_t to = alignment_of(item, 0);
    return (offset + to - 1) / to * to;
}

/* unordered_map and its like. */
static bool add_table(struct c_writer *writer, struct part part, unsigned depth)
{
    bool mapping = strstr(part.type->tag, "map") != NULL;
    uint64_t count;
    psc_addr node;
    if (!find_part(&part, "_M_h"))
        return false;
    const struct debug_type *item = debug_type_argument(part.type, 1);
    if (!item || !READ_PATH(writer, part, &count, "_M_element_count") ||
        !READ_PATH(writer, part, &node, "_M_before_begin", "_M_nxt"))
        return false;
    struct row row = begin_row(writer, "{", count, depth);
    add_chain(&row, item, node, align(sizeof(uint64_t), item), mapping);
    end_row(&row, "}");
    return true;
}

/* How many there are to an end. */
static uint64_t count_chain(struct c_writer *writer, psc_addr node, psc_addr end)
{
    uint64_t count = 0;
    while (node != end && count < COUNT_LIMIT && read_word(writer, node, &node))
        count++;
    return count < COUNT_LIMIT ? count : UNCOUNTED;
}

/* Before GCC 5 the size of a list was counted; in memory, it ends where it begins. */
static bool add_list(struct c_writer *writer, struct part part, unsigned depth)
{
    const struct debug_type *item = debug_type_argument(part.type, 0);
    struct part head = part;
    psc_addr node;
    uint64_t count;
    if (!item || !find_part(&head, "_M_impl") || !find_part(&head, "_M_node") ||
        !READ_PATH(writer, head, &node, "_M_next"))
        return false;
    if (!READ_PATH(writer, head, &count, "_M_size")) {
        if (head.place.value)
            return false;
        count = count_chain(writer, node, head.place.at);
    }
    struct row row = begin_row(writer, "[", count, depth);
    add_chain(&row, item, node, align(2 * sizeof(uint64_t), item), false);
    end_row(&row, "]");
    return true;
}

static bool add_forward_list(struct c_writer *writer, struct part part, unsigned depth)
{
    const struct debug_type *item = debug_type_argument(part.type, 0);
    psc_addr node;
    if (!item || !READ_PATH(writer, part, &node, "_M_impl", "_M_head", "_M_next"))
        return false;
    struct row row = begin_row(writer, "[", count_chain(writer, node, 0), depth);
    add_chain(&row, item, node, align(sizeof(uint64_t), item), false);
    end_row(&row, "]");
    return true;
}

/* ---- what holds one value ---- */

/* As a reference is shown: the address, and what is there. */
static void add_owned(struct c_writer *writer, const struct debug_type *type, psc_addr address,
                      unsigned depth)
{
    if (!address) {
        text_add_string(writer->text, writer->cython ? "NULL" : "0x0");
        return;
    }
    bool shown = type && type->size && depth < C_VALUE_DEPTH_LIMIT;
    text_printf(writer->text, shown ? "@0x%" PRIx64 ": " : "0x%" PRIx64, address);
    if (shown)
        c_value_add(writer, type, (struct c_place){NULL, address}, depth + 1);
}

static bool add_shared_pointer(struct c_writer *writer, struct part part, unsigned depth)
{
    struct part pointer = part;
    uint64_t address;
    if (!find_part(&pointer, "_M_ptr") || pointer.type->kind != DEBUG_KIND_POINTER ||
        !READ_PATH(writer, part, &address, "_M_ptr"))
        return false;
    // What an expired weak_ptr points to may be anything.
    bool weak = !strncmp(part.type->tag, "weak_ptr", 8);
    add_owned(writer, weak ? NULL : debug_type_target(pointer.type), address, depth);
    return true;
}

static bool is_called(const struct debug_type *type, const char *name)
{
    size_t size = strlen(name);
    return type && type->tag && !strncmp(type->tag, name, size) &&
           (type->tag[size] == '<' || type->tag[size] == '\0');
}

/* Its first base class of that name. */
static bool find_base(struct part *part, const char *name)
{
    const struct debug_member *members;
    size_t count = debug_type_members(part->type, &members);
    for (size_t i = 0; i < count; i++) {
        if (members[i].name || !is_called(members[i].type, name))
            continue;
        part->type = members[i].type;
        part->place.at += members[i].offset;
        return true;
    }
    return false;
}

/* The value of one level of a tuple: in a base class or, where that may be empty, a member of one.
 */
static bool find_head(struct part *part)
{
    return find_base(part, "_Head_base") && find_part(part, "_M_head_impl");
}

static bool add_tuple(struct c_writer *writer, struct part part, unsigned depth)
{
    struct text *text = writer->text;
    size_t count = 0;
    if (!find_base(&part, "_Tuple_impl"))
        return false;
    text_add_char(text, writer->cython ? '(' : '{');
    do {
        struct part head = part;
        if (!find_head(&head))
            break;
        text_add_string(text, count++ ? ", " : "");
        if (depth >= C_VALUE_DEPTH_LIMIT || count > TUPLE_LIMIT || c_is_full(writer)) {
            text_add_string(text, "\u2026");
            break;
        }
        c_value_add(writer, head.type, head.place, depth + 1);
    } while (find_base(&part, "_Tuple_impl"));
    text_add_string(text, !writer->cython ? "}" : count == 1 ? ",)" : ")");
    return true;
}

/* A tuple of the pointer and of what deletes it. Of an array nobody knows the length. */
static bool add_unique_pointer(struct c_writer *writer, struct part part, unsigned depth)
{
    const struct debug_type *owned = debug_type_argument(part.type, 0);
    uint8_t bytes[8];
    for (size_t i = 0; i < WRAP_LIMIT && !is_called(part.type, "tuple"); i++)
        if (!find_part(&part, "_M_t"))
            return false;
    if (!find_base(&part, "_Tuple_impl") || !find_head(&part) ||
        part.type->kind != DEBUG_KIND_POINTER ||
        c_read(writer, part.place, 0, bytes, sizeof(bytes)) != C_READ_OK)
        return false;
    bool one = owned && owned->kind != DEBUG_KIND_ARRAY;
    add_owned(writer, one ? debug_type_target(part.type) : NULL, load_u64(bytes), depth);
    return true;
}

static bool add_optional(struct c_writer *writer, struct part part, unsigned depth)
{
    struct part engaged = part;
    uint8_t byte;
    if (!find_part(&part, "_M_payload") || !find_part(&engaged, "_M_payload") ||
        !find_part(&engaged, "_M_engaged") ||
        c_read(writer, engaged.place, 0, &byte, sizeof(byte)) != C_READ_OK)
        return false;
    if (!byte) {
        text_add_string(writer->text, "nullopt");
        return true;
    }
    if (!find_part(&part, "_M_payload") || !find_part(&part, "_M_value"))
        return false;
    c_value_add(writer, part.type, part.place, depth);
    return true;
}

/* In Cython a pair is a tuple. */
static bool add_pair(struct c_writer *writer, struct part part, unsigned depth)
{
    struct part second = part;
    if (!writer->cython || !find_part(&part, "first") || !find_part(&second, "second"))
        return false;
    text_add_char(writer->text, '(');
    c_value_add(writer, part.type, part.place, depth + 1);
    text_add_string(writer->text, ", ");
    c_value_add(writer, second.type, second.place, depth + 1);
    text_add_char(writer->text, ')');
    return true;
}

/* Wrappers around one value are shown as that. */
static bool add_wrapped(struct c_writer *writer, struct part part, unsigned depth)
{
    static const char *const names[] = {"_M_value", "_M_i", "_M_b", "c", "_M_base"};
    for (size_t i = 0; i < PSC_ARRAY_SIZE(names); i++) {
        struct part inside = part;
        if (!find_part(&inside, names[i]))
            continue;
        c_value_add(writer, inside.type, inside.place,
                    depth + (inside.type->kind == DEBUG_KIND_STRUCT));
        return true;
    }
    return false;
}

/* ---- which ---- */

bool c_add_library_struct(struct c_writer *writer, const struct debug_type *type,
                          struct c_place place, unsigned depth)
{
    static const struct {
        const char *name;
        bool (*add)(struct c_writer *writer, struct part part, unsigned depth);
    } kinds[] = {
        {"basic_string", add_string},
        {"basic_string_view", add_string_view},
        {"vector", add_vector},
        {"deque", add_deque},
        {"array", add_array},
        {"initializer_list", add_initializer_list},
        {"map", add_tree},
        {"set", add_tree},
        {"multimap", add_tree},
        {"multiset", add_tree},
        {"unordered_map", add_table},
        {"unordered_set", add_table},
        {"unordered_multimap", add_table},
        {"unordered_multiset", add_table},
        {"list", add_list},
        {"forward_list", add_forward_list},
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
    if (depth > C_VALUE_DEPTH_LIMIT)
        return false;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(kinds); i++)
        if (is_called(type, kinds[i].name))
            return kinds[i].add(writer, (struct part){type, place}, depth);
    return false;
}
