/* What is drawn. */
#include "top_screen.h"
#include "terminal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define HEAD_ROWS    5
#define NARROW       64 /* Columns below which the time of all is not shown. */
#define TINY         40 /* And below which one share alone is. */
#define HOT_SHARE    50.0
#define NUMBER_WIDTH 9

static double share(uint64_t part, double whole)
{
    return whole > 0 ? 100.0 * (double)part / whole : 0;
}

/* Of what there is one in each process. */
static double capped_share(uint64_t part, double whole)
{
    double found = share(part, whole);
    return found < 100 ? found : 100;
}

static double seconds_of(const struct profile *profile, uint64_t intervals)
{
    return (double)intervals * (double)profile->interval / 1e9;
}

/* ---- the head ---- */

/* A word where looks are fewer than was asked for, so that this program takes half a processor. */
static void describe_left_out(const struct profile_counts *counts, char *ret, size_t size)
{
    ret[0] = '\0';
    if (counts->left_out)
        snprintf(ret, size, ", %" PRIu64 " left out", counts->left_out);
}

static void draw_head(const struct top_screen *screen, const struct profile *profile, int columns)
{
    const struct figures *figures = &screen->figures;
    const struct profile_counts *counts = &profile->counts;
    char line[512], left_out[64];
    int used = terminal_put(0, 0, columns, STYLE_BOLD, "pystack-core top  ");
    terminal_put(0, used, columns - used, STYLE_PLAIN, screen->title);
    describe_left_out(counts, left_out, sizeof(left_out));
    snprintf(line, sizeof(line),
             "%.0f s, each %.3g ms: %" PRIu64 " samples, %" PRIu64 " failed, %" PRIu64
             " late, %" PRIu64 " lost%s; every %.3g s%s",
             screen->elapsed, (double)profile->interval / 1e6, counts->samples, counts->failed,
             counts->late, counts->lost, left_out, screen->refresh,
             screen->paused ? "; PAUSED" : "");
    terminal_put(1, 0, columns, screen->paused ? STYLE_BOLD : STYLE_QUIET, line);
    size_t ran = 0;
    for (size_t i = 0; i < figures->threads.count; i++)
        ran += ((const struct figure_thread *)hash_table_at(&figures->threads, i))->recent > 0;
    snprintf(line, sizeof(line), "GIL %.0f %%   collector %.0f %%   CPU %.0f %%   threads %zu",
             capped_share(figures->gil, figures->recent),
             capped_share(figures->collects, figures->recent),
             share(figures->cpu, figures->recent * (double)profile->interval), ran);
    terminal_put(2, 0, columns, STYLE_PLAIN, line);
}

/* Which part of all is shown. */
static void draw_part(const struct top_screen *screen, const struct profile *profile, int columns)
{
    struct text text = {0};
    if (screen->types_filter)
        text_printf(&text, "filter: %s_", screen->filter);
    else if (*screen->filter)
        text_printf(&text, "filter: %s   ", screen->filter);
    if (screen->view.follows) {
        text_add_string(&text, "in ");
        text_add_escaped(&text,
                         profile_string(profile, profile->functions[screen->view.follows].name));
        text_add_string(&text, "   (Backspace: out of it)");
    }
    if (text.data)
        terminal_put(3, 0, columns, STYLE_BOLD, text.data);
    text_deinit(&text);
}

static void draw_keys(int row, int columns)
{
    terminal_put(row, 0, columns, STYLE_QUIET,
                 columns < NARROW ? "q quit  ? help"
                                  : "q quit  ? help  1-4 sort  l lines  t threads  / filter  Enter "
                                    "into  p pause  r reset");
}

/* ---- functions ---- */

static void put_header(int column, int width, bool chosen, const char *text)
{
    terminal_put(HEAD_ROWS - 1, column, width, chosen ? STYLE_BOLD : STYLE_QUIET, text);
}

/* The columns that there is room for; the number of them. */
static int count_columns(int columns)
{
    return columns < TINY ? 1 : columns < NARROW ? 2 : 4;
}

static void draw_function_header(const struct top_screen *screen, int columns)
{
    static const char *const names[] = {"   own %", " total %", "   own s", " total s"};
    int count = count_columns(columns);
    for (int i = 0; i < count; i++)
        put_header(i * NUMBER_WIDTH, NUMBER_WIDTH, (int)screen->view.order == i, names[i]);
    put_header(count * NUMBER_WIDTH + 1, columns, false,
               screen->view.by_line ? "function (file:line)" : "function (file)");
}

/* The last two components of a path tell files apart, and fit. */
static const char *short_path(const char *path)
{
    const char *at = path + strlen(path);
    for (int slashes = 0; at > path; at--)
        if (at[-1] == '/' && ++slashes == 2)
            return at;
    return path;
}

static void add_frame(const struct profile *profile, uint32_t frame, bool by_line, struct text *ret)
{
    const struct profile_function *function = profile_function_of(profile, frame);
    uint32_t file = function->file ? function->file : profile->libraries[function->library].path;
    text_add_escaped(ret, profile_string(profile, function->name));
    if (!file)
        return;
    text_add_string(ret, " (");
    text_add_escaped(ret, short_path(profile_string(profile, file)));
    if (by_line && profile->frames[frame].line)
        text_printf(ret, ":%u", profile->frames[frame].line);
    text_add_char(ret, ')');
}

static enum terminal_style style_of(const struct profile *profile, uint32_t frame)
{
    switch ((enum profile_kind)profile_function_of(profile, frame)->kind) {
    case PROFILE_PYTHON:
        return STYLE_PYTHON;
    case PROFILE_CYTHON:
        return STYLE_CYTHON;
    case PROFILE_NATIVE:
        return STYLE_NATIVE;
    case PROFILE_GAP:
    case PROFILE_TASK:
        break;
    }
    return STYLE_PLAIN;
}

