/* One pass over the text. */
#include "redact_private.h"

#include <stdlib.h>
#include <string.h>

/* User and password in a URL. */
#define USERINFO_LIMIT 512u

/* ---- names and what follows ---- */

struct named {
    size_t start, end;
    size_t behind;    /* A quote behind the name as well. */
    bool quoted;      /* By a quote that no backslash stands before. */
    bool any_quote;   /* By some. */
    bool is_option;   /* "--name", "-name" */
    bool after_space; /* A blank stands between a colon and the value. */
};

static void read_name(const struct scan *scan, struct named *ret)
{
    const char *text = scan->text;
    size_t at = scan->at;
    ret->start = at;
    while (at < scan->size && at - scan->at <= NAME_LIMIT && (is_word(text[at]) || text[at] == '-'))
        at++;
    ret->end = at;
    size_t before = scan->at;
    while (before && text[before - 1] == '-')
        before--;
    ret->is_option = before < scan->at;
    size_t quote = skip_backslashes(scan, at);
    ret->any_quote = is_quote(byte_at(scan, quote));
    ret->quoted = ret->any_quote && quote == at && text[quote] == '"';
    ret->behind = ret->any_quote ? quote + 1 : at;
}

/* Where the value of an option begins that is a word of its own: --password X, "--password", "X".
 */
static size_t find_next_word(const struct scan *scan, const struct named *name)
{
    size_t at = skip_blanks(scan, name->behind);
    if (name->any_quote) {
        if (byte_at(scan, at) != ',')
            return 0;
        // A list may be written a line each.
        for (at++; is_blank(byte_at(scan, at)) || byte_at(scan, at) == '\n'; at++)
            ;
        size_t quote = skip_backslashes(scan, at);
        bool alike = byte_at(scan, quote) == scan->text[name->behind - 1] &&
                     quote - at == name->behind - 1 - name->end;
        return alike && byte_at(scan, quote + 1) != '-' ? at : 0;
    }
    return at > name->behind && byte_at(scan, at) != '-' ? at : 0;
}

/* A text in quotes that stands there; 0: something else does. */
static size_t find_literal(const struct scan *scan, size_t behind)
{
    size_t at = skip_blanks(scan, behind), quote = skip_backslashes(scan, skip_prefix(scan, at));
    return is_quote(byte_at(scan, quote)) ? at : 0;
}

/* Whether a bracket stands before the quote of the name. */
static bool is_first_argument(const struct scan *scan, const struct named *name)
{
    size_t before = name->start;
    if (!before || !is_quote(scan->text[before - 1]))
        return false;
    for (before--; before && scan->text[before - 1] == '\\'; before--)
        ;
    return before && scan->text[before - 1] == '(';
}

/* Where the value of a name begins; 0: none follows. */
static size_t find_value(const struct scan *scan, struct named *name)
{
    size_t at = skip_blanks(scan, name->behind);
    // config["password"] = ...
    if (name->any_quote && byte_at(scan, at) == ']')
        at = skip_blanks(scan, at + 1);
    char sign = byte_at(scan, at);
    if (sign == '=' && byte_at(scan, at + 1) != '=')
        return skip_blanks(scan, at + 1);
    if ((sign == '=' || sign == '!') && byte_at(scan, at + 1) == '=')
        return find_literal(scan, at + 2);
    // get("password", ...)
    if (sign == ',' && name->any_quote && is_first_argument(scan, name))
        return find_literal(scan, at + 1);
    if (sign == ':') {
        size_t behind = skip_blanks(scan, at + 1);
        name->after_space = behind > at + 1;
        return name->any_quote || name->after_space ? behind : 0;
    }
    return name->is_option ? find_next_word(scan, name) : 0;
}

/* Whether a quote that ends or begins a text of JSON itself was taken for one of the value. */
static bool breaks_json(const struct scan *scan, const struct named *name, size_t at,
                        const struct piece *value)
{
    size_t quote = skip_backslashes(scan, at);
    bool opens = byte_at(scan, quote) == '"' && (quote - at) % 2 == 0;
    if (!opens)
        return false;
    // It would be the name of a member.
    return !name->quoted || byte_at(scan, skip_blanks(scan, value->end + 1)) == ':';
}

/* The value that belongs to the name at scan->at, and is to be masked; NAME_PLAIN: there is none.
 */
