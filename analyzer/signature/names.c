/* Names that are the same in all builds of a function, a module, a file; messages likewise. */
#include "signature_private.h"

#include <ctype.h>
#include <string.h>

/* Of other characters than these a name ends, or something else follows. */
static bool is_word(char character)
{
    return isalnum((unsigned char)character) || character == '_';
}

static bool starts_with(const char *text, const char *start)
{
    return !strncmp(text, start, strlen(start));
}

/* ---- functions ---- */

/*
 * What GCC and LLVM append to copies and parts of a function: ".constprop.0", ".cold", ".llvm.123".
 * Demangled names have them as " [clone .cold]".
 */
static size_t without_clones(const char *name, size_t size)
{
    static const char *const marks[] = {".cold",     ".part.",      ".isra.", ".constprop.",
                                        ".lto_priv", ".localalias", ".llvm.", ".clone.",
                                        " [clone",   "@",           ".warm",  ".hot"};
    size_t end = size;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(marks); i++) {
        const char *found = memmem(name, end, marks[i], strlen(marks[i]));
        if (found && found > name)
            end = (size_t)(found - name);
    }
    return end;
}

/* Rust's hash, "::h" and 16 hexadecimal digits (rustc, legacy symbol mangling). */
static size_t without_hash(const char *name, size_t size)
{
    const size_t length = 19;
    if (size <= length || memcmp(name + size - length, "::h", 3) != 0)
        return size;
    for (size_t i = size - 16; i < size; i++)
        if (!isxdigit((unsigned char)name[i]))
            return size;
    return size - length;
}

/* glibc's variants by instruction set: "__memcpy_avx_unaligned_erms" (sysdeps/x86_64/multiarch). */
static bool is_instruction_set(const char *word, size_t size)
{
    static const char *const sets[] = {"sse",  "ssse3", "avx",  "evex",     "erms",
                                       "fsrm", "rtm",   "ia32", "unaligned"};
    for (size_t i = 0; i < PSC_ARRAY_SIZE(sets); i++)
        if (size >= strlen(sets[i]) && starts_with(word, sets[i]))
            return true;
    return false;
}

static bool add_variant(const char *name, size_t size, struct text *ret)
{
    if (size < 7 || !starts_with(name, "__") ||
        !(starts_with(name + 2, "mem") || starts_with(name + 2, "str") ||
          starts_with(name + 2, "wcs") || starts_with(name + 2, "wmem")))
        return false;
    const char *mark = memchr(name + 2, '_', size - 2);
    if (!mark || !is_instruction_set(mark + 1, size - (size_t)(mark + 1 - name)))
        return false;
    text_add(ret, name + 2, (size_t)(mark - name) - 2);
    return true;
}

/* Where the bracket closes that opens at `at`; the end of the name if nowhere. */
static size_t skip_brackets(const char *name, size_t size, size_t at)
{
    const char open = name[at], close = open == '(' ? ')' : open == '<' ? '>' : ']';
    size_t depth = 0;
    for (; at < size; at++) {
        if (name[at] == open)
            depth++;
        else if (name[at] == close && at && name[at - 1] != '-' && !--depth)
            return at + 1;
    }
    return size;
}

static bool ends_with_operator(const struct text *text)
{
    const char *word = "operator";
    size_t length = strlen(word);
    return text->size >= length && !memcmp(text->data + text->size - length, word, length);
}

/* C++ and Rust names without arguments, and with <T> for what stands in angle brackets. */
static void add_qualified(const char *name, size_t size, struct text *ret)
{
    static const char anonymous[] = "(anonymous namespace)";
    for (size_t i = 0; i < size;) {
        char next = i + 1 < size ? name[i + 1] : '\0';
        if (name[i] == '(' && size - i >= sizeof(anonymous) - 1 &&
            starts_with(name + i, anonymous)) {
            text_add_string(ret, anonymous);
            i += sizeof(anonymous) - 1;
        } else if (name[i] == '(' && ends_with_operator(ret) && next == ')') {
            text_add_string(ret, "()");
            i += 2;
        } else if (name[i] == '(') {
            // Arguments: what follows them is of the same function ("const", " [clone]").
            i = skip_brackets(name, size, i);
            if (i >= size || name[i] != ':')
                return;
        } else if (name[i] == '<' && i && is_word(name[i - 1]) && !ends_with_operator(ret)) {
            text_add_string(ret, "<T>");
            i = skip_brackets(name, size, i);
        } else {
            text_add_char(ret, name[i++]);
        }
    }
}

/*
 * What libraries append to the functions that they choose by the processor: numpy
 * (numpy/_core/meson.build, CPU features; X86_V2 to V4 since 2.4), OpenBLAS (cpuid names of
 * driver/others/dynamic.c).
 */
