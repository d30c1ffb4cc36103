/* By ncursesw: wide characters, windows that change their size, terminals without colours. */
#include "terminal.h"

#include "base.h"

#include <langinfo.h>
#include <locale.h>
/* Its functions for wide characters (ncurses(3x)), which glibc's _GNU_SOURCE asks for as well. */
#ifndef NCURSES_WIDECHAR
#define NCURSES_WIDECHAR 1
#endif
#include <ncursesw/curses.h>
/* Its names of capabilities are macros. */
#include <ncursesw/term.h>
#undef columns
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#define ESCAPE_WAIT 25 /* Milliseconds in which what follows an escape is one key with it. */

static SCREEN *screen;
static bool has_styles;
static struct {
    char bytes[256];
    size_t size;
    bool has_line;
    struct termios line;
} noted_end;

enum color_pair { PAIR_PYTHON = 1, PAIR_CYTHON, PAIR_NATIVE, PAIR_HOT };

static void choose_locale(void)
{
    setlocale(LC_CTYPE, "");
    if (strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
        setlocale(LC_CTYPE, "C.UTF-8");
}

bool terminal_open(bool colors)
{
    const char *name = getenv("TERM");
    choose_locale();
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || !name || !*name)
        return false;
    screen = newterm(name, stdout, stdin);
    if (!screen)
        return false;
    raw();
    noecho();
    nonl();
    set_escdelay(ESCAPE_WAIT);
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    curs_set(0);
    has_styles = colors && has_colors();
    if (has_styles) {
        start_color();
        use_default_colors();
        init_pair(PAIR_PYTHON, COLOR_YELLOW, -1);
        init_pair(PAIR_CYTHON, COLOR_MAGENTA, -1);
        init_pair(PAIR_NATIVE, COLOR_CYAN, -1);
        init_pair(PAIR_HOT, COLOR_RED, -1);
    }
    return true;
}

void terminal_close(void)
{
    if (!screen)
        return;
    endwin();
    delscreen(screen);
    screen = NULL;
}

/* Delays, "$<5>", are for terminals of the past (terminfo(5)). */
static void note_string(const char *capability)
{
    const char *text = tigetstr(capability);
    if (!text || text == (char *)-1 || strstr(text, "$<"))
        return;
    const size_t size = strlen(text);
    if (size > sizeof(noted_end.bytes) - noted_end.size)
        return;
    memcpy(noted_end.bytes + noted_end.size, text, size);
    noted_end.size += size;
}

void terminal_note_end(void)
{
    /* terminfo(5): attributes off, the cursor seen, the screen as it was, the keypad as it was. */
    static const char *const capabilities[] = {"sgr0", "cnorm", "rmcup", "rmkx"};
    int error;
    noted_end.size = 0;
    noted_end.has_line = !tcgetattr(STDIN_FILENO, &noted_end.line);
    if (setupterm(NULL, STDOUT_FILENO, &error) != OK)
        return;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(capabilities); i++)
        note_string(capabilities[i]);
    (void)del_curterm(cur_term);
}

void terminal_end(void)
{
    if (noted_end.has_line)
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &noted_end.line);
    for (size_t done = 0; done < noted_end.size;) {
        ssize_t put = write(STDOUT_FILENO, noted_end.bytes + done, noted_end.size - done);
        if (put <= 0)
            return;
        done += (size_t)put;
    }
}

void terminal_size(int *ret_rows, int *ret_columns)
{
    getmaxyx(stdscr, *ret_rows, *ret_columns);
}

void terminal_begin(void)
{
    erase();
}

static attr_t attributes_of(enum terminal_style style)
{
    switch (style) {
    case STYLE_BOLD:
        return A_BOLD;
    case STYLE_QUIET:
        return A_DIM;
    case STYLE_SELECTED:
        return A_REVERSE;
    case STYLE_PYTHON:
        return has_styles ? (attr_t)COLOR_PAIR(PAIR_PYTHON) : A_NORMAL;
    case STYLE_CYTHON:
        return has_styles ? (attr_t)COLOR_PAIR(PAIR_CYTHON) : A_NORMAL;
    case STYLE_NATIVE:
        return has_styles ? (attr_t)COLOR_PAIR(PAIR_NATIVE) : A_NORMAL;
    case STYLE_HOT:
        return has_styles ? (attr_t)COLOR_PAIR(PAIR_HOT) | A_BOLD : A_BOLD;
    case STYLE_PLAIN:
        break;
    }
    return A_NORMAL;
}

int terminal_put(int row, int column, int width, enum terminal_style style, const char *text)
{
    size_t left = strlen(text);
    int used = 0;
    attr_t attributes = attributes_of(style);
    attr_on(attributes, NULL);
    if (wmove(stdscr, row, column) == ERR)
        width = 0;
    while (left && used < width) {
        uint32_t code_point;
        size_t bytes = utf8_decode(text, left, &code_point);
        wchar_t character = bytes ? (wchar_t)code_point : L'?';
        int columns = wcwidth(character);
        if (columns < 0) {
            character = L'?';
            columns = 1;
        }
        if (used + columns > width)
            break;
        addnwstr(&character, 1);
        used += columns;
        text += bytes ? bytes : 1;
        left -= bytes ? bytes : 1;
    }
    attr_off(attributes, NULL);
    return used;
}

void terminal_mark_row(int row, enum terminal_style style)
{
    mvchgat(row, 0, -1, attributes_of(style), 0, NULL);
}

void terminal_show(void)
{
    refresh();
}

int terminal_get_key(void)
{
    static const struct {
        int curses, key;
    } keys[] = {{KEY_RESIZE, KEY_RESIZED}, {KEY_UP, KEY_LINE_UP},      {KEY_DOWN, KEY_LINE_DOWN},
                {KEY_PPAGE, KEY_PAGE_UP},  {KEY_NPAGE, KEY_PAGE_DOWN}, {KEY_HOME, KEY_FIRST},
                {KEY_END, KEY_LAST},       {KEY_ENTER, KEY_RETURN},    {'\r', KEY_RETURN},
                {'\n', KEY_RETURN},        {KEY_BACKSPACE, KEY_ERASE}, {0x7f, KEY_ERASE},
                {'\b', KEY_ERASE},         {0x1b, KEY_LEAVE}};
    wint_t character;
    int kind = get_wch(&character);
    if (kind == ERR)
        return KEY_NOTHING;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(keys); i++)
        if ((wint_t)keys[i].curses == character &&
            (kind == KEY_CODE_YES) == (keys[i].curses > 0xff))
            return keys[i].key;
    return kind == KEY_CODE_YES ? KEY_NOTHING : (int)character;
}
