/*
 * Lines go through as they come, but for those from the first Cython symbol on: they wait for what
 * else comes, because other symbols tell what one leaves open, until the input ends or pauses.
 */
#include "demangle_filter.h"
#include "input.h"
#include "messages.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Bytes of lines that are held back; a longer word or line goes through in pieces. */
#define HELD_LIMIT ((size_t)16 * 1024 * 1024)
/* No compiler makes longer symbols; a longer word stays as it is. */
#define WORD_LIMIT ((size_t)64 * 1024)
/* Input that pauses for so long is printed as far as it is known: somebody may be typing. */
#define PAUSE_MILLISECONDS 500
/* Bytes of names that symbols become, and more for each byte of input: they may grow without end.
 */
#define NAMED_FREE     ((uint64_t)32 << 20)
#define NAMED_PER_BYTE 6
/* Nanoseconds of processor time, likewise, and words between two looks at the clock. */
#define TIME_FREE     UINT64_C(1500000000)
#define TIME_PER_BYTE 150
#ifdef __SANITIZE_ADDRESS__
#define TIMES_SLOWER 4
#else
#define TIMES_SLOWER 1
#endif
#define WORDS_UNTIMED 16

struct filter {
    struct psc_symbols *symbols;
    struct input input; /**< What was read and not printed. */
    size_t seen;        /**< Bytes, in whole lines, whose symbols are known. */
    bool holds;         /**< There are Cython symbols among them. */
    bool inside;        /**< A word that is too long is being passed through. */
    bool no_memory;
    bool tells;     /**< That names were too long has been said. */
    uint64_t taken; /**< Bytes of input. */
    uint64_t named; /**< Bytes that symbols have become. */
    uint64_t words;
    uint64_t time; /**< ns of processor time when the clock was looked at. */
};

/** Prints what the symbol stands for; what that has, 0 where it is none and nothing is printed. */
static size_t put_name(struct psc_symbols *symbols, const char *symbol)
{
    char small[16384];
    size_t size = psc_symbols_demangle(symbols, symbol, small, sizeof(small));
    if (size < sizeof(small)) {
        fwrite(small, 1, size, stdout);
        return size;
    }
    char *name = malloc(size + 1);
    bool good = name && psc_symbols_demangle(symbols, symbol, name, size + 1) == size;
    if (good)
        fwrite(name, 1, size, stdout);
    free(name);
    return good ? size : 0;
}

size_t demangle_word(struct psc_symbols *symbols, char *word, size_t size)
{
    size_t begin = 0, end = size;
    while (begin < size && word[begin] == '.')
        begin++;
    while (end > begin && word[end - 1] == '.')
        end--;
    if (begin == end || word[begin] != '_' || end - begin > WORD_LIMIT) {
        fwrite(word, 1, size, stdout);
        return 0;
    }
    char behind = word[end];
    fwrite(word, 1, begin, stdout);
    word[end] = '\0';
    size_t named = put_name(symbols, word + begin);
    if (!named)
        fwrite(word + begin, 1, end - begin, stdout);
    word[end] = behind;
    fwrite(word + end, 1, size - end, stdout);
    return named;
}

static bool is_word(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '_' || byte == '$' || byte == '.';
}

/** Of Cython's symbols those of generators may have letters that are not ASCII. */
static size_t word_size(const char *text, size_t size)
{
    static const char mark[] = "__pyx_";
    size_t end = 0;
    while (end < size && is_word(text[end]))
        end++;
    if (end > strlen(mark) && memcmp(text, mark, strlen(mark)) == 0)
        while (end < size && (is_word(text[end]) || (unsigned char)text[end] >= 0x80))
            end++;
    return end;
}

/** Where the last whole line ends. */
static size_t lines_end(const struct filter *filter)
{
    const char *last =
        filter->input.size ? memrchr(filter->input.bytes, '\n', filter->input.size) : NULL;
    return last ? (size_t)(last + 1 - filter->input.bytes) : 0;
}

