/*
 * How names are written: by libiberty's demanglers (cp-demangle.c, rust-demangle.c) and in DWARF.
 * C++: f<A, B<C> >(D)::{lambda(E)#1}::operator()(E) const; Rust: <A<B> as C>::f::<D>::{closure#0},
 * and <impl C for A<B>>::f in its older scheme. Text that does not nest is no reason to fail: a
 * bracket without its like is an ordinary character.
 */
#include "short_name.h"

#include <ctype.h>
#include <string.h>

/* Brackets inside each other that are followed; names that nest deeper are cut. */
#define NESTING_LIMIT 128
/* Arguments inside arguments that are shown at most, where there is room for some. */
#define DETAIL_LIMIT ((size_t)6)

/* A default argument that is longer stays: what is looked at again and again is bounded. */
#define DEFAULT_LIMIT 1024

#define ELLIPSIS "\u2026"

enum bracket {
    BRACKET_PLAIN,    /* Always shown: {…}, […], (anonymous namespace), Rust's <A as B>. */
    BRACKET_ARGUMENTS /* Left out when it lies too deep. */
};

struct shortening {
    struct text *text;
    const char *name;
    size_t detail;   /* Arguments inside so many others are left out. */
    bool first_only; /* And of the innermost that are shown all but the first. */
    size_t depth;    /* Brackets that are open. */
    size_t nested;   /* Those of arguments. */
    size_t hidden;   /* depth from which on all is left out; 0: nothing is. */
    char closing[NESTING_LIMIT];
    enum bracket kinds[NESTING_LIMIT];
};

static bool starts_with(const char *text, const char *start)
{
    return !strncmp(text, start, strlen(start));
}

static bool is_identifier(char letter)
{
    return isalnum((unsigned char)letter) || letter == '_' || letter == '$' || letter < 0;
}

/* ---- what the libraries write in full ---- */

struct library_name {
    const char *written;
    const char *shown;
};

/* After the inline namespaces are gone. */
static const struct library_name library_names[] = {
    {"std::basic_string<char, std::char_traits<char>, std::allocator<char> >", "std::string"},
    {"std::basic_string<char, std::char_traits<char>, std::allocator<char>>", "std::string"},
    {"std::basic_string_view<char, std::char_traits<char> >", "std::string_view"},
    {"std::basic_string_view<char, std::char_traits<char>>", "std::string_view"},
    {"std::basic_ostream<char, std::char_traits<char> >", "std::ostream"},
    {"std::basic_istream<char, std::char_traits<char> >", "std::istream"},
};

/* The size of an inline namespace's name at `at`, behind "std::"; 0: there is none. */
static size_t inline_namespace(const char *name, size_t at)
{
    static const char *const spaces[] = {"__cxx11::", "__1::", "__ndk1::"};
    if (at < 5 || strncmp(name + at - 5, "std::", 5) != 0)
        return 0;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(spaces); i++)
        if (starts_with(name + at, spaces[i]))
            return strlen(spaces[i]);
    return 0;
}

static void leave_out_inline_namespaces(struct text *ret, const char *name)
{
    for (size_t i = 0; name[i];) {
        size_t size = inline_namespace(name, i);
        if (!size)
            text_add_char(ret, name[i]);
        i += size ? size : 1;
    }
}

/* The size of the bracket that begins at `start`, with its end; 0: it has none. */
static size_t angle_size(const char *start)
{
    size_t depth = 0;
    for (size_t i = 0; start[i] && i < DEFAULT_LIMIT; i++) {
        if (start[i] == '<')
            depth++;
        else if (start[i] == '>' && start[i - 1] != '-' && !--depth)
            return i + 1;
    }
    return 0;
}

