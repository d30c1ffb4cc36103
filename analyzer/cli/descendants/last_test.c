/* Which test a process of pytest is at: PYTEST_CURRENT_TEST, in its memory as it is now. */
#include "descendants_private.h"

#include <pystack_core.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VARIABLES_LIMIT 4096u
#define TRIES_LIMIT     4u
/* Seconds that a process needs to load its libraries, before the first try. */
#define LOADING_SECONDS 0.1

/*
 * Behind the end of its last test pytest tells how the tests went, and the interpreter ends: that
 * took 30 ms of a processor at least (pytest 7.2 and CPython 3.11 with no plugin at all).
 */
#define ENDING_SECONDS 0.008
/* The same of those that cannot be looked at so often; they have not written anything. */
#define QUIET_SECONDS 0.1
/* What tells how tests went that did not all pass is longer; that one test passed is shorter. */
#define SUMMARY_BYTES 120u
/*
 * Before pytest 8.2 the variable of a test that called pytest.exit() stays, and looks go on until
 * the interpreter ends. What is written of that is longer than this: "1 passed in 0.01s" and a line
 * with "_pytest.outcomes.Exit" (_pytest/terminal.py), be the terminal as narrow as it may.
 */
#define EXIT_BYTES 40u
/* Words at the start of a command line. */
#define FIRST_WORDS 4u

static const char test_name[] = "PYTEST_CURRENT_TEST=", worker_name[] = "PYTEST_XDIST_WORKER=",
                  session_name[] = "PYTEST_VERSION=";

/* Without stopping it: where the C library has its environment. */
static void find_environment(struct descendant *process)
{
    struct psc_error err;
    struct psc_target *target = NULL;
    psc_addr address = 0;
    char path[64];
    process->tries++;
    if (psc_open_process(process->pid, NULL, &target, &err) != PSC_OK)
        return;
    if (psc_find_environment(target, &address, &err) == PSC_OK) {
        snprintf(path, sizeof(path), "/proc/%d/mem", process->pid);
        process->memory = open(path, O_RDONLY | O_CLOEXEC);
        process->environment = process->memory >= 0 ? address : 0;
    }
    psc_close(target);
}

static ssize_t read_memory(const struct descendant *process, uint64_t address, void *ret,
                           size_t size)
{
    return pread(process->memory, ret, size, (off_t)address);
}

/* The string up to its end or the limit; what lies on the page behind it need not be there. */
static size_t read_text(const struct descendant *process, uint64_t address, char *ret, size_t size)
{
    size_t done = 0;
    while (done < size - 1) {
        size_t piece = 4096 - (size_t)((address + done) % 4096);
        if (piece > size - 1 - done)
            piece = size - 1 - done;
        ssize_t got = read_memory(process, address + done, ret + done, piece);
        if (got <= 0)
            break;
        done += (size_t)got;
        if (memchr(ret + done - got, 0, (size_t)got))
            return strlen(ret);
    }
    ret[done] = '\0';
    return done;
}

/* false: that is what it was. */
static bool set(char **ret, const char *text)
{
    if (*ret && !strcmp(*ret, text))
        return false;
    char *copy = strdup(text);
    if (!copy)
        return false;
    free(*ret);
    *ret = copy;
    return true;
}

/*
 * Variables that it was started with are those of its parent: they lie together above the start
 * of its stack (execve(2)); what putenv(3) and setenv(3) add is elsewhere.
 */
static bool is_inherited(const struct descendant *process, uint64_t address)
{
    return process->image && address > process->image && address - process->image < (8u << 20);
}

static void look(struct descendant *process, const uint64_t *variables, size_t count, double now)
{
    char text[TEST_LIMIT];
    bool in_test = false, in_session = false;
    // Before the variables are read: what is used in between counts as used behind it.
    double used = process_used(process->pid);
    for (size_t i = 0; i < count && variables[i]; i++) {
        if (is_inherited(process, variables[i]))
            continue;
        size_t size = read_text(process, variables[i], text, sizeof(text));
        if (size > sizeof(test_name) - 1 && !strncmp(text, test_name, sizeof(test_name) - 1)) {
            if (set(&process->test, text + sizeof(test_name) - 1))
                process->written_at_test = process->written;
            process->test_seen = now;
            process->written_in_test = process->written;
            process->used_in_test = used;
            in_test = true;
        } else if (!strncmp(text, worker_name, sizeof(worker_name) - 1)) {
            (void)set(&process->worker, text + sizeof(worker_name) - 1);
        } else {
            in_session |= !strncmp(text, session_name, sizeof(session_name) - 1);
        }
    }
    // If it ended meanwhile nothing more could be read: that is not the end of a test.
    uint64_t array;
    if (read_memory(process, process->environment, &array, sizeof(array)) != sizeof(array))
        return;
    process->in_test = in_test;
    process->session_seen |= in_session;
    process->session_over = process->session_seen && !in_session;
}

void last_test_read(struct descendant *process, double now)
{
    uint64_t array = 0, variables[VARIABLES_LIMIT];
    double age = now - process->seen;
    if (!process->environment && process->tries < TRIES_LIMIT &&
        age > LOADING_SECONDS * (double)(1u << (2 * process->tries)))
        find_environment(process);
    if (!process->environment ||
        read_memory(process, process->environment, &array, sizeof(array)) != sizeof(array) ||
        !array)
        return;
    // Up to the end of a page that is there.
    ssize_t got = read_memory(process, array, variables, sizeof(variables));
    if (got > 0)
        look(process, variables, (size_t)got / sizeof(*variables), now);
}

bool last_test_is_near(const struct descendant *process)
{
    return process->test && process->environment && !process->session_over;
}

/* python -m pytest, or its script: those end by sys.exit(); others may by os._exit(). */
static bool is_pytest(const struct descendant *process)
{
    size_t at = 0;
    for (unsigned word = 0; word < FIRST_WORDS && at < process->arguments_size; word++) {
        const char *text = process->arguments + at, *slash = strrchr(text, '/');
        const char *name = slash ? slash + 1 : text;
        if (!strcmp(name, "pytest") || !strcmp(name, "py.test"))
            return true;
        at += strlen(text) + 1;
    }
    return false;
}

bool last_test_was_cut_short(struct descendant *process, bool is_there, double now)
{
    const bool told = is_there && process_written_read(process);
    const uint64_t wrote = process->written - process->written_in_test;
    const uint64_t wrote_at_test = process->written - process->written_at_test;
    const double passed = now - process->test_seen;
    double used = is_there ? process_used(process->pid) - process->used_in_test : passed;
    if (!process->test || !is_pytest(process) || (told && wrote > SUMMARY_BYTES) ||
        (!process->session_seen && (!told || wrote_at_test > EXIT_BYTES)))
        return false;
    // One thread ends an interpreter: it cannot use more than has passed.
    if (used > passed || used < 0)
        used = passed;
    return used < ENDING_SECONDS || (told && !wrote && process->in_test && passed < QUIET_SECONDS);
}
