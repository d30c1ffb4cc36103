/*
 * Before the C of each .pyx line stands a comment (CCodeWriter.emit_marker() and
 * commented_file_contents() of Cython/Compiler/Code.py): a first line, maybe indented, that ends
 * in `"pkg/_kern.pyx":30`, then up to five source lines behind " * ", the current one with a
 * mark, then the comment's end alone on a line (in column 0 since 3.1, before that in column 1).
 * A C line belongs to the last such comment that ends above it. Type slots have none: they are
 * written after the functions, and must not take the last function's lines.
 */
#include "lines_private.h"
#include "names.h"

#define LINE_DIGITS 9

static const char current_mark[] = "# <<<<<<<<<<<<<<";
static const char *const end_marks[] = {
    "/* #### Code section: utility_code_def ### */", /* 3.x */
    "/* --- Runtime support code --- */",            /* 0.29 */
};

/** Where the reading of the file is. */
struct scan {
    struct cython_lines *lines;
    bool in_block;
    bool marked; /**< The block has its current line. */
    struct line_range block;
};

static struct slice skip_blanks(struct slice text)
{
    while (text.size && (*text.data == ' ' || *text.data == '\t'))
        text = slice_from(text, 1);
    return text;
}

/** The comment's first line. A file's name may have quotes: the last one ends it. */
static bool parse_head(struct slice text, struct slice *ret_file, uint32_t *ret_line)
{
    text = skip_blanks(text);
    if (!slice_skip(&text, "/* \""))
        return false;
    size_t digits = 0;
    uint64_t line = 0;
    while (digits < text.size && digits <= LINE_DIGITS &&
           slice_digits(slice_from(text, text.size - digits - 1)) > digits)
        digits++;
    if (!digits || digits > LINE_DIGITS || text.size < digits + 3)
        return false;
    size_t size = text.size - digits - 2;
    if (memcmp(text.data + size, "\":", 2) != 0 || memchr(text.data, '\0', size))
        return false;
    for (size_t i = 0; i < digits; i++)
        line = line * 10 + (uint64_t)(text.data[size + 2 + i] - '0');
    *ret_file = (struct slice){text.data, size};
    *ret_line = (uint32_t)line;
    return line > 0;
}

static bool contains(struct slice text, const char *mark)
{
    return memmem(text.data, text.size, mark, strlen(mark)) != NULL;
}

/** One line inside a block; a text that is no block's ends it without effect. */
static bool scan_block_line(struct scan *scan, struct slice text, uint32_t c_line)
{
    if (slice_equals(text, " */") || slice_equals(text, "*/")) {
        scan->in_block = false;
        scan->block.c_line = c_line + 1;
        return !scan->marked || cython_lines_add_range(scan->lines, &scan->block);
    }
    scan->in_block = slice_starts(text, " *");
    scan->marked |= contains(text, current_mark);
    return true;
}

/** `static PyObject *__pyx_tp_new_...(...) {` */
static bool is_slot_head(struct slice text)
{
    if (!slice_starts(text, "static ") || text.data[text.size - 1] != '{')
        return false;
    const char *end = memchr(text.data, '(', text.size);
    struct slice name = {text.data, end ? (size_t)(end - text.data) : 0};
    const char *begin = name.size ? memrchr(name.data, ' ', name.size) : NULL;
    if (!begin)
        return false;
    name = slice_from(name, (size_t)(begin + 1 - name.data));
    slice_skip(&name, "*");
    return cython_is_slot(name);
}

static bool scan_line(struct scan *scan, struct slice text, uint32_t c_line)
{
    struct slice file;
    uint32_t line;
    if (scan->in_block) {
        if (!scan_block_line(scan, text, c_line))
            return false;
        if (scan->in_block || slice_equals(skip_blanks(text), "*/"))
            return true;
    }
    if (is_slot_head(text)) {
        struct line_range none = {.c_line = c_line, .file = NO_FILE};
        return cython_lines_add_range(scan->lines, &none);
    }
    if (parse_head(text, &file, &line)) {
        uint32_t index = cython_lines_intern_file(scan->lines, file);
        scan->block = (struct line_range){.file = index, .line = index == NO_FILE ? 0 : line};
        scan->in_block = true;
        scan->marked = false;
    }
    return true;
}

static bool is_end_mark(struct slice text)
{
    if (!slice_starts(text, "/* "))
        return false;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(end_marks); i++) {
        if (slice_equals(text, end_marks[i]))
            return true;
    }
    return false;
}

static enum psc_status scan_text(struct scan *scan, const char *text, size_t size)
{
    struct cython_lines *lines = scan->lines;
    for (size_t at = 0; at < size && lines->last_c_line < UINT32_MAX - 1;) {
        const char *end = memchr(text + at, '\n', size - at);
        struct slice line = {text + at, end ? (size_t)(end - text) - at : size - at};
        at += line.size + 1;
        lines->last_c_line++;
        if (line.size && line.data[line.size - 1] == '\r')
            line.size--;
        if (is_end_mark(line)) {
            lines->last_c_line--;
            return PSC_OK;
        }
        if (!scan_line(scan, line, lines->last_c_line))
            return PSC_ERR_MEMORY;
    }
    return PSC_OK;
}

enum psc_status parse_cython_lines(const char *text, size_t size, struct cython_lines **ret)
{
    struct cython_lines *lines = cython_lines_create();
    if (!lines)
        return PSC_ERR_MEMORY;
    struct scan scan = {.lines = lines};
    enum psc_status status = scan_text(&scan, text, size);
    if (status == PSC_OK && arena_is_exhausted(lines->arena))
        status = PSC_ERR_MEMORY;
    if (status != PSC_OK) {
        cython_lines_destroy(lines);
        return status;
    }
    *ret = lines;
    return PSC_OK;
}
