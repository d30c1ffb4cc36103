/* core_pattern names a program or a socket: whether that is there, and keeps cores. */
#include "doctor_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SYSTEMD_SOCKET "/run/systemd/coredump"
#define SYSTEMD_STORE  "/var/lib/systemd/coredump"

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
