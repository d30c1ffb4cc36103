/* Processes that are recorded: they begin, become other programs, and end. */
#include "record_private.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* How often a process is looked at beside its samples, and for new ones. */
#define LOOK_INTERVAL UINT64_C(50000000)
/* How long a session that does not know all code is kept nevertheless. */
#define SESSION_AGE UINT64_C(300000000)
/* The same of one without an interpreter, in a process that may be about to start one. */
#define WITHOUT_PYTHON_AGE   UINT64_C(100000000)
#define WITHOUT_PYTHON_TRIES UINT64_C(20000000000)
/* Bytes that a session may hold: what it leaves behind is freed with it. */
#define SESSION_SIZE ((size_t)256 * 1024 * 1024)
/* Processes that are recorded at once. */
#define PROCESS_LIMIT 4096

static uint64_t profile_time(const struct profile *profile)
{
    uint64_t now = record_now();
    return now > profile->start ? now - profile->start : 0;
}

/* ---- what it is ---- */

#define IDENTITY_UNKNOWN UINT64_MAX

static ssize_t read_small(int32_t pid, const char *name, char *buffer, size_t size)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, buffer, size - 1);
    if (fd >= 0)
        close(fd);
    buffer[got > 0 ? got : 0] = '\0';
    return got;
}

/*
 * By proc(5): the file of the program, and members 26 to 28 of "stat", where its code and its stack
 * are. 0: it has ended; IDENTITY_UNKNOWN: it has no memory just now, as in exec and at its end.
 */
static uint64_t read_identity(int32_t pid)
{
    char path[64], text[1024];
    struct stat file = {0};
    if (read_small(pid, "stat", text, sizeof(text)) <= 0)
        return 0;
    const char *at = strrchr(text, ')');
    if (!at || at[1] != ' ' || at[2] == 'Z' || at[2] == 'X')
        return 0;
    snprintf(path, sizeof(path), "/proc/%d/exe", pid);
    if (stat(path, &file))
        file.st_ino = 0;
    uint64_t identity = hash_pair(file.st_dev, file.st_ino);
    // The state behind the name is member 3.
    const char *member = at + 2;
    uint64_t value = 0;
    for (int number = 3; member && number < 29; number++) {
        value = strtoull(member, NULL, 10);
        if (number >= 26)
            identity = hash_pair(identity, value);
        member = strchr(member, ' ');
        member = member ? member + 1 : NULL;
    }
    if (!value || !file.st_ino)
        return IDENTITY_UNKNOWN;
    return identity ? identity : 1;
}

static void describe(struct recording *recording, struct recorded_process *process)
{
    struct profile *profile = recording->profile;
    struct profile_process *one = &profile->processes[process->number];
    const struct psc_trace *trace = capture_session_trace(process->session);
    struct text arguments = {0};
    for (size_t i = 0; i < trace->argument_count; i++)
        text_printf(&arguments, "%s%s", i ? " " : "", trace->arguments[i]);
    const char *slash = trace->executable ? strrchr(trace->executable, '/') : NULL;
    one->executable = profile_add_string(profile, trace->executable);
    one->name = profile_add_string(profile, slash ? slash + 1 : trace->executable);
    one->arguments = profile_add_string(profile, arguments.data);
    if (trace->python) {
        text_clear(&arguments);
        text_printf(&arguments, "%s %s", trace->python->implementation, trace->python->version);
        one->python = profile_add_string(profile, arguments.data);
    }
    text_deinit(&arguments);
}

/* ---- life ---- */

static enum psc_status add_item(struct recording *recording, struct recorded_process *process,
                                uint32_t parent)
{
    struct profile *profile = recording->profile;
    const struct profile_process made = {.pid = process->pid,
                                         .parent = parent,
                                         .start = profile_time(profile),
                                         .end = profile_time(profile)};
    process->number = profile_add_process(profile, &made);
    process->frames.process = process->number;
    return process->number ? PSC_OK : PSC_ERR_MEMORY;
}

static void destroy_process(struct recorded_process *process)
{
    if (!process)
        return;
    capture_session_close(process->session);
    threads_close(&process->threads);
    frames_deinit(&process->frames);
    free(process);
}

