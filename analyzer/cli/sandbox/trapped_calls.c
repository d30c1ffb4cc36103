/*
 * open(2), openat(2), openat2(2) and stat(2) of a parser, wherever in a library: the filter makes a
 * signal of them (seccomp(2), SECCOMP_RET_TRAP), and its handler asks the broker. Calls only what
 * signal-safety(7) lists.
 */
#include "broker.h"
#include "messages.h"
#include "passed_files.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__x86_64__)
/* System V ABI, AMD64 supplement, A.2.1. */
#define ARGUMENT_REGISTERS                 \
    {                                      \
        REG_RDI, REG_RSI, REG_RDX, REG_R10 \
    }
#define REGISTER(context, number) ((context)->uc_mcontext.gregs[number])
#define RESULT_REGISTER           REG_RAX
#elif defined(__aarch64__)
#define ARGUMENT_REGISTERS \
    {                      \
        0, 1, 2, 3         \
    }
#define REGISTER(context, number) ((context)->uc_mcontext.regs[number])
#define RESULT_REGISTER           0
#endif

#ifdef ARGUMENT_REGISTERS

static const char own_descriptors[] = "/proc/self/fd/";

static int broker = -1;

/* A descriptor, or the text's length, or -errno. */
static int ask(void *question, size_t size, int root, struct broker_answer *answer)
{
    static const size_t least = offsetof(struct broker_answer, text);
    const struct iovec part = {question, size};
    int fd = -1;
    bool sent = passed_files_send(broker, &part, 1, &root, root >= 0);
    ssize_t got = sent ? passed_files_receive(broker, answer, sizeof(*answer), &fd, 1) : -1;
    // Nobody is left who asked for the work.
    if (!got || (got < 0 && (errno == EPIPE || errno == ECONNRESET)))
        _exit(EXIT_NOTHING);
    if (got < (ssize_t)least)
        return got < 0 ? -errno : -EIO;
    if (fd >= 0)
        return fd;
    return answer->error > 0 ? -answer->error : (int)((size_t)got - least);
}

/* What is open already, opened again by its name. */
static int duplicate(const char *digits)
{
    int number = 0;
    for (; *digits >= '0' && *digits <= '9' && number < 100000000; digits++)
        number = number * 10 + (*digits - '0');
    int fd = *digits ? -1 : fcntl(number, F_DUPFD_CLOEXEC, 0);
    return fd < 0 ? -ENOENT : fd;
}

static int open_by_broker(enum broker_wish wish, const char *path, int root)
{
    struct broker_question question = {.wish = wish};
    struct broker_answer answer;
    size_t length = strlen(path);
    if ((wish == BROKER_FILE || wish == BROKER_FOLDER) &&
        !strncmp(path, own_descriptors, sizeof(own_descriptors) - 1))
        return duplicate(path + sizeof(own_descriptors) - 1);
    if (length >= sizeof(question.path))
        return -ENAMETOOLONG;
    memcpy(question.path, path, length + 1);
    return ask(&question, offsetof(struct broker_question, path) + length + 1, root, &answer);
}

/* ---- links of /proc ---- */

/* The descriptors of one process, which are asked for one after the other. */
static struct {
    atomic_flag busy;
    int pid; /* That was asked for last. */
    bool listed;
    const char *bytes; /* struct broker_link, each with its text. */
    size_t size;
} links = {.busy = ATOMIC_FLAG_INIT};

/* The numbers of "/proc/PID/fd/NUMBER". */
static bool is_descriptor_link(const char *path, int *ret_pid, int *ret_descriptor)
{
    static const char before[] = "/proc/", between[] = "/fd/";
    int *const numbers[] = {ret_pid, ret_descriptor};
    const char *const texts[] = {before, between};
    for (size_t i = 0; i < 2; i++) {
        size_t size = strlen(texts[i]), digits = 0;
        if (strncmp(path, texts[i], size) != 0)
            return false;
        path += size;
        *numbers[i] = 0;
        for (; *path >= '0' && *path <= '9' && digits < 9; digits++)
            *numbers[i] = *numbers[i] * 10 + (*path++ - '0');
        if (!digits)
            return false;
    }
    return !*path;
}

static void list_links(const char *path)
{
    char folder[64];
    struct stat status;
    const char *slash = strrchr(path, '/');
    size_t size = slash ? (size_t)(slash - path) : sizeof(folder);
    links.listed = true;
    if (size >= sizeof(folder))
        return;
    memcpy(folder, path, size);
    folder[size] = '\0';
    int fd = open_by_broker(BROKER_LINKS, folder, -1);
    if (fd >= 0 && !syscall(SYS_newfstatat, fd, "", &status, AT_EMPTY_PATH) && status.st_size > 0) {
        void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        links.bytes = bytes == MAP_FAILED ? NULL : bytes;
        links.size = links.bytes ? (size_t)status.st_size : 0;
    }
    if (fd >= 0)
        close(fd);
}

static void forget_links(int pid)
{
    if (links.bytes)
        munmap((void *)(uintptr_t)links.bytes, links.size);
    links.pid = pid;
    links.listed = false;
    links.bytes = NULL;
    links.size = 0;
}

/* The length of the text, or -errno; 0: it has to be asked for. */
static int find_link(int descriptor, char *ret, size_t size)
{
    struct broker_link link;
    for (size_t at = 0; at + sizeof(link) <= links.size; at += sizeof(link) + link.size) {
        memcpy(&link, links.bytes + at, sizeof(link));
        if (link.size > links.size - at - sizeof(link))
            break;
        if (!link.size)
            return descriptor <= link.descriptor ? -EACCES : 0;
        if (link.descriptor != descriptor)
            continue;
        size_t length = link.size < size ? link.size : size;
        memcpy(ret, links.bytes + at + sizeof(link), length);
        return (int)length;
    }
    return 0;
}

