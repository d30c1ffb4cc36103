/* `pystack-core top`: samples, and shows what they come to again and again. */
#include "messages.h"
#include "record.h"
#include "started_command.h"
#include "terminal.h"
#include "top.h"
#include "top_screen.h"
#include "tracing.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PID_LIMIT     4194304 /* include/linux/threads.h, PID_MAX_LIMIT */
#define DEFAULT_RATE  100.0
#define RATE_LIMIT    100000.0
#define FIRST_REFRESH 0.3 /* Seconds until there is something to be seen. */
#define REFRESH_LIMIT 3600.0
#define MOST_CPU      0.5  /* Of a processor. */
#define PICTURE_SHARE 0.25 /* Of it, what pictures take at most. */

static double seconds_of_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double now_in_seconds(void)
{
    return seconds_of_clock(CLOCK_MONOTONIC);
}

enum color_wish { COLOR_WISH_AUTO, COLOR_WISH_ALWAYS, COLOR_WISH_NEVER };

struct top {
    struct record_options record;
    struct top_screen screen;
    struct started_command child;
    char **command; /**< NULL: --pid. */
    int color;
    int printed; /**< What the command printed: a file without a name; -1: none. */
    bool open;   /**< The terminal is ours. */
    bool no_terminal;
    double begun;
    double taken; /**< When samples were taken last. */
    double price; /**< Seconds of processor time of the picture that was made of them. */
};

/* ---- while it samples ---- */

static void name_target(struct top *top, const struct profile *profile)
{
    struct text title = {0};
    text_printf(&title, "process %d", (int)top->record.pid);
    if (profile->process_count > 1 && profile->processes[1].arguments) {
        text_add_string(&title, ": ");
        text_add_escaped(&title, profile_string(profile, profile->processes[1].arguments));
    }
    if (title.data)
        snprintf(top->screen.title, sizeof(top->screen.title), "%s", title.data);
    text_deinit(&title);
}

static bool wants_color(const struct top *top)
{
    const char *no_color = getenv("NO_COLOR");
    return top->color == COLOR_WISH_ALWAYS ||
           (top->color == COLOR_WISH_AUTO && !(no_color && *no_color));
}

static void take_samples(struct top *top, struct profile *profile, double now)
{
    struct top_screen *screen = &top->screen;
    name_target(top, profile);
    screen->elapsed = now - top->begun;
    if (screen->paused) {
        figures_drop(&screen->figures, profile);
    } else {
        screen->failed = !figures_take(&screen->figures, profile);
        screen_sort(screen, profile);
    }
    top->taken = now;
}

/* Keys that are there; true: it shall end. */
static bool take_keys(struct top *top, struct profile *profile)
{
    bool changed = false;
    for (;;) {
        int key = terminal_get_key();
        enum screen_answer answer = screen_take_key(&top->screen, profile, key);
        if (answer == SCREEN_QUIT)
            return true;
        if (answer == SCREEN_RESET) {
            figures_reset(&top->screen.figures, profile);
            top->taken = now_in_seconds();
            screen_sort(&top->screen, profile);
        }
        changed |= answer != SCREEN_AS_IT_WAS;
        if (key == KEY_NOTHING)
            break;
    }
    if (changed)
        screen_draw(&top->screen, profile);
    return false;
}

/* The terminal is taken when there is something to show: what stops that is said before. */
static int tick(void *context, struct profile *profile)
{
    struct top *top = context;
    double now = now_in_seconds();
    if (!top->open) {
        top->open = terminal_open(wants_color(top));
        top->no_terminal = !top->open;
        top->begun = top->taken = now;
    }
    if (top->no_terminal || tracing_interrupts() || tracing_command_ended())
        return 1;
    if (take_keys(top, profile))
        return 1;
    bool is_first = top->screen.figures.all <= 0;
    double wait =
        is_first && top->screen.refresh > FIRST_REFRESH ? FIRST_REFRESH : top->screen.refresh;
    // Of thousands of stacks of a hundred thousand frames a picture takes long.
    if (wait < top->price / PICTURE_SHARE)
        wait = top->price / PICTURE_SHARE;
    if (now - top->taken >= wait) {
        double before = seconds_of_clock(CLOCK_THREAD_CPUTIME_ID);
        take_samples(top, profile, now);
        screen_draw(&top->screen, profile);
        top->price = seconds_of_clock(CLOCK_THREAD_CPUTIME_ID) - before;
    }
    return top->screen.failed;
}

/* ---- the command that is watched ---- */

