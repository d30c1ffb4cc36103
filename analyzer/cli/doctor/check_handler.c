/* core_pattern names a program or a socket: whether that is there, and keeps cores. */
#include "doctor_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SYSTEMD_SOCKET "/run/systemd/coredump"
#define SYSTEMD_STORE  "/var/lib/systemd/coredump"
#define OWN_STORE      "/var/lib/pystack-core/crashes"

static char *remedy(const struct findings *findings)
{
    return finding_text("%ssudo sysctl -w kernel.core_pattern=core.%%p",
                        findings->container ? "on the host of the container: " : "");
}

/* The last "Storage=" of coredump.conf(5), where it is none. */
static bool stores_nothing(void)
{
    char line[256];
    bool nothing = false;
    FILE *file = fopen("/etc/systemd/coredump.conf", "re");
    while (file && fgets(line, sizeof(line), file))
        if (!strncmp(line, "Storage=", 8))
            nothing = !strncmp(line + 8, "none", 4);
    if (file)
        fclose(file);
    return nothing;
}

static void check_systemd(struct findings *findings)
{
    struct stat status;
    if (stat(SYSTEMD_SOCKET, &status) || !S_ISSOCK(status.st_mode))
        findings_add(findings, "core pattern", FINDING_STOPS,
                     finding_text("systemd-coredump is the handler, but nobody listens at its "
                                  "socket " SYSTEMD_SOCKET),
                     finding_text("sudo systemctl start systemd-coredump.socket, or sudo sysctl -w "
                                  "kernel.core_pattern=core.%%p"));
    else if (stores_nothing())
        findings_add(findings, "core pattern", FINDING_STOPS,
                     finding_text("systemd-coredump is the handler, and keeps no core "
                                  "(Storage=none in /etc/systemd/coredump.conf)"),
                     finding_text("Storage=external"));
    else if (access(SYSTEMD_STORE, R_OK | X_OK))
        findings_add(
            findings, "core pattern", FINDING_WARNING,
            finding_text("systemd-coredump is the handler; " SYSTEMD_STORE ": %s", strerror(errno)),
            finding_text("cores are found by coredumpctl list"));
    else
        findings_add(findings, "core pattern", FINDING_GOOD,
                     finding_text("systemd-coredump keeps them in " SYSTEMD_STORE), NULL);
}

/* This program: its store, which it makes at the first crash. */
static void check_own(struct findings *findings)
{
    static const char option[] = " --store ";
    char store[sizeof(findings->pattern.text)] = OWN_STORE;
    const char *given = strstr(findings->pattern.text, option);
    struct stat status;
    if (given)
        snprintf(store, sizeof(store), "%s", given + strlen(option));
    store[strcspn(store, " ")] = '\0';
    if (!strstr(findings->pattern.text, " handle "))
        findings_add(findings, "core pattern", FINDING_STOPS,
                     finding_text("core_pattern starts pystack-core without its command handle"),
                     finding_text("sudo pystack-core handle --install"));
    else if (!lstat(store, &status) &&
             (!S_ISDIR(status.st_mode) || status.st_uid || (status.st_mode & (S_IRWXG | S_IRWXO))))
        findings_add(findings, "core pattern", FINDING_STOPS,
                     finding_text("pystack-core is the handler, and does not trust its store %s: "
                                  "no folder, not root's, or open to others",
                                  store),
                     finding_text("sudo chown root %s; sudo chmod 700 %s", store, store));
    else
        findings_add(findings, "core pattern", FINDING_GOOD,
                     finding_text("pystack-core keeps reports and small cores in %s; pystack-core "
                                  "crashes lists them",
                                  store),
                     NULL);
}

static void check_program(struct findings *findings, const char *program)
{
    const char *base = strrchr(program, '/');
    base = base ? base + 1 : program;
    if (findings->container)
        findings_add(findings, "core pattern", FINDING_STOPS,
                     finding_text("%s: cores go to a program of the host, and none is left in the "
                                  "container",
                                  findings->pattern.text),
                     remedy(findings));
    else if (access(program, X_OK))
        findings_add(findings, "core pattern", FINDING_STOPS,
                     finding_text("cores go to %s: %s", program, strerror(errno)),
                     remedy(findings));
    else if (!strcmp(base, "systemd-coredump"))
        check_systemd(findings);
    else if (!strcmp(base, "pystack-core"))
        check_own(findings);
    else if (!strcmp(base, "apport"))
        findings_add(
            findings, "core pattern", FINDING_WARNING,
            finding_text("apport is the handler: it keeps cores of programs that are in no "
                         "package in /var/lib/apport/coredump, and of others none"),
            remedy(findings));
    else
        findings_add(
            findings, "core pattern", FINDING_WARNING,
            finding_text("cores go to %s, which keeps them, or not, where it likes", program),
            remedy(findings));
}

void check_handler(struct findings *findings)
{
    if (!findings->pattern_known)
        return;
    if (findings->pattern.destination == CORE_SOCKET) {
        findings_add(findings, "core pattern", FINDING_WARNING,
                     finding_text("cores go to the socket %s", findings->pattern.text),
                     remedy(findings));
        return;
    }
    if (findings->pattern.destination != CORE_PIPE)
        return;
    char *program = core_pattern_program(&findings->pattern);
    if (program)
        check_program(findings, program);
    else
        findings->failed = true;
    free(program);
}
