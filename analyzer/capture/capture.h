/**
 * @file
 * Room `capture`: from an opened target to a finished trace. Core files, living processes and
 * those that a debugger holds go the same way; a living process is stopped first, and what will be
 * read is copied. Knows the walkers by their doors alone.
 *
 * Parts that cannot be read are gaps and warnings in the trace, not errors.
 */
#ifndef PSC_CAPTURE_H
#define PSC_CAPTURE_H

#include "modules.h"
#include "trace.h"

struct capture;
struct python_thread_list;

/**
 * What needs rights over the target: a living process is stopped, looked at and let go, and its
 * core file is opened.
 * @param modules  of the target; made anew when a living process has loaded others. Stays in use.
 * @param options  complete; see psc_capture(). What they point to stays in use.
 * @param ret      for capture_finish() or capture_destroy().
 */
PSC_MUST_CHECK enum psc_status capture_start(struct target *target, struct modules **modules,
                                             const struct psc_capture_options *options,
                                             struct capture **ret, struct psc_error *err);
/**
 * All else: what has been copied, and files. Frees the capture.
 * @param ret  to be freed by trace_destroy().
 */
PSC_MUST_CHECK enum psc_status capture_finish(struct capture *capture, struct psc_trace **ret,
                                              struct psc_error *err);
/** Frees one that is not finished; NULL is allowed. */
void capture_destroy(struct capture *capture);

/* ---- one thread after the other of a living process, again and again: sampling/ ---- */

/** What is known of a process between the samples. */
struct capture_session;

/** A thread at one moment. */
struct capture_sample {
    int32_t tid; /**< To be set. */
    /** To be set: see struct live_sample, whose thread pointer is filled in; or NULL. */
    struct live_sleep *sleep;
    /** To be set: the frames of the thread's last sample are still known, and need not be told. */
    bool has_frames;
    bool afresh;                 /**< To be set: nothing of earlier samples is made use of. */
    struct trace_thread *thread; /**< Its frames; the session's, until the next sample. */
    bool unchanged;              /**< They are those of the last one, and not told. */
    uint64_t stood;              /**< Nanoseconds that it was stopped; 0: it was not. */
    bool suspended;              /**< A signal has stopped it before. */
    bool partial;                /**< There is a gap. */
    psc_addr pc;                 /**< Where it was, and its stack pointer; 0 when not stopped. */
    psc_addr sp;
    bool waits; /**< In the kernel. */
};

/**
 * Opens a process for samples.
 * @param options  mode, no_pause, tasks and unwinder are used: with tasks, frames of those that
 *                 await the running one stand outside of its own.
 */
PSC_MUST_CHECK enum psc_status capture_session_open(int32_t pid,
                                                    const struct target_options *target_options,
                                                    const struct psc_capture_options *options,
                                                    struct capture_session **ret,
                                                    struct psc_error *err);
void capture_session_close(struct capture_session *session);
/** What describes the process: its trace without threads. */
const struct psc_trace *capture_session_trace(const struct capture_session *session);
struct target *capture_session_target(const struct capture_session *session);
/** The last sample met code that is in no file which is mapped. */
bool capture_session_met_unknown(const struct capture_session *session);
/** A file that the session knows is not mapped any more: it should be opened anew. */
bool capture_session_is_outdated(const struct capture_session *session);
/** Bytes that it holds of what it met, about: for who begins anew when that is too much. */
size_t capture_session_size(const struct capture_session *session);
/** See live_let_late_go(). */
void capture_session_let_late_go(struct capture_session *session);
/** See live_has_late(). */
bool capture_session_has_late(const struct capture_session *session);
/** A thread has ended: nothing of it is kept. */
void capture_session_forget(struct capture_session *session, int32_t tid);
/** Begins a moment. */
PSC_MUST_CHECK enum psc_status capture_session_begin(struct capture_session *session,
                                                     struct psc_error *err);
/** To be called after the samples of one moment. */
void capture_session_end(struct capture_session *session);
/** The threads of Python in this moment; the session's. */
const struct python_thread_list *capture_session_threads(const struct capture_session *session);
/**
 * What a thread waits for, as /proc/PID/task/TID/syscall has it; empty where it is not known. One
 * that runs has its sample taken at once: capture_session_sample() is to be called for it next.
 * @param ret_runs  as live_ask_call() has it.
 */
size_t capture_session_ask(struct capture_session *session, int32_t tid, char ret[256],
                           uint64_t *ret_runs);
/** See live_room_together(), live_note_question() and live_ask_together(). */
size_t capture_session_room_together(const struct capture_session *session);
void capture_session_note_question(struct capture_session *session, int32_t tid, bool copies,
                                   uint64_t runs);
void capture_session_ask_together(struct capture_session *session);
/**
 * Takes a sample of a thread.
 * @return as live_sample_thread() has it.
 */
PSC_MUST_CHECK enum psc_status capture_session_sample(struct capture_session *session,
                                                      struct capture_sample *sample,
                                                      struct psc_error *err);

/** Puts the core file, which capture_finish() has written, in its place; PSC_OK where none is. */
PSC_MUST_CHECK enum psc_status capture_place_core(struct target *target, struct psc_error *err);
/** Leaves nothing of it. */
void capture_drop_core(struct target *target);

#endif
