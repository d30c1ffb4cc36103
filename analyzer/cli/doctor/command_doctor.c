/* `pystack-core doctor`: one check after the other, and what they found. */
#include "doctor_private.h"
#include "messages.h"

#include <stdlib.h>
#include <unistd.h>

/* Exit code: something would stop it. */
#define EXIT_STOPS 1

static enum options_result take_json(void *request, const struct option_spec *spec,
                                     const char *value)
{
    (void)spec;
    (void)value;
    *(bool *)request = true;
    return OPTIONS_RUN;
}

static const struct option_spec option_list[] = {
    {NULL, "json", 0, OPTION_FLAG, NULL, "as JSON (schema/pystack-core-doctor-1.schema.json)",
     take_json, COMPLETE_NOTHING, NULL},
    OPTION_HELP,
};

const struct command_spec doctor_command = {
    .name = "doctor",
    .summary = "why no core file would be written here, and what helps",
    .usage = "[--json]",
    .about =
        "Says whether a process that crashes here, in this folder and with these limits, leaves a\n"
        "core file that can be read, whether processes can be looked at, and what to do where "
        "not.\n"
        "A child process is made to crash for it, in a folder of its own.",
    .options = option_list,
    .option_count = sizeof(option_list) / sizeof(option_list[0]),
    .examples = "pystack-core doctor\n"
                "docker run --rm --ulimit core=-1 IMAGE pystack-core doctor",
    .exit_status = "Exit status: 0 nothing would stop it, 1 something would, 2 that could not be "
                   "found out, 64\nwrong usage.",
};

static const char *find_container(void)
{
    static const struct {
        const char *path, *name;
    } marks[] = {{"/.dockerenv", "docker"}, {"/run/.containerenv", "podman"}};
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
        if (!access(marks[i].path, F_OK))
            return marks[i].name;
    if (getenv("KUBERNETES_SERVICE_HOST"))
        return "kubernetes";
    const char *named = getenv("container"); // systemd's container interface
    return named && *named ? "a container" : NULL;
}

static int run_checks(bool as_json)
{
    struct findings findings = {.container = find_container()};
    check_limits(&findings);
    check_pattern(&findings);
    check_handler(&findings);
    check_contents(&findings);
    check_tracing(&findings);
    check_cgroup(&findings);
    check_by_trial(&findings);
    bool good = !findings.failed;
    if (good && as_json)
        good = print_findings_json(stdout, &findings);
    else if (good)
        print_findings(stdout, &findings);
    if (!good)
        complain("out of memory");
    int code = !good ? EXIT_NOTHING : findings_stop(&findings) ? EXIT_STOPS : EXIT_COMPLETE;
    findings_deinit(&findings);
    return code;
}

int command_doctor(int argc, char **argv)
{
    bool as_json = false;
    int first;
    enum options_result result = command_line_parse(&doctor_command, &as_json, argc, argv, &first);
    if (result != OPTIONS_RUN)
        return command_line_exit_code(result);
    if (first == argc)
        return run_checks(as_json);
    complain_of_usage("doctor: '%s' is not understood", argv[first]);
    return EXIT_USAGE;
}