void processes_destroy(struct recording *recording)
{
    for (size_t i = 0; i < recording->count; i++)
        destroy_process(recording->processes[i]);
    free(recording->processes);
    recording->processes = NULL;
    recording->count = 0;
}

static void end_process(struct recording *recording, struct recorded_process *process)
{
    struct profile *profile = recording->profile;
    struct profile_process *one = &profile->processes[process->number];
    one->end = profile_time(profile);
    one->ended = true;
    for (size_t i = 0; i < process->threads.count; i++) {
        struct recorded_thread *thread = &process->threads.items[i];
        if (!thread->number)
            continue;
        profile->threads[thread->number].end = one->end;
        profile->threads[thread->number].ended = true;
    }
    threads_close(&process->threads);
    capture_session_close(process->session);
    process->session = NULL;
    frames_forget(&process->frames);
}

enum psc_status processes_add(struct recording *recording, int32_t pid, uint32_t parent,
                              struct psc_error *err)
{
    uint64_t identity = read_identity(pid);
    if (!identity)
        return PSC_OK; // It has ended already.
    if (!array_reserve(&recording->processes, &recording->capacity, recording->count + 1,
                       sizeof(struct recorded_process *)))
        return psc_fail_memory(err);
    struct recorded_process *process = calloc(1, sizeof(*process));
    if (!process)
        return psc_fail_memory(err);
    process->pid = pid;
    frames_init(&process->frames, recording->profile, 0);
    recording->processes[recording->count++] = process;
    enum psc_status status = add_item(recording, process, parent);
    if (status != PSC_OK)
        return psc_fail_status(err, status);
    process->identity = identity;
    process->over = threads_open(&process->threads, pid) != 0;
    if (process->over)
        end_process(recording, process);
    return PSC_OK;
}

void processes_end(struct recording *recording)
{
    for (size_t i = 0; i < recording->count; i++) {
        struct recorded_process *process = recording->processes[i];
        uint64_t identity = process->over ? 1 : read_identity(process->pid);
        // Without memory it is about to end.
        if (!identity || identity == IDENTITY_UNKNOWN)
            end_process(recording, process);
    }
}

/* exec: the same id, another program; all but the thread that called it are gone. */
static enum psc_status become_another(struct recording *recording, struct recorded_process *process,
                                      uint64_t identity)
{
    uint32_t parent = recording->profile->processes[process->number].parent;
    end_process(recording, process);
    process->identity = identity;
    process->opened = false;
    process->tried_at = 0;
    enum psc_status status = add_item(recording, process, parent);
    process->over = threads_open(&process->threads, process->pid) != 0;
    if (process->over && status == PSC_OK)
        end_process(recording, process);
    return status;
}

static enum psc_status look_at(struct recording *recording, struct recorded_process *process)
{
    uint64_t identity = read_identity(process->pid);
    process->looked_at = record_now();
    if (identity == IDENTITY_UNKNOWN)
        return PSC_OK;
    if (process->identity == IDENTITY_UNKNOWN && identity)
        process->identity = identity;
    if (identity && identity != process->identity)
        return become_another(recording, process, identity);
    if (!identity) {
        process->over = true;
        end_process(recording, process);
    }
    return PSC_OK;
}

/* ---- its session ---- */

static bool may_have_more(const struct recording *recording, const struct recorded_process *process,
                          uint64_t now)
{
    const struct capture_session *session = process->session;
    // Opening takes long, and the session that stopped a thread has to let it go.
    if (capture_session_has_late(session))
        return false;
    if (capture_session_is_outdated(session))
        return now - process->tried_at > SESSION_AGE + 4 * process->cost;
    if (capture_session_size(session) > SESSION_SIZE)
        return true;
    const struct psc_trace *trace = capture_session_trace(session);
    uint64_t start = recording->profile->processes[process->number].start;
    return !trace->python && now - process->tried_at > WITHOUT_PYTHON_AGE + 4 * process->cost &&
           now - recording->profile->start - start < WITHOUT_PYTHON_TRIES;
}

