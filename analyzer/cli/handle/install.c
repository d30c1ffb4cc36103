/* kernel.core_pattern: this program is put behind it, or taken away. */
#include "handle_private.h"

#include "messages.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATTERN    "/proc/sys/kernel/core_pattern"
#define PIPE_LIMIT "/proc/sys/kernel/core_pipe_limit"
/* Behind 50-coredump.conf of systemd: the last one counts (sysctl.d(5)). */
#define SETTINGS "/etc/sysctl.d/60-pystack-core.conf"
/* include/linux/binfmts.h, CORENAME_MAX_SIZE, with its zero. */
#define PATTERN_SIZE 128
/* So many at once; those behind them are not kept. Not 0: the kernel waits for the handler then. */
#define AT_ONCE      "16"
#define BEFORE       "# before: "
#define BEFORE_LIMIT "# limit before: "

static bool path_below(const char *root, const char *path, char *ret)
{
    return snprintf(ret, PATH_MAX, "%s%s", root, path) < PATH_MAX;
}

/* One line without its end; false, and said so. */
static bool read_line(const char *root, const char *path, char *ret, size_t size)
{
    char full[PATH_MAX];
    FILE *file = path_below(root, path, full) ? fopen(full, "re") : NULL;
    bool good = file && fgets(ret, (int)size, file);
    if (!good)
        complain("%s%s: %s", root, path, strerror(errno));
    if (file)
        fclose(file);
    if (good)
        ret[strcspn(ret, "\n")] = '\0';
    return good;
}

static bool write_line(const char *root, const char *path, const char *line)
{
    char full[PATH_MAX];
    FILE *file = path_below(root, path, full) ? fopen(full, "we") : NULL;
    bool good = file && fprintf(file, "%s\n", line) > 0;
    good = file && !fclose(file) && good;
    if (!good)
        complain("%s%s: cannot be written: %s%s", root, path, strerror(errno),
                 errno == EACCES ? "; run it as root" : "");
    return good;
}

static bool add(char *pattern, const char *word)
{
    size_t used = strlen(pattern);
    if (strpbrk(word, " \t\n") || used + strlen(word) + 2 > PATTERN_SIZE)
        return false;
    snprintf(pattern + used, PATTERN_SIZE - used, "%s%s", used > 1 ? " " : "", word);
    return true;
}

/* The kernel splits it at blanks, and knows no quotes. */
static bool make_pattern(const struct handle_request *request, char *pattern)
{
    char program[PATH_MAX] = "";
    ssize_t size = readlink("/proc/self/exe", program, sizeof(program) - 1);
    const char *const words[] = {program, "handle", "%P", "%u", "%g", "%s", "%t", NULL};
    snprintf(pattern, PATTERN_SIZE, "|");
    bool good = size > 0;
    for (size_t i = 0; good && words[i]; i++)
        good = add(pattern, words[i]);
    if (good && strcmp(request->store, CRASH_STORE) != 0)
        good = add(pattern, "--store") && add(pattern, request->store);
    if (good && request->redacts)
        good = add(pattern, "--redact");
    if (good && request->then)
        good = add(pattern, "--then");
    for (char **word = request->then; good && word && *word; word++)
        good = add(pattern, *word);
    if (!good)
        complain("the line for core_pattern would be longer than the kernel's %d bytes, or has "
                 "blanks in a word; shorten the paths",
                 PATTERN_SIZE - 1);
    return good;
}

static bool is_ours(const char *pattern)
{
    return pattern[0] == '|' && strstr(pattern, "pystack-core handle ");
}

static bool write_settings(const char *root, const char *pattern, const char *before,
                           const char *limit)
{
    char text[1024];
    snprintf(text, sizeof(text),
             "# Written by pystack-core handle --install; --uninstall takes it away.\n" BEFORE
             "%s\n" BEFORE_LIMIT "%s\nkernel.core_pattern=%s\nkernel.core_pipe_limit=" AT_ONCE,
             before, limit, pattern);
    return write_line(root, SETTINGS, text);
}

int handle_install(const struct handle_request *request)
{
    const char *root = request->root;
    char pattern[PATTERN_SIZE], before[256], limit[32];
    struct crash_store store;
    if (!make_pattern(request, pattern) || !read_line(root, PATTERN, before, sizeof(before)) ||
        !read_line(root, PIPE_LIMIT, limit, sizeof(limit)))
        return EXIT_NOTHING;
    if (!*root && !crash_store_open(&store, request->store, true))
        return EXIT_NOTHING;
    if (!*root)
        crash_store_close(&store);
    if ((is_ours(before) ? false : !write_settings(root, pattern, before, limit)) ||
        !write_line(root, PIPE_LIMIT, AT_ONCE) || !write_line(root, PATTERN, pattern))
        return EXIT_NOTHING;
    printf("core_pattern: %s\nbefore: %s\npystack-core handle --uninstall puts that back; kept in "
           "%s\n",
           pattern, before, SETTINGS);
    return EXIT_COMPLETE;
}

/* The rest of a line of the settings that begins so; false: there is none. */
static bool find_setting(const char *root, const char *begins, char *ret, size_t size)
{
    char full[PATH_MAX], line[1024];
    FILE *file = path_below(root, SETTINGS, full) ? fopen(full, "re") : NULL;
    bool found = false;
    while (file && !found && fgets(line, sizeof(line), file))
        if (!strncmp(line, begins, strlen(begins))) {
            line[strcspn(line, "\n")] = '\0';
            snprintf(ret, size, "%s", line + strlen(begins));
            found = true;
        }
    if (file)
        fclose(file);
    return found;
}

int handle_uninstall(const struct handle_request *request)
{
    const char *root = request->root;
    char now[256], before[256] = "core", limit[32] = "0", full[PATH_MAX];
    if (!read_line(root, PATTERN, now, sizeof(now)))
        return EXIT_NOTHING;
    bool known = find_setting(root, BEFORE, before, sizeof(before));
    (void)find_setting(root, BEFORE_LIMIT, limit, sizeof(limit));
    if (is_ours(now) &&
        (!write_line(root, PATTERN, before) || !write_line(root, PIPE_LIMIT, limit)))
        return EXIT_NOTHING;
    if (path_below(root, SETTINGS, full) && unlink(full) && errno != ENOENT) {
        complain("%s: %s", full, strerror(errno));
        return EXIT_NOTHING;
    }
    if (is_ours(now))
        printf("core_pattern: %s%s\n", before, known ? "" : ", what it was before is not known");
    else
        printf("core_pattern is not this program's, and stays: %s\n", now);
    return EXIT_COMPLETE;
}