static size_t measure_processor(const char *word)
{
    static const char *const endings[] = {
        "_SSE",      "_SSE2",       "_SSE3",       "_SSSE3",      "_SSE41",
        "_SSE42",    "_AVX",        "_AVX2",       "_FMA3",       "_AVX512F",
        "_AVX512CD", "_AVX512_SKX", "_AVX512_CLX", "_AVX512_ICL", "_AVX512_SPR",
        "_X86_V2",   "_X86_V3",     "_X86_V4",     "_NEON",       "_ASIMD",
        "_ASIMDHP",  "_SVE",        "_PRESCOTT",   "_NEHALEM",    "_SANDYBRIDGE",
        "_HASWELL",  "_ZEN",        "_SKYLAKEX",   "_COOPERLAKE", "_SAPPHIRERAPIDS",
        "_ARMV8",    "_NEOVERSEN1", "_NEOVERSEV1", "_BULLDOZER",  "_EXCAVATOR",
    };
    for (size_t i = 0; i < PSC_ARRAY_SIZE(endings); i++) {
        size_t size = strlen(endings[i]);
        if (starts_with(word, endings[i]) && !is_word(word[size]))
            return size;
    }
    return 0;
}

/* At the end of each word that has a begin before it. */
static void drop_processors(struct text *name)
{
    size_t kept = 0;
    text_add_char(name, '\0');
    for (size_t at = 0; !name->failed && at < name->size;) {
        size_t size = at && is_word(name->data[at - 1]) ? measure_processor(name->data + at) : 0;
        if (size)
            at += size;
        else
            name->data[kept++] = name->data[at++];
    }
    if (!name->failed)
        name->size = kept - 1;
}

void signature_name_function(const char *function, struct text *ret)
{
    text_add_string(ret, "");
    size_t size = without_hash(function, without_clones(function, strlen(function)));
    if (size > 5 && starts_with(function, "__GI_")) {
        function += 5;
        size -= 5;
    }
    if (!add_variant(function, size, ret))
        add_qualified(function, size, ret);
    drop_processors(ret);
}

/* ---- modules and files ---- */

static const char *last_component(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Of "libssl.3.21" its ".3.21". */
static size_t without_version(const char *name, size_t size)
{
    for (size_t end = size; end;) {
        size_t digits = 0;
        while (digits < end && isdigit((unsigned char)name[end - 1 - digits]))
            digits++;
        if (!digits || digits + 1 >= end || name[end - 1 - digits] != '.')
            return end;
        end -= digits + 1;
    }
    return size;
}

/* "-1a2b3c4d", as auditwheel names the libraries that it puts into a wheel. */
static size_t without_wheel_hash(const char *name, size_t size)
{
    size_t digits = 0;
    while (digits < size && isxdigit((unsigned char)name[size - 1 - digits]))
        digits++;
    bool marked = digits >= 8 && digits < size && name[size - 1 - digits] == '-';
    return marked ? size - digits - 1 : size;
}

void signature_name_module(const char *name, struct text *ret)
{
    static const char *const suffixes[] = {".so", ".cpython-", ".abi3", ".pypy", " (deleted)"};
    size_t size = strlen(name);
    for (size_t i = 0; i < PSC_ARRAY_SIZE(suffixes); i++) {
        const char *found = strstr(name, suffixes[i]);
        if (found && found > name && (size_t)(found - name) < size)
            size = (size_t)(found - name);
    }
    size = without_wheel_hash(name, without_version(name, size));
    size_t stem = size;
    while (stem && (isdigit((unsigned char)name[stem - 1]) || name[stem - 1] == '.' ||
                    name[stem - 1] == '-'))
        stem--;
    text_add(ret, name, stem ? stem : size);
}

void signature_name_file(const char *path, struct text *ret)
{
    const char *name = last_component(path);
    if (*path == '<') {
        text_add_string(ret, path);
        return;
    }
    size_t folder = (size_t)(name - path);
    // The package's name says more than "__init__".
    if ((!strncmp(name, "__init__.", 9) || !strncmp(name, "__main__.", 9)) && folder > 1) {
        size_t start = folder - 1;
        while (start && path[start - 1] != '/')
            start--;
        text_add(ret, path + start, folder - 1 - start);
        return;
    }
    const char *dot = strrchr(name, '.');
    text_add(ret, name, dot && dot > name ? (size_t)(dot - name) : strlen(name));
}

/* ---- messages ---- */

static size_t number_length(const char *text)
{
    size_t size = 0;
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X') && isxdigit((unsigned char)text[2])) {
        size = 2;
        while (isxdigit((unsigned char)text[size]))
            size++;
    } else {
        while (isdigit((unsigned char)text[size]))
            size++;
    }
    return size;
}

void signature_mask_message(const char *message, struct text *ret)
{
    text_add_string(ret, "");
    size_t word = ret->size; // Where the word began that stands last.
    for (size_t i = 0; message[i];) {
        size_t number = number_length(message + i);
        if (number) {
            text_add_string(ret, "N");
            i += number;
        } else if (message[i] == '/' && is_word(message[i + 1]) &&
                   (ret->size == word || is_word(ret->data[ret->size - 1]))) {
            // The folders of a path.
            ret->size = word < ret->size ? word : ret->size;
            i++;
        } else {
            text_add_char(ret, message[i] == '\n' ? ' ' : message[i]);
            if (!is_word(message[i]) && message[i] != '.' && message[i] != '-')
                word = ret->size;
            i++;
        }
    }
    while (ret->size && ret->data[ret->size - 1] == ' ')
        ret->size--;
    if (ret->data)
        ret->data[ret->size] = '\0';
}
