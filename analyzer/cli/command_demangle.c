/* `pystack-core demangle`: symbols as they were written, alone or inside lines, as c++filt. */
#include "commands.h"
#include "options.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A word that is longer is passed through. */
#define WORD_LIMIT 65536

static const char help_text[] =
    "Usage: pystack-core demangle [SYMBOL...]\n"
    "\n"
    "Shows Cython, C++ and Rust symbols as they were written. Without SYMBOL it copies standard\n"
    "input and replaces the symbols in it.\n"
    "\n"
    "  -h, --help                  this text\n";

/* Prints what the symbol stands for; false, and nothing printed, when it is none. */
static bool put_name(const char *symbol)
{
    char small[512];
    size_t size = psc_demangle(symbol, small, sizeof(small));
    if (size < sizeof(small)) {
        fwrite(small, 1, size, stdout);
        return size > 0;
    }
    char *name = malloc(size + 1);
    bool good = name && psc_demangle(symbol, name, size + 1) == size;
    if (good)
        fwrite(name, 1, size, stdout);
    free(name);
    return good;
}

/* A word of a line; the full stops at its end are the sentence's. */
static void put_word(char *word, size_t size)
{
    size_t length = size;
    while (length && word[length - 1] == '.')
        length--;
    word[length] = '\0';
    if (!put_name(word))
        fwrite(word, 1, length, stdout);
    for (; length < size; length++)
        putchar('.');
}

static bool is_word(int character)
{
    return isalnum(character) || character == '_' || character == '$' || character == '.';
}

static int filter(void)
{
    char *word = malloc(WORD_LIMIT + 1);
    size_t size = 0;
    bool long_word = false;
    if (!word) {
        fputs("pystack-core: out of memory\n", stderr);
        return EXIT_NOTHING;
    }
    for (int character; (character = getchar()) != EOF && !ferror(stdout);) {
        if (is_word(character) && !long_word && size < WORD_LIMIT) {
            word[size++] = (char)character;
            continue;
        }
        if (is_word(character)) {
            fwrite(word, 1, size, stdout);
            size = 0;
            long_word = true;
        } else {
            put_word(word, size);
            size = 0;
            long_word = false;
        }
        putchar(character);
        if (character == '\n')
            fflush(stdout);
    }
    put_word(word, size);
    free(word);
    if (ferror(stdin)) {
        perror("pystack-core: standard input");
        return EXIT_NOTHING;
    }
    return EXIT_COMPLETE;
}

int command_demangle(int argc, char **argv)
{
    int first = 1;
    if (argc > 1 && (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help"))) {
        fputs(help_text, stdout);
        return EXIT_COMPLETE;
    }
    if (argc > 1 && !strcmp(argv[1], "--")) {
        first = 2;
    } else if (argc > 1 && argv[1][0] == '-') {
        fprintf(stderr, "pystack-core: unknown option '%s'; see pystack-core demangle --help\n",
                argv[1]);
        return EXIT_USAGE;
    }
    if (first == argc)
        return filter();
    for (int i = first; i < argc; i++) {
        if (!put_name(argv[i]))
            fputs(argv[i], stdout);
        putchar('\n');
    }
    return EXIT_COMPLETE;
}