static bool copy_printed(int from)
{
    char bytes[16384];
    ssize_t got;
    if (lseek(from, 0, SEEK_SET))
        return false;
    while ((got = read(from, bytes, sizeof(bytes))) > 0)
        for (ssize_t done = 0, part; done < got; done += part) {
            part = write(STDOUT_FILENO, bytes + done, (size_t)(got - done));
            if (part <= 0)
                return false;
        }
    return !got;
}

static int start_command(struct top *top)
{
    if (!top->command)
        return 0;
    FILE *file = tmpfile();
    top->printed = file ? dup(fileno(file)) : memfd_create("printed", MFD_CLOEXEC);
    if (file)
        fclose(file);
    int error =
        top->printed < 0 ? errno : started_command_begin(&top->child, top->command, top->printed);
    if (error)
        complain("%s: %s", top->command[0], strerror(error));
    top->record.pid = top->child.pid;
    return error;
}

static int end_command(struct top *top, int code)
{
    if (!top->child.pid)
        return code;
    if (!started_command_ended(&top->child, false)) {
        complain("process %d runs on", (int)top->child.pid);
        return code;
    }
    if (!copy_printed(top->printed))
        complain("what the command printed cannot be shown: %s", strerror(errno));
    return code == EXIT_COMPLETE ? started_command_code(&top->child) : code;
}

/* ---- the command line ---- */

static enum options_result take_pid(void *request, const struct option_spec *spec,
                                    const char *value)
{
    uint64_t pid;
    if (!option_parse_number(spec, value, PID_LIMIT, &pid))
        return OPTIONS_WRONG;
    ((struct top *)request)->record.pid = (int32_t)pid;
    return OPTIONS_RUN;
}

static enum options_result parse_positive(const struct option_spec *spec, const char *value,
                                          double most, double *ret)
{
    char *end;
    *ret = strtod(value, &end);
    if (end != value && !*end && isfinite(*ret) && *ret > 0 && *ret <= most)
        return OPTIONS_RUN;
    complain_of_usage("--%s: '%s' is no number above 0 and up to %g", spec->long_name, value, most);
    return OPTIONS_WRONG;
}

static enum options_result take_rate(void *request, const struct option_spec *spec,
                                     const char *value)
{
    return parse_positive(spec, value, RATE_LIMIT, &((struct top *)request)->record.rate);
}

static enum options_result take_interval(void *request, const struct option_spec *spec,
                                         const char *value)
{
    return parse_positive(spec, value, REFRESH_LIMIT, &((struct top *)request)->screen.refresh);
}

static enum options_result take_mode(void *request, const struct option_spec *spec,
                                     const char *value)
{
    int mode;
    if (!option_choose(spec, value, &mode))
        return OPTIONS_WRONG;
    ((struct top *)request)->record.python_only = mode != 0;
    return OPTIONS_RUN;
}

static enum options_result take_color(void *request, const struct option_spec *spec,
                                      const char *value)
{
    return option_choose(spec, value, &((struct top *)request)->color) ? OPTIONS_RUN
                                                                       : OPTIONS_WRONG;
}

static enum options_result take_flag(void *request, const struct option_spec *spec,
                                     const char *value)
{
    struct top *top = request;
    const struct {
        const char *name;
        bool *flag;
    } flags[] = {{"idle", &top->record.idle},
                 {"gil", &top->record.only_gil},
                 {"children", &top->record.children},
                 {"no-pause", &top->record.no_pause},
                 {"lines", &top->screen.view.by_line}};
    (void)value;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(flags); i++)
        if (!strcmp(flags[i].name, spec->long_name))
            *flags[i].flag = true;
    return OPTIONS_RUN;
}

static const struct option_choice modes[] = {{"merged", 0}, {"python", 1}, {NULL, 0}};
static const struct option_choice colors[] = {{"auto", COLOR_WISH_AUTO},
                                              {"always", COLOR_WISH_ALWAYS},
                                              {"never", COLOR_WISH_NEVER},
                                              {NULL, 0}};

#define FLAG(name, help)                                                          \
    {                                                                             \
        NULL, name, 0, OPTION_FLAG, NULL, help, take_flag, COMPLETE_NOTHING, NULL \
    }

