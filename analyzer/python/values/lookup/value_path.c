#include "value_path.h"

#include <stdlib.h>
#include <string.h>

struct cursor {
    const char *start;
    const char *at;
    struct value_path *path;
    struct psc_error *err;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Names beyond ASCII are taken as they are: whether a letter is one is for the names to say. */
static bool is_name_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c) ||
           (unsigned char)c >= 0x80;
}

static enum psc_status refuse(const struct cursor *cursor, const char *wanted)
{
    return psc_fail(cursor->err, PSC_ERR_ARGUMENT,
                    "%s is wanted at column %zu; what can be shown is a name, followed by .NAME, "
                    "[NUMBER] or ['KEY']",
                    wanted, (size_t)(cursor->at - cursor->start) + 1);
}

static void put(struct value_path *path, char c)
{
    path->text[path->size++] = c;
}

static void pass_blanks(struct cursor *cursor)
{
    while (*cursor->at == ' ' || *cursor->at == '\t')
        cursor->at++;
}

static enum psc_status take_name(struct cursor *cursor)
{
    if (!is_name_byte(*cursor->at) || is_digit(*cursor->at))
        return refuse(cursor, "a name");
    while (is_name_byte(*cursor->at))
        put(cursor->path, *cursor->at++);
    return PSC_OK;
}

/* The first argument of a comprehension is called .0. */
static enum psc_status take_first_name(struct cursor *cursor)
{
    if (*cursor->at != '.')
        return take_name(cursor);
    put(cursor->path, *cursor->at++);
    if (!is_digit(*cursor->at))
        return refuse(cursor, "a name");
    while (is_digit(*cursor->at))
        put(cursor->path, *cursor->at++);
    return PSC_OK;
}

/* The text of the step is as str() has the number: so keys of a dict are compared. The number
   itself stops at what its type can hold, which is an index of nothing. */
static enum psc_status take_index(struct cursor *cursor, struct value_step *step)
{
    const char *first = cursor->at;
    char *end;
    if (*first == '-' && !is_digit(first[1]))
        return refuse(cursor, "a number or a key in quotes");
    step->kind = VALUE_STEP_INDEX;
    step->index = strtoll(first, &end, 10);
    bool negative = step->index < 0;
    cursor->at = first + (*first == '-');
    while (*cursor->at == '0' && is_digit(cursor->at[1]))
        cursor->at++;
    if (negative)
        put(cursor->path, '-');
    while (cursor->at < end)
        put(cursor->path, *cursor->at++);
    return PSC_OK;
}

static enum psc_status take_key(struct cursor *cursor, struct value_step *step)
{
    char quote = *cursor->at++;
    step->kind = VALUE_STEP_KEY;
    while (*cursor->at && *cursor->at != quote) {
        if (*cursor->at == '\\' && (cursor->at[1] == '\\' || cursor->at[1] == quote))
            cursor->at++;
        put(cursor->path, *cursor->at++);
    }
    if (!*cursor->at)
        return refuse(cursor, quote == '"' ? "a closing \"" : "a closing '");
    cursor->at++;
    return PSC_OK;
}

static enum psc_status take_step(struct cursor *cursor, struct value_step *step)
{
    enum psc_status status;
    if (*cursor->at == '.') {
        cursor->at++;
        pass_blanks(cursor);
        step->kind = VALUE_STEP_ATTRIBUTE;
        return take_name(cursor);
    }
    if (*cursor->at != '[')
        return refuse(cursor, "'.' or '['");
    cursor->at++;
    pass_blanks(cursor);
    if (*cursor->at == '\'' || *cursor->at == '"')
        status = take_key(cursor, step);
    else if (is_digit(*cursor->at) || *cursor->at == '-')
        status = take_index(cursor, step);
    else
        status = refuse(cursor, "a number or a key in quotes");
    if (status != PSC_OK)
        return status;
    pass_blanks(cursor);
    if (*cursor->at != ']')
        return refuse(cursor, "']'");
    cursor->at++;
    return PSC_OK;
}

enum psc_status parse_value_path(const char *typed, struct value_path *ret, struct psc_error *err)
{
    struct cursor cursor = {typed, typed, ret, err};
    ret->count = 0;
    ret->size = 0;
    if (strnlen(typed, VALUE_PATH_SIZE) == VALUE_PATH_SIZE)
        return psc_fail(err, PSC_ERR_ARGUMENT, "that is longer than %u bytes", VALUE_PATH_SIZE);
    pass_blanks(&cursor);
    do {
        if (ret->count == VALUE_PATH_STEPS)
            return psc_fail(err, PSC_ERR_ARGUMENT, "that has more than %u steps", VALUE_PATH_STEPS);
        struct value_step *step = &ret->steps[ret->count];
        *step = (struct value_step){.text = ret->text + ret->size};
        enum psc_status status = ret->count ? take_step(&cursor, step) : take_first_name(&cursor);
        if (status != PSC_OK)
            return status;
        put(ret, '\0');
        step->end = (size_t)(cursor.at - typed);
        ret->count++;
        pass_blanks(&cursor);
    } while (*cursor.at);
    return PSC_OK;
}
