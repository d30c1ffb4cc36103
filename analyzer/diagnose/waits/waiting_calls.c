/* What a thread waits for by the system call that it is in, and what the system tells of that. */
#include "waits_private.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

/* Descriptors of one call that are described. */
#define SHOWN_DESCRIPTORS ((size_t)4)
/* uapi/asm-generic/fcntl.h: waiting for a lock of fcntl(2), also of an open file. */
#define SET_LOCK_WAIT      7
#define SET_FILE_LOCK_WAIT 38
/* waitid(2): P_PID, P_PIDFD. */
#define WAIT_PID   1
#define WAIT_PIDFD 3

/* Behind the name of a process. */
#define IS_STOPPED ", which a signal has stopped"

/** What a system call waits for. */
enum call_class {
    CALL_OPEN,
    CALL_READ,
    CALL_WRITE,
    CALL_ACCEPT,
    CALL_CONNECT,
    CALL_POLL,
    CALL_EPOLL,
    CALL_CHILD,
    CALL_CHILD_ID,
    CALL_FILE_LOCK,
    CALL_CONTROL,
    CALL_SLEEP,
    CALL_SIGNAL,
    CALL_URING,
    CALL_SEMAPHORES,
    CALL_QUEUE,
    CALL_POSIX_QUEUE
};

static const struct call_row {
    const char *name;
    enum call_class class;
    bool socket; /**< Only sockets have it. */
} calls[] = {
    {"open", CALL_OPEN, false},
    {"creat", CALL_OPEN, false},
    {"openat", CALL_OPEN, false},
    {"openat2", CALL_OPEN, false},
    {"read", CALL_READ, false},
    {"readv", CALL_READ, false},
    {"pread64", CALL_READ, false},
    {"preadv", CALL_READ, false},
    {"recvfrom", CALL_READ, true},
    {"recvmsg", CALL_READ, true},
    {"recvmmsg", CALL_READ, true},
    {"write", CALL_WRITE, false},
    {"writev", CALL_WRITE, false},
    {"pwrite64", CALL_WRITE, false},
    {"sendto", CALL_WRITE, true},
    {"sendmsg", CALL_WRITE, true},
    {"sendmmsg", CALL_WRITE, true},
    {"accept", CALL_ACCEPT, true},
    {"accept4", CALL_ACCEPT, true},
    {"connect", CALL_CONNECT, true},
    {"poll", CALL_POLL, false},
    {"ppoll", CALL_POLL, false},
    {"select", CALL_POLL, false},
    {"pselect6", CALL_POLL, false},
    {"epoll_wait", CALL_EPOLL, false},
    {"epoll_pwait", CALL_EPOLL, false},
    {"epoll_pwait2", CALL_EPOLL, false},
    {"wait4", CALL_CHILD, false},
    {"waitid", CALL_CHILD_ID, false},
    {"flock", CALL_FILE_LOCK, false},
    {"fcntl", CALL_CONTROL, false},
    {"nanosleep", CALL_SLEEP, false},
    {"clock_nanosleep", CALL_SLEEP, false},
    {"pause", CALL_SIGNAL, false},
    {"rt_sigsuspend", CALL_SIGNAL, false},
    {"rt_sigtimedwait", CALL_SIGNAL, false},
    {"io_uring_enter", CALL_URING, false},
    {"semop", CALL_SEMAPHORES, false},
    {"semtimedop", CALL_SEMAPHORES, false},
    {"msgrcv", CALL_QUEUE, false},
    {"msgsnd", CALL_QUEUE, false},
    {"mq_timedreceive", CALL_POSIX_QUEUE, false},
    {"mq_timedsend", CALL_POSIX_QUEUE, false},
};

static const struct call_row *find_row(const char *name)
{
    for (size_t i = 0; name && i < PSC_ARRAY_SIZE(calls); i++)
        if (!strcmp(calls[i].name, name))
            return &calls[i];
    return NULL;
}

