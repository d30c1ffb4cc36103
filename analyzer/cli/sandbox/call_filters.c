#include "call_filters.h"
#include "broker.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
/* Numbers from here on are those of x32 (arch/x86/include/uapi/asm/unistd.h). */
#define NUMBER_LIMIT 0x40000000u
#elif defined(__aarch64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#define NUMBER_LIMIT     0x40000000u
#else
#define OWN_ARCHITECTURE 0u /* No filter. */
#define NUMBER_LIMIT     0u
#endif

/* include/uapi/linux/ptrace.h and, of the registers, asm/ptrace-abi.h of x86. */
enum trace_request {
    TRACE_ME = 0,
    POKE_TEXT = 4,
    POKE_DATA = 5,
    POKE_USER = 6,
    KILL = 8,
    SET_REGISTERS = 13,
    SET_FP_REGISTERS = 15,
    SET_SIGNAL = 0x4203,
    SET_REGISTER_SET = 0x4205
};

#define REFUSE(error)     (SECCOMP_RET_ERRNO | (uint32_t)(error))
#define INSTRUCTION_LIMIT 1024
/* A sanitizer's own work at the end of the program, and its reports. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_UNDEFINED__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define IS_SANITIZED 1
#endif
#endif

/* One system call; with a mask, only where an argument has the value under it. */
struct call {
    long number;
    unsigned int argument;
    uint32_t mask;
    uint32_t value;
};

struct filter {
    struct sock_filter code[INSTRUCTION_LIMIT];
    unsigned short count;
};

static void put(struct filter *filter, struct sock_filter instruction)
{
    if (filter->count < INSTRUCTION_LIMIT)
        filter->code[filter->count++] = instruction;
}

static void put_load(struct filter *filter, size_t offset)
{
    put(filter, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
}

static void put_return(struct filter *filter, uint32_t action)
{
    put(filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
}

static void put_begin(struct filter *filter)
{
    put_load(filter, offsetof(struct seccomp_data, arch));
    put(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCHITECTURE, 1, 0));
    put_return(filter, REFUSE(EPERM));
    put_load(filter, offsetof(struct seccomp_data, nr));
    put(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, NUMBER_LIMIT, 0, 1));
    put_return(filter, REFUSE(EPERM));
}

/* The number is loaded before and behind it. The low half of an argument is what int has. */
static void put_call(struct filter *filter, const struct call *call, uint32_t action)
{
    bool checks = call->mask != 0;
    put(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call->number, 0,
                                             checks ? 5 : 1));
    if (checks) {
        put_load(filter, offsetof(struct seccomp_data, args) + 8 * (size_t)call->argument);
        put(filter, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, call->mask));
        put(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call->value, 0, 1));
    }
    put_return(filter, action);
    if (checks)
        put_load(filter, offsetof(struct seccomp_data, nr));
}

static void put_calls(struct filter *filter, const struct call *calls, size_t count,
                      uint32_t action)
{
    for (size_t i = 0; i < count; i++)
        put_call(filter, &calls[i], action);
}

