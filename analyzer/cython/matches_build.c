/*
 * Whether generated C, or the debug XML that was written with it, is what a module was compiled
 * from. Generated C is often left beside a module, and made anew when the .pyx changes; a comment
 * that is added there moves lines of the .pyx, but none of the C.
 */
#include "cython_private.h"

#include <stdlib.h>

/* Functions whose place in the C is checked; of more, these many at even distances. */
#define NAME_SAMPLES 256
/* Calls of which the line of their error is compared; how many are tried for that. */
#define CALL_SAMPLES   192
#define ASKED_LIMIT    384
#define ASKED_EACH     4
#define FUNCTION_LIMIT 65536
/* Statements have no more lines. */
#define STATEMENT_LINES 3
/* Behind a call objects are released before its result is looked at. */
#define RELEASE_LINES 16

/* Of so many lines the start of one is kept. */
#define LINES_A_START 32

struct numbered_text {
    struct slice text;
    size_t *starts; /**< Of the first line, and of each LINES_A_START-th behind it. */
    size_t count;   /**< Of lines. */
};

/** Where the line behind the one that begins at `at` begins. */
static size_t next_line(struct slice text, size_t at)
{
    const char *end = memchr(text.data + at, '\n', text.size - at);
    return end ? (size_t)(end - text.data) + 1 : text.size;
}

static bool number_lines(struct slice text, struct numbered_text *ret)
{
    *ret = (struct numbered_text){.text = text};
    size_t capacity = 0;
    size_t starts = 0;
    for (size_t at = 0; at < text.size; at = next_line(text, at)) {
        if (ret->count++ % LINES_A_START)
            continue;
        if (!array_reserve((void **)&ret->starts, &capacity, starts + 1, sizeof(*ret->starts)))
            return false;
        ret->starts[starts++] = at;
    }
    return true;
}

/** A line, from 1; empty outside of the text. */
static struct slice get_line(const struct numbered_text *text, size_t line)
{
    if (!line || line > text->count)
        return (struct slice){"", 0};
    size_t begin = text->starts[(line - 1) / LINES_A_START];
    for (size_t i = 0; i < (line - 1) % LINES_A_START; i++)
        begin = next_line(text->text, begin);
    return (struct slice){text->text.data + begin, next_line(text->text, begin) - begin};
}

static bool is_letter(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '_' || (uint8_t)byte >= 0x80;
}

/** Whether `name(` is in a line; true of a name that cannot be there, as that of a lambda. */
static bool has_function(struct slice line, struct slice name)
{
    if (!name.size)
        return true;
    while (line.size > name.size) {
        const char *found = memmem(line.data, line.size, name.data, name.size);
        if (!found)
            return false;
        size_t end = (size_t)(found - line.data) + name.size;
        if (end < line.size && line.data[end] == '(' &&
            (found == line.data || !is_letter(found[-1])))
            return true;
        line = slice_from(line, end);
    }
    return false;
}

/* ---- where functions begin ---- */

struct address_list {
    psc_addr *items;
    size_t count;
    size_t capacity;
};

static bool visit_function(void *context, const struct module_symbol *symbol)
{
    struct address_list *list = context;
    if (!strstr(symbol->name, "__pyx_") || strchr(symbol->name, '.'))
        return true;
    if (list->count == FUNCTION_LIMIT || !array_reserve((void **)&list->items, &list->capacity,
                                                        list->count + 1, sizeof(*list->items)))
        return false;
    list->items[list->count++] = symbol->address;
    return true;
}

static bool same_file(const char *left, const char *right)
{
    return left && strcmp(path_base(left), path_base(right)) == 0;
}

/** Functions stand where the debug information says. */
static bool functions_match(struct module *module, const char *c_file,
                            const struct numbered_text *text)
{
    struct address_list list = {0};
    size_t seen = 0, wrong = 0;
    if (!module_inlines_are_cheap(module))
        return true;
    module_each_symbol(module, visit_function, &list);
    size_t count = list.count < NAME_SAMPLES ? list.count : NAME_SAMPLES;
    for (size_t i = 0; i < count; i++) {
        struct module_function function;
        if (!module_find_function(module, list.items[i * list.count / count], &function) ||
            !same_file(function.file, c_file) || !function.line)
            continue;
        seen++;
        // Of a template, what it was made for is not in the text.
        struct slice name = {function.name, strcspn(function.name, "<")};
        wrong += !has_function(get_line(text, function.line), name);
    }
    free(list.items);
    return wrong * 50 <= seen;
}

/* ---- which lines errors report ---- */

struct call_list {
    psc_addr addresses[CALL_SAMPLES];
    uint32_t lines[CALL_SAMPLES];
    bool of_module[CALL_SAMPLES]; /**< Not of a file that is included, or of Cython's own. */
    size_t count;
    size_t asked;
};

static bool is_module_source(const char *file)
{
    const char *dot = file ? strrchr(file, '.') : NULL;
    return dot && (!strcmp(dot, ".pyx") || !strcmp(dot, ".py"));
}

