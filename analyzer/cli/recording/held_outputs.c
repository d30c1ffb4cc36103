/* Files that are open while it records, and the process that gives them their names. */
#include "messages.h"
#include "recording_private.h"
#include "sandbox.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* What is to be done with a file; the answer is an int: an errno, or 0. */
struct wish {
    uint32_t index;
    uint32_t keeps;
};

static void drop_all(struct held_outputs *held)
{
    for (size_t i = 0; i < held->count; i++)
        (void)close_output(&held->files[i], false);
}

static bool hear(int socket, void *ret, size_t size)
{
    ssize_t got;
    do
        got = recv(socket, ret, size, 0);
    while (got < 0 && errno == EINTR);
    return got == (ssize_t)size;
}

/* ---- the one who names them ---- */

/* Until nobody is left who writes them: what is not whole by then is dropped. */
static void hold(struct held_outputs *held, int socket)
{
    bool done[RECORD_OUTPUTS] = {false};
    struct wish wish;
    // Ctrl-C is for the one who records, who ends it.
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    sandbox_begin();
    while (hear(socket, &wish, sizeof(wish))) {
        int error = EINVAL;
        if (wish.index < held->count && !done[wish.index]) {
            struct output_file *file = &held->files[wish.index];
            done[wish.index] = true;
            (void)close_output(file, wish.keeps != 0);
            error = file->error;
        }
        if (send(socket, &error, sizeof(error), MSG_NOSIGNAL) != (ssize_t)sizeof(error))
            break;
    }
    for (size_t i = 0; i < held->count; i++)
        if (!done[i])
            (void)close_output(&held->files[i], false);
    _exit(EXIT_COMPLETE);
}

static bool start_holder(struct held_outputs *held)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
        return false;
    fflush(NULL);
    held->holder = fork();
    if (!held->holder) {
        close(ends[0]);
        hold(held, ends[1]);
    }
    close(ends[1]);
    held->socket = ends[0];
    if (held->holder > 0)
        return true;
    held->holder = 0;
    close(ends[0]);
    held->socket = -1;
    return false;
}

/* ---- the one who records ---- */

const char *record_output_path(const struct record_request *request, size_t index)
{
    const char *path = request->output_count ? request->outputs[index].path : "-";
    return strcmp(path, "-") ? path : NULL;
}

static bool needs_name(const struct held_outputs *held)
{
    for (size_t i = 0; i < held->count; i++)
        if (held->files[i].is_new)
            return true;
    return false;
}

bool held_outputs_open(const struct record_request *request, struct held_outputs *ret)
{
    const size_t count = request->output_count ? request->output_count : 1;
    *ret = (struct held_outputs){.socket = -1};
    for (size_t i = 0; i < count; i++) {
        const char *path = record_output_path(request, i);
        if (!open_output(&ret->files[i], path, false)) {
            complain("%s: cannot be written: %s", path ? path : "standard output",
                     strerror(ret->files[i].error));
            (void)close_output(&ret->files[i], false);
            drop_all(ret);
            return false;
        }
        ret->count++;
    }
    if (!needs_name(ret) || start_holder(ret))
        return true;
    complain("no process could be made: %s", strerror(errno));
    drop_all(ret);
    return false;
}

/* Here the file ends; its name is the holder's business. errno of what could not be written, or 0.
 */
static int leave(struct new_file *file)
{
    // What a network's file system could not write is said by close(2) at the latest.
    const int error = file->fd >= 0 && close(file->fd) ? errno : 0;
    free(file->temporary);
    file->temporary = NULL;
    file->fd = -1;
    new_file_drop(file);
    return error;
}

bool held_outputs_close(struct held_outputs *held, size_t index, bool good)
{
    struct output_file *file = &held->files[index];
    int error = EPIPE;
    if (!file->is_new)
        return close_output(file, good);
    const int late = leave(&file->replacing);
    if (good && late)
        file->error = late;
    good = good && !late;
    const struct wish wish = {(uint32_t)index, good};
    if (send(held->socket, &wish, sizeof(wish), MSG_NOSIGNAL) != (ssize_t)sizeof(wish) ||
        !hear(held->socket, &error, sizeof(error)))
        error = EPIPE;
    if (good)
        file->error = error;
    return good && !error;
}

void held_outputs_end(struct held_outputs *held)
{
    if (held->socket >= 0)
        close(held->socket);
    while (held->holder && waitpid(held->holder, NULL, 0) < 0 && errno == EINTR)
        ;
    for (size_t i = 0; i < held->count; i++)
        if (held->files[i].is_new)
            (void)leave(&held->files[i].replacing);
    *held = (struct held_outputs){.socket = -1};
}