static bool load(struct filter *filter)
{
    struct sock_fprog program = {.len = filter->count, .filter = filter->code};
    return OWN_ARCHITECTURE && filter->count < INSTRUCTION_LIMIT &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

#define PUT(filter, calls, action) \
    put_calls(filter, calls, sizeof(calls) / sizeof(*(calls)), action)

/* ---- the whole program ---- */

bool system_calls_forbid_foreign(void)
{
    static const struct call foreign[] = {
        {SYS_socket, 0, 0, 0},
        {SYS_connect, 0, 0, 0},
        {SYS_bind, 0, 0, 0},
        {SYS_listen, 0, 0, 0},
        {SYS_accept, 0, 0, 0},
        {SYS_accept4, 0, 0, 0},
        {SYS_execve, 0, 0, 0},
        {SYS_execveat, 0, 0, 0},
        {SYS_process_vm_writev, 0, 0, 0},
        {SYS_ptrace, 0, UINT32_MAX, TRACE_ME},
        {SYS_ptrace, 0, UINT32_MAX, POKE_TEXT},
        {SYS_ptrace, 0, UINT32_MAX, POKE_DATA},
        {SYS_ptrace, 0, UINT32_MAX, POKE_USER},
#if defined(__x86_64__)
        {SYS_ptrace, 0, UINT32_MAX, SET_REGISTERS},
        {SYS_ptrace, 0, UINT32_MAX, SET_FP_REGISTERS},
#endif
        {SYS_ptrace, 0, UINT32_MAX, SET_REGISTER_SET},
        {SYS_ptrace, 0, UINT32_MAX, SET_SIGNAL},
        {SYS_ptrace, 0, UINT32_MAX, KILL},
        {SYS_mount, 0, 0, 0},
        {SYS_umount2, 0, 0, 0},
        {SYS_pivot_root, 0, 0, 0},
        {SYS_chroot, 0, 0, 0},
        {SYS_setns, 0, 0, 0},
        {SYS_unshare, 0, 0, 0},
        {SYS_init_module, 0, 0, 0},
        {SYS_finit_module, 0, 0, 0},
        {SYS_delete_module, 0, 0, 0},
        {SYS_kexec_load, 0, 0, 0},
        {SYS_reboot, 0, 0, 0},
        {SYS_swapon, 0, 0, 0},
        {SYS_swapoff, 0, 0, 0},
        {SYS_bpf, 0, 0, 0},
        {SYS_perf_event_open, 0, 0, 0},
        {SYS_userfaultfd, 0, 0, 0},
        {SYS_io_setup, 0, 0, 0},
#ifdef SYS_io_uring_setup
        {SYS_io_uring_setup, 0, 0, 0},
        {SYS_io_uring_register, 0, 0, 0},
        {SYS_io_uring_enter, 0, 0, 0},
#endif
        // What it puts into a terminal its shell would read as typed.
        {SYS_ioctl, 1, UINT32_MAX, TIOCSTI},
        {SYS_ioctl, 1, UINT32_MAX, TIOCLINUX},
        {SYS_add_key, 0, 0, 0},
        {SYS_request_key, 0, 0, 0},
        {SYS_keyctl, 0, 0, 0},
        {SYS_settimeofday, 0, 0, 0},
        {SYS_clock_settime, 0, 0, 0},
        {SYS_sethostname, 0, 0, 0},
        {SYS_setdomainname, 0, 0, 0},
        {SYS_personality, 0, 0, 0},
        {SYS_acct, 0, 0, 0},
        {SYS_quotactl, 0, 0, 0},
        {SYS_open_by_handle_at, 0, 0, 0},
        {SYS_mknodat, 0, 0, 0},
#ifdef SYS_mknod
        {SYS_mknod, 0, 0, 0},
#endif
#ifdef SYS_pidfd_send_signal
        {SYS_pidfd_send_signal, 0, 0, 0},
#endif
#ifdef SYS_pidfd_getfd
        {SYS_pidfd_getfd, 0, 0, 0},
#endif
        {SYS_kill, 0, 0, 0},
        {SYS_tkill, 0, 0, 0},
        {SYS_tgkill, 0, 0, 0},
        {SYS_rt_sigqueueinfo, 0, 0, 0},
        {SYS_rt_tgsigqueueinfo, 0, 0, 0},
    };
    // Signals of abort(), the question whether a process is there, and that to the kernel who has
    // the other end of a socket: the protocol NETLINK_SOCK_DIAG (4), which no other family has.
    const struct call own[] = {{SYS_socket, 2, UINT32_MAX, NETLINK_SOCK_DIAG},
                               {SYS_tgkill, 0, UINT32_MAX, (uint32_t)getpid()},
                               {SYS_kill, 1, UINT32_MAX, 0}};
    static struct filter filter;
    filter.count = 0;
    put_begin(&filter);
    PUT(&filter, own, SECCOMP_RET_ALLOW);
    PUT(&filter, foreign, REFUSE(EPERM));
    put_return(&filter, SECCOMP_RET_ALLOW);
    return load(&filter);
}

/* ---- one who traces ---- */

/* Flags of open(2) that change something, each as a call of its own. */
#define CHANGING(number, argument)                                                      \
    {(number), (argument), O_WRONLY, O_WRONLY}, {(number), (argument), O_RDWR, O_RDWR}, \
        {(number), (argument), O_CREAT, O_CREAT},                                       \
    {                                                                                   \
        (number), (argument), O_TRUNC, O_TRUNC                                          \
    }

bool system_calls_forbid_changes(void)
{
    static const struct call changes[] = {
        CHANGING(SYS_openat, 2),
#ifdef SYS_open
        CHANGING(SYS_open, 1),      {SYS_creat, 0, 0, 0},        {SYS_rename, 0, 0, 0},
        {SYS_link, 0, 0, 0},        {SYS_symlink, 0, 0, 0},      {SYS_unlink, 0, 0, 0},
        {SYS_mkdir, 0, 0, 0},       {SYS_rmdir, 0, 0, 0},        {SYS_chmod, 0, 0, 0},
        {SYS_chown, 0, 0, 0},       {SYS_lchown, 0, 0, 0},       {SYS_utime, 0, 0, 0},
        {SYS_utimes, 0, 0, 0},      {SYS_futimesat, 0, 0, 0},    {SYS_renameat, 0, 0, 0},
#endif
        {SYS_renameat2, 0, 0, 0},   {SYS_linkat, 0, 0, 0},       {SYS_symlinkat, 0, 0, 0},
        {SYS_unlinkat, 0, 0, 0},    {SYS_mkdirat, 0, 0, 0},      {SYS_truncate, 0, 0, 0},
        {SYS_fchmod, 0, 0, 0},      {SYS_fchmodat, 0, 0, 0},
#ifdef SYS_fchmodat2
        {SYS_fchmodat2, 0, 0, 0},
#endif
        {SYS_fchown, 0, 0, 0},      {SYS_fchownat, 0, 0, 0},     {SYS_utimensat, 0, 0, 0},
        {SYS_setxattr, 0, 0, 0},    {SYS_lsetxattr, 0, 0, 0},    {SYS_fsetxattr, 0, 0, 0},
        {SYS_removexattr, 0, 0, 0}, {SYS_lremovexattr, 0, 0, 0}, {SYS_fremovexattr, 0, 0, 0},
    };
    // Its flags are in memory, where a filter does not see them; folder by folder it goes, too.
    static const struct call unknown[] = {{SYS_openat2, 0, 0, 0}};
    static struct filter filter;
    filter.count = 0;
    put_begin(&filter);
    PUT(&filter, changes, REFUSE(EPERM));
    PUT(&filter, unknown, REFUSE(ENOSYS));
    put_return(&filter, SECCOMP_RET_ALLOW);
    return load(&filter);
}

/* ---- a parser ---- */

/* Memory, time, threads, and what is open. */
static const struct call harmless[] = {
    {SYS_pread64, 0, 0, 0},
    {SYS_mmap, 0, 0, 0},
    {SYS_munmap, 0, 0, 0},
    {SYS_futex, 0, 0, 0},
    {SYS_read, 0, 0, 0},
    {SYS_write, 0, 0, 0},
    {SYS_close, 0, 0, 0},
    {SYS_fstat, 0, 0, 0},
    {SYS_newfstatat, 3, AT_EMPTY_PATH, AT_EMPTY_PATH},
#ifdef SYS_stat
    {SYS_stat, 0, 0, 0},
    {SYS_lstat, 0, 0, 0},
    {SYS_readlink, 0, 0, 0},
    {SYS_access, 0, 0, 0},
    {SYS_poll, 0, 0, 0},
    {SYS_getrlimit, 0, 0, 0},
    {SYS_dup2, 0, 0, 0},
#endif
    {SYS_statx, 0, 0, 0},
    {SYS_readlinkat, 0, 0, 0},
    {SYS_faccessat, 0, 0, 0},
#ifdef SYS_faccessat2
    {SYS_faccessat2, 0, 0, 0},
#endif
    {SYS_fstatfs, 0, 0, 0},
    {SYS_getdents64, 0, 0, 0},
    {SYS_brk, 0, 0, 0},
    {SYS_mremap, 0, 0, 0},
    {SYS_mprotect, 0, 0, 0},
    {SYS_madvise, 0, 0, 0},
    {SYS_lseek, 0, 0, 0},
    {SYS_readv, 0, 0, 0},
    {SYS_preadv, 0, 0, 0},
    {SYS_writev, 0, 0, 0},
    {SYS_pwrite64, 0, 0, 0},
    {SYS_ftruncate, 0, 0, 0},
    {SYS_fallocate, 0, 0, 0},
    {SYS_fadvise64, 0, 0, 0},
    {SYS_fsync, 0, 0, 0},
    {SYS_fcntl, 0, 0, 0},
    {SYS_dup, 0, 0, 0},
    {SYS_dup3, 0, 0, 0},
    {SYS_ppoll, 0, 0, 0},
    {SYS_memfd_create, 0, 0, 0},
    {SYS_sendfile, 0, 0, 0},
    {SYS_clock_gettime, 0, 0, 0},
    {SYS_clock_getres, 0, 0, 0},
    {SYS_clock_nanosleep, 0, 0, 0},
    {SYS_nanosleep, 0, 0, 0},
    {SYS_gettimeofday, 0, 0, 0},
    {SYS_getrandom, 0, 0, 0},
    {SYS_rt_sigaction, 0, 0, 0},
    {SYS_rt_sigprocmask, 0, 0, 0},
    {SYS_rt_sigreturn, 0, 0, 0},
    {SYS_sigaltstack, 0, 0, 0},
    {SYS_restart_syscall, 0, 0, 0},
    {SYS_set_robust_list, 0, 0, 0},
#ifdef SYS_rseq
    {SYS_rseq, 0, 0, 0},
#endif
    {SYS_set_tid_address, 0, 0, 0},
    {SYS_sched_yield, 0, 0, 0},
    {SYS_sched_getaffinity, 0, 0, 0},
    {SYS_sched_getparam, 0, 0, 0},
    {SYS_sched_getscheduler, 0, 0, 0},
    {SYS_getpid, 0, 0, 0},
    {SYS_gettid, 0, 0, 0},
    {SYS_getppid, 0, 0, 0},
    {SYS_getuid, 0, 0, 0},
    {SYS_geteuid, 0, 0, 0},
    {SYS_getgid, 0, 0, 0},
    {SYS_getegid, 0, 0, 0},
    {SYS_getrusage, 0, 0, 0},
    {SYS_uname, 0, 0, 0},
    {SYS_sysinfo, 0, 0, 0},
    {SYS_exit, 0, 0, 0},
    {SYS_exit_group, 0, 0, 0},
    {SYS_ioctl, 1, UINT32_MAX, TCGETS},
    {SYS_ioctl, 1, UINT32_MAX, TIOCGWINSZ},
    {SYS_clone, 0, CLONE_THREAD, CLONE_THREAD},
};

static void put_parsing(struct filter *filter, int broker, bool asks_system)
{
    const struct call own[] = {{SYS_tgkill, 0, UINT32_MAX, (uint32_t)getpid()},
                               {SYS_sendmsg, 0, UINT32_MAX, (uint32_t)broker},
                               {SYS_recvmsg, 0, UINT32_MAX, (uint32_t)broker},
                               {SYS_setpriority, 1, UINT32_MAX, 0}};
    static const struct call opens[] = {
#ifdef SYS_open
        {SYS_open, 0, 0, 0},
#endif
        {SYS_openat, 0, 0, 0},
        {SYS_openat2, 0, 0, 0},
        {SYS_newfstatat, 0, 0, 0},
    };
    // Of a living process. What is sent has no address: to the kernel by a socket of sock_diag(7).
    static const struct call asking[] = {{SYS_sendto, 5, UINT32_MAX, 0}, {SYS_recvfrom, 0, 0, 0}};
    static const struct call own_links[] = {
        {SYS_readlinkat, 0, UINT32_MAX, (uint32_t)BROKER_OWN_READLINK}};
    static const struct call questions[] = {
#ifdef SYS_readlink
        {SYS_readlink, 0, 0, 0},
#endif
        {SYS_readlinkat, 0, 0, 0},
        {SYS_socket, 2, UINT32_MAX, NETLINK_SOCK_DIAG},
    };
    // Its flags are in memory, where a filter does not see them; clone(2) is used in its place.
    static const struct call unknown[] = {{SYS_clone3, 0, 0, 0}};
    if (asks_system) {
        PUT(filter, own_links, SECCOMP_RET_ALLOW);
        PUT(filter, questions, SECCOMP_RET_TRAP);
        PUT(filter, asking, SECCOMP_RET_ALLOW);
    }
    PUT(filter, harmless, SECCOMP_RET_ALLOW);
    PUT(filter, own, SECCOMP_RET_ALLOW);
    PUT(filter, opens, broker < 0 ? REFUSE(EPERM) : SECCOMP_RET_TRAP);
    PUT(filter, unknown, REFUSE(ENOSYS));
#ifdef IS_SANITIZED
    static const struct call sanitizers[] = {{SYS_prctl, 0, 0, 0}, {SYS_prlimit64, 0, 0, 0}};
    PUT(filter, sanitizers, SECCOMP_RET_ALLOW);
#endif
}

bool system_calls_allow_parsing(const struct parsing_calls *calls)
{
    static struct filter filter;
    static const struct call terminals[] = {{SYS_ioctl, 1, UINT32_MAX, TCSETS},
                                            {SYS_ioctl, 1, UINT32_MAX, TCSETSW},
                                            {SYS_ioctl, 1, UINT32_MAX, TCSETSF},
                                            {SYS_ioctl, 1, UINT32_MAX, TCFLSH}};
    const struct call hearing[] = {{SYS_recvmsg, 0, UINT32_MAX, (uint32_t)calls->heard}};
    filter.count = 0;
    put_begin(&filter);
    if (calls->heard)
        PUT(&filter, hearing, SECCOMP_RET_ALLOW);
    if (calls->terminal)
        PUT(&filter, terminals, SECCOMP_RET_ALLOW);
    put_parsing(&filter, calls->broker, calls->asks_system);
    put_return(&filter, REFUSE(EPERM));
    return load(&filter);
}

bool system_calls_allow_keeping(int broker, int control)
{
    static struct filter filter;
    const struct call own[] = {{SYS_recvmsg, 0, UINT32_MAX, (uint32_t)control},
                               {SYS_clone, 0, CLONE_VM, 0},
#ifdef SYS_fork
                               {SYS_fork, 0, 0, 0},
#endif
                               {SYS_wait4, 0, 0, 0},
#ifdef SYS_alarm
                               {SYS_alarm, 0, 0, 0},
#endif
                               {SYS_setitimer, 0, 0, 0},
                               {SYS_pipe2, 0, 0, 0},
                               {SYS_prctl, 0, UINT32_MAX, PR_SET_PDEATHSIG},
                               {SYS_prctl, 0, UINT32_MAX, PR_SET_SECCOMP},
                               {SYS_prlimit64, 0, 0, 0},
#ifdef SYS_setrlimit
                               {SYS_setrlimit, 0, 0, 0},
#endif
                               {SYS_tgkill, 2, UINT32_MAX, SIGABRT}};
    filter.count = 0;
    put_begin(&filter);
    // What is told first acts.
    put_calls(&filter, own, sizeof(own) / sizeof(*own), SECCOMP_RET_ALLOW);
    put_parsing(&filter, broker, false);
    put_return(&filter, REFUSE(EPERM));
    return load(&filter);
}
