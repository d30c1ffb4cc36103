/* What C++'s library holds in rows: arrays, trees, hash tables and lists. */
#include "cxx_library.h"

#include <inttypes.h>
#include <string.h>

/* Steps from one node of a tree to the next: twice the depth of a balanced one. */
#define TREE_STEP_LIMIT 128u
/* bits/stl_deque.h, _GLIBCXX_DEQUE_BUF_SIZE. */
#define DEQUE_BUFFER_SIZE 512u
/* bits/stl_tree.h: _Rb_tree_node_base has a colour, parent, left and right. */
#define TREE_PARENT     8u
#define TREE_LEFT       16u
#define TREE_RIGHT      24u
#define TREE_NODE_SIZE  32u
#define ALIGNMENT_DEPTH 4u /* Arrays and structs in structs, of which alignments are asked. */
#define ALIGNMENT_LIMIT 16u
/* Members of an item, and of what these are made of. */
#define ALIGNED_TYPE_LIMIT 4096u
/* Items that are counted where no number tells how many there are. */
#define COUNT_LIMIT 1000u
#define UNCOUNTED   UINT64_MAX

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

/* False when no more are shown; the text then says how many are left. */
static bool next_item(struct row *row)
{
    struct text *text = row->writer->text;
    if (!row->open || row->shown == row->total)
        return false;
    if (row->shown)
        text_add_string(text, ", ");
    row->open = row->shown < row->writer->limits.items && !c_is_full(row->writer) &&
                row->depth < row->writer->limits.depth;
    if (row->open)
        row->shown++;
    else if (row->total == UNCOUNTED)
        text_add_string(text, "\u2026");
    else
        text_printf(text, "\u2026 %" PRIu64 " more", row->total - row->shown);
    return row->open;
}

/* Says that an item, which the container counts, cannot be read. */
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
    c_add_value(row->writer, type, (struct c_storage){NULL, address}, row->depth + 1);
}

/* ["a"] = 1 as gdb has it, "a": 1 as Python has. */
static void add_mapped(struct row *row, const struct debug_type *pair, psc_addr address)
{
    struct c_part key = {pair, {NULL, address}};
    struct c_part value = key;
    struct c_writer *writer = row->writer;
    if (!library_find_part(&key, "first") || !library_find_part(&value, "second")) {
        add_item(row, pair, address);
        return;
    }
    text_add_string(writer->text, writer->cython ? "" : "[");
    c_add_value(writer, key.type, key.storage, row->depth + 1);
    text_add_string(writer->text, writer->cython ? ": " : "] = ");
    c_add_value(writer, value.type, value.storage, row->depth + 1);
}

/*
 * Alignment of a type, by its members. An alignas() of its own is not in the debug information.
 * @param left  how many types may still be looked at: in damaged debug information a struct may be
 *              in itself.
 */
static uint64_t alignment_of(const struct debug_type *type, unsigned depth, unsigned *left)
{
    const struct debug_member *members;
    uint64_t most = 1;
    while (type && type->kind == DEBUG_KIND_ARRAY && depth++ < ALIGNMENT_DEPTH)
        type = debug_type_target(type);
    if (!type || !*left)
        return 8;
    --*left;
    if (type->kind != DEBUG_KIND_STRUCT && type->kind != DEBUG_KIND_UNION) {
        uint64_t size = type->kind == DEBUG_KIND_COMPLEX ? type->size / 2 : type->size;
        return size && size <= ALIGNMENT_LIMIT && !(size & (size - 1)) ? size : 8;
    }
    size_t count = depth < 2 * ALIGNMENT_DEPTH ? debug_type_members(type, &members) : 0;
    for (size_t i = 0; i < count && *left; i++) {
        uint64_t one = alignment_of(members[i].type, depth + 1, left);
        most = one > most ? one : most;
    }
    return most;
}

/* ---- in a row in memory ---- */

