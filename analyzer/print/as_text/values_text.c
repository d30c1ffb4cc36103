/* Names and their values. */
#include "as_text_private.h"

/* Stands before each, since a line of source may look like a name with its value. */
#define MARK "\u00b7 "

/* Values that say no more than why there is none: variables/rendering has their texts. */
static const struct {
    const char *value;
    const char *words;
} missing_values[] = {
    {"<optimised out>", "optimised out"},
    {"<not saved>", "not saved"},
};

struct value_lines {
    struct text *text;
    size_t indent;
    const struct psc_print_options *options;
};

static void begin_line(const struct value_lines *lines)
{
    text_printf(lines->text, "%*s", (int)lines->indent, "");
    print_add_style(lines->text, lines->options, PRINT_DIM);
    text_add_string(lines->text, MARK);
}

static void end_line(const struct value_lines *lines)
{
    print_add_style(lines->text, lines->options, PRINT_PLAIN);
    text_add_char(lines->text, '\n');
}

static bool is_missing(const struct trace_local *local)
{
    for (size_t i = 0; i < PSC_ARRAY_SIZE(missing_values); i++)
        if (!strcmp(local->value, missing_values[i].value))
            return true;
    return false;
}

/* `a, b: optimised out`. */
static void add_missing(const struct value_lines *lines, const struct trace_locals *locals,
                        const char *value, const char *words)
{
    size_t count = 0;
    for (size_t i = 0; i < locals->count; i++) {
        if (strcmp(locals->items[i].value, value) != 0)
            continue;
        if (count++)
            text_add_string(lines->text, ", ");
        else
            begin_line(lines);
        text_add_escaped(lines->text, locals->items[i].name);
    }
    if (!count)
        return;
    text_add_string(lines->text, ": ");
    text_add_string(lines->text, words);
    end_line(lines);
}

void print_text_locals(const struct trace_locals *locals, size_t indent,
                       const struct psc_print_options *options, struct print_sink *sink)
{
    const struct value_lines lines = {&sink->buffer, indent, options};
    for (size_t i = 0; i < locals->count; i++) {
        if (is_missing(&locals->items[i]))
            continue;
        begin_line(&lines);
        text_add_escaped(lines.text, locals->items[i].name);
        text_add_string(lines.text, " = ");
        text_add_escaped(lines.text, locals->items[i].value);
        end_line(&lines);
    }
    for (size_t i = 0; i < PSC_ARRAY_SIZE(missing_values); i++)
        add_missing(&lines, locals, missing_values[i].value, missing_values[i].words);
}
