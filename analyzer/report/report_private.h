/** @file What the files of room `report` share. */
#ifndef PSC_REPORT_PRIVATE_H
#define PSC_REPORT_PRIVATE_H

#include "report.h"

#include <jansson.h>

/** A report that is being read. Whoever finds something wrong says so, once. */
struct reading {
    struct psc_trace *trace;
    struct psc_error *err;
    enum psc_status status; /**< Nothing is read any more when it is not PSC_OK. */
    size_t frames_left;     /**< Of all threads. */
};

/* ---- report_members.c ---- */

/** Sets the status and its sentence; the first one stays. */
void reading_fail(struct reading *reading, enum psc_status status, const char *format, ...)
    PSC_PRINTF(3, 4);

/* Members: what is not there or null is NULL, 0 or false; another type is an error. */

const json_t *reading_object(struct reading *reading, const json_t *parent, const char *key);
const json_t *reading_list(struct reading *reading, const json_t *parent, const char *key);
/** In the trace's arena. */
const char *reading_text(struct reading *reading, const json_t *parent, const char *key);
bool reading_number(struct reading *reading, const json_t *parent, const char *key, int64_t *ret);
bool reading_flag(struct reading *reading, const json_t *parent, const char *key);

/* ---- report_threads.c ---- */

/** Fills trace->threads. */
void reading_take_threads(struct reading *reading, const json_t *report);

/* ---- report_waits.c ---- */

/** What a thread waits for, in the trace's arena; NULL: nothing that is known. */
const struct trace_wait *reading_take_wait(struct reading *reading, const json_t *thread);
/** Fills trace->deadlocks. */
void reading_take_deadlocks(struct reading *reading, const json_t *report);

#endif
