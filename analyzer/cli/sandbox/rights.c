#include "rights.h"

#include <grp.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The user and the group that own nothing (Debian: base-passwd). */
#define NOBODY 65534
/* CAP_CHECKPOINT_RESTORE of linux/capability.h, since Linux 5.9. */
#define CHECKPOINT_RESTORE 40

/* A word has 32 of them. */
struct capabilities {
    uint32_t words[2];
};

bool rights_allow_no_new(void)
{
    return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

/* Of those that are there the named ones stay, in all sets. */
static bool keep(const struct capabilities *kept)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];
    if (syscall(SYS_capget, &header, data))
        return false;
    // Those which the kernel does not know are an error; without CAP_SETPCAP each is.
    for (int i = 0; prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; i++)
        if (!(kept->words[i / 32] >> (i % 32) & 1))
            (void)prctl(PR_CAPBSET_DROP, i, 0, 0, 0);
    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    for (size_t i = 0; i < 2; i++) {
        data[i].effective &= kept->words[i];
        data[i].permitted &= kept->words[i];
        data[i].inheritable = 0;
    }
    return !syscall(SYS_capset, &header, data);
}

/*
 * Who has it not may trace those alone whose capabilities are among his own (security/commoncap.c,
 * cap_ptrace_access_check()): in a container, where root has a dozen, as its processes do.
 */
static bool traces_by_right(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];
    return syscall(SYS_capget, &header, data) || data[0].permitted >> CAP_SYS_PTRACE & 1;
}

static void add(struct capabilities *capabilities, unsigned int which)
{
    capabilities->words[which / 32] |= 1u << (which % 32);
}

/*
 * CAP_KILL: the kernel's signal to children of a process that has ended is sent with the rights of
 * that one (kernel/exit.c, reparent_leader(); kernel/signal.c, kill_ok_by_cred()), and nobody's
 * children are another user's. Calls that signal others are filtered.
 */
bool rights_keep_needed(void)
{
    static const unsigned int needed[] = {
        CAP_SYS_PTRACE,     CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE, CAP_FOWNER,  CAP_SYS_NICE,
        CAP_SYS_RESOURCE,   CAP_SETUID,          CAP_SETGID,       CAP_SETPCAP, CAP_IPC_LOCK,
        CAP_KILL,           CAP_SYS_ADMIN, /* /proc/PID/map_files; before Linux 5.9. */
        CHECKPOINT_RESTORE,                /* The same. */
    };
    struct capabilities kept = {{0}};
    if (!traces_by_right())
        return true;
    for (size_t i = 0; i < sizeof(needed) / sizeof(*needed); i++)
        add(&kept, needed[i]);
    return keep(&kept);
}

void rights_keep_tracing(void)
{
    const bool has_restore = prctl(PR_CAPBSET_READ, CHECKPOINT_RESTORE, 0, 0, 0) >= 0;
    struct capabilities kept = {{0}};
    if (!traces_by_right())
        return;
    add(&kept, CAP_SYS_PTRACE);
    add(&kept, CAP_DAC_READ_SEARCH);
    add(&kept, CAP_SYS_NICE);
    add(&kept, CAP_KILL);
    // /proc/PID/map_files.
    add(&kept, has_restore ? CHECKPOINT_RESTORE : CAP_SYS_ADMIN);
    (void)keep(&kept);
}

/* As the limit: 20 - the lowest nice value (setrlimit(2)). */
static void keep_priority(void)
{
    const struct rlimit most = {.rlim_cur = 40, .rlim_max = 40};
    (void)setrlimit(RLIMIT_NICE, &most);
}

bool rights_give_up(void)
{
    bool good = true;
    int parent_signal = 0;
    keep_priority();
    (void)prctl(PR_GET_PDEATHSIG, &parent_signal);
    if (!geteuid())
        good = !setgroups(0, NULL) && !setresgid(NOBODY, NOBODY, NOBODY) &&
               !setresuid(NOBODY, NOBODY, NOBODY);
    // The change of the user has taken it back (prctl(2)).
    (void)prctl(PR_SET_PDEATHSIG, parent_signal);
    return keep(&(struct capabilities){{0}}) && good;
}

bool rights_close_files(void)
{
    // Those of version 1 (Linux 5.13); later ones are asked for as far as they are known.
    static const uint64_t first = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;
    struct {
        uint64_t files;
        uint64_t network;
        uint64_t scopes;
    } rules = {.files = first};
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    size_t size = sizeof(rules.files);
    if (version < 1)
        return false;
    // Bits of linux/landlock.h: 2 REFER, 3 TRUNCATE, 4 TCP, 5 IOCTL_DEV, 6 scopes.
    if (version >= 2)
        rules.files |= 1u << 13;
    if (version >= 3)
        rules.files |= 1u << 14;
    if (version >= 4) {
        rules.network = 3;
        size = offsetof(__typeof__(rules), scopes);
    }
    if (version >= 6) {
        rules.scopes = 3;
        size = sizeof(rules);
    }
    int set = (int)syscall(SYS_landlock_create_ruleset, &rules, size, 0);
    if (set < 0)
        return false;
    bool good = !syscall(SYS_landlock_restrict_self, set, 0);
    close(set);
    return good;
}