/* vector<bool>: bits, from a pointer and an offset to another. */
static bool add_bits(struct c_writer *writer, struct c_part part, unsigned depth)
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
        if (!library_read_word(writer, begin + bit / 64 * 8, &word)) {
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

bool library_add_vector(struct c_writer *writer, struct c_part part, unsigned depth)
{
    struct c_part start = part;
    uint64_t begin;
    uint64_t end;
    uint64_t word;
    if (!library_find_part(&start, "_M_impl") || !library_find_part(&start, "_M_start"))
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

/* Its map points to parts, which hold the same number of items each. */
bool library_add_deque(struct c_writer *writer, struct c_part part, unsigned depth)
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
        if (!library_read_word(writer, node, &at))
            lose_item(&row, node);
        last = at + each * item->size;
    }
    end_row(&row, "]");
    return true;
}

bool library_add_array(struct c_writer *writer, struct c_part part, unsigned depth)
{
    if (!library_find_part(&part, "_M_elems") || part.type->kind != DEBUG_KIND_ARRAY)
        return false;
    c_add_value(writer, part.type, part.storage, depth);
    return true;
}

bool library_add_initializer_list(struct c_writer *writer, struct c_part part, unsigned depth)
{
    uint64_t at;
    uint64_t count;
    const struct debug_type *item = debug_type_argument(part.type, 0);
    if (!item || !item->size || !READ_PATH(writer, part, &at, "_M_array") ||
        !READ_PATH(writer, part, &count, "_M_len"))
        return false;
    c_add_items(writer, (struct c_part){item, {NULL, at}}, count, depth);
    return true;
}

/* ---- nodes ---- */

static bool next_in_tree(struct c_writer *writer, psc_addr *node)
{
    psc_addr at = *node;
    psc_addr next;
    if (!library_read_word(writer, at + TREE_RIGHT, &next))
        return false;
    if (next) {
        for (size_t i = 0; next && i < TREE_STEP_LIMIT; i++) {
            at = next;
            if (!library_read_word(writer, at + TREE_LEFT, &next))
                return false;
        }
        *node = at;
        return !next;
    }
    for (size_t i = 0; i < TREE_STEP_LIMIT; i++) {
        psc_addr right;
        if (!library_read_word(writer, at + TREE_PARENT, &next) ||
            !library_read_word(writer, next + TREE_RIGHT, &right))
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
bool library_add_tree(struct c_writer *writer, struct c_part part, unsigned depth)
{
    bool mapping = strstr(part.type->tag, "map") != NULL;
    uint64_t count;
    psc_addr node;
    if (!library_find_part(&part, "_M_t"))
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
        if (row->shown < row->total && !library_read_word(row->writer, node, &node)) {
            lose_item(row, node);
            return;
        }
    }
}

static uint64_t align(uint64_t offset, const struct debug_type *item)
{
    unsigned left = ALIGNED_TYPE_LIMIT;
    uint64_t to = alignment_of(item, 0, &left);
    return (offset + to - 1) / to * to;
}

/* unordered_map, unordered_set, unordered_multimap, unordered_multiset. */
bool library_add_table(struct c_writer *writer, struct c_part part, unsigned depth)
{
    bool mapping = strstr(part.type->tag, "map") != NULL;
    uint64_t count;
    psc_addr node;
    if (!library_find_part(&part, "_M_h"))
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

/* How many nodes there are up to `end`. */
static uint64_t count_chain(struct c_writer *writer, psc_addr node, psc_addr end)
{
    uint64_t count = 0;
    while (node != end && count < COUNT_LIMIT && library_read_word(writer, node, &node))
        count++;
    return count < COUNT_LIMIT ? count : UNCOUNTED;
}

/* Before GCC 5 a list did not keep its size. It is a ring: the last node points to the list. */
bool library_add_list(struct c_writer *writer, struct c_part part, unsigned depth)
{
    const struct debug_type *item = debug_type_argument(part.type, 0);
    struct c_part head = part;
    psc_addr node;
    uint64_t count;
    if (!item || !library_find_part(&head, "_M_impl") || !library_find_part(&head, "_M_node") ||
        !READ_PATH(writer, head, &node, "_M_next"))
        return false;
    if (!READ_PATH(writer, head, &count, "_M_size")) {
        if (head.storage.value)
            return false;
        count = count_chain(writer, node, head.storage.at);
    }
    struct row row = begin_row(writer, "[", count, depth);
    add_chain(&row, item, node, align(2 * sizeof(uint64_t), item), false);
    end_row(&row, "]");
    return true;
}

bool library_add_forward_list(struct c_writer *writer, struct c_part part, unsigned depth)
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