static const struct option_spec option_list[] = {
    {NULL, "pid", 'p', OPTION_REQUIRED, "PID", "the process", take_pid, COMPLETE_PROCESSES, NULL},
    {NULL, "rate", 'r', OPTION_REQUIRED, "N", "samples a second of each thread (100)", take_rate,
     COMPLETE_NOTHING, NULL},
    {NULL, "interval", 'i', OPTION_REQUIRED, "SECONDS", "between two pictures (1)", take_interval,
     COMPLETE_NOTHING, NULL},
    {NULL, "mode", 0, OPTION_REQUIRED, "MODE",
     "merged (default), native frames between Python's, or python", take_mode, COMPLETE_CHOICES,
     modes},
    FLAG("lines", "by line at first, not by function"),
    FLAG("idle", "threads that wait, too"),
    FLAG("gil", "only the thread that holds the GIL"),
    FLAG("children", "processes that it starts, too"),
    FLAG("no-pause", "stop nothing: Python frames alone"),
    {NULL, "color", 0, OPTION_REQUIRED, "WHEN", "auto (default), always or never", take_color,
     COMPLETE_CHOICES, colors},
    OPTION_HELP,
};

const struct command_spec top_command = {
    .name = "top",
    .summary = "a living process as a table of functions",
    .usage = "[OPTIONS] --pid PID\n[OPTIONS] -- COMMAND [ARGUMENT...]",
    .about = "Samples a process as record does, and shows in the terminal which functions and "
             "lines,\n"
             "Python's, Cython's and native ones, take its time; its threads, the GIL and the "
             "garbage\n"
             "collector. ? tells the keys. What a COMMAND prints is shown when it has ended.",
    .options = option_list,
    .option_count = PSC_ARRAY_SIZE(option_list),
    .examples = "pystack-core top --pid 1234\n"
                "pystack-core top --lines --rate 500 -- python3 app.py",
    .exit_status = "Exit status: 0 it was quit or the process has ended, 2 nothing could be shown, "
                   "64 wrong\nusage; a COMMAND's own when that has ended.",
    .words = WORDS_COMMAND_LINE,
};

static enum options_result parse(struct top *top, int argc, char **argv)
{
    int first;
    enum options_result result = command_line_parse(&top_command, top, argc, argv, &first);
    if (result != OPTIONS_RUN)
        return result;
    top->command = first < argc ? argv + first : NULL;
    if (!top->record.pid != !top->command)
        return OPTIONS_RUN;
    complain_of_usage(top->command ? "top: --pid and a COMMAND: only one can be watched"
                                   : "top: --pid PID or -- COMMAND is missing");
    return OPTIONS_WRONG;
}

/* In the parser. */
static int watch(void *context)
{
    struct top *top = context;
    struct psc_error why = {0};
    enum record_end end;
    struct profile *profile = profile_create(NULL);
    if (!profile) {
        complain("out of memory");
        return EXIT_NOTHING;
    }
    top->record.tick = tick;
    top->record.tick_context = top;
    figures_init(&top->screen.figures);
    enum psc_status status = record_run(&top->record, profile, &end, &why);
    terminal_close();
    int code = EXIT_COMPLETE;
    if (top->no_terminal) {
        complain("top needs a terminal that TERM describes; record writes files");
        code = EXIT_NOTHING;
    } else if (status != PSC_OK) {
        complain_of_process((int)top->record.pid, why.message);
        code = EXIT_NOTHING;
    } else if (top->screen.failed) {
        complain("out of memory");
        code = EXIT_NOTHING;
    } else if (end == RECORD_EXITED && !top->child.pid) {
        complain("process %d has ended", (int)top->record.pid);
    }
    figures_deinit(&top->screen.figures);
    profile_destroy(profile);
    return code;
}

int command_top(int argc, char **argv)
{
    struct top top = {.record = {.rate = DEFAULT_RATE, .most_cpu = MOST_CPU},
                      .screen = {.refresh = 1},
                      .printed = -1};
    enum options_result result = parse(&top, argc, argv);
    if (result != OPTIONS_RUN)
        return command_line_exit_code(result);
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
        complain("top needs a terminal; record writes files");
        return EXIT_NOTHING;
    }
    if (!tracing_watch())
        return EXIT_NOTHING;
    int error = start_command(&top);
    if (error)
        return started_command_error_code(error);
    terminal_note_end();
    // A command has been started by now: nothing else will be.
    const struct tracing_task task = {.record = &top.record,
                                      .command = &top.child,
                                      .terminal = true,
                                      .killed = terminal_end,
                                      .work = watch,
                                      .context = &top};
    int code = end_command(&top, tracing_run(&task));
    if (top.printed >= 0)
        close(top.printed);
    return code;
}
