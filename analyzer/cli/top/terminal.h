/** @file The terminal: all that is known of curses. One at a time. */
#ifndef PSC_TERMINAL_H
#define PSC_TERMINAL_H

#include <stdbool.h>

enum terminal_style {
    STYLE_PLAIN,
    STYLE_BOLD,
    STYLE_QUIET,
    STYLE_SELECTED,
    STYLE_PYTHON,
    STYLE_CYTHON,
    STYLE_NATIVE,
    STYLE_HOT
};

/** Keys that are no characters. */
enum terminal_key {
    KEY_NOTHING = -1,
    KEY_RESIZED = 0x10000,
    KEY_LINE_UP,
    KEY_LINE_DOWN,
    KEY_PAGE_UP,
    KEY_PAGE_DOWN,
    KEY_FIRST,
    KEY_LAST,
    KEY_RETURN,
    KEY_ERASE,
    KEY_LEAVE /**< Escape */
};

/** Takes standard input and output over. False: they are no terminal that can be used. */
bool terminal_open(bool colors);
/** Gives it back as it was. */
void terminal_close(void);
/**
 * Notes what ends a picture on this terminal, for another process than the one that draws it.
 * Before terminal_open(); where the terminal is not known nothing is noted.
 */
void terminal_note_end(void);
/** Writes that, and gives the line of the terminal the settings that it had then. */
void terminal_end(void);
void terminal_size(int *ret_rows, int *ret_columns);
/** An empty picture. */
void terminal_begin(void);
/**
 * UTF-8 at a place; what is not printable is shown as "?". No more than `width` columns are used.
 * @return how many were.
 */
int terminal_put(int row, int column, int width, enum terminal_style style, const char *text);
/** Gives a whole row a style, whatever is in it. */
void terminal_mark_row(int row, enum terminal_style style);
/** Shows the picture. */
void terminal_show(void);
/** The next key, a character or enum terminal_key; does not wait. */
int terminal_get_key(void);

#endif
