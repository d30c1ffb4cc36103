/* The tree, a line a frame; what is too much for a screen is counted. */
#include "summary_private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Stacks that are shown when there are more: the oddest, and those that most threads have. */
#define ODD_LIMIT    10
#define COMMON_LIMIT 6
/* Frames in a row that all stacks here have are shown up to so many; of longer rows the first, the
 * last, and so many of the innermost ones in Python or Cython, or of all where there are none. */
#define ROW_LIMIT    6
#define INNER_FRAMES 4
/* Steps of indentation. */
#define INDENT_LIMIT 16
/* Columns of the counts. */
#define COUNT_WIDTH 7

/* ---- what is shown ---- */

static int compare_stacks(const void *left, const void *right)
{
    const struct stack_node *a = *(const struct stack_node *const *)left;
    const struct stack_node *b = *(const struct stack_node *const *)right;
    if (a->crashed != b->crashed)
        return a->crashed ? -1 : 1;
    return a->ends != b->ends ? COMPARE(a->ends, b->ends) : COMPARE(a, b);
}

static void show(struct summary *summary, const struct stack_node *node)
{
    size_t at = (size_t)(node - summary->tree->nodes);
    for (; at != STACK_TREE_NONE && !summary->shown[at]; at = summary->tree->nodes[at].parent)
        summary->shown[at] = true;
}

static bool choose_stacks(struct summary *summary)
{
    const struct stack_tree *tree = summary->tree;
    PSC_CLEANUP(cleanup_free)
    const struct stack_node **stacks = calloc(tree->stacks + 1, sizeof(*stacks));
    size_t count = 0;
    if (!stacks)
        return false;
    for (size_t i = 0; i < tree->count; i++)
        if (tree->nodes[i].ends)
            stacks[count++] = &tree->nodes[i];
    qsort(stacks, count, sizeof(*stacks), compare_stacks);
    for (size_t i = 0; i < count; i++)
        if (summary->options->all || i < ODD_LIMIT || i + COMMON_LIMIT >= count)
            show(summary, stacks[i]);
    return true;
}

/* Whether all stacks that go through here go on, in one way. */
static bool goes_on(const struct stack_tree *tree, size_t node)
{
    const struct stack_node *at = &tree->nodes[node];
    return !at->ends && at->first_child != STACK_TREE_NONE &&
           tree->nodes[at->first_child].next == STACK_TREE_NONE;
}

/* Parents stand before their children. */
static void set_indents(struct summary *summary)
{
    for (size_t i = 1; i < summary->tree->count; i++) {
        size_t parent = summary->tree->nodes[i].parent;
        bool deeper = parent && !goes_on(summary->tree, parent);
        size_t indent = summary->indent[parent] + deeper;
        summary->indent[i] = indent < INDENT_LIMIT ? indent : INDENT_LIMIT;
    }
}

/* ---- lines ---- */

static void begin_line(struct summary *summary, size_t indent, size_t count)
{
    struct text number = {0}, *text = &summary->sink->buffer;
    if (count)
        summary_add_count(&number, count);
    text_printf(text, "%*s  %*s", COUNT_WIDTH, number.size ? number.data : "", (int)(2 * indent),
                "");
    text->failed |= number.failed;
    text_deinit(&number);
}

/* The last two components: enough to know a file by. */
static const char *short_path(const char *path)
{
    const char *slash = strrchr(path, '/');
    while (slash && slash > path && slash[-1] != '/')
        slash--;
    return slash && slash > path ? slash : path[0] == '/' ? path + 1 : path;
}

static void add_place(struct text *text, const struct trace_location *location)
{
    if (location->file) {
        text_add_string(text, "  ");
        text_add_escaped(text, short_path(location->file));
        if (location->line)
            text_printf(text,
                        location->line_source == TRACE_LINE_ESTIMATE ? ":~%" PRIu32 : ":%" PRIu32,
                        location->line);
    } else if (location->module) {
        text_add_string(text, "  ");
        text_add_escaped(text, short_path(location->module->path));
        if (!location->function && location->has_offset)
            text_printf(text, "+0x%" PRIx64, location->offset);
    }
}

static void add_frame(struct summary *summary, size_t index)
{
    const struct stack_node *node = &summary->tree->nodes[index];
    const struct trace_location *location = node->location;
    struct text *text = &summary->sink->buffer;
    begin_line(summary, summary->indent[index], node->threads);
    text_printf(text, "%-6s  ",
                location->kind == TRACE_GAP ? "--"
                : location->language        ? location->language
                                            : "C");
    if (location->kind == TRACE_GAP)
        text_add_string(text, "gap: ");
    text_add_escaped(text, location->function ? location->function : "??");
    add_place(text, location);
    if (node->cycle_times) {
        text_printf(text, " \u00b7 recursion of %zu frame%s, ", node->cycle_frames,
                    node->cycle_frames == 1 ? "" : "s");
        summary_add_count(text, node->cycle_times);
        text_add_string(text, " times");
    }
    text_add_char(text, '\n');
}

static enum psc_status add_ends(struct summary *summary, size_t index)
{
    const struct stack_node *node = &summary->tree->nodes[index];
    struct text *text = &summary->sink->buffer;
    if (!node->ends)
        return PSC_OK;
    begin_line(summary, index ? summary->indent[index] + 1 : 0, index ? 0 : node->ends);
    text_add_string(text, index ? "= " : "no frames: ");
    enum psc_status status = summary_add_ends(summary, index);
    text_add_char(text, '\n');
    return status;
}

