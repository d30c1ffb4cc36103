/* The rules: a readable file, and those that are built in. */
#include "signature_private.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#define RULE_LIMIT 10000u /* Of one file: each is tried for each frame. */
#define BUILT_IN   "the built-in rules"

struct signature_rules {
    struct rule *items;
    size_t count;
    size_t capacity;
    struct arena *arena;
};

static const char *const action_names[RULE_ACTIONS] = {
    [RULE_SENTINEL] = "sentinel", [RULE_SKIP] = "skip",     [RULE_PREFIX] = "prefix",
    [RULE_KEEP] = "keep",         [RULE_IN_APP] = "in-app", [RULE_NOT_IN_APP] = "not-in-app",
    [RULE_RENAME] = "rename",
};

static bool is_space(char character)
{
    return character == ' ' || character == '\t' || character == '\r';
}

/* The line without spaces at its ends. */
static char *trim(char *line)
{
    while (is_space(*line))
        line++;
    for (size_t size = strlen(line); size && is_space(line[size - 1]); size--)
        line[size - 1] = '\0';
    return line;
}

/* Cuts the first word off; returns the rest. */
static char *cut_word(char *line)
{
    while (*line && !is_space(*line))
        line++;
    if (*line)
        *line++ = '\0';
    return trim(line);
}

static bool find_action(const char *word, enum rule_action *ret)
{
    for (size_t i = 0; i < RULE_ACTIONS; i++)
        if (!strcmp(word, action_names[i])) {
            *ret = (enum rule_action)i;
            return true;
        }
    return false;
}

const char *parse_rule(char *line, struct rule *ret)
{
    memset(ret, 0, sizeof(*ret));
    line = trim(line);
    if (!*line || *line == '#')
        return NULL;
    char *rest = cut_word(line);
    if (!find_action(line, &ret->action))
        return "no such action";
    if (!*rest)
        return "a pattern is missing";
    if (ret->action == RULE_RENAME) {
        ret->new_name = cut_word(rest);
        ret->pattern = rest;
        return *ret->new_name ? NULL : "the new name is missing";
    }
    bool of_function = ret->action != RULE_IN_APP && ret->action != RULE_NOT_IN_APP;
    char *mark = of_function ? strchr(rest, '!') : NULL;
    if (mark) {
        *mark = '\0';
        ret->module = rest;
        rest = mark + 1;
    }
    ret->pattern = rest;
    return NULL;
}

static enum psc_status add_line(struct signature_rules *rules, char *line, struct rule *position,
                                struct psc_error *err)
{
    struct rule rule;
    const char *problem = parse_rule(line, &rule);
    if (problem)
        return psc_fail(err, PSC_ERR_ARGUMENT, "%s: line %u: %s", position->source, position->line,
                        problem);
    if (!rule.pattern)
        return PSC_OK;
    if (position->line > RULE_LIMIT)
        return psc_fail(err, PSC_ERR_ARGUMENT, "%s: more than %u lines", position->source,
                        RULE_LIMIT);
    if (!array_reserve(&rules->items, &rules->capacity, rules->count + 1, sizeof(rule)))
        return psc_fail_memory(err);
    rule.source = position->source;
    rule.line = position->line;
    rules->items[rules->count++] = rule;
    return PSC_OK;
}

static enum psc_status add_rules(struct signature_rules *rules, const char *text, const char *name,
                                 struct psc_error *err)
{
    struct rule position = {.source = arena_strdup(rules->arena, name)};
    char *line = arena_strdup(rules->arena, text);
    enum psc_status status = line && position.source ? PSC_OK : psc_fail_memory(err);
    while (status == PSC_OK && line) {
        char *end = strchr(line, '\n');
        if (end)
            *end++ = '\0';
        position.line++;
        status = add_line(rules, line, &position, err);
        line = end;
    }
    return status;
}

void signature_rules_destroy(struct signature_rules *rules)
{
    if (!rules)
        return;
    free(rules->items);
    arena_destroy(rules->arena);
    free(rules);
}

enum psc_status signature_rules_create(const char *text, const char *name,
                                       struct signature_rules **ret, struct psc_error *err)
{
    struct signature_rules *rules = calloc(1, sizeof(*rules));
    if (!rules || !(rules->arena = arena_create())) {
        free(rules);
        return psc_fail_memory(err);
    }
    enum psc_status status = text ? add_rules(rules, text, name, err) : PSC_OK;
    if (status == PSC_OK)
        status = add_rules(rules, signature_default_rules(), BUILT_IN, err);
    if (status == PSC_OK)
        *ret = rules;
    else
        signature_rules_destroy(rules);
    return status;
}

static bool matches_module(const struct rule *rule, const struct rule_module *module)
{
    if (!rule->module)
        return true;
    if (!module)
        return false;
    const char *name = strchr(rule->module, '/') ? module->path : module->name;
    return name && !fnmatch(rule->module, name, 0);
}

const struct rule *rules_find(const struct signature_rules *rules, unsigned actions,
                              const struct rule_module *module, const char *text)
{
    for (size_t i = 0; i < rules->count; i++) {
        const struct rule *rule = &rules->items[i];
        if ((actions >> rule->action & 1u) && matches_module(rule, module) &&
            !fnmatch(rule->pattern, text, 0))
            return rule;
    }
    return NULL;
}

static void add_rule(struct text *text, const struct rule *rule)
{
    text_printf(text, ", line %u of ", rule->line);
    text_add_escaped(text, rule->source);
    text_printf(text, ": %s ", action_names[rule->action]);
    if (rule->module) {
        text_add_escaped(text, rule->module);
        text_add_char(text, '!');
    }
    text_add_escaped(text, rule->pattern);
}

void parts_explain(struct part_list *parts, const struct trace_frame *frame, const char *what,
                   const struct rule *rule)
{
    struct text *text = parts->explain;
    if (!text)
        return;
    const struct trace_location *location = frame->location;
    const char *file = location->module ? location->module->name : location->file;
    text_add_string(text, "  ");
    text_add_escaped(text, location->function ? location->function : "(no name)");
    if (file) {
        text_add_string(text, " (");
        text_add_escaped(text, file);
        text_add_string(text, ")");
    }
    text_printf(text, ": %s", what);
    if (rule)
        add_rule(text, rule);
    text_add_char(text, '\n');
}

void part_list_deinit(struct part_list *parts)
{
    free(parts->items);
}

void parts_add(struct part_list *parts, const char *part)
{
    const char *copy = arena_strdup(parts->arena, part);
    if (!copy || !array_reserve(&parts->items, &parts->capacity, parts->count + 1, sizeof(copy)))
        parts->failed = true;
    else
        parts->items[parts->count++] = copy;
}
