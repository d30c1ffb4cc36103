/* The page: data as JSON, drawn by its own script (flame.js). */
#include "flamegraph.h"
#include "flamegraph_private.h"
#include "page_parts.h"
#include "json_writer.h"

#include <stdio.h>
#include <stdlib.h>

#define NODES_LIMIT 100000u /* Of the page; those with fewest samples are left out. */
#define RUNS_LIMIT  200000u /* Equal samples after each other, of all threads in the time order. */

/* Kinds in the page beside enum profile_kind. */
enum { KIND_THREAD = PROFILE_KINDS, KIND_PROCESS };

extern const char flame_style[], flame_script[];

struct flame {
    const struct profile *profile;
    struct thread_samples *samples;
    struct profile_printer *printer;
    struct json_writer *writer;
    struct call_tree tree;
    struct flame_order order;
    uint32_t *frame_of; /**< By label: its frame in the page, from 1; 0: none. */
    uint32_t *labels;   /**< By frame in the page. */
    uint32_t frame_count;
    uint64_t step; /**< Each so manieth sample stands in the time order. */
    struct text made;
};

static const struct call_label *label_at(const struct flame *flame, uint32_t frame)
{
    return hash_table_at(&flame->tree.labels, flame->labels[frame]);
}

/* ---- frames ---- */

static bool number_frames(struct flame *flame)
{
    size_t count = flame->tree.labels.count + 1;
    flame->frame_of = calloc(count, sizeof(*flame->frame_of));
    flame->labels = calloc(count, sizeof(*flame->labels));
    if (!flame->frame_of || !flame->labels)
        return false;
    for (size_t i = 1; i < flame->order.count; i++) {
        uint32_t label = flame->tree.nodes[flame->order.nodes[i]].label;
        if (!flame->frame_of[label]) {
            flame->labels[flame->frame_count++] = label;
            flame->frame_of[label] = flame->frame_count;
        }
    }
    return true;
}

static const struct profile_function *function_of(const struct flame *flame, uint32_t frame)
{
    const struct call_label *label = label_at(flame, frame);
    return label->function >= CALL_PROCESS ? NULL : &flame->profile->functions[label->function];
}

static int64_t get_kind(const struct flame *flame, uint32_t frame)
{
    const struct profile_function *function = function_of(flame, frame);
    if (function)
        return function->kind;
    return label_at(flame, frame)->function == CALL_THREAD ? KIND_THREAD : KIND_PROCESS;
}

static int64_t get_line(const struct flame *flame, uint32_t frame)
{
    return function_of(flame, frame) ? (int64_t)label_at(flame, frame)->number : 0;
}

/* Names are what a page has most of: a string of the profile is its number there. */
static int64_t get_name(const struct flame *flame, uint32_t frame)
{
    const struct profile_function *function = function_of(flame, frame);
    return function ? (int64_t)function->name : -1 - (int64_t)frame;
}

static int64_t get_file(const struct flame *flame, uint32_t frame)
{
    const struct profile_function *function = function_of(flame, frame);
    return function && function->file ? (int64_t)function->file : 0;
}

static int64_t get_library(const struct flame *flame, uint32_t frame)
{
    const struct profile_function *function = function_of(flame, frame);
    return function ? (int64_t)flame->profile->libraries[function->library].path : 0;
}

static int64_t get_up(const struct flame *flame, uint32_t index)
{
    uint32_t node = flame->order.nodes[index];
    return node ? (int64_t)index - flame->order.number[flame->tree.nodes[node].parent] : 0;
}

static int64_t get_frame(const struct flame *flame, uint32_t index)
{
    uint32_t node = flame->order.nodes[index];
    return node ? (int64_t)flame->frame_of[flame->tree.nodes[node].label] - 1 : -1;
}

static int64_t get_own(const struct flame *flame, uint32_t index)
{
    return (int64_t)flame->tree.nodes[flame->order.nodes[index]].own;
}

static int64_t get_total(const struct flame *flame, uint32_t index)
{
    return (int64_t)flame->tree.nodes[flame->order.nodes[index]].total;
}

static void put_column(struct flame *flame, const char *key, size_t count,
                       int64_t (*value)(const struct flame *, uint32_t))
{
    json_open_array(flame->writer, key);
    for (uint32_t i = 0; i < count; i++) {
        json_put_integer(flame->writer, NULL, true, value(flame, i));
        printer_flow(flame->printer);
    }
    json_close_array(flame->writer);
}