/* One alone is asked for by itself; from the second one on, all. */
static int find_listed_link(const char *path, char *ret, size_t size)
{
    int pid, descriptor;
    if (!is_descriptor_link(path, &pid, &descriptor) || atomic_flag_test_and_set(&links.busy))
        return 0;
    if (links.pid != pid)
        forget_links(pid);
    else if (!links.listed)
        list_links(path);
    int length = find_link(descriptor, ret, size);
    atomic_flag_clear(&links.busy);
    return length;
}

/* What a link of /proc leads to is asked for; all others are looked at here. */
static int read_link(int folder, const char *path, char *ret, size_t size)
{
    static const char processes[] = "/proc/";
    struct broker_question question = {.wish = BROKER_LINK};
    struct broker_answer answer;
    size_t length = strlen(path);
    const bool is_whole = path[0] == '/';
    if (!is_whole && folder < 0)
        return -EPERM;
    long got = is_whole ? syscall(SYS_readlinkat, BROKER_OWN_READLINK, path, ret, size) : -1;
    if (got >= 0)
        return (int)got;
    int error = is_whole ? errno : EACCES;
    if (error != EACCES || length >= sizeof(question.path) ||
        (is_whole && strncmp(path, processes, sizeof(processes) - 1) != 0))
        return -error;
    int listed = is_whole ? find_listed_link(path, ret, size) : 0;
    if (listed)
        return listed;
    memcpy(question.path, path, length + 1);
    int text = ask(&question, offsetof(struct broker_question, path) + length + 1,
                   is_whole ? -1 : folder, &answer);
    if (text > 0)
        memcpy(ret, answer.text, (size_t)text < size ? (size_t)text : size);
    return text > (int)size ? (int)size : text;
}

/* Of sock_diag(7): there is no other one to be had. */
static int make_socket(long family)
{
    return family == AF_NETLINK ? open_by_broker(BROKER_SOCKETS, "-", -1) : -EPERM;
}

/*
 * stat(2) where folders on the way may not be searched any more. With AT_EMPTY_PATH, which changes
 * nothing for a path that is not empty, the filter lets the call pass.
 */
static int get_status(int folder, const char *path, struct stat *ret, int flags)
{
    long result = syscall(SYS_newfstatat, folder, path, ret, flags | AT_EMPTY_PATH);
    int error = result ? errno : 0;
    if (error != EACCES || (path[0] != '/' && folder < 0))
        return -error;
    bool of_link = flags & AT_SYMLINK_NOFOLLOW;
    int fd = open_by_broker(of_link ? BROKER_STATUS_OF_LINK : BROKER_STATUS, path,
                            path[0] == '/' ? -1 : folder);
    if (fd < 0)
        return fd;
    error = syscall(SYS_newfstatat, fd, "", ret, AT_EMPTY_PATH) ? errno : 0;
    close(fd);
    return -error;
}

static int answer_call(long number, const long arguments[4])
{
    if (number == SYS_newfstatat)
        return get_status((int)arguments[0], (const char *)arguments[1],
                          (struct stat *)arguments[2], (int)arguments[3]);
    if (number == SYS_socket)
        return make_socket(arguments[0]);
    if (number == SYS_readlinkat)
        return read_link((int)arguments[0], (const char *)arguments[1], (char *)arguments[2],
                         (size_t)arguments[3]);
#ifdef SYS_readlink
    if (number == SYS_readlink)
        return read_link(-1, (const char *)arguments[0], (char *)arguments[1],
                         (size_t)arguments[2]);
#endif
    bool plain = number != SYS_openat && number != SYS_openat2;
    int folder = plain ? AT_FDCWD : (int)arguments[0];
    const char *path = (const char *)arguments[plain ? 0 : 1];
    if (number == SYS_openat2)
        return open_by_broker(BROKER_IN_ROOT, path, folder);
    long flags = arguments[plain ? 1 : 2];
    if (flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)) /* musl's O_ACCMODE has O_PATH in it */
        return -EPERM;
    if (folder == AT_FDCWD || path[0] == '/')
        folder = -1;
    return open_by_broker(flags & O_DIRECTORY ? BROKER_FOLDER : BROKER_FILE, path, folder);
}

static void handle(int signal_number, siginfo_t *info, void *context)
{
    static const int registers[] = ARGUMENT_REGISTERS;
    ucontext_t *at = context;
    long arguments[4];
    int error = errno;
    (void)signal_number;
    for (size_t i = 0; i < 4; i++)
        arguments[i] = (long)REGISTER(at, registers[i]);
    int result = answer_call(info->si_syscall, arguments);
    REGISTER(at, RESULT_REGISTER) = (__typeof__(REGISTER(at, 0)))(long)result;
    errno = error;
}

bool sandbox_order(int32_t pid, uint32_t what)
{
    struct broker_order order = {BROKER_ORDER, pid, what};
    struct broker_answer answer;
    return broker >= 0 && ask(&order, sizeof(order), -1, &answer) == 0;
}

bool broker_can_ask(void)
{
    return true;
}

void broker_ask_for_traps(int socket)
{
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigemptyset(&action.sa_mask);
    broker = socket;
    sigaction(SIGSYS, &action, NULL);
}

int broker_asked_socket(void)
{
    return broker;
}

#else

bool sandbox_order(int32_t pid, uint32_t what)
{
    (void)pid;
    (void)what;
    return false;
}

int broker_asked_socket(void)
{
    return -1;
}

bool broker_can_ask(void)
{
    return false;
}

void broker_ask_for_traps(int socket)
{
    (void)socket;
}

#endif
