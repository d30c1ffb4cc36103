/* Compiled regular expressions, and what they matched. */
#include "library.h"

#include <inttypes.h>

/* CPython, Modules/_sre.c (3.12+ Modules/_sre/sre.c), pattern_repr(). */
static void add_flags(struct text *text, uint32_t flags, bool is_text, bool has_template)
{
    static const struct {
        const char *name;
        uint32_t bit;
    } names[] = {
        {"TEMPLATE", PY_RE_TEMPLATE}, {"IGNORECASE", PY_RE_IGNORECASE},
        {"LOCALE", PY_RE_LOCALE},     {"MULTILINE", PY_RE_MULTILINE},
        {"DOTALL", PY_RE_DOTALL},     {"UNICODE", PY_RE_UNICODE},
        {"VERBOSE", PY_RE_VERBOSE},   {"DEBUG", PY_RE_DEBUG},
        {"ASCII", PY_RE_ASCII},
    };
    const char *separator = ", ";
    if (is_text && (flags & (PY_RE_LOCALE | PY_RE_UNICODE | PY_RE_ASCII)) == PY_RE_UNICODE)
        flags &= ~PY_RE_UNICODE;
    for (size_t i = has_template ? 0 : 1; i < PSC_ARRAY_SIZE(names); i++) {
        if (!(flags & names[i].bit))
            continue;
        text_printf(text, "%sre.%s", separator, names[i].name);
        separator = "|";
        flags &= ~names[i].bit;
    }
    if (flags)
        text_printf(text, "%s0x%" PRIx32, separator, flags);
}

/* "re.compile('a+', re.IGNORECASE)" */
void value_add_pattern(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    struct python *python = writer->python;
    const struct py_type *kind;
    psc_addr pattern;
    int32_t flags;
    if (py_read_u64(python, object, PY_PATTERN_SOURCE, &pattern) != PSC_OK ||
        py_read_i32(python, object, PY_PATTERN_FLAGS, &flags) != PSC_OK ||
        py_type_of(python, pattern, &kind) != PSC_OK ||
        (kind->kind != PY_KIND_STR && kind->kind != PY_KIND_BYTES)) {
        value_add_identity(writer, type, object);
        text_add_char(writer->text, '>');
        return;
    }
    bool is_text = kind->kind == PY_KIND_STR;
    bool has_template = false;
    switch (python->layout.rules->pattern_flags) {
    case PY_PATTERN_FLAGS_TEMPLATE:
        has_template = true;
        break;
    case PY_PATTERN_FLAGS_PLAIN:
        break;
    }
    text_add_string(writer->text, "re.compile(");
    if (is_text)
        value_add_str(writer, kind, pattern);
    else
        value_add_bytes(writer, kind, pattern);
    add_flags(writer->text, (uint32_t)flags, is_text, has_template);
    text_add_char(writer->text, ')');
}

/* match_repr() there: "<re.Match object; span=(0, 4), match='aaab'>". */
void value_open_match(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    struct python *python = writer->python;
    const psc_addr marks = py_field_address(python, object, PY_MATCH_MARK);
    struct text *text = writer->text;
    psc_addr string;
    uint64_t start;
    uint64_t end;
    size_t before = text->size;
    if (python->layout.rules->reprs >= PY_REPRS_3 &&
        py_read_u64(python, object, PY_MATCH_STRING, &string) == PSC_OK &&
        target_read_u64(python->target, marks, &start) == PSC_OK &&
        target_read_u64(python->target, marks + sizeof(start), &end) == PSC_OK) {
        text_printf(text, "<%s object; span=(%" PRId64 ", %" PRId64 "), match=", type->c_name,
                    (int64_t)start, (int64_t)end);
        if (value_add_part(writer, string, start, end)) {
            text_add_char(text, '>');
            return;
        }
        if (!text->failed)
            text->data[text->size = before] = '\0';
    }
    value_open_instance(writer, type, object);
}
