/* What the limits, the kernel's settings and the file system say. */
#include "doctor_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define MEGABYTE ((unsigned long long)1 << 20)
/* A core of a small Python has about ten. */
#define SMALL_LIMIT (64 * MEGABYTE)
#define LOW_SPACE   (1024 * MEGABYTE)
#define NO_SPACE    (16 * MEGABYTE)

/* ---- limits ---- */

static char *limit_text(rlim_t limit)
{
    return limit == RLIM_INFINITY ? finding_text("unlimited")
                                  : finding_text("%llu bytes", (unsigned long long)limit);
}

static char *hard_limit_remedy(const struct findings *findings)
{
    if (findings->container)
        return finding_text("start the container with --ulimit core=-1");
    return finding_text("sudo prlimit --pid $$ --core=unlimited; for good: LimitCORE=infinity of "
                        "the service, or * hard core unlimited in /etc/security/limits.conf");
}

/* Of a handler only a limit of 1 keeps a core away (fs/coredump.c, do_coredump()); others ask for
 * the limit themselves, as systemd-coredump does by %c. */
static bool is_own_handler(void)
{
    struct core_pattern pattern;
    return core_pattern_read(&pattern) && pattern.destination == CORE_PIPE &&
           strstr(pattern.text, "/pystack-core handle ");
}

static void check_core_limit(struct findings *findings)
{
    static const char name[] = "core limit";
    struct rlimit limit;
    if (getrlimit(RLIMIT_CORE, &limit))
        return;
    if (is_own_handler() && limit.rlim_cur != 1)
        findings_add(findings, name, FINDING_GOOD,
                     finding_text("does not count: cores go to pystack-core handle"), NULL);
    else if (!limit.rlim_max)
        findings_add(findings, name, FINDING_STOPS,
                     finding_text("the hard limit of core files is 0: no process may write one"),
                     hard_limit_remedy(findings));
    else if (!limit.rlim_cur) {
        findings->limit_can_be_raised = true;
        findings_add(findings, name, FINDING_STOPS,
                     finding_text("the limit of core files is 0, and may be raised; pystack-core "
                                  "ci does that for its command"),
                     finding_text("ulimit -c unlimited"));
    } else if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < SMALL_LIMIT)
        findings_add(findings, name, FINDING_WARNING,
                     finding_text("core files are cut off after %llu bytes",
                                  (unsigned long long)limit.rlim_cur),
                     finding_text("ulimit -c unlimited"));
    else
        findings_add(findings, name, FINDING_GOOD, limit_text(limit.rlim_cur), NULL);
}

static void check_file_limit(struct findings *findings)
{
    struct rlimit limit;
    if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur < SMALL_LIMIT)
        findings_add(findings, "file limit", FINDING_WARNING,
                     finding_text("files, and so cores, are cut off after %llu bytes",
                                  (unsigned long long)limit.rlim_cur),
                     finding_text("ulimit -f unlimited"));
}

void check_limits(struct findings *findings)
{
    check_core_limit(findings);
    check_file_limit(findings);
}

/* ---- the pattern ---- */

static char *pattern_remedy(const struct findings *findings)
{
    return finding_text("%ssudo sysctl -w kernel.core_pattern=core.%%p",
                        findings->container ? "on the host of the container: " : "");
}

static void check_folder(struct findings *findings, const char *folder)
{
    const char *pattern = findings->pattern.text;
    bool is_here = findings->pattern.destination == CORE_RELATIVE;
    struct statvfs space;
    if (access(folder, F_OK)) {
        findings_add(findings, "core folder", FINDING_STOPS,
                     finding_text("%s, where core_pattern (%s) puts cores: %s", folder, pattern,
                                  strerror(errno)),
                     finding_text("mkdir -p '%s'", folder));
        return;
    }
    if (access(folder, W_OK)) {
        findings_add(
            findings, "core folder", FINDING_STOPS,
            finding_text("%s, where cores go, cannot be written: %s", folder, strerror(errno)),
            is_here ? finding_text("crash in a folder that can be written, or sudo sysctl "
                                   "-w kernel.core_pattern=/tmp/core.%%p")
                    : finding_text("sudo chmod 1777 '%s'", folder));
        return;
    }
    if (statvfs(folder, &space))
        return;
    unsigned long long bytes = (unsigned long long)space.f_bavail * space.f_frsize;
    enum finding_state state = bytes < NO_SPACE    ? FINDING_STOPS
                               : bytes < LOW_SPACE ? FINDING_WARNING
                                                   : FINDING_GOOD;
    findings_add(findings, "disk space", state,
                 finding_text("%llu MB free in %s", bytes / MEGABYTE, folder),
                 state == FINDING_GOOD ? NULL
                                       : finding_text("free some space, or sudo sysctl -w "
                                                      "kernel.core_pattern=/elsewhere/core.%%p"));
}