enum psc_status processes_open(struct recording *recording, struct recorded_process *process,
                               struct psc_error *err)
{
    const struct record_options *options = recording->options;
    struct psc_capture_options capture = PSC_CAPTURE_OPTIONS_INIT;
    struct capture_session *session = NULL;
    capture.mode = options->python_only ? PSC_MODE_PYTHON : PSC_MODE_MERGED;
    capture.no_pause = options->no_pause;
    capture.tasks = options->tasks;
    capture.python_optional = 1;
    process->tried_at = record_now();
    struct psc_error why = {0};
    struct target_options open = options->open ? *options->open : (struct target_options){0};
    open.agent = options->agent;
    enum psc_status status = capture_session_open(process->pid, &open, &capture, &session, &why);
    process->cost = record_now() - process->tried_at;
    process->tried_at += process->cost;
    if (status == PSC_ERR_MEMORY)
        return psc_fail_memory(err);
    if (status != PSC_OK) {
        recording->refusal = why;
        return PSC_OK;
    }
    capture_session_close(process->session);
    frames_forget(&process->frames);
    process->session = session;
    process->opened = true;
    sources_note_process(options->sources, capture_session_target(session), options->open);
    describe(recording, process);
    return PSC_OK;
}

enum psc_status processes_sample(struct recording *recording, struct recorded_process *process,
                                 struct psc_error *err)
{
    uint64_t now = record_now();
    enum psc_status status = PSC_OK;
    bool strange = process->session && (capture_session_met_unknown(process->session) ||
                                        capture_session_is_outdated(process->session));
    if (strange || now - process->looked_at > LOOK_INTERVAL)
        status = psc_fail_status(err, look_at(recording, process));
    if (status != PSC_OK || process->over)
        return status;
    bool wanted = process->session
                      ? may_have_more(recording, process, now)
                      : !process->tried_at ||
                            now - process->tried_at > WITHOUT_PYTHON_AGE + 4 * process->cost;
    if (wanted)
        status = processes_open(recording, process, err);
    if (status != PSC_OK || !process->session)
        return status;
    status = sample_threads(recording, process, err);
    // It has ended, or another tracer has it for now.
    if (status == PSC_ERR_IO) {
        recording->profile->counts.failed++;
        recording->refusal = *err;
        process->looked_at = 0;
        return PSC_OK;
    }
    return status;
}

/* ---- descendants ---- */

static bool is_recorded(const struct recording *recording, int32_t pid)
{
    for (size_t i = 0; i < recording->count; i++)
        if (recording->processes[i]->pid == pid && !recording->processes[i]->over)
            return true;
    return false;
}

static enum psc_status take_children(struct recording *recording, size_t parent, int32_t tid,
                                     struct psc_error *err)
{
    char name[64], text[4096];
    const struct recorded_process *process = recording->processes[parent];
    snprintf(name, sizeof(name), "task/%d/children", tid);
    enum psc_status status = PSC_OK;
    if (read_small(process->pid, name, text, sizeof(text)) <= 0)
        return PSC_OK;
    uint32_t number = process->number;
    for (char *at = text; status == PSC_OK && *at && recording->count < PROCESS_LIMIT;) {
        char *end;
        long pid = strtol(at, &end, 10);
        if (end == at)
            break;
        at = *end ? end + 1 : end;
        if (pid > 0 && !is_recorded(recording, (int32_t)pid))
            status = processes_add(recording, (int32_t)pid, number, err);
    }
    return status;
}

/* Those that are over need no room: what is known of them is in the profile. */
static void sweep(struct recording *recording)
{
    size_t kept = 0;
    for (size_t i = 0; i < recording->count; i++) {
        if (recording->processes[i]->over && i)
            destroy_process(recording->processes[i]);
        else
            recording->processes[kept++] = recording->processes[i];
    }
    recording->count = kept;
}

enum psc_status processes_look_for_children(struct recording *recording, struct psc_error *err)
{
    uint64_t now = record_now();
    enum psc_status status = PSC_OK;
    if (now - recording->looked_for_children < LOOK_INTERVAL)
        return PSC_OK;
    recording->looked_for_children = now;
    sweep(recording);
    for (size_t i = 0; status == PSC_OK && i < recording->count; i++) {
        const struct thread_table *threads = &recording->processes[i]->threads;
        for (size_t k = 0; status == PSC_OK && k < threads->count; k++)
            status = take_children(recording, i, threads->items[k].tid, err);
        // Before its first sample the threads are not listed yet.
        if (status == PSC_OK && !threads->count && !recording->processes[i]->over)
            status = take_children(recording, i, recording->processes[i]->pid, err);
    }
    return status;
}