static enum trace_wait_kind kind_of_file(enum system_file kind)
{
    switch (kind) {
    case SYSTEM_PIPE:
        return TRACE_WAIT_PIPE;
    case SYSTEM_SOCKET:
        return TRACE_WAIT_SOCKET;
    case SYSTEM_TERMINAL:
        return TRACE_WAIT_TERMINAL;
    case SYSTEM_TIMER:
        return TRACE_WAIT_TIMER;
    case SYSTEM_PATH:
        return TRACE_WAIT_FILE;
    case SYSTEM_UNKNOWN:
    case SYSTEM_EPOLL:
    case SYSTEM_EVENT:
    case SYSTEM_PROCESS:
    case SYSTEM_OTHER:
        break;
    }
    return TRACE_WAIT_SYSTEM_CALL;
}

/* " (a pipe)", and who has its other end. Of a core only the number of the descriptor is known. */
static bool add_file(struct wait_maker *maker, int fd, bool for_reading,
                     struct system_descriptor *file, struct text *text)
{
    struct system_end end;
    struct trace_wait *wait = &maker->wait;
    text_printf(text, "descriptor %d", fd);
    if (!maker->system || !system_describe(maker->system, fd, file))
        return false;
    text_printf(text, " (%s", file->text);
    if (file->kind == SYSTEM_PIPE || file->kind == SYSTEM_SOCKET) {
        system_find_end(maker->system, file, for_reading, &end);
        if (end.pid == maker->trace->pid)
            text_add_string(text, ", its other end in this process");
        else if (end.pid)
            text_printf(text, ", its other end in process %d %s%s", end.pid, end.name,
                        end.stopped ? IS_STOPPED : "");
        else if (file->kind == SYSTEM_PIPE)
            text_add_string(text, ", no process known here has its other end");
        wait->owner_pid = end.pid;
        wait->owner_certain = end.pid && end.only;
    }
    if (file->process) {
        wait->owner_pid = file->process;
        wait->owner_certain = true;
        text_printf(text, " of process %d", file->process);
    }
    if (file->has_time_left) {
        wait->has_time_left = true;
        wait->time_left = file->time_left;
    }
    text_add_char(text, ')');
    return true;
}

static void describe_file(struct wait_maker *maker, const struct call_row *row, struct text *text)
{
    struct system_descriptor file = {0};
    const char *what = row->class == CALL_WRITE     ? "room to write to "
                       : row->class == CALL_ACCEPT  ? "a connection on "
                       : row->class == CALL_CONNECT ? "the connection of "
                                                    : "data from ";
    int fd = (int)(int32_t)maker->facts->arguments[0];
    text_add_string(text, what);
    maker->wait.kind = row->socket ? TRACE_WAIT_SOCKET : TRACE_WAIT_SYSTEM_CALL;
    if (add_file(maker, fd, row->class != CALL_WRITE, &file, text))
        maker->wait.kind = row->socket ? TRACE_WAIT_SOCKET : kind_of_file(file.kind);
}

/*
 * fifo(7): who opens one for reading or writing alone sleeps until somebody has it open for the
 * other (fs/pipe.c, fifo_open()); where that is so already, nobody sleeps.
 */
static bool describe_fifo(struct wait_maker *maker, struct text *text)
{
    const struct wait_facts *facts = maker->facts;
    const struct wait_open_call *call = waits_find_open_call(facts->call);
    int folder =
        call && call->folder >= 0 ? (int)(int32_t)facts->arguments[call->folder] : AT_FDCWD;
    if (!maker->system || !call || call->flags < 0 ||
        !system_is_fifo(maker->system, folder, facts->path))
        return false;
    uint64_t flags = facts->arguments[call->flags];
    if ((flags & (O_NONBLOCK | O_PATH)) || (flags & O_ACCMODE) == O_RDWR)
        return false;
    maker->wait.kind = TRACE_WAIT_PIPE;
    text_printf(text, "somebody to open the FIFO %s for %s", facts->path,
                (flags & O_ACCMODE) == O_WRONLY ? "reading" : "writing");
    return true;
}

