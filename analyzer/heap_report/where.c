/* Expressions on objects: read, and asked of one. */
#include "where.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *sign;
    enum where_operator operation;
} signs[] = {{"==", WHERE_EQUAL},         {"!=", WHERE_UNEQUAL}, {"<=", WHERE_LESS_OR_EQUAL},
             {">=", WHERE_MORE_OR_EQUAL}, {"<", WHERE_LESS},     {">", WHERE_MORE}};

struct where_parser {
    const char *at;
    struct where *into;
    size_t used; /* Of into->text. */
};

static void skip_blanks(struct where_parser *parser)
{
    while (isspace((unsigned char)*parser->at))
        parser->at++;
}

static bool take_word(struct where_parser *parser, const char *word)
{
    size_t size = strlen(word);
    skip_blanks(parser);
    if (strncmp(parser->at, word, size) != 0 || isalnum((unsigned char)parser->at[size]) ||
        parser->at[size] == '_')
        return false;
    parser->at += size;
    return true;
}

static const char *keep(struct where_parser *parser, const char *from, size_t size)
{
    char *kept = parser->into->text + parser->used;
    if (size + 1 > sizeof(parser->into->text) - parser->used)
        return NULL;
    memcpy(kept, from, size);
    kept[size] = '\0';
    parser->used += size + 1;
    return kept;
}

/* The end of a text in quotes, behind its last one; NULL: it has none. */
static const char *end_of_text(const char *at)
{
    const char *end = strchr(at + 1, *at);
    return end ? end + 1 : NULL;
}

/* A way to a value ends at what no way holds outside of brackets. */
static bool take_path(struct where_parser *parser, struct where_term *term)
{
    skip_blanks(parser);
    const char *from = parser->at;
    const char *at = from;
    unsigned depth = 0;
    for (; *at; at++) {
        if (*at == '[') {
            depth++;
        } else if (*at == ']') {
            if (!depth--)
                return false;
        } else if (depth && (*at == '\'' || *at == '"')) {
            const char *end = end_of_text(at);
            if (!end)
                return false;
            at = end - 1;
        } else if (!depth && !isalnum((unsigned char)*at) && *at != '_' && *at != '.' &&
                   !((unsigned char)*at & 0x80)) {
            break;
        }
    }
    if (at == from || depth)
        return false;
    term->path = keep(parser, from, (size_t)(at - from));
    parser->at = at;
    return term->path != NULL;
}

static bool take_operand(struct where_parser *parser, struct where_term *term)
{
    if (take_word(parser, "len")) {
        skip_blanks(parser);
        if (*parser->at != '(')
            return false;
        parser->at++;
        term->is_length = true;
        if (!take_path(parser, term))
            return false;
        skip_blanks(parser);
        if (*parser->at != ')')
            return false;
        parser->at++;
        return true;
    }
    return take_path(parser, term);
}

static bool take_value(struct where_parser *parser, struct where_term *term)
{
    skip_blanks(parser);
    const char *from = parser->at;
    if (*from == '\'' || *from == '"') {
        const char *end = end_of_text(from);
        if (!end)
            return false;
        parser->at = end;
        term->is_text = true;
        term->value = keep(parser, from + 1, (size_t)(end - from) - 2);
        return term->value != NULL;
    }
    char *end = NULL;
    term->number = strtod(from, &end);
    if (end != from && (isdigit((unsigned char)*from) || *from == '-' || *from == '.')) {
        parser->at = end;
        term->is_number = true;
        return true;
    }
    const char *const words[] = {"None", "True", "False"};
    for (size_t i = 0; i < PSC_ARRAY_SIZE(words); i++)
        if (take_word(parser, words[i])) {
            term->value = words[i];
            return true;
        }
    return false;
}

static bool take_operator(struct where_parser *parser, struct where_term *term)
{
    skip_blanks(parser);
    for (size_t i = 0; i < PSC_ARRAY_SIZE(signs); i++)
        if (!strncmp(parser->at, signs[i].sign, strlen(signs[i].sign))) {
            parser->at += strlen(signs[i].sign);
            term->operation = signs[i].operation;
            return true;
        }
    return false;
}

/* "'x' in name": the text comes first. */
static bool take_contains(struct where_parser *parser, struct where_term *term)
{
    term->operation = WHERE_CONTAINS;
    return take_value(parser, term) && take_word(parser, "in") && take_path(parser, term);
}

