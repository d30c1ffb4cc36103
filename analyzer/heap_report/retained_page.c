/* The page: what is retained, as a tree that is unfolded by hand, and the types. */
#include "heap_report_private.h"
#include "holders.h"

#include <stdlib.h>
#include <string.h>

#define DEPTH_SHOWN    40u
#define CHILDREN_SHOWN 25u /* Of a node. */
#define NODES_SHOWN    6000u
#define SHARE_SHOWN    1000u /* Nothing that retains less than so small a part. */
#define TYPES_SHOWN    200u
#define VALUE_SIZE     120u

/* page_style and page_script stand in the program as bytes, see CMakeLists.txt. */
extern const char heap_page_style[];
extern const char heap_page_script[];

struct tree_page {
    struct heap_page *page;
    struct holders *holders;
    struct holder_rows children;
    struct text *out;
    uint32_t nodes;
};

/* ---- a node ---- */

static double share(const struct holders *holders, uint64_t bytes)
{
    return holders->total ? 100.0 * (double)bytes / (double)holders->total : 0;
}

static void put_bytes(struct text *out, uint64_t bytes)
{
    text_add_string(out, "<span class=\"size\">");
    heap_add_bytes(out, bytes);
    text_add_string(out, "</span>");
}

/* The way from the one that it is shown below; of the outermost its name. */
static void put_label(struct tree_page *tree, uint32_t above, uint32_t node)
{
    struct text label = {0};
    holders_add_name(tree->holders, node, &label);
    if (!label.size && above != HOLDERS_NO_NODE)
        holders_add_step(tree->holders, above, node, &label);
    if (label.size) {
        text_add_string(tree->out, "<b>");
        text_add_html(tree->out, label.data);
        text_add_string(tree->out, "</b> ");
    }
    tree->out->failed |= label.failed;
    text_deinit(&label);
}

static void put_summary(struct tree_page *tree, uint32_t above, uint32_t node, size_t child_count)
{
    struct text *out = tree->out;
    const struct holders *holders = tree->holders;
    const double part = share(holders, holders->tree.retained[node]);
    struct text value = {0};
    text_printf(out,
                "<span class=\"bar\"><meter min=\"0\" max=\"100\" value=\"%.1f\"></meter></span>",
                part);
    put_bytes(out, holders->tree.retained[node]);
    text_printf(out, "<span class=\"part\">%.1f %%</span> <span class=\"what\">", part);
    put_label(tree, above, node);
    text_add_string(out, "<span class=\"type\">");
    text_add_html(out, holders_type_name(holders, node));
    if (holders_is_object(holders, node))
        text_printf(out, "</span> <code>0x%llx</code> <span class=\"value\">",
                    (unsigned long long)holders->heap->objects[node].address);
    else
        text_add_string(out, "</span> <span class=\"value\">");
    if (holders_is_object(holders, node) && !child_count)
        heap_add_value(holders->heap, node, VALUE_SIZE, &value);
    text_add_html(out, value.data ? value.data : "");
    text_add_string(out, "</span></span>");
    out->failed |= value.failed;
    text_deinit(&value);
}

/* ---- the tree ---- */

struct child {
    uint64_t retained;
    uint32_t node;
};

static int compare_children(const void *left, const void *right)
{
    const struct child *one = left, *other = right;
    const int order = COMPARE(other->retained, one->retained);
    return order ? order : COMPARE(one->node, other->node);
}

struct level {
    struct child *items; /* malloc'd */
    size_t count;
    size_t next;
    size_t all; /* Below the node; the small ones are left out. */
    uint64_t left_out;
    uint32_t node;
};