/** The first calls of a function whose own error is reported. */
static void add_calls(struct reports *reports, const struct code_function *function, psc_addr bias,
                      struct call_list *calls)
{
    const struct code_image *image = &reports_get_flow(reports)->image;
    struct code_range code = code_of_function(image, function);
    struct code_reference call;
    size_t last = calls->asked + ASKED_EACH < ASKED_LIMIT ? calls->asked + ASKED_EACH : ASKED_LIMIT;
    if (!code.bytes || function->end <= function->start)
        return;
    for (size_t at = 0; calls->asked < last && calls->count < CALL_SAMPLES &&
                        image->abi->find_reference(&code, at, REFERENCE_CALL, &call);) {
        struct error_report report;
        struct code_target known = code_target_of(image, call.target);
        uint64_t last_byte = code.address + call.offset + call.size - 1;
        at = call.offset + 1;
        if (!known.import && !code_find_function(image, known.address))
            continue;
        calls->asked++;
        if (reports_find(reports, last_byte, &report, 1) != 1 || !report.direct || !report.line)
            continue;
        calls->addresses[calls->count] = last_byte + bias;
        calls->of_module[calls->count] = is_module_source(report.file);
        calls->lines[calls->count++] = report.line;
        at = call.offset + call.size;
    }
}

static bool is_release(struct slice line)
{
    while (line.size && *line.data == ' ')
        line = slice_from(line, 1);
    return slice_starts(line, "__Pyx_DECREF(") || slice_starts(line, "__Pyx_XDECREF(");
}

/** The .pyx line that an error at a C line reports; 0: it reports none. */
static uint32_t reported_line(const struct numbered_text *text, size_t c_line)
{
    static const char macro[] = "__PYX_ERR(", variable[] = "__pyx_lineno = ";
    size_t end = STATEMENT_LINES;
    for (size_t i = 0; i < end; i++) {
        struct slice line = get_line(text, c_line + i);
        if (i && is_release(line) && end < RELEASE_LINES)
            end++;
        const char *found = memmem(line.data, line.size, macro, strlen(macro));
        if (found)
            found = memchr(found, ',', line.size - (size_t)(found - line.data));
        else if ((found = memmem(line.data, line.size, variable, strlen(variable))))
            found += strlen(variable) - 1;
        if (!found)
            continue;
        struct slice rest = slice_from(line, (size_t)(found + 1 - line.data));
        while (rest.size && *rest.data == ' ')
            rest = slice_from(rest, 1);
        uint32_t number = 0;
        size_t digits = slice_digits(rest);
        for (size_t k = 0; k < digits && k < 9; k++)
            number = number * 10 + (uint32_t)(rest.data[k] - '0');
        return number;
    }
    return 0;
}

/** How many reports say what the C, or the XML, has. */
struct tally {
    size_t seen;
    size_t wrong;
    uint32_t last_right; /**< Of the .pyx. */
    uint32_t last_wrong;
};

static void count_report(struct tally *tally, uint32_t built, uint32_t mapped, bool of_module)
{
    uint32_t *last = built == mapped ? &tally->last_right : &tally->last_wrong;
    if (!mapped)
        return;
    tally->seen++;
    tally->wrong += built != mapped;
    if (of_module && built > *last)
        *last = built;
}

/** The lines that errors report are those that the C, or the XML, has. */
static bool reports_match(struct module *module, struct reports *reports, const char *c_file,
                          const struct numbered_text *text, const struct cython_lines *map)
{
    struct call_list calls = {.count = 0};
    struct module_line lines[CALL_SAMPLES] = {{0}};
    struct tally tally = {.seen = 0};
    size_t functions = reports_get_flow(reports)->image.function_count;
    size_t step = functions / CALL_SAMPLES + 1;
    for (size_t first = 0; first < step && calls.count < CALL_SAMPLES / 2; first++)
        for (size_t i = first; i < functions && calls.count < CALL_SAMPLES; i += step)
            add_calls(reports, &reports_get_flow(reports)->image.functions[i], module->bias,
                      &calls);
    if (calls.count)
        module_find_lines(module, calls.addresses, calls.count, lines);
    for (size_t i = 0; i < calls.count; i++) {
        struct cython_line mapped = {.line = 0};
        if (!lines[i].line || !same_file(lines[i].file, c_file))
            continue;
        if (text->count)
            mapped.line = reported_line(text, lines[i].line);
        else
            cython_lines_get(map, lines[i].line, &mapped);
        count_report(&tally, calls.lines[i], mapped.line, calls.of_module[i]);
    }
    /* Of a statement on several lines the XML has another than its error. */
    if (!text->count)
        return tally.wrong < 3 || tally.wrong * 3 <= tally.seen;
    /* A change near the end of the .pyx leaves nothing right behind it. */
    return tally.wrong * 20 <= tally.seen && tally.last_wrong <= tally.last_right;
}

bool cython_matches_build(struct module *module, struct reports *reports, const char *c_file,
                          struct slice text, const struct cython_lines *map)
{
    struct numbered_text numbered;
    bool matches = number_lines(text, &numbered) &&
                   (!text.size || functions_match(module, c_file, &numbered)) &&
                   (!reports || reports_match(module, reports, c_file, &numbered, map));
    free(numbered.starts);
    return matches;
}