static void draw_function(const struct top_screen *screen, const struct profile *profile, int row,
                          int columns, const struct figure_row *one)
{
    const struct figures *figures = &screen->figures;
    const double numbers[] = {share(one->own, figures->recent), share(one->total, figures->recent),
                              seconds_of(profile, one->all_own),
                              seconds_of(profile, one->all_total)};
    int count = count_columns(columns);
    char number[32];
    for (int i = 0; i < count; i++) {
        snprintf(number, sizeof(number), i < 2 ? "%8.1f" : "%8.2f", numbers[i]);
        terminal_put(row, i * NUMBER_WIDTH, NUMBER_WIDTH,
                     !i && numbers[0] >= HOT_SHARE ? STYLE_HOT : STYLE_PLAIN, number);
    }
    struct text text = {0};
    add_frame(profile, one->frame, screen->view.by_line, &text);
    int column = count * NUMBER_WIDTH + 1;
    if (text.data)
        terminal_put(row, column, columns - column, style_of(profile, one->frame), text.data);
    text_deinit(&text);
}

/* ---- threads ---- */

static void draw_thread_header(int columns)
{
    put_header(0, columns, false,
               "     tid    cpu %    GIL %   wait %     gc %  thread: where it is");
}

static void draw_thread(const struct top_screen *screen, const struct profile *profile, int row,
                        int columns, const struct figure_thread *one)
{
    double recent = screen->figures.recent;
    const struct profile_thread *thread = &profile->threads[one->thread];
    struct text text = {0};
    text_printf(&text, "%8d %8.1f %8.1f %8.1f %8.1f  ", (int)thread->tid,
                share(one->cpu, recent * (double)profile->interval), share(one->gil, recent),
                share(one->waits, recent), share(one->collects, recent));
    text_add_escaped(&text, profile_string(profile, thread->name));
    if (one->stack) {
        text_add_string(&text, ": ");
        add_frame(profile, profile->stacks[one->stack].frame, true, &text);
    }
    if (text.data)
        terminal_put(row, 0, columns, one->recent ? STYLE_PLAIN : STYLE_QUIET, text.data);
    text_deinit(&text);
}

/* ---- help ---- */

static void draw_help(int rows, int columns)
{
    static const char *const lines[] = {
        "q, Ctrl-C    quit; the process runs on",
        "1 2 3 4      sort by own %, total %, own s, total s",
        "l            by line, or by function",
        "t            threads, or functions",
        "Up Down PgUp PgDn Home End   choose a line",
        "Enter        into the function that is chosen: only what it called",
        "Backspace    out of it",
        "/            filter by names of functions and files; Escape: none",
        "p, Space     pause",
        "r            count from here on",
        "+ -          refresh more often, less often",
        "",
        "100 % is one thread all of the time. own: the function itself was",
        "the innermost; total: it was on the stack. % are of the last",
        "refresh, seconds since the start. GIL: how long somebody held it;",
        "collector: how long the garbage collector ran. left out: moments",
        "without a look, since looks would take more than half a processor.",
        "Any key ends this help."};
    for (int i = 0; i < (int)PSC_ARRAY_SIZE(lines) && i + 1 < rows; i++)
        terminal_put(i + 1, 2, columns - 2, STYLE_PLAIN, lines[i]);
}

/* ---- all ---- */

static size_t count_rows(const struct top_screen *screen)
{
    return screen->shows_threads ? screen->figures.threads.count : screen->figures.row_count;
}

/* Rows that fit. */
static size_t count_fitting(int rows)
{
    return rows > HEAD_ROWS + 1 ? (size_t)(rows - HEAD_ROWS - 1) : 0;
}

/* The selected row is in sight. */
static void scroll(struct top_screen *screen, size_t fitting)
{
    size_t count = count_rows(screen);
    if (screen->selected >= count)
        screen->selected = count ? count - 1 : 0;
    if (screen->selected < screen->first)
        screen->first = screen->selected;
    if (fitting && screen->selected >= screen->first + fitting)
        screen->first = screen->selected - fitting + 1;
}

static void draw_rows(struct top_screen *screen, const struct profile *profile, int rows,
                      int columns)
{
    size_t fitting = count_fitting(rows), count = count_rows(screen);
    scroll(screen, fitting);
    for (size_t i = 0; i < fitting && screen->first + i < count; i++) {
        size_t index = screen->first + i;
        int row = HEAD_ROWS + (int)i;
        if (screen->shows_threads)
            draw_thread(screen, profile, row, columns,
                        hash_table_at(&screen->figures.threads, index));
        else
            draw_function(screen, profile, row, columns, screen->figures.sorted[index]);
        if (index == screen->selected)
            terminal_mark_row(row, STYLE_SELECTED);
    }
    if (!count && fitting)
        terminal_put(HEAD_ROWS, 2, columns - 2, STYLE_QUIET, "nothing ran");
}

void screen_draw(struct top_screen *screen, const struct profile *profile)
{
    int rows, columns;
    terminal_size(&rows, &columns);
    terminal_begin();
    if (screen->shows_help) {
        draw_help(rows, columns);
    } else {
        draw_head(screen, profile, columns);
        draw_part(screen, profile, columns);
        if (screen->shows_threads)
            draw_thread_header(columns);
        else
            draw_function_header(screen, columns);
        draw_rows(screen, profile, rows, columns);
        draw_keys(rows - 1, columns);
    }
    terminal_show();
}