/* The size of ", std::allocator<T>" and its like, where that is an argument; else 0. */
static size_t default_argument(const char *text)
{
    static const char *const names[] = {
        ", std::allocator<", ", std::char_traits<", ", std::less<",
        ", std::equal_to<",  ", std::hash<",        ", std::default_delete<",
    };
    for (size_t i = 0; i < PSC_ARRAY_SIZE(names); i++) {
        if (!starts_with(text, names[i]))
            continue;
        size_t start = strlen(names[i]) - 1;
        size_t size = angle_size(text + start);
        const char *end = text + start + size;
        return size && (*end == ',' || *end == '>' || starts_with(end, " >")) ? start + size : 0;
    }
    return 0;
}

static void leave_out_defaults(struct text *ret, const char *name)
{
    for (size_t i = 0; name[i];) {
        size_t used = default_argument(name + i);
        for (size_t k = 0; !used && k < PSC_ARRAY_SIZE(library_names); k++)
            if (starts_with(name + i, library_names[k].written)) {
                text_add_string(ret, library_names[k].shown);
                used = strlen(library_names[k].written);
            }
        if (!used) {
            text_add_char(ret, name[i]);
            used = 1;
        }
        i += used;
    }
}

/* ---- arguments ---- */

/* operator<, operator(), operator->: no brackets. @return the size with its signs, 0: none. */
static size_t operator_size(const char *name, size_t at)
{
    static const char word[] = "operator";
    size_t size = strlen(word);
    if (!starts_with(name + at, word) || (at && is_identifier(name[at - 1])))
        return 0;
    const char *signs = name + at + size;
    if (starts_with(signs, "()") || starts_with(signs, "[]"))
        return size + 2;
    return size + strspn(signs, "<>=-+*/%^&|~!,");
}

static enum bracket kind_of(const char *name, size_t at)
{
    char before = at ? name[at - 1] : ' ';
    switch (name[at]) {
    case '<':
        if (before == ':')
            return starts_with(name + at, "<impl ") ? BRACKET_PLAIN : BRACKET_ARGUMENTS;
        // "operator< <int>" has a space, "{lambda(auto:1)#1}<int>" a brace before it.
        return is_identifier(before) || before == '}' || before == ']' ||
                       (before == ' ' && at > 1 && strchr("<>=-+*/%^&|~!", name[at - 2]))
                   ? BRACKET_ARGUMENTS
                   : BRACKET_PLAIN;
    case '(':
        return name[at + 1] == ')' || starts_with(name + at, "(anonymous namespace)")
                   ? BRACKET_PLAIN
                   : BRACKET_ARGUMENTS;
    default:
        return BRACKET_PLAIN;
    }
}

static void add_letter(struct shortening *one, char letter)
{
    if (!one->hidden)
        text_add_char(one->text, letter);
}

static bool open_bracket(struct shortening *one, size_t at, char closing)
{
    if (one->depth == NESTING_LIMIT)
        return false;
    enum bracket kind = kind_of(one->name, at);
    add_letter(one, one->name[at]);
    one->closing[one->depth] = closing;
    one->kinds[one->depth++] = kind;
    if (kind != BRACKET_ARGUMENTS)
        return true;
    if (!one->hidden && one->nested >= one->detail) {
        text_add_string(one->text, ELLIPSIS);
        one->hidden = one->depth;
    }
    one->nested++;
    return true;
}

/* A bracket closes the innermost of its kind, and with it those in it that have no end. */
static void close_bracket(struct shortening *one, char closing)
{
    size_t found = one->depth;
    while (found && one->closing[found - 1] != closing)
        found--;
    // A comparison in an argument is no end of what is around it.
    if (!found || (closing == '>' && found != one->depth)) {
        add_letter(one, closing);
        return;
    }
    for (; one->depth >= found; one->depth--) {
        one->nested -= one->kinds[one->depth - 1] == BRACKET_ARGUMENTS;
        if (one->hidden == one->depth)
            one->hidden = 0;
    }
    // "A<B<…> >" is written with a space to this day.
    if (!one->hidden && closing == '>' && one->text->size && !one->text->failed &&
        one->text->data[one->text->size - 1] == ' ')
        one->text->size--;
    add_letter(one, closing);
}