/* Strings by their number in the profile, those that are used. */
static bool put_strings(struct flame *flame)
{
    const struct profile *profile = flame->profile;
    bool *used = calloc(profile->string_count, sizeof(*used));
    if (!used)
        return false;
    for (uint32_t i = 0; i < flame->frame_count; i++) {
        used[get_file(flame, i)] = true;
        used[get_library(flame, i)] = true;
        if (function_of(flame, i))
            used[get_name(flame, i)] = true;
    }
    json_open_object(flame->writer, "strings");
    char key[24];
    for (uint32_t i = 0; i < profile->string_count; i++)
        if (used[i]) {
            snprintf(key, sizeof(key), "%u", i);
            text_clear(&flame->made);
            text_add_escaped(&flame->made, profile_string(profile, i));
            json_put_string(flame->writer, key, flame->made.size ? flame->made.data : "");
            printer_flow(flame->printer);
        }
    for (uint32_t i = 0; i < flame->frame_count; i++)
        if (!function_of(flame, i)) {
            snprintf(key, sizeof(key), "%lld", (long long)get_name(flame, i));
            json_put_string(flame->writer, key,
                            flame_label_name(profile, label_at(flame, i), &flame->made));
            printer_flow(flame->printer);
        }
    json_close_object(flame->writer);
    free(used);
    return true;
}

/* ---- the time order ---- */

struct run {
    uint32_t node;
    uint64_t weight;
};

static uint32_t kept_node(const struct flame *flame, uint32_t thread, uint32_t stack)
{
    uint32_t node = call_tree_find(&flame->tree, thread, stack);
    while (flame->order.number[node] == FLAME_NONE)
        node = flame->tree.nodes[node].parent;
    return flame->order.number[node];
}

/* The next run of a thread; false: there is none. The weight of a sample that is left out goes to
 * the one before it. */
static bool next_run(const struct flame *flame, uint32_t thread, size_t *at, struct run *ret)
{
    size_t count;
    const struct profile_sample *samples = thread_samples_of(flame->samples, thread, &count);
    bool begun = false;
    for (; *at < count; ++*at) {
        if (!sample_has_stack(&samples[*at]))
            continue;
        bool is_shown = *at % flame->step == 0 || !begun;
        uint32_t node = is_shown ? kept_node(flame, thread, samples[*at].stack) : ret->node;
        if (begun && node != ret->node)
            return true;
        if (!begun)
            *ret = (struct run){node, 0};
        begun = true;
        ret->weight += profile_weight(flame->profile, &samples[*at]);
    }
    return begun;
}

static void choose_step(struct flame *flame)
{
    uint64_t runs = 0;
    flame->step = 1;
    for (uint32_t i = 1; i < flame->profile->thread_count; i++) {
        struct run run;
        for (size_t at = 0; next_run(flame, i, &at, &run);)
            runs++;
    }
    flame->step = runs > RUNS_LIMIT ? (runs + RUNS_LIMIT - 1) / RUNS_LIMIT : 1;
}

static void put_runs(struct flame *flame, uint32_t thread, const char *key, bool weights)
{
    struct run run;
    json_open_array(flame->writer, key);
    for (size_t at = 0; next_run(flame, thread, &at, &run);) {
        json_put_unsigned(flame->writer, NULL, true, weights ? run.weight : run.node);
        printer_flow(flame->printer);
    }
    json_close_array(flame->writer);
}

static void put_threads(struct flame *flame)
{
    const struct profile *profile = flame->profile;
    json_open_array(flame->writer, "threads");
    for (uint32_t i = 1; i < profile->thread_count; i++) {
        struct run run;
        size_t at = 0;
        if (!next_run(flame, i, &at, &run))
            continue;
        text_clear(&flame->made);
        if (profile->several_processes) {
            process_label(profile, profile->threads[i].process, &flame->made);
            text_add_string(&flame->made, " / ");
        }
        thread_label(profile, i, &flame->made);
        json_open_object(flame->writer, NULL);
        json_put_string(flame->writer, "name", flame->made.data);
        put_runs(flame, i, "stacks", false);
        put_runs(flame, i, "weights", true);
        json_close_object(flame->writer);
    }
    json_close_array(flame->writer);
}

/* ---- the page ---- */

static void put_data(struct flame *flame)
{
    struct json_writer *writer = flame->writer;
    printer_flush(flame->printer);
    flame->printer->in_page = true;
    json_open_object(writer, NULL);
    json_put_boolean(writer, "cpu", flame->profile->by_cpu);
    json_put_real(writer, "interval_ms", (double)flame->profile->interval / 1e6);
    json_open_object(writer, "nodes");
    put_column(flame, "up", flame->order.count, get_up);
    put_column(flame, "frame", flame->order.count, get_frame);
    put_column(flame, "own", flame->order.count, get_own);
    put_column(flame, "total", flame->order.count, get_total);
    json_close_object(writer);
    json_open_object(writer, "frames");
    put_column(flame, "name", flame->frame_count, get_name);
    put_column(flame, "kind", flame->frame_count, get_kind);
    put_column(flame, "file", flame->frame_count, get_file);
    put_column(flame, "line", flame->frame_count, get_line);
    put_column(flame, "library", flame->frame_count, get_library);
    json_close_object(writer);
    put_threads(flame);
    if (!put_strings(flame))
        writer->failed = true;
    json_close_object(writer);
    printer_flush(flame->printer);
    flame->printer->in_page = false;
}

