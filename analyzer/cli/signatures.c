#include "signatures.h"

#include "messages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RULES_LIMIT ((off_t)1 << 20) /* Bytes of a file of rules. */

/* malloc'd; NULL, and said so, when it is none. A file may shrink while it is read. */
static char *read_rules(const char *path)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool good = fd >= 0 && !fstat(fd, &status);
    if (good && (!S_ISREG(status.st_mode) || status.st_size > RULES_LIMIT)) {
        complain("--rules: %s: is no file of at most a megabyte", path);
        close(fd);
        return NULL;
    }
    char *text = good ? calloc((size_t)status.st_size + 1, 1) : NULL;
    ssize_t size = text ? read(fd, text, (size_t)status.st_size) : -1;
    if (size < 0) {
        complain("--rules: %s: %s", path, strerror(errno));
        free(text);
        text = NULL;
    }
    if (fd >= 0)
        close(fd);
    return text;
}

/* NULL stands for the built-in ones. */
static bool open_rules(const char *path, struct psc_signature_rules **ret)
{
    struct psc_error err = {0};
    *ret = NULL;
    if (!path)
        return true;
    char *text = read_rules(path);
    if (!text)
        return false;
    bool good = psc_signature_rules_create(text, path, ret, &err) == PSC_OK;
    if (!good)
        complain("--rules: %s", err.message);
    free(text);
    return good;
}

bool sign_traces(struct psc_trace *const *traces, size_t count, const struct options *options)
{
    struct psc_signature_rules *rules;
    struct psc_error err = {0};
    if (!options->rules) // They have one, of the built-in rules.
        return true;
    bool good = open_rules(options->rules, &rules);
    for (size_t i = 0; i < count && good; i++)
        if (psc_trace_sign(traces[i], rules, &err) != PSC_OK) {
            complain("%s", err.message);
            good = false;
        }
    psc_signature_rules_destroy(rules);
    return good;
}

bool explain_signatures(struct psc_trace *const *traces, size_t count)
{
    for (size_t i = 0; i < count; i++)
        fputs(psc_trace_explain_signature(traces[i]), stdout);
    if (!fflush(stdout) || errno == EPIPE)
        return true;
    complain("standard output: %s", strerror(errno));
    return false;
}
