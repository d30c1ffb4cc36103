#include "json_reports.h"

#include "messages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of one file: a report of a thousand threads has some megabytes. */
#define FILE_LIMIT ((size_t)2 << 30)
/* Bytes read at once. */
#define READ_SIZE ((size_t)256 * 1024)

struct bytes {
    char *data;
    size_t size;
    size_t capacity;
};

static const char *name_of(const char *path)
{
    return strcmp(path, "-") ? path : "standard input";
}

/* Whole, for a FIFO may be one; 0 or errno. */
static int read_all(int fd, struct bytes *ret)
{
    for (;;) {
        if (ret->capacity - ret->size < READ_SIZE) {
            size_t capacity = (ret->capacity + READ_SIZE) * 2;
            char *data = realloc(ret->data, capacity);
            if (!data)
                return ENOMEM;
            ret->data = data;
            ret->capacity = capacity;
        }
        ssize_t got = read(fd, ret->data + ret->size, READ_SIZE);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? errno : 0;
        ret->size += (size_t)got;
        if (ret->size > FILE_LIMIT)
            return EFBIG;
    }
}

static bool add_trace(struct report_list *list, struct psc_trace *trace)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? list->capacity * 2 : 64;
        void *grown = reallocarray(list->traces, capacity, sizeof(struct psc_trace *));
        if (!grown)
            return false;
        list->traces = grown;
        list->capacity = capacity;
    }
    list->traces[list->count++] = trace;
    return true;
}

static bool add_reports(struct report_list *list, const char *path, const struct bytes *bytes)
{
    size_t at = 0, number = 0, before = list->count;
    while (at < bytes->size) {
        struct psc_error err = {0};
        struct psc_trace *trace = NULL;
        size_t used = 0;
        number++;
        if (psc_read_report(bytes->data + at, bytes->size - at, &used, &trace, &err) != PSC_OK) {
            complain("%s: report %zu of it cannot be read: %s", name_of(path), number, err.message);
            return false;
        }
        at += used;
        if (trace && !add_trace(list, trace)) {
            psc_trace_destroy(trace);
            complain("out of memory");
            return false;
        }
    }
    if (list->count == before)
        complain("%s: there is no report in it; pystack-core --format json writes one",
                 name_of(path));
    return list->count > before;
}

bool report_list_add_file(struct report_list *list, const char *path)
{
    struct bytes bytes = {0};
    bool input = !strcmp(path, "-");
    int fd = input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    int error = fd < 0 ? errno : read_all(fd, &bytes);
    bool good = !error;
    if (fd >= 0 && !input)
        close(fd);
    if (error)
        complain("%s: %s", name_of(path), strerror(error));
    else
        good = add_reports(list, path, &bytes);
    free(bytes.data);
    return good;
}

void report_list_deinit(struct report_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        psc_trace_destroy(list->traces[i]);
    free(list->traces);
}