static size_t count_stacks_below(const struct stack_tree *tree, size_t node)
{
    size_t end = stack_tree_skip(tree, node), count = 0;
    for (size_t at = node; at != end; at = stack_tree_next(tree, at))
        count += tree->nodes[at].ends > 0;
    return count;
}

/* One line for all children of a node that are not shown, in the place of the first. */
static void add_hidden(struct summary *summary, size_t child)
{
    const struct stack_tree *tree = summary->tree;
    struct text *text = &summary->sink->buffer;
    size_t stacks = 0, threads = 0, at = tree->nodes[tree->nodes[child].parent].first_child;
    for (; at != STACK_TREE_NONE; at = tree->nodes[at].next) {
        if (summary->shown[at])
            continue;
        if (!stacks && at != child)
            return;
        stacks += count_stacks_below(tree, at);
        threads += tree->nodes[at].threads;
    }
    begin_line(summary, summary->indent[child], threads);
    text_add_string(text, "\u2026 in ");
    summary_add_count(text, stacks);
    text_printf(text, " more stack%s (--all shows them)\n", stacks == 1 ? "" : "s");
}

/* Frames that all stacks have which go through the first of them. */
struct row {
    size_t length;
    size_t position;
    size_t sources; /* In Python or Cython, of those that are to come. */
    bool native;    /* It has no others. */
    size_t hidden;  /* That were passed over since the last one that was shown. */
};

static bool is_source(const struct stack_node *node)
{
    return node->location->kind == TRACE_PYTHON || node->location->kind == TRACE_CYTHON;
}

static struct row begin_row(const struct stack_tree *tree, size_t node)
{
    struct row row = {.length = 1, .sources = is_source(&tree->nodes[node])};
    for (; goes_on(tree, node); row.length++) {
        node = tree->nodes[node].first_child;
        row.sources += is_source(&tree->nodes[node]);
    }
    row.native = !row.sources;
    return row;
}

static bool begins_row(const struct stack_tree *tree, size_t node)
{
    size_t parent = tree->nodes[node].parent;
    return !parent || !goes_on(tree, parent);
}

static bool shows_frame(const struct row *row, const struct stack_node *node)
{
    if (row->length <= ROW_LIMIT || !row->position || row->position + 1 == row->length)
        return true;
    if (row->native)
        return row->position + INNER_FRAMES >= row->length;
    return is_source(node) && row->sources <= INNER_FRAMES;
}

/* The next frame of a row. */
static void add_row_frame(struct summary *summary, struct row *row, size_t index)
{
    const struct stack_node *node = &summary->tree->nodes[index];
    bool shown = summary->options->all || shows_frame(row, node);
    if (shown && row->hidden) {
        begin_line(summary, summary->indent[index], 0);
        text_printf(&summary->sink->buffer, "\u2026 %zu frame%s\n", row->hidden,
                    row->hidden == 1 ? "" : "s");
    }
    if (shown)
        add_frame(summary, index);
    row->hidden = shown ? 0 : row->hidden + 1;
    row->sources -= is_source(node);
    row->position++;
}

static enum psc_status add_tree(struct summary *summary)
{
    const struct stack_tree *tree = summary->tree;
    struct row row = {0};
    enum psc_status status = add_ends(summary, 0);
    size_t at = tree->nodes[0].first_child;
    while (status == PSC_OK && at != STACK_TREE_NONE && print_sink_takes(summary->sink)) {
        if (!summary->shown[at]) {
            add_hidden(summary, at);
            at = stack_tree_skip(tree, at);
            continue;
        }
        if (begins_row(tree, at))
            row = begin_row(tree, at);
        add_row_frame(summary, &row, at);
        status = add_ends(summary, at);
        at = stack_tree_next(tree, at);
    }
    return status;
}

static enum psc_status add_all(struct summary *summary)
{
    struct text *text = &summary->sink->buffer;
    enum psc_status status = summary_add_head(summary);
    text_add_char(text, '\n');
    summary_add_count(text, summary->tree->end_count);
    text_printf(text, " thread%s, ", summary->tree->end_count == 1 ? "" : "s");
    summary_add_count(text, summary->tree->stacks);
    text_printf(text, " different stack%s, the odd ones first\n",
                summary->tree->stacks == 1 ? "" : "s");
    return status == PSC_OK ? add_tree(summary) : status;
}

enum psc_status print_text_summary(const struct psc_trace *const *traces, size_t count,
                                   const struct psc_print_options *options, struct print_sink *sink)
{
    struct stack_tree *tree = stack_tree_create(traces, count, options);
    if (!tree)
        return PSC_ERR_MEMORY;
    struct summary summary = {.traces = traces,
                              .count = count,
                              .options = options,
                              .tree = tree,
                              .sink = sink,
                              .shown = calloc(tree->count, sizeof(*summary.shown)),
                              .indent = calloc(tree->count, sizeof(*summary.indent))};
    enum psc_status status = PSC_ERR_MEMORY;
    if (summary.shown && summary.indent && choose_stacks(&summary)) {
        set_indents(&summary);
        status = add_all(&summary);
    }
    free(summary.shown);
    free(summary.indent);
    stack_tree_destroy(tree);
    return status;
}