static bool list_level(struct tree_page *tree, uint32_t node, struct level *ret)
{
    const struct holders *holders = tree->holders;
    const struct holder_rows *rows = &tree->children;
    const uint32_t row = node == HOLDERS_NO_NODE ? holders->tree.count : node;
    const size_t all = rows->first[(size_t)row + 1] - rows->first[row];
    *ret = (struct level){.node = node, .all = all};
    size_t capacity = 0;
    for (uint32_t i = rows->first[row]; i < rows->first[(size_t)row + 1]; i++) {
        const uint32_t child = rows->nodes[i];
        const uint64_t retained = holders->tree.retained[child];
        if (retained < holders->total / SHARE_SHOWN) {
            ret->left_out += retained;
            continue;
        }
        if (!array_reserve(&ret->items, &capacity, ret->count + 1, sizeof(*ret->items))) {
            free(ret->items);
            return false;
        }
        ret->items[ret->count++] = (struct child){retained, child};
    }
    if (ret->count)
        qsort(ret->items, ret->count, sizeof(*ret->items), compare_children);
    for (; ret->count > CHILDREN_SHOWN; ret->count--)
        ret->left_out += ret->items[ret->count - 1].retained;
    return true;
}

static void end_level(struct tree_page *tree, struct level *level)
{
    if (level->all > level->count) {
        text_add_string(tree->out, "<li class=\"rest\">");
        put_bytes(tree->out, level->left_out);
        text_printf(tree->out, " in %zu smaller ones</li>\n", level->all - level->count);
    }
    text_add_string(tree->out, "</ul>");
    free(level->items);
    level->items = NULL;
}

static enum psc_status put_tree(struct tree_page *tree)
{
    struct level levels[DEPTH_SHOWN];
    size_t depth = 0;
    bool failed = !list_level(tree, HOLDERS_NO_NODE, &levels[depth]);
    depth += !failed;
    text_add_string(tree->out, "<ul class=\"tree\">\n");
    while (depth && !failed) {
        struct level *level = &levels[depth - 1];
        if (level->next == level->count || tree->nodes >= NODES_SHOWN) {
            end_level(tree, level);
            if (--depth)
                text_add_string(tree->out, "</details></li>\n");
            continue;
        }
        const uint32_t node = level->items[level->next++].node;
        struct level below = {0};
        tree->nodes++;
        if (depth < DEPTH_SHOWN)
            failed = !list_level(tree, node, &below);
        if (failed)
            break;
        if (!below.count) {
            free(below.items);
            text_add_string(tree->out, "<li class=\"leaf\">");
            put_summary(tree, level->node, node, below.all);
            text_add_string(tree->out, "</li>\n");
            continue;
        }
        text_add_string(tree->out, depth == 1 && level->next == 1 ? "<li><details open><summary>"
                                                                  : "<li><details><summary>");
        put_summary(tree, level->node, node, below.all);
        text_add_string(tree->out, "</summary>\n<ul>\n");
        levels[depth++] = below;
    }
    for (size_t i = 0; i < depth; i++)
        free(levels[i].items);
    return failed ? PSC_ERR_MEMORY : PSC_OK;
}

/* ---- the types ---- */

static int compare_types(const void *left, const void *right)
{
    const struct heap_type *const *one = left, *const *other = right;
    return COMPARE((*other)->occupied + (*other)->owned, (*one)->occupied + (*one)->owned);
}

static enum psc_status put_types(struct tree_page *tree)
{
    const struct heap *heap = tree->holders->heap;
    struct text *out = tree->out;
    PSC_CLEANUP(cleanup_free)
    const struct heap_type **types = calloc((size_t)heap->type_count + 1, sizeof(*types));
    if (!types)
        return PSC_ERR_MEMORY;
    for (uint32_t i = 0; i < heap->type_count; i++)
        types[i] = &heap->types[i];
    qsort(types, heap->type_count, sizeof(*types), compare_types);
    text_add_string(out, "<table><thead><tr><th>Type<th>Objects<th>Bytes<th>They keep<th>They "
                         "retain</tr></thead><tbody>\n");
    for (uint32_t i = 0; i < heap->type_count && i < TYPES_SHOWN && types[i]->count; i++) {
        text_add_string(out, "<tr><td><code>");
        text_add_html(out, types[i]->name);
        text_printf(out, "</code><td>%llu<td>", (unsigned long long)types[i]->count);
        heap_add_bytes(out, types[i]->occupied);
        text_add_string(out, "<td>");
        heap_add_bytes(out, types[i]->owned);
        text_add_string(out, "<td>");
        heap_add_bytes(out, tree->holders->type_retained[types[i] - heap->types]);
        text_add_string(out, "</tr>\n");
    }
    text_add_string(out, "</tbody></table>\n");
    return PSC_OK;
}

