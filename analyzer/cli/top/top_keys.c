/* What keys do. */
#include "terminal.h"
#include "top_screen.h"

#include <string.h>

#define LEAST_REFRESH 0.1
#define MOST_REFRESH  60.0
#define PAGE_ROWS     10u
#define CONTROL_C     3

void screen_sort(struct top_screen *screen, const struct profile *profile)
{
    struct figures *figures = &screen->figures;
    screen->view.filter = screen->filter;
    screen->failed = !figures_sort(figures, profile, &screen->view) || screen->failed;
    // The first line stays the first: who has not moved watches what is on top.
    for (size_t i = 0; screen->selected && !screen->shows_threads && i < figures->row_count; i++)
        if (figures->sorted[i]->key == screen->selected_key)
            screen->selected = i;
}

static void select_row(struct top_screen *screen, size_t row)
{
    const struct figures *figures = &screen->figures;
    size_t count = screen->shows_threads ? figures->threads.count : figures->row_count;
    screen->selected = row < count ? row : count ? count - 1 : 0;
    if (!screen->shows_threads && screen->selected < figures->row_count)
        screen->selected_key = figures->sorted[screen->selected]->key;
}

static void move_to_top(struct top_screen *screen)
{
    screen->first = screen->selected = 0;
}

/* While the filter is typed. */
static enum screen_answer take_filter_key(struct top_screen *screen, int key)
{
    size_t size = strlen(screen->filter);
    char bytes[4];
    if (key == KEY_LEAVE || key == CONTROL_C)
        screen->filter[0] = '\0';
    screen->types_filter = key != KEY_RETURN && key != KEY_LEAVE && key != CONTROL_C;
    if (key == KEY_ERASE && size) {
        do
            size--;
        while (size && utf8_continues(screen->filter[size]));
        screen->filter[size] = '\0';
    } else if (key >= ' ' && key < KEY_RESIZED) {
        size_t more = utf8_put((uint32_t)key, bytes);
        if (size + more < sizeof(screen->filter)) {
            memcpy(screen->filter + size, bytes, more);
            screen->filter[size + more] = '\0';
        }
    }
    move_to_top(screen);
    return SCREEN_CHANGED;
}

static void follow_selected(struct top_screen *screen)
{
    const struct figures *figures = &screen->figures;
    if (screen->shows_threads || screen->selected >= figures->row_count)
        return;
    screen->view.follows = (uint32_t)(figures->sorted[screen->selected]->key >> 32);
    move_to_top(screen);
}

static bool take_move_key(struct top_screen *screen, int key)
{
    size_t at = screen->selected;
    switch (key) {
    case KEY_LINE_UP:
    case 'k':
        select_row(screen, at ? at - 1 : 0);
        return true;
    case KEY_LINE_DOWN:
    case 'j':
        select_row(screen, at + 1);
        return true;
    case KEY_PAGE_UP:
        select_row(screen, at > PAGE_ROWS ? at - PAGE_ROWS : 0);
        return true;
    case KEY_PAGE_DOWN:
        select_row(screen, at + PAGE_ROWS);
        return true;
    case KEY_FIRST:
        select_row(screen, 0);
        return true;
    case KEY_LAST:
        select_row(screen, SIZE_MAX);
        return true;
    default:
        return false;
    }
}

/* What changes which rows there are. */
static bool take_view_key(struct top_screen *screen, int key)
{
    switch (key) {
    case '1':
    case '2':
    case '3':
    case '4':
        screen->view.order = (enum figure_order)(key - '1');
        screen->shows_threads = false;
        break;
    case 'l':
        screen->view.by_line = !screen->view.by_line;
        break;
    case 't':
        screen->shows_threads = !screen->shows_threads;
        break;
    case KEY_ERASE:
        screen->view.follows = 0;
        break;
    case KEY_LEAVE:
        screen->view.follows = 0;
        screen->filter[0] = '\0';
        break;
    case KEY_RETURN:
        follow_selected(screen);
        return true;
    case '/':
        screen->types_filter = true;
        screen->shows_threads = false;
        return true;
    default:
        return false;
    }
    move_to_top(screen);
    return true;
}

enum screen_answer screen_take_key(struct top_screen *screen, const struct profile *profile,
                                   int key)
{
    if (key == KEY_NOTHING)
        return SCREEN_AS_IT_WAS;
    if (screen->shows_help && key != KEY_RESIZED) {
        screen->shows_help = false;
        return key == CONTROL_C ? SCREEN_QUIT : SCREEN_CHANGED;
    }
    if (screen->types_filter && key != KEY_RESIZED) {
        enum screen_answer answer = take_filter_key(screen, key);
        screen_sort(screen, profile);
        return answer;
    }
    if (take_view_key(screen, key)) {
        screen_sort(screen, profile);
        return SCREEN_CHANGED;
    }
    if (take_move_key(screen, key))
        return SCREEN_CHANGED;
    switch (key) {
    case 'q':
    case CONTROL_C:
        return SCREEN_QUIT;
    case '?':
    case 'h':
        screen->shows_help = true;
        break;
    case 'p':
    case ' ':
        screen->paused = !screen->paused;
        break;
    case 'r':
        move_to_top(screen);
        return SCREEN_RESET;
    case '+':
        screen->refresh = screen->refresh / 2 > LEAST_REFRESH ? screen->refresh / 2 : LEAST_REFRESH;
        break;
    case '-':
        screen->refresh = screen->refresh * 2 < MOST_REFRESH ? screen->refresh * 2 : MOST_REFRESH;
        break;
    default:
        return key == KEY_RESIZED ? SCREEN_CHANGED : SCREEN_AS_IT_WAS;
    }
    return SCREEN_CHANGED;
}
