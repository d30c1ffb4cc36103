/* Sockets: /proc/PID/net, and the peers of Unix sockets, which sock_diag(7) alone tells. */
#include "system_private.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Lines of a table that are looked at. */
#define LINE_LIMIT 20000

struct internet_line {
    char local[33];
    char remote[33];
    unsigned local_port;
    unsigned remote_port;
    unsigned state;
    uint64_t inode;
};

/* "  0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 12345 ..." */
static bool read_internet_line(const char *text, struct internet_line *ret)
{
    return sscanf(text, " %*d: %32[0-9A-F]:%x %32[0-9A-F]:%x %x %*s %*s %*s %*d %*d %" SCNu64,
                  ret->local, &ret->local_port, ret->remote, &ret->remote_port, &ret->state,
                  &ret->inode) == 6;
}

/* Words of 32 bits in the order of the machine, each in hexadecimal digits. */
static void add_address(const char *digits, unsigned port, char ret[64])
{
    uint32_t words[4] = {0};
    char address[INET6_ADDRSTRLEN] = "?";
    size_t count = strlen(digits) / 8;
    for (size_t i = 0; i < count && i < PSC_ARRAY_SIZE(words); i++)
        if (sscanf(digits + 8 * i, "%8" SCNx32, &words[i]) != 1)
            return;
    inet_ntop(count == 1 ? AF_INET : AF_INET6, words, address, sizeof(address));
    snprintf(ret, 64, count == 1 ? "%s:%u" : "[%s]:%u", address, port);
}

static bool is_reverse(const struct internet_line *a, const struct internet_line *b)
{
    return a->local_port == b->remote_port && a->remote_port == b->local_port &&
           !strcmp(a->local, b->remote) && !strcmp(a->remote, b->local);
}

/* Looks for the line of a socket, or for that of its other end. */
static bool find_line(int32_t pid, const char *table, uint64_t inode,
                      const struct internet_line *other, struct internet_line *ret)
{
    char path[64];
    char line[512];
    bool found = false;
    snprintf(path, sizeof(path), "/proc/%d/net/%s", pid, table);
    FILE *file = fopen(path, "re");
    for (size_t i = 0; file && !found && i < LINE_LIMIT && fgets(line, sizeof(line), file); i++)
        found =
            read_internet_line(line, ret) && (other ? is_reverse(ret, other) : ret->inode == inode);
    if (file)
        fclose(file);
    return found;
}

static bool describe_internet(struct system *system, struct system_descriptor *ret)
{
    static const struct {
        const char *table;
        const char *title;
    } tables[] = {{"tcp", "TCP"}, {"tcp6", "TCP"}, {"udp", "UDP"}, {"udp6", "UDP"}};
    struct internet_line line;
    struct internet_line peer;
    char local[64] = "?";
    char remote[64] = "?";
    for (size_t i = 0; i < PSC_ARRAY_SIZE(tables); i++) {
        if (!find_line(system->pid, tables[i].table, ret->inode, NULL, &line))
            continue;
        add_address(line.local, line.local_port, local);
        add_address(line.remote, line.remote_port, remote);
        snprintf(ret->text, sizeof(ret->text), line.remote_port ? "%s %s to %s" : "%s %s",
                 tables[i].title, local, remote);
        if (line.remote_port && find_line(system->pid, tables[i].table, 0, &line, &peer) &&
            peer.inode) {
            ret->peer = peer.inode;
            ret->has_peer = true;
        }
        return true;
    }
    return false;
}

/* unix_diag: the attribute UNIX_DIAG_PEER of one socket. */
static bool ask_peer(uint64_t inode, uint64_t *ret)
{
    struct {
        struct nlmsghdr header;
        struct unix_diag_req request;
    } question = {
        .header = {.nlmsg_len = sizeof(question),
                   .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                   .nlmsg_flags = NLM_F_REQUEST},
        .request = {.sdiag_family = AF_UNIX,
                    .udiag_states = UINT32_MAX,
                    .udiag_ino = (uint32_t)inode,
                    .udiag_show = UDIAG_SHOW_PEER,
                    .udiag_cookie = {UINT32_MAX, UINT32_MAX}},
    };
    _Alignas(struct nlmsghdr) char answer[4096];
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);
    ssize_t size = -1;
    if (fd >= 0 && send(fd, &question, sizeof(question), 0) == (ssize_t)sizeof(question))
        size = recv(fd, answer, sizeof(answer), 0);
    if (fd >= 0)
        close(fd);
    size_t at = NLMSG_LENGTH(sizeof(struct unix_diag_msg));
    const struct nlmsghdr *header = (const struct nlmsghdr *)(const void *)answer;
    if (size < (ssize_t)at || header->nlmsg_type != SOCK_DIAG_BY_FAMILY)
        return false;
    while (at + 4 <= (size_t)size) {
        uint16_t length;
        uint16_t type;
        uint32_t peer;
        memcpy(&length, answer + at, sizeof(length));
        memcpy(&type, answer + at + 2, sizeof(type));
        if (type == UNIX_DIAG_PEER && length >= 8 && at + 8 <= (size_t)size) {
            memcpy(&peer, answer + at + 4, sizeof(peer));
            *ret = peer;
            return true;
        }
        if (length < 4)
            return false;
        at += (length + 3u) & ~3u;
    }
    return false;
}

/* "0000000000000000: 00000002 00000000 00010000 0001 01 12345 /run/x" */
static bool describe_unix(struct system *system, struct system_descriptor *ret)
{
    char path[64];
    char line[512];
    char name[256];
    bool found = false;
    snprintf(path, sizeof(path), "/proc/%d/net/unix", system->pid);
    FILE *file = fopen(path, "re");
    for (size_t i = 0; file && !found && i < LINE_LIMIT && fgets(line, sizeof(line), file); i++) {
        uint64_t inode;
        name[0] = '\0';
        found = sscanf(line, "%*x: %*x %*x %*x %*x %*x %" SCNu64 " %255s", &inode, name) >= 1 &&
                inode == ret->inode;
    }
    if (file)
        fclose(file);
    if (!found)
        return false;
    snprintf(ret->text, sizeof(ret->text), "a Unix socket%s%.200s", *name ? " " : "", name);
    ret->has_peer = system->same_network && ask_peer(ret->inode, &ret->peer);
    return true;
}

void system_describe_socket(struct system *system, struct system_descriptor *ret)
{
    if (!describe_unix(system, ret) && !describe_internet(system, ret))
        snprintf(ret->text, sizeof(ret->text), "a socket");
}