static enum name_kind find_named(const struct scan *scan, struct piece *ret)
{
    struct named name = {0};
    read_name(scan, &name);
    enum name_kind kind = name_find_kind(scan->text + name.start, name.end - name.start);
    size_t at = kind == NAME_PLAIN ? 0 : find_value(scan, &name);
    if (!at || at >= scan->size)
        return NAME_PLAIN;
    measure_value(scan, at, kind == NAME_HEADER && !name.any_quote, ret);
    if (scan->is_json && breaks_json(scan, &name, at, ret))
        return NAME_PLAIN;
    // Of JSON itself numbers, lists and objects stay what they are.
    bool is_text = ret->start > at;
    bool is_masked = scan->size - at >= 9 && !memcmp(scan->text + at, "[redacted", 9);
    if ((name.quoted && !is_text) || (!is_text && strchr("{[(<", byte_at(scan, at)) && !is_masked))
        return NAME_PLAIN;
    return is_harmless(scan->text + ret->start, ret->end - ret->start) ? NAME_PLAIN : kind;
}

/* Masks what belongs to the name at scan->at; the end of that, 0: there is nothing. */
static size_t mask_named(const struct scan *scan, struct text *ret)
{
    struct piece value;
    enum name_kind kind = find_named(scan, &value);
    if (kind == NAME_PLAIN)
        return 0;
    text_add(ret, scan->text + scan->at, value.start - scan->at);
    text_add_string(ret, kind == NAME_USER ? A_USER : REDACTED);
    return value.end;
}

/* ---- others ---- */

static bool begins(const struct scan *scan, const char *with)
{
    size_t size = strlen(with);
    return scan->size - scan->at >= size && !memcmp(scan->text + scan->at, with, size);
}

/* "/home/NAME": NAME; false: it is none, or hidden already. */
static bool find_home(const struct scan *scan, struct piece *ret)
{
    static const char *const folders[] = {"/home/", "/Users/"};
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        if (!begins(scan, folders[i]))
            continue;
        ret->start = ret->end = scan->at + strlen(folders[i]);
        while (ret->end < scan->size &&
               !strchr("/ \t\r\n\"'\\:,;()[]{}<>|&=`", scan->text[ret->end]))
            ret->end++;
        return ret->end > ret->start;
    }
    return false;
}

static size_t mask_home(const struct scan *scan, struct text *ret)
{
    struct piece name;
    if (!find_home(scan, &name))
        return 0;
    text_add(ret, scan->text + scan->at, name.start - scan->at);
    text_add_string(ret, A_USER);
    return name.end;
}

static bool is_known_user(const struct scan *scan, const char *name, size_t size)
{
    for (size_t i = 0; i < scan->user_count; i++) {
        const struct piece *user = &scan->users[i];
        if (user->end - user->start == size && !memcmp(scan->text + user->start, name, size))
            return true;
    }
    return false;
}

static void find_users(struct scan *scan)
{
    struct piece name;
    for (scan->at = 0; scan->at < scan->size && scan->user_count < USER_LIMIT; scan->at++)
        if (scan->text[scan->at] == '/' && find_home(scan, &name) && name.end - name.start > 1 &&
            !is_known_user(scan, scan->text + name.start, name.end - name.start))
            scan->users[scan->user_count++] = name;
    scan->at = 0;
}

/* A folder that has the name of a user: "NAME/". */
static size_t mask_folder(const struct scan *scan, struct text *ret)
{
    size_t end = scan->at;
    while (end < scan->size && end - scan->at <= NAME_LIMIT &&
           (is_word(scan->text[end]) || strchr("-.", scan->text[end])) && scan->text[end])
        end++;
    if (byte_at(scan, end) != '/' || !is_known_user(scan, scan->text + scan->at, end - scan->at))
        return 0;
    text_add_string(ret, A_USER);
    return end;
}

/* "://USER:PASSWORD@": up to the sign. */
static size_t mask_userinfo(const struct scan *scan, struct text *ret)
{
    size_t start = scan->at + 3, end = start;
    while (end < scan->size && end - start < USERINFO_LIMIT &&
           !strchr("/?#@ \t\r\n\"'\\<>", scan->text[end]))
        end++;
    if (byte_at(scan, end) != '@' || end == start || is_harmless(scan->text + start, end - start))
        return 0;
    text_add_string(ret, "://" REDACTED);
    return end;
}

/* "Bearer TOKEN", "Basic TOKEN" (RFC 9110, 11.4). */
static size_t mask_credentials(const struct scan *scan, struct text *ret)
{
    size_t word = begins(scan, "Bearer ") ? 7 : begins(scan, "Basic ") ? 6 : 0, end;
    if (!word)
        return 0;
    for (end = scan->at + word; end < scan->size; end++)
        if (!is_word(scan->text[end]) && !strchr("-._~+/=", scan->text[end]))
            break;
    if (end - scan->at - word < 8)
        return 0;
    text_add(ret, scan->text + scan->at, word);
    text_add_string(ret, REDACTED);
    return end;
}