static void describe_open(struct wait_maker *maker, struct text *text)
{
    if (maker->facts->path && !describe_fifo(maker, text))
        text_printf(text, "the file %s to be opened", maker->facts->path);
}

/* A call without descriptors is a sleep. With one, it is a wait for that. */
static void describe_poll(struct wait_maker *maker, struct text *text)
{
    const struct wait_facts *facts = maker->facts;
    struct system_descriptor file = {0};
    maker->wait.kind = TRACE_WAIT_POLL;
    if (!facts->descriptor_total) {
        maker->wait.kind = TRACE_WAIT_SLEEP;
        text_add_string(text, facts->timed ? "some time to pass" : "a signal");
        return;
    }
    for (size_t i = 0; i < facts->descriptor_count && i < SHOWN_DESCRIPTORS; i++) {
        const struct wait_descriptor *one = &facts->descriptors[i];
        text_add_string(text, i ? ", " : "");
        (void)add_file(maker, one->fd, !one->writes, &file, text);
        if (one->writes)
            text_add_string(text, " to write to");
    }
    if (facts->descriptor_total > SHOWN_DESCRIPTORS)
        text_printf(text, " and %zu more", facts->descriptor_total - SHOWN_DESCRIPTORS);
    if (facts->descriptor_total > 1) {
        maker->wait.owner_pid = 0;
        maker->wait.owner_certain = false;
    } else if (file.kind != SYSTEM_UNKNOWN && kind_of_file(file.kind) != TRACE_WAIT_SYSTEM_CALL) {
        maker->wait.kind = kind_of_file(file.kind);
    }
}

static void describe_epoll(struct wait_maker *maker, struct text *text)
{
    int watched[SHOWN_DESCRIPTORS + 1];
    int fd = (int)(int32_t)maker->facts->arguments[0];
    size_t count =
        maker->system ? system_list_epoll(maker->system, fd, watched, PSC_ARRAY_SIZE(watched)) : 0;
    maker->wait.kind = TRACE_WAIT_POLL;
    text_printf(text, "an event of epoll descriptor %d", fd);
    for (size_t i = 0; i < count && i < SHOWN_DESCRIPTORS; i++) {
        struct system_descriptor file;
        text_add_string(text, i ? ", " : ", which watches ");
        (void)add_file(maker, watched[i], true, &file, text);
    }
    if (count > SHOWN_DESCRIPTORS)
        text_add_string(text, " and more");
    if (count != 1) {
        maker->wait.owner_pid = 0;
        maker->wait.owner_certain = false;
    }
    maker->wait.has_time_left = false;
}

static void take_child(struct wait_maker *maker, int32_t pid, struct text *text)
{
    char name[32];
    bool stopped;
    maker->wait.kind = TRACE_WAIT_CHILD;
    if (pid > 0) {
        maker->wait.owner_pid = pid;
        maker->wait.owner_certain = true;
        text_printf(text, "the end of process %d", pid);
        if (maker->system && system_name_process(pid, name, &stopped))
            text_printf(text, " %s%s", name, stopped ? IS_STOPPED : "");
        return;
    }
    text_add_string(text, "the end of any child process");
    int32_t child = 0;
    size_t count = maker->system ? system_find_child(maker->system, &child) : 0;
    if (count == 1) {
        maker->wait.owner_pid = child;
        maker->wait.owner_certain = true;
        text_printf(text, ", of which process %d is the only one", child);
    } else if (count) {
        text_printf(text, ", of which there are %zu", count);
    }
}

