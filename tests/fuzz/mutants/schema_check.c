/*
 * JSON Schema, as far as the schemas of this tree use it: thousands of reports in a second, in the
 * process that makes them. A keyword that is not known here ends the program when the schema is
 * loaded. It is stricter than the schema is for readers: members that are not described are errors,
 * and examples are all that a word may be. (Debian packages no such library for C.)
 */
#include "mutants.h"

#include <regex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATTERNS_MAX 16
#define DEPTH_MAX    200

struct schema {
    json_t *root;
    struct {
        const char *text;
        regex_t compiled;
    } patterns[PATTERNS_MAX];
    size_t pattern_count;
};

struct check {
    const struct schema *schema;
    struct complaint *complaint;
    unsigned depth;
};

void complain(struct complaint *complaint, const char *format, ...)
{
    if (complaint->text[0])
        return;
    va_list list;
    va_start(list, format);
    vsnprintf(complaint->text, sizeof(complaint->text), format, list);
    va_end(list);
}

static bool is_one_of(const char *word, const char *const *words)
{
    for (; *words; words++)
        if (!strcmp(word, *words))
            return true;
    return false;
}

static void load_node(struct schema *schema, const json_t *node);

static void load_pattern(struct schema *schema, const char *text)
{
    size_t number = schema->pattern_count;
    if (number >= PATTERNS_MAX || !text ||
        regcomp(&schema->patterns[number].compiled, text, REG_EXTENDED | REG_NOSUB)) {
        fprintf(stderr, "schema: the pattern %s is not understood\n", text ? text : "?");
        exit(2);
    }
    schema->patterns[schema->pattern_count++].text = text;
}

static void load_keyword(struct schema *schema, const char *key, const json_t *value)
{
    static const char *const known[] = {
        "$schema",  "$id",     "title",     "description", "examples", "type",
        "required", "minimum", "maximum",   "const",       "enum",     "minItems",
        "maxItems", "$ref",    "minLength", "uniqueItems", NULL};
    static const char *const named[] = {"properties", "$defs", NULL};
    static const char *const lists[] = {"anyOf", "oneOf", "allOf", NULL};
    static const char *const nodes[] = {"items", "additionalProperties", NULL};
    const char *name;
    const json_t *one;
    size_t index;
    if (is_one_of(key, named)) {
        json_object_foreach((json_t *)value, name, one) load_node(schema, one);
    } else if (is_one_of(key, lists)) {
        json_array_foreach(value, index, one) load_node(schema, one);
    } else if (is_one_of(key, nodes)) {
        load_node(schema, value);
    } else if (!strcmp(key, "pattern")) {
        load_pattern(schema, json_string_value(value));
    } else if (!strcmp(key, "patternProperties")) {
        json_object_foreach((json_t *)value, name, one)
        {
            load_pattern(schema, name);
            load_node(schema, one);
        }
    } else if (!is_one_of(key, known)) {
        fprintf(stderr, "schema: the keyword %s is not known to schema_check.c\n", key);
        exit(2);
    }
}

static void load_node(struct schema *schema, const json_t *node)
{
    const char *key;
    const json_t *value;
    json_object_foreach((json_t *)node, key, value) load_keyword(schema, key, value);
}

struct schema *schema_load(const char *path)
{
    json_error_t error;
    struct schema *schema = calloc(1, sizeof(*schema));
    if (schema)
        schema->root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (!schema || !schema->root) {
        fprintf(stderr, "%s: no schema\n", path);
        exit(2);
    }
    load_node(schema, schema->root);
    return schema;
}

void schema_free(struct schema *schema)
{
    if (!schema)
        return;
    for (size_t i = 0; i < schema->pattern_count; i++)
        regfree(&schema->patterns[i].compiled);
    json_decref(schema->root);
    free(schema);
}

static bool is_type(const json_t *value, const char *type)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return !strcmp(type, "object");
    case JSON_ARRAY:
        return !strcmp(type, "array");
    case JSON_STRING:
        return !strcmp(type, "string");
    case JSON_INTEGER:
        return !strcmp(type, "integer") || !strcmp(type, "number");
    case JSON_REAL:
        return !strcmp(type, "number");
    case JSON_TRUE:
    case JSON_FALSE:
        return !strcmp(type, "boolean");
    case JSON_NULL:
        return !strcmp(type, "null");
    }
    return false;
}

static void check_node(struct check *check, const json_t *node, const json_t *value,
                       const char *name);

static bool fits(struct check *check, const json_t *node, const json_t *value)
{
    struct complaint found = {""};
    struct check inner = {check->schema, &found, check->depth};
    check_node(&inner, node, value, "");
    return !found.text[0];
}

static void check_type(struct check *check, const json_t *type, const json_t *value,
                       const char *name)
{
    size_t index;
    const json_t *one;
    bool good = json_is_string(type) && is_type(value, json_string_value(type));
    json_array_foreach(type, index, one) good = good || is_type(value, json_string_value(one));
    if (!good)
        complain(check->complaint, "%s: of the wrong type", name);
}

static void check_among(struct check *check, const json_t *words, const json_t *value,
                        const char *name)
{
    size_t index;
    const json_t *one;
    bool good = json_is_null(value); // Whether it may be null is for its type to say.
    json_array_foreach(words, index, one) good = good || json_equal(one, value);
    if (!good)
        complain(check->complaint, "%s: \"%s\" is none of its words", name,
                 json_is_string(value) ? json_string_value(value) : "?");
}