/* What of the profile is not in the page. */
static void put_left_out(struct flame *flame)
{
    struct text *text = &flame->printer->text;
    if (flame->order.least) {
        text_printf(text, "<p class=\"sub\">%zu boxes of less than ",
                    flame->tree.count - flame->order.count);
        if (flame->profile->by_cpu)
            text_printf(text, "%.3g ms", (double)flame->order.least / 1e6);
        else
            text_printf(text, "%llu samples", (unsigned long long)flame->order.least);
        text_add_string(text, " are left out.</p>\n");
    }
    if (flame->step > 1)
        text_printf(text, "<p class=\"sub\">The time order has one of %llu samples.</p>\n",
                    (unsigned long long)flame->step);
}

static void put_page(struct flame *flame)
{
    static const char body[] =
        "<div id=\"tools\" hidden>"
        "<input id=\"search\" type=\"search\" placeholder=\"Search functions and files, or "
        "/expression/ ( / )\" aria-label=\"Search\">"
        "<select id=\"order\" aria-label=\"Order\"><option value=\"name\">all stacks</option>"
        "</select><button id=\"reset\" type=\"button\">Whole</button>"
        "<button id=\"turn\" type=\"button\">Turn over</button>"
        "<span id=\"found\" role=\"status\"></span></div>\n"
        "<p class=\"sub\"><span class=\"key\"><i class=\"python\"></i>Python</span>"
        "<span class=\"key\"><i class=\"cython\"></i>Cython</span>"
        "<span class=\"key\"><i class=\"native\"></i>native</span>"
        "<span class=\"key\"><i class=\"gap\"></i>other</span></p>\n</header>\n"
        "<div id=\"graph\" tabindex=\"0\" role=\"application\" aria-label=\"Flame graph: arrow "
        "keys "
        "move, Enter zooms, Escape shows all\"><div id=\"space\"></div>"
        "<canvas id=\"canvas\"></canvas></div>\n<div id=\"about\" role=\"status\"></div>\n"
        "<details><summary>Functions</summary><table><thead><tr><th>itself</th><th>in all</th>"
        "<th>function</th><th>file</th></tr></thead><tbody id=\"functions\"></tbody></table>"
        "</details>\n<div id=\"tip\" hidden></div>\n"
        "<noscript>This page draws itself by a script.</noscript>\n"
        "<script type=\"application/json\" id=\"data\">";
    const struct profile *profile = flame->profile;
    const char *title = profile->target ? profile->target : "Flame graph";
    struct text *text = &flame->printer->text;
    html_begin(
        text, &(struct html_head){title, flame_style, PSC_FLAME_STYLE_HASH, PSC_FLAME_SCRIPT_HASH});
    text_add_string(text, "<header>\n<h1>");
    text_add_html(text, title);
    text_add_string(text, "</h1>\n<p class=\"sub\">");
    html_add_summary(text, profile);
    text_add_string(text, "</p>\n");
    put_left_out(flame);
    text_add_string(text, body);
    put_data(flame);
    text_add_string(text, "</script>\n<script>");
    text_add_string(text, flame_script);
    text_add_string(text, "</script>\n</body>\n</html>\n");
}

enum psc_status write_flamegraph(const struct profile *profile, const struct profile_output *output,
                                 struct psc_error *err)
{
    struct thread_samples *samples PSC_CLEANUP(cleanup_thread_samples) = NULL;
    enum psc_status status = thread_samples_create(profile, &samples, err);
    if (status != PSC_OK)
        return status;
    struct profile_printer printer = {.output = output};
    struct json_writer writer = {.out = &printer.text, .one_line = true};
    struct flame flame = {
        .profile = profile, .samples = samples, .printer = &printer, .writer = &writer};
    status = call_tree_read(profile, &flame.tree, err);
    if (status == PSC_OK && flame_order_make(&flame.tree, NODES_LIMIT, &flame.order) &&
        number_frames(&flame)) {
        choose_step(&flame);
        put_page(&flame);
        if (writer.failed || flame.made.failed)
            printer.status = PSC_ERR_MEMORY;
    } else if (status == PSC_OK) {
        printer.status = PSC_ERR_MEMORY;
    }
    free(flame.frame_of);
    free(flame.labels);
    text_deinit(&flame.made);
    flame_order_deinit(&flame.order);
    call_tree_deinit(&flame.tree);
    enum psc_status written = printer_end(&printer);
    return status == PSC_OK ? psc_fail_status(err, written) : status;
}