static void describe_child_id(struct wait_maker *maker, struct text *text)
{
    const struct wait_facts *facts = maker->facts;
    struct system_descriptor file = {0};
    int32_t type = (int32_t)facts->arguments[0];
    int32_t id = (int32_t)facts->arguments[1];
    if (type == WAIT_PIDFD && maker->system && system_describe(maker->system, id, &file))
        id = file.process;
    take_child(maker, type == WAIT_PID || file.process ? id : 0, text);
}

static void describe_file_lock(struct wait_maker *maker, struct text *text)
{
    struct system_descriptor file = {0};
    int fd = (int)(int32_t)maker->facts->arguments[0];
    maker->wait.kind = TRACE_WAIT_FILE_LOCK;
    text_add_string(text, "the lock on ");
    (void)add_file(maker, fd, true, &file, text);
    int32_t owner = maker->system ? system_find_lock_owner(maker->system) : 0;
    maker->wait.owner_pid = owner;
    maker->wait.owner_certain = owner != 0;
    char name[32];
    bool stopped;
    if (owner && system_name_process(owner, name, &stopped))
        text_printf(text, ", which process %d %s has%s", owner, name, stopped ? IS_STOPPED : "");
    else if (owner)
        text_printf(text, ", which process %d has", owner);
}

static void describe_control(struct wait_maker *maker, struct text *text)
{
    int32_t command = (int32_t)maker->facts->arguments[1];
    if (command == SET_LOCK_WAIT || command == SET_FILE_LOCK_WAIT)
        describe_file_lock(maker, text);
}

static void describe_class(struct wait_maker *maker, const struct call_row *row, struct text *text)
{
    switch (row->class) {
    case CALL_OPEN:
        describe_open(maker, text);
        break;
    case CALL_READ:
    case CALL_WRITE:
    case CALL_ACCEPT:
    case CALL_CONNECT:
        describe_file(maker, row, text);
        break;
    case CALL_POLL:
        describe_poll(maker, text);
        break;
    case CALL_EPOLL:
        describe_epoll(maker, text);
        break;
    case CALL_CHILD:
        take_child(maker, (int32_t)maker->facts->arguments[0], text);
        break;
    case CALL_CHILD_ID:
        describe_child_id(maker, text);
        break;
    case CALL_FILE_LOCK:
        describe_file_lock(maker, text);
        break;
    case CALL_CONTROL:
        describe_control(maker, text);
        break;
    case CALL_SLEEP:
        maker->wait.kind = TRACE_WAIT_SLEEP;
        text_add_string(text, "some time to pass");
        break;
    case CALL_SIGNAL:
        maker->wait.kind = TRACE_WAIT_SIGNAL;
        text_add_string(text, "a signal");
        break;
    case CALL_URING:
        maker->wait.kind = TRACE_WAIT_IO_URING;
        text_printf(text, "io_uring descriptor %d", (int)(int32_t)maker->facts->arguments[0]);
        break;
    case CALL_SEMAPHORES:
        text_printf(text, "%s() of the System V semaphores %d", row->name,
                    (int)(int32_t)maker->facts->arguments[0]);
        break;
    case CALL_QUEUE:
        text_printf(text, "%s() of the System V queue %d", row->name,
                    (int)(int32_t)maker->facts->arguments[0]);
        break;
    case CALL_POSIX_QUEUE:
        text_printf(text, "%s() of the POSIX queue of descriptor %d", row->name,
                    (int)(int32_t)maker->facts->arguments[0]);
        break;
    }
}

void waits_describe_call(struct wait_maker *maker)
{
    const struct call_row *row = find_row(maker->facts->call);
    struct text text PSC_CLEANUP(text_deinit) = {0};
    maker->wait.kind = TRACE_WAIT_SYSTEM_CALL;
    maker->wait.known_by = maker->system
                               ? "the system call that it is in, and what the system says of it"
                               : "the system call that it is in";
    if (row)
        describe_class(maker, row, &text);
    if (!text.size)
        text_printf(&text, "the system call %s", maker->wait.system_call);
    maker->wait.object = arena_strdup(maker->trace->arena, text.data ? text.data : "");
}
