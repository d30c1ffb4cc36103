/* What is kept of a module's machine code between questions. */
#include "reports_private.h"

#include <stdlib.h>

struct reports *reports_create(const uint8_t *bytes, size_t size)
{
    struct reports *reports = calloc(1, sizeof(*reports));
    if (!reports)
        return NULL;
    if (!flow_init(&reports->flow, bytes, size) ||
        !reports_find_traceback_helpers(&reports->flow, &reports->mypyc)) {
        reports_destroy(reports);
        return NULL;
    }
    return reports;
}

void reports_destroy(struct reports *reports)
{
    if (!reports)
        return;
    reports_destroy_tables(reports->tables);
    reports_destroy_blocks(reports->blocks);
    reports_destroy_identities(reports->identities);
    flow_deinit(&reports->flow);
    free(reports);
}

struct flow *reports_get_flow(struct reports *reports)
{
    return &reports->flow;
}

bool reports_is_mypyc(const struct reports *reports)
{
    return reports->mypyc;
}
