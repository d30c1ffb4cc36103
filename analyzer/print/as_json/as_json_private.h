/** Shared by the files of room `print/as_json` only. */
#ifndef PSC_AS_JSON_PRIVATE_H
#define PSC_AS_JSON_PRIVATE_H

#include "as_json.h"
#include "json_writer.h"

/* ---- json_report.c ---- */

/** One that writes to the sink, and whose lists end where that takes no more. */
struct json_writer json_writer_of(struct print_sink *sink, const struct psc_print_options *options);

/** "found", "missing", "mismatch"; static. */
const char *json_file_state(enum trace_file_state state);
/** The member "warnings", with one more where lists were cut. */
void json_put_warnings(struct json_writer *writer, const struct warnings *warnings,
                       const struct print_sink *sink);

/* ---- json_frames.c ---- */

#define LOCATION_CACHE_SIZE 256 /* A power of two. */

/** The text of locations, for the frames that are there again. Zero-initialise. */
struct location_cache {
    struct cached_location {
        const struct trace_location *location;
        struct text text;
    } items[LOCATION_CACHE_SIZE];
};

/** "python", "cython", "native", "gap"; static. */
const char *json_kind(enum trace_kind kind);
void location_cache_deinit(struct location_cache *cache);

/** Function, name, file and line: an item of an array. */
void json_put_location(struct json_writer *writer, const struct trace_location *location);

/** The member "frames" of a thread. */
void json_put_frames(struct json_writer *writer, struct location_cache *cache,
                     const struct trace_thread *thread, const struct psc_print_options *options);

/* ---- json_threads.c ---- */

/** The member "state". */
void json_put_states(struct json_writer *writer, uint32_t state);
/** A death, or a fault that a thread has not died of; NULL is null. */
void json_put_crash(struct json_writer *writer, const char *key, const struct trace_crash *crash);
/** The members of a thread but its frames. */
void json_put_thread(struct json_writer *writer, const struct trace_thread *thread,
                     const struct psc_print_options *options);

/* ---- json_running.c ---- */

/** The member "running"; NULL is null. */
void json_put_running(struct json_writer *writer, const struct trace_running *running);

/* ---- json_waits.c ---- */

/** A member with that name, null for NULL. */
void json_put_wait(struct json_writer *writer, const char *name, const struct trace_wait *wait);
/** The member "waits_on" of a task; `leaf` may be NULL. */
void json_put_leaf(struct json_writer *writer, const struct trace_tasks *tasks,
                   const struct trace_leaf *leaf);
/** The member "deadlocks". */
void json_put_deadlocks(struct json_writer *writer, const struct psc_trace *trace);

/* ---- json_tasks.c ---- */

/** An item of an array. */
void json_put_task(struct json_writer *writer, const struct trace_tasks *tasks,
                   const struct trace_task *task);
/** An item of an array. */
void json_put_greenlet(struct json_writer *writer, const struct trace_task *greenlet);
/** The member "task_cycles": lists of ids. */
void json_put_task_cycles(struct json_writer *writer, const struct trace_tasks *tasks);

#endif
