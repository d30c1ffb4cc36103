/* Schema pystack-core-summary/1, schema/pystack-core-summary-1.schema.json. */
#include "as_json_private.h"

#include "stack_tree.h"

static void put_process(struct json_writer *writer, const struct psc_trace *trace)
{
    const struct trace_running *running = trace->running;
    const struct trace_crash *crash = trace->crash;
    json_open_object(writer, NULL);
    json_put_string(writer, "kind", trace->kind);
    json_put_string(writer, "path", trace->path);
    json_put_integer(writer, "pid", trace->pid > 0, trace->pid);
    json_put_unsigned(writer, "rank", running && running->rank_by, running ? running->rank : 0);
    json_put_string(writer, "host", running ? running->host : NULL);
    json_put_string(writer, "executable", trace->executable);
    json_open_array(writer, "arguments");
    for (size_t i = 0; i < trace->argument_count && json_takes(writer); i++)
        json_put_string(writer, NULL, trace->arguments[i]);
    json_close_array(writer);
    json_put_string(writer, "signal", crash ? crash->signal : NULL);
    json_put_string(writer, "summary", crash ? crash->summary : NULL);
    json_put_unsigned(writer, "threads", true, trace->thread_count);
    json_close_object(writer);
}

static void put_ends(struct json_writer *writer, const struct stack_tree *tree,
                     const struct stack_node *node)
{
    json_open_array(writer, "ends");
    for (size_t at = node->first_end; at != STACK_TREE_NONE && json_takes(writer);
         at = tree->ends[at].next) {
        const struct stack_end *end = &tree->ends[at];
        json_open_object(writer, NULL);
        json_put_unsigned(writer, "process", true, end->process);
        json_put_integer(writer, "tid", end->thread->tid > 0, end->thread->tid);
        json_put_string(writer, "name", end->thread->name);
        json_put_states(writer, end->thread->state);
        json_close_object(writer);
    }
    json_close_array(writer);
}

/* Numbers of nodes are those of the order in which they are listed. */
static void put_node(struct json_writer *writer, const struct stack_tree *tree, size_t index,
                     const size_t *numbers)
{
    const struct stack_node *node = &tree->nodes[index];
    const struct trace_location *location = node->location;
    json_open_object(writer, NULL);
    json_put_unsigned(writer, "parent", node->parent != STACK_TREE_NONE,
                      node->parent != STACK_TREE_NONE ? numbers[node->parent] : 0);
    json_put_string(writer, "kind", location ? json_kind(location->kind) : NULL);
    json_put_string(writer, "function", location ? location->function : NULL);
    json_put_string(writer, "file", location ? location->file : NULL);
    json_put_integer(writer, "line", location && location->line, location ? location->line : 0);
    json_put_string(writer, "module", location && location->module ? location->module->path : NULL);
    json_put_unsigned(writer, "threads", true, node->threads);
    if (node->cycle_times) {
        json_open_object(writer, "recursion");
        json_put_unsigned(writer, "frames", true, node->cycle_frames);
        json_put_unsigned(writer, "times", true, node->cycle_times);
        json_close_object(writer);
    } else {
        json_put_null(writer, "recursion");
    }
    put_ends(writer, tree, node);
    json_close_object(writer);
}

static void put_nodes(struct json_writer *writer, const struct stack_tree *tree)
{
    PSC_CLEANUP(cleanup_free) size_t *numbers = NULL;
    size_t capacity = 0, number = 0;
    if (!array_reserve(&numbers, &capacity, tree->count, sizeof(*numbers))) {
        writer->failed = true;
        return;
    }
    json_open_array(writer, "nodes");
    for (size_t at = 0; at != STACK_TREE_NONE && json_takes(writer);
         at = stack_tree_next(tree, at)) {
        numbers[at] = number++;
        json_break_line(writer);
        put_node(writer, tree, at, numbers);
    }
    json_close_array(writer);
}

enum psc_status print_json_summary(const struct psc_trace *const *traces, size_t count,
                                   const struct psc_print_options *options, struct print_sink *sink)
{
    struct json_writer writer = json_writer_of(sink, options);
    struct stack_tree *tree = stack_tree_create(traces, count, options);
    if (!tree)
        return PSC_ERR_MEMORY;
    json_open_object(&writer, NULL);
    json_put_string(&writer, "schema", "pystack-core-summary/1");
    json_break_line(&writer);
    json_open_array(&writer, "processes");
    for (size_t i = 0; i < count && json_takes(&writer); i++) {
        json_break_line(&writer);
        put_process(&writer, traces[i]);
    }
    json_close_array(&writer);
    json_break_line(&writer);
    json_put_unsigned(&writer, "threads", true, tree->end_count);
    json_put_unsigned(&writer, "stacks", true, tree->stacks);
    json_break_line(&writer);
    put_nodes(&writer, tree);
    json_close_object(&writer);
    text_add_char(&sink->buffer, '\n');
    stack_tree_destroy(tree);
    return writer.failed ? PSC_ERR_MEMORY : PSC_OK;
}