static void check_name(struct findings *findings)
{
    const struct core_pattern *pattern = &findings->pattern;
    if (core_pattern_names_pid(pattern))
        findings_add(findings, "core pattern", FINDING_GOOD,
                     finding_text("%s%s", pattern->text, pattern->adds_pid ? ".PID" : ""), NULL);
    else
        findings_add(findings, "core pattern", FINDING_WARNING,
                     finding_text("%s: of several processes that die in one folder the last one's "
                                  "core may replace the others (pystack-core ci renames them, but "
                                  "for those of one moment)",
                                  pattern->text),
                     finding_text("sudo sysctl -w kernel.core_uses_pid=1"));
    char here[4096];
    findings->folder = getcwd(here, sizeof(here)) ? core_pattern_folder(pattern, here) : NULL;
    if (findings->folder)
        check_folder(findings, findings->folder);
}

void check_pattern(struct findings *findings)
{
    findings->pattern_known = core_pattern_read(&findings->pattern);
    if (findings->container)
        findings_add(findings, "container", FINDING_GOOD,
                     finding_text("%s: core_pattern is the host's for all its containers; a file's "
                                  "name counts inside, a program is run outside",
                                  findings->container),
                     NULL);
    if (!findings->pattern_known)
        findings_add(findings, "core pattern", FINDING_WARNING,
                     finding_text("/proc/sys/kernel/core_pattern: %s", strerror(errno)),
                     finding_text("mount -t proc proc /proc"));
    else if (findings->pattern.destination == CORE_NOWHERE)
        findings_add(findings, "core pattern", FINDING_STOPS,
                     finding_text("it is empty, and core_uses_pid is 0"), pattern_remedy(findings));
    else if (findings->pattern.destination == CORE_RELATIVE ||
             findings->pattern.destination == CORE_ABSOLUTE)
        check_name(findings);
}

/* ---- contents ---- */

/* core(5), "Controlling which mappings are written to the core dump". */
#define FILTER_ANONYMOUS_PRIVATE 0x1ul
#define FILTER_ELF_HEADERS       0x10ul

void check_contents(struct findings *findings)
{
    char line[32];
    if (read_first_line("/proc/self/coredump_filter", line, sizeof(line))) {
        unsigned long filter = strtoul(line, NULL, 16);
        if (!(filter & FILTER_ANONYMOUS_PRIVATE))
            findings_add(findings, "coredump filter", FINDING_STOPS,
                         finding_text("0x%lx: stacks and heap would not be in the core", filter),
                         finding_text("echo 0x33 > /proc/self/coredump_filter"));
        else if (!(filter & FILTER_ELF_HEADERS))
            findings_add(
                findings, "coredump filter", FINDING_WARNING,
                finding_text("0x%lx: build-ids of libraries would not be in the core", filter),
                finding_text("echo 0x33 > /proc/self/coredump_filter"));
        else
            findings_add(findings, "coredump filter", FINDING_GOOD, finding_text("0x%lx", filter),
                         NULL);
    }
    if (prctl(PR_GET_DUMPABLE) != 1)
        findings_add(findings, "dumpable", FINDING_STOPS,
                     finding_text("processes that are started by this one may not be dumped "
                                  "(PR_SET_DUMPABLE)"),
                     finding_text("make the program readable for its user, without setuid and "
                                  "capabilities"));
    if (read_first_line("/proc/sys/fs/suid_dumpable", line, sizeof(line)))
        findings_add(findings, "setuid programs", FINDING_GOOD,
                     finding_text(*line == '0' ? "leave no core (fs.suid_dumpable is 0); others do"
                                               : "leave cores, too (fs.suid_dumpable is %s)",
                                  line),
                     NULL);
}
