/*
 * The kernel's connector of process events (include/uapi/linux/cn_proc.h), which tells root, in the
 * first name spaces of processes and users, of each fork and each end.
 */
#include "descendants_private.h"

#include <errno.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVENT_BYTES   8192u
#define BUFFER_BYTES  (1 << 20)
#define EVENTS_A_TIME 100000u

/* The message of connector(4): a netlink header, a connector header, and what to do. */
union listen_request {
    struct nlmsghdr netlink;
    char bytes[NLMSG_HDRLEN + sizeof(struct cn_msg) + sizeof(enum proc_cn_mcast_op)];
};

int process_events_open(void)
{
    struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = CN_IDX_PROC};
    union listen_request request = {.bytes = {0}};
    const struct cn_msg connector = {.id = {.idx = CN_IDX_PROC, .val = CN_VAL_PROC},
                                     .len = sizeof(enum proc_cn_mcast_op)};
    const enum proc_cn_mcast_op what = PROC_CN_MCAST_LISTEN;
    int buffer = BUFFER_BYTES;
    request.netlink =
        (struct nlmsghdr){.nlmsg_len = sizeof(request.bytes), .nlmsg_type = NLMSG_DONE};
    memcpy(request.bytes + NLMSG_HDRLEN, &connector, sizeof(connector));
    memcpy(request.bytes + NLMSG_HDRLEN + sizeof(connector), &what, sizeof(what));
    int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_CONNECTOR);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer));
    if (bind(fd, (struct sockaddr *)&address, sizeof(address)) ||
        send(fd, request.bytes, sizeof(request.bytes), 0) != (ssize_t)sizeof(request.bytes)) {
        close(fd);
        return -1;
    }
    return fd;
}

static bool is_ours(const struct descendants *all, pid_t pid)
{
    return pid == getpid() || descendants_find(all, pid) != SIZE_MAX;
}

static void take_event(struct descendants *all, const struct proc_event *event)
{
    size_t index;
    switch ((unsigned)event->what) {
    case PROC_EVENT_FORK: // Of a thread the process has another id.
        if (event->event_data.fork.child_pid == event->event_data.fork.child_tgid &&
            is_ours(all, event->event_data.fork.parent_tgid))
            (void)descendants_add(all, event->event_data.fork.child_pid,
                                  event->event_data.fork.parent_tgid);
        return;
    case PROC_EVENT_EXEC:
        index = descendants_find(all, event->event_data.exec.process_tgid);
        if (index != SIZE_MAX) {
            process_forget_program(&all->items[index]);
            descendants_look_at(all, index);
        }
        return;
    case PROC_EVENT_EXIT:
        if (event->event_data.exit.process_pid != event->event_data.exit.process_tgid)
            return;
        index = descendants_find(all, event->event_data.exit.process_pid);
        // That of its first thread alone: its descriptor tells when all have ended.
        if (index != SIZE_MAX) {
            all->items[index].told_status = (int)event->event_data.exit.exit_code;
            all->items[index].has_told_status = true;
        }
        return;
    default:
        return;
    }
}

void process_events_take(struct descendants *all)
{
    union {
        struct nlmsghdr header;
        char bytes[EVENT_BYTES];
    } message;
    for (size_t i = 0; i < EVENTS_A_TIME; i++) {
        ssize_t got = recv(all->events, &message, sizeof(message), 0);
        if (got <= 0)
            return;
        const struct cn_msg *connector = NLMSG_DATA(&message.header);
        struct proc_event event;
        if ((size_t)got < NLMSG_LENGTH(sizeof(*connector) + sizeof(event)) ||
            connector->id.idx != CN_IDX_PROC)
            continue;
        memcpy(&event, connector->data, sizeof(event));
        take_event(all, &event);
    }
}
