/* Where the commands for gdb and lldb are: installed with the program, at a place that is known
 * from its own. */
#include "option_values.h"

#include "messages.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* PSC_SCRIPTS_FROM_PROGRAM: their folder, from that of the program on, or an absolute path
 * (analyzer/CMakeLists.txt). */
static enum options_result print_script(const char *name)
{
    char program[PATH_MAX], path[PATH_MAX + sizeof(PSC_SCRIPTS_FROM_PROGRAM) + 64], found[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
    program[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(program, '/');
    if (!slash) {
        complain("where this program is cannot be read from /proc/self/exe, so neither where %s is",
                 name);
        return OPTIONS_FAILED;
    }
    *slash = '\0';
    const char *folder = PSC_SCRIPTS_FROM_PROGRAM;
    snprintf(path, sizeof(path), "%s%s%s/%s", folder[0] == '/' ? "" : program,
             folder[0] == '/' ? "" : "/", folder, name);
    if (!realpath(path, found) || access(found, R_OK)) {
        complain("%s is not installed with this program (it would be %s); the packages, the wheel "
                 "and the archive of a release have it",
                 name, path);
        return OPTIONS_FAILED;
    }
    printf("%s\n", found);
    return OPTIONS_DONE;
}

enum options_result take_gdb_script(void *request, const struct option_spec *spec,
                                    const char *value)
{
    (void)request;
    (void)spec;
    (void)value;
    return print_script("pystack_core_gdb.py");
}

enum options_result take_lldb_script(void *request, const struct option_spec *spec,
                                     const char *value)
{
    (void)request;
    (void)spec;
    (void)value;
    return print_script("pystack_core_lldb.py");
}