static bool take_term(struct where_parser *parser, struct where_term *term)
{
    skip_blanks(parser);
    if (*parser->at == '\'' || *parser->at == '"')
        return take_contains(parser, term);
    if (!take_operand(parser, term))
        return false;
    if (take_word(parser, "is")) {
        term->operation = take_word(parser, "not") ? WHERE_UNEQUAL : WHERE_EQUAL;
        return take_value(parser, term);
    }
    return !take_operator(parser, term) || take_value(parser, term);
}

enum psc_status parse_where(const char *typed, struct where *ret, struct psc_error *err)
{
    struct where_parser parser = {.at = typed, .into = ret};
    *ret = (struct where){0};
    if (strlen(typed) >= WHERE_SIZE)
        return psc_fail(err, PSC_ERR_ARGUMENT, "the expression '%.40s...' is too long", typed);
    do {
        if (ret->count == WHERE_TERMS)
            return psc_fail(err, PSC_ERR_ARGUMENT, "the expression '%s' has too many parts", typed);
        if (!take_term(&parser, &ret->terms[ret->count++]))
            return psc_fail(err, PSC_ERR_ARGUMENT,
                            "'%s' is not understood from '%s' on: name, name > 3, len(name) == 0, "
                            "name.other['key'] == 'text', 'text' in name, joined by and",
                            typed, parser.at);
    } while (take_word(&parser, "and"));
    skip_blanks(&parser);
    if (*parser.at)
        return psc_fail(err, PSC_ERR_ARGUMENT, "'%s' is not understood from '%s' on", typed,
                        parser.at);
    return PSC_OK;
}

/* ---- asked of an object ---- */

static bool compare(enum where_operator operation, int order)
{
    switch (operation) {
    case WHERE_EQUAL:
        return order == 0;
    case WHERE_UNEQUAL:
        return order != 0;
    case WHERE_LESS:
        return order < 0;
    case WHERE_LESS_OR_EQUAL:
        return order <= 0;
    case WHERE_MORE:
        return order > 0;
    case WHERE_MORE_OR_EQUAL:
        return order >= 0;
    case WHERE_IS_SET:
    case WHERE_CONTAINS:
        break;
    }
    return false;
}

static bool is_set(const char *value)
{
    static const char *const unset[] = {"None", "False", "0", "0.0", "''", "b''", "[]", "{}", "()"};
    for (size_t i = 0; i < PSC_ARRAY_SIZE(unset); i++)
        if (!strcmp(value, unset[i]))
            return false;
    return true;
}

/* Takes the quotes from the repr() of a text; false: it is none. */
static bool take_quotes(struct text *value)
{
    if (value->size < 2 || (value->data[0] != '\'' && value->data[0] != '"'))
        return false;
    value->data[--value->size] = '\0';
    memmove(value->data, value->data + 1, value->size);
    value->size--;
    return true;
}

static bool value_holds(struct heap *heap, psc_addr part, const struct where_term *term)
{
    struct text value PSC_CLEANUP(text_deinit) = {0};
    python_add_value(heap->python, part, &value);
    if (!value.data || value.failed)
        return false;
    if (term->operation == WHERE_IS_SET)
        return is_set(value.data);
    if (term->is_number) {
        char *end = NULL;
        double number = strtod(value.data, &end);
        if (end == value.data || *end)
            return term->operation == WHERE_UNEQUAL;
        return compare(term->operation, COMPARE(number, term->number));
    }
    if (term->is_text && !take_quotes(&value))
        return term->operation == WHERE_UNEQUAL;
    if (term->operation == WHERE_CONTAINS)
        return strstr(value.data, term->value) != NULL;
    return compare(term->operation, strcmp(value.data, term->value));
}

static bool term_holds(struct heap *heap, uint32_t object, const struct where_term *term)
{
    psc_addr part;
    struct psc_error ignored;
    uint64_t length;
    if (python_find_part(heap->python, heap->objects[object].address, term->path, &part,
                         &ignored) != PSC_OK)
        return false;
    if (!term->is_length)
        return value_holds(heap, part, term);
    uint32_t found = heap_find_object(heap, part);
    if (found == HEAP_NONE || !heap_object_length(heap, found, &length))
        return false;
    if (term->operation == WHERE_IS_SET)
        return length != 0;
    return term->is_number && compare(term->operation, COMPARE((double)length, term->number));
}

bool where_holds(struct heap *heap, uint32_t object, struct where *where)
{
    bool holds = true;
    for (size_t i = 0; holds && i < where->count; i++) {
        holds = term_holds(heap, object, &where->terms[i]);
        where->steps += python_count_steps(heap->python);
    }
    return holds;
}