/** Tells the symbols that came last, up to a byte that is no word's. */
static void take_symbols(struct filter *filter, size_t limit)
{
    static const char mark[] = "__pyx_";
    static const char start[] = "PyInit";
    while (filter->seen < limit) {
        char *word = filter->input.bytes + filter->seen;
        size_t size = word_size(word, limit - filter->seen);
        filter->seen += size + 1;
        if (!size || size > WORD_LIMIT)
            continue;
        bool cython = memmem(word, size, mark, strlen(mark));
        if (!cython && (size < strlen(start) || memcmp(word, start, strlen(start)) != 0))
            continue;
        size_t dots = 0;
        while (dots < size && word[dots] == '.')
            dots++;
        char behind = word[size];
        word[size] = '\0';
        filter->no_memory |= psc_symbols_add(filter->symbols, word + dots) != PSC_OK;
        word[size] = behind;
        filter->holds |= cython;
    }
}

/** Whether further symbols stay as they are; it is said once. */
static bool is_named_out(struct filter *filter)
{
    struct timespec time;
    if (!(filter->words++ % WORDS_UNTIMED) && !clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time))
        filter->time = (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
    if (filter->named <= NAMED_FREE + NAMED_PER_BYTE * filter->taken &&
        filter->time <= TIMES_SLOWER * (TIME_FREE + TIME_PER_BYTE * filter->taken))
        return false;
    if (!filter->tells)
        complain("names are too long, or take too long: further symbols stay as they are");
    filter->tells = true;
    return true;
}

/** Prints the first bytes, which do not end inside of a word. */
static void put_text(struct filter *filter, size_t size)
{
    for (size_t at = 0; at < size;) {
        size_t length = word_size(filter->input.bytes + at, size - at);
        if (length && (filter->inside || length > WORD_LIMIT || is_named_out(filter)))
            fwrite(filter->input.bytes + at, 1, length, stdout);
        else if (length)
            filter->named += demangle_word(filter->symbols, filter->input.bytes + at, length);
        at += length;
        size_t other = at;
        while (other < size && !is_word(filter->input.bytes[other]))
            other++;
        if (other > at)
            filter->inside = false;
        fwrite(filter->input.bytes + at, 1, other - at, stdout);
        at = other;
    }
    filter->input.size -= size;
    memmove(filter->input.bytes, filter->input.bytes + size, filter->input.size);
    filter->seen -= filter->seen < size ? filter->seen : size;
    fflush(stdout);
}

/** Prints the whole lines; of one that is too long, what can not be the begin of a symbol. */
static void put_lines(struct filter *filter)
{
    put_text(filter, lines_end(filter));
    filter->holds = false;
    if (filter->input.size < HELD_LIMIT)
        return;
    size_t size = filter->input.size;
    while (size && filter->input.size - size <= WORD_LIMIT &&
           is_word(filter->input.bytes[size - 1]))
        size--;
    bool too_long = !size || filter->input.size - size > WORD_LIMIT;
    put_text(filter, too_long ? filter->input.size : size);
    filter->inside = too_long;
}

static bool is_pausing(void)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&input, 1, PAUSE_MILLISECONDS) == 0;
}

/** Reads on to the end; 0 or errno. */
static int copy_input(struct filter *filter)
{
    while (!ferror(stdout)) {
        if (filter->holds && is_pausing())
            put_lines(filter);
        ssize_t count = input_read_some(&filter->input, STDIN_FILENO);
        if (count <= 0)
            return count ? errno : 0;
        filter->taken += (uint64_t)count;
        take_symbols(filter, lines_end(filter));
        if (!filter->holds || filter->input.size >= HELD_LIMIT)
            put_lines(filter);
    }
    return 0;
}

int demangle_stdin(struct psc_symbols *symbols)
{
    struct filter filter = {.symbols = symbols};
    int error = copy_input(&filter);
    if (filter.input.size) {
        take_symbols(&filter, filter.input.size);
        put_text(&filter, filter.input.size);
    }
    input_deinit(&filter.input);
    if (!error && filter.no_memory)
        error = ENOMEM;
    if (error)
        complain("standard input: %s", strerror(error));
    if (error)
        return EXIT_NOTHING;
    return filter.tells ? EXIT_PARTIAL : EXIT_COMPLETE;
}