/* Behind a comma the other arguments follow. */
static void end_argument(struct shortening *one)
{
    bool in_arguments = one->depth && one->kinds[one->depth - 1] == BRACKET_ARGUMENTS;
    add_letter(one, ',');
    if (one->hidden || !one->first_only || !in_arguments || one->nested != one->detail)
        return;
    text_add_string(one->text, " " ELLIPSIS);
    one->hidden = one->depth;
}

/* With arguments up to a depth; false: it nests too deep to tell, or what is left out has no end.
 */
static bool add_with_detail(struct text *text, const char *name, size_t detail, bool first_only)
{
    static const char opening[] = "<({[";
    static const char closing[] = ">)}]";
    struct shortening one = {
        .text = text, .name = name, .detail = detail, .first_only = first_only};
    for (size_t i = 0; name[i]; i++) {
        const char *bracket = strchr(opening, name[i]);
        size_t sign = name[i] == 'o' ? operator_size(name, i) : 0;
        if (sign) {
            for (size_t k = 0; k < sign; k++)
                add_letter(&one, name[i + k]);
            i += sign - 1;
        } else if (bracket) {
            if (!open_bracket(&one, i, closing[bracket - opening]))
                return false;
        } else if (strchr(closing, name[i]) && !(i && name[i] == '>' && name[i - 1] == '-')) {
            close_bracket(&one, name[i]);
        } else if (name[i] == ',') {
            end_argument(&one);
        } else {
            add_letter(&one, name[i]);
        }
    }
    return !one.hidden;
}

/* ---- the whole ---- */

/* Of UTF-8; bytes that are none count each. */
static size_t count_characters(const char *text)
{
    size_t count = 0;
    for (size_t left = strlen(text); left; count++) {
        uint32_t code_point;
        size_t used = utf8_decode(text, left, &code_point);
        used = used ? used : 1;
        text += used;
        left -= used;
    }
    return count;
}

static void cut_middle(struct text *text, const char *name, size_t limit)
{
    size_t size = strlen(name);
    size_t head = limit / 2;
    size_t tail = size - limit / 2;
    while (head && utf8_continues(name[head]))
        head--;
    while (name[tail] && utf8_continues(name[tail]))
        tail++;
    text_add(text, name, head);
    text_add_string(text, ELLIPSIS);
    text_add_string(text, name + tail);
}

/*
 * From all arguments, over the first alone of those at each depth, to none at all. Empty where
 * that cannot be told.
 */
static void add_shortened(struct text *ret, const char *name, size_t limit)
{
    for (size_t step = 2 * DETAIL_LIMIT + 1; step-- > 0;) {
        size_t detail = step < 2 * DETAIL_LIMIT ? (step + 1) / 2 : NESTING_LIMIT;
        text_clear(ret);
        if (!add_with_detail(ret, name, detail, step % 2 != 0)) {
            text_clear(ret);
            return;
        }
        if (count_characters(ret->data ? ret->data : "") <= limit)
            return;
    }
}

void short_name_add(struct text *text, const char *name, size_t limit)
{
    struct text plain = {0};
    struct text shorter = {0};
    struct text found = {0};
    if (count_characters(name) <= limit) {
        text_add_string(text, name);
        return;
    }
    leave_out_inline_namespaces(&plain, name);
    leave_out_defaults(&shorter, plain.data ? plain.data : "");
    const char *all = shorter.data ? shorter.data : "";
    add_shortened(&found, all, limit);
    const char *best = found.size ? found.data : all;
    if (count_characters(best) > 2 * limit)
        cut_middle(text, best, limit);
    else
        text_add_string(text, best);
    text->failed |= plain.failed || shorter.failed || found.failed;
    text_deinit(&plain);
    text_deinit(&shorter);
    text_deinit(&found);
}
