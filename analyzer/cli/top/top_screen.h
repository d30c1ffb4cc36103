/** @file The picture of the table, and what keys do to it. */
#ifndef PSC_TOP_SCREEN_H
#define PSC_TOP_SCREEN_H

#include "figures.h"

#define FILTER_SIZE 128

struct top_screen {
    struct figures figures;
    struct figure_view view; /**< Its filter is `filter`. */
    char filter[FILTER_SIZE];
    char title[256];
    double refresh;     /**< Seconds. */
    double elapsed;     /**< Since the start. */
    bool shows_threads; /**< In place of functions. */
    bool shows_help;
    bool types_filter;
    bool paused;
    bool failed;           /**< Out of memory. */
    size_t first;          /**< The uppermost row that is shown. */
    size_t selected;       /**< Row. */
    uint64_t selected_key; /**< It goes with its function when the order changes. */
};

enum screen_answer {
    SCREEN_AS_IT_WAS,
    SCREEN_CHANGED, /**< To be drawn. */
    SCREEN_RESET,   /**< What was counted is to be forgotten. */
    SCREEN_QUIT
};

/** The rows anew, after samples or keys have changed what is to be seen. */
void screen_sort(struct top_screen *screen, const struct profile *profile);
void screen_draw(struct top_screen *screen, const struct profile *profile);
/** Does what a key is for. */
enum screen_answer screen_take_key(struct top_screen *screen, const struct profile *profile,
                                   int key);

#endif
