/** What was running: a part of trace.h, which includes it. */
#ifndef PSC_TRACE_RUNNING_H
#define PSC_TRACE_RUNNING_H

#include "base.h"

/** Memory of one kind; see docs/running.md. */
struct trace_memory {
    const char *kind; /**< "anonymous" */
    uint64_t bytes;
};

/** An installed distribution that an extension module on a stack is of. */
struct trace_package {
    const char *name;
    const char *version;
};

/** A variable of the environment. */
struct trace_variable {
    const char *name;
    const char *value; /**< Cut after TRACE_VARIABLE_LIMIT bytes. */
    bool cut;
};
#define TRACE_VARIABLE_LIMIT 4096u

/** What was running. */
struct trace_running {
    bool has_uptime;
    double uptime;                 /**< Seconds since the process began. */
    const char *stopped_by;        /**< The signal that had stopped it before, or NULL. */
    const char *working_directory; /**< Or NULL. */
    const char *host;              /**< The name of the machine, or NULL. */
    const struct trace_memory *memory;
    size_t memory_count;
    const struct trace_package *packages; /**< As they are met on the stacks. */
    size_t package_count;
    bool environment_known;
    bool environment_initial;                 /**< It is the one that the process began with. */
    const struct trace_variable *environment; /**< Those of a list of names that are set. */
    size_t environment_count;
    const char *test;    /**< Of pytest: its node id; NULL: none. */
    const char *phase;   /**< Of that test: "setup", "call", "teardown"; or NULL. */
    bool has_test_age;   /**< The test is the one that was seen last: */
    double test_age;     /**< so many seconds before the end. */
    const char *worker;  /**< Of pytest-xdist: "gw0"; or NULL. */
    const char *rank_by; /**< The variable that `rank` is of; NULL: there is none. */
    uint64_t rank;
};

#endif
