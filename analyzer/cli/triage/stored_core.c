/*
 * What systemd-coredump says of a core that it stored (systemd 252, src/coredump/coredump.c): the
 * name core.COMM.UID.BOOT_ID.PID.MICROSECONDS[.zst|.lz4|.xz], in whose parts "\x2e" stands for what
 * would end them, and attributes of the file, where the file system has them.
 */
#include "triage_private.h"

#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

#define TEXT_SIZE 4096

/* Of the attributes below. */
#define ATTRIBUTE_COUNT 8

/* Text behind it: of each attribute, with a zero; "" where there is none. */
struct stored_core {
    size_t at[ATTRIBUTE_COUNT];
    char text[];
};

struct name_parts {
    char text[256];
    const char *comm, *user, *boot, *pid, *time;
};

static int hex_digit(char character)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = character ? strchr(digits, character) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* In place: "\x2e" is one byte (systemd, basic/escape.c, xescape()). */
static void unescape(char *text)
{
    char *to = text;
    for (const char *from = text; *from; to++) {
        int high = from[0] == '\\' && from[1] == 'x' ? hex_digit(from[2]) : -1;
        int low = high >= 0 ? hex_digit(from[3]) : -1;
        bool escaped = low >= 0 && (high || low);
        *to = escaped ? (char)(high << 4 | low) : *from;
        from += escaped ? 4 : 1;
    }
    *to = '\0';
}

static bool is_number(const char *text)
{
    return *text && !text[strspn(text, "0123456789")];
}

static bool split_name(const char *path, struct name_parts *ret)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char *parts[7], *rest = ret->text;
    size_t count = 0;
    size_t size = strlen(name) + 1;
    if (size > sizeof(ret->text))
        return false;
    memcpy(ret->text, name, size);
    while (count < 7 && rest)
        parts[count++] = strsep(&rest, ".");
    if (rest || count < 6 || strcmp(parts[0], "core") != 0 || !is_number(parts[2]) ||
        strlen(parts[3]) != 32 || parts[3][strspn(parts[3], "0123456789abcdef")] ||
        !is_number(parts[4]) || !is_number(parts[5]))
        return false;
    unescape(parts[1]);
    ret->comm = parts[1];
    ret->user = parts[2];
    ret->boot = parts[3];
    ret->pid = parts[4];
    ret->time = parts[5];
    return true;
}

/* A value of foreign text: what is no UTF-8 is left out. */
static bool set_text(json_t *object, const char *member, const char *text)
{
    json_t *value = json_string(text);
    return !value || !json_object_set_new(object, member, value);
}

static bool set_number(json_t *object, const char *member, const char *text)
{
    return !is_number(text) || strlen(text) > 18 ||
           !json_object_set_new(object, member, json_integer(strtoll(text, NULL, 10)));
}

static const struct {
    const char *attribute, *member;
    bool is_number;
} rows[ATTRIBUTE_COUNT] = {
    {"user.coredump.comm", "comm", false},
    {"user.coredump.uid", "uid", true},
    {"user.coredump.gid", "gid", true},
    {"user.coredump.pid", "pid", true},
    {"user.coredump.timestamp", "time_us", true},
    {"user.coredump.signal", "signal", true},
    {"user.coredump.hostname", "hostname", false},
    {"user.coredump.exe", "executable", false},
};

struct stored_core *stored_core_read(const char *path)
{
    char text[ATTRIBUTE_COUNT * TEXT_SIZE];
    size_t at[ATTRIBUTE_COUNT], used = 0;
    // Most files have none at all.
    if (listxattr(path, NULL, 0) <= 0)
        return NULL;
    for (size_t i = 0; i < ATTRIBUTE_COUNT; i++) {
        ssize_t size = getxattr(path, rows[i].attribute, text + used, TEXT_SIZE - 1);
        at[i] = used;
        used += size > 0 ? (size_t)size : 0;
        text[used++] = '\0';
    }
    struct stored_core *stored = used > ATTRIBUTE_COUNT ? malloc(sizeof(*stored) + used) : NULL;
    if (!stored)
        return NULL;
    memcpy(stored->at, at, sizeof(at));
    memcpy(stored->text, text, used);
    return stored;
}

static bool add_attributes(json_t *object, const struct stored_core *stored)
{
    bool good = true;
    for (size_t i = 0; stored && good && i < ATTRIBUTE_COUNT; i++) {
        const char *text = stored->text + stored->at[i];
        if (*text)
            good = rows[i].is_number ? set_number(object, rows[i].member, text)
                                     : set_text(object, rows[i].member, text);
    }
    return good;
}

bool stored_core_describe(const struct stored_core *stored, struct core_report *report)
{
    json_t *target = json_object_get(report->json, "target"), *object = json_object();
    struct name_parts parts;
    bool good = object != NULL;
    if (good && split_name(report->path, &parts))
        good = set_text(object, "comm", parts.comm) && set_number(object, "uid", parts.user) &&
               set_text(object, "boot_id", parts.boot) && set_number(object, "pid", parts.pid) &&
               set_number(object, "time_us", parts.time);
    good = good && add_attributes(object, stored);
    if (good && json_object_size(object) && json_is_object(target))
        good = !json_object_set(target, "coredump", object);
    json_decref(object);
    return good;
}