/* ---- all ---- */

static enum psc_status put_suspects(struct tree_page *tree)
{
    struct suspect suspects[SUSPECT_LIMIT];
    size_t count = 0;
    struct text *out = tree->out;
    enum psc_status status = holders_find_suspects(tree->holders, suspects, &count);
    if (!count)
        return status;
    text_add_string(out, "<h2>One holder of more than a tenth</h2>\n<ul class=\"suspects\">\n");
    for (size_t i = 0; status == PSC_OK && i < count; i++) {
        struct text line = {0};
        status = held_way_add_line(tree->page, suspects[i].node, &line);
        text_add_string(out, "<li>");
        put_bytes(out, suspects[i].retained);
        text_printf(out, " <span class=\"part\">%.0f %%</span> <b>",
                    share(tree->holders, suspects[i].retained));
        text_add_html(out, line.data ? line.data : "");
        text_add_string(out, "</b>");
        if (suspects[i].child_type != HEAP_NONE) {
            text_printf(out, ": %llu <code>", (unsigned long long)suspects[i].child_count);
            text_add_html(out, tree->holders->heap->types[suspects[i].child_type].name);
            text_add_string(out, "</code>");
        }
        text_add_string(out, "</li>\n");
        out->failed |= line.failed;
        text_deinit(&line);
    }
    text_add_string(out, "</ul>\n");
    return status;
}

static void put_head(struct tree_page *tree)
{
    const struct heap *heap = tree->holders->heap;
    struct text *out = tree->out;
    text_add_string(out,
                    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                    "style-src '" PSC_HEAP_STYLE_HASH "'; script-src '" PSC_HEAP_SCRIPT_HASH "'; "
                    "base-uri 'none'; form-action 'none'\">\n"
                    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                    "<meta name=\"color-scheme\" content=\"light dark\">\n"
                    "<meta name=\"referrer\" content=\"no-referrer\">\n<title>Heap: ");
    heap_add_bytes(out, tree->holders->total);
    text_printf(out, " in %u objects</title>\n<style>", heap->object_count);
    text_add_string(out, heap_page_style);
    text_add_string(out, "</style>\n</head>\n<body>\n<header>\n<h1>");
    heap_add_bytes(out, tree->holders->total);
    text_printf(out, " in %u objects</h1>\n<p class=\"sub\">", heap->object_count);
    text_add_html(out, heap->target->process.executable ? heap->target->process.executable : "");
    text_add_string(out, "</p>\n<div id=\"tools\" hidden><input id=\"search\" type=\"search\" "
                         "placeholder=\"Search names, types, values ( / )\" aria-label=\"Search\">"
                         "<span id=\"found\" role=\"status\"></span></div>\n</header>\n<main>\n");
}

enum psc_status retained_page_put(struct heap_page *page, struct psc_error *err)
{
    struct tree_page tree = {.page = page, .out = page->out};
    enum psc_status status = heap_page_holders(page, &tree.holders);
    if (status == PSC_OK)
        status = dominators_list_children(&tree.holders->tree, &tree.children);
    if (status != PSC_OK)
        return psc_fail_status(err, status);
    put_head(&tree);
    status = put_suspects(&tree);
    text_add_string(page->out, "<h2>What would go with what</h2>\n<p class=\"sub\">Each line is "
                               "what would be freed with it: its own bytes, and all that nothing "
                               "else holds.</p>\n");
    if (status == PSC_OK)
        status = put_tree(&tree);
    text_add_string(page->out, "\n<h2>Types</h2>\n");
    if (status == PSC_OK)
        status = put_types(&tree);
    text_add_string(page->out, "</main>\n<script>");
    text_add_string(page->out, heap_page_script);
    text_add_string(page->out, "</script>\n</body>\n</html>\n");
    holder_rows_deinit(&tree.children);
    return psc_fail_status(err, status);
}
