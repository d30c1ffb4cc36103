/**
 * @file
 * pystack-core: merged native and Python stacks of a dead or a living process.
 *
 * The way through: open a target, capture a trace of it, read or print the trace.
 *
 *     struct psc_error err = {0};
 *     struct psc_target *target = NULL;
 *     struct psc_trace *trace = NULL;
 *     if (psc_open_core("core.1234", NULL, NULL, &target, &err) != PSC_OK ||
 *         psc_capture(target, NULL, &trace, &err) != PSC_OK)
 *         fprintf(stderr, "%s\n", err.message);
 *     for (size_t i = 0; i < psc_trace_thread_count(trace); i++) ... psc_trace_get_thread() ...
 *     psc_trace_destroy(trace);
 *     psc_close(target);
 *
 * docs/examples/print_stacks.c is a whole program.
 *
 * Structs that a caller fills, or has filled, begin with their size, so that a program and a
 * library of different versions understand each other. Each has a macro to begin with, which is the
 * default:
 *
 *     struct psc_capture_options options = PSC_CAPTURE_OPTIONS_INIT;
 *
 * NULL for options, the macro, and zeros behind the size all mean the same (but for the sizes of
 * items in struct psc_debugger, where zeros are version 0.1's). A library that is older
 * than the header refuses a struct in which something is set that it does not know
 * (PSC_ERR_ARGUMENT, and the message says so).
 *
 * Nothing here prints, exits, aborts or keeps global state: different targets may be used from
 * different threads at the same time; one target (and the traces captured from it) belongs to one
 * thread at a time. All strings are UTF-8.
 */
#ifndef PYSTACK_CORE_H
#define PYSTACK_CORE_H

/** The version of this header; psc_version() is that of the library. */
#define PSC_VERSION_MAJOR 0
#define PSC_VERSION_MINOR 1
#define PSC_VERSION_PATCH 0
#define PSC_VERSION       "0.1.0"

#include "pystack_core_base.h"
#include "pystack_core_target.h"
#include "pystack_core_values.h"
#include "pystack_core_capture.h"
#include "pystack_core_trace.h"
#include "pystack_core_frames.h"
#include "pystack_core_waits.h"
#include "pystack_core_exits.h"
#include "pystack_core_print.h"
#include "pystack_core_symbols.h"
#include "pystack_core_heap.h"
#include "pystack_core_slim.h"

#endif
