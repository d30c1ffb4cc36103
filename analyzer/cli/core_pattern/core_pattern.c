#include "core_pattern.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool read_line(const char *path, char *ret, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, ret, size - 1);
    if (fd >= 0)
        close(fd);
    ret[got > 0 ? got : 0] = '\0';
    ret[strcspn(ret, "\n")] = '\0';
    return got >= 0;
}

static bool is_file(const struct core_pattern *pattern)
{
    return pattern->destination == CORE_RELATIVE || pattern->destination == CORE_ABSOLUTE;
}

/* The letter of the specifier that begins at `at`; 0: none. */
static char specifier(const char *at)
{
    return at[0] == '%' ? at[1] : '\0';
}

static bool has_pid(const char *text)
{
    for (; *text; text++) {
        if (specifier(text) == 'p')
            return true;
        if (specifier(text))
            text++;
    }
    return false;
}

void core_pattern_take(struct core_pattern *ret, const char *text, bool adds_pid)
{
    snprintf(ret->text, sizeof(ret->text), "%s", text);
    ret->adds_pid = adds_pid && !has_pid(text);
    ret->destination = CORE_RELATIVE;
    if (*text == '|')
        ret->destination = CORE_PIPE;
    else if (*text == '@')
        ret->destination = CORE_SOCKET;
    else if (*text == '/')
        ret->destination = CORE_ABSOLUTE;
    else if (!*text && !adds_pid)
        ret->destination = CORE_NOWHERE;
}

bool core_pattern_read(struct core_pattern *ret)
{
    char text[sizeof(ret->text)], uses_pid[16];
    *ret = (struct core_pattern){0};
    if (!read_line("/proc/sys/kernel/core_pattern", text, sizeof(text)))
        return false;
    bool adds_pid = read_line("/proc/sys/kernel/core_uses_pid", uses_pid, sizeof(uses_pid)) &&
                    strtol(uses_pid, NULL, 10);
    core_pattern_take(ret, text, adds_pid);
    return true;
}

bool core_pattern_names_pid(const struct core_pattern *pattern)
{
    return !is_file(pattern) || pattern->adds_pid || has_pid(pattern->text);
}

char *core_pattern_program(const struct core_pattern *pattern)
{
    const char *program = pattern->text + (pattern->destination == CORE_PIPE);
    program += strspn(program, " ");
    return strndup(program, strcspn(program, " "));
}

/* ---- names ---- */

static void put_literal(FILE *file, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (strchr("*?[]\\", text[i]))
            putc('\\', file);
        putc(text[i], file);
    }
}

static void put_pid(FILE *file, int32_t pid)
{
    if (pid)
        fprintf(file, "%d", pid);
    else
        fputs("[0-9]*", file);
}

static void put_name(FILE *file, const struct core_pattern *pattern, int32_t pid)
{
    for (const char *at = pattern->text; *at; at++) {
        if (*at != '%') {
            put_literal(file, at, 1);
            continue;
        }
        char letter = specifier(at);
        if (letter == 'p')
            put_pid(file, pid);
        else if (letter == '%')
            putc('%', file);
        else if (letter)
            putc('*', file);
        else
            break;
        at++;
    }
    if (pattern->adds_pid) {
        putc('.', file);
        put_pid(file, pid);
    }
}

char *core_pattern_glob(const struct core_pattern *pattern, const char *folder, int32_t pid)
{
    char *name = NULL;
    size_t size;
    FILE *file = is_file(pattern) ? open_memstream(&name, &size) : NULL;
    if (!file)
        return NULL;
    if (pattern->destination == CORE_RELATIVE) {
        put_literal(file, folder, strlen(folder));
        putc('/', file);
    }
    put_name(file, pattern, pid);
    bool good = !ferror(file);
    good = !fclose(file) && good;
    if (!good) {
        free(name);
        name = NULL;
    }
    return name;
}

char *core_pattern_folder(const struct core_pattern *pattern, const char *folder)
{
    const char *slash = is_file(pattern) ? strrchr(pattern->text, '/') : NULL;
    const char *percent = strchr(pattern->text, '%');
    char *path;
    if (!is_file(pattern) || (slash && percent && percent < slash))
        return NULL;
    if (!slash)
        return strdup(folder);
    int length = (int)(slash - pattern->text);
    if (pattern->destination == CORE_ABSOLUTE)
        return length ? strndup(pattern->text, (size_t)length) : strdup("/");
    return asprintf(&path, "%s/%.*s", folder, length, pattern->text) < 0 ? NULL : path;
}