static void check_choices(struct check *check, const char *key, const json_t *choices,
                          const json_t *value, const char *name)
{
    size_t index, good = 0;
    const json_t *one;
    json_array_foreach(choices, index, one) good += fits(check, one, value);
    if (!strcmp(key, "oneOf") ? good != 1
                              : good < (!strcmp(key, "allOf") ? json_array_size(choices) : 1)) {
        complain(check->complaint, "%s: fits %zu of %s", name, good, key);
        // What fits none is described by what the last one says of it.
        check_node(check, json_array_get(choices, json_array_size(choices) - 1), value, name);
    }
}

static bool matches(const struct schema *schema, const char *pattern, const char *text)
{
    for (size_t i = 0; i < schema->pattern_count; i++)
        if (!strcmp(schema->patterns[i].text, pattern))
            return !regexec(&schema->patterns[i].compiled, text, 0, NULL, 0);
    return false;
}

static void check_pattern(struct check *check, const char *pattern, const json_t *value,
                          const char *name)
{
    if (json_is_string(value) && !matches(check->schema, pattern, json_string_value(value)))
        complain(check->complaint, "%s: \"%.100s\" is not %s", name, json_string_value(value),
                 pattern);
}

/* What describes a member: by its name, by a pattern, or what is said of all others. */
static const json_t *description_of(const struct check *check, const json_t *node, const char *key)
{
    const char *pattern;
    const json_t *one, *others = json_object_get(node, "additionalProperties");
    const json_t *described = json_object_get(json_object_get(node, "properties"), key);
    if (described)
        return described;
    json_object_foreach(json_object_get(node, "patternProperties"), pattern, one)
    {
        if (matches(check->schema, pattern, key))
            return one;
    }
    return json_is_object(others) ? others : NULL;
}

static void check_object(struct check *check, const json_t *node, const json_t *value,
                         const char *name)
{
    const json_t *one;
    const char *key;
    size_t index;
    json_array_foreach(json_object_get(node, "required"), index, one)
    {
        if (!json_object_get(value, json_string_value(one)))
            complain(check->complaint, "%s: %s is missing", name, json_string_value(one));
    }
    json_object_foreach((json_t *)value, key, one)
    {
        const json_t *described = description_of(check, node, key);
        if (described)
            check_node(check, described, one, key);
        else if (json_object_get(node, "properties") || json_object_get(node, "patternProperties"))
            complain(check->complaint, "%s: %s is not described", name, key);
    }
}

static void check_array(struct check *check, const json_t *node, const json_t *value,
                        const char *name)
{
    const json_t *items = json_object_get(node, "items"), *one;
    size_t index, count = json_array_size(value);
    const json_t *least = json_object_get(node, "minItems");
    const json_t *most = json_object_get(node, "maxItems");
    if ((least && count < (size_t)json_integer_value(least)) ||
        (most && count > (size_t)json_integer_value(most)))
        complain(check->complaint, "%s: has %zu items", name, count);
    if (json_is_true(json_object_get(node, "uniqueItems")))
        for (size_t i = 0; i < count; i++)
            for (size_t j = 0; j < i; j++)
                if (json_equal(json_array_get(value, i), json_array_get(value, j)))
                    complain(check->complaint, "%s: has an item twice", name);
    if (items)
        json_array_foreach(value, index, one) check_node(check, items, one, name);
}

static void check_keyword(struct check *check, const char *key, const json_t *rule,
                          const json_t *value, const char *name)
{
    if (!strcmp(key, "type"))
        check_type(check, rule, value, name);
    else if (!strcmp(key, "enum") || !strcmp(key, "examples"))
        check_among(check, rule, value, name);
    else if (!strcmp(key, "const") && !json_equal(rule, value))
        complain(check->complaint, "%s: is not what it has to be", name);
    else if (!strcmp(key, "minimum") && json_is_number(value) &&
             json_number_value(value) < json_number_value(rule))
        complain(check->complaint, "%s: %g is too little", name, json_number_value(value));
    else if (!strcmp(key, "maximum") && json_is_number(value) &&
             json_number_value(value) > json_number_value(rule))
        complain(check->complaint, "%s: %g is too much", name, json_number_value(value));
    else if (!strcmp(key, "minLength") && json_is_string(value) &&
             json_string_length(value) < (size_t)json_integer_value(rule))
        complain(check->complaint, "%s: is too short", name);
    else if (!strcmp(key, "pattern"))
        check_pattern(check, json_string_value(rule), value, name);
    else if (!strcmp(key, "anyOf") || !strcmp(key, "oneOf") || !strcmp(key, "allOf"))
        check_choices(check, key, rule, value, name);
}

static void check_node(struct check *check, const json_t *node, const json_t *value,
                       const char *name)
{
    static const char prefix[] = "#/$defs/";
    const char *key, *reference = json_string_value(json_object_get(node, "$ref"));
    const json_t *rule;
    if (check->complaint->text[0])
        return;
    if (check->depth >= DEPTH_MAX) {
        complain(check->complaint, "%s: more than %d levels", name, DEPTH_MAX);
        return;
    }
    check->depth++;
    if (reference && !strncmp(reference, prefix, sizeof(prefix) - 1)) {
        const json_t *defined = json_object_get(json_object_get(check->schema->root, "$defs"),
                                                reference + sizeof(prefix) - 1);
        if (defined)
            check_node(check, defined, value, name);
        else
            complain(check->complaint, "schema: %s is not there", reference);
    } else if (reference) {
        complain(check->complaint, "schema: %s is not understood", reference);
    }
    json_object_foreach((json_t *)node, key, rule) check_keyword(check, key, rule, value, name);
    if (json_is_object(value))
        check_object(check, node, value, name);
    if (json_is_array(value))
        check_array(check, node, value, name);
    check->depth--;
}

void schema_check(const struct schema *schema, const json_t *document, struct complaint *complaint)
{
    struct check check = {schema, complaint, 0};
    check_node(&check, schema->root, document, "report");
}