static size_t mask_token(const struct scan *scan, struct text *ret)
{
    size_t size = token_measure(scan);
    if (size)
        text_add_string(ret, REDACTED);
    return size ? scan->at + size : 0;
}

static bool begins_word(const struct scan *scan)
{
    return !scan->at || !is_word(scan->text[scan->at - 1]);
}

/* What begins here; the end of what was masked, 0: nothing was. */
static size_t mask(const struct scan *scan, struct text *ret)
{
    char byte = scan->text[scan->at];
    size_t known = scan->secret_count ? mask_known(scan, ret) : 0;
    if (known)
        return known;
    if (byte == '/')
        return mask_home(scan, ret);
    if (byte == ':')
        return begins(scan, "://") ? mask_userinfo(scan, ret) : 0;
    if (is_quote(byte))
        return mask_literal(scan, ret);
    if (!begins_word(scan) || (!is_word(byte) && byte != '-'))
        return 0;
    size_t end = mask_token(scan, ret);
    if (!end && scan->user_count)
        end = mask_folder(scan, ret);
    if (!end && byte != '-')
        end = mask_credentials(scan, ret);
    if (!end && byte != '-')
        end = mask_named(scan, ret);
    return end;
}

/* Those that end or begin a text of JSON. */
static size_t count_quotes(const char *text, size_t size)
{
    size_t count = 0, backslashes = 0;
    for (size_t i = 0; i < size; i++) {
        count += text[i] == '"' && backslashes % 2 == 0;
        backslashes = text[i] == '\\' ? backslashes + 1 : 0;
    }
    return count;
}

static bool keeps_form(const struct scan *scan, size_t end, const struct text *masked)
{
    return !scan->is_json || count_quotes(scan->text + scan->at, end - scan->at) ==
                                 count_quotes(masked->data, masked->size);
}

static void find_secrets(struct scan *scan)
{
    struct piece value;
    for (scan->at = 0; scan->at < scan->size; scan->at++)
        if (is_word(scan->text[scan->at]) && begins_word(scan) &&
            find_named(scan, &value) == NAME_SECRET)
            secrets_add(scan, &value);
    scan->at = 0;
}

static void begin(struct scan *scan, const char *text, size_t size)
{
    scan->text = text;
    scan->size = size;
    scan->is_json = size && (text[0] == '{' || text[0] == '[');
}

struct redact_secrets {
    struct secret items[SECRET_LIMIT]; /* Copies. */
    size_t count;
};

struct redact_secrets *redact_secrets_create(void)
{
    return calloc(1, sizeof(struct redact_secrets));
}

void redact_secrets_destroy(struct redact_secrets *secrets)
{
    for (size_t i = 0; secrets && i < secrets->count; i++)
        free((char *)secrets->items[i].text);
    free(secrets);
}

bool redact_secrets_learn(struct redact_secrets *secrets, const char *text, size_t size)
{
    struct scan scan = {.secret_count = secrets->count};
    begin(&scan, text, size);
    memcpy(scan.secrets, secrets->items, secrets->count * sizeof(*secrets->items));
    find_secrets(&scan);
    while (secrets->count < scan.secret_count) {
        const struct secret *found = &scan.secrets[secrets->count];
        char *copy = strndup(found->text, found->size);
        if (!copy)
            return false;
        secrets->items[secrets->count++] = (struct secret){copy, found->size};
    }
    return true;
}

bool redact_secrets_are_full(const struct redact_secrets *secrets)
{
    return secrets->count == SECRET_LIMIT;
}

void redact_text(const char *text, size_t size, struct text *ret)
{
    redact_text_knowing(NULL, text, size, ret);
}

void redact_text_knowing(const struct redact_secrets *secrets, const char *text, size_t size,
                         struct text *ret)
{
    struct scan scan = {.secret_count = secrets ? secrets->count : 0};
    begin(&scan, text, size);
    if (secrets)
        memcpy(scan.secrets, secrets->items, secrets->count * sizeof(*secrets->items));
    size_t kept = 0;
    find_users(&scan);
    find_secrets(&scan);
    while (scan.at < size) {
        struct text masked = {0};
        if (is_word(text[scan.at]) && begins_word(&scan))
            note_secret_call(&scan);
        size_t end = mask(&scan, &masked);
        if (end && !keeps_form(&scan, end, &masked))
            end = 0;
        if (end) {
            text_add(ret, text + kept, scan.at - kept);
            text_add(ret, masked.data, masked.size);
            ret->failed |= masked.failed;
            kept = end;
        }
        text_deinit(&masked);
        scan.at = end > scan.at ? end : scan.at + 1;
    }
    text_add(ret, text + kept, size - kept);
}
